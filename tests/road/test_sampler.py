"""What the shipped code draws: libprio-cc's coin, by two routes, and continuous noise that floats draw."""

import math
from bisect import bisect_left
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from ldpaudit import Certificate, account, certify
from ldpaudit.certificates.certify import verify
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import load, loads, table_of
from ldpaudit.report import html
from ldpaudit.verdict import Outcome
from tests.helpers import deployment, raises, run, some
from tests.road.test_deployment import CITED

COUNTS = {"enpa-notification": 32, "enpa-interaction": 32, "enpa-vaccine-status": 32, "enpa-prio-notification": 32,
          "enpa-elementwise": 33, "enpa-prio": 33}  # fmt: skip
"""Files of libprio-cc's randomizer, and how many bits it draws for one probability."""
BIAS = 2.0 / (1.0 + math.exp(8.0))


def yes(bias: float, bits: int) -> int:
    """For how many integers the code's comparison, in doubles, says yes: for those below the first that it refuses."""
    return bisect_left(range(2**bits), True, key=lambda drawn: drawn / (2**bits - 1) >= bias)


@pytest.mark.parametrize("bias", [BIAS, 0.3, 0.5, 1 / 65535, 2 / 65535, 0.0, 1.0, 65534 / 65535])
def test_the_coin_says_yes_below_a_threshold_that_is_the_bias_times_the_largest_integer_rounded_up(bias: float) -> None:
    counted = sum(r / (2**16 - 1) < bias for r in range(2**16))
    assert yes(bias, 16) == counted
    exact = Fraction(bias) * (2**16 - 1)
    assert abs(counted - exact) <= 1
    if abs(exact - round(exact)) > 1e-9:  # no integer is so near that the rounding of a quotient decides
        assert counted == math.ceil(exact)


def test_a_million_integers_on_either_side_of_the_threshold_and_the_doubles_beside_the_bias_say_the_same() -> None:
    count = yes(BIAS, 32)
    near = np.arange(count - 10**6, count + 10**6, dtype=np.uint32).astype(np.float64) / (2**32 - 1) < BIAS
    assert near.sum() == 10**6
    assert near[: 10**6].all()
    assert count == math.ceil(Fraction(BIAS) * (2**32 - 1)) == 2_880_636
    for ulps in range(-8, 9):  # whatever exp returns within a few units in the last place
        assert yes(BIAS * (1 + ulps * 2.0**-52), 32) == count
    assert count / 2**32 / BIAS - 1 == pytest.approx(1.0896e-7, rel=1e-3)


@pytest.mark.parametrize("name", COUNTS)
def test_the_bundled_files_have_what_the_code_counts(name: str) -> None:
    file = some(table_of(load(name).text))
    assert (some(file.sampler).bits, some(file.sampler).drawn) == (COUNTS[name], {"rho": yes(BIAS, 32)})


def drawn_law(k: int, x: int) -> list[Fraction]:
    """The code step by step: with the coin a fresh value, each equally likely, else the true one."""
    coin = Fraction(yes(BIAS, 32), 2**32)
    return [coin / k + (1 - coin) * (y == x) for y in range(k)]


@pytest.mark.parametrize(("name", "k"), [("enpa-notification", 5), ("enpa-interaction", 9), ("enpa-vaccine-status", 2)])
def test_epsilon_as_drawn_is_that_of_the_law_of_the_code_s_steps(name: str, k: int) -> None:
    laws = [drawn_law(k, x) for x in range(k)]
    assert {sum(law) for law in laws} == {1}
    worst = max(p / q for one in laws for other in laws for p, q in zip(one, other, strict=True))
    claim = load(name).claims[0]
    described, drawn = (account(plan, claim.neighbours).epsilon(0) for plan in (claim.plan, some(claim.drawn)))
    with mpmath.workdps(40):
        epsilon = mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)
        assert mpmath.mpf(drawn.low) <= epsilon <= mpmath.mpf(drawn.high)
        by_formula = mpmath.log(1 + k * mpmath.mpf(2**32 - 2_880_636) / 2_880_636)
        assert abs(epsilon - by_formula) < 1e-30
    assert 1.08e-7 < described.low - drawn.high < 1.1e-7, "the coin says yes a little more often than is described"


