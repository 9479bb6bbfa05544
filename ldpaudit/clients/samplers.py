"""One report of a mechanism, drawn exactly: each draw is a coin or a uniform number, in the order that docs/clients.md states."""

from collections.abc import Callable
from typing import Any

from ldpaudit.clients.randomness import Randomness
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, View
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.one_bit import DBitFlip, PerturbedDBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import MemoizedReports, NoisyBits, PermanentRappor, Rappor
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding


def report(m: Mechanism, x: Any, source: Randomness) -> View:
    """One report on input `x`, of law exactly ``m.law(x)``, in plain Python numbers.

    Raises Unsupported for a mechanism that has no such sampler; ValueError where `x` is no input.
    """
    if type(m) not in SAMPLERS:
        known = ", ".join(owner.title for owner in SAMPLERS)
        raise Unsupported(m, f"its clients have no test vectors; there are such of {known}")
    m.require_input(x)
    return SAMPLERS[type(m)](m, x, source)


def _another(x: int, n: int, source: Randomness) -> int:
    """One of ``range(n)`` but `x`."""
    drawn = source.uniform(n - 1)
    return drawn + (drawn >= x)


def _permanent(m: NoisyBits, x: int, source: Randomness) -> tuple[int, ...]:
    return tuple(int(source.coin(m.kept(bit))) for bit in m.signature(x).tolist())


def _rappor(m: MemoizedReports, x: int, source: Randomness) -> tuple[int, ...]:
    kept, (on, off) = _permanent(m, x, source), m.shown
    reports = [[source.coin(on if bit else off) for bit in kept] for _ in range(m.reports)]
    return tuple(map(sum, zip(*reports, strict=True)))


def _local_hashing(m: LocalHashing, x: int, source: Randomness) -> tuple[int, int, int]:
    a, b = source.uniform(m.prime), source.uniform(m.prime)
    truth = (a * x + b) % m.prime % m.g
    return a, b, truth if source.coin(m.p) else _another(truth, m.g, source)


def _loloha(m: Loloha, x: int, source: Randomness) -> tuple[int, ...]:
    a, b, kept = _local_hashing(m.lifetime(), x, source)
    return a, b, *(kept if source.coin(m.p2) else _another(kept, m.g, source) for _ in range(m.reports))


def _hadamard_response(m: HadamardResponse, x: int, source: Randomness) -> int:
    y, row = source.uniform(m.columns), x + 1
    is_one, wanted = not (y & row).bit_count() % 2, source.coin(m.p)
    # Flipping a bit that the row has maps one half of the columns onto the other, one to one.
    return y if is_one == wanted else y ^ (row & -row)


def _count_mean_sketch(m: CountMeanSketch, x: int, source: Randomness) -> tuple[int, ...]:
    j = source.uniform(m.hashes)
    own = int(m.bucket(x, j))
    return j, *(int(source.coin(m.p if bucket == own else 1 - m.p)) for bucket in range(m.width))


def _hadamard_count_mean_sketch(m: HadamardCountMeanSketch, x: int, source: Randomness) -> tuple[int, int, int]:
    j, coefficient = source.uniform(m.hashes), source.uniform(m.width)
    negative = (coefficient & int(m.bucket(x, j))).bit_count() % 2 == 1
    return j, coefficient, 1 if negative != source.coin(m.p) else -1


def _dbitflip(m: DBitFlip, x: int, source: Randomness) -> tuple[int, ...]:
    drawn: set[int] = set()
    for last in range(m.k - m.d, m.k):  # Floyd's d-subsets; see `mechanisms.shared.coins.uniform_subset`
        bucket = source.uniform(last + 1)
        drawn.add(last if bucket in drawn else bucket)
    return tuple(int(source.coin(m.p if bit == x else 1 - m.p)) if bit in drawn else -1 for bit in range(m.k))


def _perturbed(m: PerturbedDBitFlip, x: int, source: Randomness) -> tuple[int, ...]:
    kept = _dbitflip(m.lifetime(), x, source)
    reports = [[bit if bit < 0 else bit ^ source.coin(m.gamma) for bit in kept] for _ in range(m.reports)]
    return tuple(-1 if bit < 0 else sum(column) for bit, column in zip(kept, zip(*reports, strict=True), strict=True))


SAMPLERS: dict[type[Mechanism], Callable[[Any, Any, Randomness], View]] = {
    KaryRandomizedResponse: lambda m, x, source: x if source.coin(m.p) else _another(x, m.k, source),
    UnaryEncoding: lambda m, x, source: tuple(int(source.coin(m.p if bit == x else m.q)) for bit in range(m.k)),
    Rappor: _rappor,
    PermanentRappor: _permanent,
    LongitudinalUnary: _rappor,
    LocalHashing: _local_hashing,
    Loloha: _loloha,
    HadamardResponse: _hadamard_response,
    CountMeanSketch: _count_mean_sketch,
    HadamardCountMeanSketch: _hadamard_count_mean_sketch,
    DBitFlip: _dbitflip,
    PerturbedDBitFlip: _perturbed,
}
