r"""The expected positive part of a sum of n iid values: certified, at a cost that does not grow with n.

.. math:: E\Bigl[\Bigl(\sum_{i \le n} X_i\Bigr)_+\Bigr] = \frac{1}{2\pi} \int_{-\infty}^{\infty}
          \frac{M(\sigma + it)^n}{(\sigma + it)^2}\, dt, \qquad M(s) = E\, e^{s X}, \quad \sigma > 0

The blanket bounds of shuffling are such expectations. With :math:`\sigma` near the saddle point the integrand is almost
a Gaussian, so that the trapezoidal rule needs a few dozen nodes. Two errors are bounded and added, as in `trapezoid`:
*aliasing*, with :math:`A_\pm = M(\sigma \pm a)^n \pi/(\sigma \pm a)`, as the integrand is analytic for :math:`|\Im t| <
\sigma`; and the *nodes left out*, as the transform of a discrete law does not decay to 0.

Where all but one value are rare, the sum goes by how many copies are rare. With r the probability of all rare values
together, the number M of copies that have one is binomial. The values of at most m such copies are enumerated; the rest
is at most what the positive values add up to there,

.. math:: E\Bigl[\Bigl(\sum_i X_i\Bigr)_+; M > m\Bigr] \le n v_0^+ P[\mathrm{Bin}(n, r) > m]
          + n \sum_j p_j v_j^+ \, P[\mathrm{Bin}(n - 1, r) \ge m],

for a copy with the value j leaves n - 1 others. Beyond its mean a binomial law falls faster than a geometric series,
which bounds its tail by its first term.

Source: the integral is the inverse Laplace transform of :math:`x_+`, whose transform is :math:`1/s^2`.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import accumulate, combinations_with_replacement, product
from typing import Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import between
from ldpaudit.accountants.numerics.phases import Floats
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.numerics.trapezoid import Pairs, aliasing, chosen_nodes
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_bits, working_precision

PointMass: TypeAlias = tuple[flint.arb, flint.arb]  # (value, probability) of a discrete law
Known: TypeAlias = dict[tuple[int, int, int], list[PointMass]]  # sums of some atoms: by their first, number, and copies

MOST_EXPECTED = 64  # copies with a rare value that may be expected: of more, the sums have too many terms
MOST_SUMS = 4_000  # multisets of rare values that are enumerated, at some microseconds each
_HARDLY = flint.arb(2) ** -50  # relative size of the rest at which no tolerance asks for more
INVISIBLE = flint.arb(2) ** -1200
"""Below every positive float, the smallest of which is 2**-1074; expectations below are enclosed from 0."""
_MOST_HALVES, _MOST_IN_FLOATS = 10_000, 200_000
"""Multisets of half of the values that are enumerated, and that are in floats if the values are not rare."""
_FEW_TERMS, _MOST_COUNTS = 100, 4_000_000
"""Values whose factorials floats hold, and counts of each kind in these multisets, up to which they are added up in floats."""
_LOST, _LOOSE = 1e-290, 1e-9
"""A bound of what these sums lose of what is below all floats, and the part of a value or a probability that may be unknown."""


def positive_part(atoms: Sequence[PointMass], n: int, tolerance: float) -> flint.arb:
    """Enclose the expectation of the positive part of a sum of `n` independent copies.

    The enclosure is wider than the relative tolerance where the sum has few terms that differ from their most likely
    value: about 1e-3 for ten of them, 1e-6 for a thousand; and it begins at 0 where the expectation is below every
    float. The precision must exceed ``n.bit_length()`` by what the tolerance asks for.
    """
    atoms = [(value, p) for value, p in atoms if not p == 0]
    if all(value <= 0 for value, _ in atoms):
        return flint.arb(0)
    if all(value >= 0 for value, _ in atoms):
        return n * sum((value * p for value, p in atoms), flint.arb(0))
    halves = _halves(atoms, n)
    few = halves <= _MOST_HALVES
    if not few and (found := rarely(atoms, n, tolerance)) is not None:
        return found
    if halves <= _MOST_IN_FLOATS and (found := _in_floats(atoms, n, tolerance)) is not None:
        return found
    if few:
        return _enumerated(atoms, n)
    contour = Contour.of(atoms, n)
    ceiling = contour.ceiling()
    return between(0, ceiling) if ceiling < INVISIBLE else contour.value(tolerance)


def _halves(atoms: Sequence[PointMass], n: int) -> int:
    """The multisets of half of n values."""
    return math.comb(n - n // 2 + len(atoms) - 1, n - n // 2)


def _in_floats(atoms: Sequence[PointMass], n: int, tolerance: float) -> flint.arb | None:
    """`_enumerated`, in floats; None where these do not keep the tolerance.

    A sum is wrong by a part of the sizes of its values, and a probability by a part of itself, besides what is below all floats; a
    pair whose sum has the wrong sign is as wrong as its sum. So all errors are a part of the sizes of pairs that may be positive.
    """
    if n > _FEW_TERMS or _halves(atoms, n) * len(atoms) > _MOST_COUNTS:
        return None
    unit = reduce(flint.arb.max, (abs(value) for value, _ in atoms)).mid()
    atoms = [(value / unit, p) for value, p in atoms]
    parts = [0.0, *(float(each.rad() / abs(each).lower()) for atom in atoms for each in atom if each.rad() > 0)]
    if not all(each < _LOOSE for each in parts):
        return None
    values, masses = (np.array([float(each) for each in column]) for column in zip(*atoms, strict=True))
    (first, sizes, p), (second, others, q) = (_sums_in_floats(values, masses, m) for m in (n // 2, n - n // 2))
    order = np.argsort(second)
    second, others, q = second[order], others[order], q[order]
    part = 2 * n * (max(parts) + 2.0**-50) + (len(values) + len(p) + len(q)) * 2.0**-52
    beyond, excess, gross = (np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (q, q * second, q * others))
    above = np.searchsorted(second, -first, side="right")
    perhaps = np.searchsorted(second, -first - 2 * part * (sizes + others.max()))
    found = float(p @ (first * beyond[above] + excess[above]))
    wrong = 1.01 * part * float(p @ (sizes * beyond[perhaps] + gross[perhaps])) + _LOST
    if not wrong <= tolerance / 4 * found:
        return None
    return flint.arb(found, wrong) * unit * flint.arb(n // 2).fac() * flint.arb(n - n // 2).fac()


def _sums_in_floats(values: Floats, masses: Floats, m: int) -> tuple[Floats, Floats, Floats]:
    """`_sums`: their values, the sizes of what is added, and probabilities."""
    counts = _multisets(len(values), m)
    added = counts.astype(np.float64)
    powers = np.array([masses**c / float(math.factorial(c)) for c in range(m + 1)])
    chances = np.ones(len(counts))
    for own, column in zip(powers.T, counts.T, strict=True):
        chances *= own[column]
    return added @ values, added @ np.abs(values), chances


@lru_cache(maxsize=4)
def _multisets(kinds: int, m: int) -> NDArray[np.int8]:
    """How often each multiset of m has each kind."""
    places = np.array(list(combinations_with_replacement(range(kinds), m)), dtype=np.int64)
    counts = np.zeros((len(places), kinds), dtype=np.int8)
    for column in places.T:
        counts[np.arange(len(places)), column] += 1
    return counts


def _enumerated(atoms: Sequence[PointMass], n: int) -> flint.arb:
    """Sum over all pairs of multisets, of half of the values each: for one of the first, over those of the second that are larger.

    Where the precision does not tell whether a pair's sum is positive, its positive part is between 0 and what is not known of it.
    """
    known: Known = {}
    second = sorted(_sums(atoms, n - n // 2, known), key=lambda each: each[0].mid())
    levels, unknown = [value.mid() for value, _ in second], reduce(flint.arb.max, (value.rad() for value, _ in second))
    # The probabilities of the largest, and the means of their values where the others count as 0.
    beyond = [*accumulate((p for _, p in reversed(second)), initial=flint.arb(0))][::-1]
    excess = [*accumulate((p * value for value, p in reversed(second)), initial=flint.arb(0))][::-1]
    found = flint.arb(0)
    for value, p in _sums(atoms, n // 2, known):
        room = (value.rad() + unknown).upper()
        some = bisect_left(levels, (-value.mid() - room).lower())
        all_ = bisect_right(levels, (room - value.mid()).upper(), some)
        found += p * (value * beyond[all_] + excess[all_])
        if all_ > some:
            found += p * between(0, 2 * room * (beyond[some] - beyond[all_]).abs_upper())
    return found * flint.arb(n // 2).fac() * flint.arb(n - n // 2).fac()


@dataclass(frozen=True)
class Contour:
    """The integral for a sum with both signs."""

    atoms: tuple[PointMass, ...]  # values in `unit`, and their probabilities
    n: int  # number of copies
    unit: flint.arb  # the largest of the values' moduli
    saddle: float  # where the contour crosses the real line, per unit

    @classmethod
    def of(cls, atoms: Sequence[PointMass], n: int) -> Self:
        """The contour through the saddle point."""
        unit = reduce(flint.arb.max, (abs(value) for value, _ in atoms)).mid()  # not by floats: it may exceed them all
        scaled = tuple((value / unit, p) for value, p in atoms if not p == 0)
        return cls(scaled, n, unit, in_floats(scaled, n).saddle())

    @cached
    def _weights(self) -> list[flint.arb]:
        return [p * (self.saddle * v).exp() for v, p in self.atoms]

    def ceiling(self) -> flint.arb:
        """Markov's upper bound, by x_+ <= exp(s x) / (e s)."""
        moment = sum(self._weights, flint.arb(0)) ** self.n
        return (self.unit * moment / (self.saddle * flint.arb(1).exp())).abs_upper()

    def value(self, tolerance: float) -> flint.arb:
        """The expectation, at about this relative tolerance; from 0 to the ceiling where that fails."""
        try:
            with np.errstate(over="ignore", invalid="raise"):  # an infinite bound is one, what is not a number is none
                tilt = in_floats(self.atoms, self.n)
                h, a, nodes, left_out = contour_nodes(tilt, self.saddle, tolerance, tolerance / 16)
        except (ArithmeticError, ValueError):
            return between(0, self.ceiling())
        with working_precision(working_bits() + 16):
            scale = sum(self._weights, flint.arb(0))
            laws = [(v, w / scale) for (v, _), w in zip(self.atoms, self._weights, strict=True)]

            def at_edge(edge: flint.arb) -> flint.arb:
                moment = sum((p * (edge * v).exp() for v, p in self.atoms), flint.arb(0))
                return (moment / scale) ** self.n * flint.arb.pi() / edge

            error = aliasing(at_edge, self.saddle, h, a) + flint.arb(left_out)
            total = _trapezoid(laws, self.n, self.saddle, h, nodes) + between(-error, error)
            found = self.unit * total * scale**self.n / (2 * flint.arb.pi())
        if not found.is_finite():
            return between(0, self.ceiling())
        return found if found > 0 else between(0, self.ceiling().min(found.abs_upper()))


