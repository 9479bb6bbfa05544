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


def _report(epsilon: Fraction | int, k: int = 2) -> KaryRandomizedResponse:
    return KaryRandomizedResponse.for_epsilon(epsilon, k)


def _sketch(users: int, rows: int, gamma: Fraction, held: int = 1) -> Plan:
    return Run(ShuffledCountMin(users, domain=64, rows=rows, buckets=1000, gamma=gamma, held=held))


def _coins(users: int, coin: Fraction, threshold: int) -> PrivacyProfile:
    return ThresholdProfile(PoissonBatch(users, coin), threshold)


_COMPOSITION = (
    Setting("100 binary reports of epsilon 1/2", Repeat(_report(_F(1, 2)), 100)),
    Setting("10,000 binary reports of epsilon 1/2000", Repeat(_report(_F(1, 2000)), 10**4)),
    Setting("10 parts of epsilon 2 and delta 1e-9", Repeat(Guarantee(_F(2), _F(1, 10**9)), 10)),
)
_SHUFFLING = (
    Setting("10,000 three-ary reports of epsilon 1/2", Shuffle(_report(_F(1, 2), 3), 10**4)),
    Setting("10,000,000 three-ary reports of epsilon 1/2", Shuffle(_report(_F(1, 2), 3), 10**7)),
    Setting("1,000 three-ary reports of epsilon 4", Shuffle(_report(4, 3), 1000)),
)
_SHUFFLES = (
    Setting("10 shuffles of 100,000 binary reports of epsilon 1/2", Repeat(Shuffle(_report(_F(1, 2)), 10**5), 10)),
    Setting("100 shuffles of 10,000,000 binary reports of epsilon 1/2", Repeat(Shuffle(_report(_F(1, 2)), 10**7), 100)),
    Setting("4 shuffles of 10 three-ary reports of epsilon 1", Repeat(Shuffle(_report(1, 3), 10), 4)),
)
_SUBSAMPLING = (
    Setting("1,000 of 100,000 users, who shuffle binary reports of epsilon 1",
            Subsample(Shuffle(_report(1), 1000), 10**5, 1000)),
    Setting("10,000 of 10,000,000 users, who shuffle binary reports of epsilon 1",
            Subsample(Shuffle(_report(1), 10**4), 10**7, 10**4), _F(1, 10**8)),
    Setting("one of 100 users, who sends a binary report of epsilon 3", Subsample(_report(3), 100, 1), _F(1, 20)),
)  # fmt: skip
_SAMPLES = (
    Setting("100 times one of 100 users, who sends a binary report of epsilon 1", Repeat(Subsample(_report(1), 100, 1), 100)),
    Setting("10,000 times one of 1000 users, who sends a binary report of epsilon 1/10",
            Repeat(Subsample(_report(_F(1, 10)), 1000, 1), 10**4)),
    Setting("10 times one of 10 users, who sends a binary report of epsilon 3", Repeat(Subsample(_report(3), 10, 1), 10)),
)  # fmt: skip
_TRIE = (
    Setting("1,000,000 users, batch 1,000, threshold 12, one level",
            Run(TrieHeavyHitter(10**6, 1000, 12, levels=1)), corollary_1_delta(10**6)),
    Setting("100,000,000 users, batch 10,000, threshold 14, four levels",
            Run(TrieHeavyHitter(10**8, 10**4, 14, levels=4)), corollary_1_delta(10**8)),
    Setting("10,000 users, batch 100, threshold 20, one level",
            Run(TrieHeavyHitter(10**4, 100, 20, levels=1)), triehh_delta(20)),
)  # fmt: skip
_COINS = (
    Setting("1,000,000 users, a coin of 1/100, threshold 20", _coins(10**6, _F(1, 100), 20)),
    Setting("1,000,000,000 users, a coin of 1/1000, threshold 20", _coins(10**9, _F(1, 1000), 20)),
    Setting("1,000,000 users, a coin of 1/10, threshold 5", _coins(10**6, _F(1, 10), 5)),
)
_SKETCH = (
    Setting("100,000 users, 4 rows, blanket 1/10", _sketch(10**5, 4, _F(1, 10))),
    Setting("10,000,000 users, 10 rows, blanket 1/10", _sketch(10**7, 10, _F(1, 10))),
    Setting("10,000 users who hold two values, 4 rows, blanket 1/100", _sketch(10**4, 4, _F(1, 100), 2)),
)
_COUNT = (
    Setting("2,000 fair coins, sensitivity 1", ShiftProfile(2000, _F(1, 2))),
    Setting("1,000,000 fair coins, sensitivity 1", ShiftProfile(10**6, _F(1, 2))),
    Setting("400,000,000 fair coins, sensitivity 20,000", ShiftProfile(4 * 10**8, _F(1, 2), 20_000)),
)

CHAPTERS = (
    ("Composition", _COMPOSITION),
    ("Shuffling", _SHUFFLING),
    ("Rounds of shuffles", _SHUFFLES),
    ("Subsampling without replacement, one user replaced", _SUBSAMPLING),
    ("Rounds of samples, one user replaced", _SAMPLES),
    ("Sampling a batch, and a threshold (TrieHH)", _TRIE),
    ("Sampling by coins, and a threshold", _COINS),
    ("Shuffled count-min, one set replaced", _SKETCH),
    ("One count with binomial noise", _COUNT),
)
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
