"""The pages that benchmarks print of runs: what they say follows from their own tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.evolving import CONSTANT, Row, advice, lines

DOCS = Path(__file__).parents[2] / "docs"


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


def test_only_what_is_nearer_than_a_constant_with_its_whole_interval_is_said_to_be() -> None:
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


def test_a_line_s_interval_is_that_of_student_over_the_means_of_its_runs() -> None:
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
