"""Weights of cells: from how often either of two inputs showed each cell, log-likelihood ratios that few views suffice for."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.mechanisms.shared.linear_codes.hadamard import transform

_SMOOTHING = 0.5  # added to each count, as by Jeffreys' prior: the log-ratio of an empty cell is finite
DOUBT = 2.0
"""Standard errors by which a log-ratio is shrunk toward 0: with one, luck in many cells outweighs what a few cells show."""
LUCK = 0.6
"""A cell that a fair coin makes as lopsided with this probability says nothing: two sightings of two say something."""
_NEWTON = 25  # Newton steps for the heights, at most
_NEAR = 1e-6  # precision of the heights, in nats
_SLOPED = 1e300  # numbers beyond it have no slope between them: their difference may overflow
_RIDGE = 1e-3  # weight of a ridge penalty: it keeps a height finite where no view of one input lies beyond the slope
_STEPS = 30  # steps of expectation and maximization
_MAGNITUDES = 8  # magnitudes of ratios beside 0, at most: most mechanisms show one or two
_MOST = 1 << 13  # different pairs of counts, at most: the table of their likelihoods then takes 7 MB
_LEAST = -600.0  # logarithm of the smallest likelihood, relative to the largest: its exponential is still above 0
_POSITIVE = np.geomspace(0.02, 9.0, 50)  # magnitudes of the prior's log-ratios, in nats, 13 % apart
_RATIOS = np.concatenate([-_POSITIVE[::-1], [0.0], _POSITIVE])
_BIASES = np.tanh(np.geomspace(0.05, 9.0, 20) / 2)
"""Biases of a parity that are tried: those of randomized bits with epsilon from 0.05 to 9."""

Floats = NDArray[np.float64]


def log_ratio(first: Floats, second: Floats) -> Floats:
    """Smoothed log-ratio of the frequencies of cells, shrunk toward 0 by two standard errors; of each row of cells."""
    first, second = first + _SMOOTHING, second + _SMOOTHING
    ratio = np.log(first / first.sum(axis=-1, keepdims=True)) - np.log(second / second.sum(axis=-1, keepdims=True))
    error = np.sqrt(1 / first + 1 / second)
    return np.asarray(np.sign(ratio) * np.maximum(np.abs(ratio) - DOUBT * error, 0.0))


def monotone_ratio(first: Floats, second: Floats) -> Floats:
    """`log_ratio` of cells in order, pooled until it only rises or only falls; a plateau becomes one block.

    Source: Ayer, Brunk, Ewing, Reid, Silverman 1955, pooling adjacent violators.
    """
    shares = first / np.maximum(first + second, 1)
    falls = bool(np.dot(shares - shares.mean(), np.arange(len(shares))) < 0)
    blocks: list[tuple[float, float, int]] = []
    for a, b in zip(*(part[::-1].tolist() if falls else part.tolist() for part in (first, second)), strict=True):
        block = (a, b, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            block = (blocks[-1][0] + block[0], blocks[-1][1] + block[1], blocks[-1][2] + block[2])
            blocks.pop()
        blocks.append(block)
    table = np.array(blocks)
    drawn = log_ratio(table[:, 0], table[:, 1])
    # Small blocks are shrunk the most, and blocks beyond them at least as much.
    drawn = np.where(drawn < 0, np.maximum.accumulate(drawn), np.minimum.accumulate(drawn[::-1])[::-1])
    pooled = np.repeat(drawn, table[:, 2].astype(np.int64))
    return pooled[::-1] if falls else pooled


def divergences(counts: Floats) -> Floats:
    """Jeffreys divergence of every two inputs, shape ``(inputs, inputs)``."""
    shares = (counts + _SMOOTHING) / (counts + _SMOOTHING).sum(axis=1, keepdims=True)
    cross = shares @ np.log(shares).T
    own = np.diag(cross)
    return np.asarray(own[:, None] + own[None, :] - cross - cross.T)


def divergence(first: Floats, second: Floats) -> Floats:
    """Jeffreys divergence of two inputs, of each row of cells."""
    smooth = (counts + _SMOOTHING for counts in (first, second))
    p, q = (counts / counts.sum(axis=-1, keepdims=True) for counts in smooth)
    return np.asarray(((p - q) * (np.log(p) - np.log(q))).sum(axis=-1))


def clear_ratio(first: Floats, second: Floats) -> Floats:
    """Log-ratio of how often each input showed each cell, half a sighting added to both; 0 where a coin would often do as well."""
    many, few = np.maximum(first, second), np.minimum(first, second)
    luck = 2 * special.betainc(np.maximum(many, 1), few + 1, 0.5)  # both ways
    return np.where(luck < LUCK, np.log(first + 0.5) - np.log(second + 0.5), 0.0)


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
    slopes = _slopes(cells.astype(np.float64)) if np.abs(cells).max(initial=0.0) < _SLOPED else np.empty((0, 0))
    if not len(slopes):
        return np.zeros(len(first))
    both = first + second
    heights, squares = np.zeros(len(slopes)), slopes**2
    for _ in range(_NEWTON):
        share = special.expit(heights[:, None] * slopes)
        expected = both * share
        gradient = ((first - expected) * slopes).sum(axis=1) - _RIDGE * heights
        curvature = (expected * (1 - share) * squares).sum(axis=1) + _RIDGE
        step = np.clip(gradient / curvature, -2.0, 2.0)
        heights += step
        if np.abs(step).max() < _NEAR:
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


def shared_ratios(firsts: Sequence[Floats], seconds: Sequence[Floats]) -> list[Floats]:
    r"""Log-ratios of the frequencies of cells, by the prior law that these ratios have among all cells.

    A mechanism shows few different ratios, often three: :math:`\varepsilon`, 0, :math:`-\varepsilon`. The prior is a
    symmetric law on a grid. It begins at 0 alone and grows by one magnitude at a time, each the one that makes the counts
    of all cells likeliest, as long as it gains more than two parameters would gain by luck. A cell's estimate is the
    posterior log-odds of the next view in it: where most cells are noise, a cell is shrunk to 0 unless noise would hardly
    produce its counts, and then it is hardly shrunk at all.

    ``firsts``, ``seconds``: for each of several partitions: how often each of two inputs showed each cell. Returns in
    nats. Source: Robbins 1956 and Kiefer, Wolfowitz 1956 for the law; Schwarz 1978 for its size; Dempster, Laird,
    Rubin 1977 for its weights.
    """
    sizes = [len(first) for first in firsts]
    starts, both = np.cumsum([0, *sizes[:-1]]), (np.concatenate(firsts), np.concatenate(seconds))
    of_first, of_second = (np.log(np.maximum(np.add.reduceat(counts, starts), 1.0)) for counts in both)
    totals, which = np.unique(of_first - of_second, return_inverse=True)
    # Rows of three numbers as one integer each: sorted so, they take a third of the time.
    shape = (int(both[0].max()) + 1, int(both[1].max()) + 1, len(totals))
    keys = np.ravel_multi_index((*(counts.astype(np.int64) for counts in both), np.repeat(which, sizes)), shape)
    told, place, often = np.unique(keys, return_inverse=True, return_counts=True)
    first, second, total = np.unravel_index(told, shape)
    cells = np.stack([first, second, totals[total]], axis=1)
    if len(cells) > _MOST:
        return [np.zeros(size) for size in sizes]
    return np.split(_posterior(cells.tobytes(), often.tobytes())[place.ravel()], np.cumsum(sizes)[:-1])


@lru_cache(1 << 6)
def _posterior(table: bytes, counted: bytes) -> Floats:
    """The estimate of each kind of cells: of its counts and the log-ratio of all, in floats, and of how many cells are such.

    Several partitions of the same reports have the same kinds of cells, in another order.
    """
    cells, often = np.frombuffer(table).reshape(-1, 3), np.frombuffer(counted, dtype=np.int64)
    odds = _RATIOS + cells[:, 2:]
    likelihood = cells[:, :1] * special.log_expit(odds) + cells[:, 1:2] * special.log_expit(-odds)
    likelihood = np.exp(np.maximum(likelihood - likelihood.max(axis=1, keepdims=True), _LEAST))
    share = likelihood * _law(likelihood, often / often.sum(), math.log(often.sum()) / often.sum())
    return np.asarray(np.log(share @ special.expit(_RATIOS)) - np.log(share @ special.expit(-_RATIOS)))


def _law(likelihood: Floats, often: Floats, luck: float) -> Floats:
    """Weights of the ratios, from the likelihood of each cell by each; `luck` is what two parameters gain per cell."""
    middle = len(_POSITIVE)
    either = (likelihood[:, middle + 1 :] + likelihood[:, middle - 1 :: -1]) / 2
    columns = np.concatenate([likelihood[:, [middle]], either], axis=1)
    chosen, weights = [0], np.ones(1)
    while len(chosen) <= _MAGNITUDES:
        added, gained = _one_more(columns[:, chosen] @ weights, either, often)
        best = int(np.argmax(gained))
        if gained[best] <= luck:
            break
        chosen.append(best + 1)
        weights = _weights(columns[:, chosen], np.append(weights * (1 - added[best]), added[best]), often)
    law = np.zeros(middle + 1)
    np.add.at(law, chosen, weights)
    return np.concatenate([law[:0:-1] / 2, law[:1], law[1:] / 2])


def _one_more(before: Floats, either: Floats, often: Floats) -> tuple[Floats, Floats]:
    """The likeliest weight of each magnitude if it alone is added, and the log-likelihood that it gains per cell."""
    more = either / before[:, None] - 1
    weights, whole = np.full(either.shape[1], 0.5), 1 + more
    for _ in range(_STEPS):
        weights = weights * (often @ (whole / (1 + weights * more)))
    return weights, often @ np.log1p(weights * more)


def _weights(columns: Floats, weights: Floats, often: Floats) -> Floats:
    """The likeliest weights, from nearly likeliest ones."""
    for _ in range(_STEPS):
        share = columns * weights
        weights = often @ (share / share.sum(axis=1, keepdims=True))
    return weights


def parity_ratio(first: Floats, second: Floats, sides: int) -> Floats:
    r"""Log-ratio of the frequencies of bit patterns, where each input biases one parity of the bits.

    For each side of a coin an input makes the sum of one set of bits even, or odd, more often than not, and leaves the rest
    fair, as a noisy coefficient of a Hadamard transform does. The bias is the likeliest one. The set is not chosen: the
    law is the mean over all sets, weighted by their likelihood.

    ``first``, ``second``: how often each input showed each pattern; shape ``(sides * 2**bits + 1,)``, the last for
    what is none; ``sides``: of the coin; 1 where there is none. Returns in nats; 0 for what is no pattern.
    """
    both = np.concatenate([counts[:-1].reshape(sides, -1) for counts in (first, second)])
    shown = both.sum(axis=1, keepdims=True)
    # For each set of bits, the views with an even sum less those with an odd one; and the reverse.
    surplus = transform(both)[:, 1:]
    surplus = np.concatenate([surplus, -surplus], axis=1)

    def fit(bias: float) -> Floats:
        likelihood = shown / 2 * np.log1p(-bias * bias) + surplus * np.arctanh(bias)
        return np.concatenate([np.zeros((len(both), 1)), likelihood], axis=1)  # the first for no set at all

    def fits(bias: float) -> float:
        """Logarithm of the likelihood of all counts; scipy's logsumexp takes several times as long."""
        likelihood = fit(bias)
        most = likelihood.max(axis=1)
        return float((most + np.log(np.exp(likelihood - most[:, None]).sum(axis=1))).sum())

    bias = max(_BIASES.tolist(), key=fits)
    even, odd = np.split(special.softmax(fit(bias), axis=1)[:, 1:], 2, axis=1)
    means = np.concatenate([np.ones((len(both), 1)), bias * (even - odd)], axis=1)
    laws = np.log(transform(means))
    return np.concatenate([(laws[:sides] - laws[sides:]).ravel(), [0.0]])
