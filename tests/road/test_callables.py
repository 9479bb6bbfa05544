"""Callables that misbehave: one line and exit code 2, never a verdict; and whose fault an error is."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import ldpaudit
from ldpaudit import audit
from ldpaudit.adapters.callables import LARGEST, as_sampler, call, probe, prober, resolve
from ldpaudit.commands import ending
from ldpaudit.errors import DeploymentError, ImplementationError, Stopped, fault, in_a_line, of_the_user, shown
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace
from tests import broken_callables, misbehaving_callables as broken
from tests.helpers import fails_in_one_line, process, raises, stdout, typed


def audited(name: str, *more: str) -> subprocess.CompletedProcess[str]:
    common = ("--inputs", "0", "1", "--epsilon", "3", "--trials", "500")
    return process("audit", f"tests.misbehaving_callables:{name}", *common, *more)


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "says"), [
    ("returns_what_ends_the_program", "the audited code raised SystemExit"),
    ("closes_standard_output", "needs code that leaves standard output open"),
    ("exits_below_python", "got the process ended with exit code 0 before the verdict"),
    pytest.param("interrupts", "on input 0: the callable raised KeyboardInterrupt", marks=pytest.mark.slow),
    pytest.param("exits_with_1", "got the process ended with exit code 1 before the verdict", marks=pytest.mark.slow),
    ("crashes", "got the process ended by SIGABRT before the verdict"),
])  # fmt: skip
def test_a_callable_that_ends_the_process_or_spoils_it_ends_the_audit_with_2(name: str, says: str) -> None:
    fails_in_one_line(audited(name), says)


def test_a_process_of_mpi_runs_its_command_itself_as_a_child_cannot_end_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", ending)
    assert ending.supervised(os.getpid, pytest.fail) == os.getpid()


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


def raising(error: BaseException, x: int) -> int:
    raise error


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


def test_an_array_that_is_used_again_is_what_it_was_when_it_was_returned_and_one_with_a_mask_is_refused() -> None:
    made = np.zeros(1 << 12, dtype=np.int64)

    def clients(x: int, size: int, rng: np.random.Generator) -> Any:
        made[:size] = x
        return made[:size]

    assert audit(clients, inputs=[0, 1], epsilon=1.0, trials=3000).refutes(1)
    own = as_sampler(Reusing(2, Fraction(3, 4)))
    first, second = (own(x, 5, np.random.default_rng(0)) for x in (0, 1))
    assert [first.tolist(), second.tolist()] == [[0] * 5, [1] * 5]
    with pytest.raises(ImplementationError, match="on input 0: needs arrays without a mask"):
        audit(lambda x: np.ma.array([1, 2], mask=[x, 1 - x]), inputs=[0, 1], epsilon=1.0, trials=500)


class Reusing(KaryRandomizedResponse):
    """A mechanism of somebody's that has one array for all its views."""

    made = np.zeros(1 << 12, dtype=np.int64)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> Any:
        self.made[:size] = x
        return self.made[:size]


def test_what_a_callable_does_after_the_verdict_or_prints_below_python_changes_no_result() -> None:
    assert "REFUTED" in stdout(audited("exits_with_0_in_the_end"), 1)
    done = audited("prints_below_python", "--format", "json")
    assert json.loads(stdout(done))["refuted"] is False
    assert {"of C", "of the system", "of a child"} <= set(done.stderr.splitlines())


@pytest.mark.parametrize(("function", "says"), [
    (partial(raising, broken.Private("of a library")), "the callable raised Private: of a library"),
    (partial(raising, broken.Wordless()), "the callable raised Wordless"),
    (lambda x: broken.Unwritable(), "got Unwritable"), (lambda x: ITSELF, f"at most {LARGEST} numbers"),
    (lambda x: bytes(50_000_000), f"at most {LARGEST} numbers"), (lambda x: [1 << 10**8], f"at most {LARGEST} numbers"),
])  # fmt: skip
def test_what_a_callable_raises_or_returns_is_an_error_with_the_input(function: Any, says: str) -> None:
    raises(ImplementationError, f"^on input 0: .*{says}", audit, function, inputs=[0, 1], epsilon=1.0, trials=500)


