"""What local hashing costs, once and memoized."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from math import comb, factorial, prod

import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.memoized_answers import MemoizedAnswers, lifetime_epsilon
from ldpaudit.accountants.composition.product import exact_reports, product_profile
from ldpaudit.accountants.pld.all_pairs import profile_of
from ldpaudit.accountants.pld.exact import LawPair, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket, LargestProfile, Lifetime, SmallestBound
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha, LolohaStream
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import compositions
from ldpaudit.neighbours import REPLACE_ONE, SAME_PATTERN, Neighbours
from ldpaudit.plan import Compose, Guarantee, Repeat
from ldpaudit.profile import PrivacyProfile

_COUNTS = 1 << 12
"""Ways to share reports among hash values, up to which they are listed."""
_MOST_SHARES, _MOST_PAIRS = 16, 1 << 9
"""Ways to share epochs among hash values, and of both halves of the epochs to share reports, up to which they are; in a second."""
_MOST_COUNTED = 1 << 10
"""Largest prime of which all triples of values are looked at: a second."""


def profile(m: LocalHashing | Loloha | LolohaStream, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
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

    A stream, of which values may be hashed to others: see `same_pattern` and `any_stream`.

    ``m``: ``2 <= g <= prime`` and ``1/g <= p < 1``, as its constructor ensures; so c < 1; ``neighbours``:
    replace-one. Returns in nats. Rigour EXACT at every epsilon; of many reports INTERVAL.
    """
    if isinstance(m, LolohaStream):
        return same_pattern(m) if neighbours == SAME_PATTERN else any_stream(m)
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
    most = _longest(m)
    if m.reports > most:
        # Fewer reports are a part of these; the memoized response is all that any number of reports can show.
        return Bracket(_memoized(replace(m, reports=most)), profile(m.lifetime()))
    apart = 1 - m.lifetime().collision
    atoms = [(apart * here, apart * there) for here, there in _told(m, m.reports)]
    return FiniteProfile(both_directions(atoms), f"{m.reports} reports of one memoized answer, by how many name each hash value")


def _longest(m: Loloha) -> int:
    """Number of reports that are counted exactly."""
    most = exact_reports(m.p1, m.p2)
    while most > 1 and comb(most + m.g - 1, most) > _COUNTS:
        most -= 1
    return most


def _told(m: Loloha, reports: int) -> LawPair:
    """Laws of reports of two hash values, by how many name each."""
    return [(ways * _likelihood(m, 0, alike), ways * _likelihood(m, 1, alike)) for alike, ways in _counts(m, reports)]


