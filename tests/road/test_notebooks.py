"""What values look like in a notebook and a picture: nothing is loaded, nothing is run, and text of strangers is text."""

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest

import ldpaudit as ldp
from ldpaudit import Enclosure, Evidence, PrivacyProfile, Repeat, Rigour, Unsupported, account, frames, literature
from ldpaudit.accountants.claims.sentence import Accuracy
from ldpaudit.certificates.risk import risk
from ldpaudit.display.markup import STYLE
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import KaryRandomizedResponse
from ldpaudit.profile import Number
from ldpaudit.report.plot import draw
from ldpaudit.studies.comparison import Score, contenders
from ldpaudit.studies.literature import Measured
from tests.helpers import Tags, contrast, deployment, fails_in_one_line, raises, raises_a_line, run, stdout, typed, within

EVIL = '<script>alert("&")</script>\u202e\x1b[31m'
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
FILE = deployment('kind = "randomized_response"\nk = 2\nepsilon = 2', 'id = "low"\nepsilon = 1')


@cache
def evidence() -> Evidence:
    return ldp.audit(BINARY, epsilon=1.0, trials=2_000)


SHOWN: dict[str, Callable[[str], Any]] = {
    "enclosure": lambda text: Enclosure(0.5, 1.0, Rigour.INTERVAL, text),
    "profile": lambda text: Told(text),
    "evidence": lambda text: replace(evidence(), event=text, pair=(text, "b")),
    "certificate": lambda text: ldp.certify(loads(FILE), trials=500).model_copy(update={"title": text}),
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


def test_a_card_says_the_numbers_rounded_outward_and_in_words_what_is_infinite_or_not_supported() -> None:
    assert "between 0.333333 and 0.666667" in Enclosure(1 / 3, 2 / 3, Rigour.INTERVAL, "")._repr_html_()
    assert "epsilon is at least 0." in evidence()._repr_html_()
    assert "not refuted" in evidence()._repr_html_()
    assert 'class="tightening"' in evidence()._repr_html_()
    assert "epsilon at delta 0</dt><dd>between 0.999999 and 1 (EXACT)" in ldp.account(BINARY)._repr_html_()
    infinite = Enclosure(float("inf"), float("inf"), Rigour.EXACT, "a theorem")._repr_html_()
    assert "infinite" in infinite
    assert "between" not in infinite
    class Silent(PrivacyProfile):
        def delta(self, epsilon: Number) -> Enclosure:
            raise Unsupported("this", "is not known")

    assert "is not known" in Silent()._repr_html_()


def test_a_profile_is_drawn_on_given_axes_or_new_ones_and_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    drawn = ldp.account(BINARY).plot(claim=(0.5, 0.1), points=11)
    (line, mark) = drawn.lines
    assert len(line.get_xdata()) == 11
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (0.5, 0.1)
    assert ldp.account(BINARY).plot(drawn, points=2) is drawn
    assert len(drawn.lines) == 3
    raises(ValueError, "needs points >= 2, got 1", ldp.account(BINARY).plot, points=1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LdpauditError, match=r"^a plot needs matplotlib: pip install matplotlib \(the extra 'plot' of ldpaudit\)$"):
        ldp.account(BINARY).plot()


@cache
def claims() -> tuple[Any, ...]:
    return tuple(literature.claims("hashtogram"))


def test_claims_risks_scores_and_measured_errors_are_rows_of_plain_values() -> None:
    found = frames.table(claims())
    assert [row["where"] for row in found] == [claim.where for claim in claims()]
    assert [row["low"] for row in found] == [claim.found.low for claim in claims()]
    for row in (*found, *frames.table(literature.summary("hashtogram", claims()))):
        assert all(isinstance(value, str | int | float | None) for value in row.values())
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
    raises(TypeError, "a table needs", frames.table, value)


def test_a_frame_has_the_rows_and_columns_of_its_table_and_without_its_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    table = frames.table(claims())
    frame = typed(polars.DataFrame, table.frame())
    assert frame.to_dicts() == [dict(row) for row in table]
    assert table.to_polars().equals(frame)
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    table = frames.Table(({"a": 1},))
    needs = {table.frame: "polars or pandas, found neither", table.to_pandas: "needs pandas", table.to_polars: "needs polars"}
    for made, said in needs.items():
        raises_a_line(LdpauditError, said, made)
    assert list(table) == [{"a": 1}]


RESPONSE = account(KaryRandomizedResponse.for_epsilon(1, 2))
REPEATED = account(Repeat(KaryRandomizedResponse.for_epsilon(1, 4), 30))


@pytest.mark.few(1)
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_written_whole_in_the_form_of_its_ending(tmp_path: Path, ending: str, magic: bytes) -> None:
    path = tmp_path / f"profile.{ending}"
    draw(RESPONSE, path, title="one report", mark=(0.5, 0.1))
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def curve(path: Path, element: str) -> list[tuple[float, float]]:
    """Points of the first path of a group of an SVG, in its coordinates."""
    tree = ElementTree.parse(path)
    (group,) = (g for g in tree.iter("{http://www.w3.org/2000/svg}g") if g.get("id") == element)
    words = next(iter(group.iter("{http://www.w3.org/2000/svg}path"))).attrib["d"].replace("M", "").replace("L", "").split()
    return list(zip(map(float, words[::2]), map(float, words[1::2]), strict=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("profile", [RESPONSE, REPEATED], ids=lambda p: type(p).__name__)
def test_the_curve_is_delta_and_the_claim_stands_where_it_belongs(tmp_path: Path, profile: PrivacyProfile) -> None:
    epsilon = profile.epsilon(0.01).high
    draw(profile, tmp_path / "a.svg", title="x", mark=(epsilon, 0.01))
    points = curve(tmp_path / "a.svg", "delta-at-most")
    (left, top), (right, bottom) = points[0], points[60]
    last = 1.05 * profile.epsilon(1e-12).high
    there = [last * (x - left) / (points[-1][0] - left) for x, _ in points]
    heights = [math.log(profile.delta(e).high) for e in there[:61]]
    for (x, y), e, height in zip(points[:61], there[:61], heights, strict=True):
        assert left <= x <= right, e
        assert y == pytest.approx(top + (bottom - top) * (height - heights[0]) / (heights[60] - heights[0]), abs=0.05)
    assert f"({epsilon:.4g}, 0.01)" in (tmp_path / "a.svg").read_text()
    draw(profile, tmp_path / "b.svg", title="x", mark=(epsilon, 0.01))
    assert curve(tmp_path / "b.svg", "delta-at-most") == points


@pytest.mark.parametrize("command", [
    ("account", "randomized_response", "k=2", "p=3/4"), ("compare", "--epsilon", "1"),
    ("table", "ggkpv-2", "n=1e6", "B=1e4", "epsilon=1", "delta=1e-9"),
])  # fmt: skip
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_computed(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("account", "studies.comparison.contenders", "studies.ggkpv_tables.lines"):
        monkeypatch.setattr(f"ldpaudit.{name}", Mock(side_effect=AssertionError("it was computed before the refusal")))
    fails_in_one_line(within(tmp_path, *command, "--plot", "x.gif"), "needs an ending among")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    fails_in_one_line(within(tmp_path, *command, "--plot", "x.png"), "pip install matplotlib")


def test_what_cannot_be_drawn_is_an_error_and_the_command_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profile.png"
    done = run("account", "randomized_response", "k=2", "p=3/4", "--repeat", "50", "--delta", "1e-6", "--plot", str(path))
    assert "epsilon(delta=1e-06) in [" in stdout(done)
    assert path.read_bytes().startswith(b"\x89PNG")
    done = run("account", "randomized_response", "k=2", "p=3/4", "--plot", str(tmp_path / "profile.gif"))
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    with pytest.raises(DeploymentError, match=r"needs an ending among \.png, \.svg and \.pdf, got '\.jpg'"):
        draw(RESPONSE, tmp_path / "x.jpg", title="")
    (tmp_path / "file").write_text("")
    raises(DeploymentError, "needs a writable place", draw, RESPONSE, tmp_path / "file" / "x.png", title="")
    draw(RESPONSE, tmp_path / "infinite.png", title="", mark=(math.inf, 0.0))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LdpauditError, match=r"needs matplotlib: pip install matplotlib \(the extra 'plot'"):
        draw(RESPONSE, tmp_path / "x.png", title="")
