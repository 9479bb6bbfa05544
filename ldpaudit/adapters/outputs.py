"""A whole system as a callable, for the adversary who sees only what its `run` returns: the analyzer's output.

What is returned is a function of the messages, so that less can be seen in it. A claim about the messages that this audit does
not refute may still be false, and its evidence begins with `WEAKER`.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ldpaudit.errors import ImplementationError
from ldpaudit.plan import Aggregate, Shuffle
from ldpaudit.profile import DataSet

WEAKER = "outputs only, a weaker audit than of the messages: "  # what the words of an event begin with


@dataclass(frozen=True)
class Outputs:
    """What a system returns on either of two data sets that differ in one user; `ldpaudit.audit` takes it as any callable.

    ``system``: with a method ``run(data, rng)``: a mechanism, shuffled plan or sum of ldpaudit's, or code of yours;
    ``pair``: one user's input is replaced, or one user is there in the first only. Raises TypeError where the system
    has no `run`; ValueError where the two data sets do not differ in one user.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from ldpaudit import audit
    >>> from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
    >>> m = ShuffledBinarySums(users=20, values=3, gamma=Fraction(1, 100))
    >>> found = audit(Outputs.of(m, [0] * 20, [1] + [0] * 19), epsilon=1.0, delta=0.01, trials=4000)
    >>> found.epsilon_lower > 1, found.event.startswith(WEAKER)
    (True, True)
    """

    system: Any
    pair: tuple[DataSet, DataSet]
    _data: dict[DataSet, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(getattr(self.system, "run", None)):
            raise TypeError(f"an audit of outputs needs a system with run(data, rng), got {type(self.system).__name__}")
        first, second = (Counter(dict(each.counts)) for each in self.pair)
        if not ((first - second).total() == 1 >= (second - first).total()):
            raise ValueError(f"an audit of outputs needs data sets that differ in one user, got {self.pair[0]}; and {self.pair[1]}")
        counts = isinstance(self.system, Shuffle | Aggregate)  # takes how many users hold each input; else one input per user
        for each in self.pair:
            self._data[each] = dict(each.counts) if counts else [x for x, users in each.counts for _ in range(users)]

    @classmethod
    def of(cls, system: Any, data: Iterable[Any] | Mapping[Any, int], neighbour: Iterable[Any] | Mapping[Any, int]) -> Self:
        """From one input per user, or from how many users hold each; of two numbers of users the larger stands first."""
        counts = (x if isinstance(x, Mapping) else Counter(map(hashable, x)) for x in (data, neighbour))
        first, second = (DataSet.of(Counter(each)) for each in counts)
        return cls(system, (first, second) if first.users >= second.users else (second, first))

    @property
    def inputs(self) -> tuple[DataSet, DataSet]:
        """What an audit compares."""
        return self.pair

    def __call__(self, x: DataSet, size: int, rng: np.random.Generator) -> Any:
        """Independent runs on one of the two data sets."""
        found = [self.system.run(self._data[x], rng) for _ in range(size)]
        if not all(isinstance(each, np.ndarray) for each in found):
            return found
        if len(shapes := {each.shape for each in found}) > 1:
            raise ImplementationError(f"needs outputs of one shape, got arrays of {sorted(shapes)}", x)
        return np.array(found)


_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})


def hashable(x: Any) -> Hashable:
    """A user's input as a value: rows are tuples, numbers are Python's."""
    plain = x.tolist() if isinstance(x, np.ndarray | np.generic) else x
    if isinstance(plain, list | tuple):  # a call for each would take thrice as long
        plain = tuple([each if type(each) in _PLAIN else hashable(each) for each in plain])
    found: Hashable = plain
    return found