def test_a_certificate_has_the_drawn_epsilon_beside_the_described_one_and_its_sources_are_listed() -> None:
    made = certify("enpa-notification", trials=100)
    (claim,) = made.claims
    assert claim.drawn_beside == ("[8.91608943403, 8.91608943404]", "[8.91608932501, 8.91608932502]")
    assert Certificate.from_json(made.to_json()) == made
    assert verify(made) == []
    forged = claim.model_copy(update={"drawn": claim.enclosure})
    assert "drawn is" in "".join(verify(made.model_copy(update={"claims": (forged,)})))
    assert "<p>Every question is answered, and has a proof that a program without ours checks. 1 question.</p>" in html.page(made)
    assert "<dt>as drawn</dt><dd>[8.91608932501, 8.91608932502], with" in html.page(made)
    shown = " ".join(run("certify", "enpa-notification", "--trials", "100").stdout.split())
    assert "As described, epsilon lies in [8.91608943403, 8.91608943404]; as the code draws, in [8.91608932501," in shown
    assert '"drawn"' not in certify("cobalt-rappor-large", trials=100).to_json(), "other certificates keep their digests"
    part = run("deployments", "--sources").stdout.partition("\nenpa-notification\n")[2].split("\n\n")[0]
    assert 'sampler\n    libprio-cc, prio/randomized_response.cc' in part
    assert '"return rand_double < bias"' in part


NOISE = deployment('kind = "laplace"\nscale = 1', 'id = "one"\nepsilon = 1\n[status]\nstate = "example"', "noise",
                   '[sampler]\nlaw = "{law}"\n', edition=2)  # fmt: skip


@pytest.mark.parametrize(("law", "outcome"), [("float", Outcome.ASSUMED), ("exact", Outcome.PROVED), ("unknown", Outcome.PROVED)])
def test_continuous_noise_that_floats_draw_is_assumed_to_be_what_is_described(law: str, outcome: Outcome) -> None:
    (claim,) = certify(loads(NOISE.format(law=law)), trials=100).claims
    assert claim.verdict is outcome
    assert (claim.assumptions != ()) == (outcome is Outcome.ASSUMED)
    assert ("assuming that floats draw continuous noise as real numbers would" in claim.reason) == (law == "float")


def test_a_discrete_mechanism_that_floats_draw_is_not_assumed_and_a_sampler_needs_the_second_edition() -> None:
    text = NOISE.format(law="float").replace('"laplace"\nscale = 1', '"randomized_response"\nk = 2\np = "1/2"')
    assert certify(loads(text), trials=100).claims[0].verdict is Outcome.PROVED
    with pytest.raises(DeploymentError, match=r'sampler: needs schema = "ldpaudit\.deployment/2"'):
        loads(NOISE.format(law="exact").replace("deployment/2", "deployment/1").replace('[status]\nstate = "example"\n', ""))


@pytest.mark.parametrize(("table", "says"), [
    ('law = "float"\nbits = 3', 'needs law = "grid" for bits, got \'float\''),
    ('law = "grid"\ndrawn = {p = 1}', "needs bits, of which the drawn integers are"),
    ('law = "grid"\nbits = 3\ndrawn = {q = 1}', "drawn: needs a parameter of [mechanism], got 'q'"),
    ('law = "grid"\nbits = 3\ndrawn = {p = 9}', "drawn: needs p <= 2**3, got 9"),
    ('law = "grid"\nbits = 3\ndrawn = {p = 1}', "needs 1/k <= p < 1"),
    ('law = "grid"\nbits = 3\ndrawn = {p = 2.5}', "needs an integer, got 2.5"),
    ('law = "odd"', "got 'odd'"),
    ('law = "exact"', 'needs a source with supports = ["sampler"]'),
])  # fmt: skip
def test_what_a_sampler_cannot_be_is_refused(table: str, says: str) -> None:
    text = CITED.replace("[mechanism]", f"[sampler]\n{table}\n[mechanism]")
    if "source with" not in says:
        text = text.replace('["status", "one"]', '["status", "one", "sampler"]')
    assert says in str(raises(DeploymentError, "sampler", loads, text))
