r"""Replacement: the divergence of a shuffle if the adversary learns reports with names, not who drew from the blanket.

User 1 holds x1 or x2, n - 1 others hold anything, and b is a part of every other user's law, of mass :math:`\gamma`. With

.. math:: W_x = \frac{R_{x_1}(Y) - e^\varepsilon R_{x_2}(Y)}{R_x(Y)}, \qquad Y \sim R_x

the divergence of any data set is at most

.. math:: \sum_{s=1}^{n-1} \gamma (1 - \gamma)^{s-1} \max_{x_1, \dots, x_{n-s}} \frac{E\bigl(\sum_k W_{x_k}\bigr)_+}{n-s}
          + (1 - \gamma)^{n-1} \delta_1(\varepsilon)

where :math:`\delta_1` is that of one report.

*Proof.* Each of the others draws its report from :math:`b/\gamma` with probability :math:`\gamma`, and else from what is left of
its law. Go through the others in a random order, up to the first one, K, who draws from :math:`b/\gamma`; s - 1 users F were
passed. The adversary is told: F with their reports; the report of each of the n - s users left with its name, but under the name
of K that of user 1; and the report of K, whose law is :math:`b/\gamma`, without a name. The multiset of all reports follows from
that. Given F, K is any of those left, with equal chances, and the coins of the others were not looked at. So the named reports
have the density :math:`\frac1{n-s} \sum_k R_{x_j}(y_k)/R_{x_k}(y_k)` with respect to the product of the laws of those left, and
the rest has one law on both sides. If nobody draws from b, user 1's report alone tells them apart.

The largest mean over m users is bounded by the largest of one integral for each type (`numerics.largest_positive_part`), which
covers mixtures of laws, too. On one contour the integral of an m-th power is log-convex in m, and so is its mth part: between two
numbers of users it is below the chord of the logarithms, and the sum over s is geometric. No mean exceeds :math:`\delta_1`, for the
positive part of a sum is at most the sum of the positive parts: that bounds what is left where few users are.

Where others hold different values, that is far more than the shuffle tells; the names within pairs of users need not be told
(`unnamed_pairs`).

Nearly tight: the data set in which all others hold x has exactly :math:`E(\sum_{k \le n} W_x)_+ / n` (`blanket`), so that no more
than some :math:`1/\gamma` of n users are lost. It needs more than ten times as many; else the blanket is better.

*Samples.* Where m of n users are drawn in secret and shuffled, with :math:`q = m/n`, a sample with user 1 is one D of the others
in which user 1 took the place of a random member. The adversary is told D by name, so that no blanket is needed: the reports have
the density :math:`\frac1m \sum_{k \in D} (q R_{x_j}(y_k)/R_{x_k}(y_k) + 1 - q)`, as if user 1 sent what x_k would with
probability 1 - q. With these laws for user 1, delta is at most :math:`E(\sum_{k \in D} W_{x_k})_+ / m`; equal to it where all
others are alike, who are not told apart by names.

*Poisson samples.* Users who send with probability q, each by a coin of its own, have one more view in common, nothing, of the
probability 1 - q under every law: the theorem is of these laws, with the blanket :math:`1 - q + q\gamma`.

*Any* :math:`\varepsilon_0`-LDP plan: :math:`R_{x_1}/R_x`, :math:`R_{x_2}/R_x` and their ratio lie between
:math:`e^{\pm\varepsilon_0}`, and the first two have the mean 1 under :math:`R_x`. To spread their law to the six vertices of that
hexagon makes every mean of positive parts larger, and each law on the vertices is a mixture of such on at most three. With
:math:`\gamma = e^{-\varepsilon_0}`, for :math:`e^{-\varepsilon_0} R_{x_1}` is a part of every law.

Source: derived here; enumerated in tests/shuffling. The limit for many users is the largest chi-squared divergence of arXiv
2601.19154.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Protocol, TypeAlias

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import Probability, as_ball, ball
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.largest_positive_part import largest_positive_parts
from ldpaudit.accountants.numerics.quotient_laws import QuotientLaws
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.unnamed_pairs import alone

_NEAR = 0.2  # part of the users who may be passed on one contour; of more parts bounds are the same to 5 digits
_MANY = 10**5  # users from which on three moments of each law are as good as its transform
_FEWEST, _UNNAMED = 4, 32
"""Users in pairs without names at least; and up to how many these may be bounded worse than with names, by phases."""
_ROUNDED = 1e-13  # relative error of a sum of two logarithms
_LEFT = 1e-5  # part of delta that may be lost to the chance that nobody draws from the blanket


class Type(Hashable, Protocol):
    """User 1's two laws, and that of another user: a `Blanket`, or what becomes one if it is needed."""

    def terms(self, exp_epsilon: flint.arb) -> Law:
        """The law of W."""

    def drawn(self, rate: Fraction) -> Type:
        """See `Blanket.drawn`."""

    def part(self, rate: Fraction) -> Type:
        """See `Blanket.part`."""


