"""What local hashing costs, once and memoized."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import combinations_with_replacement, islice, product
from math import comb, factorial, inf, prod

import flint
import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.memoized_answers import MemoizedAnswers, lifetime_epsilon
from ldpaudit.accountants.composition.product import exact_reports, product_profile
from ldpaudit.accountants.numerics.rationals import fraction, rational
from ldpaudit.accountants.pld.all_pairs import profile_of
from ldpaudit.accountants.pld.exact import ExactPLD, LawPair, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, log_fraction
from ldpaudit.accountants.pld.profiles import Bracket, Lifetime, SmallestBound, UpperEnd
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern
from ldpaudit.enclosure import round_down, round_up
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha, LolohaStream
from ldpaudit.mechanisms.memoized_bit import Stream
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import compositions
from ldpaudit.neighbours import REPLACE_ONE, SAME_PATTERN, Neighbours
from ldpaudit.plan import Compose, Guarantee, Repeat
from ldpaudit.profile import PrivacyProfile

_COUNTS = 1 << 12
"""Ways to share reports among hash values, up to which they are listed."""
_MOST_SHARES, _MOST_LISTED = 16, 1 << 12
"""Ways to share epochs among hash values, and streams times transcripts, up to which they are; in some seconds."""
_EXCEPTIONS = 3  # most epochs of each turn in which a stream of mostly one value is taken to hold each other one
_MOST_COUNTED = 1 << 10
"""Largest prime of which all triples of values are looked at: a second."""
_SHORT = 64  # length of vectors that are looked at one by one


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
    r"""Profile against any other stream, whose hash values may repeat in other epochs: it grows with the epochs for ever.

    Of few epochs all streams are listed. EXACT for two or three values, of which it is known how often they are hashed alike. Of
    more, from streams of 0, 1 and 2, whose residues are in arithmetic progression, to all pairs of streams of hash values, as the
    function is public; at delta = 0 that is attained, as one function hashes 0, ..., g - 1 to themselves. Of more epochs epsilon at
    delta = 0 is `composition.memoized_answers.lifetime_epsilon`. At other deltas from pairs of streams of two or three values
    (`_in_turn`) to the least of three bounds: of every mechanism with this epsilon; of one first report and T - 1 responses to what
    is memoized, as that is drawn alike for every stream; and, with k the most hash values that one stream comes to, and
    :math:`\varepsilon_d` that of d responses to what is memoized,

    .. math:: \varepsilon(\delta) \le \varepsilon_{T - \lceil T/g \rceil}(\delta) - \log w, \qquad
              w = q_1^k \;\; (k < g), \quad p_1 q_1^{g-1} \;\; (k = g)

    Proof: given what is memoized under the first stream, let y be the answer of most epochs, of T/g or more. Under the second
    stream all memoized answers are y with a probability of at least w, and then the laws of reports differ in other epochs only.
    So for these laws :math:`P(S) - e^\varepsilon Q(S) \le P(S) - e^\varepsilon w\, Q_y(S)`; the first is a mixture.

    Open: which pair of streams is the worst of many epochs. Source: derived. Proof: proofs/local_hashing.py, of an upper bound.
    Returns in nats. EXACT of one epoch, and of a few where there are no more than three values; else INTERVAL.
    """
    if m.epochs == 1:
        return account(m.client)
    values, known = min(m.g, m.domain), 3 if m.domain == 3 else min(m.g, m.domain, 3)
    if (m.g * max(known, listed := min(values, 2 * m.epochs))) ** m.epochs <= _MOST_LISTED:
        low = _listed(m, known, _apart(m.client.lifetime(), known))
        if known == m.domain:
            return low
        high = _listed(m, listed, ((tuple(range(listed)), Fraction(1)),))
        return Lifetime(low, high, high.epsilon(0))
    noise, answer = MemoizedAnswers(m.g, m.p1, m.p2 * (m.g - 1) / (1 - m.p2)), KaryRandomizedResponse(m.g, m.p2)
    pure, fresh = lifetime_epsilon(noise, m.epochs, values), Compose([m.client.first(), Repeat(answer, m.epochs - 1)])
    above = account(Guarantee(Fraction(pure.high), Fraction(0))), account(fresh), _one_answer(m, noise, answer)
    return Lifetime(_in_turn(m), SmallestBound(above), pure)


@lru_cache(maxsize=64)
def _listed(m: LolohaStream, values: int, hashed: tuple[tuple[Stream, Fraction], ...]) -> PrivacyProfile:
    """All streams of this many values, by how these may be hashed, and how likely that is; else nothing is told."""
    transcripts, once = list(product(range(m.g), repeat=m.epochs)), ((1 - m.p2) / (m.g - 1)) ** m.epochs
    likely, rest = cache(partial(_likelihood, m.client)), 1 - sum((share for _, share in hashed), Fraction(0))

    @cache
    def law(held: Stream) -> list[Fraction]:
        told = [Counter(zip(held, shown, strict=True)) for shown in transcripts]
        return [once * prod(likely(v, tuple(n[v, y] for y in range(m.g))) for v in set(held)) for n in told]

    firsts = list(combinations_with_replacement(range(values), m.epochs))  # any stream is one of these in another order of epochs
    streams = dict.fromkeys([*firsts, *product(range(values), repeat=m.epochs)])
    laws = [[rest, *(share * p for way, share in hashed for p in law(tuple(way[v] for v in x)))] for x in streams]
    return profile_of(laws, f"all streams of {values} values over {m.epochs} epochs", len(firsts))


def _apart(m: LocalHashing, values: int) -> tuple[tuple[Stream, Fraction], ...]:
    """How two or three values, 0, 1 and 2, may be hashed but all alike, up to names, and how likely that is."""
    if values == 2:
        return (((0, 1), 1 - m.collision),)
    two = m.collision - (alike := _progression_alike(m.prime, m.g))
    ways = ((0, 1, 2), 1 - alike - 3 * two), ((0, 0, 1), two), ((0, 1, 0), two), ((0, 1, 1), two)
    return tuple(way for way in ways if way[1])


def _one_answer(m: LolohaStream, noise: MemoizedAnswers, answer: KaryRandomizedResponse) -> UpperEnd:
    """The bound of `any_stream` by how likely it is that all memoized answers are equal."""
    values, rest = min(m.g, m.domain, m.epochs), account(Repeat(answer, m.epochs - -(-m.epochs // m.g)))
    lost = Fraction(log_fraction(1 / (noise.q**values if values < m.g else noise.p * noise.q ** (m.g - 1)), "").high)
    return UpperEnd(lambda epsilon: rest.delta(round_down(Fraction(epsilon) - lost)).high if lost <= epsilon < inf else 1.0,
                    lambda delta: round_up(lost + Fraction(rest.epsilon(delta).high)))  # fmt: skip


@lru_cache(maxsize=64)
def _in_turn(m: LolohaStream) -> FiniteProfile:
    """One value against another one, or two or three in turn against a stream that mostly holds the first of them.

    By how many reports are the hash of the first stream's value, where the values are hashed apart; of many epochs only the first,
    which are a part of them. The second stream may hold each other value in a few epochs of all turns but that value's own.
    """
    p, q, epochs = m.p1, m.client.lifetime().lie, min(m.epochs, exact_reports(m.p1, m.p2))
    true, false = (flint.fmpq_poly([rational(1 - chance), rational(chance)]) for chance in (m.p2, (1 - m.p2) / (m.g - 1)))

    def told(held: Sequence[Sequence[int]]) -> list[Fraction]:
        """Law of the number, under a stream that holds each value in this many epochs of each turn."""
        law = true**0
        for value, turns in enumerate(held):
            named = (rational(p if turn == value else q) * true**n * false ** (sum(turns) - n) for turn, n in enumerate(turns))
            law *= sum(named, rational(1 - p - (len(turns) - 1) * q) * false ** sum(turns))
        return [fraction(chance) for chance in law.coeffs()]

    pairs = [([[epochs, 0], [0, 0]], [[0, 0], [epochs, 0]])]
    for values, few in product(range(2, min(m.g, m.domain, 3) + 1), range(_EXCEPTIONS + 1)):
        turns = [len(range(turn, epochs, values)) for turn in range(values)]
        others = [[few * (turn != value) for turn in range(values)] for value in range(1, values)]
        mostly = [n - sum(more) for n, *more in zip(turns, *others, strict=True)]
        if min(mostly) >= 0:
            pairs.append(([[n * (turn == value) for turn, n in enumerate(turns)] for value in range(values)], [mostly, *others]))
    laws = [(_apart(m.client.lifetime(), len(x))[0][1], zip(told(x), told(y), strict=True)) for x, y in pairs]
    found = tuple(ExactPLD.of((apart * here, apart * there) for here, there in law) for apart, law in laws)
    return FiniteProfile(found, "values in turn against mostly one of them, or one against another")


def shuffled(m: LocalHashing | Loloha, users: int) -> Bound | None:
    """Matched laws: the base is a uniform report, which matches x where it names the hash of x; None of several reports.

    Three hashes of a linear function are not independent, so that the blanket knows of two. The inputs 0, 1, 2 are in arithmetic
    progression, and so are their residues r + g i, r + g j and r + g (2j - i): the third is one of the m with the same remainder r
    if ``0 <= 2j - i < m``, that is for each two i and 2j - i below m that are both even or both odd. That a report matches all
    three is then about as likely as 1/(2 g**2), against 1/g**3 if the hashes were independent: of the data sets on which all others
    hold one value it is the worst that is known.

    All that the laws of three inputs depend on is how likely a report matches all three, and they are linear in that: so no other
    three inputs cost more than those that match least or most often (`_three_alike`), and no three match more often than these do.
    """
    if isinstance(m, Loloha):
        return shuffled(m.first(), users) if m.reports == 1 else None
    both, one = m.collision / m.g, (1 - m.collision) / m.g
    patterns: dict[Pattern, Fraction] = {(1, 1): both, (1, 0): one, (0, 1): one, (0, 0): 1 - both - 2 * one}
    choices: list[dict[Pattern, Fraction]] = []
    if m.domain > 2:
        patterns = _three(_progression_alike(m.prime, m.g) / m.g, both, one)
        choices = [_three(each / m.g, both, one) for each in _three_alike(m)]
    return MatchedLaws.of(m.inputs, patterns, {1: m.g * m.p, 0: m.g * m.lie}, choices).bound(users)


def _three(all_three: Fraction, both: Fraction, one: Fraction) -> dict[Pattern, Fraction]:
    """How a uniform report matches three values."""
    two = both - all_three
    alone = one - two
    chances = 1 - 3 * (alone + two) - all_three, alone, two, all_three
    return {y: chances[sum(y)] for y in product((0, 1), repeat=3)}


def _sizes(prime: int, g: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many residues there are of one remainder, and of how many remainders."""
    each, more = divmod(prime, g)
    return (each + 1, more), (each, g - more)


