"""What a response costs that is kept value by value, without fresh noise."""

from collections.abc import Iterator
from fractions import Fraction
from math import comb

from ldpaudit.accountants import account
from ldpaudit.accountants.pld.exact import Atom, ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket, ConstantDelta
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.memoized_response import MemoizedDBitFlip, MemoizedResponse
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL, Neighbours
from ldpaudit.plan import Repeat
from ldpaudit.profile import PrivacyProfile

MOST_BITS = 256
"""Bits that tell streams of one pattern apart, at most: their exact law is enumerated, in a second for this many."""


def profile(m: MemoizedResponse | MemoizedDBitFlip, neighbours: Neighbours = USER_LEVEL) -> PrivacyProfile:
    """Profile against streams of the same pattern, or against any other stream: see `same_pattern` and `any_stream`."""
    return same_pattern(m) if neighbours == SAME_PATTERN else any_stream(m)


def any_stream(m: MemoizedResponse | MemoizedDBitFlip) -> PrivacyProfile:
    r"""Profile of a stream's reports against those of any other stream: from two kept values on no epsilon is enough.

    With R(y|v) the law of one report and D the most values that are kept,

    .. math:: \delta(\varepsilon) = 1 - \sum_y \prod_{v < D} R(y|v) \quad\text{for every } \varepsilon \ge 0

    From below: a stream of D different values against one of the first of them throughout. Reports that differ show that the value
    did, and a transcript of equal reports is likelier under the stream that never changes. From above: let D be as large as can
    be, the smaller of k and T. Of k-ary randomized response let two streams have N and N' values, N >= N', and count the truths
    that a transcript shows of each. If N > N', the first stream is, for every y, less likely to report y in all epochs. If
    N = N' and the epochs do not hang together by equal values of either stream, N transcripts show a truth of both; if they do,
    N < D or the streams hold the same values, and the constant transcripts are enough. In each case the laws share what D equal
    answers have. Of any other report it is shown where all k values fit (T >= k): transcripts of equal reports are then at least
    as likely under every stream. Elsewhere the bound above is weaker: for fewer values than there can be, D equal lies, and for
    dBitFlip, k equal reports. Where one value is kept it is the profile of one report. Source: derived.

    Returns EXACT, or INTERVAL where D is not the smaller of k and T, or for dBitFlip not k.
    """
    if m.values == 1:
        return account(m.report)
    low = ConstantDelta(1 - _equal(m, m.values), f"{m.title}: {m.values} values against one, by reports that differ")
    shared, source = _shared(m)
    high = ConstantDelta(1 - shared, source)
    return low if low.chance == high.chance else Bracket(low, high)


def _equal(m: MemoizedResponse | MemoizedDBitFlip, values: int) -> Fraction:
    """Probability that the reports of this many different values are equal."""
    if isinstance(m, MemoizedResponse):
        p, q = m.report.p, m.report.lie
        return values * p * q ** (values - 1) + (m.k - values) * q**values
    p, q = m.p, 1 - m.p
    own, other = p * q ** (values - 1) + q * p ** (values - 1), p**values + q**values
    drawn = range(max(0, m.d - m.k + values), min(m.d, values) + 1)
    ways = (comb(values, h) * comb(m.k - values, m.d - h) * own**h * other ** (m.d - h) for h in drawn)
    return sum(ways, Fraction(0)) / comb(m.k, m.d)


def _shared(m: MemoizedResponse | MemoizedDBitFlip) -> tuple[Fraction, str]:
    """Mass that the laws of any two streams share at least, and what it is."""
    if isinstance(m, MemoizedDBitFlip):
        return _equal(m, m.k), f"{m.title}: equal reports of all {m.k} values"
    if m.values == min(m.k, m.epochs):
        return _equal(m, m.values), f"{m.title}: {m.values} equal answers"
    return m.k * m.report.lie**m.values, f"{m.title}: {m.values} equal lies"


def same_pattern(m: MemoizedResponse | MemoizedDBitFlip) -> PrivacyProfile:
    r"""Profile between streams that repeat values in the same epochs, with at most D different ones: exact.

    Answers of k-ary randomized response: D independent reports, :math:`\varepsilon(0) = D \log\frac{p(k-1)}{1-p}`. dBitFlip:

    .. math:: \varepsilon(0) = 2 \min(D, d) \log \frac{p}{1-p} \quad (D \ge 2), \qquad \min(2, d) \log \frac{p}{1-p} \quad (D = 1)

    Of two streams of D values let c be held by both, in different epochs. Where the bucket of one of these is drawn, two bits
    tell; where it is that of one of the 2 (D - c) others, one bit does; which are drawn does not depend on the streams. The
    profile is the largest over c. Streams of fewer values tell less, as one more value each can be added to them. Tight. It is
    not true of a client that keeps one set of bits for all values whose bucket is not drawn, where d <= k - 2.
    Source: derived; that D values cost D times one, Erlingsson, Pihur, Korolova 2014. Proof: proofs/memoized_response.py.

    Returns in nats. EXACT at every epsilon. Raises Unsupported where more than 256 bits tell two streams apart.
    """
    if isinstance(m, MemoizedResponse):
        return account(Repeat(m.report, m.values))
    if 2 * min(m.values, m.d) > MOST_BITS:
        raise Unsupported(m, f"streams of one pattern are compared by at most {MOST_BITS} bits, got {2 * min(m.values, m.d)}")
    common = range(max(0, 2 * m.values - m.k), m.values + (m.values > 1))
    pairs = tuple(ExactPLD.of(_bits(m, both)) for both in common)
    return FiniteProfile(pairs, f"{m.title}: {m.values} values in the same epochs of both streams, by the bits of their buckets")


def _bits(m: MemoizedDBitFlip, both: int) -> Iterator[Atom]:
    """Atoms of a pair of streams by how many bits tell, and how many of these speak for the first stream.

    The pair is its own reversed pair: exchange true bits and lies.
    """
    p, q = m.p, 1 - m.p
    for bits, chance in _drawn(m, both, 2 * (m.values - both)).items():
        for true in range(bits + 1):
            ways = chance * comb(bits, true)
            yield ways * p**true * q ** (bits - true), ways * q**true * p ** (bits - true)


def _drawn(m: MemoizedDBitFlip, both: int, single: int) -> dict[int, Fraction]:
    """Law of the number of bits that tell: two for each drawn bucket of `both`, one for each of `single`."""
    found: dict[int, Fraction] = {}
    for twice in range(min(both, m.d) + 1):
        for once in range(min(single, m.d - twice) + 1):
            rest = m.k - both - single
            if (ways := comb(both, twice) * comb(single, once) * comb(rest, m.d - twice - once)) > 0:
                bits = 2 * twice + once
                found[bits] = found.get(bits, Fraction(0)) + Fraction(ways, comb(m.k, m.d))
    return found
