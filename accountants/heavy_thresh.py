"""What HEAVYTHRESH costs, whoever the other users and the centre are."""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import flint
import numpy as np

from ldpaudit.accountants.bassily_smith import largest_share, seen
from ldpaudit.accountants.composition.product import ProductProfile, grouped
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.exact import ExactPLD, LawPair, ProductPair, dominating_pair, product
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram
from ldpaudit.neighbours import USER_LEVEL, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta

_LANES = 1 << 12  # most lanes of columns that are compared
_CELLS = 32
"""Ranges of how far a pair of reports is apart, of each of which the other pair is bounded."""


@dataclass(frozen=True)
class TranscriptProfile(ProductProfile):
    """Profile of votes that differ and of reports, independent of each other."""

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 all losses together, EXACT; else as `ProductProfile`."""
        if require_delta(delta) == 0:
            return narrow(lambda: reduce(flint.arb.max, map(_all_losses, self.pairs)), self.source)
        return super().epsilon(delta)


def profile(m: HeavyThresh, neighbours: Neighbours = USER_LEVEL) -> PrivacyProfile:
    r"""Profile of one user's transcript over all epochs, in the worst case over two streams and over everybody else.

    With :math:`\alpha = \log\frac{p}{1-p}` and :math:`\beta = \log\frac{q}{1-q}` the noise levels a and b of the coins
    that are thrown, V votes and E estimates of one user, and N epochs whose threshold two histograms can exceed, in the first
    epoch one histogram and the start,

    .. math:: \varepsilon(0) = \alpha\,\min\{2 (V - \kappa), N\} + \beta E, \qquad
              V = \Bigl\lceil \frac{\varepsilon}{4a} \Bigr\rceil, \qquad
              E = \Bigl\lceil \frac{\varepsilon}{4b} \Bigr\rceil,

    where :math:`\kappa` is 1 if the first vote is yes whatever the user holds, else 0; T caps all counts. delta(epsilon) is that
    of this many randomized bits and of E reports, each a randomized bit that is seen with probability h, the largest share of rows
    in which two words' signs differ.

    From above: in each epoch two streams' votes have the same law, or are the two values of a bit, randomized; and the reports of
    any two histograms cost at most what those of the two words do, row by row by joint convexity. Counters are checked on every
    path, so an adversary who decides on updates while seeing the transcript, and on the public matrix before, gains nothing.
    From below: `HeavyThresh.inputs`, a pair of streams under a fixed list of updates. The two ends differ where T is too short for
    all votes and estimates, unless as below; where it is not decided whether words cancel in all rows (:math:`\kappa`), and for
    delta, where h is not known.

    *Two estimates, and words of two different columns.* A histogram then is a place x in [-1, 1] up to sign: its mean column, in
    the rows where the two differ. It votes where it moved by :math:`g_t = c_t / \ell` or more, with the least changes c of row
    sums. Let :math:`\alpha \ge \beta`, let at most V epochs have votes at all, and let n, the number of votes above, be more than
    T - 1, or than T - 2 where before the first update all histograms vote alike. Then delta is at most that of n votes and of two
    reports of places at most :math:`w_1` and :math:`w_2` apart, in the worst case over

    .. math:: (2 - g, 2), \qquad \bigl(w,\; \max\{2 - g,\; \min(2,\, 2 + g' - w)\}\bigr) \text{ for } 2 - g < w \le 2,

    where g is the least and g' just below the largest :math:`g_t \le 2` after the first epoch.

    *A report.* Its bit has mean :math:`\theta x`, so that for :math:`\varepsilon \ge 0` the divergence of places x and y is at most
    :math:`\bigl(\theta |x - y| - (e^\varepsilon - 1)(1 - \theta)\bigr)_+ / 2` in each such row: that of a symmetric pair, which
    dominates all places that are not further apart. *The second report, where a vote differs in its epoch.* As neither stream has
    used up its votes, one moved, from x to u, by g or more, and the other, from y to v, by g' at most; let :math:`x \le y`, by
    symmetry, and w = y - x. Where w > 2 - g, x is below g - 1, so that u is at least x + g. If v is not below u, v - u is at most
    2 - g; else u - v is at most 1 - (y - g'), and y is at least w - 1.

    *All paths.* After the first report, with r epochs and k votes left and k + 1 > r, the rest costs at most k votes and a second
    report of width :math:`w_2`, by induction on r. An epoch whose votes differ leaves k - 1 votes, another one at most r - 1. A
    report without such a vote leaves r - 1 votes, fewer than k, and costs less than one. Before the first report k + 1 > r too,
    or where all vote alike k + 2 > r: an epoch takes a vote with it, or none, and the first report leaves what was assumed. Each
    step is bounded by the same laws whatever was seen, so an adversary who adapts gains nothing. Of three epochs of 300 samples,
    a = .369 and b = .350, both ends at delta = 0 are 1.3372; 2a + 2b is 1.439.

    Source: the reading in ldpaudit/mechanisms/heavy_thresh.py of Joseph, Roth, Ullman, Waggoner 2018, whose Theorem 5.1 says
    epsilon. Proof: proofs/heavy_thresh.py.

    ``m``: or `HeavyThreshRepaired`, which rounds V and E down; ``neighbours``: user-level. Returns in nats. EXACT
    where the two ends meet, else INTERVAL.
    """
    share, compared = largest_share(m.public)
    upper = transcript(m.vote_coin, m.differing_votes, _worst_reports(m, share if compared else Fraction(1)), m.estimates)
    told = list(zip(*(m.transcript(x) for x in m.inputs), strict=True))
    reports = [_report(m, one.sent, other.sent) for one, other in told if one.sent and other.sent]
    votes = sum(one.vote != other.vote for one, other in told)
    lower = transcript(m.vote_coin, votes, [(each, 1) for each in reports], len(reports))
    return upper if lower == upper else Bracket(lower, upper)


def transcript(p: Fraction, votes: int, reports: ProductPair, number: int) -> TranscriptProfile:
    """Profile of this many votes that differ, of a coin p, and of reports: pairs of laws of this many in all."""
    there = [(seen(p, Fraction(1)), votes), *reports]
    back = [([(second, first) for first, second in law], times) for law, times in there]
    source = f"HEAVYTHRESH: {votes} votes in which two streams differ, and {number} reports"
    return TranscriptProfile(tuple(dict.fromkeys((grouped(there), grouped(back)))), source)


def _all_losses(pair: Groups) -> flint.arb:
    return sum((times * law.loss_balls()[0] for law, times in pair), flint.arb(0))


def _report(m: HeavyThresh, first: Histogram, second: Histogram) -> LawPair:
    """Laws of the reports of two histograms."""
    if len(first) == len(second) == 1:
        return seen(m.estimate_coin, Fraction(m.public.differing(first[0][0], second[0][0]), m.rows))
    words = sorted({word for word, _ in (*first, *second)})
    blocks = ((block > 0) @ (1 << np.arange(len(words))) for block in m.public.blocks(words))
    rows = np.sum([np.bincount(block, minlength=1 << len(words)) for block in blocks], axis=0)  # by which words' signs are +1
    found, theta = list[tuple[Fraction, Fraction]](), (2 * m.estimate_coin - 1) / m.rounds
    for signs, number in enumerate(rows.tolist()):
        one, other = (sum(n if signs >> words.index(word) & 1 else -n for word, n in each) for each in (first, second))
        share = Fraction(number, 2 * m.rows)
        found += [(share * (1 + sign * theta * one), share * (1 + sign * theta * other)) for sign in (1, -1)]
    return found


def _worst_reports(m: HeavyThresh, share: Fraction) -> ProductPair:
    """Laws that dominate those of all reports, where two words differ in at most this share of the rows: see `profile`."""
    plain = [(seen(m.estimate_coin, share), m.estimates)]
    if m.estimates != 2 or m.vote_coin < m.estimate_coin or np.count_nonzero(m.can_vote) > m.votes or not _two_columns(m.public):
        return plain
    able = m.changes[1:][m.changes[1:] <= 2 * m.rounds].tolist()
    if not able or m.differing_votes + 1 + m.alike <= m.epochs:
        return plain
    silent, least = 2 + Fraction(max(able) - 1, m.rounds), 2 - Fraction(min(able), m.rounds)
    ends = [least + (2 - least) * Fraction(n, _CELLS) for n in range(_CELLS + 1)]
    found = [(least, Fraction(2)), *((high, min(Fraction(2), max(least, silent - low))) for low, high in pairwise(ends))]
    laws = [[(_apart(m.estimate_coin, share, each), 1) for each in widths] for widths in found]
    curves = [ExactPLD.of(product(pair)) for pair in laws]
    worst = dominating_pair(curves)
    return laws[0] if worst == dominating_pair(curves[:1]) else [([(mass, mass / ratio) for ratio, mass in worst.atoms], 1)]


def _apart(q: Fraction, share: Fraction, width: Fraction) -> LawPair:
    """A pair that dominates all reports whose columns' entries are at most `width` apart, in this share of the rows; 2 is most."""
    likely, seldom = share * (1 - q + (2 * q - 1) * width / 2), share * (1 - q)
    return [(likely, seldom), (seldom, likely), (1 - likely - seldom, 1 - likely - seldom)]


def _two_columns(public: Projection) -> bool:
    """Whether the words have at most two different columns, as far as that is looked at."""
    words = range(public.domain if public.lanes * public.domain <= _LANES else 0)
    return 0 < len({public.packed(word).tobytes() for word in words}) <= 2
