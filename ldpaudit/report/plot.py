"""A privacy profile as a picture; needs matplotlib (extra 'plot')."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.profile import PrivacyProfile
from ldpaudit.report.files import write_whole

POINTS = 120
SMALLEST = 1e-12
"""The smallest delta of the picture, where the claim names none that is smaller."""


def draw(
    profile: PrivacyProfile,
    path: Path,
    *,
    title: str,
    mark: tuple[float, float] | None = None,
    advance: Callable[[], object] = lambda: None,
) -> None:
    """Draw delta over epsilon with its enclosure, and the point (epsilon, delta) asked about.

    Parameters
    ----------
    profile : PrivacyProfile
        Asked at `POINTS` values of epsilon.
    path : Path
        PNG, SVG or PDF; written whole.
    title : str
        Of the picture.
    mark : pair of float or None
        A point to mark.
    advance : callable
        Called after each point.

    Raises
    ------
    LdpauditError
        Where matplotlib is missing.
    DeploymentError
        Where the path has another ending or cannot be written.
    """
    figure = new_figure(path, 7, 4.2)
    smallest = min(SMALLEST, mark[1] / 100) if mark and mark[1] > 0 else SMALLEST
    widest = profile.epsilon(smallest).high
    widest = widest if math.isfinite(widest) and widest > 0 else 1.0
    widest = max(widest, mark[0]) if mark and math.isfinite(mark[0]) else widest
    grid, deltas = [1.05 * widest * i / (POINTS - 1) for i in range(POINTS)], []
    for e in grid:
        deltas.append(profile.delta(e))
        advance()
    axes = figure.add_subplot()
    floor = smallest / 10
    low, high = ([max(d, floor) for d in side] for side in ([d.low for d in deltas], [d.high for d in deltas]))
    axes.fill_between(grid, low, high, color="#1d5fa8", alpha=0.25, linewidth=0, label="enclosure")
    axes.plot(grid, high, color="#1d5fa8", linewidth=1.6, label="delta at most", gid="delta-at-most")
    if mark is not None and math.isfinite(mark[0]):
        axes.plot([mark[0]], [max(mark[1], floor)], "o", color="#b3261e", label=f"({mark[0]:.4g}, {mark[1]:.3g})")
    axes.set(xlabel="epsilon (nats)", ylabel="delta", yscale="log", ylim=(floor, 2), xlim=(0, grid[-1]))
    axes.set_title(title if len(title) < 80 else title[:77] + "...", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
    save(figure, path)


def new_figure(path: Path, width: float, height: float) -> Any:
    """An empty picture, in inches, that can be saved there.

    Raises
    ------
    LdpauditError
        Where matplotlib is missing.
    DeploymentError
        Where the path has another ending.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise DeploymentError(f"needs an ending among .png, .svg and .pdf, got {path.suffix!r}", str(path))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LdpauditError("a plot needs matplotlib: install ldpaudit[plot]") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write a picture whole, the same one at any time."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    write_whole(path, buffer.getvalue())