@pytest.mark.parametrize("report", [[0.5] * 10**6, "a" * 10**6, 1 << 10**6, {"a": [1] * 10**6}, np.zeros(10**6)], ids=type)
def test_a_report_that_can_be_compared_is_not_too_large(report: Any) -> None:
    assert np.array_equal(probe(lambda x: report, 0), report)


def test_a_callable_of_three_arguments_is_vectorized() -> None:
    m = KaryRandomizedResponse.for_epsilon(1, k=2)
    vectorized = as_sampler(lambda x, size, rng: m.sample(x, size, rng))
    assert np.asarray(vectorized(0, 5, np.random.default_rng(1))).shape == (5,)
    assert np.asarray(as_sampler(lambda x: x + 1)(1, 3, np.random.default_rng(0))).tolist() == [2, 2, 2]


def test_what_a_callable_must_not_do_is_an_error_with_the_input_and_with_words() -> None:
    for function, says in ((broken_callables.raises, "disk"), (broken_callables.returns_nothing, "got None")):
        assert raises(ImplementationError, says, probe, function, 7).inputs == (7,)
    raises(ImplementationError, "hangs", probe, broken_callables.hangs, 7, patience=0.2)
    m = Laplace.for_epsilon(1)
    with pytest.raises(ImplementationError, match=r"needs views of floats, as the declared law has, got Unwritable"):
        audit(m, implementation=lambda x: broken.Unwritable(), trials=500)
    lengths = iter([1, 2])
    with pytest.raises(ImplementationError, match="needs reports of one shape, got"):
        as_sampler(lambda x: [broken.Unwritable()] * next(lengths))(0, 2, np.random.default_rng(0))
    assert str(ImplementationError("needs more", broken.Unwritable())) == "on input a Unwritable: needs more"
    assert (len(shown(list(range(10**6)), 60)), shown([0, "a", None], 60)) == (60, "[0, 'a', None]")


@pytest.mark.slow
def test_the_first_call_of_all_may_take_longer_than_those_after_it() -> None:
    calls: list[int] = []

    def compiles(x: int) -> int:
        calls.append(x)
        time.sleep(0.0 if len(calls) > 1 else 1.5)
        return x

    asked = prober(compiles, 1.0, first=True), prober(compiles, 1.0)
    assert [ask(compiles, 3) for ask in asked] == [3, 3]
    calls.clear()
    raises(ImplementationError, "within 1 s, got none: the callable hangs, or is still compiling", asked[1], compiles, 3)


