"""``ldpaudit sweep``: each row is what `account` says at its point."""

import csv
import io
import json
from pathlib import Path

import pytest

from ldpaudit import Run, Shuffle, account
from ldpaudit.commands.sweep import values
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.report.printer import BAR
from tests.helpers import fails_in_one_line, raises, run, stdout

RESPONSE = ["sweep", "account", "randomized_response", "k=4"]
TABLES = {
    "account randomized_response k=2 p=3/4": 2, "account randomized_response k=2 p=3/4 --repeat 9 --delta 1e-6 --compare": 9,
    "accuracy sign_oracle --runs 1": 2, "calibrate --runs 1 --trials 50": 7, "deployments --state retired": 6, "limit": 9,
    "limit central.laplace_error values=9 epsilon=1": 2, "mechanisms": 60, "mechanisms one_bit": 12, "table": 9,
    "design randomized_response k=9 --epsilon 1": 2, "risk randomized_response k=4 epsilon=1 --repeat 9": 7,
    "sweep account randomized_response k=2,4 epsilon=1": 3, "table triehh_table_1": 9,
}  # fmt: skip
"""Commands that print a table, and how many lines it has at least."""


@pytest.mark.few(6)
@pytest.mark.parametrize("asked", TABLES)
def test_every_table_has_the_same_cells_in_every_format(asked: str) -> None:
    forms = ("csv", "markdown", "latex", "json", "text")
    printed = {form: stdout(run(*asked.split(), "--format", form)).rstrip("\n") for form in forms}
    rows = list(csv.reader(io.StringIO(printed["csv"])))
    assert len(rows) >= TABLES[asked]
    assert {len(row) for row in rows} == {len(rows[0])}
    head, _, *lines = printed["markdown"].splitlines()
    assert [f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in rows] == [head, *lines]
    assert printed["latex"].count("\\\\\n") == len(rows)
    assert json.loads(printed["json"])
    assert printed["text"]


def test_every_point_has_the_ends_of_account() -> None:
    asked = ("epsilon=1/2,2", "--shuffle", "1e3..1e5:3", "--delta", "1e-6,1e-3", "--format", "json")
    rows = json.loads(stdout(run(*RESPONSE, *asked)))
    expected = [("1/2", "1000", "1e-6"), ("1/2", "1000", "1e-3"), ("1/2", "10000", "1e-6"), ("1/2", "10000", "1e-3")]
    assert [(row["epsilon"], row["shuffle"], row["delta"]) for row in rows[:4]] == expected
    assert len(rows) == 12
    found = account(Shuffle(Run(KaryRandomizedResponse.for_epsilon(2, 4)), 100_000)).epsilon(1e-3)
    assert (rows[-1]["low"], rows[-1]["high"]) == (found.low, found.high)


@pytest.mark.parametrize(("text", "found"), [
    ("3", ["3"]),
    ("1,exp(1),4", ["1", "exp(1)", "4"]),
    ("1e3..1e6:4", ["1000", "10000", "100000", "1000000"]),
    ("2..4:9", ["2", "3", "4"]),
    ("1.0..4:3", ["1.0", "2", "4"]),
    ("1/4..1/16,7", None),
    ("1/16..1/4:3,7", ["1/16", "0.125", "1/4", "7"]),
    ("[1, 2]", ["[1, 2]"]),
])  # fmt: skip
def test_a_range_has_equal_ratios_and_integers_between_integers(text: str, found: list[str] | None) -> None:
    if found is not None:
        assert values("x", text) == found
        return
    raises(ValueError, "x needs one value, several as", values, "x", text)


@pytest.mark.parametrize("wrong", ["0..4", "1..4:1", "1..4:x", "1..4:2000", "4..1", "1,2,1", "..4", "a..4"])
def test_what_is_no_range_is_one_line(wrong: str) -> None:
    fails_in_one_line(run(*RESPONSE, "epsilon=1", "--shuffle", wrong), "--shuffle")


def test_a_point_that_is_refused_is_a_row_that_says_why() -> None:
    rows = list(csv.reader(io.StringIO(stdout(run(*RESPONSE, "epsilon=0,1", "--format", "csv")))))
    assert (rows[0], rows[1][:3]) == (["epsilon", "low", "high", "rigour"], ["0", "", ""])
    assert "epsilon" in rows[1][3]
    assert rows[2][3] == "EXACT"
    assert run(*RESPONSE, "epsilon=0,-1").returncode == 2
    assert run(*RESPONSE, "epsilon=0.1..1.0:1000", "--delta", "1e-9..1e-3:11").returncode == 2


def test_published_bounds_stand_beside_and_a_picture_needs_a_range(tmp_path: Path) -> None:
    file = tmp_path / "curve.svg"
    asked = [*RESPONSE, "epsilon=1", "--shuffle", "100,200", "--delta", "1e-6", "--compare", "--plot", str(file)]
    head, _, *rows = stdout(run(*asked, "--format", "markdown")).splitlines()
    assert "FMT21 clones, computed" in head
    assert all("(conjecture)" in row for row in rows)
    assert "certified" in file.read_text()
    fails_in_one_line(run(*RESPONSE, "epsilon=1", "--plot", str(tmp_path / "a.png")), "a range")
    assert not (tmp_path / "a.png").exists()
