"""What 1BitMean and dBitFlip cost."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, prod

from ldpaudit.accountants.aggregation.envelope import Bits, Move
from ldpaudit.accountants.composition.product import exact_reports
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import BlanketBound, Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern, listed, of_law
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean, PerturbedDBitFlip
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_DIGITS = 1 << 22
"""Binary digits of all probabilities of two counts of reports together, up to which they are compared exactly: in a second."""
_LISTED, _LISTED_COUNTS = 24, 8
"""Reports of one user whose counts are listed in a shuffle: of one bit, and of three of a vector."""


def profile(m: OneBitMean | DBitFlip | PerturbedDBitFlip, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of 1BitMean or of dBitFlip: see `mean_profile`, `histogram_profile` and `perturbed_profile`."""
    if isinstance(m, PerturbedDBitFlip):
        return perturbed_profile(m)
    return histogram_profile(m) if isinstance(m, DBitFlip) else mean_profile(m)


def mean_profile(m: OneBitMean) -> PrivacyProfile:
    r"""Profile of 1BitMean, for one or more reports of the kept bit.

    .. math:: \varepsilon(0) = \log \max\Bigl(\frac{h}{l}, \frac{1-l}{1-h}\Bigr) \quad\text{(one report, or for ever)}

    with l and h the probabilities that the report of 0, and of 1, is 1: `low` and `high`, brought nearer to 1/2 by the
    flips of a single report. For more reports the largest likelihood ratio is that of the counts 0 or `reports`.

    The inputs 0 and 1 are the worst pair at every epsilon: the law of x is a mixture of theirs with weights 1 - x and
    x, so that for x > x' both laws share all but a part x - x' of the mixture. Tight: attained on these counts. Source:
    Ding, Kulkarni, Yekhanin 2017, who take ``h = 1 - l``. Proof: proofs/one_bit.py.

    ``m``: as its constructor ensures. Returns in nats. Rigour EXACT up to 1,024 reports, fewer where `gamma` is a
    long fraction; INTERVAL beyond.
    """
    if m.reports > (most := exact_reports(m.gamma)):
        # Fewer reports are a part of these; the kept bit is all that any number of reports can show.
        return Bracket(mean_profile(replace(m, reports=most)), mean_profile(m.lifetime()))
    atoms = law_atoms(m.law(1), m.law(0))
    return FiniteProfile(both_directions(atoms), "1BitMean: the inputs 0 and 1, attained where all reports are alike")


def histogram_profile(m: DBitFlip) -> PrivacyProfile:
    r"""Exact profile of dBitFlip.

    .. math:: \varepsilon(0) = \min(d, 2) \log \frac{p}{1-p}

    Which bits are drawn does not depend on the value. Of the two in which two values differ, both are drawn with
    probability d(d-1) / (k(k-1)), and exactly one with 2 d(k-d) / (k(k-1)). With d = 1 never both: as published, with
    ``log(p/(1-p)) = epsilon/2``, it then costs half of what it claims. Tight, for every pair of inputs: attained on
    {bit x = 1, bit x' = 0}, or for d = 1 on {bit x = 1}. Source: Ding, Kulkarni, Yekhanin 2017.
    Proof: proofs/one_bit.py.

    ``m``: as its constructor ensures. Returns in nats. Rigour EXACT at every epsilon.
    """
    p, q, (both, one) = m.p, 1 - m.p, _drawn(m)
    neither = 1 - both - one
    atoms = [
        (both * p * p, both * q * q),
        (both * q * q, both * p * p),
        (one * p, one * q),
        (one * q, one * p),
        (neither + 2 * both * p * q, neither + 2 * both * p * q),
    ]
    return FiniteProfile(both_directions(atoms), "dBitFlip: min(d, 2) log(p/(1-p)), attained at bits 1 and 0")


def _drawn(m: DBitFlip | PerturbedDBitFlip) -> tuple[Fraction, Fraction]:
    """Probabilities that both bits in which two values differ are drawn, and exactly one of them."""
    pairs = m.k * (m.k - 1)
    return Fraction(m.d * (m.d - 1), pairs), Fraction(2 * m.d * (m.k - m.d), pairs)


def perturbed_profile(m: PerturbedDBitFlip) -> PrivacyProfile:
    r"""Profile of dBitFlip's kept bits, reported several times with fresh flips.

    .. math:: \varepsilon(0) = \min(d, 2) \log \frac{p r^T + (1-p)}{p + (1-p) r^T}, \qquad r = \frac{1 - \gamma}{\gamma}

    As `histogram_profile`, of counts of T reports in place of bits; for ever it is that of the kept bits. Tight: attained where all
    reports show bit x as 1 and bit x' as 0. Source: derived; the mechanism, Ding, Kulkarni, Yekhanin 2017.
    Proof: proofs/one_bit.py.

    ``m``: as its constructor ensures. Returns in nats. EXACT up to some fifty reports, INTERVAL beyond.
    """
    kept, flip = (2 * each.denominator.bit_length() for each in (m.p, m.gamma))
    most = max((n for n in range(1, min(m.reports, 1 << 10) + 1) if (n + 1) ** 2 * (kept + flip * n) <= _DIGITS), default=1)
    if m.reports > most:
        # Fewer reports are a part of these; the kept bits are all that any number of reports can show.
        return Bracket(perturbed_profile(replace(m, reports=most)), histogram_profile(m.lifetime()))
    bit, (both, one) = list(zip(m.bit_law(1), m.bit_law(0), strict=True)), _drawn(m)
    # Exchanging the counts of the two bits maps one order of the pair onto the other; so does a single one's with its complement.
    pairs = ((both, a * d, b * c) for a, b in bit for c, d in bit)
    atoms = [*((share * a, share * b) for share, a, b in pairs), *((one * a, one * b) for a, b in bit)]
    return FiniteProfile(both_directions(atoms), "dBitFlip, several reports: attained where all show bits 1 and 0")


