r"""The theorems that bound one shuffled plan: what they allow, and what data sets attain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.certified_search import ROUGH
from ldpaudit.accountants.shuffling.binary import Worst, attained, worst
from ldpaudit.accountants.shuffling.binary_data_set import Tilt
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.accountants.shuffling.estimate import Sketch, largest, remembered, sketch
from ldpaudit.accountants.shuffling.few_users import FewUsers
from ldpaudit.accountants.shuffling.randomizers import Blanket, Crowd
from ldpaudit.enclosure import round_down, round_up
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

DataSet: TypeAlias = tuple[tuple[Any, int], ...]
"""A data set as far as a shuffler lets it be seen: values, and how many users hold each."""

_AS_GOOD = 0.1
"""By how much a sketch may mistake the logarithm of a data set's delta, among few users who matter."""
_FEW = 16
"""Users among whom delta is no smooth function of epsilon, and evaluated quickly."""
_FINE = 1e-7
"""Relative width at which blankets are computed; the theorems are further apart."""


@dataclass(frozen=True, slots=True)
class Attained:
    """A lower end.

    Parameters
    ----------
    value : flint.arb
        A divergence that the data sets attain.
    pair : pair of DataSet
        The two neighbours; both empty where none are known.
    event : str
        What tells them apart.
    """

    value: flint.arb
    pair: tuple[DataSet, DataSet] = ((), ())
    event: str = ""


class Side(Protocol):
    """What bounds one shuffled plan."""

    @property
    def finest(self) -> float:
        """The least tolerance that it is of use to ask for."""

    @property
    def sources(self) -> tuple[str, str]:
        """Where the upper end and the lower end come from."""

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """Upper bound of delta: a ball around what the theorem says, whose upper end is the bound."""

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """Lower bound of delta, as quickly as may be: a ball, whose lower end is the bound."""

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """The best lower bound."""

    def sketches(self) -> tuple[Sketch | None, Sketch | None]:
        """What the logarithms of the lower and the upper end are about, where that is known in floats: it saves looks."""


