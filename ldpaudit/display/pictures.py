"""Pictures in SVG, drawn without a script: what is known of epsilon, a privacy profile, an audit's bound."""

import html
import re
from collections.abc import Sequence
from itertools import accumulate
from math import floor, inf, isfinite, log10

from ldpaudit.display.digits import show_down, show_up
from ldpaudit.display.visible import visible

WIDTH = 360  # of a picture, in its own units: its text can be read on a telephone
_LEFT, _RIGHT = 20, WIDTH - 20
_PLOT_LEFT, _PLOT_TOP, _PLOT_BOTTOM = 66, 22, 160

_ALONE = {
    "axis": 'stroke="#515c68" fill="none"', "grid": 'stroke="#ccd3da" fill="none"', "band": 'fill="#bcd4ee"',
    "certified": 'stroke="#1d5fa8" stroke-width="2" fill="none"', "claim": 'stroke="#1c2430" stroke-width="2" fill="none"',
    "tightening": 'stroke="#8a5a00" stroke-width="1.5" fill="none"', "measured": 'fill="#8a5a00"', "bar": 'fill="#1d5fa8"',
    "quiet": 'fill="#515c68"', "blue": 'fill="#1d5fa8"', "amber": 'fill="#8a5a00"', "dark": 'fill="#1c2430"',
}  # fmt: skip
"""What a mark looks like where no style of a page says otherwise, as in a PDF."""


