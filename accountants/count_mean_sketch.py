"""What the count mean sketches cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain

import numpy as np

from ldpaudit.accountants.aggregation.exchanged import Exchanged, Place, Step
from ldpaudit.accountants.aggregation.rows import Rows
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import BlanketBound, Bound, OthersAlike
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, independent, of_mechanism
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_HALF = Fraction(1, 2)
_WEIGHT = 12
"""The largest weight of a cell."""
_THIRDS = 64
"""Values among which one is looked for that collides least with two others."""


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
        atoms = [(_HALF * p, _HALF * q), (_HALF * q, _HALF * p), (_HALF, _HALF)]
        source = "HCMS: log(p/(1-p)), attained at a coefficient that differs"
    else:
        atoms = [(p * p, q * q), (q * q, p * p), (2 * p * q, 2 * p * q)]
        source = "CMS: 2 log(p/(1-p)), attained at the coordinates of the two buckets"
    pair = m.apart
    attained = _mixed(atoms, pair.collisions, source)
    # Nobody knows a better pair of a large domain, but none does better than never to collide.
    return attained if pair.certain or not pair.collisions else Bracket(attained, _mixed(atoms, Fraction(0), source))


def shuffled(m: CountMeanSketch | HadamardCountMeanSketch, users: int) -> Bound:
    """The laws of all values, where they are few enough to list; else matched laws, as if no two values ever shared a bucket, which
    are also the replacement where the laws are listed but their types are too many.

    The base is a report of nobody's value: of CMS, which matches a value where the bit of its bucket is 1; of HCMS with a fair
    sign, which matches a value whose coefficient that is. In every row different buckets' matches are independent. From above: in
    a row where user 1's two values share a bucket, one ratio multiplies both parts of the term; two independent ones make it
    larger in the convex order, as in `bloom.replaced`, and so the blanket's. A law is a mixture of its rows'. From below: two
    values that collide least, and others of them or of a third one, with the collisions that they have.
    """
    listed = of_mechanism(m, users)
    if listed is not None and not (isinstance(listed, BlanketBound) and listed.replaced and not listed.replaced.types):
        return listed
    p, q = m.p, 1 - m.p
    is_one = isinstance(m, HadamardCountMeanSketch)
    bit, ratio = ((_HALF, _HALF), {1: 2 * p, 0: 2 * q}) if is_one else ((p, q), {1: p / q, 0: q / p})
    values, table = _three(m)
    rows = Counter(tuple(_first(column)) for column in zip(*table, strict=True))

    def alike(other: int) -> Blanket:
        """Where all others hold one of the three."""
        return Blanket.of(
            (share * w * ratio[y[held[0]]], share * w * ratio[y[held[1]]], share * w * ratio[y[held[other]]])
            for held, share in ((held, Fraction(count, m.hashes)) for held, count in rows.items())
            for y, w in independent(bit, 3).items()
        )

    x, x2, *_ = values
    sets = [OthersAlike(alike(i), (x, x2), value) for i, value in enumerate(values)]
    above = MatchedLaws((x, x2), independent(bit, 3), ratio, complete=False, choices=()).bound(users)
    if not isinstance(listed, BlanketBound):
        return replace(above, data_sets=tuple(sets), few=None)
    blankets = listed.blankets or above.blankets
    return replace(listed, blankets=blankets, data_sets=(*listed.data_sets, *sets), replaced=above.replaced)


def summands(m: CountMeanSketch | HadamardCountMeanSketch, neighbours: Neighbours) -> Rows | Exchanged:
    """Bits in the row of a hash function; of HCMS a sign in a coefficient of a row, half of which tell two buckets apart."""
    p, q, none, width = m.p, 1 - m.p, Fraction(0), m.width
    _, (first, second, *third) = _three(m)
    apart = [column for column in zip(first, second, *third, strict=True) if column[0] != column[1]]
    is_one = isinstance(m, HadamardCountMeanSketch)
    own = Step(p / 2, q / 2, none) if is_one else Step(p * p, q * q, p * q)
    neither = Step(_HALF / 2, _HALF / 2, none) if is_one else Step(p * q, p * q, q * q)

    def mixed(kinds: Mapping[int, int]) -> Step:
        """What a report adds that has the bucket of the first value, of the second or neither, by the number of rows."""
        return Step.mixed([(Fraction(count, m.hashes), (own, own.mirrored, neither)[kind]) for kind, count in kinds.items()])

    steps = mixed({0: len(apart)}), mixed(Counter(_first(column)[2] for column in apart)) if third else None
    together = m.apart.collisions if m.apart.certain else Fraction(0)
    differ = int((1 - together) * m.hashes)
    if is_one:
        # Of the coefficients that differ, those that are +1 at the first bucket: all, none, or half where neither bucket is 0.
        added = sum(width // 2 if not column[0] else width // 4 if column[1] else 0 for column in apart)
        place = Place(m.cells, len(apart) * width // 2, differ * width // 2, p)
        weighed = partial(_weighed, Fraction(place.apart, m.cells), [[(1, p, q)], [(1, p, p)]], -1)
        return Exchanged(*steps, (added, len(apart) * width // 2 - added), (2,), is_counted=False, place=place, weighed=weighed)
    place, share = Place(m.hashes, len(apart), differ, p, width), Fraction(len(apart), m.hashes)
    weighed = partial(_weighed, share, [[(1, p, q), (1, q, p), (width - 2, q, q)], [(1, p, p), (width - 1, q, q)]], 0)
    counts = Exchanged(*steps, (len(apart), len(apart)), place=place, weighed=weighed)
    return Rows(m.hashes, UnaryEncoding(width, p, q), together, counts)


def _weighed(apart: Fraction, kinds: Sequence[Sequence[tuple[int, Fraction, Fraction]]], zero: int) -> tuple[Masses, Masses]:
    """Laws of a weighted sum of what a report of either value adds, with the weights that tell the most in the normal limit.

    With probability `apart` the report is in a row or cell of the first kind, where the values differ, and else in one of the
    second. Of a kind, some numbers of bits are ones with a probability for each value; all else is a zero, which may count as -1.
    """
    shares, size, one = (apart, 1 - apart), sum(map(len, kinds)), 1 - zero
    means, second, place = np.zeros((2, 2, size)), np.zeros((size, size)), 0  # means of each value, in each kind
    for i, kind in enumerate(kinds):
        for count, *chances in kind:
            means[:, i, place] = [float(count * (zero + one * chance)) for chance in chances]
            second[place, place] += float(shares[i] * count * one**2 * chances[0] * (1 - chances[0]))
            place += 1
        second += float(shares[i]) * np.outer(means[0, i], means[0, i])
    mean, other = np.array([float(share) for share in shares]) @ means
    best = np.linalg.pinv(second - np.outer(mean, mean), rcond=1e-9, hermitian=True) @ (mean - other)
    weights = iter(np.rint(best * (_WEIGHT / max(np.abs(best).max(), UNIT))).astype(int).tolist())
    laws = [[Masses.point(0)] * 2 for _ in kinds]
    for i, kind in enumerate(kinds):
        for (count, *chances), weight in zip(kind, weights, strict=False):
            for value, chance in enumerate(chances):
                bit = np.zeros(abs(weight) * one + 1)
                bit[[0, -1] if weight > 0 else [-1, 0]] = float(1 - chance), float(chance)
                added = Masses(min(weight * zero, weight), bit, UNIT, 0.0) if weight else Masses.point(0)
                laws[i][value] = laws[i][value].plus(added.times(count))
    at = np.arange(min(law.first for law in chain(*laws)), max(law.first + len(law.values) for law in chain(*laws)))
    error, outside = max(law.error for law in chain(*laws)) + 4 * UNIT, sum(law.outside for law in chain(*laws))
    own, moved = (float(shares[0]) * law.at(at) + float(shares[1]) * rest.at(at) for law, rest in zip(*laws, strict=True))
    return Masses(int(at[0]), own, error, outside), Masses(int(at[0]), moved, error, outside)


def _three(m: CountMeanSketch | HadamardCountMeanSketch) -> tuple[list[int], list[list[int]]]:
    """Two values that collide least, a third one that collides least with these, if there is one; and their buckets."""
    x, x2 = m.apart.pair
    free = [value for value in range(min(m.domain, _THIRDS + 2)) if value not in (x, x2)]
    table = m.buckets(np.array([x, x2, *free]))
    collisions = (table[2:] == table[0]).sum(axis=1) + (table[2:] == table[1]).sum(axis=1)
    third = [int(collisions.argmin())] if free else []
    return [x, x2, *(free[place] for place in third)], table[[0, 1, *(2 + place for place in third)]].tolist()


def _first(column: Sequence[int]) -> list[int]:
    """The first place that has the same bucket, of each."""
    return [column.index(bucket) for bucket in column]


def _mixed(atoms: Sequence[Atom], collisions: Fraction, source: str) -> FiniteProfile:
    apart = 1 - collisions
    return FiniteProfile(both_directions([*((apart * p, apart * q) for p, q in atoms), (collisions, collisions)]), source)
