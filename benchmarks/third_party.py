"""Mechanisms of other packages, audited as black boxes: claimed epsilon against measured.

    python -m benchmarks.third_party docs/third-party.md [PACKAGE ...]

Writes the rows of these packages, by default of all that are installed, into the page, and leaves the others as they are: each
package may have an environment of its own, with ldpaudit's dependencies. Three need older packages than there are:
scikit-learn<1.5 (pure-ldp, diffprivlib) and xxhash<4 (pure-ldp, multi-freq-ldpy).
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import ldpaudit as ldp
from ldpaudit.adapters.hashes import xxh32
from ldpaudit.adapters.objects import as_callable
from ldpaudit.attacks import Reading
from ldpaudit.enclosure import show_down
from ldpaudit.errors import LdpauditError
from ldpaudit.evidence import Evidence, Form

EPSILON = 1.0
K = 5
TRIALS = 60_000
DELTA = 0.01
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Case:
    """One mechanism of a package: its name, what to call, and the claimed epsilon and delta of one call."""

    package: str
    name: str
    target: Any
    inputs: tuple[Any, ...] = (0, 1)
    epsilon: float = EPSILON
    delta: float = 0.0
    support: Any = None


def pure_ldp() -> Iterator[Case]:
    """Objects with `privatise`; items count from 1."""
    import pure_ldp.frequency_oracles as fo

    hashes = [lambda x, a=a: (a * (hash(x) % 2**31) + 7 * a) % 2147483647 for a in (1103515245, 22695477, 69069)]
    made: dict[str, Callable[[], Any]] = {
        "DEClient": lambda: fo.DEClient(EPSILON, K),
        "UEClient, symmetric": lambda: fo.UEClient(EPSILON, K),
        "UEClient, optimized": lambda: fo.UEClient(EPSILON, K, use_oue=True),
        "LHClient, binary": lambda: fo.LHClient(EPSILON, K),
        "LHClient, optimal": lambda: fo.LHClient(EPSILON, K, use_olh=True),
        "FastLHClient, optimal": lambda: fo.FastLHClient(EPSILON, K, k=100, use_olh=True),
        "HEClient": lambda: fo.HEClient(EPSILON, K),
        "HadamardMechClient": lambda: fo.HadamardMechClient(EPSILON, K, t=1),
        "CMSClient": lambda: fo.CMSClient(EPSILON, [lambda x, h=h: h(x) % 16 for h in hashes], 16),
        "CMSClient, hadamard": lambda: fo.CMSClient(EPSILON, [lambda x, h=h: h(x) % 16 for h in hashes], 16, True),
    }
    for name, make in made.items():
        yield Case("pure-ldp", name, make(), inputs=(1, 2))


def multi_freq_ldpy() -> Iterator[Case]:
    """Plain functions of (value, k, epsilon)."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, HE, LH, SS, UE

    made: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "GRR_Client": (lambda x: GRR.GRR_Client(x, K, EPSILON), None),
        "UE_Client, optimal": (lambda x: UE.UE_Client(x, K, EPSILON, True), None),
        "UE_Client, symmetric": (lambda x: UE.UE_Client(x, K, EPSILON, False), None),
        "LH_Client, optimal": (lambda x: LH.LH_Client(x, K, EPSILON, True), xxh32(4)),
        "LH_Client, binary": (lambda x: LH.LH_Client(x, K, EPSILON, False), xxh32(2)),
        "SS_Client": (lambda x: SS.SS_Client(x, K, EPSILON), None),
        "HE_Client": (lambda x: HE.HE_Client(x, K, EPSILON), None),
    }
    for name, (target, support) in made.items():
        yield Case("multi-freq-ldpy", name, target, support=support)


