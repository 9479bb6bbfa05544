"""The attack that the finite law of a mechanism allows, where nothing else is known of the mechanism: one that users write."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.games.few import few_of
from ldpaudit.attacks.games.foreign import plain
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.neighbours import Neighbours

_MOST_RATIOS = 1 << 20
"""Likelihood ratios, over all pairs of inputs, that are computed in floats: under a second."""
_RARE = 1e-4
"""Probability below which an event is too rare to show much in the views that an audit draws."""

Laws: TypeAlias = dict[Any, dict[Hashable, float]]


def attack(m: Mechanism, neighbours: Neighbours, delta: float = 0.0) -> Attack:
    """The two inputs whose laws differ most at this delta, told apart by the likelihood ratio of a view.

    Raises Unsupported where the law is not finite or too long, or there are no two neighbouring inputs.
    """
    inputs = few_of(m.inputs, math.isqrt(_MOST_RATIOS))
    pairs = _pairs(inputs, neighbours)
    if not pairs or m.law(pairs[0][0]).size * len(pairs) > _MOST_RATIOS:
        raise Unsupported(m, f"its law is compared on pairs of inputs and views, at least one and at most {_MOST_RATIOS}")
    laws: Laws = {x: {plain(y): float(p) for y, p in m.law(x).items()} for pair in pairs for x in pair}
    first, second = max(pairs, key=lambda pair: _shown(laws[pair[0]], laws[pair[1]], delta))
    return Attack((first, second), _Score(laws[first], laws[second]), f"the likelihood ratio of {first} and {second}")


def _pairs(inputs: list[Any], neighbours: Neighbours) -> list[tuple[Any, Any]]:
    """Ordered pairs of neighbouring inputs."""
    if neighbours.kind == "pairs":
        return [pair for first, second in neighbours.pairs for pair in ((first, second), (second, first))]
    if neighbours.kind == "add-remove":
        return [pair for x in inputs for pair in ((x, None), (None, x))]
    return list(permutations(inputs, 2))


def _shown(there: dict[Hashable, float], back: dict[Hashable, float], delta: float) -> float:
    """About the epsilon that events {likelihood ratio at least some value} show."""
    p = np.array(list(there.values()))
    q = np.array([back.get(y, 0.0) for y in there])
    order = np.argsort(-_logs(p, q), kind="stable")
    gained, lost = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    return float(np.log(np.maximum(gained, _RARE) / np.maximum(lost, _RARE)).max())


def _logs(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of likelihood ratios; NaN where neither law shows the view."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: NDArray[np.float64] = np.log(p) - np.log(q)
    return logs


class _Score:
    """Views to their logarithms of likelihood ratios."""

    def __init__(self, there: dict[Hashable, float], back: dict[Hashable, float]) -> None:
        views = list(dict.fromkeys([*there, *back]))
        p, q = (np.array([law.get(y, 0.0) for y in views]) for law in (there, back))
        self.losses = dict(zip(views, _logs(p, q).tolist(), strict=True))

    def __call__(self, views: Views) -> NDArray[np.float64]:
        return np.array([self.losses.get(plain(y), math.nan) for y in _each(views)], dtype=np.float64)


def _each(views: Views) -> Iterable[Any]:
    listed: Iterable[Any] = views.tolist() if isinstance(views, np.ndarray) else views
    return listed
