"""Tables of noisy counters, such as a count-min sketch: pairs of laws of a user's messages, and the worst hash
functions."""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.compose import PRECISION, CountersProfile, LowerTotal, UpperTotal
from ldpaudit.accountants.counting.counter import CounterTotal, NoisyCounter, Remainder, dominating, shown
from ldpaudit.accountants.pld.exact import Atom, ExactPLD, few_products
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.profile import PrivacyProfile

_EXACT_ATOMS, _EXACT_BITS = 1 << 12, 1 << 10
"""Most joint likelihood ratios, and bits of their probabilities, that are enumerated in rationals: at most half a
second for a pair. With 2**14 atoms a table of four counters of 60 users takes 1.9 s instead of 0.3 s, and is still too large."""
_EXACT_PRODUCTS = 1 << 18
"""Most products of probabilities for that, of all pairs together: a second."""
_FEW = 1 << 20
"""Most equal counters without a shift that are composed one by one; beyond, only their total. With 2**10 an epsilon of
10,000 counters is known to 1e-3 instead of 1e-4, in 0.8 of the time."""
_DEEP = 4
"""Most counters for which a rare view is far from the mean on each, so that cells there are narrow; with 1 an epsilon
of two counters at delta = 1e-40 is known to 6e-3 instead of 1.3e-4, in 0.7 of the time."""

Shifts: TypeAlias = Sequence[tuple[int, int]]
"""(k, times): `times` counters change by k messages."""
DirectedCounter: TypeAlias = tuple[NoisyCounter, bool]
"""A counter, and whether its pair of laws is reversed."""
TablePair: TypeAlias = Sequence[tuple[DirectedCounter, int]]
"""Two laws of a table of counters: the different counters, and the number of each."""


def replaced(users: int, gamma: Fraction, shifts: Shifts) -> tuple[TablePair, ...]:
    """The pair of a replaced input and the reversed pair, or one where they are equal; noise Bin(users, gamma)."""
    pairs = []
    for sign in (1, -1):
        changed = sorted((sign * shift, times) for shift, times in shifts)
        counters = ((NoisyCounter(users, gamma if shift > 0 else 1 - gamma, abs(shift)), times) for shift, times in changed)
        pairs.append(tuple(((counter, False), times) for counter, times in counters))
    return tuple(dict.fromkeys(pairs))


def added(users: int, gamma: Fraction, shifts: Shifts, counts: int) -> tuple[TablePair, ...]:
    """The pair of a present and an absent user and the reversed pair, in a table of this number of counters."""
    touched = sum(times for _, times in shifts)
    counters = [(NoisyCounter(users, gamma, shift, 1), times) for shift, times in shifts]
    if untouched := counts - touched:
        counters.append((NoisyCounter(users, gamma, 0, 1), untouched))
    return tuple(tuple(((counter, exchanged), times) for counter, times in counters) for exchanged in (False, True))


def worst_replaced(users: int, gamma: Fraction, held: int, rows: int) -> PrivacyProfile:
    r"""Profile of one set of `held` values replaced by another, for the worst public hash functions.

    In every row the worst hash functions send all k values of one set to one cell and those of the other set to
    another: one counter goes up by k, one down by k. Splitting k over several cells never increases delta. Proof:
    compare a shift of a + b in one cell with a in one cell and b in another, and let z be the likelihood ratio of the
    other cells. With a change of measure in the last message

    .. math:: \delta = E\Bigl[\Bigl(z\, R_a(X) - \frac{e^\varepsilon}{R_b(X' + b)}\Bigr)_+\Bigr]

    plus the same infinite-loss mass, where X = X' in one cell, and X, X' are independent in two. Both terms rise with
    their counts, and a convex function of a sum of rising functions has its largest mean where the counts rise
    together.

    Tight where the domain has at least twice `held` values. Proof: proofs/shuffled_count_min.py.

    In nats; infinite at delta = 0. EXACT where the joint likelihood ratios are few, else INTERVAL, about 1e-4 wide.
    """
    return largest(users, gamma, replaced(users, gamma, ((-held, rows), (held, rows))))


