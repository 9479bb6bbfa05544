"""Linear algebra over GF(2), on vectors that are 64-bit integers, and the codes that are built of it.

Read `gf2`, then `hadamard` (Sylvester's matrix without building it), `kernels` (which inputs a random matrix sends to
zero), `codeword_weights` (on how many rows two inputs differ) and `reed_solomon`.
"""
