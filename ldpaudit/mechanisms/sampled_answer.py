r"""One of B yes-or-no answers, drawn at random, by randomized response: a message names a question and a bit.

The single-message baseline for selection in the shuffled model, which Ghazi, Golowich, Kumar, Pagh, Velingker 2019 bound from
below in Theorem 3.22: as many users are needed as there are questions, up to logarithms, and this takes no more.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import integer, odds, probability
from ldpaudit.mechanisms.shared.yes_no_answers import Answers, YesOrNo
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class SampledAnswer(YesOrNo):
    r"""A uniformly drawn question with the user's answer, in place of which a fair coin is told with probability gamma.

    An input is the tuple of the questions to which the user says yes; a view is the question and the bit that is told.

    Parameters
    ----------
    questions : int
        B, from 2 to 2**20.
    gamma : Fraction
        Probability of the fair coin, in (0, 1).

    Examples
    --------
    >>> m = SampledAnswer(questions=4, gamma=Fraction(1, 10))
    >>> m.law((0, 3)).probability((3, 1)), m.law((0, 3)).probability((1, 1))
    (Fraction(19, 80), Fraction(1, 80))
    >>> m.select([(2,)] * 4000 + [(0, 1)] * 1000, np.random.default_rng(0))
    2
    """

    title = "one sampled answer"
    counts_users = True

    questions: int
    gamma: Fraction

    def __post_init__(self) -> None:
        integer(self, "questions", 2, 1 << 20)
        probability(self, "gamma")

    @classmethod
    def for_epsilon(cls, epsilon: Number, questions: int) -> Self:
        """Binary randomized response with ``epsilon``, the truth's probability rounded down."""
        return cls(questions, 2 * (1 - odds(epsilon)))

    @property
    def truthful(self) -> Fraction:
        """Probability that the bit is the user's own answer."""
        return 1 - self.gamma / 2

    @property
    def message_bits(self) -> int:
        """Length of a message, in bits."""
        return (2 * self.questions - 1).bit_length()

    def sample(self, x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, 2)``: questions and bits."""
        self.require_input(x)
        own = np.zeros(self.questions, dtype=np.bool_)
        own[list(x)] = True
        asked = rng.integers(0, self.questions, size)
        return np.stack([asked, own[asked] ^ bernoulli(self.gamma / 2, size, rng)], axis=1).astype(np.int64)

    def law(self, x: Answers) -> Law:
        self.require_input(x)
        yes = frozenset(x)

        def probability(view: tuple[int, int]) -> Fraction:
            asked, bit = view
            return (self.truthful if (asked in yes) == bool(bit) else 1 - self.truthful) / self.questions

        return Law(probability, lambda: Rows((range(self.questions), range(2))), 2 * self.questions)

    def added(self) -> tuple[dict[Fraction, Fraction], dict[Fraction, Fraction]]:
        half, asked = Fraction(1, 2), Fraction(1, self.questions)
        yes, no = (half + sign * self.questions / (2 * (1 - self.gamma)) for sign in (1, -1))
        chances = (self.truthful, 1 - self.truthful)
        holder, other = ({half: 1 - asked, yes: asked * each, no: asked * (1 - each)} for each in chances)
        return holder, other

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased number of users who say yes to each question, shape ``(questions,)``.

        Of n views, :math:`n/2 + B/(1 - \\gamma)` times the sum over the views of the question of the bit less 1/2.
        """
        asked, bits = np.asarray(views).T
        surplus = np.bincount(asked, bits - 0.5, minlength=self.questions)
        return np.asarray(len(bits) / 2 + surplus * (self.questions / float(1 - self.gamma)))
