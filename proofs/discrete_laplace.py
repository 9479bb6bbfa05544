"""Theorem: discrete Laplace noise on counts is epsilon-DP exactly for epsilon >= K log(1/alpha), K the sum of all changes' sizes.

One step of 1 in one count moves every view by one step nearer or farther in it, which costs log(1/alpha); two inputs are
K such steps apart, and what the steps cost adds up. Polya noise of shape 1 or more is no worse, and that of a smaller shape costs
log(1/(alpha shape)) a step at most. Other noise on counts has no epsilon at delta = 0: of it there are steps on paper.
"""

from dataclasses import replace
from typing import Any

from ldpaudit.proofs._algebra import nonnegative, positive, share
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import plain, step
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    sentence = "discrete Laplace noise on counts that one user changes"
    return (step("DiscreteLaplace", sentence, "distance", assumes=("steps", "geometric noise")),)


def polya_noise() -> tuple[Theorem | Steps, ...]:
    """Of Polya noise: an upper bound of what a step costs, for a large shape and for a small one."""
    (more,) = nonnegative("more")
    sentence = "Polya noise of shape 1 or more on counts that one user changes"
    large = step("PolyaNoise", sentence, "distance", plain({"shape": 1 + more}), tight=None,
                 assumes=("steps", "Polya noise of large shape"))  # fmt: skip
    return large, _small_shape(), _ratios()


def _small_shape() -> Theorem:
    (steps, excess), (less,), (part,) = positive("steps", "excess"), nonnegative("less"), share("part")
    alpha, shape = 1 / (1 + excess), 1 / (1 + less)
    mean = alpha * shape + part * (1 - alpha * shape)  # of ratios alpha (m - 1 + shape) / m, which lie between these ends
    near, far = 1 / (1 + mean), mean / (1 + mean)
    return Theorem(
        mechanism="PolyaNoise",
        sentence="Polya noise of shape 1 or less on counts that one user changes",
        fields={"distance": steps, "alpha": alpha, "shape": shape},
        recover={steps: named("distance"), excess: 1 / named("alpha") - 1, less: 1 / named("shape") - 1},
        parts=[Part(1 / (named("alpha") * named("shape")), [{"x - k": (near, far), "x + 1 + k": (far, near)}], named("distance"))],
        assumes=("steps", "Polya noise of small shape"),
    )


def gaussian() -> tuple[Steps, ...]:
    """Of Gaussian noise: the product of the change and the view is all that matters."""
    t = Steps("under Gaussian noise on counts, discrete or not, the loss is linear in the product of change and view")
    t.assume("the log-likelihood of a noise z is -z**2/(2 s) and a constant; the counts' noises are independent")
    (s,), (v, w, y, z) = t.positive("s"), t.nonnegative("v", "w", "y", "z")
    one, other = (((view - change) ** 2 - view**2) / (2 * s) for view, change in ((y, v), (z, w)))
    t.equal(one + other, (v**2 + w**2 - 2 * (v * y + w * z)) / (2 * s), "two counts; more follow one by one")
    return (t,)


discrete_gaussian = rounded_gaussian = gaussian


def binomial_noise() -> tuple[Steps, ...]:
    """Of binomial noise: more in a count speaks for more."""
    t = Steps("binomial noise on a count: the ratio of the probabilities with one more and without rises with the view")
    t.assume("P[X = y - 1] / P[X = y] = (1 - gamma) y / (gamma (n - y + 1)) for X ~ Bin(n, gamma)")
    (odds,), (y, rest) = t.positive("odds"), t.nonnegative("y", "rest")
    n = y + 1 + rest
    t.at_most(odds * y / (n - y + 1), odds * (y + 1) / (n - y), "from y to y + 1, with odds = (1 - gamma)/gamma")
    return (t,)


def skellam() -> tuple[Steps, ...]:
    """Of Skellam noise: how each ratio follows from the next."""
    t = Steps("Skellam noise: r_z = P[X = z + 1] / P[X = z] is 1/(2(z + 1)/mu + r_(z + 1)), and lies in (0, 1)")
    t.assume("P[X = z] is proportional to I_z(mu), and I_z - I_(z + 2) = 2 (z + 1)/mu I_(z + 1), all of them above 0")
    mu, middle, far = t.positive("mu", "middle", "far")  # I_(z + 1) and I_(z + 2)
    (z,) = t.nonnegative("z")
    near = far + 2 * (z + 1) / mu * middle
    t.equal(middle / near, 1 / (2 * (z + 1) / mu + far / middle), "the ratio, from the next one")
    return (t,)


def _ratios() -> Steps:
    t = Steps("Polya noise: q_k = P[X = k]/P[X = k - 1] is a (k - 1 + r)/(k (1 + a**2) - a (k + 1 - r) q_(k + 1)); a is alpha")
    t.assume("P[X = k] is the coefficient of z**k in f(z) = ((1 - alpha)**2 / ((1 - alpha z) (1 - alpha/z)))**r")
    t.assume("so k (1 + alpha**2) P[k] = alpha (k - 1 + r) P[k - 1] + alpha (k + 1 - r) P[k + 1], from f'/f, all of them above 0")
    r, middle, far, excess, odds = t.positive("r", "middle", "far", "excess", "odds")  # P[k] and P[k + 1]
    (earlier,) = t.nonnegative("earlier")
    alpha, k = 1 / (1 + excess), 1 + earlier
    z = (alpha + odds / alpha) / (1 + odds)  # any number from alpha to 1/alpha, where f is finite
    slope = r * alpha / (1 - alpha * z) - r * (alpha / z**2) / (1 - alpha / z)  # of log f
    t.equal(z * slope * (1 + alpha**2 - alpha * z - alpha / z), r * alpha * (z - 1 / z), "the equation of f'/f, without fractions")
    near = (k * (1 + alpha**2) * middle - alpha * (k + 1 - r) * far) / (alpha * (k - 1 + r))  # P[k - 1]
    over = k * (1 + alpha**2) - alpha * (k + 1 - r) * far / middle
    t.equal(middle * over, alpha * (k - 1 + r) * near, "the ratio, from the next one")
    return t


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows noise on counts as; None of the noises that it does not know."""
    if type(m).__name__ == "BinomialNoise":
        if len(m.shifts) > 1:
            return None
        return {"word": "binomial", "coins": m.coins, "gamma": str(m.gamma), "change": m.shifts[0]}
    known = {"DiscreteLaplace": ("discrete_laplace", "alpha"), "DiscreteGaussian": ("discrete_gaussian", "variance")}
    if type(m).__name__ not in known:
        return None
    word, name = known[type(m).__name__]
    counts = [{"word": word, name: str(getattr(m, name)), "change": shift} for shift in m.shifts]
    return counts[0] if len(counts) == 1 else {"word": "compose", "of": counts}


def sibling(m: Any) -> Any:
    """Binomial noise with the same probability, and a law that can be listed."""
    return replace(m, coins=min(m.coins, 500))
