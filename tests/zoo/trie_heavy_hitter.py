from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.trie.one_round import Data
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter, TrieHeavyHitter
from tests.zoo import Broken, Refusal, Sample, Zoo, broken, mutant, no_data, no_inputs, refusals

DELTA = 0.024835367614167186
"""At which epsilon is 1, for the first one below."""
ONE = TrieHeavyHitter(users=10_000, batch=6_000, threshold=8, levels=1)
LOW = TrieHeavyHitter(users=10_000, batch=2_000, threshold=3, levels=1)
LOW_DELTA = 0.009
"""Epsilon is finite from 0.008 on: that a prefix of three users, him included, is released."""
TWO = TrieHeavyHitter(users=10_000, batch=3_000, threshold=4, levels=2)
TWO_DELTA = 0.012
"""Here from 0.0081 on."""

NOISY = NoisyTrieHeavyHitter(10_000, 6_000, 6, 1, Fraction("0.49647842805715"), 5)
"""Epsilon is finite from 0.0131 on."""
EVERYBODY = NoisyTrieHeavyHitter(10_000, 10_000, 8, 1, Fraction("0.59793074416666"), 7)
"""All of the smaller data set is drawn: nothing but the noise hides who is there, so that epsilon is known."""

TEN, NOISY_TEN = TrieHeavyHitter(10, 5, 2, 1), NoisyTrieHeavyHitter(10, 5, 2, 1, Fraction(1, 2), 3)
Views = NDArray[np.object_]
Votes = NDArray[np.int64]


def last_holding(m: TrieHeavyHitter, x: Data) -> tuple[str, ...]:
    """What the user who came last holds: who holds a word, where one more than declared is there; else nobody."""
    held = max(words for words, _ in x)
    return held if sum(n for _, n in x) > m.users else ()


def who_comes_last_is_enrolled_twice(x: Data, size: int, rng: np.random.Generator) -> Views:
    counts = dict(x)
    last = last_holding(ONE, x)
    counts[last] = counts.get(last, 0) + 1
    return replace(ONE, users=sum(counts.values())).sample(tuple(sorted(counts.items())), size, rng)


def who_comes_last_is_always_in_the_batch(x: Data, size: int, rng: np.random.Generator) -> Views:
    last = last_holding(ONE, x)
    holders = dict(x).get(("a",), 0) - bool(last)
    others = sum(n for _, n in x) - 1
    votes = rng.hypergeometric(holders, others - holders, ONE.batch - 1, size) + bool(last)
    views = np.full(size, frozenset[str](), dtype=object)
    views[votes >= ONE.threshold] = frozenset({"a"})
    return views


def an_empty_round_is_repeated_five_times(x: Data, size: int, rng: np.random.Generator) -> Views:
    views = ONE.sample(x, size, rng)
    for _ in range(5):
        again = np.flatnonzero([not view for view in views])
        views[again] = ONE.sample(x, len(again), rng)
    return views


def nobody_looks_whether_the_shorter_prefix_has_grown(x: Data, size: int, rng: np.random.Generator) -> Views:
    released = np.zeros((2, size), dtype=np.bool_)
    for level in (1, 2):
        holders = sum(n for words, n in x if any(len(w) >= level for w in words))
        others = sum(n for _, n in x) - holders
        released[level - 1] = rng.hypergeometric(holders, others, TWO.batch, size) >= TWO.threshold
    views = np.full(size, frozenset[str](), dtype=object)
    views[released[0] & ~released[1]] = frozenset({"a"})
    views[~released[0] & released[1]] = frozenset({"aa"})
    views[released[0] & released[1]] = frozenset({"a", "aa"})
    return views


def noisily(
    m: NoisyTrieHeavyHitter,
    shown: Callable[[Votes, Votes], NDArray[np.bool_]] | None = None,
    noise: Callable[[Votes, np.random.Generator], Votes] | None = None,
) -> Sample:
    """One round of votes for the words a and b, with another rule of which are shown, or with other noise."""

    def sample(x: Data, size: int, rng: np.random.Generator) -> Views:
        held = [sum(n for words, n in x if words == (word,)) for word in "ab"]
        votes = rng.multivariate_hypergeometric([*held, sum(n for _, n in x) - sum(held)], m.batch, size)[:, :2]
        added = m.noise.sample(votes.shape, rng) if noise is None else noise(votes, rng)
        told = votes + added >= m.least if shown is None else shown(votes, added)
        views = np.empty(size, dtype=object)
        for i, (row, flags) in enumerate(zip((votes + added).tolist(), told.tolist(), strict=True)):
            views[i] = frozenset((word, n) for word, n, flag in zip("ab", row, flags, strict=True) if flag)
        return views

    return sample


