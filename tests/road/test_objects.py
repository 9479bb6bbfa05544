"""Other libraries' objects: what of them is called, and what they claim.

The number of an OpenDP measurement is an epsilon, a rho or a curve, and is read as what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special

from ldpaudit import audit
from ldpaudit.adapters.callables import resolve_audited
from ldpaudit.adapters.objects import as_callable, claimed_epsilon, epsilon_of_rho
from ldpaudit.errors import ImplementationError, Unsupported

DELTA = 1e-3
GRID = 1e-2
"""By which the grid of orders may miss the best order's epsilon."""
NOISE = np.random.default_rng(3)


class Client:
    """As pure-ldp has it."""

    epsilon = 1.5

    def privatise(self, x: int) -> int:
        return -x


class Pure:
    """A measurement of an old OpenDP, which does not say what its number is."""

    def __call__(self, x: int) -> int:
        return x + 1

    def map(self, distance: int) -> float:
        return 0.5 * distance


def test_an_object_is_called_by_what_it_can_do() -> None:
    assert as_callable(Client())(3) == -3
    assert as_callable(Pure())(3) == 4
    assert as_callable(abs)(-3) == 3
    with pytest.raises(TypeError, match="got int"):
        as_callable(3)


def test_an_object_is_audited_by_its_name_too_and_its_class_is_none() -> None:
    assert resolve_audited("tests.broken_callables:CLIENT")(1) == 1  # type: ignore[operator]
    with pytest.raises(ImplementationError, match="needs an object with privatise, got the class Client"):
        resolve_audited("tests.broken_callables:Client")


def test_an_objects_own_claim_is_read() -> None:
    assert claimed_epsilon(Pure(), 2) == (1.0, 0.0)
    assert claimed_epsilon(Client()) == (1.5, 0.0)
    assert claimed_epsilon(abs) is None


@dataclass(frozen=True)
class Measure:
    """As OpenDP has it: what it is, is in how it is printed."""

    printed: str

    def __str__(self) -> str:
        return self.printed


@dataclass(frozen=True)
class Measurement:
    """As OpenDP has it: what `map` returns is in terms of `output_measure`."""

    output_measure: Measure
    answer: Any

    def map(self, distance: float) -> Any:
        return self.answer

    def __call__(self, x: float) -> float:
        """Gaussian noise of scale 1: rho = 1/2 at distance 1."""
        return x + round(NOISE.normal() * 2**20) / 2**20


@dataclass(frozen=True)
class Curve:
    """A privacy profile, as OpenDP has it."""

    def epsilon(self, delta: float) -> float:
        return -math.log(delta)


@dataclass(frozen=True)
class Transformation:
    """As OpenDP has it: it maps to a distance of outputs."""

    output_metric: str = "AbsoluteDistance(f64)"

    def map(self, distance: float) -> float:
        return distance


def claimed(printed: str, answer: Any, delta: float | None = None) -> tuple[float, float] | None:
    return claimed_epsilon(Measurement(Measure(printed), answer), 1.0, delta)


@pytest.mark.parametrize("printed", ["MaxDivergence", "MaxDivergence()", "MaxDivergence(f64)", "MaxDivergence<f64>"])
def test_a_max_divergence_is_an_epsilon(printed: str) -> None:
    assert claimed(printed, 0.5) == claimed(printed, 0.5, DELTA) == (0.5, 0.0)


@pytest.mark.parametrize(
    "printed",
    ["Approximate(MaxDivergence)", "Approximate<MaxDivergence>", "Approximate(MaxDivergence())", "FixedSmoothedMaxDivergence(f64)"],
)
def test_an_approximate_divergence_is_an_epsilon_and_a_delta(printed: str) -> None:
    assert claimed(printed, (0.5, 1e-6)) == (0.5, 1e-6)


def test_a_smoothed_divergence_is_a_curve_that_is_read_at_the_callers_delta() -> None:
    assert claimed("SmoothedMaxDivergence", Curve(), DELTA) == (-math.log(DELTA), DELTA)


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Smallest delta of Gaussian noise with this rho. Source: Balle, Wang 2018, theorem 8."""
    mu = math.sqrt(2 * rho)
    return float(special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_the_epsilon_of_rho_covers_gaussian_noise_and_is_never_above_the_simple_conversion(rho: float, delta: float) -> None:
    epsilon = epsilon_of_rho(rho, delta)
    assert gaussian_delta(epsilon, rho) <= delta
    # Bun, Steinke 2016, proposition 1.3.
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


def test_a_rho_is_read_as_an_epsilon_at_the_callers_delta() -> None:
    assert claimed("ZeroConcentratedDivergence", 0.5, DELTA) == (epsilon_of_rho(0.5, DELTA), DELTA)
    # By opendp's own conversion of rho = 1/32 it is 0.6880024554878085.
    assert math.isclose(epsilon_of_rho(1 / 32, 1e-3), 0.6880024554878085, rel_tol=GRID)


def test_an_approximate_rho_leaves_less_of_delta() -> None:
    found = claimed("Approximate(ZeroConcentratedDivergence)", (0.5, 4e-4), DELTA)
    assert found is not None
    assert epsilon_of_rho(0.5, 6e-4) <= found[0] <= epsilon_of_rho(0.5, 6e-4 * (1 - 1e-9))
    assert found[1] == DELTA
    with pytest.raises(ValueError, match=r"needs delta > 0\.001"):
        claimed("Approximate(ZeroConcentratedDivergence)", (0.5, DELTA), DELTA)


def test_a_sound_gaussian_is_not_refuted_of_what_it_claims() -> None:
    m = Measurement(Measure("ZeroConcentratedDivergence"), 0.5)
    found = claimed_epsilon(m, 1.0, DELTA)
    assert found is not None
    epsilon, delta = found
    options: dict[str, Any] = {"inputs": [0.0, 1.0], "epsilon": epsilon, "delta": delta, "trials": 20_000}
    assert not audit(m, **options).refutes(epsilon)
    assert audit(m, **{**options, "delta": 0.0, "epsilon": 0.5}).refutes(0.5)  # rho, were it an epsilon


@pytest.mark.parametrize("printed", ["RenyiDivergence", "Approximate(RenyiDivergence)", "UserDivergence(mine)", "", "Max"])
def test_a_measure_that_is_not_known_is_an_error_that_names_it(printed: str) -> None:
    with pytest.raises(Unsupported, match="output measure") as caught:
        claimed(printed, 0.5, DELTA)
    assert printed in str(caught.value)


@pytest.mark.parametrize("printed", ["ZeroConcentratedDivergence", "SmoothedMaxDivergence"])
def test_what_holds_at_every_delta_needs_one(printed: str) -> None:
    with pytest.raises(ValueError, match="give delta="):
        claimed(printed, Curve() if "Max" in printed else 0.5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_a_delta_outside_its_domain_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="0 < delta < 1"):
        claimed("ZeroConcentratedDivergence", 0.5, delta)


def test_a_transformation_claims_no_privacy() -> None:
    with pytest.raises(Unsupported, match="chain it with a measurement"):
        claimed_epsilon(Transformation(), 1.0)
