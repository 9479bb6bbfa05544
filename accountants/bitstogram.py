"""What Bitstogram costs."""

from __future__ import annotations

from ldpaudit.accountants.composition import signs
from ldpaudit.mechanisms.bitstogram import Bitstogram, SplitBitstogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: Bitstogram | SplitBitstogram, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's sign, or two signs, to Bitstogram; what the user is asked, and vectors, are known.

    .. math:: \varepsilon(0) = \log \frac{p}{1-p} \quad\text{(one sign)}, \qquad
              \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q} \quad\text{(two)}

    The same for every user and every question: what is asked are independent bits of the value, and the user's vector is not 0,
    so that the sign is that of :math:`\langle s, x \rangle` with s not 0, and one of the values 1, 2, 4, ... has the
    opposite sign of 0; two vectors s that are not 0 have a pair of values with opposite signs in both. Tight: attained where
    what is told are the signs of x. See `composition.signs`. Source: Bassily, Nissim, Stemmer, Thakurta 2017.
    Proof: proofs/bitstogram.py.

    ``m``: ``1/2 < p < 1``, and so q, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour
    EXACT at every epsilon.
    """
    if isinstance(m, SplitBitstogram):
        return signs.two_signs(m.p, m.q, "Bitstogram: log(p/(1-p)) + log(q/(1-q)), attained at the signs of x")
    return signs.one_sign(m.p, "Bitstogram: log(p/(1-p)), attained at y = the sign of x")
