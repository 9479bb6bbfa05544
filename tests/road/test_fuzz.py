"""The fuzz sees what it looks for."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks import fuzz, fuzz_files, fuzz_kinds
from benchmarks.fuzz_kinds import KINDS, Kind
from benchmarks.fuzz_mutations import changed, toml
from benchmarks.fuzz_worker import DONE, Guard, Outcome, limited, made, outcome
from ldpaudit.certificates import signature
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.certify import verify
from ldpaudit.core.expression import parse
from ldpaudit.enclosure import round_up
from ldpaudit.errors import LdpauditError


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # what an import compiles on the way would be a file outside
        yield Guard()


def seen(guard: Guard, folder: Path, function: Callable[[], Any]) -> Outcome:
    return outcome(Kind(1.0, lambda rng: b"", lambda data, folder: function), b"", folder, guard)


def raising(error: BaseException) -> None:
    raise error


def test_an_answer_is_accepted_an_error_in_one_line_rejected_and_others_are_findings(guard: Guard, tmp_path: Path) -> None:
    assert seen(guard, tmp_path, lambda: parse("1/2")).verdict == "accepted"
    assert seen(guard, tmp_path, lambda: parse("one")).verdict == "rejected"
    assert seen(guard, tmp_path, lambda: round_up("x")).where == "ldpaudit/enclosure.py:_directed"  # type: ignore[arg-type]
    assert seen(guard, tmp_path, partial(raising, MemoryError())).verdict == "memory"


def test_an_error_that_the_command_line_does_not_know_is_a_traceback_or_odd(guard: Guard, tmp_path: Path) -> None:
    for error in (KeyError("x"), RecursionError("deep"), KeyboardInterrupt(), TypeError("theirs")):
        found = seen(guard, tmp_path, partial(raising, error))
        assert (found.verdict, found.what.split(":")[0]) == ("traceback", type(error).__name__)
    for text in ("", "\n", "first\nsecond\n"):

        def function(text: str = text) -> None:
            sys.stderr.write(text)
            raise LdpauditError(text.strip())

        assert seen(guard, tmp_path, function).verdict == "odd"


def test_a_file_outside_the_output_folder_is_refused_and_a_finding(guard: Guard, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    for write in (lambda: outside.write_text("x"), outside.mkdir, lambda: (tmp_path / "out" / ".." / "elsewhere").touch()):
        assert seen(guard, tmp_path, write).verdict == "escape"
        assert not outside.exists()
    assert seen(guard, tmp_path, lambda: (tmp_path / "out" / "here").write_text("x")).verdict == "accepted"


def stubborn(name: str, seed: int, numbers: Sequence[int], folder: Path) -> None:
    """A process that sleeps over input 1, and ends itself at input 3."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stderr").touch()
    with (folder / DONE).open("w") as done:
        for number in numbers:
            with limited(0.01):
                if number == 1:
                    time.sleep(60)
                if number == 3:
                    os._exit(7)
            print(json.dumps(["accepted", "", "", 0.0]), file=done, flush=True)


@pytest.mark.slow
def test_a_process_that_takes_too_long_or_dies_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fuzz, "work", stubborn)
    found = [(number, outcome.verdict) for number, outcome, _ in fuzz.outcomes("log", 1, range(5), tmp_path / "box")]
    assert found == [(0, "accepted"), (1, "slow"), (2, "accepted"), (3, "traceback"), (4, "accepted")]


@pytest.mark.parametrize(("name", "data"), [
    ("expression", b"exp(1)"),
    pytest.param("deployment", fuzz_kinds.DEPLOYMENT, marks=pytest.mark.slow),
    ("gate", fuzz_kinds.GATE),
    ("baseline", json.dumps(fuzz_kinds.BASELINE).encode()),
    pytest.param("program", fuzz_kinds.ANSWERS, marks=pytest.mark.slow),
    ("certificate", None),
    ("matrix", b"m.csv\n3/4,1/4\n1/3,rest\n"),
    ("matrix", b"m.csv\n3/4,1/4\n1/3,rest\n\n"),
    *((("data"), fuzz_files.users(f"{reader}.csv")) for reader in fuzz_files.READERS),
])  # fmt: skip
def test_what_is_changed_was_valid_before(guard: Guard, tmp_path: Path, name: str, data: bytes | None) -> None:
    data = json.dumps(fuzz_kinds.written()).encode() if data is None else data
    assert outcome(KINDS[name], data, tmp_path, guard) == Outcome("accepted")


def test_a_changed_certificate_is_signed_again_so_that_what_is_behind_its_digest_is_read(guard: Guard, tmp_path: Path) -> None:
    tree = fuzz_kinds.signed({**fuzz_kinds.written(), "title": "Another metric"})
    (tmp_path / "c.json").write_text(json.dumps(tree))
    assert verify(Certificate.load(tmp_path / "c.json")) == ["title is A metric, not Another metric"]


@pytest.mark.parametrize("seeds", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_a_signature_that_is_believed_and_is_none_is_false(
    guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: int
) -> None:
    certificate = json.dumps(fuzz_kinds.written()).encode()
    inputs = [fuzz_files.keyed(Random(seed), certificate) for seed in range(seeds)]
    right = [KINDS["key"].believable(data) for data in inputs]
    found = [outcome(KINDS["key"], data, tmp_path, guard).verdict for data in inputs]
    assert found == ["accepted" if each else "rejected" for each in right]
    assert True in right
    monkeypatch.setattr(signature, "require", lambda content, signed, key: None)
    assert "false" in (outcome(KINDS["key"], data, tmp_path, guard).verdict for data in inputs)


def test_the_smallest_input_of_a_finding_is_kept() -> None:
    found = fuzz.Found()
    for number, data in enumerate((b"longer", b"it", b"long")):
        found.add(number, data, Outcome("traceback", "KeyError: 'x'", "a.py:f"), 0.1)
    (finding,) = found.findings.values()
    assert (finding.times, finding.number, finding.data) == (3, 1, b"it")


@pytest.mark.parametrize("name", KINDS)
def test_the_same_number_makes_the_same_input_and_another_another(name: str) -> None:
    inputs = [made(KINDS[name], name, 1, number) for number in range(8)]
    assert inputs == [made(KINDS[name], name, 1, number) for number in range(8)]
    assert len(set(inputs)) > 4


def test_a_changed_tree_is_another_and_toml_is_read_back() -> None:
    tree = {"a": [1, 2, {"b": "text"}], "c": 0.5}
    changes = [repr(changed(tree, Random(seed))) for seed in range(100)]
    assert tree == {"a": [1, 2, {"b": "text"}], "c": 0.5}
    assert sum(change != repr(tree) for change in changes) > 90
    import tomllib

    tree = {"a b": [1, -2.5, True, {"c": 'x"\n'}], "d": {"e": {}}}
    assert tomllib.loads(toml(tree).decode()) == tree
