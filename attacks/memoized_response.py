"""The attack on responses that are kept value by value: by the values, or by whether reports repeat."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import log_probability, log_ratio
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.memoized_response import MemoizedDBitFlip, MemoizedResponse
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL, Neighbours


def attack(m: MemoizedResponse | MemoizedDBitFlip, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """Streams of one pattern by the values that they hold; any others by reports that differ, where two are kept."""
    if neighbours != SAME_PATTERN and m.values > 1:
        return Attack((m.ascending, (0,) * m.epochs), lambda views: _repeated(m, views), "{two reports differ}")
    event = "{the reports of every value}"
    # Where one value is kept, two streams that show nothing, unless a client goes on to keep a second one.
    second = (0, *(1,) * (m.epochs - 1))
    bait = Attack((second, (0,) * m.epochs), lambda views: _repeated(m, views), "{a second value is kept}")
    baits = () if m.values > 1 or m.epochs == 1 else (bait,)
    return Attack((m.ascending, m.rolled), lambda views: _told(m, m.reports(views)), event, baits=baits)


def _told(m: MemoizedResponse | MemoizedDBitFlip, reports: NDArray[np.integer]) -> NDArray[np.float64]:
    """Log-likelihood ratio of two streams of one pattern; a value that is shown in several epochs counts once."""
    held, total = np.array(m.ascending), np.zeros(len(reports))
    for value in range(m.values):
        total += _of_report(m, value, m.rolled[value], reports[:, held == value]).mean(axis=1)
    # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
    return np.round(total, 9)


def _of_report(m: MemoizedResponse | MemoizedDBitFlip, value: int, other: int, reports: NDArray[np.integer]) -> NDArray[np.float64]:
    """What a report tells between two values."""
    if isinstance(m, MemoizedResponse):
        named: NDArray[np.float64] = (reports == value).astype(np.float64) - (reports == other)
        return log_ratio(m.p, m.report.lie) * named
    signs = np.where(reports[..., [value, other]] < 0, 0, 2 * reports[..., [value, other]].astype(np.float64) - 1)
    return np.asarray(log_ratio(m.p, 1 - m.p) * (signs[..., 0] - signs[..., 1]), dtype=np.float64)


def _repeated(m: MemoizedResponse | MemoizedDBitFlip, views: Views) -> NDArray[np.float64]:
    """Log-likelihood ratio of the stream of the most values to the first of them throughout, which never shows what differs.

    Of equal reports it is the likelihood of the other values: that of the first one cancels.
    """
    reports = m.reports(views).reshape(len(views), m.epochs, -1)
    differ = (reports != reports[:, :1]).any(axis=(1, 2))
    return np.where(differ, np.inf, np.round(_of_others(m, reports[:, 0]), 9))


def _of_others(m: MemoizedResponse | MemoizedDBitFlip, report: NDArray[np.integer]) -> NDArray[np.float64]:
    """Logarithm of the probability that all values but the first have a report, apart from which buckets are drawn."""
    others = m.values - 1
    if isinstance(m, MemoizedResponse):
        named = ((report > 0) & (report <= others))[:, 0]
        return named * log_probability(m.p) + (others - named) * log_probability(m.report.lie)
    true, lie = log_probability(m.p), log_probability(1 - m.p)
    named = np.isin(np.arange(m.k), np.arange(1, m.values))
    by_bit = [named * of_own + (others - named) * of_other for of_own, of_other in ((lie, true), (true, lie))]
    return np.asarray(np.where(report < 0, 0.0, np.where(report > 0, by_bit[1], by_bit[0])).sum(axis=1), dtype=np.float64)
