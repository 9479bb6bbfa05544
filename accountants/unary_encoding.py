"""What unary encoding costs."""

from __future__ import annotations

from ldpaudit.accountants.composition.product import product_profile
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: UnaryEncoding, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of unary encoding.

    .. math:: \varepsilon(0) = \log \frac{p\,(1-q)}{q\,(1-p)} \quad\text{(replace-one)}, \qquad
              \varepsilon(0) = \log \max\Bigl(\frac{p}{q}, \frac{1-q}{1-p}\Bigr) \quad\text{(add-remove)}

    Two values' vectors differ in two bits, a value's and an absent user's in one; all other bits have the same law, and
    by symmetry every pair costs the same. Tight: attained on the event {bit x = 1, bit x' = 0}, and on one value of
    bit x. Source: Wang, Blocki, Li, Jha 2017. Proof: proofs/unary_encoding.py.

    Parameters
    ----------
    m : UnaryEncoding
        ``0 < q < p < 1``, as its constructor ensures.
    neighbours : Neighbours
        Replace-one or add-remove.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    one = [(m.p, m.q), (1 - m.p, 1 - m.q)]
    if neighbours == ADD_REMOVE:
        return FiniteProfile(both_directions(one), "unary encoding, one bit: log max(p/q, (1-q)/(1-p)), attained at it")
    zero = [(q, p) for p, q in one]
    # Exchanging the two bits maps one order of the pair onto the other.
    return product_profile([[(one, 1), (zero, 1)]], "unary encoding: log(p(1-q)/(q(1-p))), attained at bits 1 and 0")
