"""Every number has a bound or a formula: an answer, or an error of one line, and soon."""

import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import ldpaudit as ldp
from ldpaudit import Claim, Compose, Enclosure, Guarantee, Mechanism, Plan, Repeat, Rigour, Run, Shuffle, Subsample
from ldpaudit.accountants.limits import calculators
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.attacks.games.k_inputs import few_of, of_law
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.core.expression import parse
from ldpaudit.core.number import brief, exact, show
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import BucketHeavyHitter, Geometric, Hashtogram, KaryRandomizedResponse, classes, stems
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.registry import constructors, parameters_of
from tests.helpers import at_most, deployment, python, raises, raises_a_line, slow, some, stdout

EPSILONS = (0, 5e-324, 1e-300, 1e-16, 709, 710, 745, 800.0, 1e4, 1e308, 10**400, math.inf)
DELTAS = (0, 5e-324, 1e-300, 1e-16, 1 - 2**-53, 1)
SECONDS = 10.0
"""That a call may take on a busy machine; all take less than one on an idle one."""


def rr(epsilon: float, k: int = 2) -> KaryRandomizedResponse:
    return KaryRandomizedResponse.for_epsilon(epsilon, k=k)


def is_brief(error: Exception) -> bool:
    """Whether an error is one line, and not a long one."""
    return "\n" not in str(error) and len(str(error)) < 400


def answered(ask: Callable[[], Enclosure]) -> Enclosure | None:
    """The answer, or None where an error of one line says why there is none."""
    start = time.perf_counter()
    try:
        found = ask()
    except (ValueError, TypeError, LdpauditError) as error:
        return None if is_brief(error) else pytest.fail(f"a long error: {error}")
    assert time.perf_counter() - start < SECONDS
    assert 0 <= found.low <= found.high
    return found


def test_what_no_float_or_run_can_hold_is_refused_in_a_line() -> None:
    with pytest.raises(ValueError, match=r"needs epsilon <= 1e18, got epsilon=1e\+4000"):
        Claim("c", Guarantee(Fraction(1)), Fraction(10**4000), Fraction(0), REPLACE_ONE)
    for make in (lambda: KaryRandomizedResponse(10**308, Fraction(1, 2)), lambda: Rappor(8, 2 * 10**9, *QUARTERS)):
        raises(ValueError, "needs", make)
    rows = ldp.mechanisms.FreshProducts(domain=4, rows=1 << 27, scale=Fraction(1))
    raises(LdpauditError, "summed over at most 67108864 rows", ldp.account, rows)
    with pytest.raises(ValueError, match="Grid needs 1 <= dimensions <= 16, got dimensions="):
        ldp.mechanisms.CountMinRangeQueries.as_printed(1, Fraction(1, 10**6), 100, 8, Fraction(1, 20), dimensions=10**9)


def test_a_loss_or_scale_that_no_float_holds_is_attacked_by_its_logarithm_and_named() -> None:
    m = KaryRandomizedResponse(5, 1 - Fraction(1, 10**400))
    assert attack_on(m, None, 0.0).score(np.array([0]))[0] == pytest.approx(math.log(4) + 400 * math.log(10), rel=1e-12)
    raises(ValueError, "needs 0 < beta < 1", Hashtogram.for_epsilon, 1, users=1, domain=8, beta=Fraction(10**4000))
    found = ldp.account(BucketHeavyHitter(4, 8, 100, Fraction(10) ** 400)).epsilon(0)
    assert found.low == 0.0
    assert "e+400" in found.source


def test_more_values_than_len_can_say_are_too_many_to_look_at_each() -> None:
    m = KaryRandomizedResponse(2**63, Fraction(1, 2))
    assert (of_law(m), few_of(m.inputs, 10), few_of(range(10), 10)) == (None, [], list(range(10)))
    assert ldp.account(Shuffle(m, 3)).epsilon(Fraction(1, 100)).high < math.inf


QUARTERS = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)


def test_a_composition_of_incommensurable_epsilons_is_certified_and_tight() -> None:
    profile = ldp.account(Compose([Repeat(rr(e), 100) for e in (8, 1, 1e-5)]))
    with at_most(SECONDS):
        found = profile.epsilon(1e-6)
    # Without the weakest runs it is exact; these cannot cost less than nothing, nor more than 100 times 1e-5 in all.
    two = ldp.account(Compose([Repeat(rr(e), 100) for e in (8, 1)])).epsilon(1e-6)
    assert two.relative_width < 1e-12, "the estimate of the losses' sum has no overflow"
    assert two.low <= found.high <= two.high + 0.002
    assert found.relative_width < 1e-5


