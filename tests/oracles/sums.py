"""Sums of reports by brute force: every data set, every outcome, in rationals."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from operator import add
from typing import Any

from ldpaudit.mechanisms.count_mean_sketch import HadamardCountMeanSketch
from tests.oracles.shuffle import divergence as divergence, law_of, whole

Outcomes = Mapping[tuple[int, ...], Fraction]
Pairs = Iterable[tuple[Outcomes, Outcomes]]


def summed(reports: Iterable[Outcomes]) -> Outcomes:
    """Law of the coordinatewise sum of independent vectors; in integers, of which `unit` are one."""
    total: dict[tuple[int, ...], int] = {(): 1}
    unit = 1
    for report in reports:
        weights, own = whole(report)
        total = law_of((tuple(map(add, a, b)) if a else b, p * q) for a, p in total.items() for b, q in weights.items())
        unit *= own
    return {a: Fraction(p, unit) for a, p in total.items()}


def outcomes(m: Any, value: Any) -> Outcomes:
    """Law of a report as the vector that is summed."""
    return law_of((as_summed(m, y), p) for y, p in m.law(value).items())  # two rows without a one are the same matrix


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


def neighbouring(m: Any, users: int, deletion: bool = False, noise: Outcomes | None = None) -> Iterator[tuple[Outcomes, Outcomes]]:
    """The sums of all neighbouring data sets of a mechanism whose views are vectors; with noise on the sum."""
    laws = {value: outcomes(m, value) for value in ([*m.inputs, None] if deletion else m.inputs)}
    for held in combinations_with_replacement(m.inputs, users - 1):
        others = summed([*(laws[value] for value in held), *([noise] if noise else [])])
        sums = {value: summed([others, law]) for value, law in laws.items()}
        yield from ((sums[a], sums[b]) for a, b in permutations(laws, 2) if not deletion or None in (a, b))


def worst(m: Any, users: int, x: Fraction, deletion: bool = False, noise: Outcomes | None = None) -> Fraction:
    """The largest divergence over all data sets."""
    return max(divergence(*pair, x) for pair in neighbouring(m, users, deletion, noise))


def together(first: Outcomes, second: Outcomes) -> Outcomes:
    """Law of two independent views."""
    return {(*a, *b): p * q for a, p in first.items() for b, q in second.items()}


def worst_of_both(first: Pairs, second: Pairs, x: Fraction) -> Fraction:
    """The largest divergence of two sums together, each of neighbouring data sets of its own."""
    return max(divergence(together(a, c), together(b, d), x) for (a, b), (c, d) in product(first, second))