def diffprivlib() -> Iterator[Case]:
    """Objects with `randomise`."""
    from diffprivlib import mechanisms

    yield Case("diffprivlib", "Binary", mechanisms.Binary(epsilon=EPSILON, value0="0", value1="1"), inputs=("0", "1"))
    whole, real, ends = (0, 1), (0.0, 1.0), {"lower": 0, "upper": 1}
    for name, inputs, more in (
        ("Geometric", whole, {}), ("GeometricTruncated", whole, ends), ("GeometricFolded", whole, ends), ("Laplace", real, {}),
        ("LaplaceTruncated", real, ends), ("LaplaceFolded", real, ends), ("LaplaceBoundedDomain", real, ends),
        ("Snapping", real, ends), ("Staircase", real, {}),
    ):  # fmt: skip
        yield Case("diffprivlib", name, getattr(mechanisms, name)(epsilon=EPSILON, sensitivity=1, **more), inputs=inputs)
    for name in ("LaplaceBoundedNoise", "Gaussian", "GaussianAnalytic"):
        made = getattr(mechanisms, name)(epsilon=EPSILON, delta=DELTA, sensitivity=1)
        yield Case("diffprivlib", name, made, inputs=real, delta=DELTA)
    discrete = mechanisms.GaussianDiscrete(epsilon=EPSILON, delta=DELTA, sensitivity=1)
    yield Case("diffprivlib", "GaussianDiscrete", discrete, inputs=whole, delta=DELTA)
    yield Case("diffprivlib", "Uniform", mechanisms.Uniform(delta=DELTA, sensitivity=1), inputs=real, epsilon=0.0, delta=DELTA)
    for name in ("Exponential", "PermuteAndFlip"):  # of two candidates, whose utilities a user may change by 1 each
        made = {x: getattr(mechanisms, name)(epsilon=EPSILON, sensitivity=1, utility=[x, 1 - x]).randomise for x in whole}
        yield Case("diffprivlib", name, lambda x, made=made: made[x]())
    far = [["a", "b", 1], ["a", "c", 2], ["b", "c", 1]]
    words = mechanisms.ExponentialCategorical(epsilon=EPSILON, utility_list=far)
    yield Case("diffprivlib", "ExponentialCategorical", words, ("a", "c"))
    tree = mechanisms.ExponentialHierarchical(epsilon=EPSILON, hierarchy=[["a", "b"], ["c", "d"]])
    yield Case("diffprivlib", "ExponentialHierarchical", tree, ("a", "c"))


