"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 say of fewer users of a shuffled protocol, and what is found.

Subset selection of one of two values is binary randomized response, the least randomizer for which it matters.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Failure, Printed
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.plan import Shuffle

_FEWER = Failure(
    "At p = 3/4 and epsilon = ln 2, two of three users have delta = 0.1875, and all three have 0.140625.",
    "Lemma 3.10 leaves users out, which costs nothing in the local model, but in the shuffled model the remaining users hide less.",
    "The step is valid for local protocols; a shuffled protocol of fewer users has the guarantee that is certified for their "
    "number.",
)

READING = (
    "that Lemma 3.10 still applies, which it calls evident, is said of the lemma's protocol: the same randomizer, and an analyzer "
    "that adds messages of a fixed item; that the error is large, (8) and Table 1's root of B, may be true all the same"
)


@dataclass(frozen=True)
class Setting:
    """A shuffled protocol, and how many of its users are left."""

    users: int  # n, and how many of them are left, from 1 to n
    active: int
    k: int = 2  # number of values, and of those in a report
    d: int = 1
    p: Fraction = Fraction(3, 4)  # probability that a report contains the user's value
    epsilon: Fraction = Fraction(math.log(2))  # at which the two deltas are compared, in nats, at least 0

    def __post_init__(self) -> None:
        if not (1 <= self.active <= self.users and self.epsilon >= 0):
            found = f"active={self.active}, users={self.users} and epsilon={self.epsilon}"
            raise ValueError(f"Setting needs 1 <= active <= users and epsilon >= 0, got {found}")
        _ = self.mechanism  # refuses the rest

    @property
    def mechanism(self) -> SubsetSelection:
        """One user's randomizer."""
        return SubsetSelection(k=self.k, d=self.d, p=self.p)


def lemma_3_19(s: Setting) -> Printed:
    """A step of the proof: with fewer users of the same shuffled protocol its guarantee is still met.

    It is what Lemma 3.10 says in the local model, where a user does not hide among others. Here the messages that the
    analyzer adds are known, and hide nobody.
    """
    whole, rest = (account(Shuffle(s.mechanism, n)).delta(s.epsilon) for n in (s.users, s.active))
    sentence = f"delta at epsilon={float(s.epsilon):g} of {s.active} users, which {s.users} users have"
    return Printed("GGKPV Lemma 3.19, proof", sentence, whole.high, rest, reading=READING, failure=_FEWER)


def printed(s: Setting) -> tuple[Printed, ...]:
    """The one statement."""
    return (lemma_3_19(s),)


EXAMPLES = Setting(3, 2), Setting(1000, 500, epsilon=Fraction(1, 4)), Setting(3, 3)
"""The least example, three users of binary randomized response; half of 1,000; and all users, where nothing is lost."""
