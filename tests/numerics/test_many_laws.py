"""Expected positive parts of sums: the largest among assignments of laws, by transforms or three moments; and of rare values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate

from ldpaudit import Shuffle, account
from ldpaudit.accountants.numerics import largest_positive_part as module, quotient_integrals, quotient_laws, transforms
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.float_laws import ROUNDED, FloatLaws, Law
from ldpaudit.accountants.numerics.phases import Floats
from ldpaudit.accountants.numerics.positive_part import Contour, PointMass, _enumerated, positive_part, rarely
from ldpaudit.accountants.numerics.quotient_integrals import fallen, integrals
from ldpaudit.accountants.numerics.quotient_laws import QuotientLaws, _settled
from ldpaudit.accountants.numerics.transforms import Transforms
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

FINE = 1e-5  # relative error of the rule in the test: steps of a thousandth of the main part's width

Row = Sequence[Fraction]
Triple = tuple[Row, Row, Row]


def row(rng: np.random.Generator, size: int) -> Row:
    weights = [10 ** rng.uniform(-1, 1) for _ in range(size)]
    return [Fraction(w) / Fraction(sum(map(Fraction, weights))) for w in weights]


def groups(rng: np.random.Generator) -> list[list[Triple]]:
    size, count = (int(k) for k in rng.integers(2, 5, size=2))
    others = [row(rng, size) for _ in range(count)]
    pairs = [(row(rng, size), row(rng, size)) for _ in range(int(rng.integers(1, 4)))]
    return [[(first, second, other) for other in others] for first, second in pairs]


def floats(laws: list[list[Triple]], padding: int = 0) -> QuotientLaws:
    def table(number: Callable[..., Fraction]) -> np.ndarray:
        none = [Fraction(0)] * padding
        cells = [[[number(*ps) for ps in zip(*law, strict=True)] + none for law in group] for group in laws]
        return np.array(cells, dtype=np.float64)

    found = QuotientLaws.of(table(lambda a, b, c: a - b), table(lambda a, b, c: b), table(lambda a, b, c: c))
    assert found is not None
    return found


def balls(law: Triple, e: flint.arb) -> list[PointMass]:
    return [((ball(a) - e * ball(b)) / ball(c), ball(c)) for a, b, c in zip(*law, strict=True)]


def enumerated(laws: tuple[list[PointMass], ...]) -> float:
    sums, chances = np.zeros(1), np.ones(1)
    for law in laws:
        sums = np.add.outer(sums, [float(v) for v, _ in law]).ravel()
        chances = np.multiply.outer(chances, [float(p) for _, p in law]).ravel()
    return float(np.maximum(sums, 0) @ chances)


def largest_positive_part(laws: list[Law], m: int) -> flint.arb:
    (found,) = module.largest_positive_parts(laws, m, (m,))
    return found


def on_a_contour(laws: Sequence[list[PointMass]], m: int) -> module._Integrand:
    some = list(map(Law.of, laws))
    floats = FloatLaws.of(some, 1.0)
    return module._Integrand(some, floats, 1.0, m, module._contour(floats, m, FloatLaws.heights))


def some(*seeds: int, of: int) -> list[Any]:
    """All seeds, of which the default run draws these."""
    return [i if i in seeds else pytest.param(i, marks=pytest.mark.slow) for i in range(of)]


@pytest.mark.parametrize("seed", range(40))
def test_it_is_above_every_assignment_of_every_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    some, m = groups(rng), int(rng.integers(1, 5))
    with working_precision(200):
        e = flint.arb(float(rng.uniform(0, 0.7)) if seed % 4 else seed * 1e-14).exp()
        found = floats(some, padding=seed % 3).log_ends(e - 1, m, (m,))[0]
        worst = max(
            enumerated(each)
            for group in some
            for each in combinations_with_replacement([balls(law, e) for law in group], m)
        )
    assert worst == 0 or math.log(worst) <= found


@pytest.mark.parametrize("seed", some(*range(6), of=40))
def test_a_law_may_be_that_of_two_of_the_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 8))
    with working_precision(200):
        e = flint.arb(float(rng.uniform(0, 0.7))).exp()
        one, two = ([balls(law, e) for law in groups(rng)[0]][:2] for _ in range(2))
        doubled = [[(2 * v, p) for v, p in law] for law in two]
        laws = [*map(Law.of, one), *(replace(Law.of(law), users=2) for law in doubled)]
        found = largest_positive_part(laws, m)
        worst = max(
            enumerated((*singles, *pairs))
            for count in range(m // 2 + 1)
            for pairs in combinations_with_replacement(doubled, count)
            for singles in combinations_with_replacement(one, m - 2 * count)
        )
        twice = Law.of([(v + w, p * q) for v, p in one[0] for w, q in one[0]])
        alike = largest_positive_part([replace(twice, users=2)], 300)
        assert float(alike) == pytest.approx(float(largest_positive_part([Law.of(one[0])], 300)), rel=5e-3)
    assert worst <= float(found)


@pytest.mark.parametrize("seed", some(*range(3), of=12))
def test_what_is_below_a_number_that_is_known_may_be_bounded_by_less_work_and_no_number_by_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with working_precision(200):
        e = flint.arb(float(rng.uniform(0, 0.1))).exp()
        laws = [Law.of(balls(law, e)) for law in groups(rng)[0]]
        (alone,) = module.largest_positive_parts(laws, 300, (300,))
        for part in (0.5, 0.99, 1.5, 1e6):
            (found,) = module.largest_positive_parts(laws, 300, (300,), least=[alone * part])
            assert found == alone or alone < found < alone * part


@pytest.mark.parametrize("users", [1, 2])
def test_sums_that_are_mostly_positive_are_bounded_by_the_positive_parts_of_their_values(users: int) -> None:
    laws = [Law(np.array([-0.1, 2.0]), np.array([1 - p, p]), users) for p in (0.75, 0.5)]
    found = module.largest_positive_parts(laws, 900, (1000, 800))
    assert list(map(float, found)) == pytest.approx([1500 / users, 1200 / users], rel=1e-9)


@pytest.mark.parametrize("seed", some(*range(5), of=30))
@pytest.mark.parametrize("users", [1, 2])
def test_moments_and_pairs_of_values_bound_the_integral_of_each_law(seed: int, users: int) -> None:
    """Of two values, whose transforms come back to 1; by quadrature."""
    rng = np.random.default_rng(seed)
    m, theta, p = int(rng.integers(100, 400)), float(rng.uniform(0.5, 9)), float(rng.uniform(0.4, 0.6))
    values, masses = np.array([[-p, 1 - p]]), np.array([[1 - p, p]])
    level = np.zeros((1, 1))
    found = quotient_integrals.by_moments(level, values, np.abs(values), masses, theta, (m,), np.array([users]))
    u = np.linspace(0, 500, 1_000_001)
    heights = np.abs(np.exp(1j * np.multiply.outer(u, values[0])) @ masses[0]) ** (m / users) / (theta**2 + u**2)
    truth = float(integrate.trapezoid(heights, u)) / math.pi
    assert truth <= math.exp(found[0, 0]) <= 6 * truth


@pytest.mark.parametrize("seed", some(*range(6), of=12))
@pytest.mark.parametrize("m", [60, 10**4, 10**6, 10**9])
def test_it_is_above_the_certified_value_of_alike_ones_and_as_near_as_the_transform(seed: int, m: int) -> None:
    """Where the sum's mean is some of its largest standard deviations below 0."""
    rng = np.random.default_rng(seed)
    (group, *_), far = groups(rng), rng.uniform(0.5, 6)
    spread = max(sum(float((a - b) ** 2 / c) for a, b, c in zip(*law, strict=True)) for law in group) ** 0.5
    with working_precision(300):
        e = flint.arb(far * spread / m**0.5).exp()
        found = flint.arb(floats([group]).log_ends(e - 1, m, (m,))[0]).exp()
        laws = [balls(law, e) for law in group]
        assert all(positive_part(law, m, 1e-6).lower() <= found for law in laws)
        if m >= 10**6:
            assert found <= largest_positive_part([Law.of(law) for law in laws], m) * 1.001


