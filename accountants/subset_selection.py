"""What subset selection costs."""

from __future__ import annotations

from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: SubsetSelection, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of subset selection.

    .. math:: \delta(\varepsilon) = \Bigl(\frac{p\,(k-d)}{k-1} - e^\varepsilon \frac{(1-p)\,d}{k-1}\Bigr)_+,
              \qquad \varepsilon(0) = \log \frac{p\,(k-d)}{(1-p)\,d}

    Tight, for every pair of inputs: attained on the event {x in, x' out}. Source: Ye, Barg 2018.
    Proof: proofs/subset_selection.py.

    Parameters
    ----------
    m : SubsetSelection
        ``1 <= d < k`` and ``d/k <= p < 1``, as its constructor ensures.
    neighbours : Neighbours
        Replace-one.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    # Subsets with both inputs, or with neither, have likelihood ratio 1 and never count.
    own, wrong = m.p * (m.k - m.d) / (m.k - 1), (1 - m.p) * m.d / (m.k - 1)
    return FiniteProfile(
        both_directions([(own, wrong), (wrong, own)]), "subset selection: log(p(k-d)/((1-p)d)), attained at x in, x' out"
    )
