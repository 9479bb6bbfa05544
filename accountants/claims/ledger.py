"""The ledger of the field's formulas: each at three settings, beside the certified value.

The settings of a kind of plan are a typical one, one with many users or runs, and one at an edge, where hypotheses are not
met or formulas are at their loosest.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.published import Bound, Published, published
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.sampling.theorems import corollary_1_delta, triehh_delta
from ldpaudit.accountants.sampling.thresholded import PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.plan import Guarantee, Plan, Repeat, Run, Shuffle, Subsample
from ldpaudit.profile import PrivacyProfile

COLUMNS = ("typical", "many", "edge")  # the three settings of every kind, in this order
_F = Fraction
_MILLIONTH = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the ledger."""

    what: str  # in words
    subject: Plan | PrivacyProfile  # what is deployed
    delta: Fraction = _MILLIONTH  # at which epsilons are compared

    def certified(self) -> Enclosure:
        """Of epsilon at delta."""
        profile = self.subject if isinstance(self.subject, PrivacyProfile) else account(self.subject)
        return profile.epsilon(self.delta)


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula at the settings of its kind."""

    found: tuple[Published, ...]  # in the order of `COLUMNS`

    @property
    def stated(self) -> Published:
        """What is the same at every setting: name, source, needs, provenance."""
        return self.found[0]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A kind of plan: its settings, what is certified of each, and every formula on record."""

    title: str  # the kind
    settings: tuple[Setting, ...]  # in the order of `COLUMNS`
    certified: tuple[Enclosure, ...]  # at each setting
    formulas: tuple[Formula, ...]  # by their names


_ARY = {2: "binary", 3: "three-ary"}
_WORDS = {1: "one", 2: "two", 4: "four"}


def _report(epsilon: Fraction | int, k: int = 2) -> KaryRandomizedResponse:
    return KaryRandomizedResponse.for_epsilon(epsilon, k)


def _several(times: int, epsilon: Fraction) -> Setting:
    return Setting(f"{times:,} binary reports of epsilon {epsilon}", Repeat(_report(epsilon), times))


def _shuffled(users: int, epsilon: Fraction | int, k: int = 2) -> tuple[str, Plan]:
    return f"{users:,} {_ARY[k]} reports of epsilon {epsilon}", Shuffle(_report(epsilon, k), users)


def _rounds(times: int, what: str, plan: Plan) -> Setting:
    return Setting(f"{times} shuffles of {what}", Repeat(plan, times))


def _batch(size: int, users: int, epsilon: int, delta: Fraction = _MILLIONTH) -> Setting:
    what = f"{size:,} of {users:,} users, who shuffle binary reports of epsilon {epsilon}"
    return Setting(what, Subsample(Shuffle(_report(epsilon), size), users, size), delta)


def _one_of(users: int, epsilon: Fraction | int) -> tuple[str, Plan]:
    return f"one of {users:,} users, who sends a binary report of epsilon {epsilon}", Subsample(_report(epsilon), users, 1)


def _samples(times: int, what: str, plan: Plan) -> Setting:
    return Setting(f"{times:,} times {what}", Repeat(plan, times))


def _trie(users: int, batch: int, threshold: int, levels: int, delta: Fraction) -> Setting:
    what = f"{users:,} users, batch {batch:,}, threshold {threshold}, {_WORDS[levels]} level{'s' * (levels > 1)}"
    return Setting(what, Run(TrieHeavyHitter(users, batch, threshold, levels=levels)), delta)


def _coins(users: int, coin: Fraction, threshold: int) -> Setting:
    what = f"{users:,} users, a coin of {coin}, threshold {threshold}"
    return Setting(what, ThresholdProfile(PoissonBatch(users, coin), threshold))


def _sketch(users: int, rows: int, gamma: Fraction, held: int = 1) -> Setting:
    what = f"{users:,} users{f' who hold {_WORDS[held]} values' * (held > 1)}, {rows} rows, blanket {gamma}"
    return Setting(what, Run(ShuffledCountMin(users, domain=64, rows=rows, buckets=1000, gamma=gamma, held=held)))


def _count(coins: int, sensitivity: int = 1) -> Setting:
    return Setting(f"{coins:,} fair coins, sensitivity {sensitivity:,}", ShiftProfile(coins, _F(1, 2), sensitivity))


_PARTS = Setting("10 parts of epsilon 2 and delta 1e-9", Repeat(Guarantee(_F(2), _F(1, 10**9)), 10))
CHAPTERS = (
    ("Composition", (_several(100, _F(1, 2)), _several(10**4, _F(1, 2000)), _PARTS)),
    ("Shuffling", (*(Setting(*_shuffled(users, _F(1, 2), 3)) for users in (10**4, 10**7)), Setting(*_shuffled(1000, 4, 3)))),
    ("Rounds of shuffles",
     (_rounds(10, *_shuffled(10**5, _F(1, 2))), _rounds(100, *_shuffled(10**7, _F(1, 2))), _rounds(4, *_shuffled(10, 1, 3)))),
    ("Subsampling without replacement, one user replaced",
     (_batch(1000, 10**5, 1), _batch(10**4, 10**7, 1, _F(1, 10**8)), Setting(*_one_of(100, 3), _F(1, 20)))),
    ("Rounds of samples, one user replaced",
     (_samples(100, *_one_of(100, 1)), _samples(10**4, *_one_of(1000, _F(1, 10))), _samples(10, *_one_of(10, 3)))),
    ("Sampling a batch, and a threshold (TrieHH)",
     (_trie(10**6, 1000, 12, 1, corollary_1_delta(10**6)), _trie(10**8, 10**4, 14, 4, corollary_1_delta(10**8)),
      _trie(10**4, 100, 20, 1, triehh_delta(20)))),
    ("Sampling by coins, and a threshold",
     (_coins(10**6, _F(1, 100), 20), _coins(10**9, _F(1, 1000), 20), _coins(10**6, _F(1, 10), 5))),
    ("Shuffled count-min, one set replaced",
     (_sketch(10**5, 4, _F(1, 10)), _sketch(10**7, 10, _F(1, 10)), _sketch(10**4, 4, _F(1, 100), 2))),
    ("One count with binomial noise", (_count(2000), _count(10**6), _count(4 * 10**8, 20_000))),
)  # fmt: skip
"""Titles and settings."""


@lru_cache(maxsize=1)
def ledger(bounds: tuple[Bound, ...] = ()) -> tuple[Chapter, ...]:
    """Every chapter, computed; its formulas by year and name, the same one at every setting; ``bounds``: more, of one's own."""
    chapters = []
    for title, settings in CHAPTERS:
        certified = tuple(setting.certified() for setting in settings)
        rows = [published(s.subject, s.delta, c, bounds=bounds) for s, c in zip(settings, certified, strict=True)]
        columns = [{row.name: row for row in found} for found in rows]
        everywhere = [name for name in columns[0] if all(name in column for column in columns)]
        names = sorted(everywhere, key=lambda name, first=columns[0]: (first[name].year, name))  # type: ignore[misc]
        formulas = tuple(Formula(tuple(column[name] for column in columns)) for name in names)
        chapters.append(Chapter(title, settings, certified, formulas))
    return tuple(chapters)
