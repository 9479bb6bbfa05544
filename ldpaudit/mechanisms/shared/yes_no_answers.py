"""Yes-or-no questions of which each user answers all: an input is the questions to which one user says yes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism, describe

Answers: TypeAlias = tuple[int, ...]  # numbers of the questions to which a user says yes, ascending


class YesOrNo(Mechanism):
    """A system that counts yeses to questions; an input is the tuple of the questions to which one user says yes."""

    questions: int

    @property
    def inputs(self) -> tuple[Answers, ...]:
        """No to all, yes to all, then all others; of more than 6 questions only one other, yes to half of them."""
        whole = tuple(range(self.questions))
        if self.questions > 6:  # more than 2**6 inputs are not listed
            return (), whole, whole[: self.questions // 2]
        return (), whole, *(each for size in range(1, self.questions) for each in combinations(whole, size))

    def require_input(self, x: Answers) -> None:
        """Check that these are different questions, ascending."""
        numbers = isinstance(x, tuple) and all(isinstance(j, int) and 0 <= j < self.questions for j in x)
        if not (numbers and all(i < j for i, j in pairwise(x))):
            wanted = f"a tuple of questions among {describe(range(self.questions))}, ascending"
            raise ValueError(f"{type(self).__name__} needs {wanted}, got {x!r:.60}")

    def _counted(self, data: Iterable[Collection[int]]) -> dict[Answers, int]:
        """How many users give the same answers."""
        found = Counter(tuple(sorted(int(j) for j in each)) for each in data)
        if not found:
            raise ValueError(f"{type(self).__name__}.run needs at least one user, got none")
        for x in found:
            self.require_input(x)
        return found

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: Iterable[Collection[int]], rng: np.random.Generator) -> NDArray[np.float64]:  # type: ignore[override]
        """The whole system: for each user the questions that get a yes to the estimated number of yeses to each question.

        Raises ValueError for what are no answers, and where nobody is there.
        """
        return self.run_on_counts(self._counted(data), rng)

    def select(self, data: Iterable[Collection[int]], rng: np.random.Generator) -> int:
        """The question to which most users seem to say yes; of several the first."""
        return int(np.argmax(self.run(data, rng)))

    def truth(self, data: Iterable[Collection[int]]) -> NDArray[np.float64]:  # type: ignore[override]
        """Number of users who say yes to each question."""
        return yes_counts(self._counted(data), self.questions).astype(np.float64)


def yes_counts(counts: Mapping[Answers, int], questions: int) -> NDArray[np.int64]:
    """How many users say yes to each question."""
    found = np.zeros(questions, dtype=np.int64)
    for x, users in counts.items():
        found[list(x)] += users
    return found
