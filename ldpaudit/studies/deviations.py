"""How far an estimated count is off, where a formula says so."""

from fractions import Fraction

from ldpaudit.accountants import randomized_response, unary_encoding
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Aggregate, Plan, Run, Shuffle


def largest_deviation(plan: Plan, users: int, added: Fraction | None = None) -> Enclosure | None:
    """Largest standard deviation of an estimated count, whatever the data, of one report of each user.

    ``added``: variance of the noise that those who add up put on each count; by default of the plan's, which has that of the honest
    alone. In users; of noise on counts however many users there are. None where no formula of the mechanism's is known, or where
    reports are left out of the sum.
    """
    if added is None:
        added = sum((each.variance for each in plan.noise), Fraction(0)) if isinstance(plan, Aggregate) else Fraction(0)
    if isinstance(plan, Aggregate) and plan.most_ones is not None:
        return None
    once = plan.plan if isinstance(plan, Aggregate | Shuffle) else plan
    if not isinstance(once, Run):
        return None
    if isinstance(m := once.mechanism, CountNoise):
        variance = m.variance + added
        return narrow(lambda: ball(variance).sqrt(), "the noise's variance")
    if (found := _frequencies(m, users)) is None:
        return None
    # The variance is linear in the number of holders.
    return max((found.deviation(holders, added) for holders in (0, users)), key=lambda each: each.high)


def _frequencies(m: Mechanism, users: int) -> Frequencies | None:
    """Of mechanisms whose reports count, or do not, for a value (of RAPPOR: for a bit), each with one of two probabilities."""
    match m:
        case KaryRandomizedResponse():
            return randomized_response.errors(m, users)
        case UnaryEncoding():
            return unary_encoding.errors(m, users)
        case SubsetSelection():
            return Frequencies(users, m.k, m.p, m.other)
        case LocalHashing():
            return Frequencies(users, m.domain, m.p, m.other)
        case Loloha(reports=1):
            return _frequencies(m.first(), users)
        case HadamardResponse():
            return Frequencies(users, m.k, m.p, Fraction(1, 2))
        case PermanentRappor() | Rappor(reports=1) | LongitudinalUnary(reports=1):
            return Frequencies(users, m.bits, m.bit_law(1)[1], m.bit_law(0)[1])
        case _:
            return None
