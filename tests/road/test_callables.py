"""Callables that misbehave: one line and exit code 2, never a verdict; and what they print is no result."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.adapters.callables import LARGEST, as_sampler, call, probe, prober, resolve
from ldpaudit.errors import ImplementationError, Stopped, shown
from ldpaudit.mechanisms.laplace import Laplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests import broken_callables
from tests import misbehaving_callables as broken
from tests.helpers import fails_in_one_line, process


def audited(name: str, *more: str) -> subprocess.CompletedProcess[str]:
    common = ("--inputs", "0", "1", "--epsilon", "3", "--trials", "500")
    return process("audit", f"tests.misbehaving_callables:{name}", *common, *more)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("interrupts", "on input 0: the callable raised KeyboardInterrupt"),
        ("returns_what_ends_the_program", "the audited code raised SystemExit"),
        ("closes_standard_output", "needs code that leaves standard output open"),
        ("exits_with_1", "got the process ended with exit code 1 before the verdict"),
        ("exits_below_python", "got the process ended with exit code 0 before the verdict"),
        ("crashes", "got the process ended by SIGABRT before the verdict"),
    ],
)
def test_a_callable_that_ends_the_process_or_spoils_it_ends_the_audit_with_2(name: str, says: str) -> None:
    fails_in_one_line(audited(name), says)


KEPT: dict[str, Any] = {
    "a list": [0, 0],
    "a dictionary": {0: 0},
    "bytes": bytearray(2),
    "an array": np.zeros(2, dtype=np.int64),
    "a view of an array": np.zeros(4, dtype=np.int64)[:2],
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_a_report_that_is_used_again_is_what_it_was_when_it_was_returned(name: str, inside: bool) -> None:
    report = KEPT[name]

    def client(x: int) -> Any:
        report[0] = x
        return (report, "v1") if inside else report

    assert audit(client, inputs=[0, 1], epsilon=1.0, trials=3000).refutes(1)


def test_an_array_that_is_used_again_for_many_reports_is_what_it_was_when_it_was_returned() -> None:
    made = np.zeros(1 << 12, dtype=np.int64)

    def clients(x: int, size: int, rng: np.random.Generator) -> Any:
        made[:size] = x
        return made[:size]

    assert audit(clients, inputs=[0, 1], epsilon=1.0, trials=3000).refutes(1)
    own = as_sampler(Reusing(2, Fraction(3, 4)))
    first, second = (own(x, 5, np.random.default_rng(0)) for x in (0, 1))
    assert [first.tolist(), second.tolist()] == [[0] * 5, [1] * 5]


class Reusing(KaryRandomizedResponse):
    """A mechanism of somebody's that has one array for all its views."""

    made = np.zeros(1 << 12, dtype=np.int64)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> Any:
        self.made[:size] = x
        return self.made[:size]


def test_a_masked_array_is_refused_for_nobody_looks_at_its_mask() -> None:
    with pytest.raises(ImplementationError, match="on input 0: needs arrays without a mask"):
        audit(lambda x: np.ma.array([1, 2], mask=[x, 1 - x]), inputs=[0, 1], epsilon=1.0, trials=500)


def test_what_a_callable_does_after_the_verdict_does_not_change_it() -> None:
    done = audited("exits_with_0_in_the_end")
    assert (done.returncode, "REFUTED" in done.stdout) == (1, True), done.stderr


def test_what_is_printed_below_python_is_not_among_the_results() -> None:
    done = audited("prints_below_python", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["refuted"] is False
    assert {"of C", "of the system", "of a child"} <= set(done.stderr.splitlines())


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (broken.raises_what_is_no_exception, "the callable raised Private: of a library"),
        (broken.raises_without_words, "the callable raised Wordless"),
        (broken.returns_what_cannot_be_written, "got Unwritable"),
        (broken.returns_itself, f"at most {LARGEST} numbers"),
        (broken.returns_50_million_bytes, f"at most {LARGEST} numbers"),
        (broken.returns_a_large_integer_in_a_list, f"at most {LARGEST} numbers"),
    ],
)
def test_what_a_callable_raises_or_returns_is_an_error_with_the_input(function: Any, says: str) -> None:
    with pytest.raises(ImplementationError, match=f"^on input 0: .*{says}"):
        audit(function, inputs=[0, 1], epsilon=1.0, trials=500)


@pytest.mark.parametrize("report", [[0.5] * 10**6, "a" * 10**6, 1 << 10**6, {"a": [1] * 10**6}, np.zeros(10**6)], ids=type)
def test_a_report_that_can_be_compared_is_not_too_large(report: Any) -> None:
    assert np.array_equal(probe(lambda x: report, 0), report)


