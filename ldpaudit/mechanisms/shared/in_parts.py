"""Systems that are run over users' data in parts: a centre asks, every part answers, and the answers add up.

The centre is a generator. It yields a question for each part, or None where a part is not asked; it is sent the sum of the
answers, and asks again or returns what the system found. Who answers, where and in which order is not its business.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.partitions import Counts
from ldpaudit.mechanism import Mechanism

Question: TypeAlias = Any  # plain data: all that a part needs to know of what was found so far
Answer: TypeAlias = Counter[str] | NDArray[Any]  # numbers that add up over parts: votes by their names, or an array
Centre: TypeAlias = Generator[Sequence[Question | None], Any, Any]


class InParts(ABC):
    """A system of which every round needs nothing of a part but what adds up over parts."""

    @abstractmethod
    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """The centre, for parts of this many users each; all that it draws is drawn from `rng`."""

    @abstractmethod
    def answer(self, question: Question, part: Counts, rng: np.random.Generator) -> Answer:
        """What a part says when it is asked."""


def starts(users: Sequence[int]) -> list[int]:
    """How many users stand before each part's first one."""
    return [0, *accumulate(users[:-1])]


def asked_once(users: Sequence[int]) -> Generator[Sequence[Question], Any, Any]:
    """The centre of a system that asks every part for its sum, once, and returns all parts' sum."""
    return (yield [()] * len(users))


def driven(centre: Generator[Question, Any, Any], answer: Callable[[Question], Any]) -> Any:
    """What a centre returns in the end, where `answer` says what it is to be sent next."""
    try:
        asked = next(centre)
        while True:
            asked = centre.send(answer(asked))
    except StopIteration as end:
        return end.value


def relayed(
    server: Generator[Any, Any, Any], put: Callable[[Any], Sequence[Question | None]], heard: Callable[[Any, Any], Any]
) -> Centre:
    """The centre that puts what `put` makes of a server's question, and sends the server what `heard` makes of the answers."""
    try:
        asked = next(server)
        while True:
            asked = server.send(heard(asked, (yield put(asked))))
    except StopIteration as end:
        return end.value


def total(answers: Iterable[Answer]) -> Answer:
    """The sum of answers, in their order: of floats it depends on that."""
    return reduce(add, answers)


def inputs_of(system: Mechanism, part: Counts) -> Counts:
    """A part's values as numbers, the least and the largest of which are checked to be inputs of a system."""
    held = part.numbered()
    for end in (held.values.min(), held.values.max()):
        system.require_input(int(end))
    return held
