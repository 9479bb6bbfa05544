"""The data behind the pictures of docs/literature.md, and the pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.looseness import COMPOSITION, PICTURES, SHUFFLING, Line, draw, section
from tests.helpers import ROOT

FEW = {
    "shuffling-users": (1e3, 1e6),
    "shuffling-epsilon": (0.5, 5.0),
    "composition-runs": (1, 30, 1e5),
    "noise-users": (1e6,),
}
"""Values of x that take little time."""
NAMES = {picture.name: picture for picture in PICTURES}


@cache
def lines_of(name: str) -> list[Line]:
    return NAMES[name].lines(FEW[name])


@pytest.mark.parametrize("name", [*list(FEW)[:3], pytest.param("noise-users", marks=pytest.mark.slow)])
def test_every_point_is_finite_and_no_formula_is_below_the_certified_value(name: str) -> None:
    lines = lines_of(name)
    for line in lines:
        assert line.points, line.name
        for x, y in line.points:
            assert x in FEW[name]
            assert 1 <= y < math.inf, line.name
    assert max(y for line in lines for _, y in line.points) > 2


def test_a_line_ends_where_a_hypothesis_does() -> None:
    ends = {line.name: line.points[-1][0] for line in lines_of("shuffling-epsilon")}
    assert ends == {name: 0.5 if name.startswith("EFMRTT19") else 5.0 for name in SHUFFLING}
    ends = {line.name: line.points[-1][0] for line in lines_of("composition-runs")}
    assert ends == {name: 30 if name.startswith("HKR12") else 1e5 for name in COMPOSITION}


def test_the_page_shows_every_picture_and_every_picture_is_small() -> None:
    page = section()
    for picture in PICTURES:
        file = f"pictures/{picture.name}.png"
        assert f"]({file})" in page
        assert (ROOT / "docs" / file).read_bytes().startswith(b"\x89PNG")
        assert (ROOT / "docs" / file).stat().st_size < 100_000
    assert {p.stem for p in (ROOT / "docs" / "pictures").glob("*.png")} == set(NAMES)


def test_a_picture_is_the_same_bytes_each_time() -> None:
    def lines(grid: object) -> list[Line]:
        return [Line("a line", ((1.0, 2.0), (10.0, 3.0)))]

    small = replace(PICTURES[0], grid=(1.0, 10.0), lines=lines)
    drawn = draw(small)
    assert drawn == draw(small)
    assert drawn != draw(replace(small, up="something else"))