Groups: TypeAlias = tuple[tuple[Type, ...], ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The bound of one shuffled plan."""

    # R1, R2 and Rx in place of the blanket, for every pair of user 1's inputs in both orders and every input of another user;
    # none where they are too many
    types: tuple[Type, ...]
    gamma: Probability  # the mass of b, in (0, 1]; 1 of a sample
    is_sample: bool = False  # whether user 1 takes the place of one of `users` others, instead of being one of as many
    # of one report of a bundle, where these are fewer: each type, and each with equal inputs of user 1, is made of a mixture of
    # these by post-processing
    runs: tuple[Blanket, ...] = ()
    pairs: QuotientLaws | None = None  # all types in floats, in groups of which each has its own contour
    # types of which some are of two users, and of which one group has all that are left of any data set: see `unnamed_pairs`
    groups: Groups = ()

    def left(self, users: int) -> int:
        """About how many users are not lost."""
        return users if self.is_sample else max(1, users - math.ceil(1 / float(self.gamma)))

    def drawn(self, rate: Fraction) -> Replacement:
        """Of a secret sample, at this rate."""
        pairs = None if self.pairs is None else self.pairs.drawn(rate)
        types, *groups = (tuple(each.drawn(rate) for each in some) for some in (self.types, *self.groups))
        return Replacement(types, Fraction(1), True, pairs=pairs, groups=tuple(groups))

    def part(self, rate: Fraction) -> Replacement:
        """Of users who send with this probability, each."""
        gamma = 1 - rate + rate * self.gamma if isinstance(self.gamma, Fraction) else 1 - ball(rate) * (1 - as_ball(self.gamma))
        pairs = None if self.pairs is None else self.pairs.part(rate)
        types, runs, *groups = (tuple(each.part(rate) for each in some) for some in (self.types, self.runs, *self.groups))
        return Replacement(types, gamma, self.is_sample, runs, pairs, tuple(groups))  # type: ignore[arg-type]

    def delta(self, exp_epsilon: flint.arb, users: int) -> flint.arb:
        """Upper bound of delta, at most 1; at the current precision, which should be `blanket.precision`."""
        gamma, means = as_ball(self.gamma), self.means(exp_epsilon)
        missed = 1 - gamma
        left = users - 1 + self.is_sample  # one of them is lost, user 1 or the user in whose place it is
        if not missed > 0:
            return means(left, (left,))[0].min(flint.arb(1)).upper()
        total, chance, most, passed = flint.arb(0), flint.arb(1), flint.arb(1), 0
        lost, usual = -math.log(_LEFT) / -float(missed.log()), 1 / float(gamma)
        while left >= 1:
            # As many more users are passed, or a part of all, but at most half of those who are left.
            steps = math.floor(min(max(1, left / 2), max(1.0, users * _NEAR), max(1, 2 * lost, passed)))
            first, last = means(max(left - steps, left - math.ceil(min(steps / 2, usual))), (left, left - steps + 1))
            beyond = missed**steps
            total += (chance * gamma * _along(first, last, missed, steps)).min(chance * (1 - beyond) * most)
            chance, passed, left = chance * beyond, passed + steps, left - steps
            if chance <= total * _LEFT:
                break
            if passed - steps < users * _NEAR <= passed:  # once, and not where a few more are the last
                most = means(1, (1,))[0].min(most)
            if first >= most or chance * most <= total * _LEFT:
                break
        return (total + chance * most).min(flint.arb(1)).upper()

    def means(self, exp_epsilon: flint.arb) -> Callable[[int, Sequence[int]], list[flint.arb]]:
        """Upper bounds of the largest mean of some numbers of terms, whatever the others hold, on contours made for about m.

        Each is one of a function that is log-convex between two of these numbers.
        """
        laws: list[Law] = []

        @cache
        def terms(each: Type) -> Law:
            return each.terms(exp_epsilon)

        def by_transforms(m: int, numbers: Sequence[int]) -> list[flint.arb]:
            found = []
            if self.groups and min(numbers) >= _FEWEST:
                largest = [flint.arb(0)] * len(numbers)
                for group in self.groups:
                    own = largest_positive_parts([terms(each) for each in group], m, numbers, least=largest)
                    largest = [a.max(b) for a, b in zip(own, largest, strict=True)]
                found.append(largest)
            if not found or m < _UNNAMED:
                laws[:] = laws or self._laws(exp_epsilon)
                found.append(largest_positive_parts(laws, m, numbers))
            return min(found, key=lambda each: float(sum(each, flint.arb(0))))

        ways = [by_transforms] if self.types else []
        if (pairs := self.pairs) is not None:
            ways.append(lambda m, numbers: list(map(_power, pairs.log_ends(exp_epsilon - 1, m, numbers))))

        def ends(m: int, numbers: Sequence[int]) -> list[flint.arb]:
            found = [flint.arb("inf")] * len(numbers)
            for way in ways[:: -1 if m >= _MANY else 1]:
                found = [each / n for each, n in zip(way(m, numbers), numbers, strict=True)]
                if all(each < 1 for each in found):
                    break
            return found

        return ends

    def _laws(self, exp_epsilon: flint.arb) -> list[Law]:
        """Of all types; in floats at first, where these are known."""
        if self.pairs is None or self.pairs.shape[:2] != (1, len(self.types)):
            return [each.terms(exp_epsilon) for each in self.types]
        return self.pairs.laws(exp_epsilon - 1)


def _power(nats: float) -> flint.arb:
    """Upper bound of e to the power of a float that was rounded."""
    return flint.arb(nats + _ROUNDED * (1 + abs(nats))).exp() if math.isfinite(nats) else flint.arb(0 if nats < 0 else "inf")


def _along(first: flint.arb, last: flint.arb, missed: flint.arb, steps: int) -> flint.arb:
    """Upper bound of the sum over as many steps of a log-convex function, from the first value to the last, times powers."""
    if steps == 1 or not (first.is_finite() and last.is_finite()) or not (first > 0 and last > 0):
        return first.max(last) * steps if first.is_finite() and last.is_finite() else flint.arb("inf")
    ratio = missed * ((last / first).log() / (steps - 1)).exp()
    most = steps * ratio.max(flint.arb(1)) ** (steps - 1)
    return first * (most.min((1 - ratio**steps) / (1 - ratio)) if ratio < 1 else most)


def quotients(types: Sequence[Blanket]) -> QuotientLaws | None:
    """One group of laws in floats, at the current precision; None where floats do not hold them."""

    def row(r1: Probability, r2: Probability, b: Probability) -> tuple[float, ...]:
        apart = r1 - r2 if type(r1) is type(r2) else as_ball(r1) - as_ball(r2)  # type: ignore[operator]
        return (0.0, 0.0, 0.0) if b == 0 else (float(apart), float(r2), float(b))

    return QuotientLaws.of_types([np.array([row(*cell) for cell in each.cells]) for each in types])


def halves(p: Probability) -> tuple[float, float]:
    """A number as the sum of two floats, to 100 bits."""
    high = float(p)
    return high, float(p - flint.arb(high)) if isinstance(p, flint.arb) else float(p - Fraction(high))


def replacement(types: Iterable[Blanket], gamma: Probability) -> Replacement | None:
    """Of all types and the mass of the blanket; None where user 1 may say what another user never does, or gamma is 0."""
    found = tuple(dict.fromkeys(types))
    never = any(b == 0 and not r1 == r2 == 0 for each in found for r1, r2, b in each.cells)
    return None if never or not gamma > 0 else Replacement(found, gamma, pairs=quotients(found))


def of_rows(rows: Sequence[Sequence[Fraction]], types: Iterable[Blanket]) -> Replacement | None:
    """Of the laws of all inputs on the same views; None where a view is one of some inputs and not of others, or floats do not do.

    ``types``: all of them, if they are listed. User 1's laws may be mixtures of the given ones, too: delta is convex in the two.
    """
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    gamma = sum(map(min, columns), Fraction(0))
    if not all(map(min, columns)):
        return None
    parts = {p: halves(p) for p in set().union(*columns)}  # a law has few different probabilities
    high, low = np.moveaxis(np.array([[parts[p] for p in row] for row in zip(*columns, strict=True)]), 2, 0)
    first, second = np.nonzero(~np.eye(len(high), dtype=np.bool_))
    differences = high[first] - high[second] + (low[first] - low[second])
    pairs = QuotientLaws.of(differences[:, None], high[second][:, None], high[None])
    listed = tuple(dict.fromkeys(types))
    # A type may stand for others whose values are less, of users who have neither of user 1's laws: not so where there are two.
    groups = alone(listed) if len(set(map(tuple, rows))) == 2 else ()
    return None if pairs is None else Replacement(listed, gamma, pairs=pairs, groups=groups)


def of_any_map(epsilon0: flint.arb) -> Replacement:
    """Of any plan that is epsilon0-LDP, at the current precision.

    The only laws on two or three vertices of the hexagon with the mean (1, 1) are those on opposite ones, of which two are
    binary randomized response and one has equal laws for user 1's inputs, and two on three vertices, of which one is ternary.
    """
    e = epsilon0.exp()
    one, less = flint.arb(1), 1 / e
    two, three, last = 1 / (1 + e), 1 / (2 + e), 1 / (1 + 2 * e)
    laws = (
        ((less, less, e * two), (e, e, two)),
        ((one, less, e * two), (one, e, two)),
        ((less, one, e * two), (e, one, two)),
        ((less, less, e * three), (e, one, three), (one, e, three)),
        ((e, e, last), (one, less, e * last), (less, one, e * last)),
    )
    types = tuple(Blanket(tuple((u * w, v * w, w) for u, v, w in law)) for law in laws)
    return Replacement(types, less, pairs=quotients(types))
