"""What the hashtogram costs."""

from __future__ import annotations

from ldpaudit.accountants.composition.signs import one_sign
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: Hashtogram, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's report to the hashtogram; the user's group, hash function and column are known.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon (1-p)\bigr)_+, \qquad
              \varepsilon(0) = \log \frac{p}{1-p}

    The same for every user: the user's sign is that of :math:`\langle A_j^T r, x \rangle`, and as A_j has full rank and r is
    not 0, neither is the vector, so that one of the values 1, 2, 4, ... has the opposite sign of 0. Tight: attained on
    {y = H[h(x), r]} by these two. Source: Bassily, Nissim, Stemmer, Thakurta 2017. Proof: proofs/hashtogram.py.

    ``m``: ``1/2 < p < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at
    every epsilon.
    """
    return one_sign(m.p, "hashtogram: log(p/(1-p)), attained at y = H[h(x), r]")
