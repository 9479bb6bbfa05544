"""Theorems behind the accountant of shuffled count-min, and Lemma 4.10 of its paper, whose proof is mended.

Nothing is private here without a delta: a count of n + 1 is never seen where nobody sends the cell. So these theorems are
about ratios and exponents, and no epsilon of the mechanism follows from them alone.

The constants of Lemma 4.10 are those of its proof with k tau for the sensitivity of the sketch. That is what a user's
absence changes, not what another set in place of hers does, which is the paper's relation: that is 2 k tau. By Lemmas 4.11
and 4.12 its argument needs 360 where sets are replaced, 90 where a user is absent. The lemma holds all the same, for gamma <= 1/2.
"""

from sympy import Rational

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _ratio(), _one_cell(), _mended()


def _ratio() -> Steps:
    t = Steps("a shifted count's likelihood ratio rises with the count, and shifts multiply")
    t.assume("P[X = y - 1] / P[X = y] = (1 - gamma) y / (gamma (n - y + 1)) for X ~ Bin(n, gamma)")
    (odds,), (y, silent) = t.positive("odds"), t.nonnegative("y", "silent")
    n = y + 2 + silent
    lower, upper = odds * (y + 1) / (n - y), odds * (y + 2) / (n - y - 1)
    t.at_most(lower, upper, "a count of y + 1 and one of y + 2")
    t.equal(upper * lower, odds**2 * (y + 2) * (y + 1) / ((silent + 1) * (silent + 2)),
            "a shift by two: one by one, after one by one")  # fmt: skip
    gamma = 1 / (1 + odds)
    t.at_most(n * (1 - gamma) / (n - y), n * (1 - gamma) / (n - y - 1), "n coins against n - 1 coins: it rises as well")
    return t


def _one_cell() -> Steps:
    """With f(x) = max(x, 0), a rising u and a falling w: f(u2 - w2) + f(u1 - w1) >= f(u2 - w1) + f(u1 - w2)."""
    t = Steps("a + b messages in one cell cost no less than a in one and b in another")
    t.admit(
        "delta = E[(z R_a(X) - e^epsilon / R_b(X' + b))_+] + P[only one side shows it], where X = X' for one cell and "
        "X, X' are independent for two; exchanging the two counts gives the sums below",
        "a change of measure in the last messages",
    )
    t.assume("R_a and R_b rise (the theorem before), so that u = z R_a rises and w = e^epsilon / R_b falls")
    rise, fall, more, part = t.nonnegative("rise", "fall", "more", "part")
    # With d = u1 - w2 the sums are f(d + rise) + f(d - fall) and f(d + rise - fall) + f(d).
    d = fall + more
    t.equal((d + rise) + (d - fall), (d + rise - fall) + d, "fall <= d: all four terms count")
    d = more
    t.at_most((d + (part + rise) - (more + part)) + d, d + (part + rise), "0 <= d <= fall <= d + rise")
    t.at_most(d, d + rise, "0 <= d, d + rise <= fall: two terms count")
    t.at_most(part, part + fall, "d <= 0 <= d + rise - fall: only the terms with rise count")
    t.at_most(0, more, "d <= 0, d + rise <= fall: at most the first term counts")
    return t


def _mended() -> Steps:
    """By a Chernoff bound for the step itself, 90 is enough."""
    t = Steps("Lemma 4.10 where a set is replaced, for gamma <= 1/2, epsilon <= 1 and delta <= k tau / 8")
    t.admit("P[|X - gamma n| > x gamma n] <= 2 e^-(x^2 gamma n / 3) for X ~ Bin(n, gamma), 0 <= x <= 1", "Chernoff")
    t.admit("ln((1 + x)/(1 - x)) <= 2 x / (1 - x^2) for 0 <= x < 1", "term by term")
    t.assume("at most 2 k tau messages differ, in at most 2 k tau cells, at most k of them in one cell")
    t.assume("L = ln(2 k tau / delta) >= ln 16 > 5/2; `mean` is gamma n, and mean + others is n - gamma n")
    (k, mean), (rows, weak, long, others, less) = (
        t.positive("k", "mean"), t.nonnegative("rows", "weak", "long", "others", "less")
    )  # fmt: skip
    silent, x = mean + others, Rational(3, 10) / (1 + less)
    t.at_most((1 + x) * silent / (silent - x * mean), (1 + x) / (1 - x), "a step up within x gamma n of the mean")
    t.equal((silent + x * mean) / (silent * (1 - x)), (1 + x - x * others / silent) / (1 - x), "a step down: it is no larger")
    t.at_most(2 * x / (1 - x**2), Rational(11, 5) * x, "so a step costs 11/5 x at most, for x <= 3/10")
    tau, epsilon, log = 1 + rows, 1 / (1 + weak), Rational(5, 2) + long
    x, noise = 5 * epsilon / (22 * k * tau), 90 * (k * tau) ** 2 * log / epsilon**2
    t.equal(2 * k * tau * Rational(11, 5) * x, epsilon, "2 k tau steps cost epsilon")
    t.at_most(5 * epsilon / (22 * (1 + less) * tau), Rational(3, 10), "and x <= 3/10, as k >= 1")
    t.at_most(k, x * noise / 10, "k steps from within 9/10 x gamma n of the mean stay within x gamma n")
    t.at_most(Rational(5, 4) * log, (Rational(9, 10) * x) ** 2 * noise / 3, "where a count is but for 2 e^-(5/4 L)")
    (delta,), (far,) = t.positive("delta"), t.nonnegative("far")
    root = 2 + far  # of 2 k tau / delta >= 16, the fourth
    t.at_most(2 * delta / root, delta, "2 k tau times 2 (delta / 2 k tau)^(5/4) is at most delta")
    return t
