"""Tables of noisy counts in which a user's messages tell: pairs of laws, and the worst that hash functions can do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint

from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.compose import PRECISION, CountersProfile, LowerTotal, UpperTotal
from ldpaudit.accountants.counting.counter import CounterTotal, NoisyCounter, dominating, shown
from ldpaudit.accountants.counting.totals import Remainder
from ldpaudit.accountants.pld.exact import Atom, ExactPLD, few_products
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.profile import PrivacyProfile

_EXACT_ATOMS, _EXACT_BITS = 1 << 12, 1 << 10
"""Joint likelihood ratios that are enumerated in rationals, and length of their probabilities, at most: half a second."""
_FEW = 1 << 20
"""Equal counters that are composed one by one, at most."""
_DEEP = 4
"""Counters, at most, of which a rare view lies far out on each."""

Shifts: TypeAlias = Sequence[tuple[int, int]]
"""By how many messages a count changes, and how many counts change so."""
DirectedCounter: TypeAlias = tuple[NoisyCounter, bool]
"""A counter, and whether its two laws are exchanged."""
TablePair: TypeAlias = Sequence[tuple[DirectedCounter, int]]
"""Two laws of a table of counts: its counters, and how many of each."""


def replaced(users: int, gamma: Fraction, shifts: Shifts) -> tuple[TablePair, ...]:
    """Both directions of the counters that shift, or one where they are mirror images; Bin(users, gamma) on each."""
    pairs = []
    for sign in (1, -1):
        counters = sorted((sign * shift, times) for shift, times in shifts)
        pairs.append(tuple((_shifted(users, gamma, shift), times) for shift, times in counters))
    return tuple(dict.fromkeys(pairs))


def _shifted(users: int, gamma: Fraction, shift: int) -> DirectedCounter:
    return NoisyCounter(users, gamma if shift > 0 else 1 - gamma, abs(shift)), False


def added(users: int, gamma: Fraction, shifts: Shifts, counts: int) -> tuple[TablePair, ...]:
    """Both directions of a user who is there and one who is not, in a table of this number of counts."""
    touched = sum(times for _, times in shifts)
    counters = [(NoisyCounter(users, gamma, shift, 1), times) for shift, times in shifts]
    if untouched := counts - touched:
        counters.append((NoisyCounter(users, gamma, 0, 1), untouched))
    return tuple(tuple(((counter, exchanged), times) for counter, times in counters) for exchanged in (False, True))


def worst_replaced(users: int, gamma: Fraction, held: int, rows: int) -> PrivacyProfile:
    r"""Profile of one set of `held` values replaced by another, for the worst hash functions that public coins may show.

    In every row they send all k values of one set to one cell and those of the other set to another: one count goes up
    by k, one down by k. Splitting k over several cells never costs more. For let a + b go up in one cell instead of a in
    one and b in another, and let z be what the other cells say; with a change of measure in the last message

    .. math:: \delta = E\Bigl[\Bigl(z\, R_a(X) - \frac{e^\varepsilon}{R_b(X' + b)}\Bigr)_+\Bigr]

    plus the same probability of what only one directed shows, where X = X' in one cell, and X, X' are independent in two.
    Both terms rise with their counts, and a convex function of a sum of rising functions has its largest mean where the
    counts rise together. Tight where the domain has at least twice `held` values. Proof: proofs/shuffled_count_min.py.

    Parameters
    ----------
    users, held, rows : int
        n, k and tau, each at least 1.
    gamma : Fraction
        In (0, 1): every user adds one to a count with this probability.

    Returns
    -------
    PrivacyProfile
        In nats; infinite at delta = 0. EXACT where the joint outcomes are few, else INTERVAL, within about 3e-4.
    """
    return largest(users, gamma, replaced(users, gamma, ((-held, rows), (held, rows))))


def worst_added(users: int, gamma: Fraction, held: int, rows: int, counts: int) -> PrivacyProfile:
    """As `worst_replaced`, of a user who is there and one who is not; `counts` in the whole table, likewise tight."""
    return largest(users, gamma, added(users, gamma, ((held, rows),), counts))


def largest(users: int, gamma: Fraction, pairs: Iterable[TablePair]) -> PrivacyProfile:
    """The larger of the profiles of these pairs, each in the direction given."""
    return _largest(users, gamma, tuple(dict.fromkeys(tuple(pair) for pair in pairs)))


@lru_cache(maxsize=64)
def _largest(users: int, gamma: Fraction, pairs: tuple[TablePair, ...]) -> PrivacyProfile:
    source = f"counts with Bin({users}, {float(gamma):.6g}) each: {_words(pairs[0])}"
    if not any(pairs):
        return ShiftProfile(users, gamma, 0)
    if users * gamma.denominator.bit_length() <= _EXACT_BITS:
        joint = [few_products([(_atoms(directed), times) for directed, times in pair], _EXACT_ATOMS) for pair in pairs]
        known = tuple(ExactPLD.of(atoms) for atoms in joint if atoms is not None)
        if len(known) == len(pairs):
            return FiniteProfile(known, source)
    if any(counter.shift > counter.fewer for pair in pairs for (counter, _), _ in pair):
        return ShiftProfile(users, gamma, users + 1)  # the two laws never meet
    with flint.ctx.workprec(PRECISION):
        return CountersProfile(tuple((_lower(pair), _upper(pair)) for pair in pairs), source)


def _words(pair: TablePair) -> str:
    parts = []
    for (counter, _), times in pair:
        parts.append(f"{times} shifted by {counter.shift}" + (", of one coin more" if counter.less else ""))
    return ", ".join(parts)


def _atoms(directed: DirectedCounter) -> list[Atom]:
    """Both probabilities of every count."""
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
    """What dominates each counter; of many without a shift, their total, which tells nearly all."""
    groups, remainder, deep = [], None, _is_deep(pair)
    for (counter, exchanged), times in pair:
        if counter.shift or times <= _FEW:
            groups.append((dominating(counter, exchanged, deep), times))
        else:
            groups.append((dominating(_total(counter, times), exchanged, deep), 1))
            remainder = Remainder(counter.n, counter.gamma, times, exchanged)
    return UpperTotal(tuple(groups), remainder)


def _lower(pair: TablePair) -> LowerTotal:
    """What is shown of each counter; of many without a shift only their total."""
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
