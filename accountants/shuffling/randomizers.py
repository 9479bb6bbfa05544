r"""From the laws of one report to the bound of the shuffled plan.

From above, the *blanket*: the density :math:`b(y) = \min_x R(x)(y)` is part of every input's law. From below, explicit
data sets: all others hold one value, x1, x2 or a third one, and then b is that value's law. `blanket` says the rest.
The first neighbour's user 1 holds x1, the second one's x2. Few users are given more data sets: `few_users`.

For several mechanisms all laws are :math:`R(x)(y) = \mathrm{base}(y)\, r(\text{how } y \text{ matches } x)`, so that what
counts is only the law, under base, of how y matches x1, x2 and a third value; the domain may be huge: `MatchedLaws`. Any
other finite law is tabulated: `of_law`.

The blanket is never worse than the clones: :math:`e^{-\varepsilon_0} (R(x_1) + R(x_2))/2 \le b`, and of two
blankets one of which is part of the other, the larger one gives the smaller bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import Any, TypeAlias

from ldpaudit.accountants.pld.all_pairs import CodedLaws
from ldpaudit.accountants.pld.finite import log_fraction
from ldpaudit.accountants.pld.own_law import table
from ldpaudit.accountants.shuffling.binary_bound import BinaryBound
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import FINE, ROUGHLY, AnyReportBound, BlanketBound, Bound, OthersAlike
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.accountants.shuffling.few_users import FewUsers, Reports
from ldpaudit.accountants.shuffling.replaced import of_rows, replacement
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism

Pattern: TypeAlias = tuple[int, ...]
"""How a view matches x1, x2 and, where it is known, the third value."""
Laws: TypeAlias = Mapping[Any, Mapping[Any, Fraction]]
"""For each input, the probability of each view; the same views for all."""

_MOST_CELLS = 1 << 17  # views times inputs up to which a law is tabulated; some seconds
_MOST_PAIRS = 12
"""Pairs of inputs, up to symmetry, up to which all of them are evaluated: 4 ms each at four kinds of views, 0.1 s at thirty."""
_MOST_KINDS = 1 << 10  # pairs of inputs, up to the names of their views, whose blankets are made; some of these are one
_MOST_TYPED = 7  # inputs up to which all types are listed beside their floats, for other plans to use: three hundred of them
_MOST_DIFFERENCES = 1 << 21
"""Views times pairs of inputs whose differences are held: 128 inputs on as many views take about a second."""
_MOST_SETS, _MANY = 8, 10**4
"""Data sets that are compared where not all are, and users from which on they are those of the largest chi-squared divergence."""
_ALL = 3  # inputs up to which `_choices` leaves out no data set
_MOST_LISTED = 8  # inputs up to which all choices of three are considered for few users: 336 choices, listed in less than a second


@dataclass(frozen=True, slots=True)
class MatchedLaws:
    """Laws ``base(y) * ratio[how y matches x]``, alike for every pair of inputs."""

    # x1, x2 and, where the law of three matches is known and there are three inputs, a third value
    inputs: tuple[Any, ...]
    patterns: Mapping[Pattern, Fraction]  # law under base of how y matches those inputs
    ratio: Mapping[int, Fraction]  # by match
    complete: bool  # whether there are no more inputs
    # patterns of other choices of inputs: with `patterns` those of any two of user 1's and another user's, or mixtures of theirs;
    # None where these are not known
    choices: tuple[Mapping[Pattern, Fraction], ...] | None = None
    # of user 1's two inputs; by default of the least ratio, or of the pattern's least where there are no more inputs
    blanket: Blanket | None = None

    @classmethod
    def of(
        cls,
        inputs: Sequence[Any],
        patterns: Mapping[Pattern, Fraction],
        ratio: Mapping[int, Fraction],
        choices: Iterable[Mapping[Pattern, Fraction]] | None = None,
    ) -> MatchedLaws:
        """Of the first inputs of a sequence, as many as the patterns match."""
        size = len(next(iter(patterns)))
        first = tuple(inputs[: size + 1])  # a range may have more than `len` can say
        complete = len(first) == size
        return cls(first[:size], patterns, ratio, complete, tuple(choices) if choices is not None else None)

    def bound(self, users: int) -> BlanketBound:
        """What bounds the shuffled plan, in exact rationals."""
        least = min(self.ratio.values())
        below = {y: min(self.ratio[match] for match in y) if self.complete else least for y in self.patterns}
        blanket = self.blanket or self._alike(below)
        alike = tuple(
            OthersAlike(self._alike({y: self.ratio[y[i]] for y in self.patterns}), self.inputs[:2], other)
            for i, other in enumerate(self.inputs)
        )
        columns = [[w * self.ratio[match] for match in y] for y, w in self.patterns.items()]
        few = FewUsers.of([Reports.of(self.inputs, columns)], users, self.complete and self._exchangeable)
        replaced = None if self.choices is None else replacement(self._types(self.choices), 1 - blanket.silence)
        return BlanketBound((blanket,), alike, users, few, replaced=replaced)

    def _types(self, choices: Iterable[Mapping[Pattern, Fraction]]) -> Iterator[Blanket]:
        """User 1's two values in both orders, among others who hold either, or a third one."""
        for patterns in (self.patterns, *choices):
            for first, second, *third in permutations(range(len(next(iter(patterns))))):
                for other in (first, second, *third):
                    yield self._of(patterns, {y: self.ratio[y[other]] for y in patterns}, first, second)

    @property
    def _exchangeable(self) -> bool:
        """Whether the inputs may be exchanged, so that one choice of user 1's two values stands for all."""
        orders = list(permutations(range(len(self.inputs))))
        return all(self.patterns.get(tuple(y[i] for i in order), 0) == w for y, w in self.patterns.items() for order in orders)

    def _alike(self, others: Mapping[Pattern, Fraction]) -> Blanket:
        return self._of(self.patterns, others, 0, 1)

    def _of(self, patterns: Mapping[Pattern, Fraction], others: Mapping[Pattern, Fraction], i: int, j: int) -> Blanket:
        r = self.ratio
        return Blanket.of((w * r[y[i]], w * r[y[j]], w * others[y]) for y, w in patterns.items())