def opendp() -> Iterator[Case]:
    """Measurements; the claim is read from their `map`."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    p = float(np.exp(EPSILON) / (1 + np.exp(EPSILON)))
    boolean = dp.m.make_randomized_response_bool(p)
    yield Case("opendp", "make_randomized_response_bool", boolean, (True, False), boolean.map(1))
    kary = dp.m.make_randomized_response(["a", "b", "c"], float(np.exp(EPSILON) / (2 + np.exp(EPSILON))))
    yield Case("opendp", "make_randomized_response", kary, ("a", "b"), kary.map(1))
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=2 * (1 - p))
    yield Case("opendp", "make_randomized_response_bitvec", bits, (b"\x01", b"\x02"), bits.map(1))
    reals, distance = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(reals, distance, scale=1 / EPSILON)
    yield Case("opendp", "make_laplace", laplace, (0.0, 1.0), laplace.map(1.0))
    vector = dp.m.make_laplace(dp.vector_domain(reals), dp.l1_distance(T=float), scale=1 / EPSILON)
    yield Case("opendp", "make_laplace of a vector", vector, ([0.0, 0.0], [1.0, 0.0]), vector.map(1.0))
    integers = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for name in ("make_laplace", "make_geometric"):
        whole = getattr(dp.m, name)(*integers, scale=1 / EPSILON)
        yield Case("opendp", f"{name} of an integer", whole, (0, 1), whole.map(1))
    largest = dp.m.make_noisy_max(dp.vector_domain(reals), dp.linf_distance(T=float), dp.max_divergence(), scale=2 / EPSILON)
    yield Case("opendp", "make_noisy_max", largest, ([0.0, 1.0], [1.0, 0.0]), largest.map(1.0))


def pydp() -> Iterator[Case]:
    """Noise on a number; and whole data sets, to which a user adds one value."""
    from pydp import _pydp
    from pydp.algorithms import laplacian

    noise, gaussian = _pydp._mechanisms.LaplaceMechanism(EPSILON, 1.0), _pydp._mechanisms.GaussianMechanism(EPSILON, DELTA, 1.0)
    yield Case("python-dp", "LaplaceMechanism of a float", noise.add_noise, (0.0, 1.0))
    yield Case("python-dp", "LaplaceMechanism of an integer", noise.add_noise)
    yield Case("python-dp", "GaussianMechanism of a float", gaussian.add_noise, (0.0, 1.0), delta=DELTA)
    ends = {"lower_bound": 0, "upper_bound": 1}
    for name, kind, more in (
        ("Count", "int", {}), ("BoundedSum", "int", ends), ("BoundedSum", "float", ends), ("BoundedMean", "float", ends),
        ("BoundedVariance", "float", ends), ("Max", "float", ends), ("Median", "float", ends),
    ):  # fmt: skip
        made = getattr(laplacian, name)(epsilon=EPSILON, dtype=kind, **more)
        values = [0, 0, 1] if kind == "int" else [0.0, 0.0, 1.0]
        yield Case("python-dp", f"{name}, {kind}", made.quick_result, (values, [*values, values[-1]]))


def trasgodp() -> Iterator[Case]:
    """Functions of arrays; the other values of the array say which values there are."""
    from trasgodp.categorical import _exponential, _randomized_response
    from trasgodp.numerical import _gaussian, _laplace

    others = {"binary": ["a", "b"], "kary": ["a", "b", "c"]}
    for name, values in others.items():
        respond = getattr(_randomized_response, f"dp_randomized_response_{name}_array")
        yield Case("trasgodp", f"randomized_response_{name}", _first(respond, values), ("a", "b"))
    yield Case("trasgodp", "exponential", _first(_exponential.dp_exponential_array, others["kary"]), ("a", "b"))
    yield Case("trasgodp", "clip_laplace", _first(_laplace.dp_clip_laplace_array, [0.5], 0, 1), (0.0, 1.0))
    yield Case("trasgodp", "clip_gaussian", _first(_gaussian.dp_clip_gaussian_array, [0.5], 0, 1, DELTA), (0.0, 1.0), delta=DELTA)


def _first(respond: Callable[..., Any], others: list[Any], *more: float) -> Callable[[Any], Any]:
    return lambda x: respond(np.array([x, *others]), EPSILON, *more)[0]


def diffpriv_pure() -> Iterator[Case]:
    """Functions of data sets, in which one value is replaced, or of a count."""
    import diffpriv_pure as dp

    values = ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    made: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...], float]] = {
        "private_sum": (lambda x: dp.private_sum(x, (0, 1), EPSILON), values, 0.0),
        "private_sum with a delta": (lambda x: dp.private_sum(x, (0, 1), EPSILON, DELTA), values, DELTA),
        "private_mean": (lambda x: dp.private_mean(x, (0, 1), EPSILON), values, 0.0),
        "private_count": (lambda x: dp.private_count(x, EPSILON), (10, 11), 0.0),
    }
    for name, (target, inputs, delta) in made.items():
        yield Case("diffpriv-pure", name, target, inputs, delta=delta)


def ldp_toolbox() -> Iterator[Case]:
    """Objects with `obfuscate`."""
    from ldp_toolbox.protocols.frequency import grr, he, lh, ss, ue

    made: dict[str, tuple[Any, Any]] = {
        "GRR": (grr.GeneralizedRandomizedResponse(K, EPSILON), None),
        "UE, optimal": (ue.UnaryEncoding(K, EPSILON), None),
        "UE, symmetric": (ue.UnaryEncoding(K, EPSILON, optimal=False), None),
        "SS": (ss.SubsetSelection(K, EPSILON), None),
        "HE, thresholding": (he.HistogramEncoding(K, EPSILON), None),
        "HE, summation": (he.HistogramEncoding(K, EPSILON, thresholding=False), None),
        "LH, optimal": (lh.LocalHashing(K, EPSILON), xxh32(4)),
        "LH, binary": (lh.LocalHashing(K, EPSILON, optimal=False), xxh32(2)),
    }
    for name, (protocol, support) in made.items():
        yield Case("ldp-toolbox", name, protocol.obfuscate, support=support)


PACKAGES = (pure_ldp, multi_freq_ldpy, diffprivlib, opendp, pydp, trasgodp, diffpriv_pure, ldp_toolbox)


def row(case: Case) -> str:
    """One audit as a row of the table: of reports as they come, and where that refutes, of canonical ones."""
    claimed = f"({case.epsilon:.4g}, {case.delta:g})" if case.delta else f"{case.epsilon:.4g}"
    start = f"| {case.package} {metadata.version(case.package)} | {case.name} | {claimed} |"
    try:
        raw = measured(case, Form.RAW)
        if not raw.refutes(case.epsilon):
            return f"{start} {show_down(raw.epsilon_lower, 4)} | | not refuted |"
        rounded = measured(case, Form.CANONICAL)
    except LdpauditError as error:
        return f"{start} - | | error: {error} |"
    both = rounded.refutes(case.epsilon)
    outcome = "**refuted**" if both else "**refuted** by types, order or low bits of floats only"
    return f"{start} {show_down(raw.epsilon_lower, 4)} | {show_down(rounded.epsilon_lower, 4)} | {outcome} |"


def measured(case: Case, form: Form) -> Evidence:
    """One audit."""
    reading = Reading(form, support=case.support)
    options: dict[str, Any] = {"trials": TRIALS, "confidence": CONFIDENCE, "seed": 1, "mode": "fixed", "reading": reading}
    return ldp.audit(as_callable(case.target), inputs=case.inputs, epsilon=case.epsilon, delta=case.delta, **options)


HEAD = f"""\
# Third-party packages, audited