@pytest.mark.parametrize("seed", some(*range(3), of=8))
@pytest.mark.parametrize("most", [500, 10**4, 10**6])
def test_between_two_numbers_the_chord_of_logarithms_is_above_the_certified_value(seed: int, most: int) -> None:
    """On one contour for each group, which is made for a number in between, by moments and by transforms."""
    rng = np.random.default_rng(seed)
    some, share = groups(rng), float(rng.uniform(0.5, 0.9))
    few, middle, m = (round(most * (1 - (1 - share) * at)) for at in (1, 0.4, float(rng.uniform(0, 1))))
    spread = max(sum(float((a - b) ** 2 / c) for a, b, c in zip(*law, strict=True)) for group in some for law in group) ** 0.5
    with working_precision(300):
        e = flint.arb(float(rng.uniform(0.5, 6)) * spread / most**0.5).exp()
        laws = [balls(law, e) for law in some[0]]
        by_moments = floats(some).log_ends(e - 1, middle, (most, few))
        found = module.largest_positive_parts(list(map(Law.of, laws)), middle, (most, few))
        by_transforms = [float(each.log()) for each in found]
        for first, last in (by_moments, by_transforms):
            chord = first + (last - first) * (most - m) / (most - few)
            for each in laws:
                assert positive_part(each, m, 1e-6).lower() <= flint.arb(chord + FINE).exp()
        first, last = by_moments
        assert first + (last - first) * (most - m) / (most - few) <= floats(some).log_ends(e - 1, m, (m,))[0] + 1


