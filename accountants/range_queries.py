"""What range queries cost in the shuffled model."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations

from ldpaudit.accountants.counting.count_min import largest, replaced, worst_replaced
from ldpaudit.accountants.counting.hits import ComposedHits, HiddenHits, MergedHits
from ldpaudit.accountants.numerics.search import crossing, first
from ldpaudit.accountants.pld.profiles import Bracket, LargestProfile
from ldpaudit.accountants.shuffled_hadamard import hidden_element, known_element, replaced_elements
from ldpaudit.accountants.shuffling.calibrate import likely_hits
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import HadamardViews, OneElement
from ldpaudit.mechanisms.shuffled_count_min import Shifts
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_PAIRS = 24
"""Grids of up to this number of values have the profiles of all pairs of values: at most 276."""

_MOST_MESSAGES = 1 << 40
"""Blanket messages per user that the mechanisms take."""
_CLOSE = 1e-3
"""Relative width of the search for a number of messages in floats, before it is searched for in integers."""

Ranges = RangeQueries | HadamardRangeQueries | CountMinRangeQueries


def profile(m: Ranges, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of the shuffled messages of all users, in the worst case over what they hold.

    A user who is replaced changes at most D of the k elements that they send: as many as there are combinations of widths,
    but for the node that holds all values. Every other message has the same law and may be given away.

    - One oracle for each combination of widths (`one_element_each`): in each at most one element is replaced by another, so
      that the loss is that of D independent messages, each hidden among its own blanket. Tight up to what others' messages hide.
    - One Hadamard oracle (`hadamard`): D elements are replaced, one by one at most
      :math:`\frac{e^\varepsilon - 1}{e^{\varepsilon/D} - 1}\, \delta_1(\varepsilon/D)`, and together little more than D
      independent messages where :math:`4 D^2 p` is not far above 1 (`counting.one_shuffle`).
    - One sketch (`count_min`): counters that go up and down, as two values' cells differ.

    Epsilon is infinite at delta = 0. Where users are added or removed, the number of messages reveals it, and delta is 1; the
    paper's relation is replace-one. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Theorem 5.1, with k in place of D.
    Proof: proofs/range_queries.py.

    ``m``: any; ``neighbours``: replace-one. Returns in nats. INTERVAL; EXACT for one user who changes one element,
    and where a sketch's outcomes are enumerated.
    """
    match m:
        case RangeQueries():
            return one_element_each(m)
        case HadamardRangeQueries():
            return hadamard(m)
        case CountMinRangeQueries():
            return count_min(m)
    raise Unsupported(m, "it is not a known layout of range queries")


def one_element_each(m: OneElement) -> PrivacyProfile:
    """One element replaced in each of several oracles, as two of the inputs do: all widths of nodes, all lengths of prefixes.

    From above, all oracles with all other messages known; from below, where all others hold the second input.
    """
    messages = m.users * m.rho
    if m.oracles > 1:
        known = ComposedHits(messages, m.hit, m.oracles)
        return known if m.users == 1 else Bracket(HiddenHits(known), known)
    source = f"{messages} blanket messages, 2**-{m.tau} of them like the user's"
    one = known_element(messages, m.hit, source)
    return one if m.users == 1 else Bracket(hidden_element(messages, m.hit, source), one)


def for_privacy(epsilon: Number, delta: Number, users: int, side: int, dimensions: int = 1) -> RangeQueries:
    """The one with the fewest blanket messages that is certified to be (epsilon, delta)-private; tau as in Theorem 5.9.

    Raises ValueError where a parameter lies outside its domain, or no number of messages keeps the goal.
    """
    start = RangeQueries(users, side, max(1, (users - 1).bit_length()), 1, dimensions)
    return replace(start, rho=least_rho(start, epsilon, delta))


