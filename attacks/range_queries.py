"""The attack on range queries in the shuffled model, and on what is read off such elements: quantiles, prefixes, any queries."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.counters import by_counts, counter_loss
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import KINDS, Group, HadamardViews, Shares
from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_MERGED = 6
"""Nodes of either value that are looked at together: what a message shows of them is computed from 4,096 probabilities."""


def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two inputs whose elements differ most, told apart by the messages that speak for the first one's; all losses add.

    Of range queries the first value, which lies in a node of every width, and one that shares none of them; of quantiles, which
    are functions of the messages, a number in the first cell and one in the last; of heavy hitters, which are too, the first and
    the last value, of which no prefix is common; of statistical queries two sets whose elements are independent.
    """
    match m:
        case ShuffledQuantiles():
            return replace(attack(m.ranges, neighbours), pair=m.inputs)
        case CountMinRangeQueries():
            return by_counts(m.inputs, lambda x: [(m.users, own) for own in m.columns(x)], m.gamma)
        case SparseStatisticalQueries():
            return _by_messages(m, 0, "first queries")
        case ShuffledHeavyHitters():
            return _by_messages(m, m.users - 1, "prefixes of the first value")
        case RangeQueries() | HadamardRangeQueries():
            known = m.users - 1 if isinstance(m, RangeQueries) or m.others_are_seen else 0
            found = _by_messages(m, known, "nodes of the first value")
            if isinstance(m, RangeQueries) or m.grid.most_replaced == 1:
                return found
            return replace(found, baits=(_merged(m),))
    raise Unsupported(m, "it has no elements that messages speak for")


def _by_messages(m: HadamardViews, known: int, elements: str) -> Attack:
    """By the losses of all oracles, where this many others are known to be for the second input's element."""

    def score(views: Views) -> NDArray[np.float64]:
        table = np.asarray(views, dtype=np.float64).reshape(len(views), m.oracles, KINDS)
        with np.errstate(invalid="ignore"):
            return np.asarray(m.compared * _losses(table, known).sum(axis=1))  # inf - inf is a view that neither input shows

    first, second = m.inputs
    return Attack((first, second), score, f"{{more messages speak for the {elements}}}")


def _merged(m: HadamardRangeQueries) -> Attack:
    """By the messages for any of several nodes that only one of the two values has, where all others hold the second value.

    Their numbers are as if they were independent: right but for the few messages that speak for nodes of both.
    """
    groups = {x: merged_groups(m, x, _MERGED) for x in m.inputs}
    (blanket, shares), own = groups[m.inputs[0]][0], len(elements_apart(m, _MERGED)[0])
    random, others = blanket + (m.users - 1) * (m.k - own), (m.users - 1) * own
    up, down = (counter_loss((random, own), (random, 0), float(share)) for share in (shares[0], shares[1] + shares[2]))

    def score(views: Views) -> NDArray[np.float64]:
        first, second, both, _ = np.asarray(views).T
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(up(first) - down(second + both - others), posinf=np.inf, neginf=-np.inf)

    event = f"{{more messages speak for any of {own} nodes of the first value than for any of {own} others}}"
    return Attack(m.inputs, score, event, views=lambda x, size, rng: drawn(groups[x], size, rng))


def _losses(table: NDArray[np.float64], known: int) -> NDArray[np.float64]:
    """Of one message for the first element against one for the second, where `known` others are for the second.

    The others' messages are any of those that speak for the second element: user 1's is one of the rest, or it is in both.
    """
    first, second, both, _ = np.moveaxis(table, -1, 0)
    theirs = second + both
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.where(both > 0, both / theirs, 0.0)
        ratio = np.where(first > 0, first / (theirs - known), 0.0) + shared
        # Where user 1's message is nowhere, neither input shows the view.
        return np.asarray(np.log(np.where((first == 0) & (theirs <= known), np.nan, ratio)))


# Views that count messages for any of several elements. A message is a random matrix, and speaks for the elements in its kernel:
# for one more, which is no sum of those known to be in it, with probability p, and for a sum of those certainly.


def chance_of_none(asked: tuple[int, ...], held: tuple[int, ...], hit: Fraction) -> Fraction:
    """Probability that a message speaks for none of the asked elements; `held`: a basis of what it is known to speak for."""
    rests = [reduced(each, list(held)) for each in asked]
    if not all(rests):
        return Fraction(0)
    if not rests:
        return Fraction(1)
    last, more = rests[-1], asked[:-1]
    return chance_of_none(more, held, hit) - hit * chance_of_none(more, (*held, last), hit)


def shares_of(first: tuple[int, ...], second: tuple[int, ...], held: tuple[int, ...], hit: Fraction) -> Shares:
    """What a message shows: it speaks for some of the first elements and none of the second, the other way round, both, neither."""
    no_first, no_second, none = (chance_of_none(asked, held, hit) for asked in (first, second, first + second))
    return no_second - none, no_first - none, 1 - no_first - no_second + none, none


def elements_apart(m: Any, most: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Elements that only one of the two inputs has, at most `most` of either; ``m``: boxes over one oracle."""
    first, second = (m.oracle.elements(m.grid.column(x)) for x in m.inputs)
    return tuple(e for e in first if e not in second)[:most], tuple(e for e in second if e not in first)[:most]


def merged_groups(m: Any, x: Any, most: int) -> tuple[Group, ...]:
    """All users' messages by what they show of `elements_apart`, those of the blanket first; all others hold the second input."""
    first, second = elements_apart(m, most)
    sent = Counter(m.oracle.elements(m.grid.column(x)))
    for element in m.oracle.elements(m.grid.column(m.inputs[1])):
        sent[element] += m.users - 1
    groups: Counter[Shares] = Counter()
    for element, number in sent.items():
        groups[shares_of(first, second, (element,), m.hit)] += number
    return (m.users * m.rho, shares_of(first, second, (), m.hit)), *((number, shares) for shares, number in groups.items())


def drawn(groups: tuple[Group, ...], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of each kind of message in many views, shape ``(size, 4)``."""
    parts = (rng.multinomial(number, [float(p) for p in shares], size) for number, shares in groups)
    return np.asarray(sum(parts, np.zeros((size, KINDS), dtype=np.int64)))
