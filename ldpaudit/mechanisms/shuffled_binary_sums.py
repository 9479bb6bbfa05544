r"""Binary sums for all values at once, shuffled: users send the label of their value, and each label with a small probability.

The one-message binary sum of Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, as Balcer and Cheu 2020 run it, once for each value.
GGKPV 2019 (section 1.3) names the reduction and dismisses it, because a user who sends the zeros as well sends k messages.
Here only ones are sent, with the value's label: a user sends :math:`1 + k \gamma` messages on average.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Views, counted
from ldpaudit.mechanisms.shared.coins import held
from ldpaudit.mechanisms.shared.independent_bits import MessageCounts, shifted_binomials
from ldpaudit.mechanisms.shared.parameters import integers, probability

WATCHED = 16
"""A view shows the count of every label, where there are no more; else of labels 0 and 1, and the others' total."""


@dataclass(frozen=True, slots=True)
class ShuffledBinarySums(MessageCounts):
    r"""Every user sends the label of the value that they hold, and every label, their own included, with probability gamma.

    The shuffler hides who sent what, so that all that is seen is how often each label was sent. An input is what one user
    holds; what the others hold is known to the adversary, who takes it off, so that nothing depends on it: only their part of
    the blanket is noise. An absent user, the input None, sends no blanket either, and there are ``users - 1`` of them.

    A view is a row of counts: of every label, where there are at most 16, else of labels 0 and 1, and the total of all
    others. For the inputs 0, 1 and None these are sufficient, and any two values are alike.

    Parameters
    ----------
    users : int
        Number n of users, at least 1.
    values : int
        k, at least 2; inputs are ``range(values)``.
    gamma : Fraction
        Probability of each label in each user's blanket, in (0, 1).

    Examples
    --------
    >>> m = ShuffledBinarySums(users=10**8, values=4, gamma=Fraction(1, 10**6))
    >>> m.expected_messages, m.message_bits
    (Fraction(250001, 250000), 2)
    >>> found = m.run_on_counts({0: 99_999_000, 3: 1000}, np.random.default_rng(0))
    >>> bool(np.abs(found - [99_999_000, 0, 0, 1000]).max() < 50)
    True
    """

    title = "labelled binary sums, shuffled"

    users: int
    values: int
    gamma: Fraction

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 62), values=2)
        probability(self, "gamma")

    @property
    def inputs(self) -> range:
        return range(self.values)

    @property
    def expected_messages(self) -> Fraction:
        """That a user sends, on average."""
        return 1 + self.values * self.gamma

    @property
    def message_bits(self) -> int:
        """Length of a message, a label, in bits."""
        return (self.values - 1).bit_length()

    @property
    def shown(self) -> int:
        """How many labels' counts a view shows one by one."""
        return self.values if self.values <= WATCHED else 2

    def columns(self, x: int | None) -> list[tuple[int, int]]:
        """(coins, messages) of every count of a view: its blanket is Bin(coins, gamma), the messages are the input's."""
        present, rest = self.users - (x is None), self.values - self.shown
        watched = [(present, int(x == label)) for label in range(self.shown)]
        return [*watched, (present * rest, int(x is not None and x >= self.shown))] if rest else watched

    def law(self, x: int | None) -> Law:
        """Law on rows of counts: products of shifted binomial probabilities."""
        self.require_input(x)
        return shifted_binomials(self.columns(x), self.gamma, [range(coins + 2) for coins, _ in self.columns(0)])

    @property
    def expected_noise(self) -> Fraction:
        """Mean of a label's blanket, gamma n: what an estimate takes off."""
        return self.gamma * self.users

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased counts of labels 0 and 1, or of all where all are shown, among one user, from each view."""
        return np.asarray(views, dtype=np.float64)[:, : self.shown] - float(self.expected_noise)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: one value per user to the estimated count of every value, shape ``(values,)``.

        Whoever is there sends a blanket, so that `users` is only what privacy counts on. Raises ValueError for what is no value,
        and where nobody is there; Unsupported where there are more than 2**26 values.
        """
        return self.run_on_counts(counted(data), rng)

    def run_on_counts(self, counts: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, from how many users hold each value: every label's blanket is drawn at once, whoever sent it."""
        values, users = held(self, counts, self.values), sum(counts.values())
        noise = rng.binomial(users, float(self.gamma), self.values)
        return (values + noise).astype(np.float64) - float(self.gamma * users)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Count of the users who hold each value, shape ``(values,)``."""
        return held(self, counted(data), self.values).astype(np.float64)
