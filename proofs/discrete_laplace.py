"""Theorem: discrete Laplace noise on counts is epsilon-DP exactly for epsilon >= K log(1/alpha), K the sum of all changes' sizes.

One step of 1 in one count moves every view by one step nearer or farther in it, which costs log(1/alpha); two inputs are
K such steps apart, and what the steps cost adds up. Other noise on counts has no epsilon at delta = 0: of it there are lemmas.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._kernel import Lemma, Theorem

STEPS = "the inputs are `distance` steps of 1 in one count apart; the loss of the two is the sum of the losses of the steps"


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="DiscreteLaplace", sentence="discrete Laplace noise on counts that one user changes")
    _discrete_laplace(t)
    t.attained("by all steps at once where every count is at its end or beyond, on the far side from the change")
    return (t,)


def _discrete_laplace(t: Theorem, **more: tuple[Expr, Expr]) -> None:
    """Each step costs log(1/alpha). `more`: fields in symbols, and these symbols in fields."""
    t.assume(STEPS)
    t.assume("a noise has probability (1-alpha)/(1+alpha) alpha**|z|; the counts' noises are independent")
    steps, excess, near = t.positive("steps", "excess", "near")
    alpha = 1 / (1 + excess)
    t.parametrize(
        {"distance": steps, "alpha": alpha} | {name: value for name, (value, _) in more.items()},
        {steps: t.parameter("distance"), excess: 1 / t.parameter("alpha") - 1}
        | {symbol: t.parameter(name) - value.subs(symbol, 0) for name, (value, symbol) in more.items()},
    )
    share, below, above = (1 - alpha) / (1 + alpha), 1 / (1 + alpha), alpha / (1 + alpha)
    t.equal(share * near / (share * near * alpha), 1 / alpha, "the ratio of every single y <= x, as of all together")
    t.equal(share / (1 - alpha), below, "what is at x or below: a geometric series")
    t.equal(share * alpha / (1 - alpha), above, "what is above: another")
    t.costs(1 / t.parameter("alpha"), {"y <= x": (below, above), "y > x": (above, below)}, times=t.parameter("distance"))


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


def polya_noise() -> tuple[Lemma, ...]:
    """Of Polya noise: an upper bound of what a step costs, and how each ratio follows from the next."""
    return _all_of_it(), _part_of_it(), _ratios()


def _all_of_it() -> Theorem:
    t = Theorem(mechanism="PolyaNoise", sentence="Polya noise of shape 1 or more on counts that one user changes")
    t.assume("it is discrete Laplace noise and independent Polya noise of shape - 1, if that is not 0: what is added later hides")
    (more,) = t.nonnegative("more")
    _discrete_laplace(t, shape=(1 + more, more))
    return t


def _part_of_it() -> Theorem:
    t = Theorem(mechanism="PolyaNoise", sentence="Polya noise of shape 1 or less on counts that one user changes")
    t.assume(STEPS)
    t.assume("P[X = k] is the sum over i of p_i p_(i + k), for k >= 0, with p_m / p_(m - 1) = alpha (m - 1 + shape) / m; X is even")
    t.assume("the counts' noises are independent")
    t.assume("so P[X = k + 1] / P[X = k] is a mean of the ratios p_m / p_(m - 1) with m >= k + 1")
    t.assume("of the views x - k and x + 1 + k, one step exchanges the probabilities, and which k it is tells nothing")
    steps, excess = t.positive("steps", "excess")
    (less, beyond), (part,) = t.nonnegative("less", "beyond"), t.share("part")
    alpha, shape = 1 / (1 + excess), 1 / (1 + less)
    fields = {name: t.parameter(name) for name in ("distance", "alpha", "shape")}
    t.parametrize(
        {"distance": steps, "alpha": alpha, "shape": shape},
        {steps: fields["distance"], excess: 1 / fields["alpha"] - 1, less: 1 / fields["shape"] - 1},
    )
    m = 1 + beyond
    ratio = alpha * (m - 1 + shape) / m
    t.at_most(alpha * shape, ratio, "the least of these ratios")
    t.at_most(ratio, 1, "and the largest is below 1")
    mean = alpha * shape + part * (1 - alpha * shape)
    near, far = 1 / (1 + mean), mean / (1 + mean)
    t.costs(1 / (fields["alpha"] * fields["shape"]), {"x - k": (near, far), "x + 1 + k": (far, near)}, times=fields["distance"])
    return t


def _ratios() -> Lemma:
    t = Lemma(
        sentence="Polya noise: q_k = P[X = k]/P[X = k - 1] is a (k - 1 + r)/(k (1 + a**2) - a (k + 1 - r) q_(k + 1)); a is alpha"
    )
    t.assume("P[X = k] is the coefficient of z**k in f(z) = ((1 - alpha)**2 / ((1 - alpha z) (1 - alpha/z)))**r")
    t.assume("so k (1 + alpha**2) P[k] = alpha (k - 1 + r) P[k - 1] + alpha (k + 1 - r) P[k + 1], from f'/f, all of them above 0")
    r, k, near, far, excess, odds = t.positive("r", "k", "near", "far", "excess", "odds")  # P[k - 1] and P[k + 1]
    alpha = 1 / (1 + excess)
    z = (alpha + odds / alpha) / (1 + odds)  # any number from alpha to 1/alpha, where f is finite
    slope = r * alpha / (1 - alpha * z) - r * (alpha / z**2) / (1 - alpha / z)  # of log f
    t.equal(z * slope * (1 + alpha**2 - alpha * z - alpha / z), r * alpha * (z - 1 / z), "the equation of f'/f, without fractions")
    middle = (alpha * (k - 1 + r) * near + alpha * (k + 1 - r) * far) / (k * (1 + alpha**2))
    over = k * (1 + alpha**2) - alpha * (k + 1 - r) * far / middle
    t.equal(middle * over, alpha * (k - 1 + r) * near, "the ratio, from the next one")
    return t


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows noise on counts as; None of the noises that it does not know."""
    if type(m).__name__ == "BinomialNoise":
        if len(m.shifts) > 1:
            return None
        return {"word": "binomial", "coins": m.coins, "gamma": str(m.gamma), "change": m.shifts[0]}
    if type(m).__name__ != "DiscreteLaplace":
        return None
    counts = [{"word": "discrete_laplace", "alpha": str(m.alpha), "change": shift} for shift in m.shifts]
    return counts[0] if len(counts) == 1 else {"word": "compose", "of": counts}


def sibling(m: Any) -> Any:
    """Binomial noise with the same probability, and a law that can be listed."""
    return replace(m, coins=min(m.coins, 500))
