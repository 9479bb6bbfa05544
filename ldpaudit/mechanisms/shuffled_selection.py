r"""Selection by labelled binary sums, shuffled: users send the numbers of the questions to which they say yes, and noise.

One sum for every question, as Cheu, Smith, Ullman, Zeber, Zhilyaev 2019 select with many messages in the shuffled model, and
Ghazi, Golowich, Kumar, Pagh, Velingker 2019 contrast with their Theorem 3.22: many messages need about the square root of as
many users. A replaced user may change all B sums, so that the noise of each grows with B, and users toss several coins for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Law, Views, require_counts
from ldpaudit.mechanisms.shared.independent_bits import shifted_binomials
from ldpaudit.mechanisms.shared.parameters import integer, integers
from ldpaudit.mechanisms.shared.yes_no_answers import Answers, YesOrNo, yes_counts


@dataclass(frozen=True, slots=True)
class ShuffledSelection(YesOrNo):
    r"""A user sends the number of each question that gets a yes, and of every question again for each head of their fair coins.

    All that is seen is how often each question was sent. An input is the tuple of the questions to which one user says yes;
    what the others answer is known to the adversary, who takes it off. A view is the row of the counts of all questions.

    Parameters
    ----------
    users : int
        Number n of users, at least 1.
    questions : int
        B, from 2 to 2**20.
    coins : int
        Fair coins that a user tosses for each question, at least 1; for all users together, at most 2**62.

    Examples
    --------
    >>> m = ShuffledSelection(users=1000, questions=4, coins=12)
    >>> m.expected_messages, m.message_bits
    (Fraction(28, 1), 2)
    >>> m.select([(2,)] * 600 + [(0, 1)] * 400, np.random.default_rng(0))
    2
    """

    title = "selection by labelled binary sums, shuffled"
    model = "shuffled"

    users: int
    questions: int
    coins: int

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 62), questions=(2, 1 << 20))
        integer(self, "coins", 1, (1 << 62) // self.users)

    @property
    def noise(self) -> int:
        """Coins of all users for one question."""
        return self.users * self.coins

    @property
    def expected_messages(self) -> Fraction:
        """That a user who says yes to all questions sends, on average: no one sends more."""
        return self.questions * (1 + Fraction(self.coins, 2))

    @property
    def message_bits(self) -> int:
        """Length of a message, the number of a question, in bits."""
        return (self.questions - 1).bit_length()

    @property
    def view_length(self) -> int:
        return self.questions

    def sample(self, x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        return rng.binomial(self.noise, 0.5, (size, self.questions)) + yes_counts({x: 1}, self.questions)

    def law(self, x: Answers) -> Law:
        """Law on rows of counts: products of shifted binomial probabilities."""
        self.require_input(x)
        columns = [(self.noise, sent) for sent in yes_counts({x: 1}, self.questions).tolist()]
        return shifted_binomials(columns, Fraction(1, 2), [range(self.noise + 2)] * self.questions)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased answers of one user, a 1 for each yes, from each view."""
        return np.asarray(views, dtype=np.float64) - self.noise / 2

    def run_on_counts(self, counts: Mapping[Answers, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, from how many users give the same answers: every question's coins are drawn at once, whoever tossed them."""
        tossed = self.coins * require_counts(self, counts)
        heads = rng.binomial(tossed, 0.5, self.questions)
        return (yes_counts(counts, self.questions) + heads).astype(np.float64) - tossed / 2
