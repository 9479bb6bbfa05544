"""What randomized response costs."""

from __future__ import annotations

from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: KaryRandomizedResponse, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of k-ary randomized response.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon q\bigr)_+, \qquad q = \frac{1-p}{k-1},
              \qquad \varepsilon(0) = \log \frac{p\,(k-1)}{1-p}

    Tight: attained on the event {y = x}. Source: Warner 1965; Kairouz, Oh, Viswanath 2014.
    Proof: proofs/randomized_response.py.

    Parameters
    ----------
    m : KaryRandomizedResponse
        ``k >= 2`` and ``1/k <= p < 1``, as its constructor ensures.
    neighbours : Neighbours
        Replace-one.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    # The k - 2 views that are a lie on both inputs have likelihood ratio 1 and never count.
    atoms = [(m.p, m.lie), (m.lie, m.p)]
    return FiniteProfile(both_directions(atoms), "k-ary randomized response: log(p(k-1)/(1-p)), attained at y = x")
