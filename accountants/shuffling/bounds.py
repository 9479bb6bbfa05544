r"""The bounds of one shuffled plan: what the theorems allow, and what data sets attain. Built from numbers only.

A mechanism's accountant says what a shuffler needs to know of it, in ``shuffled(m, users) -> Bound | None``: a `BinaryBound`, a
`BlanketBound` (`randomizers` and `bloom` build these from laws), or None where only its epsilon0 is known. A stem without
that function gets what its finite law alone allows (`randomizers.of_law`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import ROUGH, log_of
from ldpaudit.accountants.shuffling.blanket import Blanket, FloatEstimate, float_estimate, largest, precision
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.accountants.shuffling.few_users import FewUsers
from ldpaudit.accountants.shuffling.replaced import Replacement, of_any_map
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_down, round_up
from ldpaudit.profile import DataSet

Value: TypeAlias = Callable[[Fraction, float], flint.arb]
"""Epsilon and tolerance to a bound of delta."""

_AS_GOOD = 0.1
"""By how much a float estimate may mistake the logarithm of a data set's delta; tests/numerics hold it to some 1e-6 where
delta is 1e-6 and less, and the saddle point is at its worst, a few percent, where few other users matter."""
_ABOUT = 1e-3
"""Of two bounds of a curve whose logarithms are as near the quicker one is taken: epsilon moves by less than 1e-4 of itself."""
_FAR_BELOW = 1.0  # nats of delta by which data sets may be less than others near the epsilon that is looked for
_UNKNOWN = "0, for no data set is evaluated"
_FEW = 16  # number of users up to which delta is no smooth function of epsilon, and is evaluated quickly: no float estimate guides
_KINDS = 32  # of messages, up to which that is so
_PLENTY = 10_000  # number of such users from which on replacement is better than the clones: it uses the laws themselves
_GUIDES = 12  # types whose estimates guide a search, and blankets that are made beside a replacement for as many users as `_PLENTY`
_ENOUGH = 10
"""About how many users whose reports come from the blanket make replacement better than the blanket, and than the clones."""
FINE, ROUGHLY = 1e-7, 1e-5
"""Relative widths at which blankets are computed, and many types. The two ends are further apart: by 1e-3 and more in all of
tests/zoo."""


@dataclass(frozen=True, slots=True)
class Attained:
    """A lower bound, and what attains it."""

    value: flint.arb  # a divergence that the data sets attain
    pair: tuple[DataSet, DataSet] | None = None  # the two neighbours, where any are known
    event: str = ""  # the views that tell them apart


class Bound(ABC):
    """What bounds one shuffled plan."""

    users: int  # n, at least 2
    finest: float = 0.0  # the least tolerance that it is of use to ask for
    needs_epsilon0 = True  # whether it is only known to hold where some epsilon is enough at delta = 0

    @property
    @abstractmethod
    def sources(self) -> tuple[str, str]:
        """Where the upper bound and the lower bound come from."""

    @property
    def takes_long(self) -> bool:
        """Whether a look takes tens of milliseconds."""
        return False

    @property
    def quick(self) -> Bound:
        """One for curves that are composed, of many points: wider by less than they are, or the same."""
        return self

    def near(self, delta: float) -> Bound:
        """One whose arithmetic is made for about this delta, or the same."""
        return self

    @property
    def known(self) -> tuple[Replacement | None, tuple[OthersAlike, ...]]:
        """The types of a mechanism, where these are known, and data sets on which all others hold one value."""
        return None, ()

    def sampled(self, users: int) -> Bound | None:
        """One where these are a secret sample of this many users, if it does not need epsilon0 and is known."""
        return None

    @abstractmethod
    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """Upper bound of delta: a ball around what the theorem says, whose upper end is the bound."""

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """Lower bound of delta, quickly: a ball, whose lower end is the bound."""
        return self.attained(epsilon, tolerance).value

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """The best lower bound."""
        return Attained(flint.arb(0))

    def estimates(self) -> tuple[FloatEstimate | None, FloatEstimate | None]:
        """Float estimates of the lower and of the upper bound, where known; they guide the search only."""
        return None, None

    def both_ways(self, epsilon: float) -> tuple[Value, ...]:
        """Delta of one data set, a good one at about this epsilon, for user 1's two inputs in either order.

        Once where it looks the same with them exchanged; nothing where no data set is known.
        """
        return ()


@dataclass(frozen=True)
class AnyReportBound(Bound):
    """Of any epsilon0-LDP plan: the clones, or replacement where that is less."""

    clones: Clones  # the dominating pair
    users: int  # n, at least 2

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        epsilon0 = float(self.clones.epsilon0)
        return (
            f"the less of replacement and clones, of any report with epsilon0 = {epsilon0:.6g} (Feldman, McMillan, Talwar 2021)",
            _UNKNOWN,
        )

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`."""
        found = self.clones.delta(epsilon, self.users, tolerance)
        if found == 0 or not self._may_be_less:
            return found
        with working_precision(precision(self.users)):
            less = self._replacement.delta(ball(epsilon).exp(), self.users)
        return less if less <= found else found

    def estimates(self) -> tuple[FloatEstimate | None, FloatEstimate | None]:
        """See `Bound`."""
        if self.users <= _FEW:
            return None, None
        clones = float_estimate(self.clones.pair(), self.users)
        if not self._may_be_less:
            return None, clones
        left = self._replacement.left(self.users)
        less = largest([float_estimate(each, left) for each in self._replacement.types if isinstance(each, Blanket)])
        return None, lambda epsilon: min(clones(epsilon), less(epsilon))

    @cached
    def _replacement(self) -> Replacement:
        with working_precision(precision(self.users)):
            return of_any_map(ball(self.clones.epsilon0))

    @property
    def _may_be_less(self) -> bool:
        return math.log(self.users / _ENOUGH) > self.clones.epsilon0


