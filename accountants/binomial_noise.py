"""What binomial noise on counts costs."""

from ldpaudit.accountants.aggregation.added_noise import noise_profile
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: BinomialNoise, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of binomial noise X on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \max_{\pm} \sum_y \Bigl(\prod_j P[X = y_j] - e^\varepsilon \prod_j P[X = y_j \mp v_j]\Bigr)_+,
              \qquad X \sim \mathrm{Bin}(n, \gamma)

    Tight: there are two inputs, and the larger of the two directions is taken: they differ where gamma is not 1/2. Delta is
    at least the probability that a count leaves the range that it has with the other input, however large epsilon is.
    Source: the Neyman-Pearson lemma. Lemma: proofs/discrete_laplace.py, that a count's ratio rises with it.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. EXACT for one count at every epsilon; for
    two to four, or within 1e-8, at deltas above 1e-30; for more counts, within about 1e-3.
    Raises Unsupported where several counts have too many coins.
    """
    if len(m.shifts) == 1:
        return ShiftProfile(m.coins, m.gamma, m.distance)
    return noise_profile(masses(m), m.change, f"Bin({m.coins}, {float(m.gamma):g}) on each count")


def masses(m: BinomialNoise) -> Masses:
    """Of the noise on one count, in floats."""
    return Masses.binomial(m.coins, m.gamma)
