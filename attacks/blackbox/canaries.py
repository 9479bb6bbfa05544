"""What a system's output says of each canary, and scores of canaries that are learned from runs of their own."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.outputs import hashable

ABSENT = object()  # what a canary holds that is out
SHRINKAGE = 0.1
"""Of the weights of several measures together: as if a tenth of the canaries had been seen that show nothing."""

Floats = NDArray[np.float64]
Measure = Callable[[Any], float]  # how much of a value is in an output
Canary = tuple[Any, Any]  # what the user holds whose coin says so, and what else, or `ABSENT`


def measures(output: Any) -> dict[str, Measure]:
    """How much of a value is in an output, in each way that the output's form has, by its name."""
    found: dict[str, Measure] = {}
    if isinstance(output, str | bytes | bytearray):
        text = output if isinstance(output, str) else output.decode(errors="replace")
        try:
            output = json.loads(text)
        except (ValueError, RecursionError):
            output = None
        found["count in the text"] = lambda x: float(text.count(str(x)))
    elif isinstance(output, np.ndarray | np.generic):
        output = output.tolist()
    if _is_number(output):
        found["product with the output"] = lambda x: float(output) * x if _is_number(x) else 0.0
    if isinstance(output, list | tuple) and output and all(map(_is_number, output)):
        found["number at its index"] = lambda x: float(output[x]) if isinstance(x, int) and 0 <= x < len(output) else 0.0
        vector = np.array(output, dtype=np.float64)

        def product(x: Any) -> float:
            row = np.asarray(x)
            return float(np.dot(vector, row)) if row.shape == vector.shape else 0.0

        found["inner product with the output"] = product
    elif isinstance(output, list | tuple) and (rows := _rows(output)) is not None:
        found.update({f"{name}, of the sum of the reports": each for name, each in measures(rows.sum(axis=0)).items()})
    if not isinstance(output, Mapping | list | tuple | set | frozenset):
        return found
    items = [_key(each) for each in output]
    table = {_key(key): value for key, value in output.items()} if isinstance(output, Mapping) else _pairs(items)
    if table and all(map(_is_number, table.values())):
        found["number beside it"] = lambda x: float(table.get(_key(x), table.get(str(x), 0)))
        items = list(table)
    often = Counter(items)
    found["count in the output"] = lambda x: float(often[_key(x)])
    if prefixes := {each for each in items if isinstance(each, str)}:
        found["length of the longest prefix in the output"] = lambda x: _longest(str(x), prefixes)
    return found


def _is_number(x: Any) -> bool:
    return isinstance(x, Real | np.bool_)


def _key(x: Any) -> Any:
    """A value as a key of a table."""
    found = hashable(x)
    try:
        hash(found)
    except TypeError:
        return repr(found)
    return found


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """A table, where all items are pairs of a key that is not a number and a number, as released counts are."""
    told = all(isinstance(each, tuple) and len(each) == 2 and not _is_number(each[0]) for each in items)
    return dict(items) if told and len({each[0] for each in items}) == len(items) else {}


def _rows(output: Sequence[Any]) -> Floats | None:
    """The reports as rows of numbers, where all of them are of one length."""
    try:
        rows = np.asarray(output)
    except (ValueError, RecursionError):
        return None
    return rows.astype(np.float64) if rows.ndim == 2 and rows.size and rows.dtype.kind in "biuf" else None


def _longest(word: str, prefixes: set[str]) -> float:
    return float(next((n for n in range(len(word), 0, -1) if word[:n] in prefixes), 0))


def table(output: Any, canaries: Sequence[Canary], others: Sequence[Any]) -> dict[str, Floats]:
    """Each measure of each canary: of its first value, less that of its second.

    Where the output has one report for each user, and nobody is ever absent, the measures of the users' own reports too.
    """

    def differences(several: Sequence[dict[str, Measure]], of: str = "") -> dict[str, Floats]:
        columns = {name + of: np.zeros(len(canaries)) for found in several for name in found}
        for i, (first, second) in enumerate(canaries):
            for name, measure in several[i].items():
                less = 0.0 if second is ABSENT else measure(second)
                columns[name + of][i] = measure(first) - less
        return columns

    found = differences([measures(output)] * len(canaries))
    held = Counter(map(_key, others))
    found |= differences([{"number of others who hold it": lambda x: float(held[_key(x)] if held else 0)}] * len(canaries))
    in_order = isinstance(output, list | tuple) or (isinstance(output, np.ndarray) and output.ndim > 0)
    if in_order and len(output) == len(canaries) + len(others) and all(each[1] is not ABSENT for each in canaries):
        found |= differences([measures(output[i]) for i in range(len(canaries))], ", of the user's own report")
    return {name: np.nan_to_num(column) for name, column in found.items()}


@dataclass(frozen=True)
class LearnedScore:
    """A fixed score of canaries: a weighted sum of measures."""

    name: str
    weights: dict[str, float]

    def __call__(self, columns: Mapping[str, Floats], canaries: int) -> Floats:
        """The scores of this many canaries, from a table of their measures."""
        parts = (weight * columns[name] for name, weight in self.weights.items() if name in columns)
        return np.asarray(sum(parts, np.zeros(canaries)), dtype=np.float64)


def learned(runs: Sequence[tuple[dict[str, Floats], NDArray[np.bool_]]]) -> list[LearnedScore]:
    """Each measure by itself, in the direction that it had in these runs, and all of them together by ridge regression."""
    sides = np.concatenate([np.where(held, 1.0, -1.0) for _, held in runs])
    names = sorted({name for columns, _ in runs for name in columns})
    pooled = {n: np.concatenate([columns.get(n, np.zeros(len(held))) for columns, held in runs]) for n in names}
    spread = {name: float(column.std()) for name, column in pooled.items() if np.ptp(column) and np.isfinite(column.std())}
    if not spread:
        return []
    scaled = np.array([(pooled[name] - pooled[name].mean()) / width for name, width in spread.items()])
    leans = scaled @ sides
    found = [
        LearnedScore(f"the {name}" if lean > 0 else f"minus the {name}", {name: float(np.sign(lean))})
        for name, lean in zip(spread, leans.tolist(), strict=True)
        if lean
    ]
    if len(spread) > 1:
        normal = scaled @ scaled.T + SHRINKAGE * len(sides) * np.eye(len(spread))
        weights = np.linalg.solve(normal, leans)
        shares = {name: float(w / width) for (name, width), w in zip(spread.items(), weights, strict=True)}
        found.append(LearnedScore(f"the sum of {len(spread)} measures", shares))
    return found
