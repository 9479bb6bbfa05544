"""The attack on TrieHH by an adversary who knows all of the data set but one user."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import TIE, Attack
from ldpaudit.attacks.shared.noisy_votes import Apart, require_released
from ldpaudit.attacks.shared.odds import log_ratio
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.trie.one_round import Data, released
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

Atom: TypeAlias = tuple[float, float]  # probabilities of a set of views on the first and on the second data set
MOST_GROUPS, LARGEST_BATCH = 6, 60
"""Other prefixes, and users in a batch, up to which data sets are tried on which hardly any batch releases nothing. Their laws
are enumerated."""
LARGEST_COUNT = 20_000
"""Holders, or users in a batch, up to which common prefixes are tried before a rare one: beyond, the law takes long to
compute, and samples hardly show the event."""
VIEWS, ERRORS = 5e5, 2.5
"""A pair is chosen for this many views on either side: half of the default budget; less this many standard errors."""
MOST_HOLDERS = 100
"""Of the user's word, where votes are noisy: the law of two noisy numbers is listed for each number of their votes."""
_SIZES = tuple(1.15**i for i in range(40))
"""Numbers of holders that are tried, as multiples of the threshold less 1: up to 232, in steps of 15 %."""
_HELP = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Expected votes of the prefixes that lead to a rare one, as multiples of the threshold."""


def attack(m: TrieRounds, neighbours: Neighbours = ADD_REMOVE, delta: float = 0.0) -> Attack:
    """The pair of data sets, among those tried, that some form of TrieHH tells apart best."""
    match m:
        case NoisyTrieHeavyHitter():
            return _noisy(m, neighbours, delta)
        case TrieHeavyHitter():
            return _as_published(m, neighbours, delta)
    raise Unsupported(m, "it is not one of the forms of TrieHH")


def _noisy(m: NoisyTrieHeavyHitter, neighbours: Neighbours, delta: float) -> Attack:
    """All others hold one word, but for some who hold the user's; as many of these as show most at delta in one round.

    The score is the log-likelihood ratio by the law of the noisy votes, added over rounds. Baits are data sets in which the
    user is the one who is missing at the threshold, or at the least number that noise lifts above it.
    """
    replaced = neighbours == REPLACE_ONE
    sure = m.least + m.bound
    few = {0, m.threshold - 1}
    tried = {*range(sure), sure + m.users - m.batch, -(-sure * m.users // m.batch), *few}
    pairs = {w: Apart(m, w, replaced) for w in sorted(tried) if w < min(m.users, MOST_HOLDERS)}
    best = max(pairs, key=lambda w: _reach(pairs[w].atoms, delta))
    baits = (pairs[w].bait() for w in sorted(few & set(pairs)))
    return replace(pairs[best].attack(), baits=tuple(baits))


def _as_published(m: TrieHeavyHitter, neighbours: Neighbours, delta: float) -> Attack:
    """The pair of data sets, among those tried, whose laws are farthest apart at delta.

    The score is the log-likelihood ratio by the law that follows from the pseudocode. Baits are the pairs in which one
    or two users are missing at the threshold: they show a mechanism that releases with fewer votes. With counts, everybody
    else holds one word and the user another: a missing vote then shows the user in every round.
    """
    if m.counts:
        return _missing_vote(m, neighbours)
    replaced = neighbours == REPLACE_ONE

    best = max(_candidates(m, replaced), key=lambda found: _reach(found[1], delta))[0]
    few = [w for w in (m.threshold - 1, m.threshold - 2) if 0 <= w <= m.users - replaced]
    baits = (_told_apart(m, _sharing(m, (w,) * m.levels, replaced)) for w in few)
    return replace(_told_apart(m, best), baits=tuple(bait for bait in baits if bait.pair != best))


def _told_apart(m: TrieHeavyHitter, pair: tuple[Data, Data]) -> Attack:
    (first, second), held = (m.law(x) for x in pair), _prefixes(m, pair)
    either = dict.fromkeys([*first.views(), *second.views()])
    table: dict[Any, float] = {view: log_ratio(first.probability(view), second.probability(view)) for view in either}

    def score(views: Views) -> NDArray[np.float64]:
        for view in {*views} - {*table}:
            require_released(view, held)
            own = sum(m.word.startswith(prefix) for prefix in view)
            # The declared mechanism never shows it; code that is not as declared shows more of the word where the user is present.
            table[view] = TIE * (own if own else -1)
        return np.array([table[view] for view in views], dtype=np.float64)

    return Attack(pair, score, "{the release of the user's prefixes}")


def _prefixes(m: TrieHeavyHitter, pair: tuple[Data, Data]) -> set[str]:
    """All that may be voted for in either of two data sets."""
    words = {word for x in pair for held, _ in x for word in held}
    return {word[: i * m.unit] for word in words for i in range(1, min(m.levels, len(word) // m.unit) + 1)}


def _reach(atoms: list[Atom], delta: float) -> float:
    """The epsilon that the best event shows at delta in `VIEWS` views, in the better direction."""
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
    """Pairs of data sets, the first with the user, the second without or with another word; and the law of what they show."""
    most = m.users - replaced
    for holders in _holders(m, most):
        yield _sharing(m, holders, replaced), _depths(m, holders, replaced)
    if m.batch <= LARGEST_BATCH and m.threshold > 1:
        others = (m.batch - 1) // (m.threshold - 1)
        for groups in (g for g in (others, others + 1) if 0 < g <= MOST_GROUPS):
            for loners in sorted({0, max(0, m.batch - 1 - groups * (m.threshold - 1))}):
                if loners + groups <= most:
                    pair = _few_prefixes(m, most, groups, loners, replaced)
                    first, second = (m.law(x) for x in pair)
                    views = dict.fromkeys([*first.views(), *second.views()])
                    yield pair, [(float(first.probability(y)), float(second.probability(y))) for y in views]


def _depths(m: TrieHeavyHitter, holders: tuple[int, ...], replaced: bool) -> list[Atom]:
    """Probabilities, with the user and without, that exactly 0, 1, 2, ... of the user's prefixes are released."""
    atoms, p, q = [], 1.0, 1.0
    for w in holders:
        one_more = released(w + 1, m.users + (not replaced), m.batch, m.threshold)
        as_is = released(w, m.users, m.batch, m.threshold)
        atoms.append((p * float(1 - one_more), q * float(1 - as_is)))
        p, q = p * float(one_more), q * float(as_is)
    return [*atoms, (p, q)]


