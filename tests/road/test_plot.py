"""A profile as a picture."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ldpaudit.accountants import account
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Repeat
from ldpaudit.profile import PrivacyProfile
from ldpaudit.report.plot import draw
from tests.helpers import fails_in_one_line, run, within

BINARY = account(KaryRandomizedResponse.for_epsilon(1, 2))
REPEATED = account(Repeat(KaryRandomizedResponse.for_epsilon(1, 4), 30))


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_written_whole_in_the_form_of_its_ending(tmp_path: Path, ending: str, magic: bytes) -> None:
    path = tmp_path / f"profile.{ending}"
    draw(BINARY, path, title="one report", mark=(0.5, 0.1))
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def curve(path: Path, element: str) -> list[tuple[float, float]]:
    """Points of the first path of a group of an SVG, in its coordinates."""
    tree = ElementTree.parse(path)
    (group,) = (g for g in tree.iter("{http://www.w3.org/2000/svg}g") if g.get("id") == element)
    words = next(iter(group.iter("{http://www.w3.org/2000/svg}path"))).attrib["d"].replace("M", "").replace("L", "").split()
    return list(zip(map(float, words[::2]), map(float, words[1::2]), strict=True))


@pytest.mark.parametrize("profile", [BINARY, REPEATED], ids=lambda p: type(p).__name__)
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
    text = (tmp_path / "a.svg").read_text()
    assert f"({epsilon:.4g}, 0.01)" in text
    draw(profile, tmp_path / "b.svg", title="x", mark=(epsilon, 0.01))
    assert curve(tmp_path / "b.svg", "delta-at-most") == points


def test_what_cannot_be_drawn_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeploymentError, match=r"needs an ending among \.png, \.svg and \.pdf, got '\.jpg'"):
        draw(BINARY, tmp_path / "x.jpg", title="")
    (tmp_path / "file").write_text("")
    with pytest.raises(DeploymentError, match="needs a writable place"):
        draw(BINARY, tmp_path / "file" / "x.png", title="")
    draw(BINARY, tmp_path / "infinite.png", title="", mark=(math.inf, 0.0))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LdpauditError, match=r"needs matplotlib: pip install matplotlib \(the extra 'plot'"):
        draw(BINARY, tmp_path / "x.png", title="")


@pytest.mark.parametrize(
    "command",
    [("account", "randomized_response", "k=2", "p=3/4"), ("compare", "--epsilon", "1"),
     ("table", "ggkpv-2", "n=1e6", "B=1e4", "epsilon=1", "delta=1e-9")],
)  # fmt: skip
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_computed(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("it was computed before the refusal")

    for name in ("account", "studies.comparison.contenders", "studies.ggkpv_tables.lines"):
        monkeypatch.setattr(f"ldpaudit.{name}", computed)
    fails_in_one_line(within(tmp_path, *command, "--plot", "x.gif"), "needs an ending among")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    fails_in_one_line(within(tmp_path, *command, "--plot", "x.png"), "pip install matplotlib")


def test_the_command_draws_and_answers(tmp_path: Path) -> None:
    path = tmp_path / "profile.png"
    done = run("account", "randomized_response", "k=2", "p=3/4", "--repeat", "50", "--delta", "1e-6", "--plot", str(path))
    assert done.returncode == 0, done.stderr
    assert "epsilon(delta=1e-06) in [" in done.stdout
    assert path.read_bytes().startswith(b"\x89PNG")
    done = run("account", "randomized_response", "k=2", "p=3/4", "--plot", str(tmp_path / "profile.gif"))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
