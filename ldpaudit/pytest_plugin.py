"""Privacy claims as tests: a marker, a fixture, an assertion, and deployment files as test files.

Nothing of ours but this module is imported until a test asks for it.
"""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ldpaudit.evidence import Evidence

BUDGET = 100_000  # views an audit draws, unless the marker says otherwise
CONFIDENCE = 0.9999  # of each audit: a suite runs every day, and must not cry wolf

_MARKER = (
    "ldp(epsilon, delta=0, inputs=(0, 1), neighbours=None, budget=100000, confidence=0.9999, support=None): what the fixture "
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
    support: Callable[[Any, Any], Any] | None = None,
    again: str = "this test",
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
    support : callable or None
        Of a report and an input: whether the report supports the input, as by its hash function.
    again : str
        What shows a refutation again where no command of ours does: a lambda, an object, a function beside a test.

    Returns
    -------
    Evidence

    Raises
    ------
    AssertionError
        Where the samples refute the claim; the message names the claim, the measured bound and how to reproduce it.
    """
    __tracebackhide__ = True
    import ldpaudit
    from ldpaudit.attacks import Reading
    from ldpaudit.enclosure import show_down

    if not math.isfinite(epsilon):
        raise ValueError(f"a claim needs a finite epsilon, got {epsilon}: nothing would be audited")
    ours = isinstance(target, ldpaudit.Mechanism | ldpaudit.Plan)
    evidence: Evidence = ldpaudit.audit(
        target,
        inputs=None if ours else inputs,
        epsilon=epsilon,
        delta=delta,
        neighbours=None if neighbours is None else ldpaudit.Neighbours.named(neighbours),
        trials=budget,
        confidence=confidence,
        seed=seed,
        reading=Reading(support=support),
    )
    if evidence.refutes(epsilon):
        name = getattr(target, "__qualname__", str(target))
        given = None if support else _on_the_command_line(target, inputs)
        options = f"--epsilon {float(epsilon)!r} --delta {float(delta)!r} --trials {budget} --confidence {confidence}"
        reproduce = again if given is None else f"ldpaudit audit {given} {options} --seed {seed}"
        raise AssertionError(
            f"{name} is not {epsilon:g}-LDP{f' at delta {delta:g}' if delta else ''}: measured epsilon >= "
            f"{show_down(evidence.epsilon_lower)} with confidence {confidence:g}, on inputs {evidence.pair} and "
            f"{evidence.event}{f' ({evidence.clue})' if evidence.clue else ''}; reproduce: {reproduce}"
        )
    return evidence


def _on_the_command_line(target: Any, inputs: Sequence[Any]) -> str | None:
    """``MODULE:CALLABLE --inputs ...`` for a shell in the current folder; None where no command says the same."""
    import json
    import sys

    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    file = getattr(found, "__file__", None)
    for part in name.split("."):
        found = getattr(found, part, None)
    if file is None or module is None or found is not target or not _importable(Path(file), module):
        return None
    try:
        texts = [json.dumps(x) for x in inputs]
    except (TypeError, ValueError):
        return None
    if [repr(json.loads(text)) for text in texts] != [repr(x) for x in inputs]:
        return None
    return f"{module}:{name} --inputs {' '.join(map(shlex.quote, texts))}"


def _importable(file: Path, module: str) -> bool:
    """Whether a shell in the current folder finds the module: pytest also finds what stands beside a test."""
    here, place = Path.cwd(), Path(*module.split("."))
    ours = here in file.parents and "site-packages" not in file.parts
    return not ours or file in (here / f"{place}.py", here / place / "__init__.py")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test with the marker audits something: it takes the fixture."""
    if item.get_closest_marker("ldp") is not None and "ldp_audit" not in getattr(item, "fixturenames", ()):
        pytest.fail("the marker ldp audits nothing by itself: the test needs the argument ldp_audit, and to call it", pytrace=False)


@pytest.fixture
def ldp_audit(request: pytest.FixtureRequest) -> Callable[..., Evidence]:
    """`assert_ldp` with what the test's marker ``ldp`` says."""
    marker = request.node.get_closest_marker("ldp")
    node = request.node.nodeid  # which the seed comes from: order and parallelism change nothing
    seed = int.from_bytes(hashlib.sha256(node.encode()).digest()[:8], "big")
    defaults: dict[str, Any] = {"seed": seed, "again": f"pytest {shlex.quote(node)}"}
    if marker is not None:
        if marker.args:
            raise pytest.UsageError("the marker ldp takes keywords only, such as ldp(epsilon=1)")
        defaults |= marker.kwargs

    def audit(target: Any, **options: Any) -> Evidence:
        __tracebackhide__ = True
        evidence = assert_ldp(target, **{**defaults, **options})
        _tell(request.node, evidence.resolution)
        return evidence

    return audit


def _tell(item: pytest.Item, resolution: str) -> None:
    """What a test that passes does not show: in the report of `pytest -rP`, and in the XML of `--junit-xml`."""
    item.add_report_section("call", "ldpaudit", resolution)
    item.user_properties.append(("ldpaudit", resolution))


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
        from ldpaudit.files.deployment import load

        for index, claim in enumerate(load(self.path).claims):
            yield ClaimItem.from_parent(self, name=claim.id, index=index)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone: it names file, line and key."""
        from ldpaudit.errors import LdpauditError

        return str(excinfo.value) if isinstance(excinfo.value, LdpauditError) else super().repr_failure(excinfo)


class ClaimItem(pytest.Item):
    """A claim of a deployment file: refuted, or not as recorded, it fails; undecided or assumed, it is skipped unless recorded."""

    def __init__(self, *, index: int, **options: Any) -> None:
        super().__init__(**options)
        self.index = index

    def runtest(self) -> None:
        """Certify this claim alone."""
        from dataclasses import replace

        from ldpaudit.certificates.certify import certify
        from ldpaudit.files.deployment import load

        deployment = load(self.path)
        one = replace(deployment, claims=(deployment.claims[self.index],))
        claim = certify(one, trials=BUDGET, confidence=CONFIDENCE).claims[0]
        if claim.evidence is not None:
            _tell(self, claim.evidence.read().resolution)
        if not claim.as_recorded:
            recorded = f" (on record: {claim.expect})" if claim.expect else ""
            file = shlex.quote(os.path.relpath(self.path, self.config.invocation_params.dir))
            reproduce = f"ldpaudit certify {file} --trials {BUDGET} --confidence {CONFIDENCE}"
            raise AssertionError(f"{claim.sentence}: {claim.verdict}{recorded}, {claim.reason}; reproduce: {reproduce}")
        if claim.expect is None and claim.verdict.record != "holds":
            pytest.skip(f"{claim.sentence}: {claim.verdict}, {claim.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone, for what is not a fault of the test."""
        from ldpaudit.errors import LdpauditError

        if isinstance(excinfo.value, AssertionError | LdpauditError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the claim stands."""
        from ldpaudit.files.toml import line_of, read_text

        line = line_of(read_text(self.path), ["claims", self.index, "id"]) or 1
        return self.path, line - 1, f"claim {self.name}"