def least_rho(m: OneElement, epsilon: Number, delta: Number) -> int:
    """The fewest blanket messages per user and oracle for which a mechanism of one element each is (epsilon, delta)-private.

    Its upper bound of delta falls with their number. The search begins at D times the hits that one of D oracles needs.

    Raises ValueError where epsilon or delta lies outside its domain, or no number of messages up to 2**40 keeps the
    goal.
    """
    goal, target = require_epsilon(epsilon), require_delta(delta)
    if not (goal > 0 and target > 0):
        raise ValueError(f"blanket messages that keep a goal need epsilon > 0 and delta > 0, got {epsilon} and {delta}")

    @cache
    def cost(rho: int) -> float:
        if rho > _MOST_MESSAGES:
            raise ValueError(f"({float(goal):g}, {float(target):g}) is out of reach: no rho up to 2**40 was found that keeps it")
        return one_element_each(replace(m, rho=rho)).delta(epsilon).high if rho else 1.0  # type: ignore[type-var]

    guess = m.oracles * likely_hits(epsilon, delta) / (m.users * float(m.hit))
    near = crossing(lambda rho: cost(math.floor(rho)), target, guess, 1.5, _CLOSE)[1]
    return first(lambda rho: cost(rho) <= target, math.floor(near), 1, _MOST_MESSAGES)


def hadamard(m: HadamardRangeQueries) -> PrivacyProfile:
    """From above, D replaced elements; from below, some of them that are independent of all others, or all of them."""
    most = m.grid.most_replaced
    if not m.others_are_seen:
        return Bracket(merged_elements(m, most), replaced_elements(m, most))
    (like, _), *_ = m.groups(m.inputs[0])
    return Bracket(hidden_element(like, m.hit, f"{like} messages like the blanket's"), replaced_elements(m, most))


def merged_elements(m: HadamardRangeQueries | SparseStatisticalQueries, replaced: int) -> PrivacyProfile:
    """Lower bound: a few elements, counted each by itself, or this many, the most that two inputs differ in, counted together."""
    apart = independent_elements(m)
    if replaced == 1:
        return apart
    return LargestProfile((apart, MergedHits(m.users, m.users * m.rho, m.hit, replaced, m.k - replaced)))


def independent_elements(m: HadamardViews) -> PrivacyProfile:
    """Lower bound: `compared` elements of either of two inputs, all of them independent of each other and of all other ones."""
    (like, _), *_ = m.groups(m.inputs[0])
    random = like + m.compared - 1
    if m.compared == 1:
        return known_element(random, m.hit, f"{like} messages like the blanket's")
    return ComposedHits(random, m.hit, m.compared)


def count_min(m: CountMinRangeQueries) -> PrivacyProfile:
    """Of few values all pairs; of many the two that are furthest apart, and from above `any_two_values`."""
    if m.grid.cells <= _PAIRS:
        pairs = _largest_shifts(m.shifts(x, y) for x, y in combinations(range(m.grid.cells), 2))
        return largest(m.users, m.gamma, (pair for each in pairs for pair in replaced(m.users, m.gamma, each)))
    low = largest(m.users, m.gamma, replaced(m.users, m.gamma, m.shifts(*m.inputs)))
    return Bracket(low, any_two_values(m))


def _largest_shifts(pairs: Iterable[Shifts]) -> list[Shifts]:
    """Those that no other one contains, one of two opposite ones: to see fewer counters is post-processing."""
    found: list[Counter[int]] = []
    for pair in pairs:
        both = [Counter(dict(pair)), Counter({-shift: times for shift, times in pair})]
        if not any(each <= other for each in both for other in found):
            found = [other for other in found if not any(other <= each for each in both)] + both[:1]
    return [tuple(sorted(each.items())) for each in found]


def any_two_values(m: CountMinRangeQueries) -> PrivacyProfile:
    """Upper bound for these hash functions: D counters up and D down in every row in which no two nodes of a value collide.

    A cell that both values send cancels, and to leave counters out never costs more. In a row with a collision, and of a
    grid whose collisions are not counted, all D nodes are taken to share one cell, the worst that hash functions can do.
    """
    most, bad = m.grid.most_replaced, m.colliding_rows
    if bad is None:
        return worst_replaced(m.users, m.gamma, most, m.rows)
    shifts = [(1, most * (m.rows - bad)), (-1, most * (m.rows - bad)), (most, bad), (-most, bad)]
    return largest(m.users, m.gamma, replaced(m.users, m.gamma, [each for each in shifts if each[1]]))
