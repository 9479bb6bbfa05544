"""Exact coins and uniform numbers from bytes, one after the other: what every client does in the same way."""

import os
from collections.abc import Callable, Iterator
from fractions import Fraction


def digits(p: Fraction) -> Iterator[int]:
    """Base-256 digits of a number in [0, 1), until only zeros are left."""
    numerator, denominator = p.as_integer_ratio()
    while numerator:
        digit, numerator = divmod(numerator * 256, denominator)
        yield digit


class Randomness:
    """Draws that take as many bytes as they need, in order.

    ``take``: as many independent uniform bytes as it is asked for, by default the operating system's.
    """

    def __init__(self, take: Callable[[int], bytes] = os.urandom) -> None:
        self.take = take

    def uniform(self, n: int) -> int:
        """A number of ``range(n)``, each as likely: the low bits of a big-endian number, again where these are n or more."""
        bits = (n - 1).bit_length()
        while bits:
            if (drawn := int.from_bytes(self.take(-(-bits // 8)), "big") & ((1 << bits) - 1)) < n:
                return drawn
        return 0

    def coin(self, p: Fraction) -> bool:
        """True with probability exactly `p`: the first byte that differs from the digit of `p` decides, by being less."""
        if p == 1:
            return True
        for digit in digits(p):
            (byte,) = self.take(1)
            if byte != digit:
                return byte < digit
        return False
