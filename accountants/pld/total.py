"""Privacy loss distribution of a whole composition: the sum of independent losses on one lattice, made for each
tilt."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import floor
from ldpaudit.accountants.pld.distribution import ZERO, Groups, Loss, infinite_mass
from ldpaudit.accountants.pld.hockey_stick import HockeyStick
from ldpaudit.accountants.pld.lattice import LatticePLD, Point, UnknownError, exactly, place
from ldpaudit.accountants.pld.tilt import DEPTH, MOST_POINTS, Moments, Tilted, coin_indices, lattice_step, summed
from ldpaudit.core.cached import cached
from ldpaudit.errors import Unsupported

LATTICE_POINTS = 1 << 16
"""Of a discretized total; 2**14, 2**16, 2**18 know an epsilon of 600 guarantees to 2e-5, 4e-7, 1.3e-9."""
POWER_POINTS = 1 << 15
"""Of a law that is squared; 2**13, 2**15, 2**17 know an epsilon of 1e5 weak runs to 7e-4, 2e-5, 2e-6."""
_COARSE = -4
"""Power of two from which on, as the step of a total, a law that is squared has as many points as the total: with fewer, a thousand
runs with losses of tens are known from above only."""
_MANY_BITS, _LEAST_POINTS = 24, 1 << 9
"""Bits of a number of runs that is squared with all those points, and the least that is left of them for any number:
without this 1e9 runs of Laplace noise take 8 s instead of 4 s, and 1e21 runs ever longer."""
EXACT_POINTS = 1 << 17
"""Most points of a total whose losses are multiples of one: these are EXACT, and convolved in 0.06 s."""
_MOST_MULTIPLE = 1 << 12
"""Largest quotient in Euclid's algorithm on losses: 16 runs of a law with losses of 4096 steps and their opposites
already have `EXACT_POINTS` total losses."""
_KEPT = 4 * LATTICE_POINTS  # points kept in memory: a search for one epsilon uses one tilt, and a coarse curve some ten


@dataclass(frozen=True)
class TotalLoss:
    """The sum of independent losses."""

    groups: Groups  # different laws, with the number of runs of each
    # points of the lattice of a discretized total; `LATTICE_POINTS` and `POWER_POINTS` by default
    points: int | None = None

    @cached
    def infinite(self) -> flint.arb:
        """Infinite-loss mass, at the precision of the first call."""
        return infinite_mass(self.groups)

    @cached
    def moments(self) -> Moments:
        """Float estimates; of the laws that have a loss."""
        return Moments(tuple((law, times) for law, times in self.groups if law.has_loss))

    @cached
    def _made(self) -> dict[Fraction, HockeyStick | None]:
        return {}

    def at(self, tilt: float) -> HockeyStick:
        """As `known_at`; raises Unsupported where that is None."""
        if (found := self.known_at(tilt)) is None:
            raise Unsupported(f"a sum of {len(self.groups)} kinds of losses", "it has too many terms for a lattice")
        return found

    def known_at(self, tilt: float) -> HockeyStick | None:
        """Hockey-stick divergence of the finite losses, from a lattice for this tilt, rounded to three digits.

        None where the losses are too many for a lattice to bound their sum.
        """
        rate = Fraction(float(f"{tilt:.3g}"))
        if rate not in self._made:
            while len(self._made) >= _KEPT // (self.points or LATTICE_POINTS):
                del self._made[next(iter(self._made))]
            groups = self.moments.groups
            # Laws without a finite loss other than 0 count, too: they may have infinite-loss mass.
            totals = [(Tilted(law, rate).total, n) for law, n in self.groups]
            log_total = sum((n * total.log() for total, n in totals), flint.arb(0))
            try:
                if not all(total > 0 for total, _ in totals):
                    raise UnknownError("no finite loss is known to have any mass")
                law = exact_law(groups, rate, self.moments) or discretized_law(groups, rate, self.moments, self.points)
                self._made[rate] = HockeyStick(law, log_total)
            except UnknownError:
                self._made[rate] = None
        return self._made[rate]


def common_step(losses: Iterable[Loss]) -> Loss | None:
    """The largest loss of which all these are multiples; None where none is found, or one that is far too small."""
    found = [loss for loss in losses if loss != ZERO]
    if all(loss.ratio == 1 for loss in found):
        return Loss(nats=reduce(_common_nats, (abs(loss.nats) for loss in found)))
    if any(loss.nats for loss in found):
        return None
    ratios = {max(loss.ratio, 1 / loss.ratio) for loss in found}
    base = reduce(_common_ratio, ratios)
    return Loss(base) if base != 1 and all(_is_power(ratio, base) for ratio in ratios) else None


def _common_nats(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _is_power(ratio: Fraction, base: Fraction) -> bool:
    """Whether the ratio is a power of the base: decided without the power where that is certainly too long."""
    times = round(_log(ratio) / _log(base))
    return _fits(base, times, ratio) and base**times == ratio


def _fits(base: Fraction, times: int, ratio: Fraction) -> bool:
    """Whether the power's denominator may be as short as the ratio's."""
    return times * (base.denominator.bit_length() - 1) < ratio.denominator.bit_length()


def _common_ratio(a: Fraction, b: Fraction) -> Fraction:
    """Euclid's algorithm on logarithms; 1 where it finds no rational of which both ratios are powers."""
    while a != 1 and b != 1:
        if a < b:
            a, b = b, a
        times = int(_log(a) / _log(b) + 1e-9)
        # For two powers of one rational, neither a quotient nor a lower power has a longer denominator than the larger power.
        if times > _MOST_MULTIPLE or not _fits(b, times, a):
            return Fraction(1)
        if (a / b).denominator.bit_length() > a.denominator.bit_length():
            return Fraction(1)
        a, b = b, a / b**times
    return max(a, b)


