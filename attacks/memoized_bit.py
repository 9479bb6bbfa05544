"""The attack on a memoized bit of a stream: one value throughout against values that never repeat, or any two short streams."""

from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.memoized_bit import MemoizedBit, Stream
from ldpaudit.neighbours import USER_LEVEL, Neighbours

FEW = 2  # epochs up to which all transcripts are tried; of more, those of equal reports


def attack(m: MemoizedBit, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """Of the inputs, those two of which some transcript tells most; the score is the log-likelihood ratio."""
    some = product((0, 1), repeat=m.epochs) if m.epochs <= FEW else ((bit,) * m.epochs for bit in (0, 1))
    transcripts = np.array(list(some))
    logs = {x: _log_likelihood(m, x, transcripts) for x in m.inputs}
    first, second = max(permutations(m.inputs, 2), key=lambda pair: float((logs[pair[0]] - logs[pair[1]]).max()))

    def score(views: Views) -> NDArray[np.float64]:
        shown = np.asarray(views)
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.round(_log_likelihood(m, first, shown) - _log_likelihood(m, second, shown), 9)

    return Attack((first, second), score, "{the transcript that tells most between these streams}")


def _log_likelihood(m: MemoizedBit, x: Stream, views: NDArray[np.uint8]) -> NDArray[np.float64]:
    held = np.array(x)
    return np.asarray(sum(_of_value(m, value, views[:, held == value]) for value in dict.fromkeys(x)), dtype=np.float64)


def _of_value(m: MemoizedBit, value: int, reports: NDArray[np.uint8]) -> NDArray[np.float64]:
    """What the reports of one value say, by how many are 1; in logarithms, since many reports are improbable."""
    ones, times = np.arange(reports.shape[1] + 1), reports.shape[1]
    p, q, kept = float(m.p), float(m.q), float(m.kept(value))
    with np.errstate(divide="ignore"):
        right = np.log(kept) + ones * np.log(q) + (times - ones) * np.log1p(-q)
        wrong = np.log1p(-kept) + ones * np.log(p) + (times - ones) * np.log1p(-p)
    return np.asarray(np.logaddexp(right, wrong)[reports.sum(axis=1)], dtype=np.float64)
