"""Tables of noisy counts in which a user's messages tell: pairs of laws, and the worst that hash functions can do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint

from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.compose import PRECISION, Above, Below, CountersProfile
from ldpaudit.accountants.counting.counter import NoisyCounter, Total, dominating, shown
from ldpaudit.accountants.counting.totals import Remainder
from ldpaudit.accountants.pld.finite import Atom
from ldpaudit.accountants.pld.product import product_profile
from ldpaudit.mechanisms.shuffled_count_min import Shifts, ShuffledCountMin
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_EXACT_ATOMS, _EXACT_BITS = 1 << 12, 1 << 10
"""So few joint outcomes, of probabilities so short, are enumerated in rationals."""
_FEW = 1 << 20
"""So many equal counters are composed one by one."""

Side: TypeAlias = tuple[NoisyCounter, bool]
"""A counter, and whether its two laws are exchanged."""
Pair: TypeAlias = Sequence[tuple[Side, int]]
"""Two laws of a table of counts: its counters, and how many of each."""


def whatever_the_hashes(m: ShuffledCountMin, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile for the worst hash functions that the public coins may show.

    In every row they send all k values of one set to one cell and those of the other set to another: one count goes up
    by k, one down by k. Splitting k over several cells never costs more. For let a + b go up in one cell instead of a in
    one and b in another, and let z be what the other cells say; with a change of measure in the last message

    .. math:: \delta = E\Bigl[\Bigl(z\, R_a(X) - \frac{e^\varepsilon}{R_b(X' + b)}\Bigr)_+\Bigr]

    plus the same probability of what only one side shows, where X = X' in one cell, and X, X' are independent in two.
    Both terms rise with their counts, and a convex function of a sum of rising functions has its largest mean where the
    counts rise together. Where the numbers of coins differ, likewise. Tight where ``domain >= 2 held``. Proof:
    proofs/shuffled_count_min.py.

    Parameters
    ----------
    m : ShuffledCountMin
        Its seed does not matter.
    neighbours : Neighbours
        Replace-one or add-remove.

    Returns
    -------
    PrivacyProfile
        In nats; infinite at delta = 0. EXACT where the joint outcomes are few, else INTERVAL, within about 3e-4.
    """
    if neighbours == ADD_REMOVE:
        return profile_of(m, added(m, ((m.held, m.rows),)))
    return profile_of(m, replaced(m, ((-m.held, m.rows), (m.held, m.rows))))


def replaced(m: ShuffledCountMin, shifts: Shifts) -> tuple[Pair, ...]:
    """Both orders of the counters that shift, or one where they are mirror images."""
    pairs = []
    for sign in (1, -1):
        counters = sorted((sign * shift, times) for shift, times in shifts)
        pairs.append(tuple((_shifted(m, shift), times) for shift, times in counters))
    return tuple(dict.fromkeys(pairs))


def _shifted(m: ShuffledCountMin, shift: int) -> Side:
    return NoisyCounter(m.users, m.gamma if shift > 0 else 1 - m.gamma, abs(shift)), False


def added(m: ShuffledCountMin, shifts: Shifts) -> tuple[Pair, ...]:
    """Both orders of a user who is there and one who is not."""
    touched = sum(times for _, times in shifts)
    counters = [(NoisyCounter(m.users, m.gamma, shift, 1), times) for shift, times in shifts]
    if untouched := m.rows * m.buckets - touched:
        counters.append((NoisyCounter(m.users, m.gamma, 0, 1), untouched))
    return tuple(tuple(((counter, mirrored), times) for counter, times in counters) for mirrored in (False, True))


def profile_of(m: ShuffledCountMin, pairs: Iterable[Pair]) -> PrivacyProfile:
    """The larger of the profiles of these pairs, each in the order given."""
    return _largest(m.users, m.gamma, tuple(dict.fromkeys(tuple(pair) for pair in pairs)))


@lru_cache(maxsize=64)
def _largest(users: int, gamma: Fraction, pairs: tuple[Pair, ...]) -> PrivacyProfile:
    """The larger of these pairs' profiles; each is meant in the order given."""
    source = f"counts with Bin({users}, {float(gamma):.6g}) each: {_words(pairs[0])}"
    if not any(pairs):
        return ShiftProfile(users, gamma, 0)
    short = users * gamma.denominator.bit_length() <= _EXACT_BITS
    if short and all(_outcomes(pair, users) <= _EXACT_ATOMS for pair in pairs):
        return product_profile([[(_atoms(side), times) for side, times in pair] for pair in pairs], source)
    if any(counter.shift > counter.fewer for pair in pairs for (counter, _), _ in pair):
        return ShiftProfile(users, gamma, users + 1)  # the two laws never meet
    with flint.ctx.workprec(PRECISION):
        return CountersProfile(tuple((_below(pair), _above(pair)) for pair in pairs), source)


def _words(pair: Pair) -> str:
    parts = []
    for (counter, _), times in pair:
        parts.append(f"{times} shifted by {counter.shift}" + (", of one coin more" if counter.less else ""))
    return ", ".join(parts)


def _outcomes(pair: Pair, users: int) -> int:
    """Joint outcomes of different likelihood ratio, at most."""
    return math.prod(math.comb(times + users + side[0].shift, times) for side, times in pair)


def _atoms(side: Side) -> list[Atom]:
    """Both probabilities of every count."""
    counter, mirrored = side
    there, back = _law(counter.n, counter.gamma), _law(counter.fewer, counter.gamma)
    found = []
    for y in range(counter.n + counter.shift + 1):
        p, q = there.get(y - counter.shift, Fraction(0)), back.get(y, Fraction(0))
        found.append((q, p) if mirrored else (p, q))
    return found


def _law(n: int, gamma: Fraction) -> dict[int, Fraction]:
    return {y: math.comb(n, y) * gamma**y * (1 - gamma) ** (n - y) for y in range(n + 1)}


def _above(pair: Pair) -> Above:
    """What dominates each counter; of many without a shift, their total, which tells nearly all."""
    parts, remainder = [], None
    for (counter, mirrored), times in pair:
        if counter.shift or times <= _FEW:
            parts.append((dominating(counter, mirrored), times))
        else:
            parts.append((dominating(_total(counter, times), mirrored), 1))
            remainder = Remainder(counter.n, counter.gamma, times, mirrored)
    return Above(tuple(parts), remainder)


def _below(pair: Pair) -> Below:
    """What is shown of each counter; of many without a shift only their total."""
    parts = []
    for (counter, mirrored), times in pair:
        if counter.shift:
            parts.append((shown(counter, mirrored), times))
        else:
            parts.append((shown(_total(counter, times), mirrored), 1))
    return Below(tuple(parts))


def _total(counter: NoisyCounter, times: int) -> Total:
    return Total(counter.n * times, counter.gamma, counter.fewer * times)
