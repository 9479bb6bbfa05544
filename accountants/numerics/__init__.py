r"""Numbers only: certified probabilities of counting laws, positive parts of sums, and certified searches.

Notation: X is a count, :math:`P[X \ge k]` its upper tail, p a probability, n a number of trials; a *ball* is a real
number enclosed by python-flint's Arb at the working precision. A float only guides a search, or comes with a
bound of its error. Nothing here knows a mechanism, a plan or a privacy parameter.

Theorems: the tail of a log-concave law is its first term times a series of falling ratios, whose remainder is at most
geometric (`log_concave`); Gauss's continued fraction for binomial tails, DLMF 8.17.22 (`binomial`); Bernstein's and
Chernoff's inequalities bound the terms that a sum leaves out (`binomial`, `trinomial`); Poisson summation bounds the
aliasing of a contour integral, Trefethen and Weideman 2014, Theorem 5.1 (`positive_part`).

Reading order: `balls`, `rationals`, `precision`, `cached`; the counting laws `log_concave`, `binomial`,
`binomial_ranges`, `hypergeometric`, `trinomial`; how far counts stray, `deviations`, and sums of Laplace noises,
`laplace_sum`, and of coins of two kinds, `two_kinds`; the expected positive part of a sum, `trapezoid`, `saddle`,
`positive_part`, `shifted_sum`, and `two_counts`; the searches, `search` (on floats) and `certified_search` (on balls).
"""