def summands(m: OneBitMean | DBitFlip | PerturbedDBitFlip, neighbours: Neighbours) -> Bits | None:
    """Of 1BitMean one bit, or its reports' count: the law of a number is a mixture of those of 0 and 1. None of vectors."""
    if not isinstance(m, OneBitMean) or m.reports > _LISTED:
        return None
    zero, one = (tuple(m.law(x).probability(y) for y in range(m.reports + 1)) for x in (0, 1))
    values: dict[Move, tuple[int, int]] = {(1, 0): (1, 0), (0, 1): (0, 1)}
    return Bits(one, zero, frozenset(values), frozenset(values), True, values, 0, 1, 1)


def shuffled(m: OneBitMean | DBitFlip | PerturbedDBitFlip, users: int) -> Bound | None:
    """See `shuffled_mean`, `shuffled_histogram` and `shuffled_counts`."""
    if isinstance(m, OneBitMean):
        return shuffled_mean(m, users)
    return shuffled_histogram(m, users) if isinstance(m, DBitFlip) else shuffled_counts(m, users)


def shuffled_mean(m: OneBitMean, users: int) -> Bound | None:
    """The laws of the inputs 0 and 1, of which every other one is a mixture: delta is convex in each user's law.

    Many reports cost more than as many as are listed, and less than the kept bit.
    """
    fewer = replace(m, reports=min(m.reports, _LISTED))
    if fewer == m:
        return of_law({x: dict(m.law(x).items()) for x in (0, 1)}, users)
    below, above = (listed({x: dict(each.law(x).items()) for x in (0, 1)}, users) for each in (fewer, m.lifetime()))
    return _between(below, above) if below and above else None


def shuffled_counts(m: PerturbedDBitFlip, users: int) -> Bound:
    """As `shuffled_histogram`; many reports cost more than as many as are listed, and less than the kept bits."""
    if m.reports <= _LISTED_COUNTS:
        return shuffled_histogram(m, users)
    return _between(*(shuffled_histogram(each, users) for each in (replace(m, reports=_LISTED_COUNTS), m.lifetime())))


def _between(below: BlanketBound, above: BlanketBound) -> BlanketBound:
    """The data sets of one mechanism, and the upper bound of another."""
    return replace(below, blankets=above.blankets, replaced=above.replaced, few=None)


def shuffled_histogram(m: DBitFlip | PerturbedDBitFlip, users: int) -> BlanketBound:
    """Matched laws: under the base all bits are those of nobody, and a bucket is not drawn (0), or shows a count (1 and so on).

    The blanket is the least law of all k: that of the drawn bucket whose count tells most against it, or of one that is not drawn.
    """
    k, d = m.k, m.d
    ones, zeros = m.bit_law(1), m.bit_law(0)
    shown = {0: Fraction(1), **dict(enumerate(zeros, 1))}
    ratio = {0: Fraction(1), **{y: p / shown[y] for y, p in enumerate(ones, 1)}}

    def patterns(size: int) -> dict[Pattern, Fraction]:
        drawn = {y: sum(map(bool, y)) for y in product(shown, repeat=size)}
        return {
            y: Fraction(comb(k - size, d - t), comb(k, d)) * prod(shown[s] for s in y)
            for y, t in drawn.items()
            if 0 <= d - t <= k - size
        }

    def least(left: int) -> dict[Fraction, Fraction]:
        """Law of the least ratio of all other drawn buckets; the largest there is where none are."""
        levels = sorted({r for y, r in ratio.items() if y})
        above = [sum((p for y, p in shown.items() if y and ratio[y] >= r), Fraction(0)) ** left for r in levels]
        return {r: more - less for r, more, less in zip(levels, above, [*above[1:], Fraction(0)], strict=True)}

    laws = [least(left) for left in range(d + 1)]
    cells = []
    for y, w in patterns(2).items():
        own = min(ratio[y[0]], ratio[y[1]], *([ratio[0]] if d < k else []))
        for r, share in laws[d - sum(map(bool, y))].items():
            cells.append((w * share * ratio[y[0]], w * share * ratio[y[1]], w * share * min(own, r)))
    return replace(MatchedLaws.of(m.inputs, patterns(min(k, 3)), ratio, ()), blanket=Blanket.of(cells)).bound(users)