def _sharing(m: TrieHeavyHitter, holders: tuple[int, ...], replaced: bool) -> tuple[Data, Data]:
    """Data sets in which others share the user's prefixes, `holders[i]` of them the i-th, and nobody else's votes count."""
    return m.data(holders, m.word, replaced), m.data(holders, "" if replaced else None, replaced)


def _holders(m: TrieHeavyHitter, most: int) -> Iterator[tuple[int, ...]]:
    """How many others share each of the user's prefixes: the same number, or fewer for the last one."""
    least = min(m.threshold - 1, most)
    sizes = sorted({min(most, round(max(least, 1) * factor)) for factor in _SIZES} | {least, min(most, least + 1)})
    common = sorted({min(most, max(least, round(x * m.threshold * m.users / m.batch))) for x in _HELP})
    if min(common[-1], m.batch) > LARGEST_COUNT:
        common = []
    for w in sizes:
        yield (w,) * m.levels
        if m.levels > 1:
            yield from ((h,) * (m.levels - 1) + (w,) for h in common if h > w)


def _few_prefixes(m: TrieHeavyHitter, most: int, groups: int, loners: int, replaced: bool) -> tuple[Data, Data]:
    """All others share a few prefixes in equal parts, but for some who hold a word of their own; so does the user."""
    size, more = divmod(most - loners, groups)
    shared = [(("bcdefghijk"[i] * m.unit,), size + (i < more)) for i in range(groups)]
    without = {words: n for words, n in [((), loners), *shared] if n}
    there = without | {(): loners + 1}
    if replaced:
        held = shared[0][0]
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

    held = _prefixes(m, pair)

    def score(views: Views) -> NDArray[np.float64]:
        for view in set(views):
            require_released(view, held, m.batch)
        return np.array([otherwise if view == full else math.inf for view in views], dtype=np.float64)

    return Attack(pair, score, "{a vote is missing}")
