"""What the calculators of the error of frequency estimation are asked, and how they answer."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ldpaudit.core.number import brief
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number

_MOST_USERS = 1 << 40
"""Beyond, the floats that guide the searches have no digits left."""
_LARGEST_EPSILON = 100
"""Nats: beyond, no message is private in any sense, and float estimates overflow."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Users who hold one of B values each, and what a protocol promises them."""

    users: int  # n and B
    values: int
    epsilon: Fraction  # the guarantee
    delta: Fraction
    beta: Fraction  # probability with which the error may be exceeded
    shuffled: int  # 1 for the single-message shuffled model, 0 for the local one

    @classmethod
    def of(cls, users: int, values: int, epsilon: Number, delta: Number, beta: Number, shuffled: int) -> Self:
        """From numbers of any type.

        Raises ValueError where one lies outside its domain.
        """
        inside = 1 <= users <= _MOST_USERS and values >= 2 and shuffled in (0, 1)
        if not (inside and 0 <= epsilon <= _LARGEST_EPSILON and 0 <= delta < 1 and 0 <= beta < Fraction(1, 2)):
            given = {"users": users, "values": values, "epsilon": epsilon, "delta": delta, "beta": beta, "shuffled": shuffled}
            found = ", ".join(f"{name}={brief(value)}" for name, value in given.items())
            wanted = "1 <= users <= 2**40, values >= 2, 0 <= epsilon <= 100, 0 <= delta < 1, 0 <= beta < 1/2, shuffled 0 or 1"
            raise ValueError(f"a limit of frequencies needs {wanted}, got {found}")
        return cls(users, values, Fraction(epsilon), Fraction(delta), Fraction(beta), shuffled)


def answer(error: Fraction, source: str, delta: Number = 0) -> Enclosure:
    """An error that no protocol beats, in users; of 0, that it says nothing. At delta above 0 all users run one randomizer."""
    source = f"{source}; of one randomizer for all users" if delta else source
    said = source if error else f"vacuous: {source}, excludes no error"
    return Enclosure(float(error), float(error), Rigour.INTERVAL, said)