def in_floats(atoms: Sequence[PointMass], n: int) -> Tilt:
    """Of n copies of a value whose law this is, in a unit that floats hold."""
    return Tilt(np.array([float(v) for v, _ in atoms]), np.array([float(p.log()) for _, p in atoms]), n)


def contour_nodes(tilt: Tilt, saddle: float, tolerance: float, missed: float) -> tuple[float, float, Sequence[int], float]:
    """Step, half-width of the strip, the nodes to evaluate, and a bound of what the others contribute.

    ``missed``: about which part of the integral that may be.
    """
    h, a = tilt.step(saddle, -math.log(tolerance))
    pairs = Pairs.of(tilt.values, tilt.tilted(saddle), tilt.n)
    return h, a, *chosen_nodes(pairs, h, saddle, missed * max(tilt.integral(saddle, h), 0.0))


def _trapezoid(tilted: Sequence[PointMass], n: int, saddle: float, h: float, nodes: Sequence[int]) -> flint.arb:
    """The sum over these nodes, their conjugates and the node 0, times h; real because conjugates add up."""
    total = 1 / flint.arb(saddle) ** 2
    for power in powers(tilted, n, saddle, h, nodes):
        total += 2 * power.real
    return h * total


def powers(tilted: Sequence[PointMass], n: int, saddle: float, h: float, nodes: Sequence[int]) -> Iterator[flint.acb]:
    """The integrand at these nodes: the characteristic function of a law, to the n, over the square of what is integrated over."""
    still = sum((p for v, p in tilted if v == 0), flint.arb(0))
    moving = [(v * h, p) for v, p in tilted if not v == 0]
    shared = math.isqrt(max(nodes, default=0)) + 1  # powers of a phase of which the others are made, and of the last one's powers
    rows = {row: i for i, row in enumerate(dict.fromkeys(k // shared for k in nodes))}
    # A phase multiplied from power to power would widen the rectangular balls; one product of two powers does not.
    coarse = [p * flint.acb(0, row * shared * step).exp() for row in rows for step, p in moving]
    fine = [flint.acb(0, i * step).exp() for step, _ in moving for i in range(shared)]
    sums = flint.acb_mat(len(rows), len(moving), coarse) * flint.acb_mat(len(moving), shared, fine)
    for k in nodes:
        yield (still + sums[rows[k // shared], k % shared]) ** n / flint.acb(saddle, k * flint.arb(h)) ** 2


def rarely(atoms: Sequence[PointMass], n: int, tolerance: float) -> flint.arb | None:
    """Enclose the expectation of the positive part of a sum of `n` independent copies, where nearly all have one value.

    Probabilities may lie below every float; ``tolerance``: relative width. None where so few sums do not suffice.
    """
    (usual, _), *others = sorted(atoms, key=lambda atom: -float(atom[1]))
    zero = flint.arb(0)
    rare = sum((p for _, p in others), zero)
    if not others or not n * rare < min(MOST_EXPECTED, n / 2):
        return None
    expected = float(n * rare)
    if math.comb(int(expected + 4 * math.sqrt(expected)) + len(others), len(others)) > MOST_SUMS:
        return None  # the sums that are likely are too many already
    once, gains = n * usual.max(zero), n * sum((p * value.max(zero) for value, p in others), zero)
    goal = flint.arb(tolerance / 4).max(_HARDLY)
    odds, usually = rare / (1 - rare), (1 - rare) ** n
    # chance is P[M = m], and ways n!/(n - m)! (1 - r)^(n - m): the sums bring p^c / c! of each value.
    known: Known = {}
    found, chance, ways, m = zero, usually, usually, 0
    while math.comb(m + len(others), m) <= MOST_SUMS:
        found += ways * sum((weight * ((n - m) * usual + total).max(zero) for total, weight in _sums(others, m, known)), zero)
        if m == n:
            return found
        left = (n - m) * chance
        rest = once * _tail(left * odds / (m + 1), (n - m - 1) * odds / (m + 2))
        rest += gains * _tail(left / (n * (1 - rare)), (n - m - 1) * odds / (m + 1))
        if rest <= goal * found:
            return found + between(0, rest.abs_upper())
        chance, ways, m = left * odds / (m + 1), ways * (n - m) / (1 - rare), m + 1
    return None


def _tail(first: flint.arb, falls: flint.arb) -> flint.arb:
    """Upper bound of a binomial tail by its first chance and how this falls to the second; 1 before the mean."""
    return first / (1 - falls) if falls < 1 else flint.arb(1)


def _sums(atoms: Sequence[PointMass], m: int, known: Known, first: int = 0) -> list[PointMass]:
    r"""The multisets of m values, each its sum and the product of :math:`p_j^c / c!`; `known` holds those of parts of the atoms."""
    key = first, len(atoms), m
    if key not in known:
        if len(atoms) == 1:
            ((value, p),) = atoms
            known[key] = [(m * value, p**m / flint.arb(m).fac())]
        else:
            half = len(atoms) // 2
            low, high = atoms[:half], atoms[half:]
            halves = (product(_sums(low, n, known, first), _sums(high, m - n, known, first + half)) for n in range(m + 1))
            known[key] = [(a + b, p * q) for pairs in halves for (a, p), (b, q) in pairs]
    return known[key]
