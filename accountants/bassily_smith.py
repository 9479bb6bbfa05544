"""What the Bassily-Smith randomizer costs, of a vector and of a word that a public projection turns into one."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import BlanketBound, Bound
from ldpaudit.accountants.shuffling.laplace_vectors import maximal
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern, of_mechanism
from ldpaudit.accountants.shuffling.replaced import Replacement, replacement
from ldpaudit.mechanisms.bassily_smith import ProjectedBassilySmith, RowSign
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_PRODUCTS = 1 << 30
"""Products of signs up to which all pairs of words are compared: a second."""
_ALL_TRIPLES, _MOST_OVERLAPS = 32, 24
"""Words of which all triples are compared, and overlaps of them up to which each is a type."""
Shares: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Of rows, by whose entry differs from the two others: another user's, user 1's first, or the second."""


def profile(m: RowSign, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of one report: randomized response, seen with the probability h that a row tells the two inputs apart.

    .. math:: \delta(\varepsilon) = h\,\bigl(p - e^\varepsilon (1-p)\bigr)_+, \qquad
              \varepsilon(0) = \log\frac{p}{1-p} \text{ where } h > 0

    h is the largest share of rows in which two words' signs differ; it is 1 for vectors, of which two may differ in all
    rows. Tight: attained by those two, on {s is the first one's sign}. For a user who may be absent, whose sign is then fair,

    .. math:: \delta(\varepsilon) = \max\bigl\{p - \tfrac12 e^\varepsilon,\; \tfrac12 - e^\varepsilon (1-p),\; 0\bigr\}, \qquad
              \varepsilon(0) = \log\frac{1}{2(1-p)},

    whatever the word is. Proof: for each row the divergence is jointly convex in the two entries, so its largest mean over the
    rows is attained by entries of 1 and -1. Source: Bassily, Smith 2015, who say epsilon. Proof: proofs/bassily_smith.py.

    ``m``: ``1/2 < p < 1``, as its constructor ensures; ``neighbours``: replace-one, or add-remove. Returns in nats.
    EXACT at every epsilon where there are few enough words to compare all; else delta is an INTERVAL, from two words
    that are far apart to h = 1.
    """
    if neighbours == ADD_REMOVE:
        half = Fraction(1, 2)
        return FiniteProfile(both_directions([(m.p, half), (1 - m.p, half)]), "Bassily-Smith randomizer: log(1/(2(1-p))), absent")
    if not isinstance(m, ProjectedBassilySmith):
        return _seen(m.p, Fraction(1))
    share, compared = largest_share(m.public)
    low = _seen(m.p, share)
    return low if compared else Bracket(low, _seen(m.p, Fraction(1)))


def shuffled(m: RowSign, users: int) -> Bound:
    r"""The laws of all words, where they are few enough to list; else matched laws, whose base is a uniform row with a fair sign.

    The user draws the row, of rows that all share, and sends it, so that a report names nobody. From above: every report has its
    base with the density ``2 (1-p)``, and in a row with entries u and v of user 1's two columns the blanket's terms are
    :math:`1 - e^\varepsilon \pm \theta (u - e^\varepsilon v)`, of one mean and furthest apart for u = 1 and v = -1, where a convex
    function of their sum is largest: two inputs that differ in as many rows as any two do, or in all of them where not all pairs
    are compared. From below: two words that are far apart.
    """
    if not isinstance(m, ProjectedBassilySmith):
        return replace(_matched(m.p, m.inputs, Fraction(1)).bound(users), replaced=_replaced(m.p, Fraction(1), _overlaps(None)))
    most, compared = largest_share(m.public)
    share = most if compared else Fraction(1)
    replaced, listed = _replaced(m.p, share, _overlaps(m.public)), of_mechanism(m, users)
    if isinstance(listed, BlanketBound) and listed.replaced is not None and replaced is not None:
        return replace(listed, replaced=replace(replaced, gamma=listed.replaced.gamma))
    if listed is not None:
        return listed
    pair = m.public.apart()
    above = _matched(m.p, pair, share).bound(users)
    below = _matched(m.p, pair, Fraction(m.public.differing(*pair), m.rows)).bound(users)
    return replace(below, blankets=above.blankets, replaced=replaced)


def _replaced(p: Fraction, share: Fraction, overlaps: Sequence[Shares]) -> Replacement | None:
    r"""The replacement where user 1's two inputs differ in a share of the rows, or fewer.

    As delta is convex in each user's law, all entries are 1 or -1. In each row the term has two values, one with probability p,
    where the report is the other user's sign. Where user 1's entries differ, that other user has one of them. Where they are
    alike, and not the other user's, the two values are :math:`(e^\varepsilon - 1)/e^\varepsilon` times as far apart as where
    only the second one is not, in the same direction: smaller in the convex order; and smaller still is a constant, where all
    are alike.
    """
    ratio, kinds = {1: 2 * p, 0: 2 * (1 - p)}, _patterns(share)
    held = ({y: y[one] if y[0] != y[1] else 1 - y[0] for y in kinds} for one in (0, 1))
    types = (Blanket.of((w * ratio[y[0]], w * ratio[y[1]], w * ratio[other[y]]) for y, w in kinds.items()) for other in held)
    found = replacement(types, 2 * (1 - p))
    return None if found is None else replace(found, runs=_runs(p, overlaps))


def _runs(p: Fraction, overlaps: Sequence[Shares]) -> tuple[Blanket, ...]:
    """One report's types in a bundle, by the shares of rows in which one entry differs from the two others.

    Where more rows of a kind take the place of rows in which all are alike, more is told, so that the largest overlaps are enough.
    """
    truth, lie, found = (p, 1 - p), (1 - p, p), []
    for each in overlaps:
        rows = zip(each, ((lie, lie, truth), (truth, lie, lie), (lie, truth, lie)), strict=True)
        cells = [(w * r1, w * r2, w * r) for w, laws in rows for r1, r2, r in zip(*laws, strict=True)]
        rest = 1 - sum(each, Fraction(0))
        found.append(Blanket.of([*cells, (rest, rest, rest)]))
    return tuple(found)


def _overlaps(public: Projection | None) -> list[Shares]:
    """The largest of any three words; of too many words, or of all vectors, some that are as large as any.

    The shares of two kinds of rows add up to at most what two words differ in, and those of all three to at most 1. The laws are
    linear in the shares, so that the corners of that are enough.
    """
    if public is not None and public.domain <= _ALL_TRIPLES:
        d = _differing(public)
        one, two, both = np.broadcast_arrays(d[:, None, :], d[None, :, :], d[:, :, None])
        triples = np.stack([one + two - both, one + both - two, two + both - one], axis=-1).reshape(-1, 3) // 2
        found = maximal(tuple(each) for each in triples.tolist())
        if len(found) <= _MOST_OVERLAPS:
            return [(Fraction(a, public.rows), Fraction(b, public.rows), Fraction(c, public.rows)) for a, b, c in found]
    share, compared = (Fraction(1), True) if public is None else largest_share(public)
    share = share if compared else Fraction(1)
    half, none = min(share / 2, 1 - share), Fraction(0)
    more = share - half
    alone = (share, none, none), (none, share, none), (none, none, share)
    return sorted({*alone, (more, half, half), (half, more, half), (half, half, more)})


def _patterns(share: Fraction) -> dict[Pattern, Fraction]:
    """How a uniform row with a fair sign matches two inputs that differ in a share of the rows."""
    patterns = {(0, 1): share / 2, (1, 0): share / 2, (0, 0): (1 - share) / 2, (1, 1): (1 - share) / 2}
    return {y: w for y, w in patterns.items() if w}


def _matched(p: Fraction, pair: Sequence[Any], share: Fraction) -> MatchedLaws:
    """Of two inputs that differ in a share of the rows; there are others."""
    return MatchedLaws(tuple(pair), _patterns(share), {1: 2 * p, 0: 2 * (1 - p)}, complete=False)


def of_pair(m: RowSign, x: Any, y: Any) -> PrivacyProfile:
    """Exact profile of one report of two given inputs, in both directions; rows are merged by their entries."""
    source = f"{m.title}: {x!r:.40} against {y!r:.40}"
    return FiniteProfile(both_directions(atoms(m, x, y)), source)


def atoms(m: RowSign, x: Any, y: Any) -> list[Atom]:
    """Views of two inputs, rows with the same entries together."""
    found = []
    for (u, v), rows in m.patterns(x, y).items():
        plus, other, share = m.sign_chance(u), m.sign_chance(v), Fraction(rows, m.rows)
        found += [(share * plus, share * other), (share * (1 - plus), share * (1 - other))]
    return found


def seen(p: Fraction, share: Fraction) -> Sequence[Atom]:
    """Randomized response with a truth of probability p that is seen with probability `share`, and else nothing is."""
    told = [(share * p, share * (1 - p)), (share * (1 - p), share * p)] if share else []
    return told if share == 1 else [*told, (1 - share, 1 - share)]


def _seen(p: Fraction, share: Fraction) -> FiniteProfile:
    source = "Bassily-Smith randomizer: log(p/(1-p)), attained at the sign of a row in which two inputs differ"
    return FiniteProfile(both_directions(seen(p, share)), source)


def largest_share(public: Projection) -> tuple[Fraction, bool]:
    """Share of rows in which two words differ, the largest; and whether all pairs were compared, or only some."""
    if public.rows * public.domain**2 > _PRODUCTS:
        return Fraction(public.differing(*public.apart()), public.rows), False
    return Fraction(int(_differing(public).max()), public.rows), True


def _differing(public: Projection) -> NDArray[np.int64]:
    """In how many rows each two words differ."""
    agreeing = np.zeros((public.domain, public.domain), dtype=np.int64)
    for block in public.blocks(range(public.domain)):
        signs = block.astype(np.float32)  # sums of at most 2**16 signs are exact
        agreeing += (signs.T @ signs).astype(np.int64)
    return (public.rows - agreeing) // 2
