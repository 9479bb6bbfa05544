r"""Profiles of views with independent parts, such as the bits of a report.

A pair of laws of the whole view is a product of the parts' pairs, so its loss is the sum of theirs: one report is
already a composition, and `compose` computes it. Where the different likelihood ratios are few, they are multiplied out
in rationals and merged at every step: d equal parts with s values each cost :math:`\binom{d+s-1}{d}` atoms, not
:math:`s^d`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.exact import ExactPLD, LawPair, ProductPair, product
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import LargestProfile
from ldpaudit.accountants.pld.renyi import enclosed, from_above, of_pairs
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number, PrivacyProfile

LIMIT = 1 << 14
"""Joint likelihood ratios up to which a pair is multiplied out in rationals, in seconds and to 2e-16; else in balls."""
_LIMIT_BITS = 1 << 12
"""Binary digits of a part's probabilities up to which it is: thirty reports of a memoized bit have more, and take seconds."""
_REPORTS, _REPORT_BITS = 1024, 1 << 14
"""Most reports of a memoized bit that are counted exactly, and most bits of their probabilities: their law has as many
atoms as reports, so that exact arithmetic handles 2**24 bits at most."""


@dataclass(frozen=True)
class ProductProfile(PrivacyProfile):
    """The largest delta over pairs of laws of independent parts, too many to multiply out."""

    # every pair of neighbours' laws that could be the worst, in both directions where these differ; all of them occur
    pairs: tuple[Groups, ...]
    source: str  # the theorem behind the reduction to these pairs

    @cached
    def _profile(self) -> PrivacyProfile:
        return LargestProfile(tuple(compose(pair, self.source) for pair in self.pairs))

    def delta(self, epsilon: Number) -> Enclosure:
        """As rigorous as `compose`: EXACT for equal coins, few total losses or a common step; else INTERVAL."""
        return self._profile.delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`."""
        return self._profile.epsilon(delta)

    def renyi(self, order: Number) -> Enclosure:
        """The sum of the parts'; EXACT where one pair, equal to its reversed pair, is listed, else up to that of the curve."""
        at = Fraction(order)
        below = of_pairs(self.pairs, at, self.source)
        alone = len(self.pairs) == 1 and _is_symmetric(self.pairs[0])
        return below if alone else enclosed(below, from_above(self, at))


def _is_symmetric(pair: Groups) -> bool:
    """Whether a product is equal to its reversed pair: then what is missing in either law has the loss 0."""
    back: dict[ExactPLD, int] = {}
    for law, times in pair:
        if not isinstance(law, ExactPLD) or sum((mass for _, mass in law.atoms), law.infinite) != 1:
            return False
        reversed_ = ExactPLD(tuple((1 / ratio, mass / ratio) for ratio, mass in reversed(law.atoms)), law.infinite)
        back[reversed_] = back.get(reversed_, 0) + times
    return back == dict(pair)


def product_profile(pairs: Iterable[ProductPair], source: str) -> PrivacyProfile:
    """Profile of views with independent parts: the largest delta over pairs of laws, each in the direction given only.

    EXACT where every pair has at most 16,384 joint likelihood ratios, of parts of few digits; else as `ProductProfile`.
    """
    laws = dict.fromkeys(map(grouped, pairs))  # pairs of inputs whose parts are alike cost the same
    sizes = [math.prod(math.comb(n + len(law.atoms), n) for law, n in pair) for pair in laws]
    masses = (mass for pair in laws for law, _ in pair for _, mass in law.atoms)
    if max(sizes) <= LIMIT and all(mass.denominator.bit_length() <= _LIMIT_BITS for mass in masses):
        return FiniteProfile(tuple(ExactPLD.of(product([(_atoms(law), n) for law, n in pair])) for pair in laws), source)
    return ProductProfile(tuple(laws), source)


def grouped(pair: ProductPair) -> tuple[tuple[ExactPLD, int], ...]:
    """Each different law, and of how many parts it is."""
    counts: dict[ExactPLD, int] = {}
    for part, times in pair:
        law = ExactPLD.of(part)
        counts[law] = counts.get(law, 0) + times
    return tuple(sorted(((law, times) for law, times in counts.items() if times), key=lambda each: each[0].atoms))


def _atoms(law: ExactPLD) -> LawPair:
    shown = [(mass, mass / ratio) for ratio, mass in law.atoms]
    return [*shown, (law.infinite, Fraction(0))] if law.infinite else shown


def exact_reports(*probabilities: Fraction) -> int:
    """Number of reports of a memoized bit that are counted exactly; every report lengthens the law's fractions."""
    return max(1, min(_REPORTS, _REPORT_BITS // max(p.denominator.bit_length() for p in probabilities)))