Each mechanism as a black box, {TRIALS:,} reports, confidence {CONFIDENCE:g} each; written by `python -m benchmarks.third_party
docs/third-party.md`. A bound below the claim says only that these samples do not refute it. *Canonical* is the bound for reports
without types, order of sets and low bits of floats. Floating-point noise reveals its input, because different inputs reach
different floats (Mironov 2012); on a device, reports may be rounded. The claim is the package's own parameter; where the mechanism
is one of data sets, of two that differ in one value. The noise of diffpriv-pure's `private_count` is never negative.

| package | mechanism | claimed | measured at least | canonical | outcome |
|---|---|---|---|---|---|
"""


def main(file: Path, wanted: list[str]) -> None:
    """Audit, and put the rows into the page, package by package."""
    for package in PACKAGES:
        if wanted and package.__name__ not in wanted:
            continue
        np.random.seed(1)  # noqa: NPY002 - what these packages draw from
        random.seed(1)
        rows: list[str] = []
        try:
            for case in package():
                rows.append(row(case))
                print(rows[-1], flush=True)
        except ImportError as error:
            print(f"{package.__name__}: not audited, {error}", file=sys.stderr)
        if rows:
            file.write_text(page(file.read_text(encoding="utf-8") if file.exists() else "", rows), encoding="utf-8")


def page(before: str, rows: list[str]) -> str:
    """The page with the rows of a package, which replace those before."""
    name = rows[0].split()[1]
    kept = [line for line in before.splitlines() if line.startswith("| ") and not line.startswith(("| package |", f"| {name} "))]
    return HEAD + "\n".join(sorted([*kept, *rows], key=lambda line: line.split()[1])) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
