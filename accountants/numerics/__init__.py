"""Only numbers: certified probabilities of counting laws, positive parts of sums, and certified searches.

Balls are python-flint's Arb at the precision of ``flint.ctx``; a float appears only as a guide to a search, or with a bound
of its error. Nothing here knows a mechanism, a plan or a privacy parameter.

Theorems: the tail of a log-concave law is its first term times a series that a geometric one bounds; DLMF 8.17.22 (Gauss's
continued fraction for binomial tails); Poisson summation bounds the aliasing of a contour integral (Trefethen, Weideman
2014, Theorem 5.1); Chernoff's and Bernstein's inequalities for what is left out.

Reading order: `laws`, `beta_integral`, `binomial_ranges`, `trinomial`; then `saddle`, `fourier_tail`, `fourier_nodes`,
`positive_part`, `two_counts`; then `search`, `certified_search`.
"""
