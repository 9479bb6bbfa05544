"""Theorem: discrete Laplace noise on counts is epsilon-DP exactly for epsilon >= K log(1/alpha), K the sum of all changes' sizes.

One step of 1 in one count moves every view by one step nearer or farther in it, which costs log(1/alpha); two inputs are
K such steps apart, and what the steps cost adds up. Other noise on counts has no epsilon at delta = 0: of it there are lemmas.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="DiscreteLaplace", sentence="discrete Laplace noise on counts that one user changes")
    t.assume("the inputs are `distance` steps of 1 in one count apart; the loss of the two is the sum of the losses of the steps")
    t.assume("a noise has probability (1-alpha)/(1+alpha) alpha**|z|; the counts' noises are independent")
    steps, excess, near = t.positive("steps", "excess", "near")
    alpha = 1 / (1 + excess)
    t.parametrize(
        {"distance": steps, "alpha": alpha}, {steps: t.parameter("distance"), excess: 1 / t.parameter("alpha") - 1}
    )
    share, below, above = (1 - alpha) / (1 + alpha), 1 / (1 + alpha), alpha / (1 + alpha)
    t.equal(share * near / (share * near * alpha), 1 / alpha, "the ratio of every single y <= x, as of all together")
    t.equal(share / (1 - alpha), below, "what is at x or below: a geometric series")
    t.equal(share * alpha / (1 - alpha), above, "what is above: another")
    t.costs(1 / t.parameter("alpha"), {"y <= x": (below, above), "y > x": (above, below)}, times=t.parameter("distance"))
    t.attained("by all steps at once where every count is at its end or beyond, on the far side from the change")
    return (t,)


def gaussian() -> tuple[Lemma, ...]:
    """Of Gaussian noise: the product of the change and the view is all that matters."""
    t = Lemma(sentence="under Gaussian noise on counts, discrete or not, the loss is linear in the product of change and view")
    t.assume("the log-likelihood of a noise z is -z**2/(2 s) and a constant; the counts' noises are independent")
    (s,), (v, w, y, z) = t.positive("s"), t.nonnegative("v", "w", "y", "z")
    one, other = (((view - change) ** 2 - view**2) / (2 * s) for view, change in ((y, v), (z, w)))
    t.equal(one + other, (v**2 + w**2 - 2 * (v * y + w * z)) / (2 * s), "two counts; more follow one by one")
    return (t,)


discrete_gaussian = rounded_gaussian = gaussian


def binomial_noise() -> tuple[Lemma, ...]:
    """Of binomial noise: more in a count speaks for more."""
    t = Lemma(sentence="binomial noise on a count: the ratio of the probabilities with one more and without rises with the view")
    t.assume("P[X = y - 1] / P[X = y] = (1 - gamma) y / (gamma (n - y + 1)) for X ~ Bin(n, gamma)")
    (odds,), (y, rest) = t.positive("odds"), t.nonnegative("y", "rest")
    n = y + 1 + rest
    t.at_most(odds * y / (n - y + 1), odds * (y + 1) / (n - y), "from y to y + 1, with odds = (1 - gamma)/gamma")
    return (t,)


def skellam() -> tuple[Lemma, ...]:
    """Of Skellam noise: how each ratio follows from the next."""
    t = Lemma(sentence="Skellam noise: r_z = P[X = z + 1] / P[X = z] is 1/(2(z + 1)/mu + r_(z + 1)), and lies in (0, 1)")
    t.assume("P[X = z] is proportional to I_z(mu), and I_z - I_(z + 2) = 2 (z + 1)/mu I_(z + 1), all of them above 0")
    mu, middle, far = t.positive("mu", "middle", "far")  # I_(z + 1) and I_(z + 2)
    (z,) = t.nonnegative("z")
    near = far + 2 * (z + 1) / mu * middle
    t.equal(middle / near, 1 / (2 * (z + 1) / mu + far / middle), "the ratio, from the next one")
    return (t,)
