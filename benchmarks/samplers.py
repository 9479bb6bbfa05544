"""Of which numbers each mechanism's reports and runs are made: whole ones alone, or floats; a table of docs/security.md.

    python -m benchmarks.samplers
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np

from ldpaudit import Mechanism, Unsupported
from ldpaudit.core.partitions import Counts
from ldpaudit.mechanisms import HeavyThresh, Thresh
from ldpaudit.mechanisms.shared.in_parts import InParts, driven, total
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.report.printer import markdown_of
from tests.zoo import AT_ONE, SMALL

WHOLE = {"integers", "bytes"}  # methods of a generator that draw whole numbers, which are made of bits without rounding
FLOATS = {
    "binomial", "laplace", "multinomial", "multivariate_hypergeometric", "negative_binomial", "normal", "poisson", "random",
    "standard_gamma",
}  # fmt: skip
"""Those that compute with floats."""
HEAD = ("mechanisms", "one view", "`run`", "`run_on_counts`", "`ldpaudit run`", "other ways")


class Recorded(np.random.Generator):
    """Remembers which of its methods were asked for."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self.asked = set[str]()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_"):
            self.asked.add(name)
        return found

    def choice(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        """A choice without weights is one of whole numbers."""
        found = super().choice(a, *args, **kwargs)
        self.asked.discard("choice")
        self.asked.add("random" if kwargs.get("p") is not None else "integers")
        return found


def page() -> list[str]:
    """The table: rows of classes that draw alike."""
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for kind, m in sorted({type(m).__name__: m for m in reversed((*SMALL, *AT_ONE))}.items()):
        alike[tuple(cells(m))].append(f"`{kind}`")
    return markdown_of(HEAD, [(", ".join(kinds), *row) for row, kinds in sorted(alike.items())]).splitlines()


def cells(m: Mechanism) -> Iterator[str]:
    """What each way to run it draws."""
    yield drawn(lambda rng: m.sample(m.inputs[0], 8, rng))
    known = ways(m)
    for name in ("run", "run_on_counts", "parts"):
        yield drawn(way) if (way := known[name]) is not None else ""
    others = {name: way for name, way in known.items() if name not in ("run", "run_on_counts", "parts")}
    yield ", ".join(f"`{name}` {drawn(way)}" for name, way in others.items() if way is not None)


def ways(m: Any) -> dict[str, Callable[[Any], Any] | None]:
    """Every method that runs the whole system, on some data."""
    data, counts = users_of(m)
    found: dict[str, Callable[[Any], Any] | None] = {
        "run": lambda rng: m.run(data, rng),
        "run_on_counts": None if counts is None else lambda rng: m.run_on_counts(counts, rng),
        "parts": (lambda rng: over_parts(m, rng)) if isinstance(m, InParts) else None,
    }
    arguments: dict[str, tuple[Any, ...]] = {
        "run_in_law": (data,),
        "run_with_random_columns": (counts,),
        "run_with_dropouts": (data, 0.25),
        "run_on_means": (np.full((getattr(m, "epochs", 1), 1), 0.5), (1.0,)),
    }
    named = [name for name in dir(m) if name.startswith("run_") and name not in ("run_on_counts", "run_and_spend")]
    if hasattr(m, "randomize"):
        given: dict[str, Callable[[], Any]] = {"x": lambda: m.inputs[0], "level": lambda: m.grid.levels[0], "length": lambda: 1}
        wanted = [given[name]() for name in signature(m.randomize).parameters if name != "rng"]
        found["randomize"] = lambda rng: m.randomize(*wanted, rng)
    return found | {name: lambda rng, name=name: getattr(m, name)(*arguments[name], rng) for name in named}


def users_of(m: Any) -> tuple[Any, dict[Any, int] | None]:
    """Data of all users, and how many hold each input, where an input is one user's."""
    match m:
        case TrieRounds():
            return ["a"] * m.users, None
        case Thresh():
            return np.zeros((m.users, m.epochs), dtype=np.int64), None
        case HeavyThresh():
            held = np.eye(m.domain, dtype=np.int64)[np.zeros(m.users, dtype=np.int64)] * m.rounds
            return [held] * m.epochs, None
    values, users = list(m.inputs[:2]), getattr(m, "users", 8)
    data = (values * users)[:users]
    return data, {x: data.count(x) for x in values}


def over_parts(m: Any, rng: Any) -> Any:
    """A run over one part, of few users where any number may be in it."""
    users = m.users if isinstance(m, TrieRounds) else min(getattr(m, "users", 8), 64)
    held = Counts.of({"a": users} if isinstance(m, TrieRounds) else {1: users})
    return driven(m.centre([users], rng), lambda questions: total(m.answer(each, held, rng) for each in questions))


def drawn(way: Callable[[Any], Any]) -> str:
    """What a way to run draws."""
    rng = Recorded()
    try:
        way(rng)
    except Unsupported:
        return "refused"
    if unknown := rng.asked - WHOLE - FLOATS:
        raise ValueError(f"a generator's method is whole or float, got {', '.join(unknown)}")
    return ", ".join(sorted(rng.asked & FLOATS)) or "exact"


if __name__ == "__main__":
    print("\n".join(page()))
