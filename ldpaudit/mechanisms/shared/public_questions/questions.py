r"""What the heavy-hitter systems of one bit a user share: public questions about a value, answered by randomized signs.

A question maps a value x to a cell, the bits ``<row, x>`` over GF(2) for linearly independent rows; the last question's cell is
the value itself. Every user has, publicly, a question and a vector r that is not 0, and tells the sign ``(-1)**<r, cell>``.
That sign is ``(-1)**<s, x>`` where s is the sum of the rows whose bits are set in r, and never 0: whatever is asked, a report
is one of the sign oracle's.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.partitions import Counts
from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.shared.coins import bernoulli, chunks
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, driven, relayed, starts
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS, WIDE, combined, nonzero, vectors, words
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from ldpaudit.mechanisms.shared.parameters import exact, integer, integers, odds, probability
from ldpaudit.mechanisms.shared.public_questions.deviation import Chance, Terms
from ldpaudit.mechanisms.shared.public_questions.public_sign import PublicSign, views_of
from ldpaudit.mechanisms.shared.public_questions.server_queries import Answers, Ask, Cells, Counted, Decoding, Question
from ldpaudit.mechanisms.shared.values import BinaryValues
from ldpaudit.profile import Number

_BLOCK = 1 << 22  # users who are looked at at a time
_UNIT = 1 << 32  # shares of the users are multiples of 1/_UNIT, up to rounding


class Asked(InParts, BinaryValues):
    """Users who are asked public questions; `run` names the values that many hold, with estimated counts.

    Parameters
    ----------
    users : int
        Number of users' indices, from 1 to 2**62.
    domain : int
        Number of values, from 2 to 2**64; inputs are ``range(domain)``.
    beta : Fraction
        Probability with which the server may fail, in (0, 1).
    seed : int
        Seed of questions, vectors and hash functions.
    index : int
        The user whose report is viewed; all users have the same privacy.
    """

    core = "sign_oracle"
    names_values = True
    names_user = True
    unbiased = False

    users: int
    domain: int
    seed: int
    index: int

    @property
    @abstractmethod
    def questions(self) -> tuple[Question, ...]:
        """Those by which values are identified."""

    @property
    def whole(self) -> Question:
        """The last question: the value itself."""
        return tuple(1 << t for t in range(self.bits))

    @property
    @abstractmethod
    def chances(self) -> tuple[Terms, Terms]:
        """Of each question by which values are identified, and of the last one."""

    @abstractmethod
    def answers(self, views: Views) -> tuple[Counted, ...]:
        """What was told, question by question, the last one last."""

    @abstractmethod
    def decoding(self, users: int) -> Decoding:
        """The server: what it asks of the answers of this many users, and in the end the values that it names."""

    def decode(self, answers: Sequence[Counted], users: int) -> dict[int, float]:
        """The values that are named, with their estimated counts, by falling count."""
        found: dict[int, float] = driven(self.decoding(users), lambda ask: ask.of(answers))
        return found

    @abstractmethod
    def asked(self, numbers: Sequence[int], index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each user answers one of some questions, given by number."""

    @abstractmethod
    def reports(self, x: ArrayLike, index: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views of users given by value and index, a row each; the index comes first."""

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views of the user `index`, a row each."""
        self.require_input(x)
        return self.reports(vectors([x]), np.full(size, self.index), rng)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated counts of the values that are named, by falling count; `named` has the values too."""
        return np.array(list(self.named(views).values()), dtype=np.float64)

    def named(self, views: Views) -> dict[int, float]:
        """The values that are named, with their estimated counts, by falling count."""
        return self.decode(self.answers(views), len(views))

    def counted(self, candidates: ArrayLike, least: float) -> Decoding:
        """Those of the candidates that are values and that the last question counts at least so often, by falling count."""
        values = [x for x in sorted({int(v) % (1 << WIDE) for v in vectors(candidates)}) if x < self.domain]
        counts = zip(values, (yield Cells(len(self.questions), vectors(values))).tolist(), strict=True)
        return dict(sorted((pair for pair in counts if pair[1] >= least), key=lambda pair: -pair[1]))

    def run(self, data: ArrayLike, rng: np.random.Generator) -> Any:
        """The whole system: users' values to a dict of the values that are named, with estimated counts, by falling count.

        Where among the indices the users stand is drawn first.
        """
        return self.named(self.collect(data, rng))

    def collect(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """One view of each user, a row each."""
        values = self._vectors(data)
        first = int(rng.integers(self.users))
        index = (first + np.arange(len(values))) % self.users
        return np.concatenate([self.reports(values[part], index[part], rng) for part in chunks(len(values), _BLOCK)])

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run`, over parts: where the server asks for counts, each part counts what its users answer to these questions.

        A user's coin is drawn when it is needed, which is once.
        """
        self._require_users(sum(users))
        first, none = int(rng.integers(self.users)), np.zeros(0, dtype=np.int64)
        nobody = self.answers(self.reports(none, none, rng))
        return relayed(
            self.decoding(sum(users)),
            lambda ask: [(ask, (first + before) % self.users) for before in starts(users)],
            lambda ask, sums: ask.counts_from(sums, nobody),
        )

    def answer(self, question: tuple[Ask, int], part: Counts, rng: np.random.Generator) -> NDArray[np.float64]:
        """What adds up of the counts of a part's users, the first of whom has this index."""
        ask, first = question
        return sum(  # type: ignore[return-value]
            ask.sums(self.answers(self._reports_on(ask, values, first + before, rng)))
            for before, values in part.numbered().chunks(_BLOCK)
        )

    def _reports_on(self, ask: Ask, values: NDArray[Any], first: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views of those among users with these values, the first of whom has this index, who are asked what is wanted."""
        index = (first + np.arange(len(values))) % self.users
        chosen = self.asked(ask.questions, index)
        return self.reports(self._vectors(values)[chosen], index[chosen], rng)

    def _require_users(self, users: int) -> None:
        if not 1 <= users <= self.users:
            raise ValueError(f"{type(self).__name__} needs 1 to users={self.users} users, got {users}")

    def _vectors(self, data: ArrayLike) -> NDArray[np.int64]:
        """Users' values, checked, as vectors."""
        given = data if isinstance(data, np.ndarray) else np.array(data, dtype=object)  # a list may hold -1, and 2**64 - 1
        self._require_users(len(given))
        low, high = int(given.min()), int(given.max())
        if low < 0 or high >= self.domain:
            raise ValueError(f"{type(self).__name__} needs inputs in range({self.domain}), got {low} to {high}")
        return vectors(given if isinstance(data, np.ndarray) else given.astype(np.uint64))

    def __post_init__(self) -> None:
        """Of the constructor."""
        integers(self, users=(1, 1 << BITS), domain=(2, 1 << WIDE), seed=0)
        integer(self, "index", 0, self.users - 1)

    def _stream(self, which: int) -> int:
        """The seed of one of four independent kinds of public words: questions, vectors, vectors of the whole, hash functions."""
        return self.seed << 2 | which

    def _among(self, index: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each user a public number below 2**32, and one of the questions by which values are identified."""
        drawn = words(self._stream(0), index)
        question = (drawn >> np.uint64(33)) * np.uint64(len(self.questions)) >> np.uint64(31)
        return (drawn % np.uint64(_UNIT)).astype(np.int64), question.astype(np.int64)

    def _vector(self, question: Question, index: ArrayLike) -> NDArray[np.int64]:
        """Users' vectors r, for one question."""
        return nonzero(self._stream(1), index, len(question))

    def _columns(self, groups: NDArray[np.int64], questions: Sequence[Question], index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Users' vectors s, for questions given by number: what a sign says of the value."""
        found = np.empty(index.shape, dtype=np.int64)
        for group in np.unique(groups).tolist():
            asked = groups == group
            found[asked] = combined(questions[group], self._vector(questions[group], index[asked]))
        return found


class Partitioned(Asked):
    """A user answers one question, the last one with probability ``1 - share``."""

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """Probability of another question than the last one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self, "share")

    def groups(self, index: ArrayLike) -> NDArray[np.int64]:
        """Users' questions; the last one's number is how many others there are."""
        drawn, question = self._among(index)
        return np.where(drawn < round(self.share * _UNIT), question, len(self.questions))

    def asked(self, numbers: Sequence[int], index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each user's question is one of some."""
        return np.isin(self.groups(index), numbers)

    def _answered(self, index: NDArray[np.int64]) -> Iterator[tuple[Question, Fraction, NDArray[np.int64]]]:
        """Every question, the probability with which a user is asked it, and the places of the users who are."""
        questions, (first, last) = (*self.questions, self.whole), self.chances
        shares = [first.share] * len(self.questions) + [last.share]
        return zip(questions, shares, by_group(self.groups(index), len(questions)), strict=True)


class PartitionedSign(PublicSign, Partitioned):
    """A user answers one question by a sign. A view is ``(i, y)``."""

    p: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self, "p", low=Fraction(1, 2))

    @property
    def chances(self) -> tuple[Chance, Chance]:
        """Of each question by which values are identified, and of the last one."""
        return Chance(self.p, self.share / len(self.questions)), Chance(self.p, 1 - self.share)

    def columns(self, index: ArrayLike) -> NDArray[np.int64]:
        """Users' vectors s."""
        users = np.atleast_1d(np.asarray(index, dtype=np.int64))
        return self._columns(self.groups(users), (*self.questions, self.whole), users).reshape(np.shape(index))

    def answers(self, views: Views) -> tuple[Answers, ...]:
        index, signs = np.asarray(views).T
        return tuple(Answers(q, self._vector(q, index[who]), signs[who], self.p, share) for q, share, who in self._answered(index))


class SplitSigns(Asked):
    """A user answers one question with `p`, and the last one with `q`. A view is ``(i, y, y')``.

    Parameters
    ----------
    p, q : Fraction
        Probability of the true sign of the first question, and of the whole value; above 1/2, below 1.
    share : Number
        Share of epsilon that is spent on the first question, in (0, 1).
    """

    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self, "p", low=Fraction(1, 2))
        probability(self, "q", low=Fraction(1, 2))

    @property
    def coins(self) -> tuple[Fraction, Fraction]:
        """Probabilities of the two true signs."""
        return self.p, self.q

    @property
    def chances(self) -> tuple[Chance, Chance]:
        """Of each question by which values are identified, and of the last one, which everybody answers."""
        return Chance(self.p, Fraction(1, len(self.questions))), Chance(self.q, Fraction(1))

    def asked(self, numbers: Sequence[int], index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each user's first question is one of some; everybody answers the last one."""
        return np.isin(self._among(index)[1], numbers) | (len(self.questions) in numbers)

    def columns(self, index: ArrayLike) -> NDArray[np.int64]:
        """Users' two vectors s, shape ``(users, 2)``."""
        users = np.atleast_1d(np.asarray(index, dtype=np.int64))
        first = self._columns(self._among(users)[1], self.questions, users)
        found = np.stack([first, nonzero(self._stream(2), users, self.bits)], axis=-1)
        return found.reshape((*np.shape(index), 2))

    @property
    def apart(self) -> tuple[int, int]:
        """Two values with opposite signs in both of the viewed user's columns; every pair of columns has such.

        They differ in one bit that both columns have, or else in one bit of each.
        """
        one, other = (int(column) % (1 << WIDE) for column in self.columns(np.array([self.index]))[0])
        common = one & other
        first, second = self.two_values(common & -common if common else (one & -one) | (other & -other))
        return second, first

    @property
    def typical(self) -> tuple[int, ...]:
        """Values of whose laws every value's is one: one for each pair of signs in the viewed user's columns.

        Among 0, powers of two and sums of two of these: of a value's bits, one has the value's signs, or two together have.
        """
        powers = [1 << t for t in range(self.bits)]
        values = [x for x in (0, *powers, *map(sum, combinations(powers, 2))) if x < self.domain]
        first = np.unique(self.signs(values, np.full(len(values), self.index)), axis=0, return_index=True)[1]
        return tuple(values[at] for at in np.sort(first).tolist())

    def signs(self, x: ArrayLike, index: ArrayLike) -> NDArray[np.int64]:
        """Signs of values in users' two columns, shape ``(users, 2)``."""
        negative = parity(self.columns(index) & vectors(x)[..., None])
        return 1 - 2 * negative.astype(np.int64)

    def reports(self, x: ArrayLike, index: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        truth = self.signs(x, index)
        coins = np.stack([bernoulli(chance, len(truth), rng) for chance in self.coins], axis=-1)
        told = truth * (2 * coins.astype(np.int64) - 1)
        return np.concatenate([np.asarray(index, dtype=np.int64)[:, None], told], axis=-1)

    def law(self, x: int) -> Law:
        self.require_input(x)
        truth = self.signs(vectors([x]), np.array([self.index]))[0].tolist()
        def probability_of(view: Any) -> Fraction:
            chances = zip(self.coins, truth, tuple(view)[1:], strict=True)
            first, second = (chance if right == told else 1 - chance for chance, right, told in chances)
            return first * second

        views = views_of(self, lambda: product((1, -1), repeat=2), range(-1, 2, 2), range(-1, 2, 2))
        return Law(probability_of, lambda: views, 4)

    def answers(self, views: Views) -> tuple[Answers, ...]:
        """What was told, question by question; everybody answers the last one."""
        index, first, second = np.asarray(views).T
        one, last = self.chances
        parts = zip(self.questions, by_group(self._among(index)[1], len(self.questions)), strict=True)
        asked = [Answers(q, self._vector(q, index[who]), first[who], *one) for q, who in parts]
        return *asked, Answers(self.whole, nonzero(self._stream(2), index, self.bits), second, *last)


def divided(epsilon: Number, share: Number) -> tuple[Fraction, Fraction]:
    """Probabilities of the true sign of two questions, by a share of epsilon and the rest of it, both rounded down."""
    if not 0 < (first := exact(share)) < 1:
        raise ValueError(f"a share of epsilon needs 0 < share < 1, got share={brief(share)}")
    return odds(epsilon, scale=first), odds(epsilon, scale=1 - first)


def by_group(groups: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """The users of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(groups, minlength=count))[:-1])
