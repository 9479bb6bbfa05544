"""What heavy hitters cost in the shuffled model."""

from fractions import Fraction

from ldpaudit.accountants.range_queries import least_rho, one_element_each
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: ShuffledHeavyHitters, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of the shuffled messages of all users, in the worst case over what they hold.

    Two values of which the first bits differ have no prefix in common: one element is replaced in the oracle of every
    length. The oracles' noise is independent, so that the loss is that of as many messages as a value has bits, each hidden
    among its own blanket. What the search names is a function of the messages, and the threshold costs nothing. Tight up to
    what others' messages hide.

    Epsilon is infinite at delta = 0. Where users are added or removed, the number of messages reveals it, and delta is 1; the
    paper's relation is replace-one. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Appendix D, with composition exact
    in place of epsilon and delta divided by the lengths. Proof: proofs/shuffled_heavy_hitters.py.

    ``m``: any; ``neighbours``: replace-one. Returns in nats. INTERVAL; EXACT for one user, where it is enumerated,
    and for one user of two values.
    """
    return one_element_each(m)


def for_privacy(epsilon: Number, delta: Number, users: int, domain: int, beta: Number = Fraction(1, 10)) -> ShuffledHeavyHitters:
    """The one with the fewest blanket messages that is certified to be (epsilon, delta)-private; tau as in Theorem 4.3.

    Its threshold is the least with which, except with probability `beta`, whatever is kept is held by a quarter of it.

    Raises ValueError where a parameter lies outside its domain, or there are too few users for such a threshold.
    """
    start = ShuffledHeavyHitters(users, domain, max(1, (users - 1).bit_length()), 1, 1)
    rho = least_rho(start, epsilon, delta)
    return ShuffledHeavyHitters.with_few_kept(users, domain, start.tau, rho, beta)
