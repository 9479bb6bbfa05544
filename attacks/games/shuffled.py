r"""Two data sets against each other through a shuffler: user 1 holds either of two values, all other users hold the same.

What is seen is the multiset of all n reports. Where all others hold one value o, user 1's report is each of the n with
equal chances, so that the likelihood ratio of the multiset is

.. math:: \frac{\sum_i R_1(y_i)/R_o(y_i)}{\sum_i R_2(y_i)/R_o(y_i)}

Where they hold several values, o is their average law, and the ratio is about this one: a score, and nothing that is
believed before it is measured. The bound rests on fresh samples alone, whatever the score.

Where the law of a report can be tabulated, only the counts of its kinds are drawn, as multinomials: a million users cost
what their counts cost. Else, and of code that is not ours, all n reports of every view are drawn.

A report that names its user is not mixed with others: of each view the one that names user 1 is looked at, as if it were alone,
and no other one is drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters import callables
from ldpaudit.attacks.games import plans, two_inputs
from ldpaudit.attacks.games.foreign import Foreign
from ldpaudit.attacks.games.game import CHUNK_BYTES, Target, one_by_one
from ldpaudit.attacks.games.plans import Implementation
from ldpaudit.attacks.games.stems import attack_on, part_on
from ldpaudit.errors import ImplementationError, Unsupported, shown
from ldpaudit.mechanism import ENUMERABLE, Mechanism, plain
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Run, Shuffle, names_users
from ldpaudit.profile import DataSet, Witness

REPORTS, REPORTS_ONE_BY_ONE = 2 * 10**7, 2 * 10**6
"""Reports that an audit draws at most, where each of them is drawn, and where code makes one report per call. A million took
0.1 s from k-ary response, 1.5 s from RAPPOR with 32 bits and 8 s from unary encoding with 100."""
EVENT = "{the multiset of all reports, by its likelihood ratio}"
_NEVER = 1e-200
"""In place of the probability of a report that the others never make: it is user 1's own, and decides the ratio alone."""

Floats = NDArray[np.float64]