def worst_added(users: int, gamma: Fraction, held: int, rows: int, counts: int) -> PrivacyProfile:
    """As `worst_replaced`, for add/remove: a user with `held` values, in a table of `counts` counters."""
    return largest(users, gamma, added(users, gamma, ((held, rows),), counts))


def largest(users: int, gamma: Fraction, pairs: Iterable[TablePair]) -> PrivacyProfile:
    """Largest of the profiles of these pairs, each in the direction given; EXACT where enumerated, else INTERVAL."""
    return _largest(users, gamma, tuple(dict.fromkeys(tuple(pair) for pair in pairs)))


@lru_cache(maxsize=64)
def _largest(users: int, gamma: Fraction, pairs: tuple[TablePair, ...]) -> PrivacyProfile:
    each = (f"{n} shifted by {c.shift}{', of one coin more' if c.less else ''}" for (c, _), n in pairs[0])
    source = f"counts with Bin({users}, {float(gamma):.6g}) each: {', '.join(each)}"
    if not any(pairs):
        return ShiftProfile(users, gamma, 0)
    if users * gamma.denominator.bit_length() <= _EXACT_BITS:
        known = tuple(_enumerated(pairs))
        if len(known) == len(pairs):
            return FiniteProfile(known, source)
    if any(counter.shift > counter.fewer for pair in pairs for (counter, _), _ in pair):
        return ShiftProfile(users, gamma, users + 1)  # the two laws have disjoint supports
    with working_precision(PRECISION):
        return CountersProfile(tuple((_lower(pair), _upper(pair)) for pair in pairs), source)


def _enumerated(pairs: Sequence[TablePair]) -> Iterator[ExactPLD]:
    """Their losses in rationals, up to the first pair that has too many."""
    for pair in pairs:
        parts = [(_atoms(directed), times) for directed, times in pair]
        if (atoms := few_products(parts, _EXACT_ATOMS, _EXACT_PRODUCTS // len(pairs))) is None:
            return
        yield ExactPLD.of(atoms)


def _atoms(directed: DirectedCounter) -> list[Atom]:
    """(P(y), Q(y)) of every count y."""
    counter, exchanged = directed
    there, back = _law(counter.n, counter.gamma), _law(counter.fewer, counter.gamma)
    found = []
    for y in range(counter.n + counter.shift + 1):
        p, q = there.get(y - counter.shift, Fraction(0)), back.get(y, Fraction(0))
        found.append((q, p) if exchanged else (p, q))
    return found


def _law(n: int, gamma: Fraction) -> dict[int, Fraction]:
    return {y: math.comb(n, y) * gamma**y * (1 - gamma) ** (n - y) for y in range(n + 1)}


def _upper(pair: TablePair) -> UpperTotal:
    """The dominating pair of each counter; of very many without a shift, that of their total, and the remainder."""
    groups, remainder, deep = [], None, _is_deep(pair)
    for (counter, exchanged), times in pair:
        if counter.shift or times <= _FEW:
            groups.append((dominating(counter, exchanged, deep), times))
        else:
            groups.append((dominating(_total(counter, times), exchanged, deep), 1))
            remainder = Remainder(counter.n, counter.gamma, times, exchanged)
    return UpperTotal(tuple(groups), remainder)


def _lower(pair: TablePair) -> LowerTotal:
    """The cells of each counter that shifts, and those of the total of the counters without a shift."""
    parts, deep = [], _is_deep(pair)
    for (counter, exchanged), times in pair:
        if counter.shift:
            parts.append((shown(counter, exchanged, deep), times))
        else:
            parts.append((shown(_total(counter, times), exchanged, deep), 1))
    return LowerTotal(tuple(parts))


def _is_deep(pair: TablePair) -> bool:
    return sum(times for _, times in pair) <= _DEEP


def _total(counter: NoisyCounter, times: int) -> CounterTotal:
    return CounterTotal(counter.n * times, counter.gamma, counter.fewer * times)
