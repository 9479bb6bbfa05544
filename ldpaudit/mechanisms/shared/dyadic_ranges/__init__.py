"""Range queries by dyadic nodes of a grid.

Read `nodes` (which nodes hold a value, and which add up to a box), `boxes` (what all layouts share), `hadamard_views` (views of
Hadamard oracles), `message_counts` (their laws) and `distinguishing_elements` (which elements tell two users apart).
"""