def line(certified: tuple[float, float] | None, measured: float | None, claimed: float | None, how: str = "certified") -> str:
    """The line of epsilon: certified values as a bar, the samples' bound as an arrow, the claim as a tick."""
    known = list(certified or ())
    seen, asked = ([] if x is None else [x] for x in (measured, claimed))
    largest = max([x for x in (*known, *seen, *asked) if isfinite(x)], default=0.0)
    if largest <= 0:
        return ""

    def at(epsilon: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * min(epsilon / (1.15 * largest), 1.0)

    marks = [f'<path class="axis" d="M {_LEFT} 48 H {_RIGHT}"/>', _text(_LEFT, 84, "0", "quiet", "middle")]
    said = []
    if known:
        low, high = map(at, known)
        marks.append(f'<rect class="bar" x="{low - 2:.1f}" y="41" width="{high - low + 4:.1f}" height="14"/>')
        said.append(f"{how} at most {show_up(known[1], 4)}")
        marks.append(_label(high, 84, said[-1], "blue"))
    if seen:
        marks.append(f'<path class="measured" d="M {at(seen[0]):.1f} 38 v 20 l 10 -10 z"/>')
        said.append(f"measured at least {show_down(seen[0], 4)}")
        marks.append(_label(at(seen[0]), 102, said[-1], "amber"))
    if asked:
        marks.append(f'<path class="claim" d="M {at(asked[0]):.1f} 22 V 62"/>')
        said.append(f"claimed {asked[0]:.6g}")
        marks.append(_label(at(asked[0]), 16, said[-1], "dark"))
    top = 0 if asked else 30  # above the line stands the claim alone
    return _figure(110, f"Epsilon: {', '.join(said)}", marks, "What is known of epsilon; smaller is more private.", top)


def curve(points: Sequence[tuple[float, float, float]], claim: tuple[float, float] | None, name: str, smallest: float = 0.0) -> str:
    """Delta over epsilon: its upper end as a line, the enclosure as a band, and the claim as a cross.

    Delta falls as epsilon grows, so an upper end is one further on too, and a lower end before it: the nearest are drawn.

    ``points``: where delta is certified, in order; ``claim``: a point to mark; ``name``: of the picture;
    ``smallest``: a delta that the picture reaches, where it is above 0.
    """
    if not points or max(high for *_, high in points) <= 0:
        return ""
    # Enclosures of a function that does not grow, each as tight as the others make it.
    highs = accumulate((high for *_, high in points), min)
    lows = [*accumulate((low for _, low, _ in reversed(points)), max)][::-1]
    points = [(at, low, high) for (at, *_), low, high in zip(points, lows, highs, strict=True)]
    least = min([high for *_, high in points if high > 0] + [smallest] * (smallest > 0))
    decades = max(3, min(-floor(log10(max(least, 1e-300))), 9 if smallest == 0 or smallest > 1e-9 else -floor(log10(smallest)) + 1))
    widest = points[-1][0]

    def place(epsilon: float, height: float) -> tuple[float, float]:
        down = min(max(-log10(height) if height > 0 else inf, 0.0), decades) / decades
        return _PLOT_LEFT + (_RIGHT - _PLOT_LEFT) * epsilon / widest, _PLOT_TOP + (_PLOT_BOTTOM - _PLOT_TOP) * down

    upper = [place(epsilon, high) for epsilon, _, high in points]
    lower = [place(epsilon, low) for epsilon, low, _ in points]
    powers = sorted({*range(0, decades, -(-decades // 4)), decades})
    names = ["1" if power == 0 else f"{'≤ ' * (power == decades)}1e-{power}" for power in powers]
    rows = [(power / decades, name) for power, name in zip(powers, names, strict=True)]
    numbers = [(_PLOT_LEFT + (_RIGHT - _PLOT_LEFT) * part / 4, f"{widest * part / 4:.3g}", "middle") for part in range(5)]
    if len(numbers[-1][1]) > 5:  # a long number below the end of the axis would leave the picture
        numbers[-1] = (WIDTH - 1, numbers[-1][1], "end")
    band = f'<path class="band" d="{_path([*upper, *reversed(lower)])} Z"/>'
    marks = [*_axes(rows, numbers, "epsilon", "delta"), band]
    marks.append(f'<path class="certified" d="{_path(upper)}"/>')
    if claim is not None:
        x, y = place(*claim)
        marks.append(f'<path class="claim" d="M {x - 5:.1f} {y - 5:.1f} l 10 10 m 0 -10 l -10 10"/>')
        marks.append(_label(x, max(y - 10, 12), f"claimed ({claim[0]:.4g}, {claim[1]:.3g})", "dark"))
    cross = "" if claim is None else ", and the claim as a cross"
    line = f"what is certified at {len(points)} values as a line, its enclosure as a band{cross}"
    caption = f"Delta over epsilon: {line}. At these values, what lies above the line holds."
    return _figure(200, name, marks, caption)


def tightening(looks: Sequence[tuple[int, float]], claimed: float | None, name: str, said: str) -> str:
    """A bound on epsilon over the views drawn, and the claim; nothing where nothing was seen.

    ``looks``: views drawn, and the bound then; ``claimed``: the claim; ``name``, ``said``: of the picture, and what
    its caption says besides.
    """
    if len(looks) < 2 or not any(bound for _, bound in looks):
        return ""
    asked = [] if claimed is None or not isfinite(claimed) else [claimed]
    top = 1.15 * max([bound for _, bound in looks] + asked)
    first, last = log10(looks[0][0]), log10(looks[-1][0])

    def place(views: int, epsilon: float) -> tuple[float, float]:
        along = (log10(views) - first) / (last - first)
        return _PLOT_LEFT + (_RIGHT - _PLOT_LEFT) * along, _PLOT_BOTTOM - (_PLOT_BOTTOM - _PLOT_TOP) * epsilon / top

    places = [place(*look) for look in looks]
    rows = [(1 - part / 4, f"{top * part / 4:.3g}") for part in range(5)]
    numbers = [(_PLOT_LEFT, f"{looks[0][0]:,}", "middle"), (_RIGHT, f"{looks[-1][0]:,}", "end")]
    marks = [*_axes(rows, numbers, "views drawn", "epsilon"), f'<path class="tightening" d="{_path(places)}"/>']
    marks += [f'<circle class="measured" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places]
    for epsilon in asked:
        _, y = place(looks[0][0], epsilon)
        marks.append(f'<path class="claim" d="M {_PLOT_LEFT} {y:.1f} H {_RIGHT}"/>')
        marks.append(_text(_PLOT_LEFT + 4, y - 5, f"claimed {epsilon:.6g}", "dark", "start"))
    line = ", and the claim as a line" if asked else ""
    shown = f"What the samples showed as views were drawn: epsilon is at least what is drawn, at {len(looks)} looks{line}."
    return _figure(200, name, marks, f"{shown} {said}")


def _axes(rows: Sequence[tuple[float, str]], numbers: Sequence[tuple[float, str, str]], along: str, up: str) -> list[str]:
    """A grid line and its label at each share of the height, from the top; numbers below, with their anchors; both axes' names."""
    marks = [f'<path class="axis" d="M {_PLOT_LEFT} {_PLOT_TOP} V {_PLOT_BOTTOM} H {_RIGHT}"/>']
    for down, label in rows:
        y = _PLOT_TOP + (_PLOT_BOTTOM - _PLOT_TOP) * down
        marks.append(f'<path class="grid" d="M {_PLOT_LEFT} {y:.1f} H {_RIGHT}"/>')
        marks.append(_text(_PLOT_LEFT - 6, y + 4, label, "quiet", "end"))
    marks += [_text(x, _PLOT_BOTTOM + 16, number, "quiet", anchor) for x, number, anchor in numbers]
    marks.append(_text((_PLOT_LEFT + _RIGHT) / 2, _PLOT_BOTTOM + 33, along, "quiet", "middle"))
    marks.append(_text(4, 10, up, "quiet", "start"))
    return marks


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _label(x: float, y: float, text: str, kind: str) -> str:
    return _text(x, y, text, kind, "start" if x < WIDTH / 3 else "end" if x > 2 * WIDTH / 3 else "middle")


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _figure(height: int, title: str, marks: Sequence[str], caption: str, top: int = 0) -> str:
    size, label = f"0 {top} {WIDTH} {height - top}", html.escape(visible(title))
    alone = re.sub(r'class="(\w+)"', lambda kind: f"{_ALONE[kind[1]]} {kind[0]}", "".join(marks))
    drawn = f'<svg viewBox="{size}" font-family="sans-serif" font-size="11" role="img" aria-label="{label}">{alone}</svg>'
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>"
