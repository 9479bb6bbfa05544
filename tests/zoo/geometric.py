from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from tests.zoo import Broken, Mutant, Zoo, mutant, refusals, tenth

EIGHT = Geometric.for_epsilon(1, bound=8)
CLAMPED = TruncatedGeometric.for_epsilon(1, bound=8)


def zero_is_drawn_with_either_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    magnitude = rng.geometric(float(1 - EIGHT.alpha), size) - 1
    return x + np.where(rng.random(size) < 0.5, magnitude, -magnitude)


def out_of_range_the_input_is_shown(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = CLAMPED.noised(x, size, rng)
    return np.where((views < 0) | (views > CLAMPED.bound), x, views)


COARSE = tenth(1 - EIGHT.alpha, up=True, of=20)


ZOO = Zoo(
    small=(Geometric(3, Fraction(1, 2)), TruncatedGeometric(1, Fraction(1, 3)), TruncatedGeometric(4, Fraction(4, 5)),
           TruncatedGeometric.for_epsilon(Fraction(5, 2), bound=6)),
    at_one=(EIGHT, Geometric.for_epsilon(1, bound=1000), CLAMPED, TruncatedGeometric.for_epsilon(1, bound=1)),
    broken=(
        Broken("alpha is for inputs one step apart", EIGHT,
               lambda x, size, rng: x + Geometric.for_epsilon(1, 1).noised(0, size, rng)),
        Broken("zero is drawn with either sign", EIGHT, zero_is_drawn_with_either_sign),
        Broken("large noise is cut off", EIGHT,
               lambda x, size, rng: x + np.clip(EIGHT.sample(x, size, rng) - x, -EIGHT.bound // 2, EIGHT.bound // 2)),
        Broken("the noise has no sign", EIGHT, lambda x, size, rng: x + rng.geometric(float(1 - EIGHT.alpha), size) - 1),
        Broken("out of range the input is shown", CLAMPED, out_of_range_the_input_is_shown),
        Broken("the noise is halved to stay in range", CLAMPED,
               lambda x, size, rng: np.clip(x + np.fix(CLAMPED.noised(0, size, rng) / 2).astype(np.int64), 0, CLAMPED.bound)),
    ),
    refused=(*refusals("needs 1 <= bound <= 9007199254740992, got bound=9007199254740993", EIGHT, bound=[2**53 + 1]),),
    mutants=(
        mutant("the range has one step less", EIGHT, alpha=Geometric.for_epsilon(1, bound=7).alpha),
        mutant("e is taken for 3", Geometric.for_epsilon(1, bound=1), alpha=Fraction(1, 3)),
        Mutant("1 - alpha is rounded up to a twentieth", EIGHT, Geometric(8, 1 - COARSE),
               lambda x, size, rng: x + rng.geometric(float(COARSE), size) - rng.geometric(float(COARSE), size)),
        mutant("alpha is cut to tenths", CLAMPED, alpha=tenth(CLAMPED.alpha)),
        mutant("half of the range is forgotten", CLAMPED, alpha=TruncatedGeometric.for_epsilon(1, 4).alpha),
    ),
)  # fmt: skip
