"""A privacy profile on axes of matplotlib (extra 'plot'), which is imported when it is asked for."""

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from ldpaudit.errors import LdpauditError

POINTS = 120
Curve: TypeAlias = Any  # a privacy profile: delta as a function of epsilon and back, in enclosures
SMALLEST = 1e-12  # the smallest delta of the picture, where the claim names none that is smaller


def require_matplotlib() -> None:
    """Say so where pictures cannot be drawn, before anything is computed for one.

    Raises LdpauditError where matplotlib is missing.
    """
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise LdpauditError("a plot needs matplotlib: pip install matplotlib (the extra 'plot' of ldpaudit)") from None


def new_figure(width: float, height: float) -> Any:
    """An empty picture, in inches. Raises LdpauditError where matplotlib is missing."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def widest(curve: Curve, smallest: float, claimed: float | None = None) -> float:
    """The largest epsilon of a picture: where delta is the smallest that is shown, or the claim where that is beyond."""
    end = curve.epsilon(smallest).high
    end = end if math.isfinite(end) and end > 0 else 1.0
    return max(end, claimed) if claimed is not None and math.isfinite(claimed) else end


def draw(
    curve: Curve,
    axes: Any,
    claim: tuple[float, float] | None = None,
    points: int = POINTS,
    advance: Callable[[], object] = lambda: None,
) -> None:
    """Delta over epsilon: its upper end as a line, the enclosure as a band, and the claim as a mark.

    ``curve``: asked at this many values of epsilon; ``axes``: drawn on; ``claim``: a point to mark; ``points``: at
    least 2; ``advance``: called after each point.
    """
    smallest = min(SMALLEST, claim[1] / 100) if claim and claim[1] > 0 else SMALLEST
    last = 1.05 * widest(curve, smallest, claim[0] if claim else None)
    grid, deltas = [last * i / (points - 1) for i in range(points)], []
    for epsilon in grid:
        deltas.append(curve.delta(epsilon))
        advance()
    floor = smallest / 10
    low, high = ([max(d, floor) for d in side] for side in ([d.low for d in deltas], [d.high for d in deltas]))
    axes.fill_between(grid, low, high, color="#1d5fa8", alpha=0.25, linewidth=0, label="enclosure")
    axes.plot(grid, high, color="#1d5fa8", linewidth=1.6, label="delta at most", gid="delta-at-most")
    if claim is not None and math.isfinite(claim[0]):
        axes.plot([claim[0]], [max(claim[1], floor)], "o", color="#b3261e", label=f"({claim[0]:.4g}, {claim[1]:.3g})")
    axes.set(xlabel="epsilon (nats)", ylabel="delta", yscale="log", ylim=(floor, 2), xlim=(0, grid[-1]))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)
