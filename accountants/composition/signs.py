"""What randomized signs cost: one, or two with coins of their own, each the opposite of what it would be for another input."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.accountants.composition.product import product_profile
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.profile import PrivacyProfile


def one_sign(p: Fraction, source: str) -> PrivacyProfile:
    r"""Exact profile of a sign that is told with probability p > 1/2, else its opposite.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon (1-p)\bigr)_+, \qquad \varepsilon(0) = \log \frac{p}{1-p}

    Tight: attained on {the sign that is told is that of x} by two inputs with opposite signs. Source: Warner 1965.
    """
    return FiniteProfile(both_directions([(p, 1 - p), (1 - p, p)]), source)


def two_signs(p: Fraction, q: Fraction, source: str) -> PrivacyProfile:
    r"""Exact profile of two signs that are told with probabilities p and q above 1/2, independently, else their opposites.

    .. math:: \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q}

    Two inputs that differ in both signs are the worst pair: one that agrees in a sign shows the other one only. Tight:
    attained where both signs are those of x.
    """
    coins = [([(chance, 1 - chance), (1 - chance, chance)], 1) for chance in (p, q)]
    # Telling the opposite of both signs maps one order of the pair onto the other.
    return product_profile([coins], source)