@dataclass(frozen=True)
class OnePairBound(AnyReportBound):
    """The same of a report of which two inputs are known that attain its profile at every epsilon, in either order."""

    alike: Blanket  # the laws of a report that tells no more of these two, with the first one's in place of the blanket; symmetric

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        return super().sources[0], "all others hold one of two values that differ most"

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Bound`."""
        return Attained(self._value(epsilon, tolerance))

    def estimates(self) -> tuple[FloatEstimate | None, FloatEstimate | None]:
        """See `Bound`."""
        return (None if self.users <= _FEW else float_estimate(self.alike, self.users)), super().estimates()[1]

    def both_ways(self, epsilon: float) -> tuple[Value, ...]:
        """See `Bound`."""
        return (self._value,)

    def _value(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        with working_precision(precision(self.users)):
            return self.alike.delta(ball(epsilon).exp(), self.users, max(tolerance, ROUGHLY))


@dataclass(frozen=True, slots=True)
class OthersAlike:
    """An explicit data set: user 1 holds `pair[0]` or `pair[1]`, and every other user holds `other`."""

    blanket: Blanket  # laws of user 1's two values, and the law of the other users' value in place of the blanket
    pair: tuple[Any, Any]  # user 1's two values
    other: Any  # the other users'


@dataclass(frozen=True)
class BlanketBound(Bound):
    """A mechanism whose laws are known."""

    # the upper bound is the largest of them: one for every pair of inputs, up to symmetry
    blankets: tuple[Blanket, ...]
    data_sets: tuple[OthersAlike, ...]  # any of them is a lower bound
    users: int  # n, at least 2
    few: FewUsers | None = None  # more data sets, where the users are few enough
    finest: float = FINE
    coarser: BlanketBound | None = None  # of fewer kinds of messages, where there are many
    replaced: Replacement | None = None  # another upper bound, which is less where the users are many
    otherwise: AnyReportBound | None = None  # the upper bound where neither a blanket nor a replacement is worth a look
    drawn_from: int | None = None  # users of whom these are a secret sample; then user 1's laws are those of the sample
    is_quick: bool = False  # whether floats choose between the blanket and the replacement where these are about the same

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        if self.few is not None and self.few.complete:
            return "every data set", "the worst data set"
        sets = "every data set on three values" if self.few else "the best data set on which all others hold one value"
        if not self.data_sets:
            sets = _UNKNOWN if self.otherwise is None else self.otherwise.sources[1]
        if self.drawn_from is not None:
            return f"replacement in a sample of {self.users} of {self.drawn_from}", sets
        if not self.blankets:
            return "replacement" if self._otherwise is None else self._otherwise.sources[0], sets
        above = "the blanket (Balle, Bell, Gascon, Nissim 2019), computed"
        return f"the less of replacement and {above}" if self._replaced else above, sets

    @property
    def quick(self) -> BlanketBound:
        """See `Bound`."""
        return replace(self.coarser or self, is_quick=True)

    @property
    def known(self) -> tuple[Replacement | None, tuple[OthersAlike, ...]]:
        """See `Bound`."""
        return self.replaced, self.data_sets

    @property
    def takes_long(self) -> bool:
        """See `Bound`: of bundles and vectors, whose types have many kinds of reports."""
        return not self.blankets

    @property
    def _replaced(self) -> Replacement | None:
        """Replacement, where the users are enough that it is worth a look."""
        found = self.replaced
        worthwhile = found is not None and (found.is_sample or found.gamma * self.users > _ENOUGH)
        return found if worthwhile else None

    @property
    def _otherwise(self) -> AnyReportBound | None:
        """The bound besides replacement where there is no blanket; None for many users, for whom it is worse."""
        return None if self._is_plenty else self.otherwise

    @property
    def _is_plenty(self) -> bool:
        return self._replaced is not None and self._replaced.gamma * self.users > _PLENTY

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`."""
        with working_precision(precision(self.users)):
            e = ball(epsilon).exp()
            if self.few is not None and self.few.complete:
                return self.few.largest(e)
            if not self.blankets:
                one = flint.arb(1) if self._replaced is None else self._replaced.delta(e, self.users)
                other = self._otherwise if one < 1 else self.otherwise  # too far out in a tail replacement says nothing
                above = None if other is None else other.estimates()[1]
                if other is None or (above is not None and above(float(epsilon)) > log_of(one) + _AS_GOOD):
                    return one
                return one.min(other.high(epsilon, tolerance))
            level = math.inf if self._above is None else self._above(float(epsilon))
            is_worse = self.is_quick and self._beside is not None and level < self._beside(float(epsilon)) + _ABOUT < math.inf
            less = flint.arb(1) if self._replaced is None or is_worse else self._replaced.delta(e, self.users)
            if less < 1 and level > log_of(less) + _AS_GOOD:
                return less
            rough = [blanket.delta(e, self.users, ROUGH) for blanket in self.blankets]
            least = max(round_down(value) for value in rough)
            if less <= least:
                return less
            found, fine = flint.arb(0), max(tolerance, self.finest)
            for blanket, value in zip(self.blankets, rough, strict=True):
                if round_up(value) < least:
                    continue  # it cannot be the largest
                wide = value.rad() > value.mid() * fine / 2
                found = found.max(value.intersection(blanket.delta(e, self.users, fine)) if wide else value)
            return found if found.upper() < less else less

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Bound`."""
        if not self.data_sets:
            return Attained(flint.arb(0)) if self.otherwise is None else self.otherwise.attained(epsilon, tolerance)
        with working_precision(precision(self.users)):
            e = ball(epsilon).exp()
            if self.few is not None:  # its data sets contain the others
                value, pair, others = self.few.worst(e)
                event = "the view is more than e**epsilon times as likely under the first data set"
                return Attained(value, neighbours_of(pair, others), event)
            # Floats tell which data sets may be best; any is a lower bound.
            about = [estimate(float(epsilon)) for _, estimate in self._sets]
            likely = (each for (each, _), level in zip(self._sets, about, strict=True) if level >= max(about) - _AS_GOOD)
            found = [self._alike(each, e, tolerance) for each in likely]
        return max(found, key=lambda each: round_down(each.value))

    def estimates(self) -> tuple[FloatEstimate | None, FloatEstimate | None]:
        """See `Bound`."""
        laws = (*self.blankets, *(each.blanket for each in self.data_sets))
        if self.users <= _FEW and all(len(each.cells) <= _KINDS for each in laws):
            return None, None
        low = largest([estimate for _, estimate in self._sets], _FAR_BELOW) if self.data_sets else None
        if low is None and self.otherwise is not None:
            low = self.otherwise.estimates()[0]
        if self._replaced is not None:
            if (less := self._beside) is None:
                return low, None
            high = self._above if self.blankets else None
            above: FloatEstimate | None = less if high is None else lambda epsilon: min(high(epsilon), less(epsilon))
        elif not self.blankets:
            above = self.otherwise.estimates()[1] if self.otherwise else None
        else:
            above = self._above
        return low, above

    def both_ways(self, epsilon: float) -> tuple[Value, ...]:
        """See `Bound`."""
        if self.otherwise is not None and not self.data_sets:
            return self.otherwise.both_ways(epsilon)
        if not self.data_sets:
            return ()
        about = [estimate(epsilon) for _, estimate in self._sets]
        likely = [each.blanket for (each, _), level in zip(self._sets, about, strict=True) if level >= max(about) - _AS_GOOD]
        turned = [each if each.is_symmetric else each.turned for each in likely]
        least = [float_estimate(each, self.users)(epsilon) for each in turned]
        best = max(range(len(likely)), key=least.__getitem__)

        return tuple(_among(each, self.users) for each in dict.fromkeys((likely[best], turned[best])))

    @cached
    def _above(self) -> FloatEstimate | None:
        """Of the largest blanket; None where they are many, and worse than replacement among many users."""
        if self._is_plenty and len(self.blankets) > _GUIDES:
            return None
        return largest([float_estimate(each, self.users) for each in dict.fromkeys(self.blankets)])

    @cached
    def _beside(self) -> FloatEstimate | None:
        """Of the replacement; None where it has no types and there are no data sets."""
        if (other := self._replaced) is None:
            return None
        types = [each for each in other.types if isinstance(each, Blanket)]
        alike = types if 0 < len(types) <= _GUIDES else [each.blanket for each, _ in self._sets]
        return largest([float_estimate(each, other.left(self.users)) for each in alike or types]) if alike or types else None

    @cached
    def _sets(self) -> tuple[tuple[OthersAlike, FloatEstimate], ...]:
        """The data sets of different laws, the first of each, and their estimates."""
        sets = {each.blanket: each for each in reversed(self.data_sets)}
        return tuple((each, float_estimate(each.blanket, self.users)) for each in sets.values())

    def _alike(self, found: OthersAlike, e: flint.arb, tolerance: float) -> Attained:
        value = found.blanket.delta(e, self.users, max(tolerance, self.finest))
        x, x2 = found.pair
        event = f"the sum over all views y of (P[y|{x}] - e**epsilon P[y|{x2}]) / P[y|{found.other}] is positive"
        if self.drawn_from is not None:
            event += f", where with probability {1 - Fraction(self.users, self.drawn_from)} user 1's view is one of {found.other}"
        users = self.drawn_from or self.users
        return Attained(value, neighbours_of(found.pair, {found.other: users - 1}), event)


@lru_cache(maxsize=32)
def _among(blanket: Blanket, users: int) -> Value:
    """Delta of one data set: the same function for the same one."""
    with working_precision(precision(users)):
        alike = blanket.alike(users)

    def value(epsilon: Fraction, tolerance: float) -> flint.arb:
        with working_precision(precision(users)):
            e = ball(epsilon).exp()
            found = alike(e, tolerance) if alike else None
            return blanket.delta(e, users, tolerance) if found is None else found

    return value


def neighbours_of(pair: tuple[Any, Any], others: dict[Any, int]) -> tuple[DataSet, DataSet]:
    """Two neighbouring data sets: user 1 holds either value of the pair."""
    first, second = (DataSet.of(Counter(others) + Counter({x: 1})) for x in pair)
    return first, second
