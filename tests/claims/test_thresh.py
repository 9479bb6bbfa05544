"""What the paper claims for THRESH: its parameters, Theorem 4.1, Assumption 4.2, Theorem 4.3; and the repair."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from ldpaudit import account, audit, derivation, judge
from ldpaudit.accountants.claims import thresh as paper
from ldpaudit.claim import Claim
from ldpaudit.enclosure import Rigour
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL
from ldpaudit.plan import Run

PROOFS_OF = cache(derivation.proofs_of)
"""The proofs of a stem; to check them is to run them, and once is enough."""
HALF = Fraction(1, 2)
SETTINGS = [(10_000, 64, 2_000, 10_000, 1), (10**6, 1000, 30_000, 10**5, 7), (500, 5, 10, 90, 3), (10, 3, 100, 10, 1)]


@pytest.mark.parametrize(("n", "T", "length", "L", "m"), SETTINGS)
def test_the_parameters_are_the_printed_ones(n: int, T: int, length: int, L: int, m: int) -> None:
    made = Thresh(n, T, length, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=L, subgroups=m)
    with mpmath.workdps(60):
        ln, root, d = mpmath.log, mpmath.sqrt, mpmath.mpf(1) / 20
        a = 4 * root(2 * n * ln(12 * m * T / d)) / (L - 3 / root(2) * root(n * ln(12 * m * T / d)))
        noise = root(ln(12 * T / d) / (2 * n))
        b = root(2 * ln(12 * T / d) / (2 * n)) / (mpmath.log(T, 2) * root(ln(12 * n * T / d) / (2 * length)) - noise)
        threshold = 2 * root(ln(12 * n * T / d) / (2 * length))  # of level 0
        printed = Levels(a, b, threshold / 2, root(ln(10 * T / d) / (2 * n)))
        for ours, theirs in zip(made.levels, printed, strict=True):
            assert abs(mpmath.mpf(ours.numerator) / ours.denominator / theirs - 1) < mpmath.mpf(2) ** -120
        ratio = mpmath.exp(abs(a))
        assert abs(mpmath.mpf(made.vote_coin.numerator) / made.vote_coin.denominator - ratio / (ratio + 1)) < 2**-120


@pytest.mark.parametrize(("n", "T", "length", "L", "m"), SETTINGS)
@pytest.mark.parametrize("share", [Fraction(99, 100), Fraction(101, 100), Fraction(2)])
def test_assumption_4_2_says_that_a_is_below_epsilon(
    n: int, T: int, length: int, L: int, m: int, share: Fraction
) -> None:
    a = Thresh(n, T, length, Fraction(1), Fraction(1, 20), L, m).a
    if a > 0:
        made = Thresh(n, T, length, share * a, Fraction(1, 20), L, m)
        assert paper.assumption(made).holds == (a < made.epsilon) == (share > 1)


def judged(m: Thresh) -> Any:
    (claim,) = paper.claims(m)
    return judge(claim, [account(m).epsilon(0)], [], [])


VIOLATIONS = {
    "two votes of cost a < epsilon": Thresh(10_000, 64, 1_000, Fraction(1, 5), Fraction(1, 20), 10_000),
    "one estimate of cost b > epsilon": Thresh(10_000, 64, 100_000, Fraction(1, 4), Fraction(1, 20), 10_000),
    "start at 0": Thresh(10_000, 64, 23_500, Fraction(1, 4), Fraction(1, 20), 10_000, start=0),
}


@pytest.mark.parametrize("m", VIOLATIONS.values(), ids=VIOLATIONS)
def test_theorem_4_1_fails_where_assumption_4_2_holds(m: Thresh) -> None:
    (claim,) = paper.claims(m)
    assert [h.holds for h in claim.hypotheses] == [True, True, False]
    assert account(m).epsilon(0).rigour is Rigour.EXACT
    assert account(m).epsilon(0).low > 2 * m.epsilon
    assert judged(m).outcome == "REFUTED"


@pytest.mark.parametrize("m", VIOLATIONS.values(), ids=VIOLATIONS)
def test_the_attack_shows_it_on_transcripts(m: Thresh) -> None:
    (claim,) = paper.claims(m)
    exact = account(m).epsilon(0)
    quick = audit(m, epsilon=float(m.epsilon), seed=2)
    assert quick.refutes(claim)
    assert quick.trials < 10_000
    thorough = audit(m, epsilon=float(m.epsilon), trials=400_000, seed=2, mode=Mode.FIXED)
    assert thorough.refutes(claim)
    assert 0.9 * exact.low <= thorough.epsilon_lower <= exact.high


def test_where_b_is_negative_the_loss_grows_with_the_epochs_though_assumption_4_2_holds() -> None:
    found = []
    for epochs in (2, 4, 8):
        m = Thresh(40_000, epochs, 10**7, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=40_000)
        assert paper.assumption(m).holds
        assert m.b < 0
        found.append(account(m).epsilon(0).low / float(-m.b))
    assert found == pytest.approx([2, 4, 8], rel=0.5)
    assert found[0] < found[1] < found[2]


def printed(seed: int, kind: type[Thresh] = Thresh) -> Thresh:
    rng = random.Random(seed)
    while True:
        n, T = rng.choice([10**3, 10**4, 10**6]), rng.choice([2, 5, 16, 100])
        try:
            return kind(n, T, int(10 ** rng.uniform(1, 5)), Fraction(rng.randint(1, 80), 20), Fraction(1, 20), n)
        except ValueError:
            continue


def test_the_repaired_one_can_come_as_close_to_three_quarters_as_one_likes() -> None:
    m = ThreshRepaired(10**8, 2000, 3 * 10**6, Fraction(2), Fraction(1, 20), 10**8)
    assert account(m).epsilon(0).rigour is Rigour.EXACT
    assert 0.74 < account(m).epsilon(0).low / 2 <= 0.75


@pytest.mark.parametrize("arguments", [(10, 3, 100, 1, HALF, 10), (1_000, 1, 10, 3, HALF, 1_000)])
def test_the_repaired_one_refuses_noise_that_is_not_positive(arguments: tuple[Any, ...]) -> None:
    assert min(Thresh(*arguments).a, Thresh(*arguments).b) < 0
    with pytest.raises(ValueError, match="noise levels above 0"):
        ThreshRepaired(*arguments)


@pytest.mark.parametrize("seed", range(20))
def test_the_proofs_prove_what_the_accountant_finds_and_of_the_repaired_one_three_quarters_of_its_claim(seed: int) -> None:
    for kind, stem in ((Thresh, "thresh"), (ThreshRepaired, "thresh_repaired")):
        m = printed(seed, kind)
        ((votes, estimates),) = (proof.at(m) for proof in PROOFS_OF(stem))
        assert votes == (m.differing_votes, m.vote_coin / (1 - m.vote_coin), False)
        assert estimates == (m.estimates, m.estimate_coin / (1 - m.estimate_coin), False)
        total = sum(float(times) * math.log(ratio) for times, ratio, _ in (votes, estimates))
        exact = account(m).epsilon(0)
        assert total == pytest.approx(exact.high, rel=1e-12)
        if min(m.a, m.b) > 0:  # the bounds of the docstring
            assert exact.high <= 3 * m.epsilon / 4 + (0 if kind is ThreshRepaired else 2 * m.a + m.b)
            if kind is Thresh and all(h.holds for h in paper.claims(m)[0].hypotheses):
                assert exact.high <= m.epsilon
    claim = Claim("theorem-4.1", Run(m), m.epsilon, Fraction(0), USER_LEVEL, "lifetime", "as THRESH", (paper.assumption(m),))
    assert judge(claim, [exact], [], []).outcome == "BOUNDED"


def test_the_estimates_are_as_accurate_as_theorem_4_3_says() -> None:
    m = Thresh(100_000, epochs=32, rounds=40_000, epsilon=Fraction(2), delta=Fraction(1, 20), smallest=100_000)
    bound, changes = paper.error_bound(m), paper.allowed_changes(m)
    assert paper.assumption(m).holds
    assert bound < 0.6
    assert changes > 2
    rng = np.random.default_rng(8)
    means = np.array([0.1] * 9 + [0.9] * 14 + [0.4] * 9)  # two changes
    data = rng.binomial(m.rounds, means, size=(m.users, m.epochs)).astype(np.int32)
    errors = np.abs(m.run(data, rng) - m.truth(data))
    assert errors.max() <= bound
    assert errors.max() > bound / 100, "a bound that is never approached would not notice a fault"