@pytest.mark.parametrize("seed", some(*range(3), *range(24, 26), of=32))
@pytest.mark.parametrize("m", [1, 4, 25, 150, 1000])
def test_it_is_above_the_integral_that_it_bounds(seed: int, m: int) -> None:
    """That by a fine rule, which leaves out what is beyond some periods, on the same contour."""
    rng = np.random.default_rng(seed)
    rise = float(rng.uniform(1, 3)) / m**0.5
    # Laws of the mean -rise, on few values, often skewed, or on more; and a contour that is perhaps not the best one.
    laws, values = (2, 3) if seed < 24 else (5, 12)
    w, b = rng.normal(size=(1, laws, values)), rng.dirichlet(np.full(values, (1.0, 0.2)[seed % 2]), size=(1, laws))
    if seed % 3 == 0:
        b[:, :, 2], w[:, :, 2] = 0, 0
        b /= b.sum(axis=2, keepdims=True)
    w += -rise - (w * b).sum(axis=2, keepdims=True)
    theta = np.minimum(rng.uniform(0.5, 3, size=1) / m**0.5 * 10 ** rng.uniform(0, 2), 3)
    u = np.concatenate([np.linspace(0, 20 / m**0.5, 4001), np.linspace(20 / m**0.5, 60, 60_000)[1:]])
    scale = np.abs(w).max() * theta[0]
    transform = np.exp(np.multiply.outer(theta + 1j * u, w[0]) - scale) * b[0]
    heights = m * np.log(np.abs(transform.sum(axis=2))) - np.log(theta**2 + u**2)[:, None]
    top = heights.max()
    truth = top + m * scale + math.log(float(integrate.trapezoid(np.exp(heights - top), u, axis=0).max()) / math.pi)
    for count in (48, 383):  # with one more, phases count
        found = float(integrals(w, np.abs(w), b, theta, rise, (m,), count)[0, 0])
        assert truth <= found + FINE


def transform(rng: np.random.Generator, count: int, theta: float, m: int) -> Transforms:
    values, masses = rng.normal(size=count), rng.dirichlet(np.full(count, 2.0))
    values -= values @ masses
    edges = transforms.edges(math.sqrt(masses @ values**2), theta, m, transforms.FINE)
    values, masses = (each[None, np.argsort(-masses)] for each in (values, masses))
    variance = (masses * values**2).sum(axis=1)
    return Transforms(values, masses, variance, np.zeros(1), theta, edges, transforms.FINE, np.ones(1, dtype=np.int64))


def tilted(laws: FloatLaws, theta: float, edges: Floats, even: int, m: int) -> Transforms:
    return Transforms.of(laws, laws.tilted(theta), laws.cumulants(theta), theta, edges, even, m)


def integral(some: Transforms, m: int) -> float:
    return float(some.integrals(m).nats()[0])


def heights(some: Transforms, m: int) -> list[Floats]:
    return [each[0] for each in some.heights(np.array([[float(m)]]))]


