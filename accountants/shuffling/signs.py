"""What shuffling does to randomized signs in one user's public columns."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ldpaudit.accountants.shuffling.bounds import BinaryBound


class Signed(Protocol):
    """A mechanism whose report is the user's index and one sign, told with probability p."""

    @property
    def p(self) -> Fraction:
        """Of the true sign."""

    @property
    def index(self) -> int:
        """The viewed user."""

    @property
    def apart(self) -> tuple[int, int]:
        """Two values with opposite signs."""

    def signs(self, x: Any, index: Any) -> Any:
        """Signs of values."""


def one_sign(m: Signed, users: int) -> BinaryBound:
    """Binary randomized response of the sign, in one public column: every value has one of the two signs."""
    first, second = m.apart
    sign = int(m.signs(first, np.array([m.index]))[0])
    return BinaryBound(m.p, users, (first, second), str((m.index, sign)))
