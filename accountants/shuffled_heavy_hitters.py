"""What heavy hitters cost in the shuffled model."""

from __future__ import annotations

from ldpaudit.accountants.range_queries import one_element_each
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: ShuffledHeavyHitters, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of the shuffled messages of all users, in the worst case over what they hold.

    Two values of which the first bits differ have no prefix in common: one element is replaced in the oracle of every
    length. The oracles' noise is independent, so that the loss is that of as many messages as a value has bits, each hidden
    among its own blanket. What the search names is a function of the messages, and the threshold costs nothing. Tight up to
    what others' messages hide.

    Epsilon is infinite at delta = 0. Where users are added or removed, the number of messages reveals it, and delta is 1; the
    paper's relation is replace-one. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Appendix D, with composition exact
    in place of epsilon and delta divided by the lengths. Proof: proofs/shuffled_heavy_hitters.py.

    Parameters
    ----------
    m : ShuffledHeavyHitters
        Any.
    neighbours : Neighbours
        Replace-one.

    Returns
    -------
    PrivacyProfile
        In nats. INTERVAL; EXACT for one user, where it is enumerated, and for one user of two values.
    """
    return one_element_each(m)
