"""What is looked at of every system that names the values that many hold: privacy, costs, and what is missed or miscounted.

The sources print its error without constants; here the constants are those of our constructions, which are proved, and the
source's rate is written with the constant 1 beside them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims import sign_oracle
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, derived, remembered, zipf
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.public_questions.deviation import deviation
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign
from ldpaudit.mechanisms.sign_oracle import SignOracle

BETA = Fraction(1, 20)  # how 'with high probability' is read
NO_CONSTANT = "the source prints no constant; here it is 1, beside the proved constants of our construction"
_TWO = "two signs a user, with half of epsilon each, are a construction of ours"

_ORACLE = "the talk computes this expectation of the oracle, which counts cells in our construction"
_TRANSFORMED = 20  # bits of a cell up to which the bias of its count is found by a transform


@dataclass(frozen=True)
class Setting:
    """Parameters of a system that names values, in two forms: users send one sign each, or two."""

    one: ClassVar[Any]
    two: ClassVar[Any]
    epsilon: Fraction  # above 0
    users: int  # n and |X|
    domain: int
    width: int = 8  # bits of a fragment or symbol

    @property
    def mechanism(self) -> Any:
        """With one sign a user."""
        return self.one.for_epsilon(self.epsilon, self.users, self.domain, self.width, beta=BETA)

    @property
    def split(self) -> Any:
        """With two signs a user."""
        return self.two.for_epsilon(self.epsilon, self.users, self.domain, self.width, beta=BETA)


def miscount(m: PartitionedSign, users: int, values: int) -> Enclosure:
    r"""The error that a named value's count exceeds with probability at most :math:`\beta/2`, whichever are named.

    Those are values that somebody holds, and at most `values` more. How these were chosen depends on who was asked for them,
    but not on what the others told in answer to the last question: given who they are, every such value's count has the
    same law. See `deviation`, which has the formula. Not tight. Source: Bernstein's inequality.

    ``m``: with a `beta`. Its questions, vectors and hash functions are taken for independent and uniform ones;
    ``users``, ``values``: n, at least 1; most values that are asked for and that nobody holds. Of TreeHist 0: it asks
    for such values with probability at most :math:`\beta/2`. Returns in users. INTERVAL.
    """
    beta: Fraction = m.beta  # type: ignore[attr-defined]
    return narrow(lambda: deviation(m.chances[1], users, users + values, beta / 2), "Bernstein", Rigour.INTERVAL)


def rows(where: str, s: Setting, rate: float, level: Callable[[Any, int], Enclosure]) -> tuple[Printed, ...]:
    """Privacy, costs and detection, of one sign a user and of two; `level` is the count from which on values are named."""
    one, two = s.mechanism, s.split
    bias = sign_oracle.largest_bias(SignOracle(one.users, 1 << min(len(one.questions[0]), _TRANSFORMED), one.p))
    said, bits = "values that this many users hold are named, at beta = 1/20", "bits that a user sends"
    return (
        derived(where, "a user's report is epsilon-LDP", s.epsilon, account(one).epsilon(0)),
        derived(where, bits, 1.0, sign_oracle.report_bits(one)),
        remembered(where, said, rate, level(one, s.users), attained=False, variant=NO_CONSTANT),
        derived(where, "both signs of a user are epsilon-LDP", s.epsilon, account(two).epsilon(0), variant=_TWO),
        derived(where, bits, 1.0, sign_oracle.report_bits(two), variant=_TWO),
        remembered(where, said, rate, level(two, s.users), attained=False, variant=f"{_TWO}; {NO_CONSTANT}"),
        derived(where, "largest bias of a cell's count, in users per user", 0.0, bias, variant=_ORACLE),
    )


def errors(where: str, m: Asked, level: Enclosure, error: Enclosure) -> tuple[Accuracy, ...]:
    """Simulated: the largest count of a value that is not named, and the largest error of a named value's count.

    One value is held by as many users as the detection level asks for, and the others hold Zipf data; none where there are
    too few users.
    """
    holders = math.floor(level.high) + 1
    if holders > m.users:
        return ()

    def data(rng: np.random.Generator) -> NDArray[np.uint64]:
        others = zipf(m.users - holders, min(m.domain, 1 << 40), rng).astype(np.uint64)
        return np.concatenate([np.full(holders, m.domain - 1, dtype=np.uint64), others])

    kind = f"n = {m.users}, {holders} hold one value, others Zipf; in users; our constants"
    return (
        Accuracy(where, f"count of a value that is not named, {kind}", level.high, float(BETA), data, largest_missing),
        Accuracy(where, f"error of a named value's count, {kind}", error.high, float(BETA), data, largest_error),
    )


def largest_missing(data: NDArray[np.uint64], named: Mapping[int, float]) -> float:
    """The largest count of a value that is not named."""
    values, counts = np.unique(data, return_counts=True)
    absent = ~np.isin(values, np.array(list(named), dtype=np.uint64))
    return float(counts[absent].max(initial=0))


def largest_error(data: NDArray[np.uint64], named: Mapping[int, float]) -> float:
    """The largest error of a count among the values that are named."""
    return max((abs(found - np.count_nonzero(data == np.uint64(x))) for x, found in named.items()), default=0.0)
