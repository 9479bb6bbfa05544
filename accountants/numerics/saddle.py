r"""Float estimates for a sum of n iid values: its saddle point, and step and length of the contour through it.

Nothing here is a bound: a bad choice costs time or width in `positive_part`, never validity. With :math:`K = \log M`
the cumulant generating function of one value, the contour crosses the real line where :math:`n K(s) - 2 \log s` is
least, and the integrand along it is about a Gaussian.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.trapezoid import EDGES, sums, transformed

_STEPS = 80  # most steps of Newton's method, which halves its bracket [-100, 100] where it would leave it
_SETTLED = 1e-9  # relative step at which Newton's method ends
_MODERATE = 300.0
"""Exponents up to which K is taken from expm1, right to 1e-16 of its terms; exp of more than 709 overflows."""
_NODES = 96  # nodes on one side in a float estimate of the integral
_BROAD = 0.8  # their distance, in standard deviations of the integrand
_DISTANT = 0.3
"""Largest distance of the nodes, relative to the saddle point: the pole of the integrand is that far away."""


@dataclass(frozen=True)
class Tilt:
    """A discrete law under an exponential tilt, n copies of which are summed."""

    values: NDArray[np.float64]  # values and log-probabilities; the probabilities sum to 1
    logs: NDArray[np.float64]
    n: int  # number of copies

    def cumulants(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """K at each of several points."""
        exponents = np.multiply.outer(s, self.values)
        near = exponents.max(axis=-1) < _MODERATE
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            small = np.log1p(sums(np.expm1(np.where(near[:, None], exponents, 0.0)), np.exp(self.logs)))
            top = (self.logs + exponents).max(axis=-1)
            large = top + np.log(np.exp(self.logs + exponents - top[:, None]).sum(axis=-1))
        return np.asarray(np.where(near, small, large), dtype=np.float64)

    def cumulant(self, s: float) -> float:
        """K at one point."""
        return float(self.cumulants(np.array([s]))[0])

    def tilted(self, s: float) -> NDArray[np.float64]:
        """Probabilities tilted by s."""
        exponents = self.logs + s * self.values
        weights = np.exp(exponents - exponents.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def mean_and_variance(self, s: float) -> tuple[float, float]:
        """Mean and variance of one tilted value; the variance no smaller than floats divide by."""
        p = self.tilted(s)
        mean = float(p @ self.values)
        return mean, max(float(p @ (self.values - mean) ** 2), 1e-300)

    def saddle(self) -> float:
        """The s that minimizes n K(s) - 2 log s, where n s K'(s) = 2: Newton's method on logarithms, bracketed."""
        low, high = -100.0, 100.0
        mean, variance = self.mean_and_variance(0.0)
        root = (math.sqrt(mean * mean + 8 * variance / self.n) - mean) / (2 * variance)
        x = min(max(math.log(root), low), high) if root > 0 else 0.0
        for _ in range(_STEPS):
            s = math.exp(x)
            mean, variance = self.mean_and_variance(s)
            excess = x + math.log(self.n * mean / 2) if mean > 0 else -math.inf
            low, high = (low, x) if excess > 0 else (x, high)
            last, x = x, x - excess / (1 + s * variance / mean) if mean > 0 else math.inf
            if not low < x < high:
                x = (low + high) / 2
            if abs(x - last) < _SETTLED:
                break
        return math.exp(x)

    def step(self, s: float, nats: float) -> tuple[float, float]:
        """The largest step h, and the strip's half-width a, for which aliasing is about e**-nats of the integral."""
        sigma = math.sqrt(self.n * self.mean_and_variance(s)[1])
        edges = s * EDGES
        ends = self.cumulants(np.concatenate(([s], s + edges, s - edges)))
        grown = self.n * (ends[1:] - ends[0]) - np.log1p(np.concatenate((EDGES, -EDGES)))
        most = np.maximum(grown.reshape(2, -1).max(axis=0), 0.0)
        steps = 2 * math.pi * edges / (nats + most + max(math.log(s * sigma), 0.0) + 4)
        best = int(steps.argmax())
        return float(steps[best]), float(edges[best])

    def integral(self, s: float, h: float, nodes: int = _NODES) -> float:
        """The trapezoidal sum over the first nodes, divided by M(s)**n."""
        p, t = self.tilted(s), h * np.arange(1.0, nodes + 1)
        (lost,), (imaginary,) = transformed(self.values[None], p[None], t)
        with np.errstate(divide="ignore"):
            modulus = np.log1p(np.maximum(lost**2 - 2 * lost + imaginary**2, -1.0)) / 2
        phase = self.n * np.arctan2(imaginary, 1 - lost) - 2 * np.arctan2(t, s)
        shares = np.exp(self.n * modulus) / (s * s + t * t) * np.cos(phase)
        return float(h * (1 / (s * s) + 2 * shares.sum()))

    def level(self) -> float:
        """Float estimate of the logarithm of the expected positive part."""
        s = self.saddle()
        sigma = math.sqrt(self.n * self.mean_and_variance(s)[1])
        integral = self.integral(s, min(_BROAD / sigma, _DISTANT * s))
        return self.n * self.cumulant(s) + math.log(max(integral, 1e-300) / (2 * math.pi))
