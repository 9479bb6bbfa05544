"""THRESH and HEAVYTHRESH: users vote for an update and send estimates until their budget is spent.

Read `voters` (what both machines share), `thresh` and `heavy_thresh` (their parameters), `silent_histograms` (who does not vote
before the first update), the worst pairs of streams, and `thresh_groups` (a simulation by groups of users).
"""
