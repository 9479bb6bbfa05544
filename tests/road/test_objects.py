"""Other libraries' objects: what of them is called, and what they claim.

The number of an OpenDP measurement is an epsilon, a rho or a curve, and is read as what it is.
"""

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
from tests.helpers import raises, some

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


def test_an_object_is_called_by_what_it_can_do_and_its_own_claim_is_read() -> None:
    assert (as_callable(Client())(3), as_callable(Pure())(3), as_callable(abs)(-3)) == (-3, 4, 3)
    raises(TypeError, "got int", as_callable, 3)
    assert resolve_audited("tests.broken_callables:CLIENT")(1) == 1  # type: ignore[operator]
    with pytest.raises(ImplementationError, match="needs an object with privatise, got the class Client"):
        resolve_audited("tests.broken_callables:Client")
    assert (claimed_epsilon(Pure(), 2), claimed_epsilon(Client())) == ((1.0, 0.0), (1.5, 0.0))
    assert claimed_epsilon(abs) is None
    raises(Unsupported, "chain it with a measurement", claimed_epsilon, Transformation(), 1.0)


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
def test_a_max_divergence_is_an_epsilon_and_an_approximate_one_has_a_delta(printed: str) -> None:
    assert claimed(printed, 0.5) == claimed(printed, 0.5, DELTA) == (0.5, 0.0)
    for approximate in (f"Approximate({printed})", f"Approximate<{printed}>", "FixedSmoothedMaxDivergence(f64)"):
        assert claimed(approximate, (0.5, 1e-6)) == (0.5, 1e-6)


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


def test_a_rho_is_read_as_an_epsilon_at_the_callers_delta_and_an_approximate_one_leaves_less_of_it() -> None:
    assert claimed("ZeroConcentratedDivergence", 0.5, DELTA) == (epsilon_of_rho(0.5, DELTA), DELTA)
    # By opendp's own conversion of rho = 1/32 it is 0.6880024554878085.
    assert math.isclose(epsilon_of_rho(1 / 32, 1e-3), 0.6880024554878085, rel_tol=GRID)
    found = some(claimed("Approximate(ZeroConcentratedDivergence)", (0.5, 4e-4), DELTA))
    assert epsilon_of_rho(0.5, 6e-4) <= found[0] <= epsilon_of_rho(0.5, 6e-4 * (1 - 1e-9))
    assert found[1] == DELTA
    raises(ValueError, r"needs delta > 0\.001", claimed, "Approximate(ZeroConcentratedDivergence)", (0.5, DELTA), DELTA)
    assert claimed("SmoothedMaxDivergence", Curve(), DELTA) == (-math.log(DELTA), DELTA)


def test_a_sound_gaussian_is_not_refuted_of_what_it_claims() -> None:
    m = Measurement(Measure("ZeroConcentratedDivergence"), 0.5)
    epsilon, delta = some(claimed_epsilon(m, 1.0, DELTA))
    options: dict[str, Any] = {"inputs": [0.0, 1.0], "epsilon": epsilon, "delta": delta, "trials": 20_000}
    assert not audit(m, **options).refutes(epsilon)
    assert audit(m, **{**options, "delta": 0.0, "epsilon": 0.5}).refutes(0.5)  # rho, were it an epsilon


def test_what_holds_at_every_delta_needs_one_within_its_domain_and_an_unknown_measure_is_named() -> None:
    for printed, answer in (("ZeroConcentratedDivergence", 0.5), ("SmoothedMaxDivergence", Curve())):
        raises(ValueError, "give delta=", claimed, printed, answer)
    for delta in (0.0, 1.0, -1.0, math.nan):
        raises(ValueError, "0 < delta < 1", claimed, "ZeroConcentratedDivergence", 0.5, delta)
    for printed in ("RenyiDivergence", "Approximate(RenyiDivergence)", "UserDivergence(mine)", "", "Max"):
        assert printed in str(raises(Unsupported, "output measure", claimed, printed, 0.5, DELTA))
