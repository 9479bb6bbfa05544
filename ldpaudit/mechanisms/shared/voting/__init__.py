"""THRESH and HEAVYTHRESH: users vote for an update and send estimates until their budget is spent.

Read `thresh` (parameters, and what both machines share) and `heavy_thresh`, the worst pairs of streams, and `thresh_groups` (a
simulation by groups of users).
"""
