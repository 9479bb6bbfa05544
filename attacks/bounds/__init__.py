r"""Right guesses in, epsilon out.

Draw one of k inputs, look at the view, guess which. Under :math:`(\varepsilon, 0)`-privacy a guess is right with probability
at most :math:`e^\varepsilon/(e^\varepsilon + k - 1)`, so counts of right and wrong guesses bound epsilon from below.

Theorems: Clopper, Pearson 1934 (inversion of the binomial test); Kairouz, Oh, Viswanath 2015 (how delta enters); Berger,
Boos 1994 (the unknown probability of a wrong guess); Ville 1939 (a nonnegative supermartingale rarely grows large: the
e-process holds at every stopping time); Steinke, Nasr, Jagielski 2023 (many canaries in one run).

Reading order: `counts` (what a test sees, and what a test is), `binomial` (exact, delta = 0), `nuisance` (delta > 0),
`e_process` (at every stopping time), `one_run` (many users of one run), `level` (which of them an audit takes, and what it
would have detected).
"""
