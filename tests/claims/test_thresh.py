"""What the paper claims for THRESH and HEAVYTHRESH: their parameters, Theorems 4.1 to 5.2, votes per change; and the repairs."""

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from ldpaudit import Claim, Rigour, Run, account, audit, judge, literature
from ldpaudit.accountants.claims import heavy_thresh as heavy, thresh as paper
from ldpaudit.accountants.claims.heavy_thresh import level, most_votes, votes_of
from ldpaudit.derivation import proofs_of
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import HeavyThresh, HeavyThreshRepaired, Thresh, ThreshRepaired
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.neighbours import USER_LEVEL

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
def test_assumption_4_2_says_that_a_is_below_epsilon(n: int, T: int, length: int, L: int, m: int, share: Fraction) -> None:
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
        ((votes, estimates),) = (proof.at(m) for proof in proofs_of(stem))
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


F = Fraction
BETA = F(1, 20)
SMALL, MANY, LARGE, NOISY = heavy.EXAMPLES


@pytest.mark.parametrize("m", [replace(SMALL, start=0), replace(MANY, start=0)], ids=str)
def test_where_it_fails_assumption_4_2_holds_and_no_noise_level_of_estimates_would_help(m: HeavyThresh) -> None:
    (claim,) = heavy.claims(m)
    assert [h.holds for h in claim.hypotheses] == [True, True, False]
    assert heavy.refuted_by_votes(m)
    assert 2 * m.a * m.votes > m.epsilon
    assert judge(claim, [account(m).epsilon(0)], [], []).outcome == "REFUTED"


def test_the_attack_shows_it_on_transcripts_of_histograms() -> None:
    m = replace(SMALL, start=0)
    (claim,) = heavy.claims(m)
    assert audit(m, epsilon=float(m.epsilon), seed=2).refutes(claim)


def test_in_the_reading_of_minus_one_it_holds_where_an_estimate_costs_a_quarter_and_may_fail_beyond() -> None:
    rng, seen = random.Random(1), {True: 0, False: 0}
    for _ in range(60):
        n = rng.choice([10**3, 10**4, 10**5])
        try:
            m = HeavyThresh(n, rng.choice([2, 5, 16, 100]), int(10 ** rng.uniform(1, 4)), F(rng.randint(1, 60), 20), BETA, n, 8,
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
    assert heavy.derived_error(LARGE).high == pytest.approx(derived, rel=1e-9)
    assert c * noise == pytest.approx(math.log2(t) * step, rel=1e-9), "what b aims at"
    assert heavy.derived_error(LARGE).high == pytest.approx(0.678374, abs=5e-7)
    assert heavy.printed_error(LARGE).high == pytest.approx(0.921920, abs=5e-7)


def test_the_error_is_simulated_for_as_many_changes_as_the_counters_pay_for() -> None:
    one, telling = heavy.SIMULATED
    assert (one.votes, one.estimates, heavy.derived_changes(one)) == (9, 2, 1)
    assert (telling.votes, telling.estimates, heavy.derived_changes(telling)) == (4, 4, 3)
    for m, changes, says_nothing in ((one, [1, 1, 0], True), (telling, [3, 3, 3, 2, 2], False)):
        claims = heavy.accuracy(m)
        streams = [claim.data(np.random.default_rng(0)) for claim in claims]
        assert [stream.changes for stream in streams] == changes
        assert [("vacuous" in claim.sentence) for claim in claims] == [says_nothing] * len(claims)
        assert all(np.ptp(stream.average, axis=0).max() / 2 > claims[0].alpha for stream in streams if not says_nothing)
    assert heavy.accuracy(SMALL) == ()


@pytest.mark.slow
@pytest.mark.parametrize("m", heavy.SIMULATED, ids=str)
def test_the_error_stays_within_the_bound(m: HeavyThresh) -> None:
    for claim in heavy.accuracy(m):
        found = literature.measure(m, claim, 5, seed=1)
        assert found.failures == 0
        assert claim.alpha / 60 < found.median < claim.alpha


@pytest.mark.parametrize("seed", range(6))
def test_the_proofs_prove_what_the_accountant_finds_of_histograms(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([10**3, 10**5])
    for kind in (HeavyThresh, HeavyThreshRepaired):
        m = kind(n, rng.choice([4, 16]), rng.choice([50, 300]), F(rng.randint(10, 80), 20), BETA, n, 8, start=-(seed % 2), rows=300)
        found = [terms for terms in (proof.at(m) for proof in proofs_of("heavy_thresh")) if terms]
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
