"""A score that a classifier learns. scikit-learn (extra `ml`) is imported only when a classifier is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import Encoded, Group, Skeleton
from ldpaudit.attacks.blackbox.features import LEAVES
from ldpaudit.errors import Unsupported

LARGEST = 1e6
"""Numbers are clipped here: a classifier needs finite ones."""
LEAST = 50
"""Reports on each input that a classifier is trained on, at least."""


@dataclass(frozen=True, slots=True)
class ClassifierScore:
    """The log-odds that a classifier gives the first input; 0 for a report of another skeleton."""

    skeleton: Skeleton
    model: Any
    name: str = "the log-odds of a classifier"

    def __call__(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        """Scores of the reports, in their order."""
        scores = np.zeros(size)
        if group := encoded.get(self.skeleton):
            with _alone():
                told = self.model.predict_proba(_table(group))[:, 1]
            chance = np.clip(told, 1e-9, 1 - 1e-9)
            scores[group.rows] = np.log(chance) - np.log1p(-chance)
        return scores


def learned(parts: Sequence[Encoded], skeleton: Skeleton, a: int, b: int, seed: int) -> ClassifierScore | None:
    """Train on the reports of one skeleton; None where there are too few, or where they hold no numbers.

    ``parts``: each input's reports, none of which the bound sees; ``skeleton``: of the reports that are used; ``a``,
    ``b``: positions of the two inputs; ``seed``: of the classifier. Raises Unsupported where scikit-learn is not
    installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise Unsupported("a learned score", "it needs scikit-learn: install ldpaudit[ml]") from None
    first, second = (parts[x].get(skeleton) for x in (a, b))
    if first is None or second is None or min(len(first.rows), len(second.rows)) < LEAST or not first.width:
        return None
    table = np.concatenate([_table(first), _table(second)])
    label = np.concatenate([np.ones(len(first.rows)), np.zeros(len(second.rows))])
    model = HistGradientBoostingClassifier(random_state=seed % (1 << 32), early_stopping=True)
    with _alone():
        return ClassifierScore(skeleton, model.fit(table, label))


def _alone() -> AbstractContextManager[object]:
    """One thread: audits already run side by side, and threads that compete for a core wait long."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, "openmp")
    return limits


def _table(group: Group) -> NDArray[np.float64]:
    looked = range(min(group.width, LEAVES))
    return np.clip(np.stack([group.leaves[j].astype(np.float64) for j in looked], axis=1), -LARGEST, LARGEST)
