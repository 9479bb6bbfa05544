"""Samples against laws, and numbers against enclosures: what tests of many mechanisms ask."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.core.partitions import Counts
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.shared.in_parts import driven, total

LEVEL = 1e-9
"""At which a sampler that has its law fails once in a thousand million runs; the seeds are fixed anyway."""
SEEDED_LEVEL = 1e-6
"""Of tests on samples with fixed seeds."""


def matches(seen: Counter[Any], law: Mapping[Any, Fraction | float]) -> bool:
    """Chi-square of a sample against its law, of which rare outcomes may be left out; they count as one."""
    size = seen.total()
    means = {y: float(p) * size for y, p in law.items() if p * size >= 10}
    observed, expected = [seen[y] for y in means], list(means.values())
    rest = size - sum(observed), max(size - sum(expected), 1.0)
    statistic = sum((o - e) ** 2 / e for o, e in [*zip(observed, expected, strict=True), rest])
    return bool(stats.chi2.sf(statistic, len(means)) > LEVEL)


def fits(seen: Counter[Any], law: Mapping[Any, Fraction | float]) -> bool:
    """The same of a whole law: what it excludes is never seen."""
    return set(seen) <= {y for y, p in law.items() if p} and matches(seen, law)


def table(law: Masses) -> dict[int, float]:
    return dict(enumerate(law.values.tolist(), law.first))


def same_law(first: Sequence[Any], second: Sequence[Any], level: float = 1e-6) -> bool:
    """Chi-square on the most frequent outcomes of two samples, each outcome cut to four numbers."""
    counts = [Counter(tuple(np.ravel(x)[:4].tolist()) for x in sample) for sample in (first, second)]
    common = [x for x, n in (counts[0] + counts[1]).items() if n >= 20]
    numbers = [[c[x] for x in common] + [c.total() - sum(c[x] for x in common)] for c in counts]
    return bool(stats.chi2_contingency(np.array(numbers) + 0.5).pvalue > level)


def meet(one: Enclosure, other: Enclosure) -> bool:
    """Whether two enclosures of one number have a common point."""
    return one.low <= other.high and other.low <= one.high


def same_number(one: Enclosure, other: Enclosure) -> bool:
    """Whether two enclosures are equal but for their source."""
    return (one.low, one.high, one.rigour) == (other.low, other.high, other.rigour)


def around(found: Enclosure, truth: float | Fraction, slack: float | Fraction = 1e-12) -> bool:
    """Whether an enclosure holds a number, which is itself known to a relative slack."""
    return found.low * (1 - slack) <= truth <= found.high * (1 + slack)


def near(found: Enclosure, truth: float | Fraction, slack: float | Fraction) -> bool:
    """The same, known to an absolute slack."""
    return found.low <= truth + slack and truth <= found.high + slack


def answered(m: Any, parts: Sequence[Counts], rng: np.random.Generator, questions: Sequence[Any]) -> Any:
    """What all parts answer together, each to its question, where all draw from one generator."""
    return total(m.answer(q, part, rng) for q, part in zip(questions, parts, strict=True) if q is not None)


def once(m: Any, parts: Sequence[Counts], rng: np.random.Generator, *passes: int) -> Any:
    """A run over parts in which all draw from one generator."""
    return driven(m.centre([part.users for part in parts], rng, *passes), lambda questions: answered(m, parts, rng, questions))
