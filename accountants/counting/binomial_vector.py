r"""Binomial noise on many counters at once: several go up, several go down.

Every counter carries its own Bin(n, gamma). One user changes some of them by given amounts, and the losses of the counters add
up; the profile is not that of one counter with a longer shift, and the union bound of GGKPV Lemma 4.11 is far above it. Where
the joint outcomes are few the profile is exact, else it is enclosed: see `counter_lattice`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import flint

from ldpaudit.accountants.counting.binomial_noise import Shifted
from ldpaudit.accountants.counting.counter_lattice import PRECISION, Composed
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.pld.finite import Atoms, FiniteProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_DEPTHS = (48, 96, 192, 384, 576, 800)
"""Nats: how small a probability the window leaves out; the last is below all floats."""
_SPARE = 24
"""Nats between a delta and the depth at which it is computed."""
_JOINT = 1 << 14
"""Joint outcomes of different likelihood ratio that are enumerated."""
_EXACT_COINS = 256
_COUNTERS = 4096
_EPSILON_WIDTH = 2.0**-30

Outcomes: TypeAlias = dict[Fraction | None, tuple[Fraction, Fraction]]
"""(P, Q) by likelihood ratio; None stands for an infinite one."""


@dataclass(frozen=True)
class VectorShiftProfile(PrivacyProfile):
    """Profile of a vector of counters, Bin(n, gamma) on each, of which a user changes some by given amounts.

    EXACT where the joint outcomes are few, else INTERVAL: the two ends are typically within a few per cent of delta.

    Parameters
    ----------
    n : int
        Coins of each counter.
    gamma : Fraction
        In (0, 1).
    shifts : tuple of (int, int)
        By how much (not 0, at most n), and how many counters; ``((1, tau), (-1, tau))`` is tau up and tau down.
    """

    n: int
    gamma: Fraction
    shifts: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", Fraction(self.gamma))
        proper = self.shifts and all(0 < abs(s) <= self.n and times >= 1 for s, times in self.shifts)
        if not (0 < self.gamma < 1 and proper):
            raise ValueError(
                "VectorShiftProfile needs 0 < gamma < 1 and shifts with 0 < |shift| <= n and counts >= 1, "
                f"got n={self.n}, gamma={self.gamma}, shifts={self.shifts}"
            )
        if sum(times for _, times in self.shifts) > _COUNTERS:
            raise Unsupported(self, f"at most {_COUNTERS} counters that change are composed")

    @property
    def source(self) -> str:
        """What is computed."""
        changes = ", ".join(f"{times} by {s:+d}" for s, times in self.shifts)
        return f"counters with Bin({self.n}, {float(self.gamma):g}) each: {changes}"

    def directions(self) -> tuple[tuple[tuple[Shifted, int], ...], ...]:
        """Both orders of the pair, or one where they are mirror images."""
        found = []
        for flip in (False, True):
            parts = Counter[Shifted]()
            for s, times in self.shifts:
                parts[Shifted(self.n, 1 - self.gamma if (s < 0) != flip else self.gamma, abs(s))] += times
            found.append(tuple(sorted(parts.items(), key=lambda each: (each[0].gamma, each[0].k))))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _exactly(self) -> FiniteProfile | None:
        pairs = [_joint_atoms(parts) for parts in self.directions()]
        known = [Atoms.of(pair) for pair in pairs if pair is not None]
        return FiniteProfile(tuple(known), self.source) if len(known) == len(pairs) else None

    @cached_property
    def _composed(self) -> dict[int, tuple[Composed, ...]]:
        return {nats: tuple(Composed(parts, nats) for parts in self.directions()) for nats in _DEPTHS}

    def delta(self, epsilon: Number) -> Enclosure:
        """See the class; the first query composes, the others read."""
        require_epsilon(epsilon)
        if self._exactly is not None:
            return self._exactly.delta(epsilon)
        if math.isinf(epsilon):
            return self._escape()
        eps, nats, likely = Fraction(epsilon), 0, self._normal_depth(float(epsilon))
        for nats in (*(d for d in _DEPTHS[:-1] if d > likely), _DEPTHS[-1]):
            # Deep enough when what the window leaves out is nothing to this delta.
            if math.log(self._high(eps, nats) or 5e-324) > _SPARE - nats:
                break
        return Enclosure(self._low(eps, nats), self._high(eps, nats), Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def _normal_depth(self, epsilon: float) -> float:
        """About the nats of delta, were the noise normal; at most: less is where a search may begin."""
        mu = math.sqrt(self._spread)
        return max(0.0, epsilon / mu - mu / 2) ** 2 / 2

    @property
    def _spread(self) -> float:
        """About the variance of the loss."""
        return sum(times * s * s for s, times in self.shifts) / float(self.n * self.gamma * (1 - self.gamma))

    def _high(self, epsilon: Fraction, nats: int) -> float:
        return max(each.high(epsilon) for each in self._composed[nats])

    def _low(self, epsilon: Fraction, nats: int) -> float:
        return max(each.low(epsilon) for each in self._composed[nats])

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The logarithm of a rational where the profile is EXACT, else a search."""
        require_delta(delta)
        if self._exactly is not None:
            return self._exactly.epsilon(delta)
        escape = self._escape()
        if escape.low > delta:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        nats = next((d for d in _DEPTHS if d - _SPARE > -math.log(max(delta, 5e-324))), _DEPTHS[-1])
        if self._high(Fraction(0), nats) <= delta:
            return Enclosure(0.0, 0.0, Rigour.INTERVAL, self.source)
        guess, low = math.sqrt(self._spread) * 4, 0.0
        if self._low(Fraction(0), nats) > delta:
            low = crossing(lambda e: self._low(Fraction(e), nats), delta, guess, 2.0, _EPSILON_WIDTH)[0]
        if escape.high > delta:
            return Enclosure(low, math.inf, Rigour.INTERVAL, self.source)
        high = crossing(lambda e: self._high(Fraction(e), nats), delta, low or guess, 1.01, _EPSILON_WIDTH)[1]
        return Enclosure(min(low, high), high, Rigour.INTERVAL, self.source)

    def _escape(self) -> Enclosure:
        """Delta at an infinite epsilon."""
        with flint.ctx.workprec(PRECISION):
            best = flint.arb(0)
            for each in self._composed[_DEPTHS[0]]:
                best = best.max(each.escape())
            return Enclosure.of(best, source=self.source).clamp(0.0, 1.0)


