"""The attack on HEAVYTHRESH by an adversary who plays the other users and the centre."""

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import BAIT, TIE, Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram, Shown
from ldpaudit.neighbours import USER_LEVEL, Neighbours


def attack(m: HeavyThresh, neighbours: Neighbours = USER_LEVEL) -> Attack:
    """Two streams that differ in as many votes and reports as the counters allow, and in a few more.

    The score is the log-likelihood ratio: of a vote that differs, and of a sign in a row that differs. Views of equal ratio are
    ordered by what a user without counters would publish.
    """
    first, second = m.inputs
    told = list(zip(m.transcript(first), m.transcript(second), strict=True))
    free = list(zip(m.uncounted(first), m.uncounted(second), strict=True))
    # Loss of a published yes in each epoch; that of a no is its opposite.
    loss = loss_of(m.vote_coin / (1 - m.vote_coin)) * (1 if m.a > 0 else -1)
    weights = np.array([loss * (one.vote - other.vote) for one, other in told])
    baits = [epoch for epoch, (one, other) in enumerate(free) if one.vote != other.vote and not weights[epoch]]
    for epoch in baits[:BAIT]:
        weights[epoch] = TIE if free[epoch][0].vote else -TIE
    reports = _report_weights(m, told, free)

    def score(views: Views) -> NDArray[np.float64]:
        seen = np.asarray(views).reshape(len(views), m.epochs, 3)
        found = (2.0 * seen[:, :, 0] - 1) @ weights
        for epoch, weight, one, other in reports:
            rows, signs = seen[:, epoch, 1], seen[:, epoch, 2]
            apart = m.public.signs(rows, one).astype(np.float64) - m.public.signs(rows, other)
            found += weight * np.where(rows >= 0, signs * apart / 2, 0)
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.asarray(np.round(found, 9), dtype=np.float64)

    return Attack((first, second), score, "{votes and signs are those of the first stream}")


def _report_weights(
    m: HeavyThresh, told: list[tuple[Shown, Shown]], free: list[tuple[Shown, Shown]]
) -> list[tuple[int, float, int, int]]:
    """Epochs in which the streams report different words: the loss of a sign that is only the first one's, and the words."""
    loss = loss_of(m.estimate_coin / (1 - m.estimate_coin))
    live = [(epoch, loss, *words) for epoch, pair in enumerate(told) if (words := _words(*pair))]
    spent = [
        (epoch, TIE, *words)
        for epoch, (pair, whole) in enumerate(zip(told, free, strict=True))
        if not _words(*pair) and (words := _words(*whole))
    ]
    return live + spent[:BAIT]


def _words(one: Shown, other: Shown) -> tuple[int, int] | None:
    """The words that two users report, if they are single and different."""
    held: list[Histogram | None] = [one.sent, other.sent]
    words = [each[0][0] for each in held if each is not None and len(each) == 1]
    return (words[0], words[1]) if len(words) == 2 and words[0] != words[1] else None
