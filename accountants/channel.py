"""What a channel costs."""

from ldpaudit.accountants.pld.all_pairs import profile_of
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import of_law
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: Channel, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of a finite randomizer with matrix M, by enumeration of its pairs of rows.

    .. math:: \delta(\varepsilon) = \max_{x \ne x'} \sum_y \bigl(M_{xy} - e^\varepsilon M_{x'y}\bigr)_+,
              \qquad \varepsilon(0) = \max_y \log \frac{\max_x M_{xy}}{\min_x M_{xy}}

    Tight: attained by a pair of rows, which are neighbours as any two are. It is the definition, for delta; at delta = 0 no
    event has a larger likelihood ratio than its best view. Proof: proofs/channel.py.

    ``m``: rows that sum to 1, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT
    at every epsilon.
    """
    return profile_of(m.matrix, f"the matrix itself: all pairs of its {len(m.inputs)} rows of {len(m.views)} views")


def shuffled(m: Channel, users: int) -> Bound | None:
    """What the laws of all inputs allow; None, and then the clones serve, where the kinds of pairs are too many."""
    return of_law({x: dict(enumerate(row)) for x, row in enumerate(m.matrix)}, users)
