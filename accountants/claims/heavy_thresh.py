r"""What Joseph, Roth, Ullman and Waggoner 2018 print of HEAVYTHRESH, and what is found.

The pseudocode is in the paper's supplement, which we do not have: what runs is restored from THRESH. Where a verdict on Theorem 5.1
depends on the noise level b, which is lost, or users first compare with something else than THRESH prints, its row is a question
of ours, and not the paper's claim.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, derived, remembered
from ldpaudit.accountants.claims.thresh import assumption, moving, vacuous
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrowed
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.core.streams import Stream
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.neighbours import USER_LEVEL
from ldpaudit.plan import Run

_LOST = "the formula of the noise level b is lost, and the verdict depends on it; here it is 2 artanh(A / (log(T) s'))"
_OUR_START = "the pseudocode is restored from THRESH, which prints -1; 0 is ours"
_SKETCH = "it is a step of a proof sketch; more votes need an unlikely event, so this refutes no theorem"
READINGS = {
    -1: "before the first estimate users compare with -1 in every row, as THRESH prints it; the distance is the largest in a row",
    0: "before the first estimate users compare with 0 in every row, where THRESH prints -1; the distance is the largest in a row",
}
"""What a user compares with before the first update: the supplement would say."""


def claims(m: HeavyThresh) -> tuple[Claim, ...]:
    """Theorem 5.1, which is stated without hypotheses; these are for the record."""
    a, b = m.a, m.b
    hypotheses = (
        assumption(m),
        Hypothesis("the noise level a is above 0, without which the pseudocode has no meaning", a > 0),
        Hypothesis("2 a + b <= epsilon / 4, or b <= epsilon / 4 where the first vote is common to all streams",
                   a > 0 and 2 * a * (1 - m.common) + b <= m.epsilon / 4, stated=False),
    )  # fmt: skip
    source = "Joseph, Roth, Ullman, Waggoner 2018, Theorem 5.1"
    return (Claim("theorem-5.1", Run(m), m.epsilon, Fraction(0), USER_LEVEL, "lifetime", source, hypotheses),)


def refuted_by_votes(m: HeavyThresh) -> bool:
    """Whether the votes of a pair of streams alone cost more than epsilon: then Theorem 5.1 fails whatever b is."""
    first, second = (m.transcript(x) for x in m.inputs)
    return sum(one.vote != other.vote for one, other in zip(first, second, strict=True)) * m.a > m.epsilon


def holds_with_small_noise(m: HeavyThresh) -> bool:
    """Whether Theorem 5.1 holds for every b up to epsilon/4, ours included: estimates then cost less than epsilon/2."""
    return m.a > 0 and m.differing_votes * m.a <= m.epsilon / 2 and m.b <= m.epsilon / 4


@narrowed("derived: votes, own noise, read-out, other words' columns")
def derived_error(m: HeavyThresh) -> flint.arb:
    r"""Error that the pseudocode keeps, except with probability delta, while each change so far left users able to vote.

    .. math:: (2K+5)\,s' + c_b\,A + \sqrt{2\ln(16dT/\delta)/w}, \qquad K = \lfloor\log T\rfloor

    Without an update some user of every group is within :math:`\tau_K` of its reference, so the average projected histogram has
    moved by at most ``2 (K + 2)`` steps, and the reference was off by one; the read-out and the columns of other words add the
    rest. Source: derived, in place of Theorem 5.2.
    """
    top, c = m.epochs.bit_length() - 1, 1 / ball(2 * m.estimate_coin - 1)
    return (2 * top + 5) * m.sizes.step() + c * m.sizes.read_out() + m.sizes.flatness()


@narrowed("JRUW18, Theorem 5.2")
def printed_error(m: HeavyThresh) -> flint.arb:
    r"""Theorem 5.2, its two illegible denominators restored.

    .. math:: 4 (\lfloor\log T\rfloor + 2) \sqrt{\frac{2\ln(320n^2T/\delta)}{\ell}} + \sqrt{\frac{\ln(16ndT/\delta)}{n}}
    """
    n, t = m.users, m.epochs
    first = (2 * ball(320 * n * n * t / m.delta).log() / m.rounds).sqrt()
    return 4 * (t.bit_length() + 1) * first + (ball(16 * n * m.domain * t / m.delta).log() / n).sqrt()


def derived_changes(m: HeavyThresh) -> int:
    """Number of changes that leave users able to vote and to send estimates, at 4 votes per change; -1 where not even none does.

    A first update that all users vote for whatever they hold costs one vote and one estimate more; one that they need not vote for
    may cost as many votes as a change. Who may vote in every epoch never lacks a vote.
    """
    votes = m.epochs if m.votes == m.epochs else (m.votes - 1) // 4 if m.common else m.votes // 4 - 1
    return max(-1, min(m.estimates - 1, votes))


def printed(m: HeavyThresh) -> tuple[Printed, ...]:
    """Theorem 5.1 for both readings of the first reference; the error of Theorem 5.2, and a step of its proof sketch."""
    vacuous = "a bound from 1 on is vacuous: no frequency is above 1" if printed_error(m).high >= 1 else ""
    said = f"the largest error, derived, n = {m.users}, T = {m.epochs}, l = {m.rounds}"
    able, worst = derived_changes(m), most_votes(m.epochs)
    votes = f"votes at {worst.votes} for a change of {float(worst.change)} steps at {worst.at}"
    voting = Hypothesis(f"the data change at most {able} times, which leaves users able to vote", able >= 0, stated=False)

    def private(m: HeavyThresh, reading: str) -> Printed:
        known = "" if refuted_by_votes(m) or holds_with_small_noise(m) else _LOST
        return derived("JRUW18 Theorem 5.1", "one user's transcript is epsilon-LDP", float(m.epsilon), account(m).epsilon(0),
                       claims(m)[0].hypotheses, reading=reading, variant=known if m.start == -1 else _OUR_START)  # fmt: skip

    return (
        *(private(replace(m, start=start), reading) for start, reading in READINGS.items()),
        remembered("JRUW18 Theorem 5.2", said, printed_error(m).high, derived_error(m), (assumption(m), voting), attained=False,
                   variant=vacuous,
                   reading="distances are the largest over the rows, b is 2 artanh(A / (log(T) s')), denominators are l and n"),
        Printed("JRUW18 Theorem 4.3, proof sketch", "votes of a user for one change", 2,
                Enclosure.of(len(worst.votes), source=votes), variant=_SKETCH),
    )  # fmt: skip


_DELTA = Fraction(1, 20)
EXAMPLES = (
    HeavyThresh(800, 6, 500, Fraction(4, 5), _DELTA, 800, domain=8),
    HeavyThresh(10**5, 100, 1000, Fraction(1, 10), _DELTA, 10**5, domain=1000),
    HeavyThresh(10**6, 100, 10**5, Fraction(1), _DELTA, 10**6, domain=1000),
    HeavyThresh(1_000, 5, 7_000, Fraction(9, 10), _DELTA, 1_000, domain=8),
)
"""Where a few votes cost more than epsilon; a hundred thousand and a million users; and where one estimate costs more."""

SIMULATED = (
    HeavyThresh(20_000, 16, 150_000, Fraction(4), _DELTA, 20_000, domain=8),
    HeavyThresh(250_000, 4, 10**6, Fraction(16), _DELTA, 250_000, domain=2),
)
"""A setting with room for one change, of which a constant is as near as the bound; and one where the bound says something."""


def words(m: HeavyThresh, moving: Stream) -> Stream:
    """Words in place of a mean: each has a fourth of the share of the one before, or where the mean is high, of the one after."""
    falling = 4.0 ** -np.arange(m.domain)
    one = falling / falling.sum()
    return replace(moving.mixtures(one, one[::-1]), name=moving.name.replace("a mean that", f"{m.domain} words whose mixture"))


def accuracy(m: HeavyThresh) -> tuple[Accuracy, ...]:
    """The error of Theorem 5.2 as restored, for data that change as often as is derived; none where it says nothing."""
    if printed_error(m).high >= 1 or derived_changes(m) < 0:
        return ()
    found = []
    for kind, where in ((HeavyThresh, "JRUW18 Theorem 5.2"), (HeavyThreshRepaired, "JRUW18 Theorem 5.2, repaired")):
        own = kind(*(getattr(m, field.name) for field in fields(m)))
        changes = min(derived_changes(own), m.epochs - 1)
        found += [_accurate(own, where, words(m, stream)) for stream in moving(m.epochs, changes) if changes >= 0]
    return tuple(found)


def _accurate(m: HeavyThresh, where: str, stream: Stream) -> Accuracy:
    """What a run on a stream is held against."""
    bound = printed_error(m).high

    def run(data: Stream, rng: np.random.Generator) -> NDArray[np.float64]:
        return m.run((rng.multinomial(m.rounds, each, m.users) for each in data.average), rng)

    def error(data: Stream, found: NDArray[np.float64]) -> float:
        return float(np.abs(found - data.average).max())

    sentence = f"frequencies of {stream.name}, n = {m.users}, T = {m.epochs}; restored{vacuous(stream, bound)}"
    return Accuracy(where, sentence, bound, float(m.delta), lambda rng: stream, error, run)


ON_EDGE = Fraction(1, 8)
"""How far above an even number of steps the changes are that are tried; up to the next even number levels are the same."""
_NOISE = 2  # steps by which a distance may be off: one for either of its ends


@dataclass(frozen=True, slots=True)
class Votes:
    """One user's votes for one change, and how they come about."""

    votes: tuple[int, ...]  # the epochs, counted from 1, in which the user votes yes
    change: Fraction  # by how much the group moves, in steps
    at: int  # the epoch of the change, counted from 1

    @property
    def seen(self) -> Fraction:
        """The distance that this user sees."""
        return self.change + _NOISE


