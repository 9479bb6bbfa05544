"""What quantiles cost in the shuffled model."""

from ldpaudit.accountants import account, range_queries
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: ShuffledQuantiles, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of the shuffled messages of all users: that of the range queries that quantiles are read off.

    Any number of quantiles is a function of the counts, so that it costs no more; whoever releases quantiles alone releases
    less, of which nothing is claimed here. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Theorem E.1.
    Proof: proofs/range_queries.py, of what the counts cost.

    ``m``: any; ``neighbours``: replace-one. Returns in nats; rigour as for `RangeQueries`. Infinite at delta = 0.
    """
    return account(m.ranges, neighbours)


def for_privacy(epsilon: Number, delta: Number, users: int, cells: int) -> ShuffledQuantiles:
    """Over the range queries of `range_queries.for_privacy`, whose errors it has, too."""
    m = range_queries.for_privacy(epsilon, delta, users, cells)
    return ShuffledQuantiles(users, cells, m.tau, m.rho)
