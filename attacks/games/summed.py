r"""Two data sets against each other through a sum: user 1 holds either of two values, all other users hold the same.

What is seen is the coordinatewise sum of all n reports. Where reports are rows of independent bits, the coordinates of the sum are
independent, too. Those in which user 1's two values have the same law have the same law in both data sets: whatever else is seen,
their likelihood ratio is 1. So only the others are drawn, and the likelihood ratio of the sum is the product of theirs. With
:math:`Z` for what the others add to a coordinate, and p and q for the probabilities that user 1 adds 1, it is at a

.. math:: \frac{p\,P[Z = a - 1] + (1 - p)\,P[Z = a]}{q\,P[Z = a - 1] + (1 - q)\,P[Z = a]}

The others hold at most two kinds of bits there, so that Z is a binomial or the sum of two, and the noise of aggregators: a million
users cost what two numbers cost. With log-concave noise the ratio grows with a where p > q: an event {the ratio is at least some
value} of two coordinates is a staircase.

Numbers are one coordinate: of geometric or Laplace noise the sum of all users' noises is drawn at once, of truncated integers how
many users report each.

Where one sum comes from one multiset only, such as of one-hot vectors, and there is no noise, the game is that of the shuffled
plan. One-hot vectors with noise, subsets, and bits of which rows with many ones are left out, are scored as if their coordinates
were independent: that score is believed only as far as it is measured. Of code that is not ours, all n reports of every view are
drawn and added. Bits that share coins show only beside other bits: there is a game for them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Floats, Summand, Summands
from ldpaudit.attacks.games import plans, shuffled
from ldpaudit.attacks.games.coordinates import Coordinate, Likelihoods, Numbers
from ldpaudit.attacks.games.foreign import Foreign
from ldpaudit.attacks.games.game import Target, one_by_one
from ldpaudit.attacks.games.plans import Implementation
from ldpaudit.attacks.games.stems import attack_on, summands_on
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, is_ours
from ldpaudit.mechanisms.shared.sums import summed, tells_the_multiset
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Aggregate, Repeat, Run, Shuffle
from ldpaudit.profile import DataSet, Witness

EVENT = "{the sum of all reports, by its likelihood ratio}"
_SHARED = "{user 1's second value is counted less often than a bit that neither value sets}"
_TOGETHER = 8  # bits whose rows are listed, where reports with many ones are left out


def views_within(plan: Aggregate, implementation: Implementation, trials: int) -> int:
    """As many of the views as can be drawn where every report is drawn; all of them where only sums are.

    Raises Unsupported where a view has too many reports, or shares of noise, for 16 of them to be drawn.
    """
    m, rounds = summed(plan)
    shares = rounds * sum(getattr(each, "shares", 0) for each in plan.noise)  # which are drawn one by one
    if shares and (trials := min(trials, plans.RUNS // shares)) < plans.LEAST_VIEWS:
        raise Unsupported(plan, f"a view is {shares} shares of noise, and even {plans.LEAST_VIEWS} views are too many to draw")
    if plan.most_ones is None and not plan.noise and tells_the_multiset(m):
        return shuffled.views_within(_shuffled(plan), implementation, trials)
    if _drawn_at_once(m, next(_own(plan, m, None, 0.0)), implementation) is None:
        return shuffled.views_within(_shuffled(plan), implementation or m, trials)
    return trials if rounds == 1 else plans.views_within(Repeat(Run(m), rounds), trials)


def games(
    plan: Aggregate, neighbours: Neighbours | None, implementation: Implementation, delta: float, witness: Witness | None
) -> tuple[Target, ...]:
    """The witness's two data sets, where it is given; else all others hold user 1's first value, its second, or neither.

    Raises Unsupported for sums that cannot be read.
    """
    m, rounds = summed(plan)
    if plan.most_ones is None and not plan.noise and tells_the_multiset(m):
        theirs = None if witness is None else replace(witness, plan=_shuffled(plan))
        return shuffled.games(_shuffled(plan), neighbours, implementation, delta, theirs)
    tried = [witness] if witness is not None else _own(plan, m, neighbours, delta)
    found = (game for each in tried for game in _in_one_round(m, each, implementation, rounds))
    return tuple(game if rounds == 1 else plans.repeated(game, rounds) for game in found)


def _shuffled(plan: Aggregate) -> Shuffle:
    return Shuffle(plan.plan, plan.users)


def _drawn_at_once(m: Mechanism, witness: Witness, implementation: Implementation) -> dict[Place, Coordinate] | None:
    """The coordinates of the sums where these are drawn, and no reports: of mechanisms of ours."""
    code = m if implementation is None else implementation
    if type(code) is not type(m) or not is_ours(m) or len(code.inputs) != len(m.inputs):
        return None
    if _summands(code, _values(witness), _most_ones(witness)) is None:
        return None
    found = _coordinates(code, witness)
    return found if list(found) == list(_coordinates(m, witness)) else None


def _own(plan: Aggregate, m: Mechanism, neighbours: Neighbours | None, delta: float) -> Iterator[Witness]:
    """User 1 holds the values of the local attack; all others hold the first of these, the second, or neither.

    Others whose numbers are told but for noise, whatever they hold, hold the first.
    """
    first, second = attack_on(m, neighbours, delta).pair
    summands = _summands(m, [first, second], plan.most_ones)
    told = summands is not None and all(len(laws[first].chances) == 1 for laws in summands.at.values())
    neither = [x for x in m.inputs[:3] if x not in (first, second)][:1]
    holds = dict.fromkeys((first, *([] if second is None else [second]), *neither))
    for x in holds if plan.users > 1 and not told else [first]:
        others = {x: plan.users - 1}
        pair = tuple(DataSet.of(_with(others, own)) for own in (first, second))
        yield Witness(plan, (pair[0], pair[1]), EVENT)


def _with(others: Mapping[Any, int], own: Any) -> dict[Any, int]:
    return dict(others) if own is None else {**others, own: others.get(own, 0) + 1}


def _noise(witness: Witness) -> tuple[Any, ...]:
    """Of aggregators, on every coordinate."""
    return witness.plan.noise if isinstance(witness.plan, Aggregate) else ()


def _most_ones(witness: Witness) -> int | None:
    """Of a report that is summed."""
    return witness.plan.most_ones if isinstance(witness.plan, Aggregate) else None


def _noised(total: Numbers, witness: Witness, rng: np.random.Generator) -> list[Numbers]:
    """The coordinates of sums, shape ``(views, coordinates)``, with noise."""
    for each in _noise(witness):
        total = total + each.noise(total.size, rng).reshape(total.shape)
    return list(total.T)


Place = int  # of a bit in a report


def _coordinates(m: Mechanism, witness: Witness) -> dict[Place, Coordinate]:
    """Those in which user 1's two values differ."""
    if (summands := _summands(m, _values(witness), _most_ones(witness))) is None:
        raise Unsupported(m, "no attack on sums of this mechanism's reports")
    noise, found = (*summands.noise(witness.others.users + 1), *_noise(witness)), {}
    for place, laws in summands.at.items():
        others: dict[Summand, int] = defaultdict(int)
        for x, users in witness.others.counts:
            others[laws[x]] += users
        first, second = (laws[x] for x in witness.values)
        if first != second:
            in_order = sorted(others.items(), key=lambda each: (each[0].least, each[0].chances[::-1]))
            found[place] = Coordinate((first, second), tuple(in_order), noise)
    return found