def views_within(plan: Shuffle, implementation: Implementation, trials: int) -> int:
    """As many of the views as can be drawn where every report is drawn; all of them where only counts are.

    Raises Unsupported where a view has too many reports to draw 16 views.
    """
    if names_users(plan):
        return plans.views_within(plan.plan, trials)
    if implementation is None and _tabulated(plan) is not None:
        return trials
    slow = implementation is not None and not isinstance(implementation, Mechanism) and callables.one_by_one(implementation)
    runs = plans.runs(plan.plan)
    trials, size = plans.views_within(plan.plan, trials), plan.users * runs
    # Runs are drawn one after the other, so that calls are many and short.
    reports = (REPORTS_ONE_BY_ONE if slow or runs > 1 else REPORTS) // size
    most = min(reports, plans.NUMBERS // (plan.users * plans.numbers(plan.plan)))
    if most < plans.LEAST_VIEWS:
        raise Unsupported(plan, f"a view is {size} reports, and even 16 views are too many to draw")
    return min(trials, most)


def games(
    plan: Shuffle, neighbours: Neighbours | None, implementation: Implementation, delta: float, witness: Witness | None
) -> tuple[Target, ...]:
    """The witness's two data sets, where it is given and can be played; else data sets on the values of the local attack.

    Of reports that name their users there is one game, whatever witness is given: others' values change nothing.

    Raises Unsupported for another relation than replace-one, and for a plan whose single report has no attack.
    """
    if neighbours not in (None, REPLACE_ONE):
        raise Unsupported(plan, f"shuffling a known number of users needs replace-one neighbours, not {neighbours}")
    if names_users(plan):
        local = plans.target(plan.plan, neighbours, implementation, delta)
        # User 1's report is the one with user 1's name; all others hold the local attack's second value.
        first, second = (_data_set(x, local.pair[1], plan.users - 1) for x in local.pair)
        event = f"{{the report that names user 1, among all}}, looked at for {local.event}"
        return (replace(local, pair=(first, second), event=event, calibrated=True),)
    m = _tabulated(plan)
    if m is None:
        local = plans.target(plan.plan, neighbours, implementation, delta)
        return tuple(_of_scores(local, plan.users, side) for side in (1, 0))
    tried = [witness] if witness is not None else _own(plan, m, delta)
    return tuple(_of_counts(m, each, implementation) for each in tried)


def _tabulated(plan: Shuffle) -> Mechanism | None:
    """The mechanism, where the law of what its reports tell of three values can be tabulated."""
    if not isinstance(plan.plan, Run):
        return None
    m = plan.plan.mechanism
    try:
        seen = part_on(m, m.inputs[:3])
        return m if seen.mechanism.law(seen.inputs[m.inputs[0]]).size <= ENUMERABLE else None
    except Unsupported:
        return None


def _own(plan: Shuffle, m: Mechanism, delta: float) -> list[Witness]:
    """User 1 holds the values of the local attack; all others hold the second of these, the first, or a third one."""
    first, second = attack_on(m, REPLACE_ONE, delta).pair
    third = [x for x in m.inputs[:3] if x not in (first, second)][:1]
    pairs = ((_data_set(first, x, plan.users - 1), _data_set(second, x, plan.users - 1)) for x in (second, first, *third))
    return [Witness(plan, pair, EVENT) for pair in pairs]


def _data_set(own: Any, other: Any, others: int) -> DataSet:
    return DataSet.of({own: others + 1} if own == other else {own: 1, other: others})


def _of_scores(local: Target, users: int, side: int) -> Target:
    """All others hold the local attack's first or second value; reports are known by their local scores."""
    sign = 1.0 if side else -1.0

    def score(own: Floats, others: Floats) -> Floats:
        """Of user 1's score in each view, and the sum of the others' exponentials."""
        with np.errstate(over="ignore", divide="ignore"):
            # Rounded, so that sums of equal terms in another order compare equal.
            return np.round(sign * np.log((np.exp(sign * own) + others) / users), 9)

    def draw(user: int, size: int, rng: np.random.Generator) -> Floats:
        own, others, most = local.draw(user, size, rng), np.zeros(size), max(1, CHUNK_BYTES // max(local.view_bytes, 1))
        with np.errstate(over="ignore"):
            for view in range(size):
                for start in range(0, users - 1, most):
                    others[view] += float(np.exp(sign * local.draw(side, min(most, users - 1 - start), rng)).sum())
        return score(own, others)

    def view(user: int) -> Floats:
        made = local.mixed(np.array([user, *[side] * (users - 1)]))  # type: ignore[misc]
        with np.errstate(over="ignore"):
            total = sum(float(np.exp(sign * part).sum()) for part in made)
        return score(np.array([-sign * np.inf]), np.array([total]))

    pair = tuple(_data_set(x, local.pair[side], users - 1) for x in local.pair)
    event = f"{EVENT}, each report looked at for {local.event}"
    mixed = None if local.mixed is None else partial(one_by_one, score=view)
    return Target((pair[0], pair[1]), event, draw, calibrated=True, mixed=mixed, odd=local.odd)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Reports that are alike: their likelihoods under all values of the two data sets are proportional."""

    laws: Mapping[Any, Floats]  # for each value, the probability of each kind
    # report, or the part of it that tells the values apart, to kind, of all that the law has on one of the values
    kind_of: Mapping[Any, int]
    part_of: Callable[[Any], Any]  # reports to those parts

    @classmethod
    def of(cls, m: Mechanism, values: list[Any]) -> Kinds:
        """Of a mechanism's law; exact until probabilities become floats."""
        seen = part_on(m, values)
        tables = [dict(seen.mechanism.law(seen.inputs[x]).items()) for x in values]
        merged: dict[tuple[Fraction, ...], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * len(values))
        keys = {}
        for y in tables[0]:
            column = [table[y] for table in tables]
            if total := sum(column):
                keys[y] = key = tuple(p / total for p in column)
                merged[key] = [a + b for a, b in zip(merged[key], column, strict=True)]
        places = {key: place for place, key in enumerate(merged)}
        laws = {x: np.array([float(p[i]) for p in merged.values()]) for i, x in enumerate(values)}
        return cls(laws, {y: places[key] for y, key in keys.items()}, seen.of)

    @property
    def number(self) -> int:
        """How many there are."""
        return len(next(iter(self.laws.values())))

    def count(self, reports: Any, x: Any) -> NDArray[np.int64]:
        """Kinds of reports, one after the other.

        Raises ImplementationError where one of these is a report that the declared mechanism makes of none of the
        values.
        """
        parts = self.part_of(reports)
        if isinstance(parts, np.ndarray) and parts.dtype != object:
            parts, places = np.unique(parts, axis=0, return_inverse=True)
        else:
            places = np.arange(len(parts))
        told = [plain(y) for y in parts]
        if unknown := [y for y in told if y not in self.kind_of]:
            wanted = f"needs reports that the declared law has on {' or '.join(map(str, self.laws))}"
            raise ImplementationError(f"{wanted}, got {shown(unknown[0], 80)}", x)
        return np.array([self.kind_of[y] for y in told], dtype=np.int64)[places.ravel()]


def _of_counts(m: Mechanism, witness: Witness, implementation: Implementation) -> Target:
    """Counts of each kind of report."""
    others, users = dict(witness.others.counts), witness.others.users + 1
    values = list(dict.fromkeys([*witness.values, *others]))
    kinds = Kinds.of(m, values)
    average = np.sum([count / (users - 1) * kinds.laws[x] for x, count in others.items()], axis=0)
    first, second = (kinds.laws[x] / np.maximum(average, _NEVER) for x in witness.values)

    def score(counts: NDArray[np.int64]) -> Floats:
        seen = counts.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss: Floats = np.log(seen @ first) - np.log(seen @ second)
        if implementation is not None and np.isnan(loss).any():
            raise ImplementationError(f"needs a report that the declared law has on {' or '.join(map(str, witness.values))}")
        # Rounded, so that sums of equal terms in another order compare equal; nan where user 1's report is of neither value.
        return np.nan_to_num(np.round(loss, 9), nan=0.0, posinf=np.inf, neginf=-np.inf)

    data = [dict(each.counts) for each in witness.pair]
    exact = len(others) == 1
    # Code may be wrong in another way than the witness's event shows.
    epsilon = witness.epsilon if exact and implementation is None else None
    chosen = None
    if epsilon is not None:
        # The mirror image of the witness's event, too, where that has the same probabilities for the data sets exchanged.
        laws, exchanged = (sorted(zip(average, p, q, strict=True)) for p, q in ((first, second), (second, first)))
        chosen = two_inputs.ThresholdRule(float(epsilon), -float(epsilon) if laws == exchanged else -np.inf)
    target = Target(witness.pair, witness.event, lambda *_: np.empty(0), calibrated=exact, chosen=chosen)
    if implementation is None:
        return replace(target, draw=lambda side, size, rng: score(_multinomial(kinds, data[side], size, rng)),
                       view_bytes=32 * (kinds.number + 1))  # fmt: skip
    bytes_of_view = users * plans.memory(m.sample(values[0], 1, np.random.default_rng(0)))
    code = Foreign(m, implementation, values)
    if code.one_by_one:

        def view(side: int) -> Floats:
            """One user after the other."""
            values = list(data[side])
            order = [place for place, x in enumerate(values) for _ in range(data[side][x])]
            made = zip(code.in_order(values, order), values, strict=True)
            return score(np.asarray(sum(_tally(kinds.count(part, x)[None], kinds.number) for part, x in made)))

        return replace(target, mixed=partial(one_by_one, score=view))

    def draw(side: int, size: int, rng: np.random.Generator) -> Floats:
        counts = np.zeros((size, kinds.number), dtype=np.int64)
        for x, number in data[side].items() if size else ():
            made = kinds.count(code.sample(x, size * number, rng), x).reshape(size, number)
            counts += _tally(made, kinds.number)
        return score(counts)

    return replace(target, draw=draw, view_bytes=bytes_of_view)


def _multinomial(kinds: Kinds, data: Mapping[Any, int], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    counts = np.zeros((size, kinds.number), dtype=np.int64)
    for x, number in data.items():
        counts += rng.multinomial(number, kinds.laws[x] / kinds.laws[x].sum(), size)
    return counts


def _tally(made: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Row by row, how often each kind occurs."""
    rows = np.arange(len(made))[:, None] * number
    return np.bincount((made + rows).ravel(), minlength=len(made) * number).reshape(len(made), number)