ZOO = Zoo(
    small=(
        # One user less than the threshold is the worst at every epsilon.
        TrieHeavyHitter(users=5, batch=4, threshold=2, levels=1),
        TrieHeavyHitter(users=6, batch=5, threshold=1, levels=1, unit=2),
        TrieHeavyHitter(users=5, batch=4, threshold=2, levels=1, words=2),
        TrieHeavyHitter(users=5, batch=3, threshold=4, levels=2),
        TrieHeavyHitter(users=5, batch=3, threshold=2, levels=3, counts=1),
        TrieHeavyHitter(users=5, batch=3, threshold=3, levels=2, unit=2, counts=1),
        # A user alone with a word is the worst at every epsilon.
        NoisyTrieHeavyHitter(users=5, batch=4, threshold=1, levels=1, alpha=Fraction(1, 2), bound=1),
        NoisyTrieHeavyHitter(users=6, batch=5, threshold=2, levels=2, alpha=Fraction(2, 3), bound=1, unit=2),
        NoisyTrieHeavyHitter(users=5, batch=3, threshold=3, levels=1, alpha=Fraction(1, 3), bound=2, words=2),
        NoisyTrieHeavyHitter(users=5, batch=2, threshold=5, levels=2, alpha=Fraction(1, 3), bound=2),
    ),
    at_one=(ONE, EVERYBODY),
    broken=(
        Broken("who comes last is enrolled twice", ONE, who_comes_last_is_enrolled_twice, DELTA),
        Broken("who comes last is always in the batch", ONE, who_comes_last_is_always_in_the_batch, DELTA),
        Broken("an empty round is repeated five times", ONE, an_empty_round_is_repeated_five_times, DELTA),
        broken("two votes are enough", LOW, LOW_DELTA, threshold=2),
        Broken("nobody looks whether the shorter prefix has grown", TWO,
               nobody_looks_whether_the_shorter_prefix_has_grown, TWO_DELTA),
        Broken("noise is added to what has theta votes without it", NOISY,
               noisily(NOISY, lambda votes, _: votes >= NOISY.threshold), DELTA),
        # Prefixes that somebody votes for may show any noisy number above 0: whoever holds one alone is seen.
        Broken("a prefix without votes is recognized by its number alone", NOISY,
               noisily(NOISY, lambda votes, noise: (votes > 0) & (votes + noise > 0)), DELTA),
        Broken("no noise for prefixes that most hold", EVERYBODY, noisily(EVERYBODY, noise=lambda votes, rng: np.where(
            votes > EVERYBODY.batch // 2, 0, EVERYBODY.noise.sample(votes.shape, rng))), DELTA),
        Broken("noise beyond half of its range is drawn again", EVERYBODY, noisily(
            EVERYBODY, noise=lambda votes, rng: replace(EVERYBODY, bound=3).noise.sample(votes.shape, rng)), DELTA),
    ),
    delta=DELTA,
    refused=(
        *refusals("users >= 1", TEN, users=[0]), *refusals("1 <= batch <= 10", TEN, batch=[11]),
        *refusals("threshold >= 1", TEN, threshold=[0]), *refusals("levels >= 1", TEN, levels=[0]),
        *refusals("unit >= 1", TEN, unit=[0]), *refusals("words >= 1", TEN, words=[0]),
        *refusals("0 <= counts <= 1", TEN, counts=[2]),
        *no_inputs("pairs of a tuple of at most 1 words and a number of users", TEN, "words", 5, ((("a",), 9),), ((("a",), 12),),
                   ((("a", "b"), 10),), ((("a",), 10), (("b",), 0)), [(("a",), 10)]),
        *no_data("words of 10 users, got 3", TEN, ["a", "b", "c"]), *no_data("at most 1 words a user", TEN, [("a", "b")] * 10),
        Refusal("0 <= rate < 1, got rate=1", lambda: TEN.run_with_dropouts(["a"] * 10, 1, np.random.default_rng(0))),
        *refusals("0 < alpha < 1", NOISY_TEN, alpha=[1]), *refusals("1 <= bound <= 1000", NOISY_TEN, bound=[0]),
        *refusals("1 <= batch <= 10", NOISY_TEN, batch=[11]), *refusals("threshold >= 1", NOISY_TEN, threshold=[0]),
        Refusal("0 < delta < 1, got delta=0", lambda: NoisyTrieHeavyHitter.for_budget(10, 5, 2, 1, 1, 0)),
    ),
    mutants=(
        mutant("the batch is a twentieth larger", ONE, DELTA, batch=6_300),
        mutant("alpha is a twentieth smaller", EVERYBODY, DELTA, alpha=EVERYBODY.alpha * Fraction(19, 20)),
    ),
)  # fmt: skip
