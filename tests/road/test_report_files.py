"""Files of reports: every mechanism's own come back as they were, in every format; what is none is left out and named."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars
import pytest

from ldpaudit.adapters import rows
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files.ids import Ids, hashed
from ldpaudit.files.reports import FORMAT, Released, ReportForm, Tally, blocks, listed, released
from ldpaudit.mechanism import Mechanism, plain
from ldpaudit.mechanisms import GaussianReport, KaryRandomizedResponse, LocalHashing, UnaryEncoding
from ldpaudit.report.schema import of_report
from tests.helpers import raises, run, stdout, typed
from tests.zoo import ONE_EACH

RESPONSE = KaryRandomizedResponse(4, Fraction(1, 2))
BITS = UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5))
HASHES = LocalHashing(3, Fraction(3, 4), 5, 7)


def read(m: Mechanism, *files: Path) -> tuple[list[Any], Tally]:
    tally = Tally()
    form = ReportForm.of(m)
    return [y for file in files for block in blocks(file, m, form, tally) for y in block.tolist()], tally


@pytest.mark.parametrize("m", ONE_EACH, ids=lambda m: type(m).__name__)
def test_every_mechanism_of_single_users_has_a_form_that_its_reports_have_and_others_lack(m: Mechanism) -> None:
    if m.model != "local":
        raises(Unsupported, f"its model is {m.model}", ReportForm.of, m)
        return
    form, allowed = ReportForm.of(m), jsonschema.Draft202012Validator(of_report(m))
    views = np.asarray(m.sample(m.inputs[-1], 20, np.random.default_rng(0)))
    found, refused = form.views(reports := json.loads(json.dumps([*map(plain, views * 1)])))
    assert not refused
    assert found.dtype == views.dtype
    assert np.array_equal(found, views)
    assert all(map(allowed.is_valid, reports))
    assert allowed.is_valid({"report": reports[0], "id": "a"})
    one = reports[0]
    strange = ["x", None, {"y": 1}, [one], True, float("nan"), [*one, 0] if form.shape else [0, 1], 1 << 70]
    found, refused = form.views([one, *strange[:-1], *strange[-1:] * (not form.is_real)])
    assert (found.tolist(), [*refused]) == ([one], [*range(1, len(refused) + 1)])
    assert len(refused) >= len(strange) - 1
    if form.columns is not None:
        beyond = [max(each[0], each[-1]) + 1 for each in form.columns]
        assert form.views([beyond if form.shape else beyond[0]])[1] == {0: "numbers that no report has"}
        assert not allowed.is_valid(beyond if form.shape else beyond[0])


def lines(reports: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in reports)


def frame(write: Callable[[polars.DataFrame, Path], Any]) -> Callable[[list[Any], Path], Any]:
    return lambda reports, file: write(polars.DataFrame({"other": ["x"] * len(reports), "report": reports}), file)


def numbered(reports: list[Any], file: Path) -> None:
    if not isinstance(reports[0], list):  # a number stands in the column `report`
        return polars.DataFrame({"report": reports}).write_csv(file)
    table = polars.DataFrame(np.array(reports))
    table.rename({name: f"report_{i}" for i, name in enumerate(table.columns)}).write_csv(file)
    return None


WRITERS: dict[str, Callable[[list[Any], Path], Any]] = {
    "a.jsonl": lambda reports, file: file.write_text(lines(reports)),
    "b.ndjson": lambda reports, file: file.write_text(lines([{"report": each, "more": 1} for each in reports])),
    "c.json": lambda reports, file: file.write_text(lines([{"format": FORMAT}, *reports])),
    "d.csv": lambda reports, file: polars.DataFrame({"report": [*map(json.dumps, reports)]}).write_csv(file),
    "e.csv": numbered,
    "f.parquet": frame(polars.DataFrame.write_parquet),
    "g.arrow": frame(polars.DataFrame.write_ipc),
}


@pytest.mark.parametrize("m", [RESPONSE, BITS, HASHES], ids=lambda m: type(m).__name__)
def test_reports_come_back_from_every_format(m: Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpaudit.files.reports.BLOCK", 7)
    reports = [plain(y) for y in np.asarray(m.sample(1, 20, np.random.default_rng(0)))]
    asked = [list(y) if isinstance(y, tuple) else y for y in reports]
    for name, write in WRITERS.items():
        write(asked, tmp_path / name)
        found, tally = read(m, tmp_path / name)
        assert (found, tally.accepted, tally.refused) == (asked, 20, 0), name
    assert read(m, *listed([tmp_path]))[1].accepted == 20 * len(WRITERS)


def test_what_is_no_report_and_what_came_before_is_left_out_and_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    good, again, late = {"report": 1, "id": "u"}, {"report": 2, "id": "u"}, {"report": 3, "id": "v"}
    file.write_text(lines([good, 9, {"report": 5, "id": "v"}, again, late, {"id": "w"}, {"report": 1, "id": 1.5}]) + "no\n\n0")
    found, tally = read(RESPONSE, file)
    assert (found, tally.malformed, tally.duplicate) == ([1, 3, 0], 6, 1)
    assert len(tally.named) == 5
    assert all(each.startswith(f"{file}:") for each in tally.named)
    assert {each.split(":")[1] for each in tally.named} <= {"2", "3", "4", "6", "7", "8", "9"}
    # Bits are numbers: true and false are refused, also where Python takes them for some.
    file.write_text("[1, 0, true]\n[1, 0, 1]\n[1, 0, 2]\n[1, 0]\n[1.0, 0, 1]\n")
    assert read(BITS, file)[0] == [[1, 0, 1]]


def test_ids_that_came_before_are_those_of_a_set_whatever_blocks_they_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpaudit.files.ids._BLOCK", 400)
    rng, seen, ids, before = np.random.default_rng(1), set[int | str](), Ids(), Ids()
    before.add(hashed([5, "x"]))
    for _ in range(60):
        names: list[int | str] = [n if n % 3 else str(n) for n in rng.integers(0, 1500, 40).tolist()]
        expected = [not (name in seen or name in (5, "x") or seen.add(name)) for name in names]  # type: ignore[func-returns-value]
        assert ids.new(hashed(names), before).tolist() == expected
    assert sum(each.shape[1] for each in ids.blocks) == len(seen)
    assert len(ids.blocks) > 2
    again = Ids.of_state(ids.state)
    assert again.have(hashed(seen)).all()
    assert not again.have(hashed([5, "x", -1])).any()
    # Halves of hashes that are equal are not taken for names.
    halves = np.array([[7, 7, 7, 9], [1, 2, 2, 1]], dtype=np.uint64)
    assert Ids().new(halves, Ids([halves[:, 1:2]])).tolist() == [True, False, False, True]


def test_what_came_before_in_any_file_or_has_no_id_is_left_out_and_a_header_is_no_report(tmp_path: Path) -> None:
    polars.DataFrame({"report": [0, 1], "id": ["a", None]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("id,report\na,2\n,3\n,x\n")
    found, tally = read(RESPONSE, tmp_path / "a.parquet", tmp_path / "b.csv")
    assert (found, tally.malformed, tally.duplicate) == ([0, 1, 3], 1, 1)
    polars.DataFrame({"report": [0, 1], "id": [1.5, 2.5]}).write_parquet(tmp_path / "a.parquet")
    raises(DeploymentError, r"a\.parquet: needs ids that are strings or integers, got 1\.5", read, RESPONSE, tmp_path / "a.parquet")
    header = {"format": FORMAT, "mechanism": "randomized_response", "variant": "", "parameters": {"k": "4", "p": "1/2"}}
    (tmp_path / "a.jsonl").write_text(lines([header, 3]))
    assert read(RESPONSE, tmp_path / "a.jsonl")[0] == [3]


@pytest.mark.parametrize(("name", "text", "says"), [
    ("a.jsonl", lines([{"format": "other/1"}]), "needs format 'ldpaudit.reports/1', got .other/1."),
    ("a.jsonl", lines([{"format": FORMAT, "mechanism": "skellam", "parameters": {"mu": "1/2"}}]), "the header says Skellam"),
    ("a.jsonl", lines([{"format": FORMAT, "mechanism": "rr"}]), "needs a header that names a mechanism"),
    ("a.jsonl", "1\n\0\n", "a.jsonl:2: needs text, got a NUL character"),
    ("a.csv", "value\n1\n", "needs a column 'report', got value"),
    ("a.csv", "report\n1,2\n", "a.csv:2: needs exactly one value in each column"),
    ("a.csv", "report_0,report_2\n1,2\n", "needs a column 'report_1'"),
    ("a.parquet", "no", "needs a readable Parquet file"),
    ("a.arrow", "no", "needs a readable Arrow file"),
    ("b.jsonl", None, "needs a readable file of reports: No such file"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(name: str, text: str | None, says: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    raises(DeploymentError, says, read, RESPONSE, tmp_path / name)


def test_lists_of_any_kind_in_a_table_are_reports_and_what_else_is_nested_is_none(tmp_path: Path) -> None:
    bits = [[1, 0, 1], [0, 0, 1]]
    good: list[tuple[Any, Any]] = [(polars.Array(polars.UInt8, 3), bits), (polars.List(polars.Int16), bits)]
    for kind, reports in good:
        polars.DataFrame({"report": polars.Series(reports, dtype=kind)}).write_parquet(tmp_path / "a.parquet")
        assert read(BITS, tmp_path / "a.parquet")[0] == bits
    odd: list[tuple[list[Any], list[Any]]] = [
        ([[1, 0, 1], [1, 0], None, [None, 0, 1], []], [[1, 0, 1]]), ([{"a": 1}, {"a": 2}], []), ([[1.0, 0.0, 1.0]], []), ([], []),
        ([[1, 0, 1], [1, 0, 2]], [[1, 0, 1]]),
    ]  # fmt: skip
    for reports, kept in odd:
        polars.DataFrame({"report": reports}).write_parquet(tmp_path / "a.parquet")
        found, tally = read(BITS, tmp_path / "a.parquet")
        assert (found, tally.malformed) == (kept, len(reports) - len(kept))


@pytest.mark.parametrize("users", [1, 47, 48, 49, 96, 100])
def test_rows_of_a_table_come_in_their_order_each_once(users: int, tmp_path: Path) -> None:
    table = polars.DataFrame({"id": [f"u{i}" for i in range(users)], "report": list(range(users))})
    table.write_parquet(tmp_path / "a.parquet", row_group_size=7)
    seen = [(first + i, value, names[i]) for first, values, names in rows.frames(tmp_path / "a.parquet", "report", "id", 3)
            for i, value in enumerate(values.tolist()) if names is not None]  # fmt: skip
    assert seen == [(i + 1, i, f"u{i}") for i in range(users)]


def test_one_report_that_is_none_hides_no_other(tmp_path: Path) -> None:
    form = ReportForm.of(GaussianReport(Fraction(1)))
    for good in ([1.5], [2], [2, 1.5]):
        for wrong in (1 << 70, float("inf"), "1", [1.5], True, None):
            found, refused = form.views([wrong, *good, wrong])
            assert (found.tolist(), [*refused]) == (good, [0, len(good) + 1])


def test_what_aggregators_released_is_added_up(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps({"sum": [3, -1.5], "users": 7}, indent=1))
    found = typed(Released, released(listed([tmp_path]), 2))
    assert (found.total.tolist(), found.users) == ([6, -3], 14)
    (tmp_path / "c.json").write_text("1\n2\n")
    assert released([tmp_path / "c.json"], 2) is None
    wrong = {'{"sum": [1], "users": 3}': "2 numbers, got 1", '{"sum": [1, 2], "users": 0}': "needs users >= 1", "1": "'sum'"}
    for text, says in wrong.items():
        (tmp_path / "c.json").write_text(text)
        raises(DeploymentError, says, released, [tmp_path / "a.json", tmp_path / "c.json"], 2)


def test_the_schema_of_a_report_is_printed_for_a_mechanism_or_a_deployment() -> None:
    assert json.loads(stdout(run("schema", "report", "randomized_response", "k=4", "p=1/2"))) == of_report(RESPONSE)
    assert json.loads(stdout(run("schema", "report", "--deployment", "apple-emoji")))["$defs"]["report"]["maxItems"] == 1025
    for wrong in (["schema", "report"], ["schema", "gate", "rappor"], ["schema", "report", "skellam", "mu=1"]):
        assert run(*wrong).returncode == 2
