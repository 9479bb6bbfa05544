"""Containment of samples with a threshold: oracles by enumeration of data sets, and one prefix at up to 1e12 users."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import mpmath
from mpmath import mpf

from benchmarks.queries import ROUNDING, Tally, a_delta, ask, fraction, mp, one_more, positive
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

_DEEP = 420  # digits where the complement of a tail is summed


def thresholds(rng: random.Random, tally: Tally) -> None:
    """Samples with a threshold."""
    rng.choice((_few, _few, _few, _many))(rng, tally)


def _few(rng: random.Random, tally: Tally) -> None:
    """Every data set of a few users; with coins also hundreds, who share one prefix."""
    users = rng.choice((1, 2, rng.randint(3, 8)))
    relation = rng.choice((ADD_REMOVE, REPLACE_ONE)) if users > 1 else ADD_REMOVE
    sampling: FixedBatch | PoissonBatch
    if rng.random() < 0.4:
        sampling = FixedBatch(users, rng.randint(1, users))
        threshold = rng.randint(1, sampling.batch)
    else:
        coin = fraction(rng, 0, 1, rng.choice((1, 4)))
        if not 0 < coin < 1:
            return
        users = rng.choice((users, rng.randint(9, 300)))
        relation = ADD_REMOVE if users > 8 else relation
        sampling, threshold = PoissonBatch(users, coin), rng.randint(1, min(users, 12))
    pairs = _alone(sampling, threshold) if users > 8 else list(_sharings(sampling, threshold, relation))

    def truth(epsilon: Any) -> Any:
        return max((max(positive(iter(p), epsilon), positive(((b, a) for a, b in p), epsilon)) for p in pairs), default=mpf(0))

    profile = ThresholdProfile(sampling, threshold, 1, relation)
    ask(rng, tally, f"{sampling} {threshold} {relation}", profile, truth, 2.0)


def _alone(sampling: PoissonBatch | FixedBatch, threshold: int) -> list[list[tuple[Any, Any]]]:
    """Whether a prefix of w others is released, with the user and without him, for every w."""
    coin, law, beside = mp(sampling.rate), [mpf(1)], []
    for _ in range(sampling.users + 1):
        more = one_more(law, coin)
        there, before = mpmath.fsum(more[threshold:]), mpmath.fsum(law[threshold:])
        beside.append([(there, before), (mpmath.fsum(more[:threshold]), mpmath.fsum(law[:threshold]))])
        law = more
    return beside


def _sharings(
    sampling: PoissonBatch | FixedBatch, threshold: int, relation: Neighbours
) -> Iterator[list[tuple[Any, Any]]]:
    """Both laws of the released prefixes, for every pair of neighbours but for their names."""
    fewer = sampling.users - (relation == REPLACE_ONE)
    for sizes in _partitions(fewer):
        groups = (*sizes, 0, 0)
        joined = [tuple(s + (i == j) for j, s in enumerate(groups)) for i in range(len(sizes) + 2)]
        for one in joined[:-1]:
            for other in [groups] if relation == ADD_REMOVE else joined:
                laws = _released(one, sampling, threshold), _released(other, sampling, threshold)
                yield [(laws[0].get(view, mpf(0)), laws[1].get(view, mpf(0))) for view in laws[0].keys() | laws[1].keys()]


def _partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Sizes of the groups of users who hold the same, decreasing."""
    if n == 0:
        yield ()
    for first in range(min(n, n if most is None else most), 0, -1):
        yield from ((first, *rest) for rest in _partitions(n - first, first))


def _released(sizes: tuple[int, ...], sampling: PoissonBatch | FixedBatch, threshold: int) -> dict[frozenset[int], Any]:
    """Law of the set of groups with enough votes."""
    ways: dict[tuple[frozenset[int], int], Any] = {(frozenset(), 0): mpf(1)}
    coin = mp(sampling.rate) if isinstance(sampling, PoissonBatch) else mpf(1) / 2  # samples of one size are alike
    for group, size in enumerate(sizes):
        more: dict[tuple[frozenset[int], int], Any] = {}
        for (out, drawn), p in ways.items():
            for votes in range(size + 1):
                key = out | {group} if votes >= threshold else out, drawn + votes
                more[key] = more.get(key, 0) + p * math.comb(size, votes) * coin**votes * (1 - coin) ** (size - votes)
        ways = more
    law: dict[frozenset[int], Any] = {}
    for (out, drawn), p in ways.items():
        if isinstance(sampling, PoissonBatch) or drawn == sampling.batch:
            law[out] = law.get(out, 0) + p
    total = mpmath.fsum(law.values())
    return {out: p / total for out, p in law.items()}


def _many(rng: random.Random, tally: Tally) -> None:
    """Up to 1e12 users, of whom one prefix is known to tell."""
    n = int(10 ** rng.uniform(3, 12))
    m = max(2, int(n ** rng.uniform(0.2, 0.9)))
    threshold, q = rng.randint(2, min(m, 30)), mpf(m) / (n + 1)

    def tail(users: int, holders: int) -> Any:
        """From below, with enough digits that 60 are left."""
        term, total = mpmath.binomial(users - holders, m) / mpmath.binomial(users, m), mpf(0)
        for j in range(threshold):
            total += term
            term *= mpf(holders - j) * (m - j) / (mpf(j + 1) * (users - holders - m + j + 1))
        return 1 - total

    def cost(epsilon: float) -> Any:
        c = mpmath.exp(mpf(epsilon))
        w = min(n, max(threshold - 1, int(mpmath.ceil(threshold - 2 + (threshold - 1) * (1 - q) / (c - 1 + q)))))
        near = (x for x in (w - 1, w, w + 1) if threshold - 1 <= x <= n - m)
        return max((tail(n + 1, x + 1) - c * tail(n, x) for x in near), default=mpf(0))

    profile, name = ThresholdProfile(FixedBatch(n, m), threshold), f"{m} of {n}, theta {threshold}"
    epsilon, delta = float(q) * 10 ** rng.uniform(-2, 3), a_delta(rng)
    with mpmath.workdps(_DEEP):
        if rng.random() < 0.5 and epsilon < 40:
            found, least = profile.delta(epsilon), cost(epsilon)
            holds = least * (1 - ROUNDING) <= found.high and found.low >= least * (1 - mpf(10) ** -9) - mpf(10) ** -320
            tally.add(
                found, holds, f"{name}: delta({epsilon!r}) is at least {mpmath.nstr(least, 20)}, not in {found!r}"
            )
            return
        found = profile.epsilon(delta)
        holds = math.isinf(found.high) or cost(found.high) <= delta
        # What one prefix costs is reached, so just above the lower end it is not more than delta.
        holds = holds and (math.isinf(found.low) or cost(found.low * (1 + 1e-9) + 1e-300) <= delta)
        tally.add(found, holds, f"{name}: epsilon({delta!r}) is not in {found!r}")