def _log(ratio: Fraction) -> float:
    return float(Loss(ratio).ball())


def multiple(loss: Loss, step: Loss) -> int:
    """The loss, a multiple of the step, in steps."""
    return floor(loss.ball() / step.ball() + flint.arb(0.5))


def exact_law(groups: Groups, tilt: Fraction, moments: Moments) -> LatticePLD | None:
    """The law on the lattice of a common step of all losses; None where there is none, or the lattice is too long."""
    found = [law.losses for law, _ in groups]
    step = None if None in found else common_step(loss for losses in found for loss in losses or ())
    if step is None:
        return None
    if not moments.width(float(tilt), DEPTH) < EXACT_POINTS * step.ball():  # a step may be below every float
        return None
    laws = [_exact_group(Tilted(law, tilt), times, step) for law, times in groups]
    return product(laws)


def _exact_group(tilted: Tilted, times: int, step: Loss) -> LatticePLD:
    losses = tilted.law.losses or ()
    if tilted.law.is_coin:
        unit = multiple(losses[0], step)
        indices, outside = coin_indices(tilted, times)
        return exactly({unit * index: mass for index, mass in indices.items()}, step, tilted.tilt, outside)
    masses: dict[int, flint.arb] = {}
    for loss, mass in zip(losses, tilted.masses, strict=True):
        masses[multiple(loss, step)] = mass
    return exactly(masses, step, tilted.tilt, flint.arb(0)).power(times)


def discretized_law(groups: Groups, tilt: Fraction, moments: Moments, points: int | None = None) -> LatticePLD:
    """The law by connect-the-dots discretization of every loss; it dominates the true one."""
    exponent = lattice_step(moments.width(float(tilt), DEPTH), points or LATTICE_POINTS)
    few: list[list[Point]] = []
    laws: list[LatticePLD] = []
    for law, times in groups:
        tilted = Tilted(law, tilt)
        if law.is_coin:
            indices, outside = coin_indices(tilted, times)
            sums = [(tilted.losses[0] * index, mass) for index, mass in indices.items()]
            if outside == 0:
                few.append(sums)
            else:
                laws.append(place(sums, _step(exponent), tilt, outside))
            continue
        runs = tilted.runs(times)
        if runs < times:
            # Fewer points for more runs than a million: there are more squarings, and no lattice shows much of such a sum.
            squared = POWER_POINTS if exponent < _COARSE else LATTICE_POINTS
            fewer = max(_LEAST_POINTS, squared >> max(0, times.bit_length() - _MANY_BITS) // 4)
            laws.append(_powered(tilted, runs, times // runs, exponent, points or fewer))
        if times % runs or runs == times:
            few.append(tilted.points(times % runs or runs))
    laws += [place(sums, _step(exponent), tilt, flint.arb(0)) for sums in _together(few)]
    return product(laws)


def _powered(tilted: Tilted, runs: int, power: int, exponent: int, points: int) -> LatticePLD:
    """The law of ``runs * power`` runs, by repeated squaring on lattices that get coarser as the law gets wider."""
    own = lattice_step(Moments(((tilted.law, runs),)).width(float(tilted.tilt), DEPTH), points)
    law = place(tilted.points(runs), _step(min(own, exponent)), tilted.tilt, flint.arb(0))
    return law.power(power, points).on(_step(exponent))


def _step(exponent: int) -> Loss:
    return Loss(nats=Fraction(2) ** exponent)


def _together(few: list[list[Point]]) -> list[list[Point]]:
    """Lists of losses, summed with each other while they stay short, for every list is discretized once."""
    found: list[list[Point]] = []
    for points in sorted(few, key=len):
        if found and len(found[-1]) * len(points) <= MOST_POINTS:
            found[-1] = summed(found[-1], points)
        else:
            found.append(points)
    return found


def product(laws: list[LatticePLD]) -> LatticePLD:
    """The law of the sum of independent losses, on the coarsest of their lattices; short laws are multiplied first."""
    if laws[0].variance > 0:
        step = max((law.step for law in laws), key=lambda step: step.nats)
        laws = [law.on(step) for law in laws]
    queue = sorted(laws, key=lambda law: len(law.masses))
    while len(queue) > 1:
        first, second, *rest = queue
        queue = sorted([first * second, *rest], key=lambda law: len(law.masses))
    return queue[0]
