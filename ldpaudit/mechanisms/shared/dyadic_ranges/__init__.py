"""Range queries by dyadic nodes of a grid.

Read `nodes` (which nodes hold a value, and which add up to a box), `hadamard_views` (views of Hadamard oracles, and their laws)
and `boxes` (what all layouts share, and which elements tell two users apart).
"""
