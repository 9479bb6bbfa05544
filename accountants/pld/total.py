"""The law of the total loss of some groups, on one lattice."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import floor
from ldpaudit.accountants.pld.distribution import ZERO, Kind, Loss
from ldpaudit.accountants.pld.lattice import LatticeLaw, Point, exactly, place
from ldpaudit.accountants.pld.points import DEPTH, MOST_POINTS, Tilted, coin_indices, summed
from ldpaudit.accountants.pld.tilt import Moments, lattice_step

LATTICE_POINTS = 1 << 16
"""Points of a total's lattice, where losses are rounded to it."""
POWER_POINTS = 1 << 15
"""The same for laws that are squared again and again."""
EXACT_POINTS = 1 << 17
"""Points of a total's lattice at most, where all losses are multiples of one."""

_MOST_MULTIPLE = 1 << 12

Groups = tuple[tuple[Kind, int], ...]


def common_step(losses: Iterable[Loss]) -> Loss | None:
    """The largest loss of which all these are multiples; None where there is none, or only a far too small one."""
    found = [loss for loss in losses if loss != ZERO]
    if all(loss.ratio == 1 for loss in found):
        return Loss(nats=reduce(_common_nats, (abs(loss.nats) for loss in found)))
    if any(loss.nats for loss in found):
        return None
    ratios = {max(loss.ratio, 1 / loss.ratio) for loss in found}
    base = reduce(_common_ratio, ratios)
    if base == 1 or any(base ** round(_log(ratio) / _log(base)) != ratio for ratio in ratios):
        return None
    return Loss(base)


def _common_nats(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a


def _common_ratio(a: Fraction, b: Fraction) -> Fraction:
    """Euclid's algorithm on logarithms; 1 where the ratios are, or seem to be, no powers of one rational."""
    while a != 1 and b != 1:
        if a < b:
            a, b = b, a
        times = int(_log(a) / _log(b) + 1e-9)
        # Of powers of one rational, the longer one is the higher one, and a quotient is shorter than it.
        if times > _MOST_MULTIPLE or (a / b).denominator.bit_length() > a.denominator.bit_length():
            return Fraction(1)
        a, b = b, a / b**times
    return max(a, b)


def _log(ratio: Fraction) -> float:
    return float(Loss(ratio).ball())


def multiple(loss: Loss, step: Loss) -> int:
    """How many steps a loss is."""
    return floor(loss.ball() / step.ball() + flint.arb(0.5))


def exact_law(groups: Groups, tilt: Fraction, moments: Moments) -> LatticeLaw | None:
    """The law on the lattice of all multiples of a common step; None where there is none, or it is too small."""
    step = common_step(loss for kind, _ in groups for loss in kind.losses)
    if step is None:
        return None
    if moments.width(float(tilt), DEPTH) / float(step.ball()) > EXACT_POINTS:
        return None
    laws = [_exact_group(Tilted(kind, tilt), times, step) for kind, times in groups]
    return product(laws)


def _exact_group(tilted: Tilted, times: int, step: Loss) -> LatticeLaw:
    if tilted.kind.is_coin:
        unit = multiple(tilted.kind.losses[0], step)
        indices, outside = coin_indices(tilted, times)
        return exactly({unit * index: mass for index, mass in indices.items()}, step, tilted.tilt, outside)
    masses: dict[int, flint.arb] = {}
    for loss, mass in zip(tilted.kind.losses, tilted.masses, strict=True):
        masses[multiple(loss, step)] = mass
    return exactly(masses, step, tilted.tilt, flint.arb(0)).power(times)


def spread_law(groups: Groups, tilt: Fraction, moments: Moments) -> LatticeLaw:
    """The law with every loss spread over two points of a lattice."""
    exponent = lattice_step(moments.width(float(tilt), DEPTH), LATTICE_POINTS)
    few: list[list[Point]] = []
    laws: list[LatticeLaw] = []
    for kind, times in groups:
        tilted = Tilted(kind, tilt)
        if kind.is_coin:
            indices, outside = coin_indices(tilted, times)
            points = [(tilted.losses[0] * index, mass) for index, mass in indices.items()]
            if outside == 0:
                few.append(points)
            else:
                laws.append(place(points, _step(exponent), tilt, outside))
            continue
        runs = tilted.runs(times)
        if runs < times:
            laws.append(_powered(tilted, runs, times // runs, exponent))
        if times % runs or runs == times:
            few.append(tilted.points(times % runs or runs))
    laws += [place(points, _step(exponent), tilt, flint.arb(0)) for points in _together(few)]
    return product(laws)


def _powered(tilted: Tilted, runs: int, power: int, exponent: int) -> LatticeLaw:
    """The law of ``runs * power`` runs: squared on lattices that grow coarser as the law grows wider."""
    own = lattice_step(Moments(((tilted.kind, runs),)).width(float(tilted.tilt), DEPTH), POWER_POINTS)
    law = place(tilted.points(runs), _step(min(own, exponent)), tilted.tilt, flint.arb(0))
    return law.power(power, POWER_POINTS).on(_step(exponent))


def _step(exponent: int) -> Loss:
    return Loss(nats=Fraction(2) ** exponent)


def _together(few: list[list[Point]]) -> list[list[Point]]:
    """Short lists of losses, summed with each other while they stay short: every list is rounded once."""
    found: list[list[Point]] = []
    for points in sorted(few, key=len):
        if found and len(found[-1]) * len(points) <= MOST_POINTS:
            found[-1] = summed(found[-1], points)
        else:
            found.append(points)
    return found


def product(laws: list[LatticeLaw]) -> LatticeLaw:
    """The law of the sum of independent losses, short laws first; on the coarsest of their lattices."""
    if laws[0].variance > 0:
        step = max((law.step for law in laws), key=lambda step: step.nats)
        laws = [law.on(step) for law in laws]
    queue = sorted(laws, key=lambda law: len(law.masses))
    while len(queue) > 1:
        first, second, *rest = queue
        queue = sorted([first * second, *rest], key=lambda law: len(law.masses))
    return queue[0]
