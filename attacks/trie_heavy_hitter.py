"""What can be seen of TrieHH by who knows all of the data set but one user."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms._trie import Data, released
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

Atom: TypeAlias = tuple[float, float]
"""Probability of some views on either data set."""
TIE = 1e-6
"""Score of a trie that neither data set shows as declared: the more of the user's word is in it, the more it speaks for him."""
MOST_CROWDS, LARGEST_BATCH = 6, 60
"""Other prefixes, and batches, up to which crowds are tried that leave hardly a sample without a release."""
LARGEST_COUNT = 20_000
"""Holders, or users in a batch, up to which common prefixes are tried in front of a rare one."""
VIEWS, ERRORS = 5e5, 2.5
"""A pair is chosen for so many views on either side, less so many standard errors."""
_SIZES = tuple(1.15**i for i in range(40))
_HELP = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Expected votes of the prefixes that lead to a rare one, as multiples of the threshold."""


def attack(m: TrieHeavyHitter, neighbours: Neighbours = ADD_REMOVE, delta: float = 0.0) -> Attack:
    """The pair of data sets, of those tried, whose laws are farthest apart at delta.

    The score is the log-likelihood ratio by the law that follows from the pseudocode. Baits are the pairs in which one
    user, or even two, are missing at the threshold: should less suffice, they tell. With counts, everybody else holds
    one word and the user another: in no round may a vote be missing.

    Parameters
    ----------
    m : TrieHeavyHitter
        What is declared.
    neighbours : Neighbours
        Add-remove or replace-one.
    delta : float
        The delta that a bound is wanted for; it only guides the choice.
    """
    if m.counts:
        return _missing_vote(m, neighbours)
    replaced = neighbours == REPLACE_ONE

    best = max(_candidates(m, replaced), key=lambda found: _reach(found[1], delta))[0]
    few = [w for w in (m.threshold - 1, m.threshold - 2) if 0 <= w <= m.users - replaced]
    baits = (_told_apart(m, _sharing(m, (w,) * m.levels, replaced)) for w in few)
    return replace(_told_apart(m, best), baits=tuple(bait for bait in baits if bait.pair != best))


def _told_apart(m: TrieHeavyHitter, pair: tuple[Data, Data]) -> Attack:
    table = _losses(*(m.law(x) for x in pair))

    def score(views: Views) -> NDArray[np.float64]:
        return np.array([_score(table, view, m.word) for view in views], dtype=np.float64)

    return Attack(pair, score, "{the release of his prefixes}")


def _score(table: dict[frozenset[str], float], view: frozenset[str], word: str) -> float:
    known = table.get(view)
    if known is not None:
        return known
    his = sum(word.startswith(prefix) for prefix in view)
    return TIE * (his if his else -1)


def _losses(first: Law, second: Law) -> dict[frozenset[str], float]:
    """Log-likelihood ratio of everything that either shows."""
    views = dict.fromkeys([*first.views(), *second.views()])
    return {view: _log(first.probability(view)) - _log(second.probability(view)) for view in views}


def _log(p: Any) -> float:
    return math.log(p.numerator) - math.log(p.denominator) if p else -math.inf


def _reach(atoms: list[Atom], delta: float) -> float:
    """The epsilon that the best event shows at delta in so many views, in the better direction."""
    return max(_one_way(atoms, delta), _one_way([(q, p) for p, q in atoms], delta))


def _one_way(atoms: list[Atom], delta: float) -> float:
    p = q = best = 0.0
    for x, y in sorted(atoms, key=lambda a: a[1] / a[0] if a[0] else math.inf):
        p, q = p + x, q + y
        surely = p - delta - ERRORS * math.sqrt(p / VIEWS)
        if surely > 0:
            best = max(best, math.log(surely / (q + ERRORS * math.sqrt(q / VIEWS) + ERRORS / VIEWS)))
    return best


def _candidates(m: TrieHeavyHitter, replaced: bool) -> Iterator[tuple[tuple[Data, Data], list[Atom]]]:
    """Data sets with the user first, and without him or with another word of his; and the chances of what they show."""
    most = m.users - replaced
    for holders in _holders(m, most):
        yield _sharing(m, holders, replaced), _depths(m, holders, replaced)
    if m.batch <= LARGEST_BATCH and m.threshold > 1:
        others = (m.batch - 1) // (m.threshold - 1)
        for crowds in (g for g in (others, others + 1) if 0 < g <= MOST_CROWDS):
            for loners in sorted({0, max(0, m.batch - 1 - crowds * (m.threshold - 1))}):
                if loners + crowds <= most:
                    pair = _crowd(m, most, crowds, loners, replaced)
                    first, second = (m.law(x) for x in pair)
                    views = dict.fromkeys([*first.views(), *second.views()])
                    yield pair, [(float(first.probability(y)), float(second.probability(y))) for y in views]


def _depths(m: TrieHeavyHitter, holders: tuple[int, ...], replaced: bool) -> list[Atom]:
    """Chances, with him and without, that exactly 0, 1, 2, ... of his prefixes are released."""
    atoms, p, q = [], 1.0, 1.0
    for w in holders:
        one_more = released(w + 1, m.users + (not replaced), m.batch, m.threshold)
        as_is = released(w, m.users, m.batch, m.threshold)
        atoms.append((p * float(1 - one_more), q * float(1 - as_is)))
        p, q = p * float(one_more), q * float(as_is)
    return [*atoms, (p, q)]


def _sharing(m: TrieHeavyHitter, holders: tuple[int, ...], replaced: bool) -> tuple[Data, Data]:
    """So many others share the user's prefixes, and nobody else's votes count."""
    return m.data(holders, m.word, replaced), m.data(holders, "" if replaced else None, replaced)


def _holders(m: TrieHeavyHitter, most: int) -> Iterator[tuple[int, ...]]:
    """How many others share the user's prefixes: all alike, or a rare one behind common ones."""
    least = min(m.threshold - 1, most)
    sizes = sorted({min(most, round(max(least, 1) * factor)) for factor in _SIZES} | {least, min(most, least + 1)})
    common = sorted({min(most, max(least, round(x * m.threshold * m.users / m.batch))) for x in _HELP})
    if min(common[-1], m.batch) > LARGEST_COUNT:  # beyond what is counted in no time, and far beyond what samples show
        common = []
    for w in sizes:
        yield (w,) * m.levels
        if m.levels > 1:
            yield from ((h,) * (m.levels - 1) + (w,) for h in common if h > w)


