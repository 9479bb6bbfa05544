"""The game on k inputs: guess which of them made a view, and choose the inputs at which guesses are worth counting."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.bounds.binomial import epsilon_lower
from ldpaudit.attacks.games.two_inputs import BEYOND, Aim, Choice, fits
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views

LARGEST_LAW = 1 << 16
"""Probabilities in all laws together, up to which the best guesses are found by looking at each: under a second."""
Table = NDArray[np.int64]  # how often each input was guessed, rightly and wrongly; shape ``(k, 2)``. Tables add


@dataclass(frozen=True, slots=True)
class Many:
    """The game on k inputs: any two of them are neighbours, and a guess names the one that made a view."""

    inputs: tuple[Any, ...]  # at least two
    guess: Callable[[Views], NDArray[np.int64]]  # views to positions in `inputs`, shape ``(size,)``; -1 abstains
    # for each input the declared probability that a guess at it is right, inputs being equally likely
    shares: Sequence[float]
    event: str  # the guess, in words


@dataclass(frozen=True, slots=True)
class SubsetRule:
    """Guess these inputs, named by their positions, and abstain where another would be guessed."""

    at: tuple[int, ...]

    @property
    def directions(self) -> int:
        """How many of the inputs are ever guessed."""
        return len(self.at)

    @property
    def certain(self) -> bool:
        """Whether a guess is certain under the declared law; never claimed of more than two inputs."""
        return False

    def count(self, table: Table) -> tuple[int, int]:
        """Right and wrong guesses."""
        right, wrong = table[list(self.at)].sum(axis=0)
        return int(right), int(wrong)


def tabulate(guesses: NDArray[np.int64], position: int, inputs: int) -> Table:
    """The table of guesses at views that all come from one input."""
    counts = np.bincount(guesses[(guesses >= 0) & (guesses < inputs)], minlength=inputs)
    table = np.zeros((inputs, 2), dtype=np.int64)
    table[:, 1] = counts
    table[position] = counts[position], 0
    return table


def choose_subset(many: Many, table: Table, views: int, aim: Aim) -> Choice:
    """The inputs at which guesses promise the best bound from fresh views; see `two_inputs.choose_thresholds`.

    All inputs where the table fits the declared shares; else those that are guessed best, as many of them as give the best
    bound on these views.
    """
    inputs, right, wrong = len(table), table[:, 0], table[:, 1]
    guesses, seen = right + wrong, max(views, 1)
    expected = np.asarray(many.shares) * guesses
    if fits(right, wrong, expected):
        hits, total, scale = float(expected.sum()), int(guesses.sum()), aim.horizon / seen
        promise = float(epsilon_lower(hits * scale, (total - hits) * scale, aim.horizon, aim.delta, aim.alpha, inputs))
        declared = special.logit(np.mean(many.shares)) + np.log(inputs - 1)
        believed = aim.claimed is None or bool(declared > aim.claimed * BEYOND)
        return Choice(SubsetRule(tuple(range(inputs))), promise, hits / seen, (total - hits) / seen, believed)
    alone = epsilon_lower(right, wrong, seen, aim.delta / inputs, aim.alpha, inputs)
    order = np.lexsort((-right, -alone))
    rights, wrongs, guessed = np.cumsum(right[order]), np.cumsum(wrong[order]), np.arange(1, inputs + 1)
    bounds = epsilon_lower(rights, wrongs, seen, aim.delta * guessed / inputs, aim.alpha, inputs)
    best = int(np.argmax(bounds))
    at = tuple(sorted(order[: best + 1].tolist()))
    return Choice(SubsetRule(at), float(bounds[best]), float(rights[best] / seen), float(wrongs[best] / seen), False)


def few_of(inputs: Iterable[Any], most: int) -> list[Any]:
    """All inputs; none where there are more than `most`: a domain may have more than `len` can say."""
    found = list(islice(inputs, most + 1))
    return found if len(found) <= most else []


def of_law(m: Mechanism) -> Many | None:
    """Guess the likeliest input of each view; None where the views of the law are not 0, 1, 2, ..., or are too many."""
    inputs = tuple(few_of(m.inputs, LARGEST_LAW))
    try:
        laws = [m.law(inputs[0])] if len(inputs) > 2 else []
        if not laws or laws[0].size * len(inputs) > LARGEST_LAW or set(laws[0].views()) != set(range(laws[0].size)):
            return None
        laws += [m.law(x) for x in inputs[1:]]
    except (Unsupported, TypeError):
        return None
    table = np.array([[float(law.probability(y)) for y in range(law.size)] for law in laws])
    best = np.argmax(table, axis=0)
    hits = np.bincount(best, weights=table.max(axis=0), minlength=len(inputs))
    total = np.bincount(best, weights=table.sum(axis=0), minlength=len(inputs))

    def guess(views: Views) -> NDArray[np.int64]:
        views = np.asarray(views)
        known = (views >= 0) & (views < len(best))
        return np.where(known, best[np.where(known, views, 0).astype(np.int64)], -1)

    event = f"the most likely of {len(inputs)} inputs"
    return Many(inputs, guess, np.divide(hits, total, out=np.zeros_like(hits), where=total > 0).tolist(), event)