@dataclass(frozen=True, slots=True)
class Anyone:
    """Any epsilon0-LDP plan."""

    clones: Clones
    users: int
    finest: float = 0.0

    @property
    def sources(self) -> tuple[str, str]:
        """See `Side`."""
        epsilon0 = float(self.clones.epsilon0)
        return (
            f"clones of a report with epsilon0 = {epsilon0:.6g} (Feldman, McMillan, Talwar 2021)",
            "0, for no law is known that a data set could be evaluated on",
        )

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        return self.clones.delta(epsilon, self.users, tolerance)

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        return self.attained(epsilon, tolerance).value

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Side`."""
        return Attained(flint.arb(0))

    def sketches(self) -> tuple[Sketch | None, Sketch | None]:
        """See `Side`."""
        return None, sketch(self.clones.pair(), self.users) if self.users > _FEW else None


@dataclass(frozen=True, slots=True)
class Crowded:
    """A mechanism with a known blanket."""

    blanket: Blanket
    clones: Clones
    users: int
    few: FewUsers | None
    finest: float = _FINE

    @property
    def sources(self) -> tuple[str, str]:
        """See `Side`."""
        sets = "every data set on three values" if self.few else "the best data set on which all others hold one value"
        return "the blanket (Balle, Bell, Gascon, Nissim 2019), computed", sets

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        with flint.ctx.workprec(precision(self.users)):
            e = ball(epsilon).exp()
            rough = [hiding.delta(e, self.users, ROUGH) for hiding in self.blanket.uppers]
            least = max(round_down(value) for value in rough)
            found, fine = flint.arb(0), max(tolerance, self.finest)
            for hiding, value in zip(self.blanket.uppers, rough, strict=True):
                if round_up(value) < least:
                    continue  # it cannot be the largest
                wide = value.rad() > value.mid() * fine / 2
                found = found.max(value.intersection(hiding.delta(e, self.users, fine)) if wide else value)
            return found

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        return self.attained(epsilon, tolerance).value

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Side`."""
        with flint.ctx.workprec(precision(self.users)):
            e = ball(epsilon).exp()
            if self.few is not None:  # goes through the crowds' data sets as well
                return self._few(self.few, e)
            # Which crowds may be best, floats tell; any is a lower bound.
            crowds = {crowd.hiding: crowd for crowd in reversed(self.blanket.crowds)}
            about = {hiding: remembered(hiding, self.users)(float(epsilon)) for hiding in crowds}
            likely = (hiding for hiding in crowds if about[hiding] >= max(about.values()) - _AS_GOOD)
            found = [self._crowd(crowds[hiding], e, tolerance) for hiding in likely]
        return max(found, key=lambda each: round_down(each.value))

    def sketches(self) -> tuple[Sketch | None, Sketch | None]:
        """See `Side`."""
        if self.users <= _FEW:
            return None, None
        hidings = {crowd.hiding for crowd in self.blanket.crowds}, set(self.blanket.uppers)
        low, high = (largest([remembered(hiding, self.users) for hiding in each]) for each in hidings)
        return low, high

    def _crowd(self, crowd: Crowd, e: flint.arb, tolerance: float) -> Attained:
        value = crowd.hiding.delta(e, self.users, max(tolerance, self.finest))
        x, x2 = crowd.pair
        event = f"the sum over all views y of (P[y|{x}] - e**epsilon P[y|{x2}]) / P[y|{crowd.other}] is positive"
        return Attained(value, neighbours_of(crowd.pair, {crowd.other: self.users - 1}), event)

    def _few(self, few: FewUsers, e: flint.arb) -> Attained:
        value, held = few.worst(e)
        pair = neighbours_of((0, 1), dict(enumerate(held)))
        return Attained(value, pair, "the view is more than e**epsilon times as likely under the first data set")


@dataclass(frozen=True, slots=True)
class Binary:
    """Binary randomized response."""

    mechanism: KaryRandomizedResponse
    users: int
    finest: float = 0.0

    @property
    def sources(self) -> tuple[str, str]:
        """See `Side`."""
        return "every number of ones among the others, by branch and bound", "the worst number found"

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        found = _worst(self.mechanism.p, epsilon, self.users, tolerance)
        return between(found.low, found.high)

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Side`."""
        with flint.ctx.workprec(precision(self.users)):
            return attained(self.mechanism.p, ball(epsilon).exp(), self.users)

    def sketches(self) -> tuple[Sketch | None, Sketch | None]:
        """See `Side`."""
        return None, None

    def fixed(self, epsilon: Fraction, tolerance: float) -> Callable[[Fraction, float], flint.arb]:
        """A lower bound of delta at any epsilon: the data set that is worst at this one."""
        t, others = _worst(self.mechanism.p, epsilon, self.users, tolerance).t, self.users - 1

        def value(epsilon: Fraction, tolerance: float) -> flint.arb:
            with flint.ctx.workprec(precision(self.users)):
                return Tilt(self.mechanism.p, ball(epsilon).exp()).value(t, others)

        return value

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Side`."""
        found = _worst(self.mechanism.p, epsilon, self.users, tolerance)
        with flint.ctx.workprec(precision(self.users)):
            least = Tilt(self.mechanism.p, ball(epsilon).exp()).cutoff(found.t, self.users - 1)
        pair = neighbours_of((0, 1), {0: found.t, 1: self.users - 1 - found.t})
        return Attained(found.low, pair, f"at least {least} of the views are 0")


@lru_cache(maxsize=256)
def _worst(p: Fraction, epsilon: Fraction, users: int, tolerance: float) -> Worst:
    with flint.ctx.workprec(precision(users)):
        return worst(p, ball(epsilon).exp(), users, tolerance)


def neighbours_of(pair: tuple[Any, Any], others: dict[Any, int]) -> tuple[DataSet, DataSet]:
    """Two neighbouring data sets: user 1 holds either value of the pair."""

    def data(x: Any) -> DataSet:
        counts = Counter({value: count for value, count in others.items() if count})
        counts[x] += 1
        return tuple(sorted(counts.items(), key=lambda each: str(each[0])))

    return data(pair[0]), data(pair[1])
