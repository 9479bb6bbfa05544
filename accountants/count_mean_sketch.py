"""What the count mean sketches cost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: CountMeanSketch | HadamardCountMeanSketch, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of CMS or HCMS with public hash functions.

    .. math:: \varepsilon(0) = 2 \log \frac{p}{1-p} \quad\text{(CMS)}, \qquad
              \varepsilon(0) = \log \frac{p}{1-p} \quad\text{(HCMS)}

    Given the hash function, two values that it sends to different buckets are told apart by two coordinates of CMS, or
    by the half of HCMS's coefficients in which two columns of the Hadamard matrix differ; two values that collide are
    not told apart at all. With c the share of the functions under which they collide, delta is 1 - c times that of a
    pair that never collides, and epsilon(0) is the same. Tight: attained on {coordinate h(x) = 1, h(x') = -1}, and on a
    coefficient that differs. Source: Apple 2017. Proof: proofs/count_mean_sketch.py.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at delta = 0, and
    elsewhere too where the domain is small enough to search all pairs or a pair never collides; else INTERVAL, from
    the best pair that was searched to one that never collides.
    """
    p, q = m.p, 1 - m.p
    if isinstance(m, HadamardCountMeanSketch):
        half = Fraction(1, 2)
        atoms = [(half * p, half * q), (half * q, half * p), (half, half)]
        source = "HCMS: log(p/(1-p)), attained at a coefficient that differs"
    else:
        atoms = [(p * p, q * q), (q * q, p * p), (2 * p * q, 2 * p * q)]
        source = "CMS: 2 log(p/(1-p)), attained at the coordinates of the two buckets"
    pair = m.apart
    attained = _mixed(atoms, pair.collisions, source)
    # Nobody knows a better pair of a large domain, but none does better than never to collide.
    return attained if pair.certain or not pair.collisions else Bracket(attained, _mixed(atoms, Fraction(0), source))


def _mixed(atoms: Sequence[Atom], collisions: Fraction, source: str) -> FiniteProfile:
    apart = 1 - collisions
    return FiniteProfile(both_directions([*((apart * p, apart * q) for p, q in atoms), (collisions, collisions)]), source)
