"""What sparse statistical queries cost in the shuffled model."""

from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.range_queries import merged_elements
from ldpaudit.accountants.shuffled_hadamard import replaced_elements
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: SparseStatisticalQueries, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of the shuffled messages of all users, whatever they hold, for any queries within `k` and `changed`.

    A replaced user changes at most D elements of k: those that the larger of two sets of queries does not share, with what
    fills up the smaller one. From above they are replaced one by one,

    .. math:: \delta_D(\varepsilon) \le \frac{e^\varepsilon - 1}{e^{\varepsilon/D} - 1}\, \delta_1(\varepsilon/D)

    or together, which costs little more than D independent messages where :math:`4 D^2 p` is not far above 1
    (`counting.one_shuffle`). From below, two sets of queries whose elements are independent, and others of whom no query is
    true; or D queries and none, where no query is true of the others, either (`counting.hits`).

    Epsilon is infinite at delta = 0. Where users are added or removed, the number of messages reveals it, and delta is 1; the
    paper's relation is replace-one. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Corollary B.1, with D in place of k.
    Proof: proofs/sparse_statistical_queries.py.

    ``m``: any; ``neighbours``: replace-one. Returns in nats. INTERVAL; EXACT for one user who sends one element.
    """
    return Bracket(merged_elements(m, m.changed), replaced_elements(m, m.changed))
