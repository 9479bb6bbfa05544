"""The attack on local hashing."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, log_probability, log_ratio, loss_of
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: LocalHashing | Loloha, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value whose hash alone it names, several reports for the one named more often."""
    if isinstance(m, Loloha):
        return Attack((0, m.domain - 1), lambda views: _told(m, np.asarray(views)), "{all reports are h(x) != h(x')}")
    return by_support((0, m.domain - 1), loss_of(m.p / m.lie), m.supports, "{y = h(x) != h(x')}")


def _told(m: Loloha, views: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-likelihood ratio, by how many reports name each hash value."""
    kept, u = m.lifetime(), log_ratio(m.p2 * (m.g - 1), 1 - m.p2)
    likely = u * np.stack([np.count_nonzero(views[:, 2:] == y, axis=1) for y in range(m.g)], axis=1)
    rest = log_probability(kept.lie) + np.logaddexp.reduce(likely, axis=1)
    hashes = [kept.hash(views[:, 0], views[:, 1], x) for x in (0, m.domain - 1)]
    own = (log_probability(kept.p - kept.lie) + np.take_along_axis(likely, h[:, None], axis=1)[:, 0] for h in hashes)
    first, second = (np.logaddexp(rest, each) for each in own)
    # Sums of equal losses in another order must compare equal.
    return np.asarray(np.round(first - second, 9), dtype=np.float64)
