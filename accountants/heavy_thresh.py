"""What HEAVYTHRESH costs, whoever the other users and the centre are."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.bassily_smith import largest_share, seen
from ldpaudit.accountants.composition.product import ProductProfile
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.distribution import Groups, Loss, PrivacyLossDistribution
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram, Shown
from ldpaudit.neighbours import USER_LEVEL, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta


@dataclass(frozen=True)
class TranscriptProfile(ProductProfile):
    """Profile of votes that differ and of reports that differ in a share of their rows, independent of each other."""

    votes: tuple[Fraction, int]  # likelihood ratio of a vote, and in how many epochs two streams' votes differ
    # the same of a report in a row that differs, and of how many reports such rows are more than none
    reports: tuple[Fraction, int]

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 all losses together, EXACT; else as `ProductProfile`."""
        if require_delta(delta) == 0:
            parts = self.votes, self.reports
            return narrow(lambda: sum((times * Loss(ratio).ball() for ratio, times in parts), flint.arb(0)), self.source)
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
    From below: `HeavyThresh.inputs`, a pair of streams under a fixed list of updates. The two ends differ where T is too short
    (open is how much a vote and an estimate in one epoch tell, where few words' columns differ: which histograms the streams hold
    then depends on what they held at the update before), where it is not decided whether words cancel in all rows
    (:math:`\kappa`), and for delta, where h is not known. Of two different columns, three epochs and 300 samples, and a = .369,
    b = .350, the ends at delta = 0 are 1.089 and 1.439; in floats all adversaries of one in seven of the histograms give 1.337.

    Source: the reading in ldpaudit/mechanisms/heavy_thresh.py of Joseph, Roth, Ullman, Waggoner 2018, whose Theorem 5.1 says
    epsilon. Proof: proofs/heavy_thresh.py.

    ``m``: or `HeavyThreshRepaired`, which rounds V and E down; ``neighbours``: user-level. Returns in nats. EXACT
    where the two ends meet, else INTERVAL.
    """
    share, compared = largest_share(m.public)
    upper = transcript(m, m.differing_votes, Counter({share if compared else Fraction(1): m.estimates}))
    first, second = (m.transcript(x) for x in m.inputs)
    votes = sum(one.vote != other.vote for one, other in zip(first, second, strict=True))
    lower = transcript(m, votes, Counter(_shares(m.public, first, second)))
    return upper if lower == upper else Bracket(lower, upper)


def transcript(m: HeavyThresh, votes: int, shares: Counter[Fraction]) -> TranscriptProfile:
    """Profile of this many votes that differ, and of reports by the share of rows in which they differ."""
    return of_counts(m.vote_coin, votes, m.estimate_coin, +Counter({share: n for share, n in shares.items() if share}))


def of_counts(p: Fraction, votes: int, q: Fraction, shares: Counter[Fraction]) -> TranscriptProfile:
    """The same for coins p and q: exact for one pair of streams that differs so."""
    laws: dict[PrivacyLossDistribution, int] = {ExactPLD.of(seen(p, Fraction(1))): votes} if votes else {}
    for share, times in sorted(shares.items()):
        law = ExactPLD.of(seen(q, share))
        laws[law] = laws.get(law, 0) + times
    groups: Groups = tuple(laws.items())
    reports = shares.total()
    source = f"HEAVYTHRESH: {votes} votes in which two streams differ, and {reports} reports"
    return TranscriptProfile((groups,), source, (p / (1 - p), votes), (q / (1 - q), reports))


def _shares(public: Projection, first: list[Shown], second: list[Shown]) -> list[Fraction]:
    """For each epoch in which two users report single words, the share of rows in which these differ."""
    words = [(_word(one.sent), _word(other.sent)) for one, other in zip(first, second, strict=True)]
    pairs = [(u, v) for u, v in words if u is not None and v is not None]
    return [Fraction(public.differing(u, v), public.rows) for u, v in pairs]


def _word(sent: Histogram | None) -> int | None:
    """The word of a histogram that has only one: the worst pair reports no other."""
    return sent[0][0] if sent is not None and len(sent) == 1 else None
