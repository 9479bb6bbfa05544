"""What one run shows of whole systems, sound ones and broken ones: the bounds, beside what is claimed.

    python -m benchmarks.one_run

A system is run twice, and its canaries' scores are learned from the first run. A sound one claims its certified epsilon; the
bounds are those of several seeds, of which a sound system's exceeds the claim once in twenty times at most.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

import ldpaudit as ldp
from benchmarks.experiment import show
from ldpaudit import Evidence
from ldpaudit.mechanisms import CountMeanSketch, Gaussian, KaryRandomizedResponse, TrieHeavyHitter

SEEDS = range(6)
WORDS = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)]
OTHERS = [word for word in ("sun", "sea", "sky") for _ in range(700)]
TRIE = TrieHeavyHitter(users=len(OTHERS), batch=300, threshold=6, levels=3)
SKETCH = ldp.Shuffle(CountMeanSketch.for_epsilon(2, width=64, hashes=8, domain=1024), users=512)
PAIRS = [(2 * i, 2 * i + 1) for i in range(512)]
SUM = ldp.Aggregate(KaryRandomizedResponse.for_epsilon(3, k=1024), users=512)
FOUR = ldp.Shuffle(KaryRandomizedResponse.for_epsilon(2, k=4), users=512)
NOISE = Gaussian(sigma=Fraction(4), change=(1,))
VECTORS = [tuple((v / np.linalg.norm(v)).tolist()) for v in np.random.default_rng(0).normal(size=(200, 2000))]
DELTA = 1e-4


def trie(users: list[str], rng: np.random.Generator, threshold: int = TRIE.threshold, first: bool = False) -> Any:
    """As many users as there are; or a server that samples those who registered first."""
    asked = users[: TRIE.batch] if first else users
    return replace(TRIE, users=len(asked), threshold=threshold).run(asked, rng)


def histogram(users: list[Any], rng: np.random.Generator, least: int = 25, noisy: bool = True) -> str:
    """A server's answer: counts with Laplace noise of scale 1 on those that somebody holds, if they are large."""
    counts = {word: n + (rng.laplace() if noisy else 0.0) for word, n in Counter(users).items()}
    return json.dumps({word: round(n, 2) for word, n in counts.items() if n >= least})


def counts(users: list[str], rng: np.random.Generator, scale: float = 1.0) -> dict[str, float]:
    """How many users hold each word, with Laplace noise."""
    held = Counter(users)
    return {word: held[word] + rng.laplace(scale=scale) for word in WORDS}


def vector_sum(sigma: float) -> Callable[[Any, np.random.Generator], Any]:
    """The sum of users' vectors with Gaussian noise."""
    return lambda users, rng: np.sum(users, axis=0) + rng.normal(0, sigma, len(VECTORS[0]))


class Exact:
    """What a plan estimates, without any noise."""

    def __init__(self, plan: Any) -> None:
        self.mechanism = plan.plan.mechanism

    def run(self, users: list[int]) -> Any:
        """What a server returns."""
        return self.mechanism.truth(np.array(users))


def in_order(plan: Any) -> Callable[[Any, np.random.Generator], Any]:
    """Reports that nobody shuffles."""
    return lambda users, rng: [plan.plan.mechanism.sample(x, 1, rng)[0].tolist() for x in users]


def told(output: Any, pairs: Any) -> list[float]:
    """Whether the user's report of a sketch has the bit of either value."""
    sketch: Any = SKETCH.plan
    bits = ((row[1 + sketch.mechanism.bucket(x, row[0])] for x in pair) for row, pair in zip(output, pairs, strict=True))
    return [first - second for first, second in bits]


@cache
def certified(plan: Any) -> float:
    """The epsilon of a plan at `DELTA`."""
    return ldp.account(plan).epsilon(DELTA).high


@dataclass(frozen=True)
class Case:
    """A system, what its users hold, and what is claimed: an epsilon, or what is certified of a plan."""

    name: str
    sound: bool
    system: Any
    canaries: Sequence[Any]
    claim: Any
    others: Sequence[Any] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def claimed(self) -> float:
        """The claimed epsilon at `DELTA`."""
        return float(self.claim) if isinstance(self.claim, int | float) else certified(self.claim)

    def audits(self, seeds: Sequence[int] = SEEDS) -> list[Evidence]:
        """One for each seed."""
        options = {"delta": DELTA, **self.options}
        return [ldp.audit_one_run(self.system, self.canaries, self.others, **options, seed=seed) for seed in seeds]


REPLACED: dict[str, Any] = {"neighbours": "replace-one"}
CASES = [
    Case("TrieHH", True, trie, WORDS, TRIE, OTHERS),
    Case("a shuffled sketch", True, SKETCH, PAIRS, SKETCH, (), REPLACED),
    Case("a sum of labels", True, SUM, PAIRS, SUM, (), REPLACED),
    Case("a sum of vectors", True, vector_sum(4), VECTORS, NOISE),
    Case("noisy counts", True, counts, WORDS, 1),
    Case("noisy counts, if they are large", True, histogram, WORDS, 1, OTHERS),
    Case("TrieHH with threshold 1", False, partial(trie, threshold=1), WORDS, 2, OTHERS[:300]),
    Case("TrieHH that samples the first", False, partial(trie, threshold=1, first=True), WORDS, TRIE, OTHERS),
    Case("a sketch without noise", False, Exact(SKETCH), PAIRS, SKETCH, (), REPLACED),
    Case("a sketch that is not shuffled", False, in_order(SKETCH), PAIRS, SKETCH, (), {**REPLACED, "scores": told}),
    Case("labels that are not shuffled", False, in_order(FOUR), [(0, 1)] * FOUR.users, FOUR, (), REPLACED),
    Case("a sum of labels without noise", False, Exact(SUM), PAIRS, 2, (), REPLACED),
    Case("a sum of vectors, an eighth of the noise", False, vector_sum(0.5), VECTORS, NOISE),
    Case("noisy counts, half of the noise", False, partial(counts, scale=0.5), WORDS, 1),
    Case("noisy counts, if anybody is there", False, partial(histogram, least=0), WORDS, 1, OTHERS),
    Case("counts without noise", False, partial(histogram, least=0, noisy=False), WORDS, 3),
]
COLUMNS = "{system:42} {claimed:7.3f} {least:7.3f} {median:7.3f} {largest:7.3f} {refuted:8} {right of guesses:>16}  {by}"


def row(case: Case) -> tuple[str | float, ...]:
    """A line of the table."""
    found, claimed = case.audits(), case.claimed
    bounds = sorted(each.epsilon_lower for each in found)
    middle = sorted(found, key=lambda each: each.epsilon_lower)[len(found) // 2]
    refuted = f"{sum(bound > claimed for bound in bounds)} of {len(bounds)}"
    told = f"{middle.right} of {middle.guesses}"
    measure = middle.event.partition(f" of {len(case.canaries)} canaries")[0]
    return case.name, claimed, bounds[0], float(np.median(bounds)), bounds[-1], refuted, told, measure


if __name__ == "__main__":
    show(COLUMNS, map(row, CASES))
