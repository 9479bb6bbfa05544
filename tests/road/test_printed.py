"""Pages that the benchmarks print say what the code says, and what their own tables say; how tables and options are made."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import stub, theory
from benchmarks.evolving import CONSTANT, Row, advice, lines
from benchmarks.experiment import exponent, options, show
from tests.helpers import ROOT, python, raises, stdout

DOCS = ROOT / "docs"
PAGE = (DOCS / "theory.md").read_text().splitlines()
COMMAND = "python -m benchmarks.theory > docs/theory.md"
STEM = re.compile(r"\| `(accountants|attacks|proofs)/\w+\.py`")
"""The row of a mechanism's own file: that of a mechanism which is younger than the page may be missing on it."""


@pytest.fixture(scope="module")
def printed() -> list[str]:
    # In a process of its own: what other tests have cached would not run again.
    return stdout(python("-m", "benchmarks.theory")).splitlines()


def files_of_the_bound(page: list[str]) -> list[str]:
    return [m[1] for line in page if (m := re.match(r"\d+\. `([^`]+)`", line))]


def test_the_page_of_theorems_says_what_the_docstrings_say_and_which_files_run_for_a_bound_in_order(printed: list[str]) -> None:
    assert files_of_the_bound(PAGE) == files_of_the_bound(printed), COMMAND
    assert [line for line in printed if line in PAGE or not STEM.search(line)] == PAGE, COMMAND
    rooms = [init.parent.relative_to(ROOT) for top in theory.ROOMS for init in (ROOT / top).glob("*/__init__.py")]
    assert {f"## {room}" for room in rooms} <= set(PAGE), COMMAND


def test_a_theorem_has_its_source_and_formula_and_a_trace_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = theory.trace(lambda: (theory.sentence("a"), files_of_the_bound(PAGE), theory.sentence("b")), ROOT)
    assert found == ["tests/road/test_printed.py", "benchmarks/theory.py"]
    monkeypatch.setattr(theory, "ROOT", tmp_path)
    text = "It is at most 1 for i.i.d. views.\n\n    Tight. Source: Warner 1965,\n    page 3.1. Proof: none."
    (tmp_path / "numerics.py").write_text(f"def f():\n    {text!r}\n")
    (row,) = theory.rows(tmp_path)
    assert (row.theorem, row.source, row.name) == ("It is at most 1 for i.i.d. views", "Warner 1965, page 3.1", "f")
    assert theory.markdown(theory.sentence("It is private with\n\n.. math:: \\varepsilon =\n          1\n\nTight.")) == (
        r"It is private with $\varepsilon = 1$"
    )


def test_a_type_checker_is_told_the_names_that_the_folder_of_mechanisms_has() -> None:
    assert stub.FILE.read_text() == "\n".join(stub.lines()) + "\n", "python -m benchmarks.stub prints it"