def _counts(m: Loloha, reports: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """How many reports may name each hash value, and what all ways to do so have in common."""
    once = ((1 - m.p2) / (m.g - 1)) ** reports
    return ((alike, once * factorial(reports) / prod(map(factorial, alike))) for alike in compositions(reports, m.g))


def _likelihood(m: Loloha, held: int, alike: Iterable[int]) -> Fraction:
    """That this many reports name each hash value while one is held, but for what does not depend on it."""
    u, kept = m.p2 * (m.g - 1) / (1 - m.p2), m.lifetime()
    likely = [u**n for n in alike]
    return kept.lie * sum(likely) + (kept.p - kept.lie) * likely[held]


def same_pattern(m: LolohaStream) -> PrivacyProfile:
    r"""Profile, given the hash function, between streams whose hash values repeat in the same epochs, the i-th one in T_i of them.

    .. math:: \varepsilon(0) = \max_{T_1 + \dots + T_D = T} \sum_i \log \frac{p_1 (u^{T_i} - 1) + 1}{q_1 (u^{T_i} - 1) + 1}
              < D \log \frac{p_1 (g-1)}{1 - p_1}, \qquad D \le \min(g, T)

    Memoized answers of different hash values are independent, so that losses add, and of g hash values no more than g answers are
    ever shown. Attained by streams of which each hash value of one is another in the other. Values that repeat alike are not
    enough: where a function maps the values of one stream to one, `any_stream` holds. Source: derived; that each memoized answer
    costs its epsilon, Arcolezi, Pinzon, Palamidessi, Gambs 2023. Proof: proofs/local_hashing.py, of the limit.

    Returns in nats. EXACT for few reports; else from equal shares of the epochs to the memoized answers themselves, INTERVAL.
    """
    client, most = m.client, min(m.g, m.epochs, m.domain)
    longest = _longest(client)
    shares = list(islice(_shares(m.epochs, most), _MOST_SHARES + 1)) if m.epochs <= longest else []
    source = f"up to {most} memoized answers, in the same epochs of both streams"
    if 0 < len(shares) <= _MOST_SHARES:
        return product_profile([[(_told(client, n), 1) for n in share] for share in shares], source)
    each, more = divmod(min(m.epochs, most * longest), most)
    equal = [(_told(client, each + 1), more), (_told(client, each), most - more)] if more else [(_told(client, each), most)]
    return Bracket(product_profile([equal], source), account(Repeat(KaryRandomizedResponse(m.g, m.p1), most)))


def _shares(epochs: int, most: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every way to share epochs among at most this many hash values, the largest share first."""
    if epochs == 0:
        yield ()
    elif most:
        for first in range(min(epochs, largest or epochs), 0, -1):
            yield from ((first, *rest) for rest in _shares(epochs - first, most - 1, first))


def any_stream(m: LolohaStream) -> PrivacyProfile:
    """Profile against any other stream, whose hash values may repeat in other epochs: it grows with the epochs for ever.

    Epsilon at delta = 0 is `composition.memoized_answers.lifetime_epsilon`. At other deltas from pairs of streams of two values,
    each held throughout or in turn, whose laws are known as every two values are hashed alike equally often; to whichever is less:
    that of every mechanism with this epsilon, and that of one first report and T - 1 responses to what is memoized, as memoized
    answers are drawn alike for every stream. Source: derived. Proof: proofs/local_hashing.py, of an upper bound.

    Returns in nats. INTERVAL; of one epoch EXACT.
    """
    first = account(m.client)
    if m.epochs == 1:
        return first
    noise = MemoizedAnswers(m.g, m.p1, m.p2 * (m.g - 1) / (1 - m.p2))
    pure = lifetime_epsilon(noise, m.epochs, min(m.g, m.domain))
    fresh = Repeat(KaryRandomizedResponse(m.g, m.p2), m.epochs - 1)
    above = account(Guarantee(Fraction(pure.high), Fraction(0))), account(Compose([m.client.first(), fresh]))
    throughout = account(replace(m.client, reports=m.epochs))
    return Lifetime(LargestProfile((throughout, _in_turn(m))), SmallestBound(above), pure)


@lru_cache(maxsize=64)
def _in_turn(m: LolohaStream) -> PrivacyProfile:
    """Two values, each held throughout or in turn with the other; of many epochs only the first, which are a part of them."""
    client, epochs = m.client, min(m.epochs, _longest(m.client))
    while epochs > 1 and prod(comb(n + m.g - 1, n) for n in (epochs // 2, epochs - epochs // 2)) > _MOST_PAIRS:
        epochs -= 1
    apart = 1 - client.lifetime().collision
    laws: list[list[Fraction]] = [[1 - apart] for _ in range(4)]
    for (early, ways), (late, more) in product(_counts(client, epochs - epochs // 2), list(_counts(client, epochs // 2))):
        here, there = ([_likelihood(client, held, alike) for held in (0, 1)] for alike in (early, late))
        both = [_likelihood(client, held, map(sum, zip(early, late, strict=True))) for held in (0, 1)]
        for law, value in zip(laws, (*both, here[0] * there[1], here[1] * there[0]), strict=True):
            law.append(apart * ways * more * value)
    return profile_of(laws, "two values, each throughout or in turn with the other")


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
