"""The privacy profile: the whole curve of (epsilon, delta) that a plan satisfies."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Any, Self

from ldpaudit.core.number import exact, show
from ldpaudit.core.working_precision import serialized
from ldpaudit.display import axes, markup, pictures
from ldpaudit.display.digits import show_down, show_up
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.plan import Aggregate, Plan, Shuffle

Number = int | float | Fraction  # a float is the dyadic rational that it is
MOST_NATS = 2.0**64
"""Beyond this epsilon, delta is enclosed by what it is here and by its limit: e**epsilon itself leaves the range of balls."""
_NARROW = 1e-9  # relative width up to which an enclosure is called exact: the slack to which claims are read
_UNSEEN_NATS = 1e-15  # the same in nats, next to 0


@dataclass(frozen=True, slots=True)
class DataSet:
    """What several users hold, as far as a shuffler lets it be seen: values, and how many users hold each.

    ``counts``: each value once, each count at least 1. Raises ValueError where a count is below 1 or a value stands
    twice.

    Examples
    --------
    >>> print(DataSet.of({0: 3, 2: 1}))
    3 users hold 0, 1 user holds 2
    """

    counts: tuple[tuple[Any, int], ...]

    def __post_init__(self) -> None:
        if any(count < 1 for _, count in self.counts):
            raise ValueError(f"DataSet needs counts >= 1, got {self.counts}")
        if len({value for value, _ in self.counts}) < len(self.counts):
            raise ValueError(f"DataSet needs each value once, got {self.counts}")

    @classmethod
    def of(cls, counts: Mapping[Any, int]) -> Self:
        """From a mapping, in the order of the values' text; values that nobody holds are left out."""
        return cls(tuple(sorted(((x, n) for x, n in counts.items() if n), key=lambda each: str(each[0]))))

    @property
    def users(self) -> int:
        """How many there are."""
        return sum(count for _, count in self.counts)

    def __str__(self) -> str:
        return ", ".join(f"{n:,} user{' holds' if n == 1 else 's hold'} {x}" for x, n in self.counts)


@dataclass(frozen=True, slots=True)
class Witness:
    """Why a lower bound holds: two data sets of a plan that one user's value makes different, and what to look for.

    It can be played: an attack that is given it measures how well the two data sets are told apart on fresh samples.

    Parameters
    ----------
    plan : Plan
        The plan that is distinguished.
    pair : pair of DataSet
        Two neighbouring data sets.
    event : str
        The views that tell them apart, in words: those that are more than ``e**epsilon`` times as likely under the first.
    epsilon : number or None
        In nats; None where the event is still to be chosen.

    Raises
    ------
    ValueError
        Where the two differ in more than one user, or in the number of users that a shuffled plan states; of a sum's, one
        may be absent.
    """

    plan: Plan
    pair: tuple[DataSet, DataSet]
    event: str
    epsilon: Number | None = None

    def __post_init__(self) -> None:
        first, second = (Counter(dict(data.counts)) for data in self.pair)
        apart = (first - second).total(), (second - first).total()
        users = (data.users for data in self.pair)
        stated = isinstance(self.plan, Shuffle | Aggregate) and max(users) != self.plan.users
        if stated or apart not in (((1, 1),) if isinstance(self.plan, Shuffle) else ((1, 1), (1, 0), (0, 1))):
            wanted = "needs two data sets that differ in one user or one user's value"
            raise ValueError(f"Witness {wanted}, got {self.pair[0]} and {self.pair[1]}")

    @property
    def values(self) -> tuple[Any, Any]:
        """What the one user holds in the first data set, and in the second; None where that user is absent."""
        first, second = (Counter(dict(data.counts)) for data in self.pair)
        return next(iter(first - second), None), next(iter(second - first), None)

    @property
    def others(self) -> DataSet:
        """What all other users hold."""
        first, second = (Counter(dict(data.counts)) for data in self.pair)
        return DataSet.of(first & second)


def require_epsilon(epsilon: Number) -> Number:
    """Return `epsilon`, or raise ValueError where it is negative or not a number."""
    if not epsilon >= 0:
        raise ValueError(f"delta(epsilon) needs epsilon >= 0, got {show(epsilon)}")
    return epsilon


def require_delta(delta: Number) -> Number:
    """Return `delta`, or raise ValueError where it lies outside [0, 1)."""
    if not 0 <= delta < 1:
        raise ValueError(f"epsilon(delta) needs 0 <= delta < 1, got {show(delta)}")
    return delta


