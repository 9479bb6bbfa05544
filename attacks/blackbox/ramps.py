"""A log-likelihood ratio that is flat, then straight, then flat, averaged over all places of the two ends of the slope."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

STEPS = 25
"""Newton steps for the heights, at most."""
NEAR = 1e-6
"""Precision of the heights, in nats."""
LARGEST = 1e300
"""Numbers beyond it have no slope between them: their difference may overflow."""
_RIDGE = 1e-3
"""Weight of a ridge penalty: it keeps a height finite where no view of one input lies beyond the slope."""

Floats = NDArray[np.float64]


def ramp_ratio(first: Floats, second: Floats, cells: NDArray[Any]) -> Floats:
    r"""Log-ratio of the frequencies of bins in order, as a ramp between two plateaus as high as each other.

    The ratio falls from :math:`h` to :math:`-h` between two ends :math:`u < v` and is flat beyond them, as under Laplace
    noise, where no view shows more than epsilon. Each pair of ends gets the height that fits best, and its likelihood as a
    weight. The mean over all pairs is flat where the sample cannot show where the slope begins, and a few lucky views make
    no peak.

    ``first``, ``second``: how often each input showed each bin; shape ``(len(cells) + 1,)``; ``cells``: the lower
    ends of the bins but the first, rising. Returns in nats; all 0 where there are fewer than two ends. Source:
    Hoeting, Madigan, Raftery, Volinsky 1999 for the mean.
    """
    slopes = _slopes(cells.astype(np.float64)) if np.abs(cells).max(initial=0.0) < LARGEST else np.empty((0, 0))
    if not len(slopes):
        return np.zeros(len(first))
    both = first + second
    heights = np.zeros(len(slopes))
    for _ in range(STEPS):
        share = special.expit(heights[:, None] * slopes)
        gradient = ((first - both * share) * slopes).sum(axis=1) - _RIDGE * heights
        curvature = (both * share * (1 - share) * slopes**2).sum(axis=1) + _RIDGE
        step = np.clip(gradient / curvature, -2.0, 2.0)
        heights += step
        if np.abs(step).max() < NEAR:
            break
    ratios = heights[:, None] * slopes
    fit = (first * special.log_expit(ratios) + second * special.log_expit(-ratios)).sum(axis=1)
    return np.asarray(special.softmax(fit) @ ratios)


def _slopes(cells: Floats) -> Floats:
    """For each pair of ends, the ramp from -1 to 1, averaged over each bin."""
    i, j = np.triu_indices(len(cells), 1)
    apart = cells[i] < cells[j]  # false where two large integers are the same float
    low, high = cells[i[apart], None], cells[j[apart], None]
    with np.errstate(over="ignore"):
        at = 2 * np.clip((cells - low) / (high - low), 0.0, 1.0) - 1
    return np.concatenate([at[:, :1], (at[:, 1:] + at[:, :-1]) / 2, at[:, -1:]], axis=1)
