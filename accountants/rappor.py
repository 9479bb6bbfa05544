"""What RAPPOR costs."""

from dataclasses import replace
from typing import TypeAlias

from ldpaudit.accountants import account
from ldpaudit.accountants.aggregation.envelope import Bits
from ldpaudit.accountants.composition.product import exact_reports, product_profile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling import bloom
from ldpaudit.accountants.shuffling.bounds import BlanketBound, Bound, OthersAlike
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.rappor import SEARCHED, Difference, MemoizedReports, PermanentRappor, Rappor
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_THIRD_VALUES = 64
"""Values among which one with few bits in common is looked for; two random signatures of a filter have nearly none."""
_DIFFERENT = 16
"""Signatures of a whole domain up to which all three of them are compared, some thousands."""

_SUMMED = 64
"""Reports up to which sums of counts are computed."""
_SHOWN = 4
"""Differences of signatures that a source lists."""
Noisy: TypeAlias = Rappor | PermanentRappor | LongitudinalUnary


def profile(m: Noisy, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of one or more reports of RAPPOR or of longitudinal unary encoding, or of the response that all reports ever show.

    .. math:: \varepsilon(0) = h \log \frac{q^*(1-p^*)}{p^*(1-q^*)} \quad\text{(one report)}, \qquad
              \varepsilon(0) = 2h \log \frac{1-f/2}{f/2} \quad\text{(for ever)}

    with :math:`q^* = f(p+q)/2 + (1-f)q` and :math:`p^* = f(p+q)/2 + (1-f)p`. Where two signatures differ in a bits set
    only by x and b set only by x', the laws differ in these a + b independent bits alone, and more of either cost more;
    a, b <= h. The formulas are attained where two values' signatures have h bits each and none in common, on the event
    {all bits of x always 1, all bits of x' always 0}; else the largest (a, b) of two values count. A one-hot vector has one bit,
    h = 1, and keeps it with probabilities p1 and q1 in place of 1 - f/2 and f/2: the cost for ever is log(p1(1-q1)/(q1(1-p1))).
    Source: Erlingsson, Pihur, Korolova 2014, theorems 1 and 2. Proof: proofs/rappor.py.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT, but INTERVAL where
    there are many reports, or where a domain of more than 1,024 values is not seen to attain the largest difference
    that signatures may have.
    """
    if isinstance(m, MemoizedReports) and m.reports > (most := _counted(m)):
        # Fewer reports are a part of these; the permanent response is all that any number of reports can show.
        return Bracket(profile(replace(m, reports=most)), account(m.lifetime()))
    one, zero = m.bit_law(1), m.bit_law(0)
    ones, zeros = list(zip(one, zero, strict=True)), list(zip(zero, one, strict=True))

    def over(differences: set[Difference]) -> PrivacyProfile:
        pairs = ([(ones, a), (zeros, b)] for a, b in differences)
        first, *others = (f"{a} bits that only x sets and {b} that only x' sets" for a, b in sorted(differences))
        shown = [first, *others] if len(others) < _SHOWN else [first, "...", others[-1]]
        return product_profile(pairs, f"{m.title.partition(',')[0]}: {' or '.join(shown)}")

    attained, possible = set(m.differences), largest_differences(m.bits, m.hashes)
    return over(attained) if attained == possible or m.domain <= SEARCHED else Bracket(over(attained), over(possible))


def _counted(m: Rappor | LongitudinalUnary) -> int:
    """Reports up to which the law of their counts is exact."""
    return exact_reports(m.kept(1), m.kept(0), *m.shown)


def largest_differences(bits: int, hashes: int) -> set[Difference]:
    """How many bits two signatures may each have for themselves at most: all different, or the filter full."""
    if bits >= 2 * hashes:
        return {(hashes, hashes)}
    # Every value sets a bit.
    return {(a, bits - a) for a in range(max(1, bits - hashes), min(hashes, bits - 1) + 1)}


def shuffled(m: Noisy, users: int) -> Bound | None:
    """Independent bits: a blanket for all sizes that signatures may have, and data sets among values that were looked at.

    All others hold one of user 1's two values, or the value among the first 64 whose signature has least in common with
    theirs. None where a report has too many kinds of likelihood ratios.
    """
    laws = m.bit_law(0), m.bit_law(1)
    blankets = bloom.blankets(m.bits, m.hashes, laws)
    if blankets is None:
        return None
    signatures = {value: _signature(m, value) for value in range(min(m.domain, _THIRD_VALUES))}
    found = []
    for x, x2 in {order for a, b in m.differences.values() for order in ((a, b), (b, a))}:
        first, second = _signature(m, x), _signature(m, x2)
        free = [third for third in signatures if third not in (x, x2)]
        # The fewest bits in common, then the most of its own.
        third = min(free, key=lambda y: (len(signatures[y] & (first | second)), -len(signatures[y])), default=x)
        for other in dict.fromkeys((x, x2, third)):
            if (blanket := bloom.others_alike((first, second, _signature(m, other)), laws)) is not None:
                found.append(OthersAlike(blanket, (x, x2), other))
    if not found:
        return None
    known = frozenset(map(frozenset, signatures.values())) if m.domain <= _THIRD_VALUES else frozenset()
    replaced = bloom.replaced(m.hashes, laws, known if 1 < len(known) <= _DIFFERENT else None)
    return BlanketBound(blankets, tuple(found), users, replaced=replaced)


def summands(m: Noisy, neighbours: Neighbours) -> Bits | None:
    """Bits that one of two values' signatures sets and the other does not, or counts of them; None of very many reports."""
    if isinstance(m, MemoizedReports) and m.reports > min(_SUMMED, _counted(m)):
        return None
    values = {(b, a): (second, first) for (a, b), (first, second) in m.differences.items()} | m.differences
    largest = values if m.domain <= SEARCHED else largest_differences(m.bits, m.hashes)
    possible = frozenset(move for a, b in largest for move in ((a, b), (b, a)))
    spare, other = _spare(m)
    return Bits(m.bit_law(1), m.bit_law(0), frozenset(values), possible, spare, values, other, m.bits, m.hashes)


def _spare(m: Noisy) -> tuple[bool | None, int | None]:
    """Of values that set one bit each, whether one sets neither of the two in which user 1's differ, and which; else not known."""
    if m.hashes > 1 or not m.differences:
        return None, None
    (pair,) = m.differences.values()
    used = _signature(m, pair[0]) | _signature(m, pair[1])
    other = next((x for x in range(min(m.domain, SEARCHED)) if not _signature(m, x) & used), None)
    return (None if other is None and m.domain > SEARCHED else other is not None), other


def _signature(m: Noisy, x: int) -> set[int]:
    return set(m.signature(x).nonzero()[0].tolist())