def require_order(order: Number) -> Number:
    """Return `order`, or raise ValueError where it is not above 1."""
    if not order > 1:
        raise ValueError(f"renyi(order) needs an order above 1, got {show(order)}")
    return order


def _plain(value: object, what: str) -> Number:
    """The int, float or Fraction that a number is; scalars of numpy are numbers."""
    if isinstance(value, float):
        return float(value)
    return exact(value, what) if not isinstance(value, int) or isinstance(value, bool) else value


def _graded(found: Enclosure, unseen: float) -> Enclosure:
    """EXACT where it is as narrow as arithmetic allows, relative to the value or to what is never seen; else INTERVAL."""
    narrow = math.isfinite(found.high) and found.high - found.low <= max(_NARROW * found.high, unseen)
    if found.rigour is not Rigour.EXACT or found.low == found.high or narrow:
        return found
    return replace(found, rigour=Rigour.INTERVAL)


def _of_epsilon(method: Callable[[Any, Number], Enclosure]) -> Callable[[Any, Number], Enclosure]:
    @wraps(method)
    def delta(self: Any, epsilon: Number) -> Enclosure:
        plain = require_epsilon(_plain(epsilon, "delta(epsilon)"))
        if not MOST_NATS < plain < math.inf:
            return _graded(method(self, plain), sys.float_info.min)
        high, low = method(self, MOST_NATS), method(self, math.inf)
        found = Enclosure(min(low.low, high.high), high.high, min(low.rigour, high.rigour), high.source)
        return _graded(found, sys.float_info.min)

    return delta


def _of_delta(method: Callable[..., Enclosure]) -> Callable[..., Enclosure]:
    @wraps(method)
    def epsilon(self: Any, delta: Number = 0) -> Enclosure:
        return _graded(method(self, require_delta(_plain(delta, "epsilon(delta)"))), _UNSEEN_NATS)

    return epsilon


def _of_order(method: Callable[[Any, Number], Enclosure]) -> Callable[[Any, Number], Enclosure]:
    @wraps(method)
    def renyi(self: Any, order: Number) -> Enclosure:
        plain = require_order(_plain(order, "renyi(order)"))
        return _graded(self.epsilon(0) if plain == math.inf else method(self, Fraction(plain)), sys.float_info.min)

    return renyi


def _read_once(method: Callable[[Any], Enclosure]) -> Callable[[Any], Enclosure]:
    return wraps(method)(lambda self: _graded(method(self), sys.float_info.min))


_READS: dict[str, Callable[..., Any] | None] = {
    "delta": _of_epsilon,
    "epsilon": _of_delta,
    "renyi": _of_order,
    "rho": _read_once,
    "gdp": _read_once,
    "witness": None,
}
"""What every subclass's answer goes through, beside its turn at the working precision."""
_READERS: list[Callable[[str], Callable[..., Enclosure]]] = []


def read_by(reader: Callable[[str], Callable[..., Enclosure]]) -> None:
    """Say who reads `renyi`, `rho`, `gdp` and `tradeoff` off a curve: by the reading's name, a function of the profile."""
    _READERS[:] = [reader]


