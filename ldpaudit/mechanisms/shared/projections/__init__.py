"""Public random matrices that map a domain to few numbers: JL-HH, GLPS-HH, Bassily-Smith.

Read `public_columns` (signs that are computed, not stored), `noisy_column` (Laplace noise on a column), `random_projection`
(JL-HH's matrix and its transpose) and `signed_buckets` (GLPS's sparse matrix, and the two values that it tells apart best).
"""
