"""How often the auditor refutes what is true: measured where claims are exactly tight, so that nothing hides a fault."""

from collections.abc import Iterator
from dataclasses import dataclass

from ldpaudit.accountants.numerics.binomial import clopper_pearson
from ldpaudit.attacks import audit
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.laplace import Laplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

EPSILON = 1
CASES = tuple(
    (name, mechanism, mode)
    for name, mechanism in (
        ("binary randomized response", KaryRandomizedResponse.for_epsilon(EPSILON, k=2)),
        ("Hadamard response", HadamardResponse.for_epsilon(EPSILON, k=10)),
        ("Laplace", Laplace.for_epsilon(EPSILON)),
    )
    for mode in Mode
)
"""Mechanisms whose epsilon is 1 to the last bits, in every mode of the engine."""
INTERVAL = 0.99  # confidence of the printed intervals


@dataclass(frozen=True, slots=True)
class Rate:
    """False refutations counted, with the exact interval of Clopper and Pearson (1934) for their rate."""

    name: str
    mode: str
    runs: int
    refuted: int
    low: float
    high: float
    stated: float


def measure(*, runs: int, trials: int, confidence: float, seed: int) -> Iterator[Rate]:
    """Count the refutations of true claims, case by case.

    ``runs``: number of audits per case; ``trials``: largest number of views per audit; ``confidence``: of each audit;
    no more than ``1 - confidence`` of them may refute; ``seed``: the seeds of the audits count up from it.
    """
    for name, mechanism, mode in CASES:
        refuted = sum(
            audit(mechanism, epsilon=EPSILON, trials=trials, confidence=confidence, seed=seed + run, mode=mode).refutes(EPSILON)
            for run in range(runs)
        )
        yield Rate(name, str(mode), runs, refuted, *clopper_pearson(refuted, runs, INTERVAL), 1 - confidence)