def _progression_alike(prime: int, g: int) -> Fraction:
    """Probability that 0, 1 and 2 are hashed alike: see `shuffled`."""
    return Fraction(sum(count * (((size + 1) // 2) ** 2 + (size // 2) ** 2) for size, count in _sizes(prime, g)), prime**2)


def _three_alike(m: LocalHashing) -> tuple[Fraction, Fraction]:
    r"""At most, and at least, the smallest and largest probability that three values are hashed alike.

    Of two hash values, that is known from pairs: of three hashes, all or just two are alike. For primes up to 1021 all are counted:
    of residues i, i + d, i + c d for each c from 2 on. Beyond, the smallest is that of any events as likely in pairs, and

    *no three values are alike more often than three in arithmetic progression*. With m residues i of one remainder, three are in
    their places with :math:`N = \sum_{w \in L} (m - |w|)_+` pairs of residues, for the lattice L of all (u, v) with
    :math:`v \equiv cu` modulo P, and :math:`|w| = \max(0, u, v) - \min(0, u, v)`. Let :math:`\lambda` be the length of a shortest
    vector, a whole number from 2, of a progression, to :math:`\sqrt{4P/3}` (Minkowski: a unit hexagon has the area 3). The points
    stand on lines parallel to it, of determinants tP. If :math:`\lambda m \le P`, only one line has points with |w| < m, and
    :math:`N = \sum_k (m - |k| \lambda)_+` is largest for a progression. Else, as a sum over steps of what rises and falls is at
    most the integral and the largest value, with X = P/m,

    .. math:: N \le m^2 \sum_t \psi(tX) + m \Bigl(\frac{2\lambda}X + 1\Bigr), \qquad \psi(0) = \frac1\lambda, \quad
              \int \psi = 1, \quad \psi(\pm\lambda) = 0

    where :math:`\psi(x)` is the area of a section of the pyramid over the hexagon, so that its root is concave (Brunn, Minkowski).
    With :math:`a^2 = \psi(0)`, :math:`b^2 = \psi(X)`, the integral to X is at least :math:`X (a^2 + ab + b^2)/3`, and that beyond
    at least :math:`b^2 (\lambda - X)/3` and all terms from t = 2 on times X. So :math:`X a^2 + X ab + \lambda b^2 \le 3/2`, and the
    sum is at most :math:`1/X + a^2/3 - 2ab/3 + 4b^2/3`, which is convex in b; and at most :math:`1/X + 1/\lambda` in any case.
    """
    progression = _progression_alike(m.prime, m.g)
    if m.g == 2:
        return progression, progression
    if m.prime <= _MOST_COUNTED:
        return _counted(m.prime, m.g)
    several = sum((count * Fraction(_several_lines(m.prime, size)) for size, count in _sizes(m.prime, m.g) if size), Fraction(0))
    return max(2 * m.collision - 1, Fraction(0)), min(m.collision, max(progression, several / m.prime**2))


@lru_cache(maxsize=64)
def _counted(prime: int, g: int) -> tuple[Fraction, Fraction]:
    """The same, exactly. Of each two d the matrix below counts the i for which i, i + d and i + d' are alike."""
    steps = np.arange(prime)
    alike = ((steps[:, None] + steps) % prime % g == (steps % g)[:, None]).astype(np.float64)
    counts = alike.T @ alike  # exact: whole numbers below 2**53
    found = [round(counts[steps, steps * t % prime].sum()) for t in range(2, prime)]
    return Fraction(min(found), prime**2), Fraction(max(found), prime**2)


def _several_lines(prime: int, m: int) -> float:
    """The bound of N where more than one line has points."""
    x, longest = prime / m, math.sqrt(4 * prime / 3)

    def most(length: int) -> float:
        """Of the sum of areas."""
        a = math.sqrt(1 / length)
        b = min(a, (math.sqrt((x * a) ** 2 + 4 * length * max(0.0, 1.5 - x * a * a)) - x * a) / (2 * length))
        return 1 / x + max(a * a / 3, (a * a - 2 * a * b + 4 * b * b) / 3)

    short = [most(length) + (2 * length / x + 1) / m for length in range(math.floor(x) + 1, _SHORT)]
    return m * m * max([*short, 1 / _SHORT + 1 / x + (2 * longest / x + 1) / m]) * (1 + 1e-9)