def _crowd(m: TrieHeavyHitter, most: int, crowds: int, loners: int, replaced: bool) -> tuple[Data, Data]:
    """All others share a few prefixes in equal parts, and some hold a word of their own; so does the user."""
    size, more = divmod(most - loners, crowds)
    groups = [(("bcdefghijk"[i] * m.unit,), size + (i < more)) for i in range(crowds)]
    without = {words: n for words, n in [((), loners), *groups] if n}
    there = without | {(): loners + 1}
    if replaced:
        held = groups[0][0]
        without[held] = without.get(held, 0) + 1
    first, second = (tuple(sorted(x.items())) for x in (there, without))
    return first, second


def _missing_vote(m: TrieHeavyHitter, neighbours: Neighbours) -> Attack:
    replaced = neighbours == REPLACE_ONE
    holders = (m.users - replaced,) * m.levels
    pair = m.data(holders, "", replaced), m.data(holders, m.word if replaced else None, replaced)
    full = frozenset((m.word[: (i + 1) * m.unit], m.batch) for i in range(m.levels))
    never = 1 - m.batch / (m.users + (not replaced))
    otherwise = m.levels * math.log(never) if never > 0 else -math.inf
    if m.threshold > m.batch:
        full, otherwise = frozenset(), 0.0

    def score(views: Views) -> NDArray[np.float64]:
        return np.array([otherwise if view == full else math.inf for view in views], dtype=np.float64)

    return Attack(pair, score, "{a vote is missing}")
