"""Privacy claims as tests: a marker, a fixture, an assertion, and deployment files as test files.

Nothing of ours but this module is imported until a test asks for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ldpaudit.evidence import Evidence

BUDGET = 100_000
"""Views an audit draws, unless the marker says otherwise."""
CONFIDENCE = 0.9999
"""Of each audit: a suite runs every day, and must not cry wolf."""

_MARKER = (
    "ldp(epsilon, delta=0, inputs=(0, 1), neighbours=None, budget=100000, confidence=0.9999): what the fixture "
    "ldp_audit tests a randomizer against"
)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


def assert_ldp(
    target: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    inputs: Sequence[Any] = (0, 1),
    neighbours: str | None = None,
    budget: int = BUDGET,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Evidence:
    """Assert that samples do not refute (epsilon, delta)-LDP.

    Parameters
    ----------
    target : callable, Mechanism or Plan
        A randomizer ``x -> report`` among whose `inputs` two are looked for that can be told apart, or a mechanism or
        plan of ours.
    epsilon, delta : float
        The claim, in nats.
    inputs : sequence
        For a callable.
    neighbours : str or None
        For a mechanism or plan.
    budget : int
        Views that are drawn.
    confidence : float
        Of a refutation.
    seed : int
        Of our own samples.

    Returns
    -------
    Evidence

    Raises
    ------
    AssertionError
        Where they do; the message names the claim, the measured bound and how to reproduce it.
    """
    __tracebackhide__ = True
    import ldpaudit
    from ldpaudit.claim import SLACK
    from ldpaudit.enclosure import show_down

    ours = isinstance(target, ldpaudit.Mechanism | ldpaudit.Plan)
    evidence: Evidence = ldpaudit.audit(
        target,
        inputs=None if ours else inputs,
        epsilon=epsilon,
        delta=delta,
        neighbours=None if neighbours is None else ldpaudit.Neighbours(neighbours),
        trials=budget,
        confidence=confidence,
        seed=seed,
    )
    if evidence.epsilon_lower > epsilon * (1 + SLACK):
        name = getattr(target, "__qualname__", str(target))
        module = getattr(target, "__module__", "")
        given = f"--inputs {' '.join(map(str, inputs))} --epsilon {epsilon:g} --delta {delta:g}"
        reproduce = f"ldpaudit audit {module}:{name} {given} --trials {budget} --confidence {confidence} --seed {seed}"
        raise AssertionError(
            f"{name} is not {epsilon:g}-LDP{f' at delta {delta:g}' if delta else ''}: measured epsilon >= "
            f"{show_down(evidence.epsilon_lower)} with confidence {confidence:g}, on inputs {evidence.pair} and "
            f"{evidence.event}; reproduce: {reproduce if not ours else f'seed {seed}'}"
        )
    return evidence


def node_seed(node: str) -> int:
    """A seed from a test's id: order and parallelism change nothing."""
    return int.from_bytes(hashlib.sha256(node.encode()).digest()[:8], "big")


@pytest.fixture
def ldp_audit(request: pytest.FixtureRequest) -> Callable[..., Evidence]:
    """`assert_ldp` with what the test's marker ``ldp`` says."""
    marker = request.node.get_closest_marker("ldp")
    defaults: dict[str, Any] = {"seed": node_seed(request.node.nodeid)}
    if marker is not None:
        if marker.args:
            raise pytest.UsageError("the marker ldp takes keywords only, such as ldp(epsilon=1)")
        defaults |= marker.kwargs

    def audit(target: Any, **options: Any) -> Evidence:
        __tracebackhide__ = True
        return assert_ldp(target, **{**defaults, **options})

    return audit


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Deployment files named ``*.ldp.toml`` are test files, and their claims tests."""
    if file_path.name.endswith(".ldp.toml"):
        file: DeploymentFile = DeploymentFile.from_parent(parent, path=file_path)
        return file
    return None


class DeploymentFile(pytest.File):
    """A deployment file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test a claim."""
        from ldpaudit.deployment import load

        for index, claim in enumerate(load(self.path).claims):
            yield ClaimItem.from_parent(self, name=claim.id, index=index)


class ClaimItem(pytest.Item):
    """A claim of a deployment file: it passes unless it is refuted, or comes out otherwise than recorded."""

    def __init__(self, *, index: int, **options: Any) -> None:
        super().__init__(**options)
        self.index = index

    def runtest(self) -> None:
        """Certify this claim alone."""
        from dataclasses import replace

        from ldpaudit.certify import certify
        from ldpaudit.deployment import load

        deployment = load(self.path)
        one = replace(deployment, claims=(deployment.claims[self.index],))
        claim = certify(one, trials=BUDGET, confidence=CONFIDENCE).claims[0]
        if not claim.as_recorded:
            recorded = f" (on record: {claim.expect})" if claim.expect else ""
            reproduce = f"ldpaudit certify {self.path.name} --trials {BUDGET} --confidence {CONFIDENCE}"
            raise AssertionError(f"{claim.sentence}: {claim.verdict}{recorded}, {claim.reason}; reproduce: {reproduce}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone, for what is not a fault of the test."""
        from ldpaudit.errors import LdpauditError

        if isinstance(excinfo.value, AssertionError | LdpauditError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the claim stands."""
        from ldpaudit.toml import line_of, read_text

        line = line_of(read_text(self.path), ["claims", self.index, "id"]) or 1
        return self.path, line - 1, f"claim {self.name}"
