r"""What JRUW18 takes from Bassily and Smith 2015, and what is found: a randomizer, and the frequency oracle that it makes.

JRUW18 cites them without a formula; the randomizer, its constants and its size are from memory, and errors are derived here.
"""

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, derived, largest_error, remembered, zipf_data
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrowed
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.bassily_smith import ProjectedBassilySmith

BETA = Fraction(1, 20)  # failure probability at which errors and sizes are asked for
_ROUNDED = Fraction(1, 10**12)  # of numbers with e**epsilon, as the coin is rounded toward privacy


@dataclass(frozen=True)
class Setting:
    """Parameters of the oracle as JRUW18 sets it up, with w = 20 n rows."""

    epsilon: Fraction  # of a report
    users: int  # n and d
    domain: int

    @property
    def mechanism(self) -> ProjectedBassilySmith:
        """The oracle."""
        return ProjectedBassilySmith.for_epsilon(self.epsilon, 20 * self.users, self.domain)


def largest_bias(m: ProjectedBassilySmith) -> Enclosure:
    r"""Largest distance of :math:`\sqrt w\,E z_j` from the entry u of row j, over u in {-1, 0, 1}; exact, all views listed."""
    means = [(u, (2 * m.sign_chance(u) - 1) * m.scale) for u in (-1, 0, 1)]
    return Enclosure.of(max(abs(mean - u) for u, mean in means), source="both signs of a row, listed")


def own_variance(m: ProjectedBassilySmith) -> Enclosure:
    r"""Variance of :math:`\langle\varphi_v, z\rangle`, z being the report on v: it is c or -c; exact, by both signs."""
    true = m.sign_chance(1)
    second, first = m.scale**2, m.scale * (2 * true - 1)
    return Enclosure.of(second - first**2, source="both signs of a row, listed")


@narrowed("two of Hoeffding's bounds")
def simultaneous_error(m: ProjectedBassilySmith, users: int, beta: Fraction) -> flint.arb:
    r"""Error that all words' estimates keep within, in shares of the users, except with probability beta.

    .. math:: c \sqrt{\frac{2 \ln(4d/\beta)}{n}} + \sqrt{\frac{2 \ln(4d/\beta)}{w}}

    Two of Hoeffding's bounds, each with half of beta over d words: for the n users' rows and signs given the matrix, and for
    the matrix. Source: derived from Bassily, Smith 2015.
    """
    log = 2 * ball(4 * m.domain / beta).log()
    return ball(m.scale) * (log / users).sqrt() + (log / m.rows).sqrt()


@narrowed("Bassily, Smith 2015, from memory")
def size_of_2015(s: Setting, beta: Fraction) -> flint.arb:
    r"""Rows that Bassily and Smith 2015 take.

    .. math:: \ln(d+1) \ln(2/\beta) / \gamma^2, \qquad \gamma = \sqrt{\ln(2d/\beta) / \varepsilon^2 n}
    """
    gamma = ball(2 * s.domain / beta).log() / (ball(s.epsilon) ** 2 * s.users)
    return flint.arb(s.domain + 1).log() * ball(2 / beta).log() / gamma


def printed(s: Setting) -> tuple[Printed, ...]:
    """The randomizer's privacy, bias and variance; and the number of rows, beside that of 2015."""
    m = s.mechanism
    with working_precision(256):
        exp = ball(s.epsilon).exp()
        claimed = float((4 * exp / (exp - 1) ** 2).upper())
    where = "JRUW18 Theorem 5.2, the randomizer"
    rows = f"rows of Bassily and Smith 2015 at beta={float(BETA):g}, of which it takes 20 n"
    return (
        remembered("JRUW18 Theorem 5.1, the randomizer", "a report is epsilon-LDP", float(s.epsilon), account(m).epsilon(0)),
        remembered(where, "largest bias of a row", 0.0, largest_bias(m)),
        derived(where, "variance of a report on v in the direction of v", claimed, own_variance(m),
                rounding=_ROUNDED * Fraction(claimed)),
        remembered("JRUW18 Theorem 5.2, the oracle", rows, float(m.rows), size_of_2015(s, BETA),
                   variant="it does not say that 20 n rows are as many as theirs"),
    )  # fmt: skip


EXAMPLES = (Setting(Fraction(1), 2_000, 20), Setting(Fraction(1, 10), 10_000, 100), Setting(Fraction(4), 100_000, 1_000))
"""Few users and many, small epsilons and large."""

SIMULATED = EXAMPLES[:2]  # settings that run in a second


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The error over all words, derived; Zipf data."""
    alpha = simultaneous_error(s.mechanism, s.users, BETA).high * s.users
    sentence = f"the oracle over {s.domain} words, n = {s.users}, Zipf; derived; in users"
    data, error = zipf_data(s.users, s.domain), largest_error(s.domain)
    return (Accuracy("JRUW18 Theorem 5.2, the oracle", sentence, alpha, float(BETA), data, error),)
