r"""Composition: independent runs of several plans, each on its own input, all views seen together.

Notation: a *part* is a plan that is not itself a composition, run T times; L is the privacy loss of all runs, the sum
of the runs' losses, and :math:`\delta(\varepsilon) = E[(1 - e^{\varepsilon - L})_+]`. An upper bound composes, for
every part, the dominating pair of its neighbouring pairs; a lower bound composes pairs that occur. Where these are the
same pairs and no loss is moved to a lattice, the result is EXACT.

Theorems: equal randomized responses compose to binomial tails (Kairouz, Oh, Viswanath 2015, Theorem 3.3), and a
guarantee (epsilon, delta) has a dominating pair (the same); dominating pairs compose, adaptively too (Zhu, Dong, Wang
2022, Theorem 10); epsilons, deltas and rho may be spent adaptively (Rogers, Roth, Ullman, Vadhan 2016; Feldman, Zrnic
2021).

Reading order: `plan` (the fold over a plan), `composed` (its parts together, from above and from below), `compose` (chooses a
formula, an enumeration or a lattice), `coins`;
`product` (independent parts of one view), `laplace_vector` (closed forms), `laplace_contour` (many coordinates, by an
integral) and `laplace_products` (sums of noises, shifted differently); `memoized_bits` and `memoized_answers` (a
whole stream of one memoized bit, or of g-ary answers); then the published bounds, `theorems` and `divergences`, which has
what a published rho or mu guarantees; `filters` for adaptive use, `users` for many users at once.
"""
