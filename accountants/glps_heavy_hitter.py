"""What GLPS-HH costs."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.pld.profiles import Bracket, LargestProfile
from ldpaudit.accountants.shuffling import laplace_vectors
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors
from ldpaudit.accountants.shuffling.vector_laws import Overlap
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_HARDLY = 1e-3
"""Part of the variance of W that may be lost where values that differ in fewer numbers are not looked at by themselves."""


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


def shuffled(m: GlpsHeavyHitter, users: int) -> Bound | None:
    """A bucket's numbers are -1, 0 or 1: see `laplace_vectors`, and `row` for what three values make of a row.

    From below all others hold a value of a pair that is furthest apart. The blanket is the law of noise alone, of which every
    report has at least ``e**(-R (L + 1) / b)``.
    """
    pairs, step = m.apart()[0], 1 / m.scale
    twice = min(m.bits + 1, max(each.twice for each in (*pairs, *m.beyond)))
    one = LaplaceVectors((step, step), tuple(row(m.bits + 1, twice, step)), (), (m.bits + 1) * step)
    held = [
        (own, m.pair(each), m.pair(each)[i])
        for each in pairs
        for i, own in enumerate(((0, 0, each.once, 0, 0, each.twice, 0, 0), (0, each.once, 0, 0, each.twice, 0, 0, 0)))
    ]
    return laplace_vectors.bound(replace(one.repeated(m.rows), held=tuple(held), reports=1), users)


def row(size: int, twice: int, step: Fraction) -> Iterator[Overlap]:
    """Overlaps of which one is at least that of any three values in a row, with as many numbers a bucket.

    Of two values that share a bucket at most `twice` of these differ. If user 1's two do not, another's is apart; or it shares the
    bucket of one, from which it differs in d numbers, where 0 takes the place of its own. If they do, and differ in d, another's is
    apart, and has 1 or -1 in place of 0 there; or it shares the bucket, and differs from both in size - d at most.
    """
    yield size, size, size, 0, 0, 0, 0, 0
    grain = 1 if 4 * twice < 3 * size else -(-size // 2)  # those that share no bucket tell clearly less, or most
    for b in range(0, 2 * size + 1, grain):
        most = min(b + grain - 1, 2 * size)
        yield 0, most, 2 * size - b, 0, 0, 0, min(size, most, 2 * size - b), 0
    groups = ((0, twice // 2), (twice // 2, twice - 1), (twice, twice)) if 6 * size * step**2 > _HARDLY else ((0, twice),)
    for least, most in groups:
        for b in range(most + 1):
            yield 2 * size - least, 0, 0, size - least, b, most - b, 0, most
