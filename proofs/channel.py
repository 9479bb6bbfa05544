"""Theorem: a channel is epsilon-LDP exactly for epsilon >= the log of the largest ratio of two entries of one column.

For each matrix it is checked anew, entry by entry, in rationals: there is nothing to derive that would hold of all of them.
"""

from fractions import Fraction
from operator import attrgetter

from ldpaudit.proofs._exhaustive import Exhaustive

_EXAMPLE = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 3), Fraction(2, 3)))


def prove() -> tuple[Exhaustive, ...]:
    """The theorem, which checks each matrix that it is asked about, and a small one at once.

    Raises ProofError naming the row or column of a matrix that does not check.
    """
    return (Exhaustive("Channel", "a channel given by its matrix", attrgetter("matrix"), _EXAMPLE),)
