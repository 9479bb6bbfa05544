"""Sums: every user's report is a vector, and the adversary sees the coordinatewise sum of all reports, and no report.

Reading order: `coordinate` (two laws of one coordinate, and the best event of two), `envelope` (one coordinate, whatever the
others hold, from above), `bits` (independent bits), `numbers` (noisy numbers, where the others do not matter), `exchanged`
(one-hot vectors, subsets), `noisy_counts` (one-hot vectors with noise), `ends` and `clamped` (integers with clamped noise), `rows`
(sketches), `filtered` (some reports are left out), `plan` (the profile of an `Aggregate`), `added_noise` (noise that is added to
sums).
Imports: numerics, pld, composition; of shuffles only their profile, which a sum's never exceeds.

What a mechanism adds to a sum its own accountant says, in `summands(m, neighbours)`.
"""
