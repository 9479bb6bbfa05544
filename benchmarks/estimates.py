"""Errors of estimated counts beside pure-ldp and multi-freq-ldpy, and how often our intervals hold the truth.

The same data, the same epsilon, one run each. In an environment of its own that holds the dependencies of ldpaudit, and both:

    pip install . pure-ldp multi-freq-ldpy statsmodels "scikit-learn<1.5" "xxhash<4"
    python -m benchmarks.estimates             # the first table in docs/estimates.md
    python -m benchmarks.estimates coverage    # the second one, which needs no other package; ten minutes
    python -m benchmarks.estimates coverage Hadamard    # one of its oracles
    python -m benchmarks.estimates hitters     # the table of heavy hitters, a few minutes
    python -m benchmarks.estimates trees       # the table of ranges, a few minutes, which needs no other package
"""

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism, counted
from ldpaudit.mechanisms import HadamardResponse, KaryRandomizedResponse, LocalHashing, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.prefix_extending import PrefixExtending, SignPrefixExtending
from ldpaudit.studies.comparison import bits
from ldpaudit.studies.estimation import Estimates
from ldpaudit.studies.intervals import intervals
from ldpaudit.studies.postprocessing import WAYS
from ldpaudit.studies.trees import Tree

USERS, K, EPSILONS = 20_000, 256, (1.0, 2.0, 4.0)
TOP, SETS = 16, 4  # values that heavy-hitter systems look for, and data sets of which their scores are the means
RUNS = 1_000
RANGES, TREES = 40, 25
Floats = NDArray[np.float64]
Run = Callable[[NDArray[np.int64]], dict[str, Floats]]
"""From users' values to counts, by what was done to them afterwards."""

ORACLES: dict[str, Callable[[float], Mechanism]] = {
    "k-ary response": lambda epsilon: KaryRandomizedResponse.for_epsilon(epsilon, K),
    "symmetric unary": lambda epsilon: UnaryEncoding.symmetric(epsilon, K),
    "optimized unary": lambda epsilon: UnaryEncoding.optimized(epsilon, K),
    "local hashing": lambda epsilon: LocalHashing.optimal(epsilon, K),
    "subsets": lambda epsilon: SubsetSelection.optimal(epsilon, K),
    "Hadamard": lambda epsilon: HadamardResponse.for_epsilon(epsilon, K),
}


def zipf(rng: np.random.Generator) -> NDArray[np.int64]:
    """Users' values, of probabilities in proportion to 1, 1/2, 1/3, ..."""
    shares = 1 / np.arange(1, K + 1)
    return rng.choice(K, USERS, p=shares / shares.sum())


def ours(oracle: str, epsilon: float) -> Run:
    """All ways of post-processing, after one run of every client."""
    m = ORACLES[oracle](epsilon)

    def run(data: NDArray[np.int64]) -> dict[str, Floats]:
        found = Estimates(m, len(data), (*range(K),), m.run(data, np.random.default_rng(1)))
        return {name: found.processed(name) for name in WAYS if name != "simplex"}

    return run


def pure_ldp(oracle: str, epsilon: float) -> Run | None:
    """Clients and servers are objects; items count from 1."""
    import pure_ldp.frequency_oracles as fo

    made: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "k-ary response": (lambda: fo.DEServer(epsilon, K), lambda: fo.DEClient(epsilon, K)),
        "symmetric unary": (lambda: fo.UEServer(epsilon, K), lambda: fo.UEClient(epsilon, K)),
        "optimized unary": (lambda: fo.UEServer(epsilon, K, use_oue=True), lambda: fo.UEClient(epsilon, K, use_oue=True)),
        "local hashing": (lambda: fo.LHServer(epsilon, K, use_olh=True), lambda: fo.LHClient(epsilon, K, use_olh=True)),
        "Hadamard": (lambda: fo.HadamardMechServer(epsilon, K, t=1), lambda: fo.HadamardMechClient(epsilon, K, t=1)),
    }
    if oracle not in made:
        return None
    server_of, client_of = made[oracle]

    def run(data: NDArray[np.int64]) -> dict[str, Floats]:
        server, client = server_of(), client_of()
        reports = [client.privatise(x + 1) for x in data.tolist()]
        for report in reports:
            server.aggregate(report)
        every = range(1, K + 1)
        ways = {"none": 0, "its simplex": 2}
        return {
            name: np.array(server.estimate_all(every, suppress_warnings=True, normalization=way), dtype=np.float64)
            for name, way in ways.items()
        }

    return run


