"""A privacy profile as a picture; needs matplotlib (extra 'plot')."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ldpaudit.display.axes import draw as draw_on
from ldpaudit.display.axes import new_figure as empty_figure
from ldpaudit.display.axes import require_matplotlib
from ldpaudit.errors import DeploymentError
from ldpaudit.files.whole import write_whole
from ldpaudit.profile import PrivacyProfile


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
