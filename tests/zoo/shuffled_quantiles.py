from fractions import Fraction

import numpy as np

from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from tests.zoo import Broken, Refusal, Zoo, blanket_lost, broken, no_data, no_inputs
from tests.zoo.range_queries import DELTA, own_messages_are_sent_twice

ALONE = ShuffledQuantiles(users=1, cells=4, tau=2, rho=12)


ZOO = Zoo(
    small=(ShuffledQuantiles(users=1, cells=2, tau=1, rho=3), ShuffledQuantiles(users=2, cells=3, tau=1, rho=1)),
    at_one=(ALONE,),
    broken=(
        broken("most of each blanket is lost", ALONE, rho=2),
        Broken("a node is sent twice", ALONE,
               lambda x, size, rng: own_messages_are_sent_twice(ALONE.ranges)(int(ALONE.cell([float(x)])[0]), size, rng)),
    ),
    refused=(
        Refusal("cells", lambda: ShuffledQuantiles(3, 1, 2, 2)),
        *no_data(r"in \[0, 1\]", ALONE, [0.5, 1.5], [float("nan")]),
        Refusal("0 < share < 1", lambda: ALONE.quantile(np.ones(4), 1)),
        *no_inputs("input among", ALONE, Fraction(1, 2)),
    ),
    delta=DELTA,
    mutants=blanket_lost(ShuffledQuantiles(1024, 8, tau=10, rho=12), 0.05, "each blanket"),
)  # fmt: skip
