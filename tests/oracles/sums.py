"""Sums of reports by brute force: every data set, every outcome, in rationals."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import Any

from ldpaudit.mechanisms.count_mean_sketch import HadamardCountMeanSketch
from tests.oracles.shuffle import divergence as divergence

Outcomes = Mapping[tuple[int, ...], Fraction]


def summed(reports: Iterable[Outcomes]) -> Outcomes:
    """Law of the coordinatewise sum of independent vectors."""
    total: Outcomes = {(): Fraction(1)}
    for report in reports:
        found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for a, p in total.items():
            for b, q in report.items():
                found[tuple(x + y for x, y in zip(a or (0,) * len(b), b, strict=True))] += p * q
        total = found
    return total


def outcomes(m: Any, value: Any) -> Outcomes:
    """Law of a report as the vector that is summed."""
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for y, p in m.law(value).items():
        found[as_summed(m, y)] += p  # two rows without a one are the same matrix
    return found


def as_summed(m: Any, view: Any) -> tuple[int, ...]:
    """A view as the vector that is summed."""
    if m.summed == "one-hot":
        return tuple(int(view == label) for label in m.inputs)
    if m.summed == "matrix":
        j, *row = map(int, view)
        if isinstance(m, HadamardCountMeanSketch):
            row = [row[1] * (place == row[0]) for place in range(m.width)]
        return (*(0,) * (j * m.width), *row, *(0,) * ((m.hashes - 1 - j) * m.width))
    return tuple(map(int, view)) if isinstance(view, tuple) else (view,)


def worst(m: Any, users: int, x: Fraction, deletion: bool = False, noise: Outcomes | None = None) -> Fraction:
    """The largest divergence over all data sets of a mechanism whose views are vectors; with noise on the sum."""
    laws = {value: outcomes(m, value) for value in ([*m.inputs, None] if deletion else m.inputs)}
    pairs = [pair for pair in permutations(laws, 2) if not deletion or None in pair]
    return max(
        divergence(summed([laws[a], others]), summed([laws[b], others]), x)
        for held in combinations_with_replacement(m.inputs, users - 1)
        for others in [
            summed(
                [*(laws[value] for value in held), noise or {(0,) * len(next(iter(laws[m.inputs[0]]))): Fraction(1)}]
            )
        ]
        for a, b in pairs
    )
