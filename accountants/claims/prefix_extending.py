"""What Wang, Li and Jha 2018 say of PEM's privacy; of its accuracy we recall no bound with constants."""

from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, remembered
from ldpaudit.mechanisms.prefix_extending import PrefixExtending, SignPrefixExtending

_SIGNS = "over the sign oracle it is a construction of ours"


@dataclass(frozen=True)
class Setting:
    """Parameters of PEM."""

    epsilon: Fraction  # above 0
    users: int  # n and |X|, at most 2**30
    domain: int
    top: int = 128  # values that are named, and bits by which prefixes grow
    width: int = 6

    @property
    def mechanism(self) -> PrefixExtending:
        """Over local hashing."""
        return PrefixExtending.for_epsilon(self.epsilon, self.users, self.domain, self.top, self.width)


def printed(s: Setting) -> tuple[Printed, ...]:
    """A user answers one question."""
    signs = SignPrefixExtending.for_epsilon(s.epsilon, s.users, s.domain, s.top, s.width)
    where, said = "WLJ18, report", "a user's report is epsilon-LDP"
    return (
        remembered(where, said, s.epsilon, account(s.mechanism).epsilon(0)),
        remembered(where, said, s.epsilon, account(signs).epsilon(0), variant=_SIGNS),
    )


EXAMPLES = (
    Setting(Fraction(1), 10**6, 1 << 30),
    Setting(Fraction(4), 10**5, 1 << 24, 32, 4),
    Setting(Fraction(1, 2), 10**7, 1 << 20, 16, 8),
)
"""Millions of users; large epsilons, where local hashing pays; and few values."""