def multi_freq_ldpy(oracle: str, epsilon: float) -> Run | None:
    """Functions; their estimates are shares that are clipped at 0 and divided by their sum (MI), or of an iterated update (IBU)."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    calls: dict[str, tuple[Any, str, tuple[bool, ...]]] = {
        "k-ary response": (GRR, "GRR", ()), "symmetric unary": (UE, "UE", (False,)), "optimized unary": (UE, "UE", (True,)),
        "local hashing": (LH, "LH", (True,)), "subsets": (SS, "SS", ()),
    }  # fmt: skip
    if oracle not in calls:
        return None
    module, name, best = calls[oracle]

    def run(data: NDArray[np.int64]) -> dict[str, Floats]:
        reports = [getattr(module, f"{name}_Client")(x, K, epsilon, *best) for x in data.tolist()]
        size = () if name == "UE" else (K,)  # which it reads off the reports
        inverted = getattr(module, f"{name}_Aggregator_MI")(reports, *size, epsilon, *best)
        updated = getattr(module, f"{name}_Aggregator_IBU")(reports, K, epsilon, *best)
        return {"MI": np.asarray(inverted) * len(data), "IBU": np.asarray(updated) * len(data)}

    return run


PACKAGES: dict[str, Callable[[str, float], Run | None]] = {
    "ldpaudit": ours, "pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy,
}  # fmt: skip


def rows() -> Iterator[str]:
    """The table of errors; the least of each oracle and epsilon is bold."""
    data = zipf(np.random.default_rng(0))
    truth = np.bincount(data, minlength=K)
    yield "| epsilon | oracle | package | us per user | bytes per user | RMSE (largest error) after each way |"
    yield "|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        for oracle in ORACLES:
            lines, errors = [], dict[tuple[str, str], tuple[float, float]]()
            for package, made in PACKAGES.items():
                if (run := made(oracle, epsilon)) is None:
                    continue
                run(data[:50])  # what is compiled is compiled
                found, micros, peak = measured(partial(run, data), USERS)
                for name, counts in found.items():
                    off = counts - truth
                    errors[package, name] = (float(np.sqrt(np.mean(off**2))), float(np.abs(off).max()))
                lines.append((package, micros, peak, list(found)))
            best = min(errors, key=lambda each: errors[each][0])
            for package, micros, size, names in lines:
                shown = []
                for name in names:
                    text = "{:.1f} ({:.0f})".format(*errors[package, name])
                    shown.append(f"{name} {f'**{text}**' if best == (package, name) else text}")
                yield f"| {epsilon:g} | {oracle} | {package} | {micros} | {size} | {', '.join(shown)} |"


def measured(run: Callable[[], Any], users: int) -> tuple[Any, str, str]:
    """What it returns, its microseconds and the bytes at the peak, both of each user."""
    start = time.perf_counter()
    found = run()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, f"{seconds / users * 1e6:.2g}", f"{peak / users:,.0f}"


def hitters() -> Iterator[str]:
    """The most frequent values of 12 bits, by one answer of local hashing of each user; and of 24 bits, by ours alone."""
    yield "| bits of a value | epsilon | system | bits of a report | recall | RMSE (largest error) | us per user | bytes per user |"
    yield "|---|---|---|---|---|---|---|---|"
    for length in (12, 24):
        rng = np.random.default_rng(0)
        several = [rng.choice(1 << length, K, replace=False)[zipf(rng)] for _ in range(SETS)]
        for epsilon in (2.0, 4.0):
            made = PrefixExtending.for_epsilon, SignPrefixExtending.for_epsilon
            systems = [m(epsilon, USERS, 1 << length, top=TOP, width=length // 2) for m in made]
            rows: list[tuple[str, int, Callable[[NDArray[np.int64]], dict[int, float]]]] = [
                (f"ldpaudit, {m.title}", round(bits(m)), partial(_our_hitters, m)) for m in systems
            ]
            if length == 12:
                rows.append(("pure-ldp, PEM", 39, partial(_pure_hitters, epsilon, length)))
            for name, size, run in rows:
                scores = []
                for data in several:
                    held = counted(data)
                    most = sorted(held, key=lambda x: (-held[x], x))[:TOP]
                    found = run(data)
                    off = np.array([found.get(x, 0.0) - held[x] for x in most])
                    scores.append((sum(x in found for x in most), float(np.sqrt(np.mean(off**2))), float(np.abs(off).max())))
                recall, rms, largest = np.mean(scores, axis=0)
                _, micros, peak = measured(partial(run, several[0]), USERS)
                shown = f"{recall:.1f} of {TOP} | {rms:.0f} ({largest:.0f})"
                yield f"| {length} | {epsilon:g} | {name} | {size} | {shown} | {micros} | {peak} |"


def _our_hitters(m: PrefixExtending | SignPrefixExtending, data: NDArray[np.int64]) -> dict[int, float]:
    found: dict[int, float] = m.run(data, np.random.default_rng(int(data[0])))
    return found


def _pure_hitters(epsilon: float, length: int, data: NDArray[np.int64]) -> dict[int, float]:
    """Prefixes of half of the bits, then of all; a report is a seed of 32 bits, what it makes of a prefix, and which prefix."""
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    shape = {"start_length": 0, "max_string_length": length, "fragment_length": length // 2}
    client, server = PEMClient(epsilon, **shape), PEMServer(epsilon, **shape)
    for x in data.tolist():
        server.aggregate(client.privatise(f"{x:0{length}b}"))
    return {int(text, 2): float(count) for text, count in zip(*server.find_heavy_hitters(k=TOP), strict=True)}


def coverage(oracles: Sequence[str]) -> Iterator[str]:
    """How many of the intervals of a thousand runs hold the count: of values, and of all values together."""
    data = zipf(np.random.default_rng(0))
    truth, counts, rng = np.bincount(data, minlength=K), counted(data), np.random.default_rng(2)
    yield "| oracle | epsilon | each count | least, largest of a value | all counts together | how |"
    yield "|---|---|---|---|---|---|"
    for oracle in oracles:
        for epsilon in (1.0, 4.0):
            m = ORACLES[oracle](epsilon)
            runs = (m.run(data, rng) if isinstance(m, LocalHashing) else m.run_on_counts(counts, rng) for _ in range(RUNS))
            estimates = np.array([*runs])
            held = []
            for alpha in (0.05, 0.05 / K):
                found = intervals(m, estimates, USERS, alpha)
                held.append((found.low <= truth) & (truth <= found.high))
            each, together = held[0].mean(axis=0), held[1].all(axis=1).mean()
            ends = f"{each.min():.1%}, {each.max():.1%}"
            yield f"| {oracle} | {epsilon:g} | {each.mean():.2%} | {ends} | {together:.1%} | {found.how} |"


def trees() -> Iterator[str]:
    """Ranges of values: by sums of counts, of users who all answer for values, and by trees of prefixes."""
    data, random = zipf(np.random.default_rng(0)), np.random.default_rng
    asked = [range(first, last + 1) for first, last in np.sort(random(3).integers(0, K, (RANGES, 2))).tolist()]
    truth = np.array([np.isin(data, each).sum() for each in asked])
    yield "| epsilon | reports | RMSE of ranges | intervals that hold | half of their width |"
    yield "|---|---|---|---|---|"
    for epsilon in EPSILONS[:2]:
        flat = [ORACLES["local hashing"](epsilon).run(data, random(seed)) for seed in range(TREES)]
        off = [counts[each.start : each.stop].sum() - held for counts in flat for each, held in zip(asked, truth, strict=True)]
        yield f"| {epsilon:g} | local hashing of values | {np.sqrt(np.mean(np.square(off))):.0f} | | |"
        for make, width in product((SignPrefixExtending.for_epsilon, PrefixExtending.for_epsilon), (1, 2, 4)):
            made = [make(epsilon, USERS, K, top=1, width=width, seed=seed) for seed in range(TREES)]
            found = [Tree.of(m, m.collect(data, random(m.seed))).answers(asked, 0.95) for m in made]
            off, half = [each - truth for each, _ in found], [(ends.high - ends.low) / 2 for _, ends in found]
            held = np.mean([(ends.low <= truth) & (truth <= ends.high) for _, ends in found])
            shown = f"{np.sqrt(np.mean(np.square(off))):.0f} | {held:.1%} | {np.mean(half):.0f}"
            yield f"| {epsilon:g} | {made[0].title}, {width} bit{'s' * (width > 1)} a level | {shown} |"


if __name__ == "__main__":
    tables = {"coverage": lambda: coverage(sys.argv[2:] or [*ORACLES]), "hitters": hitters, "trees": trees}
    for line in tables.get(sys.argv[1] if sys.argv[1:] else "", rows)():
        print(line, flush=True)
