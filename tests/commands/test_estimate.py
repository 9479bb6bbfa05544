"""``ldpaudit estimate``: files of reports in, counts with intervals out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpaudit.commands.options import Post
from ldpaudit.mechanism import plain
from ldpaudit.mechanisms import Bitstogram, UnaryEncoding
from ldpaudit.studies.postprocessing import WAYS
from tests.helpers import run, stdout, within
from tests.road.test_deployment import GOOD

ORACLE = ["unary_encoding", "k=4", "epsilon=2", "constructor=optimized"]
HELD = [700, 200, 90, 10]


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    m, rng = UnaryEncoding.optimized(2, 4), np.random.default_rng(2)
    reports = [plain(np.asarray(m.sample(x, 1, rng))[0]) for x, users in enumerate(HELD) for _ in range(users)]
    lines = (json.dumps({"report": each, "id": i}) + "\n" for i, each in enumerate(reports))
    (tmp_path / "a.jsonl").write_text("".join(lines))
    return tmp_path / "a.jsonl"


def told(*arguments: object) -> Any:
    return json.loads(stdout(run("estimate", *map(str, arguments), "--format", "json")))


def test_counts_come_back_with_intervals_in_every_format(reports: Path) -> None:
    data = told(reports, *ORACLE)
    assert (data["users"], data["malformed"], data["duplicates"]) == (1000, 0, 0)
    assert all(row["low"] <= held <= row["high"] for row, held in zip(data["estimates"], HELD, strict=True))
    first, second, head, *rows = stdout(run("estimate", str(reports), *ORACLE)).splitlines()
    assert first == "UnaryEncoding(k=4, p=1/2, q=0.119203): 1,000 reports"
    assert second == "intervals hold each at 0.95, by the exact law of sums of coins"
    assert head.split() == ["value", "estimate", "from", "to"]
    assert float(rows[0].split()[1]) == pytest.approx(data["estimates"][0]["estimate"], abs=0.05)
    _, line, *_ = stdout(run("estimate", str(reports), *ORACLE, "--format", "csv")).splitlines()
    assert line == ",".join(map(str, data["estimates"][0].values()))


def test_every_post_processing_top_names_and_simultaneous_intervals(reports: Path) -> None:
    (names := reports.parent / "names.txt").write_text("tea\ncoffee\nwater\nmilk\n")
    output = reports.parent / "out.csv"
    each = told(reports, *ORACLE, "--values", names)
    options = ["--post", "norm-sub", "--top", 2, "--simultaneous", "--values", names, "--output", output]
    assert "only --simultaneous intervals hold for these" in run("estimate", str(reports), *ORACLE, "--top", "1").stderr
    data = told(reports, *ORACLE, *options)
    assert [row["value"] for row in data["estimates"]] == ["tea", "coffee"]
    assert data["estimates"][0]["low"] < each["estimates"][0]["low"]
    assert output.read_text().splitlines()[0] == "value,estimate,low,high"
    whole = told(reports, *ORACLE, "--post", "norm-sub")
    assert sum(row["estimate"] for row in whole["estimates"]) == pytest.approx(1000)
    assert [each.value for each in Post] == [*WAYS]


def test_a_few_records_that_are_none_are_left_out_and_more_are_an_error(reports: Path) -> None:
    with reports.open("a") as file:
        file.write('{"report": [1, 0, 0, 1], "id": 3}\n[1, 0]\n')
    data = told(reports, *ORACLE)
    assert (data["users"], data["malformed"], data["duplicates"], len(data["left_out"])) == (1000, 1, 1, 2)
    output = reports.parent / "out.json"
    done = run("estimate", str(reports), *ORACLE, "--refused", "0.001", "--output", str(output))
    assert (done.returncode, "a.jsonl:1002" in done.stderr) == (2, True)
    assert "got 1 malformed and 1 duplicate records of 1002" in done.stderr
    assert not output.exists()


def test_a_deployment_s_sum_is_estimated_with_all_aggregators_noise(tmp_path: Path) -> None:
    noisy = '[aggregate]\nusers = 1000\n\n[[noise]]\nkind = "discrete_laplace"\nalpha = "9/10"\nparties = 2\n'
    (tmp_path / "a.json").write_text(json.dumps({"sum": [600, 250, 130, 20], "users": 1000}))
    widths = []
    for name, noise in (("without", "[aggregate]\nusers = 1000\n"), ("with", noisy)):
        (file := tmp_path / f"{name}.toml").write_text(GOOD.split("[mechanism]")[0] + DEPLOYED + noise + CLAIM)
        (row, *_) = told(tmp_path / "a.json", "--deployment", file)["estimates"]
        widths.append(row["high"] - row["low"])
        assert row["estimate"] == pytest.approx((600 - 250) / 0.5)
    # Sums of a thousand coins have a variance of 187.5, two noises one of 180 each.
    assert widths[1] / widths[0] == pytest.approx(((187.5 + 2 * 180) / 187.5) ** 0.5, rel=0.05)


def test_a_sum_modulo_a_number_is_what_it_was_before(tmp_path: Path) -> None:
    noise = '[aggregate]\nusers = 1000\nmodulus = 18446744073709551616\n\n[[noise]]\nkind = "discrete_laplace"\nalpha = "1/2"\n'
    (file := tmp_path / "a.toml").write_text(GOOD.split("[mechanism]")[0] + DEPLOYED + noise + CLAIM)
    for name, total in (("a", [600, 250, (1 << 64) - 10, 1003]), ("b", [600, 250, -10, 1003])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"sum": total, "users": 1000}))
    wrapped, plainly = (told(tmp_path / f"{name}.json", "--deployment", file) for name in "ab")
    assert wrapped == plainly
    assert wrapped["estimates"][2]["estimate"] == pytest.approx((-10 - 250) / 0.5)


DEPLOYED = '[mechanism]\nkind = "unary_encoding"\nk = 4\np = "3/4"\nq = "1/4"\n\n'
CLAIM = '\n[[claims]]\nid = "one"\nepsilon = "?"\n'


def test_systems_that_name_values_name_them(tmp_path: Path) -> None:
    m = Bitstogram.for_epsilon(4, users=1 << 12, domain=1 << 20)
    views = m.collect([5] * 3000 + [9] * 1000, np.random.default_rng(0))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in views.tolist()))
    data = told(tmp_path / "a.jsonl", "bitstogram", "epsilon=4", f"users={1 << 12}", f"domain={1 << 20}", "--top", 1)
    assert data["estimates"][0]["value"] == 5
    assert data["estimates"][0].keys() == {"value", "estimate"}
    assert data["intervals"].startswith("no intervals: which values are named")


@pytest.mark.parametrize(("arguments", "says"), [
    (["a.jsonl"], "needs --deployment FILE, or STEM key=value ... behind the files, got neither"),
    ([*ORACLE], "needs files of reports, found none"),
    (["a.jsonl", *ORACLE, "--deployment", "apple-emoji"], "needs a mechanism for k=4, got the deployment apple-emoji"),
    (["a.jsonl", *ORACLE, "--confidence", "1"], "needs --refused in [0, 1] and --confidence in (0, 1)"),
    (["a.jsonl", *ORACLE, "--output", "a.txt"], "needs a file that ends in .json or .csv"),
    (["a.jsonl", *ORACLE, "--values", "a.jsonl"], "needs 4 names, one a line, got 1000"),
    (["a.jsonl", "skellam", "mu=1"], "it has no reports of single users: its model is central"),
    (["a.jsonl", "randomized_response", "k=4", "p=1/2"], "needs at least one report, got none"),
])  # fmt: skip
def test_what_cannot_be_estimated_is_an_error_of_one_line(arguments: list[str], says: str, reports: Path) -> None:
    done = within(reports.parent, "estimate", *arguments)
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]
