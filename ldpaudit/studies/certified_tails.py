r"""How far a sum of independent numbers is from its mean, whatever their laws: the normal law with its error, or Bernstein's.

Let S be a sum of independent X_i of mean 0, of variance V, with :math:`q = \sum E X_i^4 / V^2`, and z > 0. For every
:math:`\tau \ge 5` and with :math:`u = t \sqrt V`,

.. math:: P[|S| \ge z \sqrt V] \le 2 \Phi(-z) + \frac{\sqrt{2\pi}}{\tau} e^{-z^2/2} + \frac{2.7}{\tau^2}
          + 0.653 \int_0^\tau \bigl|\mathrm{Re}\, E e^{itS} - e^{-u^2/2}\bigr| \frac{du}{u}.

Not tight. Source: the smoothing inequality is that of Prawitz 1972.

Proof. S times a fair sign has the characteristic function :math:`\mathrm{Re}\, E e^{itS}`. The smoothing inequality for it, of
width :math:`\tau`, has a kernel K with :math:`|K(x)| \le 1.0253/(2 \pi x)`, which makes the integral. With the normal law's
characteristic function in its place it is the rest: :math:`(1-x) \cot \pi x + 1/\pi` is less than :math:`1/(\pi x)` by at most
:math:`\pi x/3`, and :math:`\int_0^\infty u \cos(zu)\, e^{-u^2/2} du \ge -0.285`.

As the sign is fair, third moments enter by their squares. With :math:`a = E X_i^2 t^2/2` and :math:`b = E X_i^3 t^3/6`, the
characteristic function of X_i is within :math:`E X_i^4 t^4/24` of 1 - a - ib, which is within (a^2 + b^2)/2 of exp(-a - ib). It is
at most :math:`\exp(-E X_i^2 t^2/2 + E X_i^4 t^4/6)`, by Taylor's formula for the difference of two such numbers. So the distance
in the integral is at most

.. math:: \frac{q u^6}{72} e^{-u^2/2} + \Bigl(\frac{q u^4}{6} + \frac{q^{3/2} u^6}{72}\Bigr) e^{-(1-\sqrt q) u^2/2 + q u^4/6},

and, as :math:`1 - \cos y \ge 0.285\, y^2 (1 - y^2/25)`, at most :math:`e^{-u^2/2} + e^{-0.285 u^2 (1 - 4 q u^2/25)}`. The first is
integrated up to :math:`\sqrt{s/q}`, the second one from there to :math:`\tau = 5 \theta/(2 \sqrt q)`, for some s and
:math:`\theta`.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_THETA, _S = (each.ravel() for each in np.meshgrid([0.7, 0.8, 0.9, 0.95], [0.3, 0.6, 1.0, 1.5]))
_FARTHEST = 40.0  # deviations, beyond which no normal number lies


def reach(variance: Floats | float, least: float, fourth: float, spread: float, alpha: float) -> Floats:
    """How far a sum of independent numbers is from its mean, except with probability `alpha`.

    ``variance``, ``least``: of the sum, no less than it, and no more; ``fourth``: no less than the sum of the fourth moments of the
    numbers around their means; ``spread``: how far any is from its mean.
    """
    nats = math.log(2 / alpha)
    bernstein = nats * spread / 3 + np.sqrt((nats * spread / 3) ** 2 + 2 * nats * variance)
    normal = deviations(fourth / least**2, alpha) if least > 0 else math.inf
    return np.asarray(np.fmin(bernstein, normal * np.sqrt(variance)))


@lru_cache(maxsize=1024)
def deviations(q: float, alpha: float) -> float:
    """The least z at which the bound of this module is at most `alpha`; infinite where it is at none."""
    from scipy.optimize import brentq  # here: they take a while to import
    from scipy.special import ndtr

    tau, slope, far = 2.5 * _THETA / math.sqrt(q), 1 - math.sqrt(q) - _S / 3, _S / q
    known = (tau >= 5) & (slope > 0)
    tau, slope, far, decay = tau[known], slope[known], far[known], 0.285 * (1 - _THETA[known] ** 2)
    near = q / 9 + q / (3 * slope**2) + q**1.5 / (9 * slope**3)
    errors = 2.7 / tau**2 + 0.653 * (near + np.exp(-far / 2) / far + np.exp(-decay * far) / (2 * decay * far))

    def above(z: float) -> float:
        smoothed = math.sqrt(2 * math.pi) / tau * math.exp(-(z**2) / 2) + errors
        return float(2 * ndtr(-z) + smoothed.min(initial=math.inf) - alpha)

    return float(brentq(above, 0.0, _FARTHEST)) * (1 + 1e-9) if above(_FARTHEST) < 0 else math.inf
