"""What GLPS-HH costs."""

from fractions import Fraction

from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.pld.profiles import Bracket, LargestProfile
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: GlpsHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's view of GLPS-HH, the public matrix known.

    .. math:: \delta_{replace}(\varepsilon) = \max_{x \ne x'} \delta_{D_1, 1/b;\, D_2, 2/b}(\varepsilon), \qquad
              \delta_{add}(\varepsilon) = \delta_{R(L+1), 1/b}(\varepsilon), \qquad
              \varepsilon_{replace}(0) = \max_{x \ne x'} \frac{D_1 + 2 D_2}b \le \frac{2R(L+1)}b

    with the profile of :math:`D_1` Laplace coordinates shifted by 1/b scales and :math:`D_2` shifted by 2/b
    (`composition.laplace_vector`). A row in which x and x' have different buckets shifts 2(L+1) measurements by 1; where
    they share one, it shifts by 2 those of the bits that differ if their signs are equal, and the others if not. An absent
    user changes every measurement that a value touches, by 1. One coordinate of step 2s has a larger delta than two of
    step s, at every epsilon: :math:`1 - e^{-u/2} \ge 1 - e^{-u/2}(1 + u/4)` with :math:`u = 2s - \varepsilon`, and so has
    it beside further coordinates (Zhu, Dong, Wang 2022, Theorem 10). So of all pairs only those count of which no other
    has at least their :math:`D_1 + 2D_2` and at least their :math:`D_2`; what hash functions and signs do to a pair
    depends on x xor x' alone, and with up to 22 bits a value all of these are compared. Beyond, those of few ones and of few
    zeros are, which shift most by 2 where buckets are shared; what all others could at most shift is only above
    (`signed_buckets.furthest`). Open is, where many rows have many buckets, which values that share several of these are
    worst. Tight for real numbers. Source: Hsu, Khanna, Roth 2012, Theorem 4.1, for an upper bound.
    Proof: proofs/glps_heavy_hitter.py, of epsilon(0) <= 2 R (L+1) / b.

    ``m``: ``scale > 0``, as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats.
    Rigour EXACT for add-remove, and where no pair is left that may be worse; else INTERVAL.
    """
    if neighbours == ADD_REMOVE:
        return any_seed(m, neighbours)
    pairs, known = m.apart()
    level = Rigour.EXACT if known else Rigour.INTERVAL
    found, above = (tuple(_shifted(each.once, each.twice, m.scale, level) for each in kinds) for kinds in (pairs, m.beyond))
    return LargestProfile(found) if known else Bracket(LargestProfile(found), LargestProfile(found + above))


def any_seed(m: GlpsHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Upper bound of the profile, whatever hash functions and signs the seed gives.

    For replace-one R(L+1) coordinates shifted by 2/b: what two values would cost that share all buckets and whose columns
    were opposite, which costs no less than any D1 and D2 with D1/2 + D2 <= R(L+1). For add-remove the profile itself.

    ``m``: its seed is not looked at; ``neighbours``: replace-one or add-remove. Returns in nats. EXACT for
    add-remove, else INTERVAL.
    """
    if neighbours == ADD_REMOVE:
        return _shifted(m.touched, 0, m.scale, Rigour.EXACT)
    return _shifted(0, m.touched, m.scale, Rigour.INTERVAL)


def _shifted(once: int, twice: int, scale: Fraction, level: Rigour) -> LaplaceCoordinates:
    parts = [f"{n} by {shift}" for n, shift in ((once, 1), (twice, 2)) if n]
    source = f"Laplace coordinates of scale {float(scale):.6g} shifted, {' and '.join(parts)}"
    if not once:
        return LaplaceCoordinates(twice, 2 / scale, source, level)
    return LaplaceCoordinates(once, 1 / scale, source, level, twice)