def _summands(m: Mechanism, values: list[Any], most_ones: int | None) -> Summands | None:
    """Numbers that tell the values apart; those of a one-hot vector, too. Reports of more ones count as zeros."""
    if m.summed != "one-hot":
        found = summands_on(m, values)
        return found if found is None or most_ones is None else _accepted(found, most_ones)
    if most_ones is not None:
        return None
    laws = {x: m.law(x).probability for x in values}

    def together(x: Any, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        chances = {tuple(int(label == place) for place in places): float(laws[x](label)) for label in places}
        return {**chances, (0,) * len(places): max(0.0, 1 - sum(chances.values()))}

    at = {place: {x: Summand.coin(float(of(place))) for x, of in laws.items()} for place in values}
    return Summands(at, together=together)


def _accepted(bits: Summands, most: int) -> Summands | None:
    """The same of rows of independent bits with at most `most` ones; others count as zeros. None where they are no such rows."""
    coins = all(len(each.chances) == 2 for laws in bits.at.values() for each in laws.values())
    if not (coins and bits.rest and len(bits.at) <= _TOGETHER):
        return None
    from scipy.stats import binom  # here: it takes a while to import

    def together(x: Any, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        elsewhere = [binom.pmf(np.arange(min(count, most) + 1), count, p) for p, count in bits.rest]
        elsewhere += [np.array(laws[x].chances) for place, laws in bits.at.items() if place not in places]
        within = np.cumsum(reduce(np.convolve, elsewhere))
        found = {}
        for row in product((0, 1), repeat=len(places)):
            chance = math.prod(bits.at[place][x].chances[bit] for place, bit in zip(places, row, strict=True))
            found[row] = chance * float(within[min(most - sum(row), len(within) - 1)]) if sum(row) <= most else 0.0
        found[(0,) * len(places)] += max(0.0, 1 - sum(found.values()))
        return found

    at = {place: {x: Summand.coin(together(x, (place,))[1,]) for x in laws} for place, laws in bits.at.items()}
    return Summands(at, together=together)


def _together(m: Mechanism, witness: Witness) -> Any:
    summands = _summands(m, _values(witness), _most_ones(witness))
    return None if summands is None else summands.together


def _values(witness: Witness) -> list[Any]:
    return list(dict.fromkeys([*witness.values, *(x for x, _ in witness.others.counts)]))


def _in_one_round(m: Mechanism, witness: Witness, implementation: Implementation, rounds: int) -> Iterator[Target]:
    """The game on two data sets; and for code whose reports are drawn, another one on the same data sets."""
    declared, exact = _coordinates(m, witness), _together(m, witness) is None
    if not declared:
        raise Unsupported(m, f"a sum tells nothing of {witness.values[0]} and {witness.values[1]}: their reports have one law")
    known = Likelihoods.of(declared.values())
    if (drawn := _drawn_at_once(m, witness, implementation)) is not None:
        together = _together(m if implementation is None else implementation, witness)  # type: ignore[arg-type]
        rows = None if together is None else Dependent(together, witness, tuple(declared))

        def own(side: int, size: int, rng: np.random.Generator) -> Floats:
            seen = [each.draw(side, size, rng) for each in drawn.values()] if rows is None else rows.draw(side, size, rng)
            return known.score(seen)

        law = known.scores(rounds) if implementation is None and exact else None
        size = 8 * sum(2 + each.numbers for each in declared.values())
        yield Target(witness.pair, witness.event, own, size, calibrated=exact, law=law)
        return
    code = Foreign(m, m if implementation is None else implementation, _values(witness))
    size = witness.others.users * plans.memory(m.sample(code.inputs[0], 1, np.random.default_rng(0)))

    def of_reports(reports: _Reports, event: str, calibrated: bool) -> Target:
        mixed = reports.mixed if code.one_by_one else None
        undeclared = exact and not calibrated
        return Target(witness.pair, event, reports.draw, size, calibrated, undeclared, mixed=mixed, odd=(code.odd,))

    yield of_reports(_Reports(code, witness, tuple(declared), known.score), witness.event, exact)
    if not exact:
        return
    set_then = [place for place, each in declared.items() if each.own[0].chances[-1] < each.own[1].chances[-1]][:1]
    set_never = [place for place in range(m.view_length) if place not in declared][-1:]
    if set_then and set_never:
        yield of_reports(_Reports(code, witness, (*set_never, *set_then), _excess), _SHARED, False)


@dataclass(frozen=True, slots=True)
class Dependent:
    """Sums of a few numbers that are not independent of each other in a report; and noise."""

    together: Callable[[Any, tuple[int, ...]], Mapping[tuple[int, ...], float]]  # see `Summands`
    witness: Witness
    places: tuple[int, ...]

    def draw(self, side: int, size: int, rng: np.random.Generator) -> list[Numbers]:
        """Sums of each of the numbers."""
        total = np.zeros((size, len(self.places)), dtype=np.int64)
        for x, users in self.witness.pair[side].counts:
            law = self.together(x, self.places)
            total += rng.multinomial(users, list(law.values()), size) @ np.array(list(law))
        return _noised(total, self.witness, rng)


def _excess(counts: Sequence[Numbers]) -> Floats:
    """How often the first bit is counted beyond the second: what all bits of a report share cancels."""
    return np.asarray(counts[0] - counts[1], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Reports:
    """Reports of code, drawn one by one and added up."""

    code: Foreign
    witness: Witness
    places: tuple[int, ...]  # in a report, which are added up
    score: Callable[[Sequence[Numbers]], Floats]  # of the sums in these places

    def draw(self, side: int, size: int, rng: np.random.Generator) -> Floats:
        """Scores of many views: all reports of one value are drawn at once."""
        total: Numbers = np.zeros((size, len(self.places)), dtype=np.int64)
        for x, users in self._users(side) if size else ():
            total = total + self._read(self.code.sample(x, size * users, rng)).reshape(size, users, -1).sum(axis=1)
        return self.score(_noised(total, self.witness, rng))

    def mixed(self, sides: NDArray[np.int64]) -> tuple[Floats, ...]:
        """One user after the other, one view after the other."""
        rng = np.random.default_rng()  # no such view is drawn a second time: its reports have coins of their own

        def view(side: int) -> Floats:
            values, users = zip(*self._users(side), strict=True)
            order = [place for place, count in enumerate(users) for _ in range(count)]
            made = [self._read(part) for part in self.code.in_order(values, order)]
            return self.score(_noised(np.concatenate(made).sum(axis=0, keepdims=True), self.witness, rng))

        return one_by_one(sides, view)

    def _users(self, side: int) -> list[tuple[Any, int]]:
        """How many hold each value."""
        own, others = self.witness.values[side], dict(self.witness.others.counts)
        return list({**others, own: others.get(own, 0) + 1}.items())

    def _read(self, views: Any) -> Numbers:
        rows, places = np.asarray(views), list(self.places)
        rows = rows.reshape(len(rows), -1)
        if (most := _most_ones(self.witness)) is not None:
            rows = rows * (np.count_nonzero(rows, axis=1) <= most)[:, None]
        return np.asarray((rows == places).astype(np.int64) if self.code.m.summed == "one-hot" else rows[:, places])
