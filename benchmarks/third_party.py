"""Mechanisms of other packages, audited as black boxes: claimed epsilon against measured.

Run in an environment of its own that holds the dependencies of ldpaudit and, of the packages below, those to be
audited; one that is missing is said to be. Two of them need older packages than there are:

    pip install . pure-ldp multi-freq-ldpy diffprivlib opendp statsmodels "scikit-learn<1.5" "xxhash<4"
    python -m benchmarks.third_party    # the table in docs/adapters.md
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Case:
    """One mechanism of a package: its name, what to call, and the claimed epsilon of one call."""

    package: str
    name: str
    target: Any
    inputs: tuple[Any, ...] = (0, 1)
    epsilon: float = EPSILON
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
        ("LaplaceTruncated", real, ends), ("LaplaceBoundedDomain", real, ends), ("Staircase", real, {}),
    ):  # fmt: skip
        yield Case("diffprivlib", name, getattr(mechanisms, name)(epsilon=EPSILON, sensitivity=1, **more), inputs=inputs)


def opendp() -> Iterator[Case]:
    """Measurements; the claim is read from their `map`."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    p = float(np.exp(EPSILON) / (1 + np.exp(EPSILON)))
    boolean = dp.m.make_randomized_response_bool(p)
    yield Case("opendp", "make_randomized_response_bool", boolean, (True, False), boolean.map(1))
    kary = dp.m.make_randomized_response(["a", "b", "c"], float(np.exp(EPSILON) / (2 + np.exp(EPSILON))))
    yield Case("opendp", "make_randomized_response", kary, ("a", "b"), kary.map(1))
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1 / EPSILON)
    yield Case("opendp", "make_laplace", laplace, (0.0, 1.0), laplace.map(1.0))
    integers = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    geometric = dp.m.make_geometric(*integers, scale=1 / EPSILON)
    yield Case("opendp", "make_geometric", geometric, (0, 1), geometric.map(1))


def row(case: Case) -> str:
    """One audit as a row of the table: of reports as they come, and where that refutes, of canonical ones."""
    start = f"| {case.package} | {case.name} | {case.epsilon:.4g} |"
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
    return ldp.audit(as_callable(case.target), inputs=case.inputs, epsilon=case.epsilon, **options)


def main() -> None:
    """Print the table as Markdown."""
    print("# Third-party packages, audited\n")
    print(f"Each mechanism as a black box, {TRIALS:,} reports, confidence {CONFIDENCE:g} each; printed by")
    print("`python -m benchmarks.third_party`. A bound below the claim says only that these samples do not refute it.")
    print("*Canonical* is the bound for reports without types, order of sets and low bits of floats. Floating-point noise reveals")
    print("its input, because different inputs reach different floats (Mironov 2012); on a device, reports may be rounded.\n")
    print("| package | mechanism | claimed epsilon | measured at least | canonical | outcome |\n|---|---|---|---|---|---|")
    for package in (pure_ldp, multi_freq_ldpy, diffprivlib, opendp):
        np.random.seed(1)  # noqa: NPY002 - what these packages draw from
        random.seed(1)
        try:
            for case in package():
                print(row(case), flush=True)
        except ImportError as error:
            print(f"{package.__name__}: not audited, {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
