"""What subset selection costs."""

from fractions import Fraction
from itertools import product
from math import comb

from ldpaudit.accountants.aggregation.exchanged import Exchanged, OneOf, Step
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: SubsetSelection, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of subset selection.

    .. math:: \delta(\varepsilon) = \Bigl(\frac{p\,(k-d)}{k-1} - e^\varepsilon \frac{(1-p)\,d}{k-1}\Bigr)_+,
              \qquad \varepsilon(0) = \log \frac{p\,(k-d)}{(1-p)\,d}

    Tight, for every pair of inputs: attained on the event {x in, x' out}. Source: Ye, Barg 2018.
    Proof: proofs/subset_selection.py.

    ``m``: ``1 <= d < k`` and ``d/k <= p < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in
    nats. Rigour EXACT at every epsilon.
    """
    # Subsets with both inputs, or with neither, have likelihood ratio 1 and never count.
    own, wrong = m.p * (m.k - m.d) / (m.k - 1), (1 - m.p) * m.d / (m.k - 1)
    return FiniteProfile(
        both_directions([(own, wrong), (wrong, own)]), "subset selection: log(p(k-d)/((1-p)d)), attained at x in, x' out"
    )


def shuffled(m: SubsetSelection, users: int) -> Bound:
    """Matched laws: the base is a uniform d-subset of k values, which matches x where it contains x."""
    k, d, p = m.k, m.d, m.p
    size = min(k, 3)
    held = (y for y in product((0, 1), repeat=size) if d >= sum(y))
    patterns = {y: Fraction(comb(k - size, d - sum(y)), comb(k, d)) for y in held}
    return MatchedLaws.of(m.inputs, patterns, {1: p * k / d, 0: (1 - p) * k / (k - d)}, choices=()).bound(users)


def summands(m: SubsetSelection, neighbours: Neighbours) -> Exchanged:
    """Both counts, one of them, or neither."""
    k, d, p = m.k, m.d, m.p
    third = None
    if k > 2:
        both = (p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)) / ((k - 1) * (k - 2))
        third = Step(m.other - both, m.other - both, both)
    own = Step(p * (k - d) / (k - 1), (1 - p) * d / (k - 1), p * (d - 1) / (k - 1))
    ends = {k - 1: OneOf(k, 1 - p, p / (k - 1), is_left_out=True), 1: OneOf(k, p, (1 - p) / (k - 1))}
    return Exchanged(own, third, one_of=ends.get(d))
