r"""What Stemmer's talk says of Bitstogram, of which it prints no formula, and what our construction of it keeps."""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.claims import heavy_hitters
from ldpaudit.accountants.claims.heavy_hitters import BETA
from ldpaudit.accountants.claims.sentence import Accuracy, Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.bitstogram import Bitstogram, SplitBitstogram
from ldpaudit.mechanisms.shared.public_questions.deviation import deviation

_WHERE = "STEMMER, Bitstogram"


@dataclass(frozen=True)
class Setting(heavy_hitters.Setting):
    """Parameters of Bitstogram; see `heavy_hitters.Setting`."""

    one, two = Bitstogram, SplitBitstogram


def detection_level(m: Bitstogram | SplitBitstogram, users: int) -> Enclosure:
    r"""The count from which on values are named with probability at least :math:`1 - \beta`, all of them, for every data set.

    .. math:: \max(\alpha, \; 2 t'), \qquad \alpha = \tfrac43 BE\Bigl(\frac{2 n c^2}{\rho}, \frac{2c}{\rho}, \ln(8 L 2^w)\Bigr)

    for L symbols of w bits, c = 1/(2p - 1) and a share :math:`\rho` of the users who answer a question, with BE Bernstein's
    bound, solved for the distance, and t' the error of the last question's counts. Infinite unless
    :math:`4^{-R} \le \frac\beta2 \frac\alpha n` and values collide with probability at most :math:`\frac{\alpha}{32 n}`.

    A row fails a value with probability at most 1/4: the others in its bucket are more than a quarter of its holders
    with probability at most 1/8 (Markov), and else one of fewer than :math:`L 2^w` symbols is counted more than the right
    one with probability at most 1/8. All rows fail it with probability at most :math:`4^{-R}`: they share the split of the
    users, but a user is asked in one row only, so that, given the hash functions, :math:`E e^{\sum_r \lambda_r Z_r} \le
    e^{\sum_r E(e^{\lambda_r Z_r} - 1)}` for the user's terms Z, and Bernstein's bounds of the rows multiply. At most
    :math:`n/\alpha` values are held so often. Not tight. Source: the argument is ours; Bassily, Nissim, Stemmer, Thakurta
    2017 say :math:`O(\sqrt{n \log(|X|/\beta) \log(1/\beta)}/\varepsilon)`, with a code. Proof: proofs/bitstogram.py, the
    lemma on rows.

    ``m``: its questions, vectors and hash functions are taken for independent and uniform ones; ``users``: n, at
    least 1. Returns in users; above n, nothing is promised. INTERVAL.
    """
    spelled = narrow(lambda: m.spelled_from(users), "Bernstein, all symbols of a row", Rigour.INTERVAL)
    share = Fraction(spelled.low) / users
    if not (m.beta / 2 * share * 4**m.rows >= 1 and m.collision <= share / 32):
        source = f"{m.rows} rows of {m.cells} cells are too few"
        return Enclosure(math.inf, math.inf, Rigour.INTERVAL, source)

    def bound() -> flint.arb:
        last = deviation(m.chances[1], users, users + m.rows * m.cells, m.beta / 2)
        return m.spelled_from(users).max(ball(Fraction(m.least_count(users))) + last)

    return narrow(bound, "Bernstein, all rows and the last question", Rigour.INTERVAL)


def found_from(m: Bitstogram | SplitBitstogram, users: int) -> float:
    """The detection level, rounded up."""
    return detection_level(m, users).high


def rate(s: Setting) -> float:
    r"""The error of Bitstogram with the constant 1, :math:`\sqrt{n \ln(|X|/\beta) \ln(1/\beta)} / \varepsilon`, from memory."""
    return math.sqrt(s.users * math.log(s.domain / BETA) * math.log(1 / BETA)) / float(s.epsilon)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Privacy, costs and detection, of one sign a user and of two."""
    return heavy_hitters.rows(_WHERE, s, rate(s), detection_level)


EXAMPLES = (
    Setting(Fraction(1), 10**6, 1 << 64),
    Setting(Fraction(1), 10**6, 1 << 64, width=1),
    Setting(Fraction(1, 2), 10**7, 1 << 32),
    Setting(Fraction(2), 10**5, 1 << 32, width=4),
)
"""The talk's millions of users; narrow symbols, and fewer values."""

SIMULATED = (Setting(Fraction(2), 10**5, 1 << 32, width=4), Setting(Fraction(3), 10**5, 1 << 64))
"""Those that take parts of a second."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """What is missed and what is miscounted, by one sign a user."""
    m = s.mechanism
    return heavy_hitters.errors(_WHERE, m, detection_level(m, s.users), heavy_hitters.miscount(m, s.users, m.rows * m.cells))
