"""THRESH and HEAVYTHRESH: exact epsilon over the one that is claimed, for noise levels a and b as shares of the claim.

    python -m benchmarks.thresh [--heavy]

A table for each reading of what users compare with before the first update. HEAVYTHRESH's b is a reading of ours, 2 artanh(A /
(log(T) s')), and its map is about that one.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from benchmarks.experiment import options
from ldpaudit import Enclosure, Rigour, account
from ldpaudit.mechanisms import HeavyThresh, HeavyThreshRepaired, Thresh, ThreshRepaired

USERS, EPOCHS, DELTA = 10**6, 1024, Fraction(1, 20)
Instance = Callable[[float, float, int], Thresh | HeavyThresh]
"""From shares of epsilon, and what users compare with before the first update."""
A_SHARES = (1 / 16, 0.12, 0.13, 0.2, 0.249, 0.26, 0.35, 0.49, 0.55, 0.75, 0.99)
B_SHARES = (1 / 16, 0.12, 0.13, 0.2, 0.249, 0.26, 0.35, 0.49, 0.55, 0.75, 0.99, 1.5, 4.0)


def instance(a_share: float, b_share: float, start: int, kind: type[Thresh] = Thresh) -> Thresh:
    """Printed parameters whose noise levels are these shares of epsilon, but for rounding the number of rounds."""
    epsilon = Thresh(USERS, EPOCHS, 1_000, Fraction(1), DELTA, USERS).a / Fraction(a_share)
    noise = math.sqrt(math.log(12 * EPOCHS / DELTA) / (2 * USERS))
    spread = (noise + math.sqrt(2) * noise / (b_share * float(epsilon))) / math.log2(EPOCHS)
    rounds = round(math.log(12 * USERS * EPOCHS / DELTA) / (2 * spread**2))
    return kind(USERS, EPOCHS, max(rounds, 1), epsilon, DELTA, USERS, start=start)


def heavy(a_share: float, b_share: float, start: int, kind: type[HeavyThresh] = HeavyThresh) -> HeavyThresh:
    """The same of HEAVYTHRESH with three words and few rows, which suffice for both costs in one epoch; more cost no more."""

    def made(rounds: int, epsilon: Fraction) -> HeavyThresh:
        return kind(USERS, EPOCHS, rounds, epsilon, DELTA, USERS, domain=3, start=start, rows=64)

    epsilon = made(1_000, Fraction(1)).a / Fraction(a_share)
    sizes = made(1_000, Fraction(1)).sizes
    noise = math.sqrt(2 * math.log(16 * sizes.domain * EPOCHS / DELTA) / USERS)
    step = noise / (math.log2(EPOCHS) * math.tanh(b_share * float(epsilon) / 2))
    return made(max(1, round(2 * math.log(16 * sizes.rows * USERS * EPOCHS / DELTA) / step**2)), epsilon)


def ratio(m: Thresh | HeavyThresh) -> Enclosure:
    """Exact over claimed epsilon."""
    found = account(m).epsilon(0)
    low, high = (Fraction(end) / m.epsilon for end in (found.low, found.high))
    return Enclosure.of(low, high, rigour=found.rigour, source=found.source)


def table(start: int, make: Instance, title: str) -> None:
    """Rows a/epsilon, columns b/epsilon; Assumption 4.2 is a/epsilon < 1 and holds in every row."""
    print(f"\n{title}, compared with {start} before the first update: exact / claimed epsilon, from below")
    print("a/eps  b/eps:" + "".join(f"{share:8.3g}" for share in B_SHARES))
    for a_share in A_SHARES:
        cells = []
        for b_share in B_SHARES:
            found = ratio(make(a_share, b_share, start))
            flag = "~" if found.rigour < Rigour.EXACT else "*" if found.low > 1 else " "
            cells.append(f"{math.floor(found.low * 1000) / 1000:7.3f}{flag}")
        print(f"{a_share:12.3g} " + "".join(cells))
    print("* the claim is false; ~ enclosed, not exact")


if __name__ == "__main__":
    if options(__doc__, heavy=False).heavy:
        printed, repaired, title = heavy, partial(heavy, kind=HeavyThreshRepaired), HeavyThresh.title
    else:
        printed, repaired, title = instance, partial(instance, kind=ThreshRepaired), Thresh.title
    table(-1, printed, title)
    table(0, printed, title)
    table(-1, repaired, f"{title}, repaired")