def level(distance: Fraction, top: int) -> int:
    """The highest level j whose threshold, ``2 (j + 1)`` steps, a distance exceeds; -1 where it is only the silent one."""
    return max(-1, min(-(-distance // 2) - 2, top))


def votes_of(epochs: int, change: Fraction, at: int) -> Votes:
    """Of the user who sees the most while another one of the group sees the least; none of them votes after the update."""
    top = epochs.bit_length() - 1
    high, low = (level(change + noise, top) for noise in (_NOISE, -_NOISE))
    if high < 0:
        return Votes((), change, at)
    every = 1 << (top - high)
    last = epochs if low < 0 else min(epochs, _next(at, 1 << (top - low)))
    return Votes(tuple(range(_next(at, every), last + 1, every)), change, at)


def _next(epoch: int, period: int) -> int:
    """The first multiple of the period from an epoch on."""
    return -(-epoch // period) * period


def most_votes(epochs: int) -> Votes:
    """The most that one change can cost a user, exhaustively over changes of all sizes in all epochs.

    The proof sketch of JRUW18, Theorem 4.3, says at most twice. On the event that all users' estimates are accurate, a user whose
    group has moved by D (in steps, half the distance of two thresholds) since the last update sees a distance within D - 2 and
    D + 2: a step each for the estimate of now and of then. So of two users of a group one may see a level that is two above the
    other's, and vote four times until the other one votes too, and there is an update.

    Examples
    --------
    >>> worst = most_votes(64)
    >>> worst.votes, float(worst.change), worst.at
    ((16, 32, 48, 64), 4.125, 1)
    """
    sizes = [2 * steps + ON_EDGE for steps in range(epochs.bit_length() + _NOISE)]
    tried = (votes_of(epochs, size, at) for size in sizes for at in range(1, epochs + 1))
    return max(tried, key=lambda each: len(each.votes))
