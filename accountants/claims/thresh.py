"""What Joseph, Roth, Ullman and Waggoner 2018 print of THRESH, and what is found."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.accuracy import Accuracy
from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.neighbours import USER_LEVEL
from ldpaudit.plan import Run
from ldpaudit.working_precision import working_precision

PAPER = "JRUW18"
"""Whose claims these are."""


def claims(m: Thresh) -> tuple[Claim, ...]:
    """Theorem 4.1, which is stated without hypotheses; these are for the record."""
    a, b = m.a, m.b
    hypotheses = (
        assumption(m),
        Hypothesis("the noise levels a and b are above 0, without which the pseudocode has no meaning", a > 0 and b > 0),
        Hypothesis("2 a + b <= epsilon / 4, so that overshooting counters do no harm",
                   a > 0 and b > 0 and 2 * a + b <= m.epsilon / 4, stated=False),
    )  # fmt: skip
    source = "Joseph, Roth, Ullman, Waggoner 2018, Theorem 4.1"
    return (Claim("theorem-4.1", Run(m), m.epsilon, Fraction(0), USER_LEVEL, "lifetime", source, hypotheses),)


def assumption(m: Thresh | HeavyThresh) -> Hypothesis:
    r"""Assumption 4.2, :math:`L > \bigl(3/\sqrt2 + \sqrt{32}/\varepsilon\bigr) \sqrt{n \ln(12mT/\delta)}`."""
    with working_precision(256):
        root = (m.users * ball(12 * m.subgroups * m.epochs / m.delta).log()).sqrt()
        least = (3 / flint.arb(2).sqrt() + flint.arb(32).sqrt() / ball(m.epsilon)) * root
        return Hypothesis(f"Assumption 4.2: L > {float(least):.6g}", bool(m.smallest > least))


def allowed_changes(m: Thresh) -> float:
    r"""Number of changes below which Theorem 4.3 speaks, from below.

    .. math:: \frac\varepsilon4 \min\Bigl\{\frac{L}{8\sqrt{2n\ln(12mT/\delta)}} - 1,\;
              \frac1{\sqrt2}\Bigl(\sqrt{\frac n\ell}\,\log T - 1\Bigr)\Bigr\}
    """
    with working_precision(256):
        root = (2 * m.users * ball(12 * m.subgroups * m.epochs / m.delta).log()).sqrt()
        log = flint.arb(m.epochs).log() / flint.arb(2).log()
        votes = m.smallest / (8 * root) - 1
        estimates = ((flint.arb(m.users) / m.rounds).sqrt() * log - 1) / flint.arb(2).sqrt()
        return float((ball(m.epsilon) / 4 * votes.min(estimates)).lower())


def error_bound(m: Thresh) -> float:
    r"""Distance within which Theorem 4.3 says that every estimate lies, with probability at least 1 - delta.

    .. math:: 4 (\lfloor\log T\rfloor + 2) \sqrt{\ln(12nT/\delta)/2\ell}
    """
    return float(4 * (m.epochs.bit_length() + 1) * m.levels.step)


def printed(m: Thresh) -> tuple[Printed, ...]:
    """Theorem 4.1, for both readings of what users compare with before the first estimate."""
    rows = []
    for start, words in ((-1, "1 below any proportion, so that all may vote at once"), (0, "0")):
        one = replace(m, start=start)
        sentence, reading = "one user's transcript is epsilon-LDP", f"the proportion before the first estimate is {words}"
        found = account(one).epsilon(0)
        rows.append(Printed("JRUW18 Theorem 4.1", sentence, float(m.epsilon), found, claims(one)[0].hypotheses, reading=reading))
    return tuple(rows)


def examples() -> tuple[Thresh, ...]:
    """Where the theorem holds with room, where it fails inside of Assumption 4.2, and where the noise is negative."""
    half = Fraction(1, 20)
    return (
        Thresh(10**6, 1000, 30_000, Fraction(1), half, 10**6),
        Thresh(2_140, 6, 190, Fraction(9, 10), Fraction(402, 8045), 2_140),
        Thresh(10, 3, 100, Fraction(1), half, 10),
    )


def simulated() -> tuple[Thresh, ...]:
    """Settings within Theorem 4.3's condition that run in a second; the second one allows two changes."""
    still = Thresh(10**4, 100, 30_000, Fraction(1), Fraction(1, 20), 10**4)
    return still, Thresh(10**5, 16, 30_000, Fraction(2), Fraction(1, 20), 10**5), examples()[1]


def means(m: Thresh) -> NDArray[np.float64]:
    """A mean for each epoch that changes as often as Theorem 4.3's condition allows, between 1/10 and 9/10, at equal distances.

    Steps that are no larger than the error that is allowed would try nothing. Where not even one change is allowed the
    mean is 3/10 throughout.
    """
    changes = min(math.ceil(allowed_changes(m)) - 1, m.epochs - 1)
    if changes < 1:
        return np.full(m.epochs, 0.3)
    return np.where(np.arange(m.epochs) * (changes + 1) // m.epochs % 2, 0.9, 0.1)


def accuracy(m: Thresh) -> tuple[Accuracy, ...]:
    """Theorem 4.3, for data whose mean changes as often as its condition allows; none where it allows no data at all."""
    if not allowed_changes(m) > 0:
        return ()
    mean = means(m)

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.binomial(m.rounds, mean, (m.users, m.epochs))

    def error(data: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        return float(np.abs(found - mean).max())

    changes = np.count_nonzero(np.diff(mean))
    said = f"changes {changes} times between 1/10 and 9/10" if changes else "stays 3/10"
    sentence = f"estimates of a mean that {said}, n = {m.users}, T = {m.epochs}"
    return (Accuracy("JRUW18 Theorem 4.3", sentence, error_bound(m), float(m.delta), data, error),)
