r"""What Stemmer's talk says of TreeHist, of which it prints no formula, and what our construction of it keeps."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.claims import heavy_hitters
from ldpaudit.accountants.claims.heavy_hitters import BETA
from ldpaudit.accountants.claims.sentence import Accuracy, Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.public_questions.deviation import deviation, largest_deviation
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram

_WHERE = "STEMMER, TreeHist"


@dataclass(frozen=True)
class Setting(heavy_hitters.Setting):
    """Parameters of TreeHist; see `heavy_hitters.Setting`."""

    one, two = TreeHistogram, SplitTreeHistogram


def level_error(m: TreeHistogram | SplitTreeHistogram, users: int) -> Enclosure:
    r"""The error that some count of a level exceeds with probability at most :math:`\beta/2`, for every data set.

    .. math:: t = BE\Bigl(\frac{n c^2}{\rho}, \frac c\rho + 1, \ln \frac{4 V}{\beta}\Bigr), \qquad V = 2^w n G, \qquad
              c = \frac{1}{2p-1}

    for G levels, each of which a share :math:`\rho` of the users answers: :math:`\varphi/G` where a user sends one sign, and
    1/G where they send two; BE is Bernstein's bound, solved for the distance. V bounds the children of prefixes that somebody
    holds, and these are fixed by the data alone. Where none of their counts is wrong by more than t, no prefix that nobody
    holds is kept, so that no others are ever counted. Not tight. Source: Bernstein's inequality; the argument is ours.

    ``m``: its levels and vectors are taken for independent and uniform ones; ``users``: n, at least 1. Returns in
    users. INTERVAL.
    """
    return narrow(lambda: deviation(m.chances[0], users, m.children(users), m.beta / 2), "Bernstein, all children", Rigour.INTERVAL)


@narrowed("Bernstein, all levels and the last question", Rigour.INTERVAL)
def detection_level(m: TreeHistogram | SplitTreeHistogram, users: int) -> flint.arb:
    r"""The count from which on values are named with probability at least :math:`1 - \beta`, all of them, for every data set.

    .. math:: \max(2 t + 1, \; 2 t')

    with t as in `level_error` and t' the error of the last question's counts: a prefix of such a value is counted t + 1 at
    least, the threshold, at every level, and the value t' at least in the end. With the same probability no value is named
    that nobody holds. Up to the rounding of the server's sums, of about 1e-16 of them. Not tight. Source: the argument is
    ours; with w = 1 it is :math:`O(\sqrt{n \log|X| \log(n/\beta)}/\varepsilon)`, as Bassily, Nissim, Stemmer, Thakurta 2017
    say. Proof: proofs/tree_histogram.py, the lemma on levels.

    ``m``, ``users``: as for `level_error`. Returns in users; above n, nothing is promised. INTERVAL.
    """
    error = deviation(m.chances[0], users, m.children(users), m.beta / 2)
    last = deviation(m.chances[1], users, users, m.beta / 2)
    return (ball(Fraction(m.threshold(users))) + error).max(ball(Fraction(m.least_count(users))) + last)


def hashed_detection_level(m: HashedTreeHistogram, users: int) -> int:
    r"""The count from which on TreeHist over local hashing names values, with probability at least :math:`1 - \beta`.

    .. math:: \min\{f : f - t(f) \ge \eta, \; f - t'(f) \ge \eta'\}

    with the server's thresholds :math:`\eta` and :math:`\eta'`, and the errors t and t' of a level's and of the last
    question's counts, which here grow with the number f of holders: a holder's term varies more. As f - t(f) is convex and
    below :math:`\eta` at 0, what is so at f is so at every larger one. Not tight. Source: Bernstein's inequality; ours.

    ``m``: its levels and hash functions are taken for independent and uniform ones; ``users``: n, at least 1. Returns
    in users; n + 1 where nothing is promised.
    """
    questions = tuple(zip(m.chances, (m.children(users), users), (m.threshold(users), m.least_count(users)), strict=True))

    def named(held: int) -> bool:
        errors = (Fraction(largest_deviation(terms, users, values, m.beta / 2, held)) for terms, values, _ in questions)
        return all(held - error >= Fraction(least) for error, (*_, least) in zip(errors, questions, strict=True))

    return bisect_left(range(users + 1), True, key=named)


def found_from(m: TreeHistogram | SplitTreeHistogram | HashedTreeHistogram, users: int) -> float:
    """The detection level of any of the three."""
    return hashed_detection_level(m, users) if isinstance(m, HashedTreeHistogram) else detection_level(m, users).high


def rate(s: Setting) -> float:
    r"""The error of TreeHist with the constant 1, :math:`\sqrt{n \ln(n/\beta) \ln|X|} / \varepsilon`, from memory of the paper."""
    return math.sqrt(s.users * math.log(s.users / BETA) * math.log(s.domain)) / float(s.epsilon)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Privacy, costs and detection, of one sign a user and of two."""
    return heavy_hitters.rows(_WHERE, s, rate(s), detection_level)


EXAMPLES = (
    Setting(Fraction(1), 10**6, 1 << 64),
    Setting(Fraction(1), 10**6, 1 << 64, width=1),
    Setting(Fraction(1, 2), 10**7, 1 << 32),
    Setting(Fraction(2), 10**5, 1 << 20, width=4),
)
"""The talk's millions of users; narrow fragments, and fewer values."""

SIMULATED = (Setting(Fraction(2), 10**5, 1 << 20, width=4), Setting(Fraction(3), 10**5, 1 << 64))
"""Those that take parts of a second."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """What is missed and what is miscounted, by one sign a user."""
    m = s.mechanism
    return heavy_hitters.errors(_WHERE, m, detection_level(m, s.users), heavy_hitters.miscount(m, s.users, 0))
