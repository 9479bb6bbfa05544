"""What the repaired THRESH costs: never more than three quarters of what it claims."""

from __future__ import annotations

from ldpaudit.accountants import thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: ThreshRepaired, neighbours: Neighbours = USER_LEVEL) -> PrivacyProfile:
    r"""Profile of one user's transcript, as for `Thresh`, with :math:`V = \lfloor\varepsilon/4a\rfloor`, E alike.

    .. math:: \varepsilon(0) = 2 (V - v) \alpha + E \beta \le \tfrac34 \varepsilon

    Two streams spend their votes in different epochs, but their estimates in the same: hence three quarters. Tight and
    attained as for `Thresh`. Proof: proofs/thresh_repaired.py.

    ``m``: its noise levels are above 0; ``neighbours``: user-level. Returns in nats. EXACT at every epsilon where
    votes and estimates find different epochs, else INTERVAL.
    """
    return thresh.profile(m, neighbours)