class PrivacyProfile(ABC):
    """delta as a function of epsilon and back, in enclosures; epsilon in nats.

    Every `delta` and `epsilon` is given an int, a float or a Fraction, whatever kind of number a caller has. Threads may ask at
    the same time: whatever is asked of any subclass is answered one after the other.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, reads in _READS.items():
            method = vars(cls).get(name)
            if method is not None and not hasattr(method, "__wrapped__"):  # a class with slots is made twice
                setattr(cls, name, serialized(method if reads is None else reads(method)))

    @abstractmethod
    def delta(self, epsilon: Number) -> Enclosure:
        """Smallest delta for which the plan is (epsilon, delta)-differentially private.

        Raises ValueError for an epsilon below 0.
        """

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Smallest epsilon >= 0 for which the plan is (epsilon, delta)-differentially private.

        Infinite where no epsilon is enough. This default searches among the floats, certified by `delta` at both ends. Raises
        ValueError for a delta outside [0, 1).
        """
        require_delta(delta)
        at_zero = self.delta(0.0)
        if at_zero.high <= delta:
            return Enclosure(0.0, 0.0, at_zero.rigour, at_zero.source)
        _, high = bracket(lambda e: self.delta(e).high <= delta)
        # Below the float that is still refused nothing is allowed; at 0 nothing may have been refused at all.
        low = 0.0 if at_zero.low <= delta else bracket(lambda e: self.delta(e).low <= delta)[0]
        return Enclosure(min(low, high), high, at_zero.rigour, at_zero.source)

    @serialized
    @_of_order
    def renyi(self, order: Number) -> Enclosure:
        r"""Largest Renyi divergence of this order, over all neighbours and both orders of each two.

        .. math:: R_\alpha(P \| Q) = \frac{1}{\alpha - 1} \ln E_Q\Bigl[\Bigl(\frac PQ\Bigr)^\alpha\Bigr]
                  = \frac{1}{\alpha - 1} \ln \Bigl(1 + \alpha (\alpha - 1) \int_1^\infty \bigl(x^{\alpha - 2}
                  \delta_{PQ}(\ln x) + x^{-\alpha - 1} \delta_{QP}(\ln x)\bigr)\, dx\Bigr)

        Exact for pairs of known laws, their products and compositions, to about 1e-9. Of other plans the upper end is that of
        a pair whose delta is nowhere below the profile's: it holds for every two neighbours, but no two need attain it. The
        lower end is that of two neighbours that occur: of known ones, or of those that attain delta at one epsilon, of which
        nothing else is known; it may be far below. An infinite upper end with a finite lower one says that nothing is known
        from above. Sources: Mironov 2017, Definition 3; Sason, Verdu 2016, for the integral; Zhu, Dong, Wang 2022,
        Proposition 8, for the dominating pair.

        Direction: a profile gives Renyi divergences, and their upper ends give upper bounds of delta, which lose. Nothing
        follows for delta from below.

        In nats; infinite where some view of one input is impossible on the other. At an infinite order this is ``epsilon(0)``.
        Raises ValueError for an order that is not above 1.
        """
        return self._reading("renyi", order)

    @serialized
    @_read_once
    def rho(self) -> Enclosure:
        r"""Smallest rho for which the plan is rho-zero-concentrated differentially private, rho-zCDP.

        .. math:: \rho = \sup_{\alpha > 1} R_\alpha / \alpha

        Between two orders it is bounded by the convexity of :math:`(\alpha - 1) R_\alpha` in alpha, next to 1 by that
        :math:`R_\alpha` grows, and beyond the last order by epsilon(0); each end as rigorous as `renyi`, and for the same
        neighbours. Source: Bun, Steinke 2016, Definition 1.1.

        Direction: from the exact profile to rho, and from rho to upper bounds of delta (`Guarantee` states a rho). The way
        back loses some percent, and no delta is refuted by a rho: a lower end bounds rho only. The upper end is infinite where
        losses have no bound and no formula is known.
        """
        return self._reading("rho")

    @serialized
    @_read_once
    def gdp(self) -> Enclosure:
        r"""Smallest mu for which the plan is mu-Gaussian differentially private, mu-GDP.

        .. math:: \mu = \sup_S \Phi^{-1}(P(S)) - \Phi^{-1}(Q(S))

        over neighbours and events S: then no delta exceeds that of two normal laws of variance 1 at distance mu, at any epsilon.
        Every single epsilon bounds mu from below. The upper end needs the whole curve: it is the mu of the polygon of chords
        above it. It is infinite where some view has infinite loss, and where losses have no bound and no formula is known.
        Source: Dong, Roth, Su 2022, Definition 2.6 and Corollary 2.13.

        Direction: from the exact profile to mu, and from mu to upper bounds of delta; no delta is refuted by a mu. EXACT for finite
        laws and for normal noise.
        """
        return self._reading("gdp")

    @serialized
    def tradeoff(self, alpha: Number) -> Enclosure:
        r"""Least type II error of a test between two neighbours, at a type I error of at most alpha.

        .. math:: f(\alpha) = \sup_{\varepsilon \ge 0} \max\bigl(0,\; 1 - \delta(\varepsilon) - e^\varepsilon \alpha,\;
                  e^{-\varepsilon} (1 - \delta(\varepsilon) - \alpha)\bigr)

        Any set of epsilons gives the lower end, a guarantee, by the upper ends of delta. The upper end says that some neighbours
        have a test that is nearly as good: a lower end of delta gives one such test somewhere on its line, and the other lines
        enclose where. Both ends are certified at the epsilons that were asked; they meet where the curve is smooth. Source: Dong,
        Roth, Su 2022, Proposition 2.12. Raises ValueError for an alpha outside [0, 1].
        """
        return self._reading("tradeoff", _plain(alpha, "tradeoff(alpha)"))

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure | None:
        """Any reading, where this profile is made of others by the same rule for all of them; else None."""
        return None

    def _reading(self, name: str, *at: Number) -> Enclosure:
        found = None if name == "tradeoff" else self.joined(lambda each: getattr(each, name)(*at))
        if found is None and not _READERS:
            raise Unsupported(type(self).__name__, f"{name} is read by the accountants; import ldpaudit.accountants")
        return _READERS[0](name)(self, *at) if found is None else found

    def about(self) -> Callable[[float], float] | None:
        """A float estimate of delta as a function of epsilon, where it is much cheaper than `delta`, else None; it only guides."""
        return None

    def coarse(self) -> PrivacyProfile:
        """The same, certified within a thousandth or so where that is much cheaper: for curves that are looked at."""
        return self

    def upper_end(self) -> PrivacyProfile:
        """The same from above, or nearly, and perhaps nothing from below, where that is cheaper."""
        return self._with_parts(lambda part: part.upper_end())

    def from_above(self) -> PrivacyProfile:
        """The same upper ends, and perhaps nothing from below, where that is cheaper."""
        return self._with_parts(lambda part: part.from_above())

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """What bounds it from above, made of other profiles in place of its own; itself where it has none."""
        return self

    def from_below(self) -> PrivacyProfile:
        """The same lower ends, and perhaps looser upper ones, where that is cheaper."""
        return self

    def witness(self, epsilon: Number) -> Witness | None:
        """What attains the lower end of ``delta(epsilon)``, where the accountant knows it."""
        return None

    @property
    def rigour(self) -> Rigour:
        """Rigour at epsilon = 0."""
        return self.delta(0.0).rigour

    def plot(self, ax: Any = None, *, claim: tuple[Number, Number] | None = None, points: int = axes.POINTS) -> Any:
        """Draw delta over epsilon with matplotlib (extra ``plot``): the enclosure as a band, the claim as a mark.

        ``ax``: axes that are drawn on and returned; None for new ones of a new figure, ``profile.plot().figure``; ``claim``: a
        point (epsilon, delta) to mark; ``points``: values of epsilon at which the profile is asked, at least 2. Raises
        LdpauditError where matplotlib is missing.
        """
        if points < 2:
            raise ValueError(f"a plot needs points >= 2, got {points}")
        drawn = axes.new_figure(7, 4.2).add_subplot() if ax is None else ax
        axes.draw(self, drawn, None if claim is None else (float(claim[0]), float(claim[1])), points)
        return drawn

    def _repr_html_(self) -> str:
        """For notebooks: epsilon at some deltas, and the curve at a few points."""
        try:
            at = [(delta, self.epsilon(delta)) for delta in _SHOWN]
            ends = (f"between {show_down(e.low)} and {show_up(e.high)} ({e.rigour.name})" for _, e in at)
            facts = [(f"epsilon at delta {d:g}", said) for (d, _), said in zip(at, ends, strict=True)]
            end = axes.widest(self, _SHOWN[-1])
            curve = [(epsilon, self.delta(epsilon)) for epsilon in (1.1 * end * i / (_POINTS - 1) for i in range(_POINTS))]
        except Unsupported as limit:
            return markup.card("Privacy profile", [("unsupported", str(limit))])
        picture = pictures.curve([(epsilon, found.low, found.high) for epsilon, found in curve], None, "Privacy profile")
        return markup.card("Privacy profile", [*facts, ("bound by", at[0][1].source)], picture)


_SHOWN = (0.0, 1e-6, 1e-9)  # deltas at which a notebook shows epsilon
_POINTS = 25  # values of epsilon of a notebook's picture: of a shuffled plan each takes a tenth of a second
RESOLUTION = 2.0**-46  # relative precision of the search for an epsilon, well below the slack to which claims are read


def bracket(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Two floats within a relative 2**-46 between which a monotone predicate begins to hold.

    It fails at the first, unless that is 0, and holds at the second; both are infinite where it holds at no float.
    """
    high = 1.0
    while not holds(high):
        high *= 2
        if math.isinf(high):
            return math.inf, math.inf
    low = high / 2
    while low > 0 and holds(low):
        high, low = low, low / 16
    while high - low > RESOLUTION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
