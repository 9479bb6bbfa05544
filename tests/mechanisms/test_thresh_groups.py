"""THRESH on users who are known by their group: the same law as of users one by one, and laws of counts that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.mechanisms.shared.voting.thresh_groups import Counts, Group
from ldpaudit.mechanisms.thresh import Thresh

F = Fraction
MEANS = np.array([[0.3, 0.3], [0.5, 0.3], [0.5, 0.8], [0.4, 0.8], [0.0, 1.0], [0.5, 0.5]])


@dataclass(frozen=True)
class Toy(Thresh):
    """Noise and thresholds that are chosen, so that few users vote in part of the epochs."""

    noise: Levels = Levels(F(3), F(2), F(1, 20), F(1, 8))

    @property
    def levels(self) -> Levels:
        return self.noise


@pytest.mark.parametrize("m", [Toy(40, 6, 12, F(30), F(1, 2), 10), Toy(40, 6, 12, F(8), F(1, 2), 10, start=0)], ids=str)
def test_users_of_a_group_publish_in_law_what_they_do_one_by_one(m: Toy) -> None:
    theirs, ours = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data = np.concatenate([rng.binomial(m.rounds, MEANS[:, group], (size, m.epochs)) for group, size in enumerate((10, 30))])
        theirs.append(m.run(data, rng))
        ours.append(m.run_on_means(MEANS, (0.25, 0.75), np.random.default_rng(seed + 1000)))
    for epoch in range(m.epochs):
        assert stats.ks_2samp([each[epoch] for each in theirs], [each[epoch] for each in ours]).pvalue > 1e-3
    changed = [np.count_nonzero(np.diff(runs, axis=1)) / 150 for runs in (theirs, ours)]
    assert abs(changed[0] - changed[1]) < 5 * math.sqrt(m.epochs / 150)


@pytest.mark.parametrize(("rounds", "mean"), [(10**6, 0.3), (50, 0.02), (7, 0.0), (7, 1.0)])
def test_the_law_of_counts_is_binomial(rounds: int, mean: float) -> None:
    law = Counts.of(rounds, mean)
    assert law.chances == pytest.approx(stats.binom.pmf(law.values, rounds, mean), rel=1e-9, abs=1e-30)
    references = np.array([0, int(rounds * mean), rounds])
    for change in (1, 3, 300):
        oracle = [stats.binom.cdf(r - change, rounds, mean) + stats.binom.sf(r + change - 1, rounds, mean) for r in references]
        assert law.far(references, change) == pytest.approx(oracle, abs=1e-11)


def test_no_user_is_lost_and_none_casts_more_votes_than_it_may() -> None:
    rng, group, law = np.random.default_rng(0), Group.fresh(10**9, 0, 2), Counts.of(1000, 0.5)
    for epoch in range(9):
        group.vote(law, 40, rng)
        if epoch % 3 == 1:
            assert group.update(law, 40, rng).sum() == 10**9
        else:
            group.settle()
        assert group.cast.sum() == 10**9
        assert len(group.cast) <= 3
    assert group.cast[2] > 10**8


def test_who_votes_has_drawn_a_count_that_is_far_from_its_reference() -> None:
    rng, law = np.random.default_rng(1), Counts.of(10, 0.5)
    group = Group.fresh(10**5, 5, 3)
    voted = group.vote(law, 3, rng)
    drawn = group.update(law, 3, rng)
    assert group.users[1].sum() == voted
    assert group.users[1][3:8].sum() == 0
    assert group.users[0][[0, 1, 2, 8, 9, 10]].sum() == 0
    assert drawn / 10**5 == pytest.approx(law.chances, abs=0.02)
