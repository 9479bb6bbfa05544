"""What one bit of RAPPOR costs over a whole stream, memoized value by value."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeAlias

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.memoized_bits import MemoizedNoise, lifetime_epsilon
from ldpaudit.accountants.composition.product import exact_reports, product_profile
from ldpaudit.accountants.pld.all_pairs import profile_of
from ldpaudit.accountants.pld.exact import Atom, LawPair, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Lifetime
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.memoized_bit import MemoizedBit, Stream, all_streams
from ldpaudit.neighbours import USER_LEVEL, Neighbours
from ldpaudit.plan import Guarantee
from ldpaudit.profile import PrivacyProfile

_LISTED = 5
"""Epochs up to which all 454 streams are compared, in less than a second."""
Held: TypeAlias = tuple[tuple[int, int], ...]
"""The bit of each value of a stream, and in which epochs it is held."""

def profile(m: MemoizedBit, neighbours: Neighbours = USER_LEVEL) -> PrivacyProfile:
    r"""Profile of `epochs` reports against any other stream: values may repeat in other epochs than here.

    .. math:: \varepsilon(0) = \max\Bigl(\log\frac{(1-f/2)q^T+(f/2)p^T}{(q^*{}')^T},\;
              \log\frac{(1-f/2)(1-p)^T+(f/2)(1-q)^T}{(1-q^*)^T}\Bigr)

    with :math:`q^* = (1-f/2)q+(f/2)p` and :math:`q^*{}' = (f/2)q+(1-f/2)p`, where values that never repeat are the least likely
    to give a transcript; see `composition.memoized_bits.lifetime_epsilon` for all other parameters. So memoization bounds no
    lifetime: what it promises for "D values", `same_pattern`, holds only between streams that repeat in the same epochs.
    Source: derived; the mechanism, Erlingsson, Pihur, Korolova 2014. Proof: proofs/memoized_bit.py, of an upper bound.

    ``m``: as its constructor ensures; ``neighbours``: user-level. Returns in nats. EXACT for at most 5 epochs, by
    enumeration; beyond, epsilon at delta = 0 is tight, and delta is between that of one value against values that
    never repeat and that of every mechanism with this epsilon: which streams are the worst at other deltas is open.
    """
    if m.epochs <= _LISTED:
        return _enumerated(m)
    pure = lifetime_epsilon(MemoizedNoise(m.f / 2, m.p, m.q), m.epochs)
    return Lifetime(repeated(m), account(Guarantee(Fraction(pure.high), Fraction(0))), pure)


@lru_cache(maxsize=64)
def _enumerated(m: MemoizedBit) -> PrivacyProfile:
    """All streams, up to the names of their values, and as the first of a pair up to the order of epochs, too."""

    @cache
    def shown(bit: int, ones: int, zeros: int) -> Fraction:
        return m.shown(bit, ones, zeros)

    def law(held: Held) -> list[Fraction]:
        parts = [
            [shown(bit, ones := (view & epochs).bit_count(), epochs.bit_count() - ones) for view in range(1 << m.epochs)]
            for bit, epochs in held
        ]
        return [math.prod(chances) for chances in zip(*parts, strict=True)]

    streams = [_held(x) for x in all_streams(m.epochs)]
    firsts = list({tuple(sorted((bit, epochs.bit_count()) for bit, epochs in held)): held for held in streams}.values())
    laws = [law(held) for held in dict.fromkeys(firsts + streams)]
    return profile_of(laws, f"enumeration of {1 << m.epochs} views on {len(streams)} inputs", len(firsts))


def _held(x: Stream) -> Held:
    """Of each value of a stream its bit, and the epochs in which it is held, as binary digits."""
    return tuple((value % 2, sum(1 << i for i, held in enumerate(x) if held == value)) for value in dict.fromkeys(x))


def repeated(m: MemoizedBit) -> FiniteProfile:
    """Profile of two pairs: one value throughout against values that never repeat, of the other bit.

    Of many epochs only the first are compared, which are a part of them: exact fractions would be too long.
    """
    epochs = min(m.epochs, exact_reports(m.f, m.p, m.q))
    pairs = [pair for bit in (0, 1) for pair in both_directions(_counts(m, epochs, bit))]
    return FiniteProfile(tuple(dict.fromkeys(pairs)), "one value throughout against values that never repeat")


def _counts(m: MemoizedBit, epochs: int, bit: int) -> list[Atom]:
    """Both laws of the number of ones, which is all that reports of these two streams tell."""
    once = m.shown(1 - bit, 1, 0)
    return [
        (ways * m.shown(bit, ones, epochs - ones), ways * once**ones * (1 - once) ** (epochs - ones))
        for ones, ways in ((ones, math.comb(epochs, ones)) for ones in range(epochs + 1))
    ]


def same_pattern(m: MemoizedBit, reports: Sequence[int]) -> PrivacyProfile:
    r"""Profile between streams that repeat values in the same epochs, where the i-th value is reported ``reports[i]`` times.

    .. math:: \varepsilon(0) \le \sum_i \max(g_i(p/q), g_i(\tfrac{1-q}{1-p})), \qquad
              g_i(r) = \log\frac{(1-f/2)+(f/2)r^{T_i}}{(f/2)+(1-f/2)r^{T_i}} < \log\frac{2-f}{f}

    Tight: attained where all values have the bit 1 in one stream and 0 in the other. Values whose bits agree tell nothing, so
    that fewer values cost less. Source: Erlingsson, Pihur, Korolova 2014, Theorem 1, which is about the limit of one value.

    ``m``: its number of epochs does not matter; ``reports``: for each value that is held, in how many epochs: T_i, at
    least 1. Returns in nats. EXACT for few reports. Raises ValueError where a number of reports is below 1, or there
    is none.
    """
    if not reports or min(reports) < 1:
        raise ValueError(f"same_pattern needs at least one value, each with at least 1 report, got {list(reports)}")
    # A value may move from 0 to 1 while another moves from 1 to 0: parts of either direction, up to exchanging the streams.
    sizes = {times: list(reports).count(times) for times in reports}
    pairs = [
        [(_value(m, times, bit), number) for times, n, up in moves for bit, number in ((1, up), (0, n - up)) if number]
        for moves in _shares(list(sizes.items()))
    ]
    return product_profile(pairs, f"{len(reports)} memoized values, in the same epochs of both streams")


def _shares(sizes: list[tuple[int, int]]) -> list[list[tuple[int, int, int]]]:
    """Every choice of how many values, of those with equally many reports, move up."""
    found: list[list[tuple[int, int, int]]] = [[]]
    for times, n in sizes:
        found = [[*each, (times, n, up)] for each in found for up in range(n + 1)]
    return found


def _value(m: MemoizedBit, times: int, bit: int) -> LawPair:
    """Laws of the number of ones among the reports of one value, whose bit is as given, and the other one."""
    ways = [math.comb(times, ones) for ones in range(times + 1)]
    return [(way * m.shown(bit, i, times - i), way * m.shown(1 - bit, i, times - i)) for i, way in enumerate(ways)]


def kept(m: MemoizedBit) -> Enclosure:
    r"""Limit of `same_pattern` for one value and ever more reports: the kept copy itself, :math:`\log((2-f)/f)`."""
    law = [(m.kept(1), m.kept(0)), (m.kept(0), m.kept(1))]
    return FiniteProfile(both_directions(law), "the kept copy of one value").epsilon(0)
