"""What local hashing costs, once and memoized."""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, factorial, prod

import numpy as np

from ldpaudit.accountants.composition.product import exact_reports
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import compositions
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_COUNTS = 1 << 12
"""Ways to share reports among hash values, up to which they are listed."""
_MOST_COUNTED = 1 << 10
"""Largest prime of which all triples of values are looked at: a second."""


def profile(m: LocalHashing | Loloha, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of local hashing with a public hash function of each user's own.

    .. math:: \delta(\varepsilon) = (1-c) \bigl(p - e^\varepsilon q\bigr)_+, \qquad q = \frac{1-p}{g-1},
              \qquad \varepsilon(0) = \log \frac{p\,(g-1)}{1-p}

    where c is the probability that two values are hashed alike. It is the same for every two, because the residues
    ``(a x + b, a x' + b)`` are uniform on pairs: with P = `prime` and ``P = m g + r``, it is
    ``c = (r (m+1)**2 + (g-r) m**2) / P**2``. Tight, for every pair of inputs: attained on {y = h(x) != h(x')}.
    Source: Wang, Blocki, Li, Jha 2017 for epsilon. Proof: proofs/local_hashing.py.

    LOLOHA's first report is such a one, and so is the memoized response that all reports of one value show; of T reports

    .. math:: \varepsilon(0) = \log \frac{p_1 (u^T - 1) + 1}{q_1 (u^T - 1) + 1}, \qquad u = \frac{p_2 (g-1)}{1 - p_2}

    attained where all of them are the hash of x. Source: derived; the mechanism, Arcolezi, Pinzon, Palamidessi, Gambs 2023.

    ``m``: ``2 <= g <= prime`` and ``1/g <= p < 1``, as its constructor ensures; so c < 1; ``neighbours``:
    replace-one. Returns in nats. Rigour EXACT at every epsilon; of many reports INTERVAL.
    """
    if isinstance(m, Loloha):
        return _memoized(m)
    # Functions that hash the two values alike, and hash values that are neither's, have likelihood ratio 1.
    apart = 1 - m.collision
    atoms = [(apart * m.p, apart * m.lie), (apart * m.lie, apart * m.p)]
    return FiniteProfile(both_directions(atoms), "local hashing: log(p(g-1)/(1-p)), attained at y = h(x) != h(x')")


def _memoized(m: Loloha) -> PrivacyProfile:
    """Several reports, by how many are the hash of x, that of x', and each other hash value."""
    if m.reports == 1:
        return profile(m.first())
    most = exact_reports(m.p1, m.p2)
    while most > 1 and comb(most + m.g - 1, most) > _COUNTS:
        most -= 1
    if m.reports > most:
        # Fewer reports are a part of these; the memoized response is all that any number of reports can show.
        return Bracket(_memoized(replace(m, reports=most)), profile(m.lifetime()))
    u, kept, atoms = m.p2 * (m.g - 1) / (1 - m.p2), m.lifetime(), []
    apart, once = 1 - kept.collision, ((1 - m.p2) / (m.g - 1)) ** m.reports
    for alike in compositions(m.reports, m.g):
        ways = apart * once * factorial(m.reports) / prod(map(factorial, alike))
        likely = [u**n for n in alike]
        rest = kept.lie * sum(likely)
        here, there = (rest + (kept.p - kept.lie) * likely[side] for side in (0, 1))
        atoms.append((ways * here, ways * there))
    return FiniteProfile(both_directions(atoms), f"{m.reports} reports of one memoized answer, by how many name each hash value")


def shuffled(m: LocalHashing | Loloha, users: int) -> Bound | None:
    """Matched laws: the base is a uniform report, which matches x where it names the hash of x; None of several reports.

    Three hashes of a linear function are not independent, so that the blanket knows of two. The inputs 0, 1, 2 are in arithmetic
    progression, and so are their residues r + g i, r + g j and r + g (2j - i): the third is one of the m with the same remainder r
    if ``0 <= 2j - i < m``, that is for each two i and 2j - i below m that are both even or both odd. That a report matches all
    three is then about as likely as 1/(2 g**2), against 1/g**3 if the hashes were independent: of the data sets on which all others
    hold one value it is the worst that is known.

    All that the laws of three inputs depend on is how likely a report matches all three, and they are linear in that. For primes up
    to 1021 its least and largest value are found by counting (`_three_alike`); beyond, they are those of any three events that are
    as likely as these, alone and in pairs.
    """
    if isinstance(m, Loloha):
        return shuffled(m.first(), users) if m.reports == 1 else None
    both, one = m.collision / m.g, (1 - m.collision) / m.g
    patterns: dict[Pattern, Fraction] = {(1, 1): both, (1, 0): one, (0, 1): one, (0, 0): 1 - both - 2 * one}
    choices: list[dict[Pattern, Fraction]] = []
    if m.domain > 2:
        each, more = divmod(m.prime, m.g)
        sizes = (each + 1, more), (each, m.g - more)
        equal = sum(count * (((size + 1) // 2) ** 2 + (size // 2) ** 2) for size, count in sizes)
        patterns = _three(Fraction(equal, m.prime**2 * m.g), both, one)
        known = m.prime <= _MOST_COUNTED
        ends = (each / m.g for each in _three_alike(m.prime, m.g)) if known else (max(both - one, Fraction(0)), both)
        choices = [_three(each, both, one) for each in ends]
    return MatchedLaws.of(m.inputs, patterns, {1: m.g * m.p, 0: m.g * m.lie}, choices).bound(users)


def _three(all_three: Fraction, both: Fraction, one: Fraction) -> dict[Pattern, Fraction]:
    """How a uniform report matches three values."""
    two = both - all_three
    alone = one - two
    chances = 1 - 3 * (alone + two) - all_three, alone, two, all_three
    return {y: chances[sum(y)] for y in product((0, 1), repeat=3)}


@lru_cache(maxsize=64)
def _three_alike(prime: int, g: int) -> tuple[Fraction, Fraction]:
    """The least and the largest probability that three values are hashed alike, of residues i, i + d, i + t d for t from 2 on.

    Of each two d the matrix below counts the i for which i, i + d and i + d' are alike.
    """
    steps = np.arange(prime)
    alike = ((steps[:, None] + steps) % prime % g == (steps % g)[:, None]).astype(np.float64)
    counts = alike.T @ alike  # exact: whole numbers below 2**53
    found = [round(counts[steps, steps * t % prime].sum()) for t in range(2, prime)]
    return Fraction(min(found), prime**2), Fraction(max(found), prime**2)
