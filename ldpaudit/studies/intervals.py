r"""Confidence intervals of estimates from users' reports: for the counts among these very users, whatever they are.

What is random are the users' coins, and the public hash functions that are drawn for each user. So an interval holds the number of
those who reported and hold the value, not a share of some population of which they are a sample.

*Exact*, where a report adds one of two numbers a < b to the estimate of a count: as that is unbiased, a holder's report adds b with
probability p = (1 - a)/(b - a), any other report with probability q = -a/(b - a), whatever the mechanism is. How many reports add
b is then a sum of coins of two kinds, whose law is computed. So is that of integers of two kinds, where what reports add are
multiples of one number, and for drawn bits. Where the truth is a sum of users' numbers, the sum of coins is more concentrated than
a binomial number of the same mean (Hoeffding 1956, Theorems 4 and 5). *Exact*, too, where the noise on a number has a known law.
*Certified tails* else, see `certified_tails`; of coins with other noise, those of the normal law with the error of Berry and Esseen
(constant 0.56, Shevtsova 2010).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit import mechanisms
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.laplace_sum import upper_tail
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.accountants.numerics.two_kinds import TwoKinds, holders
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.count_mean_sketch import Sketch
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.gaussian_report import GaussianReport
from ldpaudit.mechanisms.geometric import Geometric
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.one_bit import DrawnBits
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.studies.certified_tails import Floats, reach

_PROBES = 256  # reports that are looked at for the numbers that one adds
_PROBED = 1 << 22  # numbers that they may add in all
_WHOLE = 1e-3  # how far from an integer a sum of ones may be, by rounding
_LISTED = 1 << 12  # most views of a law whose reports are looked at one by one
_BERRY_ESSEEN = 0.56
_SPREADS = 9  # variances of coins for which a reach is computed; others are rounded up
_MULTIPLES = 1 << 10  # of the least step between what reports add, up to which sums of these are sums of integers
_HEAVIEST, _STEPS = Fraction(64), 16  # a one's weight beside a zero's, at most, and the number of steps to it, about


@dataclass(frozen=True, slots=True)
class Intervals:
    """Ends of intervals, one for each estimate."""

    low: Floats
    high: Floats
    how: str  # by which law, in words


def intervals(
    m: Mechanism, estimates: Floats, users: int, alpha: float, noise: Sequence[CountNoise] = (), total: NDArray[Any] | None = None
) -> Intervals:
    """An interval around each estimate, each of which misses with a probability of at most `alpha`.

    ``estimates``: of `m`, from the reports of `users` users; ``noise``, ``total``: of what an aggregator released, the noise in the
    sum, and the sum. Raises Unsupported where no law of the estimates is known.
    """
    if not m.unbiased:
        raise Unsupported(m, "no intervals: its estimates are accurate in another sense than without bias")
    added = _sum([_masses(each) for each in noise])
    if (around := _reach_of_noise(m, users)) is not None:
        if noise:
            half = around(alpha / 2) + _reach_of_masses(added)(alpha / 2)
            return Intervals(estimates - half, estimates + half, "by the laws of the noises")
        return Intervals(estimates - (half := around(alpha)), estimates + half, "by the exact law of the noise")
    if (two := _two_numbers(m, estimates, users, noise, total)) is not None:
        return _of_coins(*two, users, alpha, added, of_users=_counts_users(m))
    if _counts_users(m) and (found := _integers(m, estimates, users, noise, total)) is not None:
        fewest, most = holders(replace(found[0], noise=added), found[1], alpha)
        return Intervals(fewest.astype(np.float64), most.astype(np.float64), "by the exact law of sums of integers")
    if not noise:
        return _by_tails(m, estimates, users, alpha)
    if isinstance(m, Sketch) and (numbers := two_numbers(m, estimates.size)) is not None:
        return _of_sketch(m, numbers[0], estimates, users, alpha, _times(added, m.noises))
    raise Unsupported(m, "no intervals: where noise is added to a sum, the law of its estimates is not known")


def _integers(
    m: Mechanism, estimates: Floats, users: int, noise: Sequence[CountNoise], total: NDArray[Any] | None
) -> tuple[TwoKinds, Floats] | None:
    """Sums of integers, one of each report, that tell each count, and their law; None where estimates are no sums of any.

    Of drawn bits a one counts as much more than a zero as it is likelier from a holder, to a few parts in a hundred.
    """
    laws: tuple[Mapping[Fraction, Fraction], Mapping[Fraction, Fraction]]
    if isinstance(m, DrawnBits) and total is not None:
        odds = min(m.first().p / (1 - m.first().p), _HEAVIEST)
        odds = odds.limit_denominator(max(1, int(_STEPS / odds)))
        least, unit, laws = Fraction(0), Fraction(1), m.scores(Fraction(odds.numerator), Fraction(-odds.denominator))
        seen: Floats | None = odds.numerator * total[0] - odds.denominator * (m.reports * total[1] - total[0])
    else:
        try:
            laws = m.added()
        except Unsupported:
            return None
        numbers = {y for law in laws for y, chance in law.items() if chance}
        least, common = min(numbers), math.lcm(*(y.denominator for y in numbers))
        unit = Fraction(math.gcd(*(int((y - least) * common) for y in numbers)), common)
        seen = _seen(estimates, users, float(least), float(unit), noise, total)
        if max(numbers) - least > _MULTIPLES * unit:
            return None
    holder, other = ({int((y - least) / unit): float(chance) for y, chance in law.items() if chance} for law in laws)
    return None if seen is None else (TwoKinds(users, holder, other), seen)


def _seen(
    estimates: Floats, users: int, least: float, unit: float, noise: Sequence[CountNoise], total: NDArray[Any] | None
) -> Floats | None:
    """How many units reports add to each estimate besides the least that each adds, with noise; None where it is not known."""
    if noise:
        # In a sum of vectors, a coordinate is what reports add, and noise; of no other sum is this known.
        off = float(sum((each.mean for each in noise), Fraction(0)))
        if total is None or total.shape != estimates.shape or not np.allclose((total - off) * unit + users * least, estimates):
            return None
        return np.asarray(np.floor(total), dtype=np.float64)
    found = (estimates - users * least) / unit
    return np.rint(found) if near_whole(found).all() else None


def variances(
    m: Mechanism, estimates: Floats, users: int, noise: Sequence[CountNoise] = (), total: NDArray[Any] | None = None
) -> tuple[float, float, float]:
    """What a holder's report, another user's, and the noise of aggregators add to the variance of an estimated count."""
    if isinstance(m, LaplaceHistogram):
        return (each := float(2 * m.scale**2)), each, 0.0
    if (two := _two_numbers(m, estimates, users, noise, total)) is None:
        holder, rest = _moments(m)
        return holder.variance, rest.variance, 0.0
    p, q, _ = two
    parts = (p * (1 - p), q * (1 - q), float(sum(each.variance for each in noise)))
    own, other, added = (part / (p - q) ** 2 for part in parts)
    return own, other, added


def _counts_users(m: Mechanism) -> bool:
    """Whether each estimate is a number of users, of whom a user is one or is not."""
    return m.counts_users or type(m).truth is Mechanism.truth


def _two_numbers(
    m: Mechanism, estimates: Floats, users: int, noise: Sequence[CountNoise], total: NDArray[Any] | None
) -> tuple[float, float, Floats] | None:
    """P[b | holder], P[b | other], and how many reports add b to each estimate; None where reports add more than two numbers."""
    if (two := two_numbers(m, estimates.size)) is None or not two[0] <= 0 < 1 <= two[1] + 1e-9:
        return None
    a, b = two
    ones = _seen(estimates, users, a, b - a, noise, total)
    return None if ones is None else ((1 - a) / (b - a), -a / (b - a), ones)


def two_numbers(m: Mechanism, size: int) -> tuple[float, float] | None:
    """The numbers that a report adds to each of as many estimates, the lesser one first; None where they are not two."""
    numbers = np.unique([np.ravel(m.estimate(report)) for report in _reports(m, size)])
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1e-9 * np.abs(numbers).max()) + 1)
    return None if len(parts) != 2 else (float(parts[0].mean()), float(parts[1].mean()))


def near_whole(numbers: Floats) -> NDArray[np.bool_]:
    """Which numbers are integers but for rounding."""
    return np.abs(numbers - np.rint(numbers)) <= _WHOLE


def _reports(m: Mechanism, size: int) -> Iterator[NDArray[np.generic]]:
    """All reports, of which each adds as many numbers, where they are few; else some of two inputs'."""
    with suppress(Unsupported):
        if not m.names_user and (law := m.law(m.inputs[0])).size * size <= _PROBED and law.size <= _LISTED:
            yield from (np.array([y]) for y, _ in law.items())
            return
    probes, rng = max(2, min(_PROBES, _PROBED // max(1, size))) // 2, np.random.default_rng(0)
    for views in [m.sample(x, probes, rng) for x in (m.inputs[0], m.inputs[-1])]:
        yield from (views[i : i + 1] for i in range(probes))


def _of_coins(p: float, q: float, ones: Floats, users: int, alpha: float, noise: Masses, of_users: bool) -> Intervals:
    p, q = min(max(p, 0.0), 1.0), min(max(q, 0.0), 1.0)
    if of_users:
        fewest, most = holders(TwoKinds(users, {0: 1 - p, 1: p}, {0: 1 - q, 1: q}, noise), ones, alpha)
        return Intervals(fewest.astype(np.float64), most.astype(np.float64), "by the exact law of sums of coins")
    spread, share = 0.0, alpha
    if len(noise.values) > 1:  # what is left of the sum without it, but for a tenth of alpha
        spread, share = _reach_of_masses(noise)(alpha / 10), alpha * 0.9
    from scipy.special import betaincinv  # here: it takes a while to import

    few, many = ones - spread, ones + spread
    # A binomial number's tails are larger from one beyond its mean on.
    lower = np.minimum(betaincinv(np.maximum(few, 1e-9), users - few + 1, share / 2), (few - 1) / users)
    upper = np.maximum(betaincinv(many + 1, np.maximum(users - many, 1e-9), 1 - share / 2), (many + 1) / users)
    ends = ((lower, 0.0), (upper, 1.0))
    low, high = ((np.clip(np.nan_to_num(each, nan=edge), 0, 1) - q) / (p - q) * users for each, edge in ends)
    return Intervals(low, high, "by binomial laws, which spread at least as far")


def _by_tails(m: Mechanism, estimates: Floats, users: int, alpha: float) -> Intervals:
    own, other = _moments(m)
    spread, fourth, least = max(own.spread, other.spread), max(own.fourth, other.fourth), min(own.least, other.least)

    def around(variance: Floats) -> Floats:
        return reach(users * variance, users * least, users * fourth, spread, alpha)

    half = around(np.full(estimates.shape, max(own.variance, other.variance)))
    for _ in range(3 if _counts_users(m) else 0):  # the variance is linear in the count, which the interval holds
        ends = (np.clip((estimates + sign * half) / users, 0, 1) for sign in (-1, 1))
        half = around(np.maximum(*(share * own.variance + (1 - share) * other.variance for share in ends)))
    low, high = estimates - half, estimates + half
    if _counts_users(m):
        low, high = np.clip(low, 0, users), np.clip(high, 0, users)
    return Intervals(low, high, "by certified tails")


def _of_sketch(m: Sketch, least: float, estimates: Floats, users: int, alpha: float, noise: Masses) -> Intervals:
    """By the law of the noise on all numbers that an estimate has, and the normal one of users' coins, with its error.

    The probability of a coin is between 1 - p and p, its third absolute moment at most 1 - 2 p (1 - p) times its variance, and the
    sum of their variances at most that of coins of their mean.
    """
    from scipy.special import ndtr  # here: it takes a while to import

    step, quiet = m.summed_range[0], users * float(m.p * (1 - m.p))
    at = noise.first + np.arange(len(noise.values))
    apart, error = at - at @ noise.values, _BERRY_ESSEEN * float(1 - 2 * m.p * (1 - m.p)) / math.sqrt(quiet)

    def beyond(distance: float, deviation: float) -> float:
        return float(max(ndtr((sign * apart - distance) / deviation) @ noise.values for sign in (1, -1)))

    def half_of(coins: float) -> float:
        far = step * float(reach(coins, 0.0, 0.0, 1.0, alpha / 2)) + _reach_of_masses(noise)(alpha / 2)
        halvings = 30 if error < alpha / 2 else 0
        return m.weight * bisect(lambda half: beyond(half, step * math.sqrt(coins)) > alpha / 2 - error, 0.0, far, halvings)

    spreads = np.linspace(quiet, users / 4, _SPREADS)
    halves = np.array([half_of(coins) for coins in spreads])
    half = np.full(estimates.shape, halves[-1])
    for _ in range(3):
        ends = ((estimates + sign * half - users * least) / (users * step * m.weight) for sign in (-1, 1))
        nearest = np.median([*ends, np.full(estimates.shape, 0.5)], axis=0)  # the share of coins that show 1, of the interval's
        half = halves[np.searchsorted(spreads, np.clip(users * nearest * (1 - nearest), quiet, users / 4))]
    return Intervals(estimates - half, estimates + half, "by the law of the noise, and certified tails of coins")


@dataclass(frozen=True, slots=True)
class _Moments:
    """Of what a report adds to an estimate, over the users that it may come from."""

    variance: float  # the largest
    least: float  # the smallest
    fourth: float  # largest fourth moment around the mean
    spread: float  # largest distance from the mean


def _moments(m: Mechanism) -> tuple[_Moments, _Moments]:
    """Of a holder's report, and of another's; both are those of all users, where estimates are no numbers of users."""
    try:
        laws = [(np.array([*map(float, law)]), np.array([*map(float, law.values())])) for law in m.added()]
    except Unsupported:
        pass
    else:
        holder, other = (_moments_of(adds[:, None], chances[None, :]) for adds, chances in laws)
        return holder, other
    inputs, law = m.inputs, m.law(m.inputs[0])
    # What names its user has another law for each, of which this is one.
    if m.names_user or not isinstance(inputs, range) or max(law.size, len(inputs)) > _LISTED:
        raise Unsupported(m, "no intervals: the law of what a report adds to an estimate is not known")
    views = [y for y, _ in law.items()]
    adds = np.array([np.ravel(m.estimate(np.array([y]))) for y in views])
    chances = np.array([[float(m.law(x).probability(y)) for y in views] for x in inputs])
    if not _counts_users(m):
        return (both := _moments_of(adds, chances)), both
    own = np.eye(len(inputs), dtype=np.bool_)
    return _moments_of(adds, chances, own), _moments_of(adds, chances, ~own)


def _moments_of(adds: Floats, chances: Floats, of: NDArray[np.bool_] | slice = slice(None)) -> _Moments:
    """From what each view adds to each estimate, and the chance of each view on each input; of some inputs and estimates."""
    apart = adds[None] - (chances @ adds)[:, None]
    variance, fourth = (np.einsum("xy,xyv->xv", chances, apart**power)[of] for power in (2, 4))
    return _Moments(float(variance.max()), float(variance.min()), float(fourth.max()), float(np.abs(apart).max()))


Reach = Callable[[float], float]
"""From a probability to how far from its mean a noise lies except with that probability."""


def _reach_of_noise(m: Mechanism, users: int) -> Reach | None:
    """Of the sum of all users' noises, where a report is a number, or an indicator, plus noise; else None."""
    match m:
        case GaussianReport():
            from scipy.special import ndtri  # here: it takes a while to import

            return lambda alpha: -float(ndtri(alpha / 2)) * float(m.sigma) * math.sqrt(users)
        case Laplace() | LaplaceHistogram():
            return lambda alpha: _largest_laplace(m.scale, users, alpha / 2)
        case Geometric():
            return _reach_of_masses(Masses.discrete_laplace_sum(users, m.alpha))
    return None


def _largest_laplace(scale: Fraction, users: int, tail: float) -> float:
    most = float(scale) * math.sqrt(users) * (2 - math.log(tail)) * 2
    with working_precision(128 + users.bit_length()):
        return bisect(lambda end: float(upper_tail(((users, scale),), Fraction(end))) > tail, 0.0, most, 40)


def _reach_of_masses(noise: Masses) -> Reach:
    at = noise.first + np.arange(len(noise.values))
    distances = np.abs(at - at @ noise.values)
    order = np.argsort(distances)[::-1]
    beyond = np.cumsum(noise.values[order])
    return lambda alpha: float(distances[order[np.searchsorted(beyond, alpha, side="right")]])


def _masses(noise: CountNoise) -> Masses:
    """Of the noise on a count; of a real number, rounded down, as the sum is."""
    if isinstance(noise, Gaussian):
        reach = math.ceil(15 * float(noise.sigma)) + 1
        from scipy.special import ndtr  # here: it takes a while to import

        ends = ndtr(np.arange(-reach, reach + 1) / float(noise.sigma))
        return Masses(-reach, np.diff(ends), 1e-12, 1e-40)
    found: Masses = import_module(f"ldpaudit.accountants.{mechanisms.stem(noise)}").masses(noise)
    return found


def _times(noise: Masses, number: int) -> Masses:
    """Of the sum of this many."""
    if number == 1:
        return noise
    half = _times(noise, number // 2)
    return _sum([half, half, noise] if number % 2 else [half, half])


def _sum(noises: Sequence[Masses]) -> Masses:
    whole = Masses.point(0)
    for each in noises:
        whole = whole.plus(each).trimmed
    return whole
