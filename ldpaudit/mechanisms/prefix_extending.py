r"""PEM: the values that most hold, found by ever longer prefixes, of which always as many are kept as values are wanted.

Wang, Li, Jha 2018, over local hashing as there, or over the sign oracle, whose values may have 64 bits. As TreeHist, but without a
threshold: a group of users for each length, the last one of whole values, and the first one of more bits.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.shared.parameters import integers, odds
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, Partitioned, PartitionedSign
from ldpaudit.mechanisms.shared.public_questions.server_queries import Children, Decoding, Question
from ldpaudit.mechanisms.tree_histogram import WIDEST, HashedAnswers
from ldpaudit.profile import Number


class _Extending(Partitioned):
    """Question number l asks for a prefix that is `width` bits longer than the one before; the first, than `top` prefixes' number.

    Parameters
    ----------
    top : int
        Number of values that are named, and of prefixes that are kept, at least 1.
    width : int
        Bits by which a prefix grows, from 1 to 24; the first one has these and those that number `top` prefixes.
    """

    top: int
    width: int

    def __post_init__(self) -> None:
        Asked.__post_init__(self)  # its share is no parameter
        integers(self, top=(1, 1 << 20), width=(1, WIDEST))
        if not self.questions:
            raise ValueError(f"{type(self).__name__} needs values of more bits than the first prefix, got {self.bits} bits")

    @property
    def share(self) -> Fraction:
        """Of all groups, the last one is asked for the whole value."""
        several = len(self.questions)
        return Fraction(several, several + 1)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The leading bits of a value, but for all of them."""
        return tuple(self.whole[self.bits - length :] for length in range(_bits(self.top) + self.width, self.bits, self.width))

    def decoding(self, users: int) -> Decoding:
        """Length by length the prefixes that are counted most among the longer ones of those before."""
        kept, length = np.zeros(1, dtype=np.int64), 0
        for number, question in enumerate((*self.questions, self.whole)):
            step = len(question) - length
            counts = yield Children(number, kept, step)
            most = np.argsort(-counts, axis=None, kind="stable")[: self.top]
            kept, length = kept[most >> step] << step | most & ((1 << step) - 1), len(question)
        found = zip((int(x) % (1 << 64) for x in kept), counts.ravel()[most].tolist(), strict=True)
        return {x: count for x, count in found if x < self.domain}


@dataclass(frozen=True, slots=True)
class PrefixExtending(HashedAnswers, _Extending):
    """One answer of local hashing per user: of a public prefix of their value, or of the whole value.

    The server keeps, length by length, the `top` prefixes that are counted most among those that extend the ones it kept, and
    names the values that it kept last, with the last group's counts. A view is a row ``(i, a, b, y)``: the user, their own
    function of local hashing, and what it makes of the prefix, randomized.

    Examples
    --------
    >>> m = PrefixExtending.for_epsilon(4.0, users=10**6, domain=1 << 24)
    >>> m.g, [len(question) for question in m.questions]
    (56, [13, 19])
    """

    title = "PEM"

    users: int
    domain: int
    top: int
    width: int
    g: int
    p: Fraction
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(cls, epsilon: Number, users: int, domain: int, top: int = 128, width: int = 6, seed: int = 0) -> Self:
        """Optimal local hashing that is epsilon-LDP, ``g = round(e**epsilon) + 1``; a smaller width for short values."""
        oracle = LocalHashing.optimal(epsilon, 2)
        return cls(users, domain, top, _fitting(domain, top, width), oracle.g, oracle.p, seed)


@dataclass(frozen=True, slots=True)
class SignPrefixExtending(PartitionedSign, _Extending):
    """One sign per user, told with probability `p`: as `PrefixExtending`, over the sign oracle. A view is a row ``(i, y)``.

    Examples
    --------
    >>> m = SignPrefixExtending.for_epsilon(4.0, users=10**6, domain=1 << 64)
    >>> len(m.questions), str(m.share)
    (9, '9/10')
    """

    variant = "signs"
    title = "PEM over the sign oracle"

    users: int
    domain: int
    top: int
    width: int
    p: Fraction
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(cls, epsilon: Number, users: int, domain: int, top: int = 128, width: int = 6, seed: int = 0) -> Self:
        """The most accurate signs that are epsilon-LDP: ``p = e**epsilon / (e**epsilon + 1)``, rounded down; and as there."""
        return cls(users, domain, top, _fitting(domain, top, width), odds(epsilon), seed)


def _bits(number: int) -> int:
    """Bits that number this many things."""
    return max(0, number - 1).bit_length()


def _fitting(domain: int, top: int, width: int) -> int:
    """A width that leaves a prefix shorter than the values, where there is one."""
    return min(width, max(1, _bits(domain) - _bits(top) - 1))
