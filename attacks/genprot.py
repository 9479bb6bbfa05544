"""The attack on GenProt."""

from collections.abc import Callable
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.genprot import GenProt, GenProtBit
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_MOST_RATIOS = 1 << 20
"""Answers of two inputs, over all pairs of inputs and draws, that are compared in floats: under a second."""
Answers: TypeAlias = NDArray[np.float64]  # probabilities that draws are accepted
Chance: TypeAlias = Callable[[Answers, Views], Answers]
"""Of rows of draws, their probabilities to be accepted, and what is shown beside them, to its probabilities."""


def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two inputs that a draw tells apart best, beside equal ones or with its answer; by the likelihood ratio."""
    match m:
        case GenProt():
            pair = _apart(m, lambda p, q: _beside_equals(p, q, m.slots))
            return Attack(pair, _score(m, pair, _chosen), "a draw that one input accepts more, beside draws that it refuses")
        case GenProtBit():
            pair = _apart(m, lambda p, q: max(np.log(p / q).max(), np.log((1 - p) / (1 - q)).max()))
            answered = _score(m, pair, lambda said, bit: np.where(bit == 1, said[:, 0], 1 - said[:, 0]))
            return Attack(pair, answered, "the answer to a draw that one input accepts more")
    raise Unsupported(m, "it is not a form of GenProt")


def _apart(m: GenProt | GenProtBit, loss: Callable[[Answers, Answers], float]) -> tuple[Any, Any]:
    answers = _answers(m)
    inputs = list(answers)
    if len(inputs) ** 2 * len(m.table.outputs) > _MOST_RATIOS:
        raise Unsupported(m, f"its answers are compared on pairs of inputs and draws, at most {_MOST_RATIOS}")
    found: tuple[Any, Any] = max(permutations(inputs, 2), key=lambda pair: loss(answers[pair[0]], answers[pair[1]]))
    return found


def _answers(m: GenProt | GenProtBit) -> dict[Any, Answers]:
    return {x: np.array(list(map(float, chances))) for x, chances in m.table.accepted.items()}


def _beside_equals(p: Answers, q: Answers, slots: int) -> float:
    """The largest loss of a position whose own draw is one and whose others are all another one."""
    chances = []
    for own in (p, q):
        shared = (1 - (1 - own) ** slots) / (slots * own)  # E[1/(1 + S)], S of the other draws accepted
        chances.append(own[:, None] * shared + (1 - own[:, None]) * (1 - own) ** (slots - 1) / slots)
    return float(np.log(chances[0] / chances[1]).max())


def _score(m: GenProt | GenProtBit, pair: tuple[Any, Any], chance: Chance) -> Callable[[Views], NDArray[np.float64]]:
    answers = _answers(m)

    def score(views: Views) -> NDArray[np.float64]:
        views = np.asarray(views)
        there, back = (chance(answers[x][views[:, :-1]], views[:, -1]) for x in pair)
        # Views that differ in the order of their draws have the same loss, which sums in another order do not.
        return np.asarray(np.round(np.log(there / back), 9), dtype=np.float64)

    return score


def _chosen(said: Answers, position: NDArray[np.int64]) -> Answers:
    """Probability of each view's position, given its draws: E[1/(1+S)] is the integral of E[z**S], by Gauss and Legendre exact."""
    slots = said.shape[1]
    here = np.arange(slots) == position[:, None]
    own, others = said[here], np.where(here, 0.0, said)  # the chosen one's factor is 1
    shared = np.zeros(len(said))
    for node, weight in zip(*np.polynomial.legendre.leggauss(slots // 2 + 1), strict=True):
        shared += weight / 2 * np.prod(1 - others * (1 - node) / 2, axis=1)
    return np.asarray(own * shared + (1 - own) * np.prod(1 - others, axis=1) / slots)
