"""The attack that the finite law of a mechanism allows, where nothing else is known of the mechanism: one that users write."""

import math
from collections.abc import Hashable, Iterable
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack, logs, shown
from ldpaudit.attacks.games.k_inputs import few_of
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views, plain
from ldpaudit.neighbours import Neighbours

_MOST_RATIOS = 1 << 20  # likelihood ratios, over all pairs of inputs, that are computed in floats: under a second


def attack(m: Mechanism, neighbours: Neighbours, delta: float = 0.0) -> Attack:
    """The two inputs whose laws differ most at this delta, told apart by the likelihood ratio of a view.

    Raises Unsupported where the law is not finite or too long, or there are no two neighbouring inputs.
    """
    pairs = _pairs(few_of(m.inputs, math.isqrt(_MOST_RATIOS)), neighbours)
    if not pairs or m.law(pairs[0][0]).size * len(pairs) > _MOST_RATIOS:
        raise Unsupported(m, f"its law is compared on pairs of inputs and views, at least one and at most {_MOST_RATIOS}")
    laws = {x: {plain(y): float(p) for y, p in m.law(x).items()} for pair in pairs for x in pair}

    def on(x: Any, views: Iterable[Hashable]) -> NDArray[np.float64]:
        return np.array([laws[x].get(y, 0.0) for y in views])

    first, second = max(pairs, key=lambda pair: shown(on(pair[0], laws[pair[0]]), on(pair[1], laws[pair[0]]), delta))
    views = list(dict.fromkeys([*laws[first], *laws[second]]))
    losses = dict(zip(views, logs(on(first, views), on(second, views)).tolist(), strict=True))

    def score(views: Views) -> NDArray[np.float64]:
        listed = views.tolist() if isinstance(views, np.ndarray) else views
        return np.array([losses.get(plain(y), math.nan) for y in listed], dtype=np.float64)

    return Attack((first, second), score, f"the likelihood ratio of {first} and {second}")


def _pairs(inputs: list[Any], neighbours: Neighbours) -> list[tuple[Any, Any]]:
    """Ordered pairs of neighbouring inputs."""
    if neighbours.kind == "pairs":
        return [pair for first, second in neighbours.pairs for pair in ((first, second), (second, first))]
    if neighbours.kind == "add-remove":
        return [pair for x in inputs for pair in ((x, None), (None, x))]
    return list(permutations(inputs, 2))