def independent(bit: Sequence[Fraction], size: int) -> dict[Pattern, Fraction]:
    """Patterns of independent matches, each with these probabilities of 0 and of 1."""
    return {y: bit[0] ** (size - sum(y)) * bit[1] ** sum(y) for y in product((0, 1), repeat=size)}


def of_mechanism(m: Mechanism, users: int) -> Bound | None:
    """What the finite law of a mechanism allows; None where it cannot be tabulated."""
    laws = tabulated(m)
    return None if laws is None else of_law(laws, users)


def tabulated(m: Mechanism, most: int = _MOST_CELLS) -> Laws | None:
    """The laws of all inputs; None where they are not known, or have more cells, inputs times views."""
    xs = m.inputs
    # Where others are taken, a sequence may only name the inputs that are hardest to hide.
    names_all = isinstance(xs, range) or type(m).require_input is Mechanism.require_input
    size = xs.stop - xs.start if isinstance(xs, range) else len(xs)  # `len` cannot say all of a range
    if not names_all or not 1 < size <= most:
        return None
    try:
        few = m.law(m.inputs[0]).size * len(m.inputs) <= most
        return table(m, m.inputs) if few else None
    except Unsupported:
        return None


def of_law(laws: Laws, users: int) -> Bound | None:
    """What all laws of a finite domain allow; None where there are too many of them.

    Two laws that are each other's mirror image are binary randomized response. Else replacement looks at every triple of
    inputs, and every pair has its blanket; where the kinds of pairs are too many the clones serve. From below, of the data
    sets on which all others hold one value, all are compared, or those that hide least. Other inputs' laws may be mixtures of
    these.
    """
    laws = _different(laws)
    return _binary(laws, users) or listed(laws, users)


