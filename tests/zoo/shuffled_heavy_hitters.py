import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from tests.zoo import Broken, Refusal, Zoo, blanket_lost, broken, no_data, no_inputs, refusals
from tests.zoo.range_queries import DELTA, own_messages_are_sent_twice

ALONE = ShuffledHeavyHitters(users=1, domain=4, tau=2, rho=12, threshold=1)
THREE = ShuffledHeavyHitters(3, 4, 2, 2, 1)


def the_longest_prefixes_have_no_blanket(x: int, size: int, rng: np.random.Generator) -> Views:
    (number, shares), (_, own), _ = ALONE.groups(x)
    blanket = rng.multinomial(number, [float(p) for p in shares], (size, ALONE.oracles))
    blanket[:, -1] = 0
    return np.asarray((blanket + rng.multinomial(1, [float(p) for p in own], (size, ALONE.oracles))).reshape(size, -1))


ZOO = Zoo(
    small=(
        ShuffledHeavyHitters(users=1, domain=2, tau=1, rho=3, threshold=1),
        ShuffledHeavyHitters(users=3, domain=2, tau=2, rho=1, threshold=2),
        ShuffledHeavyHitters(users=1, domain=3, tau=1, rho=2, threshold=1),
    ),
    at_one=(ALONE,),
    broken=(
        broken("most of each blanket is lost", ALONE, rho=2),
        Broken("the longest prefixes have no blanket", ALONE, the_longest_prefixes_have_no_blanket),
        Broken("a prefix is sent twice", ALONE, own_messages_are_sent_twice(ALONE)),
    ),
    refused=(
        Refusal("domain", lambda: ShuffledHeavyHitters(3, 1, 2, 2, 1)),
        *refusals("1 <= threshold <= 3", THREE, threshold=[0, 4]),
        Refusal("less noise or more users", lambda: ShuffledHeavyHitters.with_few_kept(10, 4, 2, 2)),
        Refusal("0 < beta < 1", lambda: THREE.error_of_all(1)),
        *no_data("3 users, got 2", THREE, [0, 1]), *no_data(r"range\(4\)", THREE, [0, 1, 4]),
        *no_data("at least one user", THREE, []),
        *no_inputs("input among", THREE, 1),
    ),
    delta=DELTA,
    mutants=blanket_lost(ShuffledHeavyHitters(1024, 8, tau=10, rho=12, threshold=100), 0.05, "each blanket"),
)