def test_views_that_cannot_be_written_are_an_error_all_the_same() -> None:
    m = Laplace.for_epsilon(1)
    with pytest.raises(ImplementationError, match=r"needs views of floats, as the declared law has, got Unwritable"):
        audit(m, implementation=broken.returns_what_cannot_be_written, trials=500)
    lengths = iter([1, 2])
    with pytest.raises(ImplementationError, match="needs reports of one shape, got"):
        as_sampler(lambda x: [broken.Unwritable()] * next(lengths))(0, 2, np.random.default_rng(0))


def test_a_callable_of_three_arguments_is_vectorized() -> None:
    m = KaryRandomizedResponse.for_epsilon(1, k=2)
    vectorized = as_sampler(lambda x, size, rng: m.sample(x, size, rng))
    assert np.asarray(vectorized(0, 5, np.random.default_rng(1))).shape == (5,)
    one = as_sampler(lambda x: x + 1)
    assert np.asarray(one(1, 3, np.random.default_rng(0))).tolist() == [2, 2, 2]


def test_what_a_callable_must_not_do_is_an_error_with_the_input() -> None:
    for function, says in ((broken_callables.raises, "disk"), (broken_callables.returns_nothing, "got None")):
        with pytest.raises(ImplementationError, match=says) as caught:
            probe(function, 7)
        assert caught.value.inputs == (7,)
    with pytest.raises(ImplementationError, match="hangs"):
        probe(broken_callables.hangs, 7, patience=0.2)


def test_the_first_call_of_all_may_take_longer_than_those_after_it() -> None:
    calls: list[int] = []

    def compiles(x: int) -> int:
        calls.append(x)
        time.sleep(0.0 if len(calls) > 1 else 1.5)
        return x

    asked = prober(compiles, 1.0, first=True), prober(compiles, 1.0)
    assert [ask(compiles, 3) for ask in asked] == [3, 3]
    calls.clear()
    with pytest.raises(ImplementationError, match="within 1 s, got none: the callable hangs, or is still compiling"):
        asked[1](compiles, 3)


def test_an_input_that_cannot_be_written_is_named_by_its_type() -> None:
    assert str(ImplementationError("needs more", broken.Unwritable())) == "on input a Unwritable: needs more"
    assert len(shown(list(range(10**6)), 60)) == 60
    assert shown([0, "a", None], 60) == "[0, 'a', None]"


@pytest.mark.parametrize("ask", [call, probe])
@pytest.mark.parametrize("stop", [Stopped(signal.SIGTERM), KeyboardInterrupt()], ids=["signal", "Ctrl-C"])
def test_who_wants_the_audit_to_end_is_not_taken_for_the_callable(ask: Any, stop: BaseException) -> None:
    def function(x: int) -> int:
        raise stop

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
    try:
        with pytest.raises(type(stop)):
            ask(function, 0)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("module_that_raises", "class Private(BaseException): pass\nraise Private('first')\n", "Private: first"),
        ("script_that_ends", "import sys\nsys.exit(0)\n", "SystemExit"),
    ],
)
def test_a_module_that_raises_what_is_no_exception_or_ends_cannot_be_imported(
    name: str, text: str, says: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImplementationError, match=f"cannot import {name}:f: {says}"):
        resolve(f"{name}:f")
    with pytest.raises(ImplementationError, match="raised SystemExit: 0"):
        probe(lambda x: sys.exit(0), 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [("nothing", None), ("nothing:here", None), ("tests.broken_callables:nope", None), ("tests.broken_callables:_RNG", None),
     ("./ours.py:f", r"an importable module name, got the path './ours.py'")],
)  # fmt: skip
def test_a_name_that_is_not_a_callable_is_an_error(name: str, says: str | None) -> None:
    with pytest.raises(ImplementationError, match=says):
        resolve(name)


def of_a_domain(x: int) -> int:
    if x not in (3, 4):
        raise ValueError("needs 3 or 4")
    return x


LINE = of_a_domain.__code__.co_firstlineno + 2  # on which it raises


def test_an_input_outside_the_domain_of_a_callable_gives_a_hint() -> None:
    with pytest.raises(ImplementationError, match=rf"raised ValueError: needs 3 or 4 \(.*test_callables\.py:{LINE}\); if") as error:
        audit(of_a_domain, inputs=[0, 3], epsilon=1, trials=500)
    assert "--inputs" in str(error.value)
    assert audit(of_a_domain, inputs=[3, 4], epsilon=1, trials=500).epsilon_lower > 1
