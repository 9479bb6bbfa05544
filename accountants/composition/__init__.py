r"""Composition: independent runs of several plans, each on its own input, all views seen together.

Losses of independent runs add. Upper bounds compose pairs that dominate every neighbouring pair of a part; lower bounds
compose pairs that occur. Where these are the same pairs and no loss is rounded, the result is EXACT.

Theorems: Kairouz, Oh, Viswanath 2015 (Theorem 3.3, equal randomized responses, and the worst map of a guarantee); Zhu,
Dong, Wang 2022 (dominating pairs compose, adaptively too); Rogers, Roth, Ullman, Vadhan 2016 and Feldman, Zrnic 2021
(filters).

Reading order: `plan` (the fold over a plan), `compose` (which of three ways), `coins`, `two_coins`, `enumerated`,
`laplace_vector`; then what papers print, `theorems` and `divergences`; `filters` for adaptive use.
"""
