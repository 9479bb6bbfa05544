"""What values look like in a notebook: nothing is loaded, nothing is run, and text of strangers is text."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

import ldpaudit as ldp
from ldpaudit import frames
from ldpaudit.accountants.claims.sentence import Accuracy
from ldpaudit.certificates.risk import risk
from ldpaudit.display.markup import STYLE
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import LdpauditError, Unsupported
from ldpaudit.evidence import Evidence
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.profile import Number, PrivacyProfile
from ldpaudit.studies import literature
from ldpaudit.studies.comparison import Score, contenders
from ldpaudit.studies.literature import Measured
from tests.helpers import Tags, contrast

EVIL = '<script>alert("&")</script>\u202e\x1b[31m'
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
FILE = """\
schema = "ldpaudit.deployment/1"
id = "votes"
title = '''{title}'''
[mechanism]
kind = "randomized_response"
k = 2
epsilon = 2
[[claims]]
id = "low"
epsilon = 1
"""


@cache
def evidence() -> Evidence:
    return ldp.audit(BINARY, epsilon=1.0, trials=2_000)


SHOWN: dict[str, Callable[[str], Any]] = {
    "enclosure": lambda text: Enclosure(0.5, 1.0, Rigour.INTERVAL, text),
    "profile": lambda text: Told(text),
    "evidence": lambda text: replace(evidence(), event=text, pair=(text, "b")),
    "certificate": lambda text: ldp.certify(loads(FILE.format(title="Votes")), trials=500).model_copy(update={"title": text}),
    "risk": lambda text: risk(ldp.account(BINARY)),
    "table": lambda text: frames.Table(({text: 1.0, "other": text},)),
}


@dataclass(frozen=True)
class Told(PrivacyProfile):
    """A profile whose source a stranger wrote."""

    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        return Enclosure(0.0, math.exp(-1 - float(epsilon)), Rigour.INTERVAL, self.source)


@pytest.mark.parametrize("name", SHOWN)
def test_text_of_strangers_is_text_in_a_notebook(name: str) -> None:
    page = Tags(SHOWN[name](EVIL)._repr_html_())
    assert page.names <= {"div", "style", "strong", "dl", "dt", "dd", "figure", "svg", "path", "rect", "circle", "text",
                              "figcaption", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
    keys = {key for _, attributes in page.tags for key in attributes}
    assert not [key for key in keys if key.startswith("on") or key in ("src", "href", "style")]
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    if name != "risk":
        assert '<script>alert("&")</script>\\u202e\\x1b[31m' in page.text


def test_nothing_is_loaded_into_a_notebook_and_its_style_is_of_our_cards_alone() -> None:
    assert not re.search(r"url\(|@import|http", STYLE)
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", STYLE.replace("@media (prefers-color-scheme: dark) {", ""))
    assert selectors
    assert all(".ldpaudit" in each for selector in selectors for each in selector.split(",") if each.strip())


@pytest.mark.parametrize(("look", "ground"), [(0, "#ffffff"), (1, "#14181d")], ids=["light", "dark"])
def test_what_is_drawn_in_a_notebook_is_seen_on_either_ground(look: int, ground: str) -> None:
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]+)", STYLE.split("--line")[look + 1]))
    for text in ("muted", "certified", "measured"):
        assert contrast(colours[text], ground) >= 4.5, text


def test_a_card_says_the_numbers_rounded_outward() -> None:
    third = Enclosure(1 / 3, 2 / 3, Rigour.INTERVAL, "")
    assert "between 0.333333 and 0.666667" in third._repr_html_()
    assert "epsilon is at least 0." in evidence()._repr_html_()
    assert "not refuted" in evidence()._repr_html_()
    assert 'class="tightening"' in evidence()._repr_html_()
    assert "epsilon at delta 0</dt><dd>between 0.999999 and 1 (EXACT)" in ldp.account(BINARY)._repr_html_()


def test_a_profile_that_is_not_supported_says_so() -> None:
    class Silent(PrivacyProfile):
        def delta(self, epsilon: Number) -> Enclosure:
            raise Unsupported("this", "is not known")

    assert "is not known" in Silent()._repr_html_()


def test_a_profile_is_drawn_on_the_axes_that_are_given_or_on_new_ones() -> None:
    pytest.importorskip("matplotlib")
    drawn = ldp.account(BINARY).plot(claim=(0.5, 0.1), points=11)
    (line, mark) = drawn.lines
    assert len(line.get_xdata()) == 11
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (0.5, 0.1)
    assert ldp.account(BINARY).plot(drawn, points=2) is drawn
    assert len(drawn.lines) == 3
    with pytest.raises(ValueError, match="needs points >= 2, got 1"):
        ldp.account(BINARY).plot(points=1)


def test_a_plot_without_matplotlib_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LdpauditError, match=r"^a plot needs matplotlib: pip install matplotlib \(the extra 'plot' of ldpaudit\)$"):
        ldp.account(BINARY).plot()


@cache
def claims() -> tuple[Any, ...]:
    return tuple(literature.claims("hashtogram"))


def test_claims_and_their_summary_are_rows_of_plain_values() -> None:
    found = frames.table(claims())
    assert [row["where"] for row in found] == [claim.where for claim in claims()]
    assert [row["low"] for row in found] == [claim.found.low for claim in claims()]
    several = frames.table(literature.summary("hashtogram", claims()))
    for row in (*found, *several):
        assert all(isinstance(value, str | int | float | None) for value in row.values())


def test_risks_scores_and_measured_errors_are_rows_too() -> None:
    assert next(iter(frames.table(risk(ldp.account(BINARY)))))["chance"] == "right guess between two inputs"
    claim = Accuracy("a paper", "it errs little", 2.0, 0.1, lambda rng: None, lambda data, result: 0.0)
    (error,) = frames.table([Measured(claim, 10, 3, 0.2, 0.6, 0.95, 1.0, 3.0)])
    assert (error["alpha"], error["failures"], error["holds"], error["standing"]) == (2.0, 3, False, "FAILS")
    contender, none = next(each for each in contenders() if each.stem == "hashtogram"), float("nan")
    score = Score("m", 1.0, 8.0, none, none, 0.5, none, 3, none, 0.1, 20.0)
    (row,) = frames.table([(contender, score)])
    assert (row["names_values"], row["recall"], row["error"]) == (False, 0.5, None)


@pytest.mark.parametrize("value", [3, [3], [(1, 2)]], ids=str)
def test_what_is_no_table_is_an_error_of_one_line(value: Any) -> None:
    with pytest.raises(TypeError, match="a table needs"):
        frames.table(value)


def test_a_frame_has_the_rows_and_columns_of_its_table() -> None:
    polars = pytest.importorskip("polars")
    table = frames.table(claims())
    frame = table.frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.to_dicts() == [dict(row) for row in table]
    assert table.to_polars().equals(frame)


def test_a_frame_without_its_library_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    table = frames.Table(({"a": 1},))
    needs = {table.frame: "polars or pandas, found neither", table.to_pandas: "needs pandas", table.to_polars: "needs polars"}
    for made, said in needs.items():
        with pytest.raises(LdpauditError, match=said) as caught:
            made()
        assert "\n" not in str(caught.value)
    assert list(table) == [{"a": 1}]


def test_a_notebook_says_of_an_infinite_value_that_it_is_infinite() -> None:
    infinite = Enclosure(float("inf"), float("inf"), Rigour.EXACT, "a theorem")._repr_html_()
    assert "infinite" in infinite
    assert "between" not in infinite
