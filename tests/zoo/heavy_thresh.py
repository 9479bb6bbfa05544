from dataclasses import fields
from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import reject, strategies as st
from numpy.typing import NDArray

from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from tests.zoo import Broken, Mutant, Refusal, Sample, Zoo, mutant, no_data, no_inputs, refusals

F = Fraction
FORCED = HeavyThresh(4_000, 4, 2_000, F(6, 5), F(68, 1317), 4_000, domain=6, rows=60)
"""Every user's first vote is yes."""
FREE = HeavyThresh(2_500, 6, 800, F(3, 5), F(191, 4164), 2_500, domain=6, start=0, rows=60)
"""The first threshold is above every histogram; and epsilon is 1, not 3/5 as Theorem 5.1 says."""
REPAIRED = HeavyThreshRepaired(3_000, 6, 1_500, F(3), F(57, 1067), 3_000, domain=6, rows=60)


def uncounted(m: HeavyThresh, name: str) -> Sample:
    """Votes, or reports, as they are without a counter of them."""
    return lambda x, size, rng: m.published(
        [c._replace(**{name: getattr(free, name)}) for c, free in zip(m.transcript(x), m.uncounted(x), strict=True)], size, rng)


def a_user_without_budget_sends_its_first_word(x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    # In place of a fair sign.
    shown = FREE.transcript(x)
    first = next(s.sent for s in shown if s.sent)
    return FREE.published([s._replace(sent=s.sent or first) for s in shown], size, rng)


def only_yes_votes_are_randomized(x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    views = REPAIRED.sample(x, size, rng)
    for epoch, shown in enumerate(REPAIRED.transcript(x)):
        if not shown.vote:
            views[:, 3 * epoch] = 0
    return views


WORDS = HeavyThresh(10_000, 4, 3, F(1), F(1, 20), 10_000, domain=5)
SOUND = np.tile([1, 1, 1, 0, 0], (4, 10_000, 1))
PRINTED = HeavyThresh(**{field.name: getattr(REPAIRED, field.name) for field in fields(REPAIRED)})
"""Its counter is checked before it grows."""


@st.composite
def anywhere(draw: st.DrawFn) -> HeavyThresh:
    """HEAVYTHRESH with random parameters, which need to be large to fit together."""
    users, epochs, rounds = draw(st.integers(500, 10**5)), draw(st.integers(2, 7)), draw(st.integers(1, 5_000))
    domain, rows, start = draw(st.integers(2, 6)), draw(st.integers(1, 70)), draw(st.integers(-1, 0))
    epsilon, owner = draw(st.fractions(F(1, 2), 8, max_denominator=8)), draw(st.sampled_from([HeavyThresh, HeavyThreshRepaired]))
    try:
        return owner(users, epochs, rounds, epsilon, F(1, 20), users, domain, start=start, rows=rows)
    except ValueError:
        reject()


ZOO = Zoo(
    small=(
        HeavyThresh(1_000, 2, 100, F(1), F(1, 20), 1_000, domain=3, rows=3),
        HeavyThresh(1_000, 3, 400, F(2), F(1, 20), 500, domain=4, subgroups=2, start=0, rows=4),
        # Histograms may cancel in both rows.
        HeavyThresh(1_000, 3, 500, F(4), F(1, 20), 1_000, domain=3, start=0, rows=2, seed=2),
        HeavyThresh(2_000, 2, 100, F(1), F(1, 20), 2_000, domain=2, rows=2, seed=1),
        HeavyThreshRepaired(2_000, 3, 300, F(3), F(1, 20), 2_000, domain=3, start=0, rows=4),
    ),
    at_one=(FORCED, FREE, REPAIRED),
    broken=(
        Broken("votes are not counted", FORCED, uncounted(FORCED, "vote")),
        Broken("every epoch has a fresh counter of reports", FREE, uncounted(FREE, "sent")),
        Broken("a user without budget sends its first word", FREE, a_user_without_budget_sends_its_first_word),
        Broken("only yes votes are randomized", REPAIRED, only_yes_votes_are_randomized),
        Broken("the counter is checked before it grows", REPAIRED, PRINTED.sample),
    ),
    refused=(
        *refusals("need", HeavyThresh(10_000, 4, 10, F(1), F(1, 2), 5_000, domain=4),
                  users=[0], epochs=[1], rounds=[0, 10**6], delta=[F(0), F(1)], epsilon=[F(0)], smallest=[10_001],
                  subgroups=[3], start=[1, -2], domain=[1], rows=[-1], seed=[-1]),
        *(Refusal("needs a > 0, got a=-", partial(kind, 2_000, 2, 100, F(1), F(1, 20), 100, domain=2))
          for kind in (HeavyThresh, HeavyThreshRepaired)),
        *no_inputs("4 histograms of 3 of 5 words", WORDS, ((1, 2, 3), (0, 1, 0, 1)), ((0, 1, 2, 3), (0, 1, 2, 1)),
                   *((stream, (0,) * 4) for stream in ((0, 1, 2, 5), (0, 1, 2, ((0, 2),)), (0, 1, 2, ((0, 1), (0, 2))),
                                                       (0, 1, 2, ((0, 4), (1, -1))), (None,) * 4))),
        *no_data("needs", WORDS, SOUND[:3], SOUND[:, :5], 2 * SOUND, np.concatenate([SOUND, SOUND])),
    ),
    mutants=(
        mutant("epsilon is twice itself", FORCED, epsilon=FORCED.epsilon * 2),
        mutant("epsilon is three times itself", FREE, epsilon=FREE.epsilon * 3),
        Mutant("the counter is checked before it grows", REPAIRED, PRINTED),
    ),
    anywhere=anywhere(),
)
