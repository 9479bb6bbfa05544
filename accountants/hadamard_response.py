"""What Hadamard response costs."""

from __future__ import annotations

from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: HadamardResponse, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of Hadamard response.

    .. math:: \delta(\varepsilon) = \tfrac12 \bigl(p - e^\varepsilon (1-p)\bigr)_+,
              \qquad \varepsilon(0) = \log \frac{p}{1-p}

    Tight, for every pair of inputs: attained on the event {row x + 1 is +1 at y, row x' + 1 is -1}. Two rows of the
    matrix that are not constant agree on half of the columns, so that half of either law is common to both.
    Source: Acharya, Sun, Zhang 2019. Proof: proofs/hadamard_response.py.

    Parameters
    ----------
    m : HadamardResponse
        ``k >= 2`` and ``1/2 <= p < 1``, as its constructor ensures.
    neighbours : Neighbours
        Replace-one.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    # The half of the columns on which the two rows agree has likelihood ratio 1 and never counts.
    atoms = [(m.p / 2, (1 - m.p) / 2), ((1 - m.p) / 2, m.p / 2)]
    return FiniteProfile(both_directions(atoms), "Hadamard response: log(p/(1-p)), attained where the two rows differ")
