"""What Joseph, Roth, Ullman and Waggoner 2018 print of THRESH, and what is found."""

import math
from dataclasses import fields, replace
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed, derived
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.core.streams import Stream, at_the_bound, drift, sine_wave
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL
from ldpaudit.plan import Run

_CAPPED = Failure(
    "Votes alone refute it wherever a > epsilon/2: at n = L = 800, T = 6, l = 190 and delta = 1/20 from epsilon = 0.6761, where "
    "Assumption 4.2 is first met, to 1.3521.",
    "The sketch treats the caps as bounds and counts the votes of one stream, but a counter is checked before it grows, and two "
    "streams may vote in different epochs.",
    "With noise levels above 0 the transcript is (3/4 epsilon + 2 a + b)-LDP, and with counters that stop in time "
    "(`thresh_repaired`) 3/4 epsilon-LDP.",
)


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
        # The text has the formulas of the noise levels in pieces.
        hypotheses = claims(one)[0].hypotheses
        rows.append(derived("JRUW18 Theorem 4.1", sentence, float(m.epsilon), found, hypotheses, reading=reading, failure=_CAPPED))
    return tuple(rows)


_DELTA = Fraction(1, 20)
EXAMPLES = (
    Thresh(10**6, 1000, 30_000, Fraction(1), _DELTA, 10**6),
    Thresh(800, 6, 190, Fraction(9, 10), _DELTA, 800),
    Thresh(10, 3, 100, Fraction(1), _DELTA, 10),
)
"""Where the theorem holds with room, where votes alone refute it inside of Assumption 4.2, and where the noise is negative."""

_STILL = Thresh(10**4, 100, 30_000, Fraction(1), _DELTA, 10**4)
_MANY, _ALL_EPOCHS = (Thresh(users, 16, 10**6, Fraction(1), _DELTA, users) for users in (10**8, 10**9))
_FEW = Thresh(2_140, 6, 190, Fraction(9, 10), Fraction(402, 8045), 2_140)
SIMULATED = _STILL, Thresh(10**5, 16, 30_000, Fraction(2), _DELTA, 10**5), _FEW, _MANY, _ALL_EPOCHS
"""Settings within Theorem 4.3's condition that run in a second; of the last two the error says something of data that move.

    In the first ones a constant is as near as the theorem promises; the last one allows a change in every epoch.
    """


def moving(epochs: int, changes: int) -> tuple[Stream, ...]:
    """Streams between 1/10 and 9/10 with at most this many changes; steps no larger than the error would try nothing.

    At equal distances, and right after the epochs in which users would vote for a small change, which is found latest; or where
    every epoch may be a change, back and forth, a drift and a sine. Without changes the mean is 3/10.
    """
    if changes < 1:
        return (Stream("a mean that stays 3/10", np.full((epochs, 1), 0.3)),)
    turns = np.arange(epochs) * (changes + 1) // epochs % 2
    stream = Stream(f"a mean that changes {changes} times between 1/10 and 9/10", np.where(turns, 0.9, 0.1)[:, None])
    if changes == epochs - 1:
        return stream, drift(epochs, 0.1, 0.9), sine_wave(epochs, epochs, 0.8)
    return stream, replace(at_the_bound(epochs, changes, 0.8), name=f"{stream.name}, each time at the worst epoch")


def vacuous(stream: Stream, bound: float) -> str:
    """In words, where an error from `bound` on is that of a constant, which no user need be asked for."""
    return "; vacuous: a constant is as near" if bound >= np.ptp(stream.average, axis=0).max() / 2 else ""


def accuracy(m: Thresh) -> tuple[Accuracy, ...]:
    """Theorem 4.3, for data of which all users together move, as printed and repaired; none where it allows no data at all.

    Of the changes that are allowed, a strict inequality, repaired users pay for the first update with one.
    """
    least = math.ceil(allowed_changes(m))
    found = [_accurate(m, "JRUW18 Theorem 4.3", stream) for stream in moving(m.epochs, min(least, m.epochs) - 1) if least > 0]
    if least > 1 and m.a > 0 and m.b > 0:
        own = ThreshRepaired(*(getattr(m, field.name) for field in fields(m)))
        streams = moving(m.epochs, min(least - 1, m.epochs) - 1)
        found += [_accurate(own, "JRUW18 Theorem 4.3, repaired", stream) for stream in streams]
    return tuple(found)


def _accurate(m: Thresh, where: str, stream: Stream) -> Accuracy:
    """What a run on a stream is held against; only how many users are in each state is simulated."""
    bound = error_bound(m)
    sentence = f"estimates of {stream.name}, n = {m.users}, T = {m.epochs}{vacuous(stream, bound)}"
    return Accuracy(
        where, sentence, bound, float(m.delta),
        data=lambda rng: stream,
        error=lambda data, found: float(np.abs(found - data.average).max()),
        run=lambda data, rng: m.run_on_means(data.values, data.shares, rng),
    )  # fmt: skip
