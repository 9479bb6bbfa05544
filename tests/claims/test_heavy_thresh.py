"""What the paper claims for HEAVYTHRESH: Theorems 5.1 and 5.2 on each reading; the repair; and votes per change."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ldpaudit import account, audit, judge
from ldpaudit.accountants.claims import heavy_thresh as paper
from ldpaudit.accountants.claims.heavy_thresh import level, most_votes, votes_of
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.proofs import heavy_thresh as heavy_thresh_proof
from ldpaudit.studies import literature
from tests.helpers import proved

F = Fraction
HALF = F(1, 20)
SMALL, MANY, LARGE, NOISY = paper.EXAMPLES


@pytest.mark.parametrize("m", [replace(SMALL, start=0), replace(MANY, start=0)], ids=str)
def test_where_it_fails_assumption_4_2_holds_and_no_noise_level_of_estimates_would_help(m: HeavyThresh) -> None:
    (claim,) = paper.claims(m)
    assert [h.holds for h in claim.hypotheses] == [True, True, False]
    assert paper.refuted_by_votes(m)
    assert 2 * m.a * m.votes > m.epsilon
    assert judge(claim, [account(m).epsilon(0)], [], []).outcome == "REFUTED"


def test_the_attack_shows_it_on_transcripts() -> None:
    m = replace(SMALL, start=0)
    (claim,) = paper.claims(m)
    assert audit(m, epsilon=float(m.epsilon), seed=2).refutes(claim)


def test_in_the_reading_of_minus_one_it_holds_where_an_estimate_costs_a_quarter_and_may_fail_beyond() -> None:
    rng, seen = random.Random(1), {True: 0, False: 0}
    for _ in range(60):
        n = rng.choice([10**3, 10**4, 10**5])
        try:
            m = HeavyThresh(n, rng.choice([2, 5, 16, 100]), int(10 ** rng.uniform(1, 4)), F(rng.randint(1, 60), 20), HALF, n, 8,
                            rows=500)  # fmt: skip
        except ValueError:
            continue
        if m.a > 0 and m.common and m.b <= m.epsilon / 4:
            assert account(m).epsilon(0).high <= m.epsilon
            seen[True] += 1
        elif m.b > m.epsilon:
            assert account(m).epsilon(0).low > m.epsilon
            seen[False] += 1
    assert min(seen.values()) >= 3


def test_the_errors_are_the_formulas() -> None:
    n, t, d, ell, delta, w = 1e6, 100, 1000, 1e5, 0.05, 2e7
    step, noise = math.sqrt(2 * math.log(16 * w * n * t / delta) / ell), math.sqrt(2 * math.log(16 * d * t / delta) / n)
    c = 1 / math.tanh(float(LARGE.b) / 2)
    derived = (2 * 6 + 5) * step + c * noise + math.sqrt(2 * math.log(16 * d * t / delta) / w)
    assert paper.derived_error(LARGE).high == pytest.approx(derived, rel=1e-9)
    assert c * noise == pytest.approx(math.log2(t) * step, rel=1e-9), "what b aims at"
    assert paper.derived_error(LARGE).high == pytest.approx(0.678374, abs=5e-7)
    assert paper.printed_error(LARGE).high == pytest.approx(0.921920, abs=5e-7)


def test_the_error_is_simulated_for_as_many_changes_as_the_counters_pay_for() -> None:
    one, telling = paper.SIMULATED
    assert (one.votes, one.estimates, paper.derived_changes(one)) == (9, 2, 1)
    assert (telling.votes, telling.estimates, paper.derived_changes(telling)) == (4, 4, 3)
    for m, changes, says_nothing in ((one, [1, 1, 0], True), (telling, [3, 3, 3, 2, 2], False)):
        claims = paper.accuracy(m)
        streams = [claim.data(np.random.default_rng(0)) for claim in claims]
        assert [stream.changes for stream in streams] == changes
        assert [("vacuous" in claim.sentence) for claim in claims] == [says_nothing] * len(claims)
        assert all(np.ptp(stream.average, axis=0).max() / 2 > claims[0].alpha for stream in streams if not says_nothing)
    assert paper.accuracy(SMALL) == ()


@pytest.mark.slow
@pytest.mark.parametrize("m", paper.SIMULATED, ids=str)
def test_the_error_stays_within_the_bound(m: HeavyThresh) -> None:
    for claim in paper.accuracy(m):
        found = literature.measure(m, claim, 5, seed=1)
        assert found.failures == 0
        assert claim.alpha / 60 < found.median < claim.alpha


@pytest.mark.parametrize("seed", range(6))
def test_the_proofs_prove_what_the_accountant_finds(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([10**3, 10**5])
    for kind in (HeavyThresh, HeavyThreshRepaired):
        m = kind(n, rng.choice([4, 16]), rng.choice([50, 300]), F(rng.randint(10, 80), 20), HALF, n, 8, start=-(seed % 2), rows=300)
        found = [terms for terms in (proof.at(m) for proof in proved(heavy_thresh_proof.prove)) if terms]
        votes = F(m.differing_votes), m.vote_coin / (1 - m.vote_coin), False
        estimates = F(m.estimates), m.estimate_coin / (1 - m.estimate_coin), False
        assert found == [[votes, estimates]] * (1 if kind is HeavyThresh else 2)
        overshoot = 2 * (1 - m.common) * m.a + m.b if kind is HeavyThresh else 0
        assert account(m).epsilon(0).high <= 3 * m.epsilon / 4 + overshoot


@pytest.mark.parametrize("epochs", [16, 64, 100])
def test_one_change_costs_a_user_up_to_four_votes(epochs: int) -> None:
    worst = most_votes(epochs)
    assert len(worst.votes) == 4
    assert played(epochs, worst.change, worst.at, [worst.seen] * epochs) == list(worst.votes)


def test_the_witness_of_four_votes_is_a_change_of_four_steps_and_an_eighth() -> None:
    found = votes_of(64, F(33, 8), 2)
    assert found.votes == (16, 32, 48, 64)
    assert found.seen == F(49, 8)
    assert (level(found.seen, 6), level(found.change - 2, 6)) == (2, 0)


@pytest.mark.parametrize("epochs", [4, 16, 21])
def test_no_change_and_no_noise_within_a_step_costs_more(epochs: int) -> None:
    rng, most = random.Random(epochs), len(most_votes(epochs).votes)
    sizes = [F(k, 8) for k in range(1, 16 * epochs.bit_length())]
    steady = (played(epochs, size, at, [size + 2] * epochs) for size in sizes for at in range(1, epochs + 1))
    assert max(map(len, steady)) == most
    for _ in range(2_000):
        size = rng.choice(sizes)
        noisy = [size + F(rng.randint(-16, 16), 8) for _ in range(epochs)]
        assert len(played(epochs, size, rng.randint(1, epochs), noisy)) <= most


def played(epochs: int, change: Fraction, at: int, seen: list[Fraction]) -> list[int]:
    """A user's votes, epoch by epoch, until another one of the group, who sees two steps less than the change, votes too."""
    top = math.floor(math.log2(epochs))

    def votes(distance: Fraction, t: int) -> bool:
        exceeded = [j for j in range(-1, top + 1) if distance > 2 * (j + 1)]
        return bool(exceeded) and t % 2 ** (top - max(exceeded)) == 0

    found = []
    for t in range(at, epochs + 1):
        found += [t] * votes(seen[t - 1], t)
        if votes(change - 2, t):
            break
    return found