@pytest.mark.parametrize("ask", [call, probe])
@pytest.mark.parametrize("stop", [Stopped(signal.SIGTERM), KeyboardInterrupt()], ids=["signal", "Ctrl-C"])
def test_who_wants_the_audit_to_end_is_not_taken_for_the_callable(ask: Any, stop: BaseException) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
    try:
        raises(type(stop), "", ask, partial(raising, stop), 0)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("name", "text", "says"), [
    ("module_that_raises", "class Private(BaseException): pass\nraise Private('first')\n", "Private: first"),
    ("script_that_ends", "import sys\nsys.exit(0)\n", "SystemExit"),
])  # fmt: skip
def test_a_module_that_raises_what_is_no_exception_or_ends_cannot_be_imported(
    name: str, text: str, says: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    raises(ImplementationError, f"cannot import {name}:f: {says}", resolve, f"{name}:f")
    raises(ImplementationError, "raised SystemExit: 0", probe, lambda x: sys.exit(0), 1)


@pytest.mark.parametrize(("name", "says"), [
    ("nothing", None), ("nothing:here", None), ("tests.broken_callables:nope", None), ("tests.broken_callables:_RNG", None),
    ("./ours.py:f", r"an importable module name, got the path './ours.py'"),
])  # fmt: skip
def test_a_name_that_is_not_a_callable_is_an_error(name: str, says: str | None) -> None:
    raises(ImplementationError, says, resolve, name)


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


OURS = """
def slips(x):
    return int("none")

def refuses(x):
    raise ValueError("needs an input of its own")
"""


def ours(name: str) -> Callable[[Any], Any]:
    """A function that counts as one of ldpaudit's."""
    module: dict[str, Any] = {"__name__": "ldpaudit.pretended"}
    exec(compile(OURS, "pretended.py", "exec"), module)
    return module[name]  # type: ignore[no-any-return]


def theirs(x: int) -> int:
    return ours("slips")(x)  # type: ignore[no-any-return]


THEIRS = f"tests/road/test_callables.py:{theirs.__code__.co_firstlineno + 1}"


def raised(function: Callable[[Any], Any]) -> Exception:
    return raises(Exception, r"needs|invalid", call, function, 0)


def test_a_value_error_that_we_did_not_mean_is_ours_and_others_are_the_user_s_with_their_innermost_line() -> None:
    error = raised(ours("slips"))
    assert type(error) is ValueError
    assert not of_the_user(error)
    assert fault(error).startswith("internal error of ldpaudit, please report it: ValueError: invalid literal for int()")
    assert fault(error).endswith("(pretended.py:3)")
    assert of_the_user(raises(ValueError, "needs", ours("refuses"), 0))
    error = typed(ImplementationError, raised(ours("refuses")))
    assert str(error).startswith("on input 0: the callable raised ValueError: needs an input of its own")
    for function in (theirs, lambda x: theirs(x)):
        error = typed(ImplementationError, raised(function))
        assert str(error).endswith(f"invalid literal for int() with base 10: 'none' ({THEIRS})")


def test_an_error_of_a_file_names_it_without_a_code() -> None:
    caught = raises(OSError, "nowhere", open, "nowhere/at/all")
    assert in_a_line(caught) == "nowhere/at/all: No such file or directory"


API: Any = ldpaudit  # whose types the arguments below are not
M = API.mechanisms.KaryRandomizedResponse(k=2, p=0.75)


@pytest.mark.parametrize(("ask", "says"), [
    (lambda: API.mechanisms.KaryRandomisedResponse, "no attribute 'KaryRandomisedResponse'; did you mean 'KaryRandomized"),
    (lambda: API.account(type(M)), "a plan needs a Mechanism or a Plan, got the class KaryRandomizedResponse without"),
    (lambda: API.account(M, "add-remove"), "a relation such as Neighbours.named('add-remove'), got 'add-remove'"),
    (lambda: API.audit(M, neighbours="add-remove"), "a relation such as Neighbours.named('add-remove'), got 'add-remove'"),
    (lambda: API.Compose(M), "Compose needs a list of plans, got one: KaryRandomizedResponse(k=2, p=3/4)"),
    (lambda: API.certify(5), "certify needs a deployment file or the id of a bundled one, got 5"),
    (lambda: API.certify("enpa-notification", seed="a"), "certify needs integers for seed and trials, got 'a' and"),
    (lambda: API.certify("enpa-notification", trials=0), "an audit needs trials >= 16, got 0"),
    (lambda: API.audit(abs, inputs=0, epsilon=1), "an audit needs a list of inputs such as [0, 1], got 0"),
    (lambda: API.audit(abs, inputs=[0, 1], mode="fast"), "an audit needs mode to be fixed or sequential, got 'fast'"),
])  # fmt: skip
def test_what_the_interface_is_not_given_it_names(ask: Callable[[], Any], says: str) -> None:
    raises((TypeError, ValueError, AttributeError), re.escape(says), ask)


@pytest.mark.parametrize(("text", "says"), [
    ("id = 1", "needs a certificate in JSON, as `ldpaudit certify --output FOLDER` writes it: "),
    ("[1, 2]", "needs a certificate in JSON: needs an object with keys, got list"),
    ("{}", "needs a certificate in JSON: the key 'digest' is missing"),
    ('{"digest": "", "verdict": "", "schema": "x/2"}', "schema: needs a certificate of schema ldpaudit.certificate/1: needs"),
    ('{"digest": "", "verdict": "", "schema": "x", "idd": 1}', "idd: needs a certificate of schema ldpaudit.certificate/1: is"),
])  # fmt: skip
def test_what_is_no_certificate_is_told_what_one_has(text: str, says: str) -> None:
    raises(DeploymentError, re.escape(says), ldpaudit.Certificate.from_json, text)