@pytest.mark.parametrize("seed", some(*range(5), of=30))
@pytest.mark.parametrize("m", [2, 7, 300])
def test_chords_between_few_points_are_above_the_transform(seed: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    theta, again = float(rng.uniform(0.5, 4)) / m**0.5, np.random.default_rng(seed + 100)
    state = again.bit_generator.state
    fine = transform(again, 3, theta, m)
    u = np.concatenate([np.linspace(0, 20 / m**0.5, 20_001), np.linspace(20 / m**0.5, 60, 60_000)[1:]])
    heights = np.abs(np.exp(1j * np.multiply.outer(u, fine.values[0])) @ fine.masses[0]) ** m
    truth = float(integrate.trapezoid(heights / (theta**2 + u**2), u)) / math.pi
    assert math.log(truth) <= integral(fine, m) + FINE
    monkeypatch.setattr(transforms, "FINE", 16)
    monkeypatch.setattr(transforms, "_RATIO", 1.5)
    again.bit_generator.state = state
    assert math.log(truth) <= integral(transform(again, 3, theta, m), m) + FINE <= math.log(truth * (4 if m < 10 else 1.5))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [2, 50, 1000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_the_integral_is_next_to_its_certified_value_in_forty_digits(seed: int, m: int) -> None:
    """Of a law on whole numbers, moved: its modulus is periodic, and the weights of all periods sum to a closed form."""
    rng = np.random.default_rng(seed)
    counts, far = [int(k) for k in rng.integers(1, 9, size=5)], float(rng.uniform(1, 6)) * (1 if m > 2 else 0.2)
    with working_precision(200):
        law = [(flint.arb(v), flint.arb(k) / sum(counts)) for v, k in zip(range(-2, 3), counts, strict=True)]
        mean = sum((v * p for v, p in law), flint.arb(0))
        deviation = sum(((v - mean) ** 2 * p for v, p in law), flint.arb(0)).sqrt()
        law = [(v - mean - far * deviation / math.sqrt(m), p) for v, p in law]
        some = on_a_contour([law], m)
        theta, moment = flint.acb(some.theta), sum((p * (some.theta * v).exp() for v, p in law), flint.arb(0))
        moved = [(flint.acb(v), flint.acb(p / moment)) for v, p in law]

        def integrand(u: flint.acb, _: bool) -> flint.acb:
            ends = (theta + flint.acb(0, 1) * u, theta - flint.acb(0, 1) * u)
            first, second = (sum((p * (z * v).exp() for v, p in moved), flint.acb(0)) for z in ends)
            return (first * second) ** (m // 2) * theta.sinh() / (2 * theta * (theta.cosh() - u.cos()))

        value = moment**m * flint.acb.integral(integrand, 0, flint.acb.pi(), rel_tol=flint.arb(10) ** -42).real / flint.arb.pi()
        found = (flint.arb(some.unit) * flint.arb(some.by_moduli((m,)).max()).exp()).upper()
    assert value.rel_accuracy_bits() > 40 * math.log2(10)
    assert value <= found <= value * (1.01 if m >= 1000 else 1.05)


@pytest.mark.parametrize("seed", range(20))
def test_a_transform_is_below_its_chords_and_what_they_are_bent_by(seed: int) -> None:
    """Between points that are far apart."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 30))
    some = transform(rng, 4, 1.0, m)
    some = replace(some, edges=np.cumsum(rng.uniform(0, 2 / math.sqrt(m * some.variances[0]), size=14)) - 1e-9)
    at, tops, bent = heights(some, m)
    steps = np.linspace(0, 1, 101)
    widths = np.diff(some.edges)[:, None]
    u = some.edges[:-1, None] + widths * steps
    moduli = np.abs(np.exp(1j * np.multiply.outer(u, some.values[0])) @ some.masses[0]) ** m
    chords = at[:-1, None] * (1 - steps) + at[1:, None] * steps
    assert (moduli <= tops[:, None] + 1e-12).all()
    assert (moduli <= chords + widths**2 * steps * (1 - steps) / 2 * bent[:, None] + 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_modulus_of_a_transform_falls_by_as_much_as_two_moments_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, masses = rng.normal(size=4), rng.dirichlet(np.full(4, 0.1))
    gaps, weights = np.subtract.outer(values, values), np.multiply.outer(masses, masses)
    variance, fourth = ((weights * gaps**k).sum() for k in (2, 4))
    u = np.linspace(0, 10, 2000)
    squared = np.abs(np.exp(1j * np.multiply.outer(u, values)) @ masses) ** 2
    assert (np.log(squared) <= FINE**2 - fallen(u**2, variance / 2, fourth)).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_last_contour_is_where_the_largest_moment_of_a_group_is_least_over_theta_squared(seed: int) -> None:
    rng, m = np.random.default_rng(seed), 10**4
    b, w = rng.dirichlet(np.ones(5), size=(2, 3)), rng.normal(size=(2, 3, 5)) * rng.uniform(0.003, 0.03, size=(2, 3, 1))
    w = w - (b * w).sum(axis=2, keepdims=True) - 2e-4
    start = 2 / np.sqrt(2 * m * (b * w * w).sum(axis=2).max(axis=1))

    def level(theta: Floats) -> Floats:
        return np.asarray(m * np.log((b * np.exp(theta[:, None, None] * w)).sum(axis=2).max(axis=1)) - 2 * np.log(theta))

    least = np.min([level(start * np.exp(nats)) for nats in np.linspace(-4, 4, 401)], axis=0)
    assert (level(_settled(w, b, start, m)[-1]) <= least + 0.01).all()


@pytest.mark.parametrize("level", [FloatLaws.levels, FloatLaws.heights])
@pytest.mark.parametrize("m", [2, 50, 10**4, 10**6])
def test_a_contour_is_where_the_largest_level_is_least(level: Callable[..., Floats], m: int) -> None:
    rng = np.random.default_rng(m)
    values = rng.normal(size=(12, 6)) * rng.uniform(0.1, 0.3, size=(12, 1))
    masses = rng.dirichlet(np.ones(6), size=12)
    values -= (values * masses).sum(axis=1, keepdims=True) + rng.uniform(1, 3, size=(12, 1)) / math.sqrt(m) / 10
    laws = FloatLaws(values, masses, np.ones(12, dtype=np.int64))
    found = module._contour(laws, m, level)
    least = min(level(laws, found * math.exp(nats), m, 0.0).max() for nats in np.linspace(-3, 3, 6001))
    assert level(laws, found, m, 0.0).max() < least + 2e-4
    assert level(laws, found, m, np.array([0.1]))[0] == pytest.approx(level(laws, found * math.exp(0.1), m, 0.0), abs=0.02)


def test_the_largest_group_counts_also_where_many_are_alike() -> None:
    rng = np.random.default_rng(3)
    (group, *_) = groups(rng)
    flat: list[Triple] = [(law[0], [(p + q) / 2 for p, q in zip(law[0], law[1], strict=True)], law[2]) for law in group]
    with working_precision(200):
        rise = flint.arb(0.002)
        alone = floats([group]).log_ends(rise, 10**6, (10**6,))[0]
        assert floats([flat]).log_ends(rise, 10**6, (10**6,))[0] < alone - 1
        among = floats([*[flat] * 60, *[group] * 60, *[flat] * 30]).log_ends(rise, 10**6, (10**6,))[0]
    assert alone <= among <= alone + 0.05  # one that was not looked at closely


@pytest.mark.parametrize("seed", some(*range(10), of=30))
def test_second_moments_alone_bound_each_group_and_groups_that_they_rule_out_are_not_looked_at(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    some = floats(groups(rng))
    alike = QuotientLaws(some.differences[:, :1], some.seconds[:, :1], some.others[:1])
    far, every = float(rng.uniform(1, 6)), np.arange(len(some.differences))
    spread = float((some.differences**2 / some.others).sum(axis=2).max()) ** 0.5
    for m in (1, 3, 40, 10**4, 10**6, 10**12):
        rise = far * spread / m**0.5
        with working_precision(200):
            whole = some.log_ends(flint.arb(rise), m, (m,))[0]
        with monkeypatch.context() as patched, np.errstate(all="ignore"), working_precision(200):
            patched.setattr(quotient_laws, "_CELLS", 0)
            rough = alike._rough(rise, m, (m,))[0]
            ruled = alike.log_ends(flint.arb(rise), m, (m,))[0]
            close = alike._bounds(every, rise, m, (m,), True)[0]
        if m == 1:
            terms = (some.differences - rise * some.seconds).clip(0).sum(axis=2).max(axis=1)
            with np.errstate(divide="ignore"):
                assert (rough >= np.log(terms)).all()
        if m >= 10**4:
            assert ruled == pytest.approx(whole, abs=1e-12)
            assert (rough >= close).all()
        if m == 10**12:
            assert rough.max() == pytest.approx(close.max(), abs=2e-2)  # without phases


@pytest.mark.parametrize("seed", range(10))
def test_of_user_1_who_may_send_what_another_would_second_moments_know_whom(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mixture with the other user's law differs from law to law; pairs are looked at in one order."""
    rng = np.random.default_rng(seed)
    rows = 1 + rng.random((4, 30)) * np.exp(rng.integers(0, 4, size=(4, 30)))
    rows /= rows.sum(axis=1, keepdims=True)
    first, second = np.array([(0, 1), (0, 2), (1, 2), (3, 0)]).T
    rate, m = Fraction(int(rng.integers(1, 10)), 10), int(10 ** rng.uniform(3.5, 5))
    q, differences, seconds = float(rate), rows[first] - rows[second], rows[second]
    drawn = QuotientLaws(differences[:, None], seconds[:, None], rows[None]).drawn(rate)
    mixed = QuotientLaws(q * differences[:, None], q * seconds[:, None] + (1 - q) * rows[None], rows[None])
    rise = 5 * float((mixed.differences**2 / rows).sum(axis=2).max() / m) ** 0.5
    monkeypatch.setattr(quotient_laws, "_CELLS", 0)
    with np.errstate(all="ignore"):
        (rough,), (close,) = drawn._rough(rise, m, (m,)), mixed._bounds(np.arange(len(first)), rise, m, (m,), True)
        assert drawn._bounds(np.arange(len(first)), rise, m, (m,), True)[0] == pytest.approx(close, rel=1e-9)
    assert (rough >= close).all()
    with working_precision(200), np.errstate(all="ignore"):
        alone = [float(mixed._bounds(np.array([i]), rise, m, (m,), True)[0, 0]) for i in range(len(first))]  # with phases
        assert drawn.log_ends(flint.arb(rise), m, (m,))[0] >= max(alone) - 1e-9


def test_nothing_is_positive_from_the_largest_ratio_on() -> None:
    half, more = [Fraction(1, 2)] * 2, [Fraction(3, 4), Fraction(1, 4)]
    with working_precision(200):
        assert floats([[(half, more, half)]]).log_ends(flint.arb(1.01), 5, (5,))[0] == -math.inf
        assert floats([[(half, more, half)]]).log_ends(flint.arb(0.99), 5, (5,))[0] > -math.inf


def test_numbers_that_floats_do_not_hold_are_refused() -> None:
    one = np.full((1, 1, 2), 0.5)
    for size in (1e-290, math.inf, math.nan):
        assert QuotientLaws.of(np.array([[[size, -size]]]), one, one) is None
    assert QuotientLaws.of(np.zeros((1, 1, 2)), one, np.array([[[1.0, 0.0]]])) is None
    laws = QuotientLaws.of(np.array([[[0.1, -0.1]]]), one, one)
    assert laws is not None
    with working_precision(200):
        assert laws.log_ends(flint.arb(1e150), 9, (9,))[0] == math.inf


def random_law(rng: np.random.Generator, mean: float) -> list[PointMass]:
    """Some values of either sign, with this mean."""
    size = int(rng.integers(2, 6))
    masses = rng.dirichlet(np.ones(size))
    values = rng.normal(size=size) * 10 ** rng.uniform(-2, 2)
    values += mean - masses @ values
    balls = [flint.arb(float(p)) for p in masses]
    total = sum(balls, flint.arb(0))
    return [(flint.arb(float(v)), p / total) for v, p in zip(values, balls, strict=True)]


@pytest.mark.parametrize("seed", range(30))
def test_it_is_above_every_assignment_however_coarse_the_intervals(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    with working_precision(200):
        laws = [random_law(rng, mean) for mean in -rng.uniform(0, 0.5, size=int(rng.integers(1, 4)))]
        m = int(rng.integers(1, 6))
        found = float(largest_positive_part(list(map(Law.of, laws)), m))
        monkeypatch.setattr(module, "FINE", 512)
        coarse = float(largest_positive_part(list(map(Law.of, laws)), m))
    worst = max(enumerated(each) for each in combinations_with_replacement(laws, m))
    assert worst <= found * (1 + 1e-12)
    assert worst <= coarse * (1 + 1e-12)


@pytest.mark.parametrize("m", [50, 1000, 10**6, 10**9])
@pytest.mark.parametrize("seed", range(6))
def test_far_in_a_tail_it_is_within_a_percent_of_the_largest_of_alike_values(seed: int, m: int) -> None:
    """All laws have one mean, as in a shuffle: that of the sum is five of its largest standard deviations below 0."""
    rng = np.random.default_rng(seed)
    with working_precision(300):
        laws = [random_law(rng, 0.0) for _ in range(3)]
        deviations = [float(sum((v * v * p for v, p in law), flint.arb(0)).sqrt()) for law in laws]
        mean = -5 * max(deviations) / m**0.5
        laws = [[(v + mean, p) for v, p in law] for law in laws]
        found = largest_positive_part(list(map(Law.of, laws)), m)
        alike = [positive_part(law, m, 1e-6) for law in laws]
    assert all(each.lower() <= found for each in alike)
    if m >= 10**6:
        assert found <= max(float(each.upper()) for each in alike) * 1.01


def test_the_largest_integral_counts_and_not_the_largest_moment() -> None:
    """A constant of a smaller moment than that of two values, whose transform falls."""
    turned = 0
    with working_precision(200):
        for level in np.linspace(-0.05, 0.05, 21):
            atoms = [[(flint.arb(v) - 0.2, flint.arb(0.5)) for v in (1, -1)], [(flint.arb(level), flint.arb(1))]]
            some = on_a_contour(atoms, 50)
            laws = FloatLaws.of(list(map(Law.of, atoms)), 1.0)
            each = tilted(laws, some.theta, some._edges[transforms.FINE], transforms.FINE, 50)
            one, other = each.integrals(50).nats()
            assert some.by_moduli((50,)).max() >= max(one, other) - 1e-12
            turned += bool(other > one and each.nats[1] < each.nats[0])
    assert turned


@pytest.mark.parametrize("seed", some(*range(4), of=40))
def test_no_law_within_the_balls_has_a_larger_chance_of_exceeding_any_number(seed: int) -> None:
    """In rationals; masses are known to a part of a thousandth, and add up to 1."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    values, weights = [Fraction(float(v)) / 3 for v in rng.normal(size=size)], 10 ** rng.uniform(-9, 1, size=size)
    masses = [Fraction(w) / sum(map(Fraction, weights)) for w in weights]
    blurs = [Fraction(float(b)) * p for b, p in zip(rng.uniform(0, 1e-3, size=size), masses, strict=True)]
    with working_precision(100):
        found = Law.of([(ball(v), flint.arb(ball(p), ball(b))) for v, p, b in zip(values, masses, blurs, strict=True)])
    own, most = list(map(Fraction, found.masses.tolist())), int(found.masses.argmax())
    own[most] = 1 - sum(own) + own[most]
    assert float(own[most]) == found.masses[most]
    for at in range(size):
        law = [p + b * int(rng.integers(-1, 2)) for p, b in zip(masses, blurs, strict=True)]
        law[at] += 1 - sum(law)
        if abs(law[at] - masses[at]) > blurs[at]:
            continue
        for number in values:
            above = sum((p for v, p in zip(found.values.tolist(), own, strict=True) if v >= number), Fraction(0))
            assert above >= sum((p for v, p in zip(values, law, strict=True) if v >= number), Fraction(0))


@pytest.mark.parametrize("seed", some(*range(4), of=20))
@pytest.mark.parametrize("m", [10, 10**5])
def test_rare_values_are_left_out_where_moduli_seem_to_fall_hardly_less(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    values, masses = rng.normal(size=(2, 40)), rng.dirichlet(np.r_[np.full(4, 2.0), np.full(36, 1e-3)], size=2)
    laws, u = FloatLaws(values, masses, np.ones(2, dtype=np.int64)), np.linspace(0, 9, 50)
    found = tilted(laws, 0.5, u, 49, m)
    assert found.values.shape[1] < 40
    moduli = np.abs(np.einsum("lc,ulc->lu", laws.tilted(0.5), np.exp(1j * np.multiply.outer(u, values))))
    assert (found.fallen <= 1 - moduli**2 + 1e-14).all()
    assert (found.fallen >= 1 - moduli**2 - 3 * transforms._RARE / m - 1e-9).all()


def test_values_that_are_one_but_for_the_rounding_of_balls_are_not_bounded_by_zero() -> None:
    with working_precision(400):
        laws = [Law.of([(flint.arb(value) / 1000, flint.arb(1))]) for value in (876, 871)]
        (found,) = module.largest_positive_parts(laws, 2, (2,))
    assert found >= 2 * flint.arb("0.876")


def test_an_interval_of_which_nothing_is_known_bounds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    some = transform(rng, 3, 0.5, 40)
    known, found = integral(some, 40), heights(some, 40)
    unknown = [np.where(np.arange(len(each)) == len(each) - 2, math.nan, each)[None] for each in found]
    monkeypatch.setattr(Transforms, "heights", lambda *_: unknown)
    assert known - 1e-9 <= integral(some, 40) <= math.log(1 / (2 * some.theta))
    monkeypatch.setattr(Transforms, "heights", lambda *_: [np.full_like(each, math.nan)[None] for each in found])
    assert integral(some, 40) == pytest.approx(math.log(1 / (2 * some.theta)) + ROUNDED)


def test_without_positive_values_it_is_zero() -> None:
    with working_precision(100):
        assert largest_positive_part([Law.of([(flint.arb(v), flint.arb(1))]) for v in (-1, 0)], 5) == 0


@pytest.mark.parametrize("value", ["1e-400", "1e250", "1e400"])
def test_where_floats_do_not_hold_the_values_nothing_is_said(value: str) -> None:
    with working_precision(100):
        law = Law.of([(flint.arb(value), flint.arb(1) / 4), (-flint.arb(value), flint.arb(3) / 4)])
        assert largest_positive_part([law], 5) == flint.arb("inf")


F = Fraction
TOLERANCES = (1e-2, 1e-8, 1e-14)


def law(usual: float, *rare: tuple[float, F]) -> list[PointMass]:
    """A usual value, and rare ones with their probabilities."""
    left = 1 - sum((p for _, p in rare), F(0))
    return [(flint.arb(value), ball(p)) for value, p in [*rare, (usual, left)]]


def is_near(found: flint.arb, tolerance: float) -> bool:
    return bool(found.rad() <= tolerance * found.mid())


@given(
    st.floats(-3, 3),
    st.lists(st.tuples(st.floats(-50, 50), st.fractions(F(1, 10**9), F(1, 7))), min_size=1, max_size=3),
    st.integers(3, 20),
    st.sampled_from(TOLERANCES),
)
def test_every_sum_is_enclosed_as_closely_as_asked(usual: float, rare: Sequence[tuple[float, F]], n: int, tolerance: float) -> None:
    with flint.ctx.workprec(220):
        atoms = law(usual, *rare)
        exact, found = _enumerated(atoms, n), rarely(atoms, n, tolerance)
        if found is not None:
            assert found.overlaps(exact)
            assert not exact > 0 or is_near(found, tolerance)
        else:
            assert n * sum(p for _, p in rare) >= F(n, 2) or not exact > 0


@pytest.mark.parametrize("expected", [F(1, 10**6), F(1), F(30)])
def test_the_sum_by_rare_values_and_the_contour_agree_for_a_thousand_million_copies(expected: F) -> None:
    with flint.ctx.workprec(256):
        n = 10**9
        atoms = law(-5e-11, (1.0, expected / n / 3), (-2.5, expected / n * 2 / 3))
        found = rarely(atoms, n, 1e-10)
        assert found is not None
        assert is_near(found, 1e-10)
        assert found.overlaps(Contour.of(atoms, n).value(1e-6))


def test_rare_values_below_every_float_leave_the_usual_sum_and_one_of_them() -> None:
    with flint.ctx.workprec(400):
        tiny = flint.arb(2) ** -4000
        found = rarely([(flint.arb(-1), 1 - tiny), (flint.arb(10), tiny)], 5, 1e-9)
        assert found is not None
        assert found.overlaps(5 * tiny * 6)
        assert rarely([(flint.arb(1), 1 - tiny), (flint.arb(-1), tiny)], 20, 1e-9) is not None, "a usual value may be positive"


def test_where_rare_values_are_many_there_are_too_many_sums() -> None:
    with flint.ctx.workprec(200):
        assert rarely(law(0.0, (1.0, F(1, 10))), 10**4, 1e-6) is None
        assert rarely(law(0.0, (1.0, F(1, 10**4)), (-1.0, F(1, 10**4)), (-2.0, F(2, 10**4))), 10**5, 1e-6) is None


def test_a_shuffled_answer_that_is_hardly_ever_noise_is_known_within_a_millionth() -> None:
    """Of a million users about one draws noise: a contour would leave 3 % between the ends."""
    m = KaryRandomizedResponse.for_epsilon(F(20), 3)
    found = account(Shuffle(m, 10**6)).epsilon(F(9, 10))
    assert found.low <= found.high <= found.low * (1 + 1e-6)
