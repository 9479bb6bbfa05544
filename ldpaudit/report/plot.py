"""A privacy profile as a picture; needs matplotlib (extra 'plot')."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ldpaudit.display.axes import draw as draw_on, new_figure as empty_figure, require_matplotlib
from ldpaudit.errors import DeploymentError
from ldpaudit.files.whole import write_whole
from ldpaudit.profile import PrivacyProfile

_MANY_TIMES = 10  # ratio of the ends of a range beyond which its axis is logarithmic


def draw(
    profile: PrivacyProfile,
    path: Path,
    *,
    title: str,
    mark: tuple[float, float] | None = None,
    advance: Callable[[], object] = lambda: None,
) -> None:
    """Draw delta over epsilon with its enclosure, and the point (epsilon, delta) asked about.

    ``profile``: asked at 120 values of epsilon; ``path``: PNG, SVG or PDF; written whole; ``title``: of the picture;
    ``mark``: a point to mark; ``advance``: called after each point. Raises LdpauditError where matplotlib is missing;
    DeploymentError where the path has another ending or cannot be written.
    """
    figure = new_figure(path, 7, 4.2)
    axes = figure.add_subplot()
    draw_on(profile, axes, mark, advance=advance)
    axes.set_title(title if len(title) < 80 else title[:77] + "...", fontsize=10)
    save(figure, path)


def draw_curves(curves: Sequence[tuple[str, Sequence[tuple[float, float, float]]]], path: Path, *, title: str, across: str) -> None:
    """Draw both ends of epsilon over a parameter.

    ``curves``: a name and places with both ends, those that are infinite left out; ``path``, ``title``: as of `draw`;
    ``across``: what the places are. Raises as `draw` does.
    """
    figure = new_figure(path, 9, 4.8)
    axes = figure.add_subplot()
    for name, points in curves:
        x, low, high = zip(*points, strict=True)
        is_enclosed = low != high
        (line,) = axes.plot(x, high, "-" if is_enclosed else ":", marker=".", linewidth=2 if is_enclosed else 1, label=name)
        if is_enclosed:
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
    places = [x for _, points in curves for x, *_ in points]
    axes.set(xlabel=across, ylabel="epsilon (nats)", title=title)
    if max(places) > _MANY_TIMES * min(places) > 0:
        axes.set_xscale("log")
    if (ends := [high for _, points in curves for *_, high in points if high > 0]) and max(ends) > _MANY_TIMES * min(ends):
        axes.set_yscale("log")
    axes.grid(alpha=0.25)
    figure.legend(frameon=False, fontsize=8, loc="outside right upper")
    save(figure, path)


def new_figure(path: Path, width: float, height: float) -> Any:
    """An empty picture, in inches, that can be saved there.

    Raises LdpauditError where matplotlib is missing; DeploymentError where the path has another ending.
    """
    require(path)
    return empty_figure(width, height)


def require(path: Path) -> None:
    """Say so where no picture can be saved there, before anything is computed for it.

    Raises LdpauditError where matplotlib is missing; DeploymentError where the path has another ending.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise DeploymentError(f"needs an ending among .png, .svg and .pdf, got {path.suffix!r}", str(path))
    require_matplotlib()


def save(figure: Any, path: Path) -> None:
    """Write a picture whole, the same one at any time."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    write_whole(path, buffer.getvalue())
