"""The attack on HEAVYTHRESH by an adversary who plays the other users and the centre."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import BAIT, TIE, Attack
from ldpaudit.attacks.shared.odds import loss_of
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram, Shown
from ldpaudit.neighbours import USER_LEVEL, Neighbours

_Pair: TypeAlias = tuple[Shown, Shown]


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
    reports, theta = _reports(told, free), float(2 * m.estimate_coin - 1)

    def score(views: Views) -> NDArray[np.float64]:
        seen = np.asarray(views).reshape(len(views), m.epochs, 3)
        found = (2.0 * seen[:, :, 0] - 1) @ weights
        for epoch, live, held in reports:
            rows, signs = seen[:, epoch, 1], seen[:, epoch, 2]
            one, other = (signs * sum(n / m.rounds * m.public.signs(rows, word) for word, n in each) for each in held)
            told = np.log1p(theta * one) - np.log1p(theta * other) if live else TIE * (one - other) / 2
            found += np.where(rows >= 0, told, 0)
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.asarray(np.round(found, 9), dtype=np.float64)

    return Attack((first, second), score, "{votes and signs are those of the first stream}")


def _reports(told: list[_Pair], free: list[_Pair]) -> list[tuple[int, bool, tuple[Histogram, Histogram]]]:
    """Epochs in which the streams report different histograms, whether their counters let them, and the histograms."""
    live = [(epoch, True, held) for epoch, pair in enumerate(told) if (held := _held(*pair))]
    spent = [
        (epoch, False, held)
        for epoch, (pair, whole) in enumerate(zip(told, free, strict=True))
        if not _held(*pair) and (held := _held(*whole))
    ]
    return live + spent[:BAIT]


def _held(one: Shown, other: Shown) -> tuple[Histogram, Histogram] | None:
    """The histograms that two users report, if they are different."""
    return (one.sent, other.sent) if one.sent and other.sent and one.sent != other.sent else None
