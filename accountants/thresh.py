"""What THRESH costs, whoever the other users and the centre are."""

from fractions import Fraction

from ldpaudit.accountants.composition.coins import TwoCoins
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.neighbours import USER_LEVEL, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: Thresh, neighbours: Neighbours = USER_LEVEL) -> PrivacyProfile:
    r"""Profile of one user's transcript over all epochs, in the worst case over two streams and over everybody else.

    With :math:`\alpha = \log\frac{p}{1-p}` and :math:`\beta = \log\frac{q}{1-q}` the noise levels a and b of the coins
    that are thrown, V votes and E estimates,

    .. math:: \varepsilon(0) = 2 (V - v) \alpha + E \beta, \qquad
              V = \Bigl\lceil \frac{\varepsilon}{4a} \Bigr\rceil, \qquad
              E = \Bigl\lceil \frac{\varepsilon}{4b} \Bigr\rceil,

    where v is 1 if the first vote is yes whatever the stream (users then compare with -1, and the top threshold is
    below 1), else 0; T caps all counts, and alone does for a negative noise level. delta(epsilon) is that of
    ``2(V - v)`` and E bits, randomized independently.

    From above: in each epoch two streams' votes have the same law, or are the two values of a bit, randomized. The
    estimates are such bits, or mixtures of the two; a user without budget sends an estimate of 0. Even an adversary who
    decides on updates while seeing the transcript makes the streams differ in at most ``2(V - v)`` votes and E estimates
    on *every* path, because the counters are checked on every path. So the view can be simulated from that number of
    randomized bits, drawn beforehand: each differing vote or estimate takes the next one. From below: `Thresh.inputs`, a pair of
    streams under a fixed list of updates. Where T is too short for all votes and estimates to be spent in different epochs, or
    too many thresholds exceed 1, the two ends differ.

    Source: the pseudocode of Joseph, Roth, Ullman, Waggoner 2018; their Theorem 4.1 says epsilon. The counters are
    checked before they grow, so each may exceed epsilon / 4 by one noise level, and the votes of both streams count:
    what holds, for positive noise levels, is :math:`\frac34 \varepsilon + 2a + b`. Of `ThreshRepaired`, which rounds V and E
    down, it is :math:`\frac34 \varepsilon`: two streams spend their votes in different epochs, but their estimates in the same.
    Proof: proofs/thresh.py.

    ``m``: or `ThreshRepaired`, whose noise levels are above 0; ``neighbours``: user-level. Returns in nats. EXACT at every
    epsilon where votes and estimates find different epochs, else INTERVAL.
    """
    source = m.title + ": {} votes in which two streams differ, and {} estimates"
    p, q = m.vote_coin, m.estimate_coin
    upper = m.differing_votes, m.estimates
    first, second = (m.chances(x) for x in m.inputs)
    lower = tuple(sum(map(Fraction.__ne__, first[part::2], second[part::2])) for part in (0, 1))
    low, high = (TwoCoins(p, votes, q, sent, source.format(votes, sent)) for votes, sent in (lower, upper))
    return high if lower == upper else Bracket(low, high)
