"""What PrivateExpanderSketch costs."""

from __future__ import annotations

from ldpaudit.accountants.composition.signs import one_sign, two_signs
from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, SplitExpanderSketch
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: ExpanderSketch | SplitExpanderSketch, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's sign, or two signs, to PrivateExpanderSketch; what is asked, and vectors, are known.

    .. math:: \varepsilon(0) = \log \frac{p}{1-p} \quad\text{(one sign)}, \qquad
              \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q} \quad\text{(two)}

    The same for every user and every coordinate: the symbol and the three hashed names are independent bits of the value, and
    the user's vector is not 0, so that the sign is that of :math:`\langle s, x \rangle` with s not 0, and one of the values
    1, 2, 4, ... has the opposite sign of 0; two vectors s that are not 0 have a pair of values with opposite signs in both.
    Names cost nothing beyond the sign: they decide which sign is told. Tight: attained where what is told are the signs
    of x. Source: Bun, Nelson, Stemmer 2018. Proof: proofs/expander_sketch.py.

    ``m``: ``1/2 < p < 1``, and so q, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour
    EXACT at every epsilon.
    """
    if isinstance(m, SplitExpanderSketch):
        return two_signs(m.p, m.q, "PrivateExpanderSketch: log(p/(1-p)) + log(q/(1-q)), attained at the signs of x")
    return one_sign(m.p, "PrivateExpanderSketch: log(p/(1-p)), attained at y = the sign of x")
