r"""Right guesses in, epsilon out.

Draw one of k inputs, look at the view, guess which. Under :math:`(\varepsilon, 0)`-privacy a guess is right with probability
at most :math:`e^\varepsilon/(e^\varepsilon + k - 1)`, so counts of right and wrong guesses bound epsilon from below.

Theorems: Clopper, Pearson 1934 (inversion of the binomial test); Kairouz, Oh, Viswanath 2015 (how delta enters); Ville 1939
(a nonnegative martingale rarely grows large: the e-process holds at every stopping time).

Reading order: `binomial` (exact, delta = 0), `nuisance` (delta > 0), `e_process` (any time).
"""