def listed(laws: Laws, users: int, pair: tuple[Any, Any] | None = None) -> BlanketBound | None:
    """As `of_law`, of different laws; with the blanket of this pair of inputs alone, where it is known to be the worst."""
    if len(laws) < 2:
        return None  # all inputs have one law
    rows = [list(law.values()) for law in laws.values()]
    below = [min(column) for column in zip(*rows, strict=True)]
    # A law has few different probabilities: views are sorted by small numbers, and added up as rationals once.
    number = {p: i for i, p in enumerate(dict.fromkeys(p for law in laws.values() for p in law.values()))}
    chances, coded = list(number), {x: [number[p] for p in law.values()] for x, law in laws.items()}

    def blanket(pair: tuple[Any, Any], others: Iterable[Fraction]) -> Blanket:
        alike = Counter(zip(coded[pair[0]], coded[pair[1]], map(number.__getitem__, others), strict=True))
        return Blanket.of((c * chances[i], c * chances[j], c * chances[k]) for (i, j, k), c in alike.items())

    names = list(laws)
    kinds = None if pair else CodedLaws.of(rows, below).few_kinds(_MOST_KINDS)  # none where there are too many of them
    ordered = [pair] if pair else [] if kinds is None else [(names[i], names[j]) for i, j in kinds.tolist()]
    pairs: dict[Blanket, tuple[Any, Any]] = {}
    for each in ordered:
        pairs.setdefault(blanket(each, below), each)
        if len(pairs) > _MOST_PAIRS:
            pairs = {}
            break
    triples = list(product(permutations(names, 2), names)) if len(names) <= _MOST_TYPED else []
    types = [blanket(each, laws[x].values()) for each, x in triples]
    replaced = of_rows(rows, types) if len(names) ** 2 * len(below) <= _MOST_DIFFERENCES else None
    if replaced is not None and replaced.pairs is not None and (pair or not pairs or users >= _MANY):
        places = list(permutations(names, 2))
        triples = [(places[i], names[j]) for i, j in replaced.pairs.widest(_MOST_SETS)]
    elif pairs and not (triples and pair is None):  # what others hold tells pairs of one blanket apart
        triples = [(order, x) for each in pairs.values() for order in (each, each[::-1]) for x in names]
    elif not pairs:
        return None
    alike: dict[Blanket, OthersAlike] = {}
    for each, x in triples:
        found = blanket(each, laws[x].values())
        alike.setdefault(found, OthersAlike(found, each, x))
    few = FewUsers.of(_choices(laws), users, len(laws) <= _ALL) if len(laws) <= _MOST_LISTED else None
    clones = None
    if not pairs:
        largest = max(max(column) / least for column, least in zip(zip(*rows, strict=True), below, strict=True) if least)
        clones = AnyReportBound(Clones(Fraction(log_fraction(largest, "").high)), users)
    finest = ROUGHLY if clones else FINE
    return BlanketBound(tuple(pairs), tuple(alike.values()), users, few, finest, replaced=replaced, otherwise=clones)


def _choices(laws: Laws) -> Iterator[Reports]:
    """User 1's two values, and a third one where there is one."""
    for values in permutations(laws, min(len(laws), 3)):
        yield Reports.of(values, ([laws[x][y] for x in values] for y in laws[values[0]]))


def _different(laws: Laws) -> Laws:
    """One input of each law."""
    found: dict[tuple[Fraction, ...], Any] = {}
    for x, law in laws.items():
        found.setdefault(tuple(law.values()), x)
    return {x: laws[x] for x in found.values()}


def _binary(laws: Laws, users: int) -> BinaryBound | None:
    """Where there are but two laws, on two views, and one is the other's mirror image."""
    if len(laws) != 2:
        return None
    (first, law), (second, other) = laws.items()
    shown = [y for y in law if law[y] or other[y]]
    if len(shown) != 2 or (law[shown[0]], law[shown[1]]) != (other[shown[1]], other[shown[0]]):
        return None
    if not 0 < law[shown[0]] < 1:
        return None  # the views name the input
    view, rare = shown
    if law[view] < law[rare]:
        first, second = second, first
    return BinaryBound(max(law[view], law[rare]), users, (first, second), str(view))
