"""Sums: every user's report is a vector, and the adversary sees the coordinatewise sum of all reports, and no report.

Reading order: `coordinate` (two laws of one coordinate, and the best event of two), `envelope` (one coordinate, whatever the
others hold, from above), `plan` (the profile of an `Aggregate`), `added_noise` (noise that is added to sums).
Imports: numerics, pld; of shuffles only their profile, where a sum tells as much as the multiset.

What a mechanism adds to a sum its own accountant says, in `summands(m, neighbours)`.
"""