TINY, SOME = rr(1e-16), rr(1)
HUGE: list[Plan] = [
    Run(Laplace.for_epsilon(800)), Repeat(Laplace.for_epsilon(800), 3), Repeat(Laplace.for_epsilon(1e-16), 3),
    Run(LaplaceHistogram.for_epsilon(1e4, k=3)), Run(Laplace.for_epsilon(1e308)), Run(Geometric.for_epsilon(800, bound=3)),
    Run(rr(800)), Repeat(rr(800, 5), 10**9), Repeat(TINY, 10**9), Repeat(SOME, 10**21),
    Guarantee(Fraction(800)), Guarantee(Fraction(1e308)), Repeat(Guarantee(Fraction(1e308)), 10**9),
    Repeat(Guarantee(Fraction(0), Fraction(1e-16)), 10**9), Repeat(Laplace.for_epsilon(1), 10**21),
    Compose([rr(800), Repeat(Guarantee(Fraction(1, 3)), 50)]),
    Shuffle(Guarantee(Fraction(400)), 1000), Shuffle(Guarantee(Fraction(800)), 10**9), Shuffle(Guarantee(Fraction(1e308)), 2),
    Shuffle(rr(400, 5), 1000), Shuffle(rr(800, 5), 10**9),
    Subsample(Run(rr(800)), 10**9, 1), Subsample(Run(SOME), 2**128, 1),
]  # fmt: skip


@pytest.mark.parametrize("plan", HUGE, ids=lambda plan: str(plan)[:60])
def test_every_plan_answers_at_every_epsilon_and_delta(plan: Plan) -> None:
    profile = ldp.account(plan)
    deltas = [answered(lambda e=e: profile.delta(e)) for e in EPSILONS]  # type: ignore[misc]
    epsilons = [answered(lambda d=d: profile.epsilon(d)) for d in DELTAS]  # type: ignore[misc]
    assert None not in deltas
    assert None not in epsilons[:-1]
    assert epsilons[-1] is None, "a delta of 1 is no claim"
    assert all(found is None or found.high <= 1 for found in deltas)
    for several in (deltas, epsilons[:-1]):
        found = [each for each in several if each is not None]
        assert all(one.high >= other.low for one, other in pairwise(found)), "they do not increase"


def test_pairs_of_inputs_whose_parts_are_alike_are_multiplied_out_once() -> None:
    # 99 ways in which two signatures may fill the filter, all of 100 equal coins.
    assert ldp.account(PermanentRappor.for_epsilon(2, bits=100, hashes=100)).epsilon(0).high == 1.0


def test_laplace_noise_beyond_the_floats_exponentials_is_exact_and_three_runs_cost_less_than_three_times() -> None:
    profile = ldp.account(Laplace.for_epsilon(800))
    assert profile.delta(800.0) == ldp.account(Laplace.for_epsilon(800)).delta(1e308)
    assert profile.delta(800.0).high == 0
    assert profile.delta(798.0).low == pytest.approx(1 - math.exp(-1), rel=1e-12)
    assert profile.epsilon(0).high == 800
    found = ldp.account(Repeat(Laplace.for_epsilon(800), 3)).epsilon(0.1)
    assert 2390 < found.low <= found.high < 2400


@pytest.mark.parametrize("users", [1000, 10**9])
@pytest.mark.parametrize("epsilon0", [400, 800])
def test_a_large_epsilon0_hides_in_no_crowd_and_both_ends_say_so(epsilon0: int, users: int) -> None:
    local, shuffled = rr(epsilon0, 5), ldp.account(Shuffle(rr(epsilon0, 5), users))
    found, alone = shuffled.delta(epsilon0 - 1), ldp.account(local).delta(epsilon0 - 1)
    assert found.low == pytest.approx(alone.low, rel=1e-6)
    assert found.high == pytest.approx(alone.high, rel=1e-6)
    assert shuffled.epsilon(0.1).low == pytest.approx(ldp.account(local).epsilon(0.1).high, rel=1e-6)


def test_numpy_s_scalars_are_the_numbers_that_they_are() -> None:
    m = KaryRandomizedResponse.for_epsilon(np.float32(1), k=np.int64(3))  # type: ignore[arg-type]
    assert m == KaryRandomizedResponse.for_epsilon(1, k=3)
    assert type(m.k) is int
    assert KaryRandomizedResponse(np.int8(3), np.float16(0.5)) == KaryRandomizedResponse(3, Fraction(1, 2))  # type: ignore[arg-type]
    assert Repeat(m, np.int64(7)) == Repeat(m, 7)  # type: ignore[arg-type]
    assert Guarantee(np.float32(0.5)) == Guarantee(Fraction(1, 2))  # type: ignore[arg-type]
    profile = ldp.account(Repeat(m, np.uint8(7)))  # type: ignore[arg-type]
    assert profile.delta(np.float32(0.5)) == profile.delta(0.5)  # type: ignore[arg-type]
    assert profile.delta(np.int64(2)) == profile.delta(2)  # type: ignore[arg-type]
    assert profile.epsilon(np.float64(0.25)) == profile.epsilon(0.25)


