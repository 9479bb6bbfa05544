"""What local hashing costs."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: LocalHashing, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of local hashing with a public hash function of each user's own.

    .. math:: \delta(\varepsilon) = (1-c) \bigl(p - e^\varepsilon q\bigr)_+, \qquad q = \frac{1-p}{g-1},
              \qquad \varepsilon(0) = \log \frac{p\,(g-1)}{1-p}

    where c is the probability that two values are hashed alike. It is the same for every two, because the residues
    ``(a x + b, a x' + b)`` are uniform on pairs: with P = `prime` and ``P = m g + r``, it is
    ``c = (r (m+1)**2 + (g-r) m**2) / P**2``. Tight, for every pair of inputs: attained on {y = h(x) != h(x')}.
    Source: Wang, Blocki, Li, Jha 2017 for epsilon. Proof: proofs/local_hashing.py.

    ``m``: ``2 <= g <= prime`` and ``1/g <= p < 1``, as its constructor ensures; so c < 1; ``neighbours``:
    replace-one. Returns in nats. Rigour EXACT at every epsilon.
    """
    # Functions that hash the two values alike, and hash values that are neither's, have likelihood ratio 1.
    apart = 1 - m.collision
    atoms = [(apart * m.p, apart * m.lie), (apart * m.lie, apart * m.p)]
    return FiniteProfile(both_directions(atoms), "local hashing: log(p(g-1)/(1-p)), attained at y = h(x) != h(x')")


def shuffled(m: LocalHashing, users: int) -> Bound:
    """Matched laws: the base is a uniform report, which matches x where it names the hash of x.

    Three hashes of a linear function are not independent: only two are known for all inputs at once.
    """
    both, one = m.collision / m.g, (1 - m.collision) / m.g
    patterns: dict[Pattern, Fraction] = {(1, 1): both, (1, 0): one, (0, 1): one, (0, 0): 1 - both - 2 * one}
    return MatchedLaws.of(m.inputs, patterns, {1: m.g * m.p, 0: m.g * m.lie}).bound(users)
