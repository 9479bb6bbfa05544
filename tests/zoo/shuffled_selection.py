from functools import partial

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.shuffled_selection import sufficient_coins
from ldpaudit.mechanisms.shared.yes_no_answers import Answers
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from tests.zoo import Broken, Refusal, Zoo, mutant, no_data

TWO = ShuffledSelection(users=6, questions=2, coins=4)
DELTA = 0.016311843882654647
"""At which 24 fair coins in each of two counts cost epsilon = 1."""
MANY = ShuffledSelection(users=100, questions=6, coins=4)


def one_toss_serves_all_questions(x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = TWO.sample(x, size, rng)
    own = np.isin(np.arange(TWO.questions), x)
    return np.asarray(views[:, :1] - own[0] + own)


ZOO = Zoo(
    small=(ShuffledSelection(2, questions=2, coins=2), ShuffledSelection(1, questions=3, coins=2), ShuffledSelection(3, 2, 1)),
    at_one=(TWO,),
    broken=(
        Broken("one toss serves all questions", TWO, one_toss_serves_all_questions),
        Broken("a yes is sent twice", TWO, lambda x, size, rng: TWO.sample(x, size, rng) + np.isin(np.arange(TWO.questions), x)),
    ),
    delta=DELTA,
    refused=(
        *(Refusal("ShuffledSelection needs", partial(ShuffledSelection, *sizes))
          for sizes in ((0, 2, 1), (5, 1, 1), (5, 2, 0), (1 << 40, 2, 1 << 40))),
        *no_data("ShuffledSelection needs a tuple of questions", TWO, [(2,)]), *no_data("needs at least one user", TWO, []),
        Refusal("epsilon > 0 and delta > 0", lambda: sufficient_coins(1, 0, 4)),
        Refusal("epsilon > 0 and delta > 0", lambda: sufficient_coins(0, DELTA, 4)),
    ),
    mutants=(mutant("a coin of four is lost", MANY, 0.01, coins=3), mutant("half of the users are gone", MANY, 0.01, users=50)),
)
