"""The contract's script names every difference, and makes mutants of one place."""

import ast
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from benchmarks import contract
from benchmarks.code_mutants import SECONDS, Calls, Copy, collected, sites
from benchmarks.contract import Wanted, compare, drawn, record
from benchmarks.contract_differences import TIGHTER, Difference, differences, enclosure_change
from tests.helpers import ROOT, lay_out, raises
from tests.zoo import STEMS


def enclosure(low: float, high: float, rigour: str = "INTERVAL") -> dict[str, Any]:
    return {"low": low, "high": high, "rigour": rigour, "source": "a theorem"}


def write(folder: Path, **sections: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, found in sections.items():
        (folder / f"{name}.json").write_text(json.dumps(found))
    return folder


@pytest.mark.parametrize(("before", "after", "kind"), [
    (enclosure(1, 2), enclosure(1, 2), ""),
    (enclosure(1, 2), enclosure(1.25, 1.5), TIGHTER),
    (enclosure(1, 2), enclosure(1, math.nextafter(2, 0)), TIGHTER),
    (enclosure(1, math.inf), enclosure(1, 2, "EXACT"), TIGHTER),
    (enclosure(1, 2), enclosure(1, math.nextafter(2, 3)), "wider"),
    (enclosure(1, 2), enclosure(1.5, 2.5), "moved"),
    (enclosure(1, 2), enclosure(2.5, 3), "CONTRADICTION"),
    (enclosure(1, 2, "EXACT"), enclosure(0, 0.5, "EXACT"), "CONTRADICTION"),
    (enclosure(1, 2, "EXACT"), enclosure(1.25, 1.5), "less rigorous"),
    (enclosure(1, 2), enclosure(1, 2, "EXACT"), "more rigorous"),
    (enclosure(1, 2), enclosure(1.25, 1.5, "FLOAT"), "less rigorous"),
    (enclosure(1, 2, "FLOAT"), enclosure(1.25, 1.5, "FLOAT"), "moved"),
    (enclosure(1, 2, "FLOAT"), enclosure(1.25, 1.5), "moved"),
])  # fmt: skip
def test_only_a_certified_enclosure_within_the_earlier_one_is_tighter(before: Any, after: Any, kind: str) -> None:
    assert enclosure_change(before, after) == kind
    assert [each.kind for each in differences(before, after)] == [kind] * bool(kind)


@pytest.mark.parametrize(("before", "after", "kind"), [
    ("Unsupported: a", "Unsupported: b", "changed"), ("Unsupported: a", enclosure(1, 2), "answered"),
    (enclosure(1, 2), "Unsupported: a", "refused"), (0, 1, "changed"), (1, 1.0, "changed"), (0, False, "changed"),
    (None, 1.0, "changed"),
])  # fmt: skip
def test_what_is_no_enclosure_is_named_where_it_differs(before: Any, after: Any, kind: str) -> None:
    item = {"a": {"epsilon(0)": before}}, {"a": {"epsilon(0)": after}}
    assert [(each.place, each.kind) for each in differences(*item)] == [(("a", "epsilon(0)"), kind)]
    assert not list(differences(item[0], item[0]))


def test_a_difference_is_named_at_its_place_and_moves_no_other() -> None:
    found = list(differences(enclosure(1, 3), enclosure(1, 2) | {"source": "another"}))
    assert [(each.place, each.kind) for each in found] == [((), TIGHTER), (("source",), "changed")]
    found = list(differences({"a": ["one", "two", "three"]}, {"a": ["zero", "one", "two", "four"]}))
    assert found == [Difference(("a", "0"), "new", "nothing", '"zero"'), Difference(("a", "2"), "changed", '"three"', '"four"')]
    assert [(each.place, each.kind) for each in differences({"a": 1}, {"b": 1})] == [(("a",), "gone"), (("b",), "new")]


@pytest.mark.parametrize(("after", "code"), [(enclosure(1, 2), 0), (enclosure(1, 1.5), 0), (enclosure(1, 2.5), 1), ("", 1)])
def test_a_comparison_fails_for_every_difference_but_a_tighter_enclosure(
    after: Any, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write(tmp_path / "before", plans={"0": {"epsilon(0)": enclosure(1, 2)}}, measures={"all": {"lines": 2}})
    changed = write(tmp_path / "after", plans={"0": {"epsilon(0)": after}}, measures={"all": {"lines": 1}})
    assert compare(before, changed, most=5) == code
    assert "all: lines 2 -> 1" in (printed := capsys.readouterr().out)
    assert ("[1, 2] INTERVAL -> " in printed) == (after != enclosure(1, 2))


def test_a_record_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = Mock(side_effect=[0, 1, KeyboardInterrupt, 2, 3])
    monkeypatch.setitem(contract.SECTIONS, "names", lambda wanted: ((str(i), partial(item, i)) for i in range(4)))
    raises(KeyboardInterrupt, "", record, tmp_path, ["names"], Wanted(0, None), most=9)
    record(tmp_path, ["names"], Wanted(0, None), most=1)
    record(tmp_path, ["names"], Wanted(0, None), most=9)
    assert [call.args[0] for call in item.call_args_list] == [0, 1, 2, 2, 3]
    assert json.loads((tmp_path / "names.json").read_text()) == {"0": 0, "1": 1, "2": 2, "3": 3}


def test_a_drawn_plan_is_text_that_the_public_names_read_back() -> None:
    for number in range(2 * len(STEMS)):
        for text in drawn(number):
            assert repr(eval(text, {}, contract._PublicNames())) == text
        assert drawn(number) == drawn(number)


@pytest.mark.slow
def test_a_mutant_is_a_program_that_differs_in_one_place() -> None:
    path = Path("ldpaudit/enclosure.py")
    source = (ROOT / path).read_text()
    lines, tree = source.splitlines(), ast.dump(ast.parse(source))
    found = list(sites(path))
    assert {site.operator for site in found} == {
        "comparison", "plus and minus", "and, or", "constant", "returned constant", "argument dropped", "up and down"
    }  # fmt: skip
    for site in found:
        mutant = site.mutated(source, site.texts[-1])
        compile(mutant, str(path), "exec")
        assert ast.dump(ast.parse(mutant)) != tree
        assert mutant.splitlines()[: site.node.lineno - 1] == lines[: site.node.lineno - 1]
        assert mutant.splitlines()[site.node.end_lineno :] == lines[site.node.end_lineno :]


def test_a_ball_of_nothing_is_one_of_0_and_no_mutant(tmp_path: Path) -> None:
    (tmp_path / "balls.py").write_text("flint.arb(0) + flint.arb(1)\n")
    assert [site.node.col_offset for site in sites(tmp_path / "balls.py") if "(flint.arb())" in site.texts] == [15]


NUMBERS = "ONE = 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    folder = tmp_path_factory.mktemp("tree")
    test = "from ldpaudit.numbers import ONE, two\ndef test_one():\n    assert ONE == 1\ndef test_two():\n    assert two() == 2\n"
    files = {"tests/__init__.py": "", "tests/test_two.py": test, "ldpaudit/pytest_plugin.py": "", "ldpaudit/numbers.py": NUMBERS}
    lay_out(folder, files)
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    with collected(folder) as process:
        yield Copy(folder, process)


@pytest.mark.slow
def test_only_a_test_that_passes_without_the_mutant_kills_it(tmp_path: Path) -> None:
    path = Path("proofs/laplace.py")

    class Tests(Copy):
        def tested(self, tests: dict[str, float], *given: Any) -> dict[str, Any]:
            text = given[-1] if given else ""
            failing = ["a.py::always", *(["a.py::one"] if text == "wrong" else [])]
            failed = [each for each in failing if each not in self.unsound and (len(tests) > 1 or each in tests)]
            return {"tests": 2, **({"failed": failed[0]} if failed else {"timeout": "b.py::two"} if text == "endless" else {})}

    tree = Tests(tmp_path, None)
    tests = {"a.py::always": 1.0, "a.py::one": 1.0, "b.py::two": 1.0}
    assert tree.verdict(path, "wrong", tests) == {"status": "killed", "test": "a.py::one", "tests": 2}
    assert tree.verdict(path, "same", tests) == {"status": "survived", "test": None, "tests": 2}
    assert tree.verdict(path, "endless", tests) == {"status": "timeout", "test": "b.py::two", "tests": 2}
    assert tree.unsound == {"a.py::always"}


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "found"), [
    ("(2)", {"tests": 2}), ("(3)", {"tests": 2, "failed": "two"}), ("(1 / 0)", {"tests": 2, "failed": "two"}),
    ("any(0 for _ in iter(int, 1))", {"tests": 1, "timeout": "two"}), ("__import__('os')._exit(0)", {"tests": 1, "failed": "two"}),
    ("2; ONE = 2", {"tests": 2}), ("2\n", {"tests": 2, "anew": True}), ("2\nONE = 2", {"tests": 1, "failed": "one", "anew": True}),
])  # fmt: skip
def test_functions_are_changed_in_a_process_that_has_the_tests_and_else_all_is_imported_anew(
    small_tree: Copy, changed: str, found: dict[str, Any]
) -> None:
    text = NUMBERS.replace("2", changed)
    found = {key: f"tests/test_two.py::test_{value}" if value in ("one", "two") else value for key, value in found.items()}
    tests = {"tests/test_two.py::test_one": 0.1, "tests/test_two.py::test_two": 0.1}
    assert small_tree.tested(tests, "ldpaudit/numbers.py", text) == found
    assert (small_tree.folder / "ldpaudit/numbers.py").read_text() == NUMBERS


def test_the_tests_of_a_mutant_are_those_that_call_its_function_short_ones_first(tmp_path: Path) -> None:
    path = Path("ldpaudit/enclosure.py")
    site, other = (next(site for site in sites(path) if bool(site.function) is inside) for inside in (True, False))
    one = {"seconds": {"a": 2, "b": 1, "c": 1}, "calls": {f"{path}:{site.function}": ["a", "b"], f"{path}:1": ["c"]}}
    two = {"seconds": {"d": SECONDS}, "calls": {f"{path}:{site.function}": ["d"]}}
    lay_out(tmp_path, {"1.json": json.dumps(one), "2.json": json.dumps(two)})
    assert list(Calls.read(tmp_path).of(site).items()) == [("b", 1), ("a", 2)]
    assert [*Calls.read(tmp_path).of(other)] == ["b", "c", "a"]
    raises(ValueError, "mutants need a folder of calls, found none in", Calls.read, tmp_path / "none")