def _joint_atoms(parts: tuple[tuple[Shifted, int], ...]) -> list[tuple[Fraction, Fraction]] | None:
    """Joint outcomes merged by likelihood ratio; None where they are too many."""
    joint: Outcomes = {Fraction(1): (Fraction(1), Fraction(1))}
    for law, times in parts:
        if law.n > _EXACT_COINS:
            return None
        one = _outcomes(law)
        for _ in range(times):
            if len(joint) * len(one) > 16 * _JOINT:
                return None
            joint = _joint(joint, one)
            if len(joint) > _JOINT:
                return None
    return list(joint.values())


def _outcomes(law: Shifted) -> Outcomes:
    """Those of one counter."""
    g = law.gamma
    pmf = [math.comb(law.n, x) * g**x * (1 - g) ** (law.n - x) for x in range(law.n + 1)]
    found: Outcomes = {}
    for y in range(law.n + law.k + 1):
        p = pmf[y - law.k] if y >= law.k else Fraction(0)
        q = pmf[y] if y <= law.n else Fraction(0)
        key = p / q if q else None
        a, b = found.get(key, (Fraction(0), Fraction(0)))
        found[key] = a + p, b + q
    return found


def _joint(one: Outcomes, other: Outcomes) -> Outcomes:
    found: Outcomes = {}
    for r, (p, q) in one.items():
        for s, (a, b) in other.items():
            key = None if r is None or s is None else r * s
            x, y = found.get(key, (Fraction(0), Fraction(0)))
            found[key] = x + p * a, y + q * b
    return found