def _made() -> Iterator[tuple[str, Callable[..., Mechanism]]]:
    for stem in stems():
        for owner in classes(stem).values():
            for name, make in constructors(owner).items():
                if "epsilon" in parameters_of(make):
                    yield f"{owner.__name__}.{name}", make


@pytest.mark.parametrize(("name", "make"), list(_made()), ids=lambda x: x if isinstance(x, str) else "")
def test_every_constructor_takes_an_epsilon_or_says_why_not(name: str, make: Callable[..., Mechanism]) -> None:
    found: list[bool] = []
    given = {key: 4 for key, p in parameters_of(make).items() if key != "epsilon" and p.default is p.empty}
    for epsilon in (5e-324, 1e-300, 1e-16, 709, 800, 1e4, 1e308, 10**400, math.inf, math.nan, -1, 0):
        try:
            made = make(epsilon=epsilon, **given)
        except (ValueError, LdpauditError) as error:
            found.append(is_brief(error))
        else:
            found.append(len(str(made)) < 400)
    assert all(found)


DEPLOYMENT = deployment(
    'kind = "randomized_response"\nepsilon = {mechanism}\nk = 2',
    'id = "day"\nepsilon = {claim}\ndelta = 1e-6\nunit = "user-day"', more="[contribution]\nreports = {reports}\n",
)  # fmt: skip


def test_what_is_no_number_of_moderate_size_is_refused_at_once_and_in_a_line() -> None:
    for value in (True, "1", None, 1j, np.bool_(True)):
        for ask in (exact, ldp.account(SOME).delta, Guarantee):
            raises(TypeError, "needs an int, a float or a Fraction", ask, value)
    with at_most(SECONDS):
        for text in ("exp(1e10)", "exp(-1e10)", "exp(exp(29))", "exp(exp(exp(29)))", "((1e4096)**4096)**4096", "exp(log(2)) - 2",
                     "sqrt(-1)"):  # fmt: skip
            raises(ValueError, r"needs a .*number", parse, text)
    for given in ({"claim": "inf"}, {"claim": "1e400"}, {"claim": "nan"}, {"mechanism": "inf"}, {"mechanism": "1e400"},
                  {"mechanism": '"exp(1e10)"'}, {"claim": '"exp(exp(29))"'}):  # fmt: skip
        text = DEPLOYMENT.format(**{"mechanism": "1", "reports": "1", "claim": "1", **given})
        raises_a_line(DeploymentError, r"epsilon.*needs a|needs a .*number", loads, text)


def test_any_number_of_reports_and_of_coins_is_answered_by_formula() -> None:
    (claim,) = loads(DEPLOYMENT.format(mechanism=1, reports=10**18, claim='"?"')).claims
    found = some(answered(lambda: ldp.account(claim.plan).epsilon(claim.delta)))
    assert found.rigour is Rigour.EXACT
    # The mean loss of a run is tanh(1/2); of this many runs the deviations are nothing.
    assert found.high == pytest.approx(10**18 * math.tanh(0.5), rel=1e-6)
    assert 0.49 < binomial_upper(10**30, Fraction(1, 2), 10**30 // 2 + 1) < 0.51


@pytest.mark.parametrize("users", [2**63, 10**30, 2**100, 2**101])
@pytest.mark.parametrize("name", ["hsu.le_cam_failure", "hsu.heavy_hitter_failure", "hsu.berry_esseen_failure"])
def test_a_limit_of_any_number_of_users_is_answered_or_refused(name: str, users: int) -> None:
    found = answered(lambda: calculators()[name](users, 1000, 1.0))
    assert (found is None) == (users > 2**100 or name == "hsu.heavy_hitter_failure")


def test_numbers_are_shown_short_and_keep_their_digits_where_a_difference_cancels() -> None:
    assert (show(Fraction(1, 3)), show(Fraction(10**400, 7))) == ("1/3", "1.42857e+399")
    assert (show(Fraction(-1, 10**400)), show(True)) == ("-1e-400", "True")
    assert len(brief(10**4500)) < 70
    raises(ValueError, "at most 131072 bits", exact, 2**200_000)
    assert float(parse("(exp(1e-200) - 1) * 1e200")) == 1.0
    assert parse("(1/7)**4096") == Fraction(1, 7**4096)


@pytest.mark.parametrize("arguments", [
    ("mechanisms",), slow(("limit",)), slow(("limit", "selection.selection_users", "candidates=9", "named=1/2", "epsilon=1")),
], ids=" ".join)  # fmt: skip
def test_commands_need_no_docstrings(arguments: tuple[str, ...]) -> None:
    assert stdout(python("-OO", "-m", "ldpaudit", *arguments))