@pytest.mark.slow
def test_a_misspelt_mechanism_is_an_error_of_mypy(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import ldpaudit as ldp\n\nldp.mechanisms.Channel(7)\nldp.mechanisms.Chanel\nldp.mechanisms.Rappor.bitz\n")
    options = ("--config-file=", "--ignore-missing-imports", "--follow-imports=silent")
    done = python("-m", "mypy", *options, str(file), cwd=tmp_path, MYPYPATH=str(ROOT))
    assert 'mine.py:4: error: Module has no attribute "Chanel"' in done.stdout, done.stdout + done.stderr
    assert "mine.py:5: error" in done.stdout
    assert "mine.py:3: error" in done.stdout, "a number is no matrix"


def tables(page: str) -> list[list[dict[str, str]]]:
    """The tables of a page, each as its rows by their heads."""
    found: list[list[dict[str, str]]] = []
    heads: list[str] = []
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            heads = []
        elif not heads:
            heads = cells
            found.append([])
        elif set(line) - set("|- "):
            found[-1].append(dict(zip(heads, cells, strict=True)))
    return found


def interval(cell: str) -> tuple[float, float]:
    mean, half = cell.split(" +-")
    return float(mean), float(half)


def run(name: str, error: float, any_: float, changes: int = 1) -> Row:
    return Row(name, changes, np.full(3, error), 1.0, any_, np.zeros(2))


def test_only_what_is_nearer_than_a_constant_with_its_whole_interval_which_is_student_s_is_said_to_be() -> None:
    near = [run("near", error, 9.0) for error in (0.01, 0.02, 0.03)]
    wide = [run("wide", error, 1.0) for error in (0.05, 0.10, 0.35)]  # below 0.2 on average, not with the whole interval
    far = [run("far", error, 1.0) for error in (0.30, 0.31, 0.32)]
    base = [run(CONSTANT, 0.2, 0.0)] * 3
    said = advice(lines([*near, *wide, *far, *base])).splitlines()
    assert said[0] == "- Nearer than 1/2, with the whole interval, under all numbers of changes: near."
    assert said[1] == "- Under none: far; wide."
    assert said[3].startswith("Nothing that is private against every other stream within epsilon 4 is nearer than 1/2")
    private = [run("private", error, 3.0) for error in (0.01, 0.02, 0.03)]
    assert advice(lines([*private, *base])).endswith("nearer than 1/2 under every number of changes: private.\n")
    (line,) = lines([run("near", error, 9.0) for error in (0.01, 0.02, 0.03)])
    assert line.interval == pytest.approx((0.02, 4.302653 * 0.01 / 3**0.5), rel=1e-6)


def test_the_advice_on_evolving_data_follows_from_the_table_which_has_the_constant_s_row() -> None:
    rows = tables("evolving.md")[0]
    base = {row["changes"]: interval(row["mean error"]) for row in rows if row["system"] == CONSTANT}
    assert len(base) == 4
    assert all(found == (0.2, 0.0) for found in base.values())
    nearer: dict[str, list[bool]] = {}
    for row in rows:
        if row["system"] != CONSTANT:
            assert row["mean error"].count("+-") == 1
            nearer.setdefault(row["system"], []).append(sum(interval(row["mean error"])) < base[row["changes"]][0])
    text = (DOCS / "evolving.md").read_text(encoding="utf-8")
    said = next(line for line in text.splitlines() if line.startswith("- Nearer than 1/2, with the whole interval, under all"))
    assert said.split(": ", 1)[1].rstrip(".").split("; ") == [name for name, each in nearer.items() if all(each)]


def test_the_discovery_page_has_the_text_s_two_numbers_and_says_where_ours_differ() -> None:
    text = " ".join((DOCS / "discovery.md").read_text(encoding="utf-8").split())
    assert "Sentiment140" in text
    assert "not public" not in text
    rows = tables("discovery.md")[0]
    heads = ["figure 6: top 250, 1 word a user", "figure 8: top 350, 5 words a user"]
    assert [rows[0][head] for head in heads] == ["near 1 at an epsilon of one digit"] * 2
    for head, start in zip(heads, ("- Figure 6, the top 250: ", "- Figure 8, the top 350: "), strict=True):
        most = {name: max(interval(row[head])[0] for row in rows if row[""].startswith(f"{name}, epsilon"))
                for name in ("printed", "certified")}  # fmt: skip
        said = (f"{name} {'agrees' if reached >= 0.95 else 'differs'} (at most {reached:.2f})" for name, reached in most.items())
        assert start + ", ".join(said) in text


def test_every_ranked_row_of_the_page_on_systems_is_certified_to_cost_about_what_its_table_asks() -> None:
    for asked, rows in zip((1, 2, 4), tables("systems.md"), strict=True):
        ranked = [float(row["epsilon"]) for row in rows if row["rank"] != "-"]
        assert len(ranked) > 20
        assert all(0.95 * asked <= cost <= asked for cost in ranked)
        assert {row["model"] for row in rows} == {"local", "shuffled"}


def test_tables_and_options_follow_from_texts_and_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("a", 0.5, 12_345, "fine"), ("bc", "", 7, "")]
    assert show("{name:4} {at: once:8.3f} {views:>7,}  {}|", rows) == rows
    assert capsys.readouterr().out == "name at: once   views  |\na       0.500  12,345  fine|\nbc                  7  |\n"
    monkeypatch.setattr(sys, "argv", ["x", "two", "--users", "1e6", "--only", "b", "--file", "f", "--quick"])
    found = options("", ["one", "two"], users=10, only=["a", "b"], runs=5, file=Path, quick=False)
    assert vars(found) == {"names": ["two"], "users": 10**6, "only": ["b"], "runs": 5, "file": Path("f"), "quick": True}
    monkeypatch.setattr(sys, "argv", ["x", "three"])
    raises(SystemExit, "", options, "", ["one", "two"])
    assert exponent([10, 100, 1000], [3 * n**0.5 for n in (10, 100, 1000)]) == pytest.approx(0.5)
