"""TreeHist: what its server counts, keeps and names, and that its constants are those of Bernstein's inequality."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import account
from ldpaudit.accountants.claims import bitstogram
from ldpaudit.accountants.claims.tree_histogram import detection_level, hashed_detection_level, level_error
from ldpaudit.core.number import exact
from ldpaudit.mechanisms import Bitstogram, LocalHashing, PrefixExtending, SignPrefixExtending, SplitBitstogram
from ldpaudit.mechanisms.shared.parameters import odds
from ldpaudit.mechanisms.shared.public_questions.deviation import Chance, Support, bernstein, largest_deviation
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from tests.samples import SEEDED_LEVEL

WIDE = 1 << 64
KINDS = (TreeHistogram, SplitTreeHistogram)
DECODERS: dict[Any, Any] = {
    **dict.fromkeys(KINDS, detection_level), **dict.fromkeys((Bitstogram, SplitBitstogram), bitstogram.detection_level),
}  # fmt: skip
"""The count from which on a value is named."""


def values(held: dict[int, int], others: int, rng: np.random.Generator, domain: int = WIDE) -> NDArray[np.uint64]:
    """Users of whom so many hold each value, and the others a random one each."""
    common = [np.full(count, x, dtype=np.uint64) for x, count in held.items()]
    return rng.permutation(np.concatenate([*common, rng.integers(0, domain - 1, others, dtype=np.uint64, endpoint=True)]))


def by_hand(epsilon: int, users: int, levels: int, width: int, share: Decimal, beta: Decimal) -> Decimal:
    """The error of a level's counts, in decimals: Bernstein's bound of 2 * 2**w n G tails at beta/2."""
    with localcontext() as context:
        context.prec = 50
        c = (Decimal(epsilon).exp() + 1) / (Decimal(epsilon).exp() - 1)
        nats = (4 * Decimal(2**width * users * levels) / beta).ln()
        rho = share / levels
        third = (c / rho + 1) * nats / 3
        return third + (third**2 + 2 * users * c**2 / rho * nats).sqrt()


def test_the_error_of_a_level_is_the_specified_number_at_a_million_users_of_64_bits() -> None:
    m = TreeHistogram.for_epsilon(1, users=10**6, domain=WIDE)
    expected = by_hand(1, 10**6, 8, 8, Decimal("0.5"), Decimal("0.05"))
    assert f"{expected:.10f}" == "62511.4984118557"
    assert level_error(m, 10**6).low == pytest.approx(float(expected), rel=1e-15)
    assert m.threshold(10**6) == pytest.approx(float(expected) + 1, rel=1e-15)
    assert detection_level(m, 10**6).high == pytest.approx(2 * float(expected) + 1, rel=1e-14)


def test_bernsteins_distance_is_where_its_bound_is_what_was_asked_for() -> None:
    with flint.ctx.workprec(200):
        t = bernstein(Fraction(12345), Fraction(67, 2), flint.arb(18))
        exponent = t**2 / (2 * (flint.arb(12345) + flint.arb(67) / 2 * t / 3))
        assert abs(exponent - 18) < flint.arb("1e-50")


@pytest.mark.few(1)
@pytest.mark.parametrize("split", [False, True])
def test_a_count_is_wrong_by_more_than_its_bound_no_more_often_than_stated(split: bool) -> None:
    n, runs, rng = 300, 800, np.random.default_rng(5)
    made: Any = SplitTreeHistogram if split else TreeHistogram
    m = made.for_epsilon(2, users=1 << 40, domain=16, width=2)
    data = values({3: 120}, n - 120, rng, 16)
    (first, *_), cells = m.chances, np.bincount((data >> np.uint64(2)).astype(int), minlength=4)
    off = np.array([np.abs(m.answers(m.collect(data, rng))[0].counts() - cells) for _ in range(runs)])
    for beta in (Fraction(1, 2), Fraction(1, 20)):
        bound = largest_deviation(first, n, 1, beta)
        seen = np.count_nonzero(off > bound, axis=0).max()
        assert stats.binom.sf(seen - 1, runs, float(beta)) > SEEDED_LEVEL
    assert np.quantile(off, 0.95) > largest_deviation(first, n, 1, Fraction(1, 20)) / 3, "it is no worse than it must be"


def test_a_bound_is_rounded_up() -> None:
    for users in (10, 999, 10**6):
        chance = Chance(odds(1), Fraction(1, 7))
        with flint.ctx.workprec(200):
            p, share = (flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in chance)
            c, nats = 1 / (2 * p - 1), (flint.arb(2 * 5) * 20).log()
            third = (c / share + 1) * nats / 3
            truth = third + (third**2 + 2 * users * c**2 / share * nats).sqrt()
            found = largest_deviation(chance, users, 5, Fraction(1, 20))
            assert truth <= flint.arb(found) <= truth * (1 + flint.arb(2) ** -51)


@pytest.mark.parametrize("kind", KINDS)
def test_children_are_counted_as_any_cells_are(kind: Any) -> None:
    m, rng = kind.for_epsilon(2, users=2_000, domain=1 << 64, width=7), np.random.default_rng(1)
    levels = m.answers(m.collect(values({}, 2_000, rng), rng))[:-1]
    assert [level.rank for level in levels] == [7, 14, 21, 28, 35, 42, 49, 56, 63, 64]
    for before, level in ((0, levels[0]), (56, levels[8]), (63, levels[9])):
        prefix, step = np.int64(rng.integers(0, 1 << before)), level.rank - before
        asked = [(int(prefix) << step | child) % WIDE for child in range(1 << step)]
        assert np.allclose(level.children(prefix, step), level.counts_of(asked))


def test_questions_are_the_leading_bits_of_a_value() -> None:
    m = TreeHistogram(10, 1000, 4, Fraction(3, 4))
    assert m.questions == ((1 << 6, 1 << 7, 1 << 8, 1 << 9), tuple(1 << t for t in range(2, 10)), m.whole)
    assert (m.levels, m.bits) == (3, 10)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [TreeHistogram, Bitstogram, *(pytest.param(kind, marks=pytest.mark.slow)
                                  for kind in (SplitTreeHistogram, SplitBitstogram))])  # fmt: skip
def test_a_million_users_values_of_64_bits_are_named_and_no_others(kind: Any) -> None:
    n, rng = 10**6, np.random.default_rng(2)
    m = kind.for_epsilon(1, users=n, domain=WIDE)
    level = math.ceil(DECODERS[kind](m, n).high)
    held = {0xDEADBEEFCAFEBABE: level + 50_000, 7: level}
    found = m.run(values(held, n - sum(held.values()), rng), rng)
    assert list(found) == list(held)
    error = largest_deviation(m.chances[1], n, n, m.beta / 2)
    assert all(abs(found[x] - count) <= error for x, count in held.items())


@pytest.mark.parametrize("kind", DECODERS)
def test_nothing_is_named_where_every_value_is_rare(kind: Any) -> None:
    m, rng = kind.for_epsilon(1, users=20_000, domain=WIDE), np.random.default_rng(3)
    assert m.run(values({}, 20_000, rng), rng) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_named_by_falling_count_whatever_the_width(kind: Any) -> None:
    rng, held = np.random.default_rng(4), {900: 60_000, 1000: 110_000, 3: 85_000}
    for width in (1, 3, 10, 24):
        found = kind.for_epsilon(6, users=10**6, domain=1001, width=width).run(values(held, 0, rng, 1001), rng)
        assert list(found) == [1000, 3, 900]
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_nothing_beyond_the_domain_is_named() -> None:
    rng = np.random.default_rng(6)
    wide = TreeHistogram.for_epsilon(4, users=100_000, domain=1024, seed=1)
    views = wide.collect(np.full(100_000, 1023), rng)
    assert list(wide.named(views)) == [1023]
    assert replace(wide, domain=1023).named(views) == {}


def test_the_server_judges_by_the_users_that_there_are() -> None:
    m, rng = TreeHistogram.for_epsilon(4, users=1 << 50, domain=1 << 20), np.random.default_rng(7)
    assert list(m.run(values({99: 30_000}, 70_000, rng, 1 << 20), rng)) == [99]
    assert m.threshold(100_000) < 30_000 < m.threshold(1 << 50)


def test_two_signs_cost_what_two_coins_of_half_epsilon_do() -> None:
    m = SplitTreeHistogram.for_epsilon(1, users=10**6, domain=WIDE)
    p = math.exp(0.5) / (1 + math.exp(0.5))
    by_enumeration = sum(max(0.0, a * b - math.exp(0.5) * (1 - a) * (1 - b)) for a in (p, 1 - p) for b in (p, 1 - p))
    assert account(m).delta(Fraction(1, 2)).low == pytest.approx(0.15245190679866559, rel=1e-15)
    assert by_enumeration == pytest.approx(0.15245190679866559, rel=1e-12)
    assert account(m).epsilon(0).high == pytest.approx(1, rel=1e-15)


def test_over_local_hashing_a_report_costs_what_local_hashing_does_at_every_level() -> None:
    m = HashedTreeHistogram(50, 23, 2, 3, Fraction(1, 2))
    asked = {index: m.cells(np.arange(23), np.full(23, index)).tolist() for index in range(40)}
    assert {max(cells) for cells in asked.values()} == {22 >> 3, 22 >> 1, 22}
    alone = LocalHashing(3, Fraction(1, 2), 32)
    for epsilon in (0, Fraction(1, 2)):
        assert {account(replace(m, index=index)).delta(epsilon) for index in range(40)} == {account(alone).delta(epsilon)}


def test_a_user_s_cell_is_the_prefix_of_the_level_that_is_public() -> None:
    m, index = HashedTreeHistogram(1000, 1 << 20, 6, 3, Fraction(1, 2)), np.arange(1000)
    groups = m.groups(index)
    lengths = [6, 12, 18, 20, 20]
    assert set(groups.tolist()) == set(range(5))
    value = 0xABCDE
    assert m.cells([value], index).tolist() == [value >> (20 - lengths[g]) for g in groups.tolist()]


def test_a_term_of_local_hashing_is_no_larger_than_stated() -> None:
    for g, p in ((2, Fraction(3, 4)), (4, Fraction(1, 2)), (9, Fraction(1, 5))):
        oracle, rho = LocalHashing(g, p, 8), Fraction(1, 6)
        o = oracle.other
        terms = [(1 - o) / ((p - o) * rho), -o / ((p - o) * rho)]
        moments = [rho * (chance * terms[0] ** 2 + (1 - chance) * terms[1] ** 2) for chance in (p, o)]
        assert [rho * (chance * terms[0] + (1 - chance) * terms[1]) for chance in (p, o)] == [1, 0]
        assert [Support(p, o, rho).held, Support(p, o, rho).absent] == moments
        assert Support(p, o, rho).most == max(map(abs, terms))
    chance = Chance(Fraction(3, 4), Fraction(1, 6))
    signs = Support(chance.p, Fraction(1, 2), chance.share)
    assert (signs.most, signs.held, signs.absent) == (chance.most, chance.held, chance.absent), "a sign supports half of all cells"


@pytest.mark.parametrize("held", [0, 300])
def test_counts_over_local_hashing_vary_as_their_terms_moments_say(held: int) -> None:
    n, rng = 400, np.random.default_rng(12)
    m = HashedTreeHistogram.for_epsilon(3, users=1 << 40, domain=16, width=2)
    data = rng.permutation(np.repeat([9, 2], [held, n - held]))
    found = [m.answers(m.collect(data, rng))[0].counts_of([2])[0] for _ in range(500)]
    level = m.chances[0]
    variance = held * (level.held - 1) + (n - held) * level.absent
    assert np.var(found, ddof=1) == pytest.approx(float(variance), rel=0.2)
    with flint.ctx.workprec(100):
        t = bernstein(variance + held, level.most + 1, flint.arb(40).log())
        assert largest_deviation(level, n, 1, Fraction(1, 20), held) == pytest.approx(float(t), rel=1e-12)


def test_over_local_hashing_rarer_values_are_named_where_epsilon_is_large() -> None:
    n, rng = 100_000, np.random.default_rng(11)
    m = HashedTreeHistogram.for_epsilon(4, users=n, domain=1 << 24)
    signs = TreeHistogram.for_epsilon(4, users=n, domain=1 << 24)
    level = hashed_detection_level(m, n)
    held = {0xABCDEF: level + 500, 12: level}
    data = values(held, n - sum(held.values()), rng, 1 << 24)
    assert level + 500 < signs.threshold(n) / 1.3
    assert list(m.run(data, rng)) == list(held)
    assert signs.run(data, rng) == {}


@pytest.mark.parametrize(("users", "epsilon"), [(100_000, 4), (10**6, 1), (1_000, 1)])
def test_the_level_over_local_hashing_is_the_first_count_that_clears_both_thresholds(users: int, epsilon: int) -> None:
    m = HashedTreeHistogram.for_epsilon(epsilon, users=users, domain=1 << 24)
    found, (level, last) = hashed_detection_level(m, users), m.chances

    def cleared(held: int) -> bool:
        kept = held - largest_deviation(level, users, m.children(users), m.beta / 2, held) >= m.threshold(users)
        return kept and held - largest_deviation(last, users, users, m.beta / 2, held) >= m.least_count(users)

    assert not cleared(found - 1)
    assert cleared(found) if users > 1_000 else found == users + 1


@pytest.mark.parametrize("share", [Fraction(1, 5), 0.5, Fraction(7, 8)])
def test_a_share_of_epsilon_is_spent_on_each_sign_and_never_more_than_all(share: Any) -> None:
    m = SplitTreeHistogram.for_epsilon(2, users=10, domain=9, share=share)
    spent = [math.log(p / (1 - p)) for p in (m.p, m.q)]
    assert spent == pytest.approx([2 * float(share), 2 - 2 * float(share)], rel=1e-12)
    assert m.p <= odds(2, scale=exact(share))
    assert account(m).epsilon(0).low <= 2


@pytest.mark.parametrize(("bits", "top", "width"), [(10, 3, 3), (9, 8, 2), (12, 1, 5)])
def test_pem_names_what_a_plain_search_by_lengths_finds_in_the_same_signs(bits: int, top: int, width: int) -> None:
    m = SignPrefixExtending.for_epsilon(3, users=4000, domain=1 << bits, top=top, width=width, seed=1)
    data = np.minimum(np.random.default_rng(2).zipf(1.4, 4000), (1 << bits) - 1)
    views = m.collect(data, np.random.default_rng(3))
    first = (top - 1).bit_length() + width
    lengths, kept = [*range(first, bits, width), bits], [0]
    assert [len(question) for question in m.questions] == lengths[:-1]
    for number, length in enumerate(lengths):
        index, told = views[m.groups(views[:, 0]) == number].T
        step = length - ([0, *lengths][number])
        longer = [prefix << step | end for prefix in kept for end in range(1 << step)]
        counts = {prefix: int(told @ m.signs([prefix << bits - length] * len(index), index)) for prefix in longer}
        kept = sorted(longer, key=lambda prefix: -counts[prefix])[:top]
    assert list(m.named(views)) == kept


@pytest.mark.parametrize("kind", [PrefixExtending, SignPrefixExtending])
def test_pem_names_as_many_values_as_are_wanted_those_that_most_hold_among_them_with_unbiased_counts(kind: Any) -> None:
    held = {77: 4000, 123_456: 3000, 900_000: 2000}
    m = kind.for_epsilon(5, users=12_000, domain=1 << 20, top=16, width=5)
    found = [m.run(values(held, 3000, np.random.default_rng(seed), 1 << 20), np.random.default_rng(seed)) for seed in range(12)]
    assert all(len(named) == 16 and list(named)[:3] == list(held) for named in found)
    errors = np.array([[named[x] - count for x, count in held.items()] for named in found])
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(12))


def test_every_group_of_pem_is_asked_as_often_as_any_other() -> None:
    m = PrefixExtending.for_epsilon(1, users=40_000, domain=1 << 20, top=16, width=4)
    asked = np.bincount(m.groups(np.arange(40_000)), minlength=len(m.questions) + 1)
    assert stats.chisquare(asked).pvalue > SEEDED_LEVEL
    assert sum(each.share for each in m.chances) == 2 * Fraction(1, len(m.questions) + 1)


@pytest.mark.parametrize(("domain", "width"), [(1 << 20, 6), (1 << 12, 4), (1001, 2), (1 << 9, 1)])
def test_pem_s_constructor_leaves_a_prefix_of_short_values(domain: int, width: int) -> None:
    m = PrefixExtending.for_epsilon(1, users=100, domain=domain)
    assert m.width == width
    assert len(m.questions) >= 1
