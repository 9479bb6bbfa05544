"""Where two users at a time have no names, the bound is above every data set, and nearer to the worst one."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import flint
import numpy as np
import pytest

from ldpaudit import Mechanism, Shuffle, account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors, mixed_pairs
from ldpaudit.accountants.shuffling.replaced import Replacement, of_rows
from ldpaudit.accountants.shuffling.unnamed_pairs import Mixed
from ldpaudit.accountants.shuffling.vector_laws import Products
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import UnaryEncoding
from ldpaudit.mechanisms.bassily_smith import BassilySmith
from ldpaudit.mechanisms.geometric import TruncatedGeometric
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, JLHeavyHitter
from tests.oracles import shuffle as oracle
from tests.shuffling.test_replaced import Row, bound, positive_mean, terms, types_of, worst_of

SKEWED = [[Fraction(1, 50), Fraction(9, 50), Fraction(40, 50)], [Fraction(10, 50), Fraction(20, 50), Fraction(20, 50)]]


def laws(seed: int, views: int = 3) -> list[Row]:
    weights = np.random.default_rng(seed).integers(1, 12, size=(2, views)).tolist()
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def replaced(rows: Sequence[Row]) -> Replacement:
    found = of_rows(rows, types_of(rows))
    assert found is not None
    return found


def pair_law(rows: Sequence[Row], e: Fraction, held: Sequence[Row], rate: Fraction = Fraction(1)) -> dict[Fraction, Fraction]:
    """W of two users, by the theorem: of each unordered pair of reports the densities of user 1 in either place, added up."""
    chances: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    gains: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for reports in product(range(len(rows[0])), repeat=2):
        seen = min(reports), max(reports)
        for place in (0, 1):
            own, other = reports[place], reports[1 - place]
            q, q2 = held[place][own], held[1 - place][other]
            gains[seen] += q2 * (rate * (rows[0][own] - e * rows[1][own]) + (1 - rate) * (1 - e) * q)
        chances[seen] += held[0][reports[0]] * held[1][reports[1]]
    return oracle.law_of((gains[seen] / chance, chance) for seen, chance in chances.items())


@pytest.mark.parametrize("seed", range(6))
def test_the_divergence_of_a_data_set_is_at_most_the_mean_of_its_pairs(seed: int) -> None:
    """The theorem's right side, in rationals, where user 1 takes the place of any of four."""
    rows, e = laws(seed), Fraction(6, 5)
    each = oracle.channel(rows)
    for ones in range(3):
        others = (0,) * ones + (1,) * (4 - ones)
        pairs = [(0, 1)] * ones + [(1, 1)] * (2 - ones)
        first, second = (
            oracle.law_of(
                (seen, p / 4)
                for place in range(4)
                for seen, p in oracle.shuffled(each[x] for x in (mine, *others[:place], *others[place + 1 :])).items()
            )
            for mine in (0, 1)
        )
        truth = oracle.divergence(first, second, e)
        unnamed = positive_mean([pair_law(rows, e, [rows[x] for x in pair]) for pair in pairs]) / 4
        named = positive_mean([terms(rows[0], rows[1], rows[x], e) for x in others]) / 4
        assert truth <= unnamed <= named
        assert ones or truth == unnamed == named


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2, 7)])
@pytest.mark.parametrize("seed", range(6))
def test_the_law_of_a_mixed_pair_is_that_of_its_unordered_reports(seed: int, rate: Fraction) -> None:
    """Of secret samples too, and where users may be silent."""
    rows, e, sent = laws(seed), Fraction(11, 10), Fraction(3, 5)
    with working_precision(200):
        mixed = Mixed.of(zip(*rows, strict=True))
        silent = [[*(sent * p for p in row), 1 - sent] for row in rows]
        for found, own in ((mixed, rows), (mixed.part(sent), silent)):
            law = found.drawn(rate).terms(ball(e))
            truth = sorted(pair_law(own, e, own, rate).items())
            assert law.users == 2
            order = np.argsort(law.values)
            merged: dict[float, float] = defaultdict(float)
            for value, mass in zip(law.values[order].tolist(), law.masses[order].tolist(), strict=True):
                merged[round(value, 9)] += mass
            assert list(merged) == pytest.approx([float(value) for value, _ in truth], abs=1e-8)
            assert list(merged.values()) == pytest.approx([float(p) for _, p in truth])
            assert math.fsum(law.masses) == 1


@pytest.mark.parametrize("rows", [SKEWED, *map(laws, range(4))], ids=["skewed", *map(str, range(4))])
def test_of_two_inputs_the_bound_is_above_every_data_set_and_at_most_that_with_names(rows: Sequence[Row]) -> None:
    users, found = 12, replaced(rows)
    assert len(found.groups) == len(found.types)
    for e in (Fraction(1), Fraction(11, 10), Fraction(3, 2)):
        worst = max(
            worst_of(rows, pair, others, e)
            for pair in ((0, 1), (1, 0))
            for others in combinations_with_replacement((0, 1), users - 1)
        )
        assert worst <= bound(found, e, users) <= bound(replace(found, groups=()), e, users) * (1 + 1e-3)


def test_of_each_number_of_users_the_group_counts_whose_bound_is_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = iter([[flint.arb(3), flint.arb(2)], [flint.arb(1), flint.arb(4)]])
    monkeypatch.setattr("ldpaudit.accountants.shuffling.replaced.largest_positive_parts", lambda *_, **__: next(bounds))
    found = replace(replaced(SKEWED), pairs=None)
    found = replace(found, groups=found.groups[:2])
    with working_precision(200):
        assert [*map(float, found.means(ball(Fraction(6, 5)))(1000, (1000, 999)))] == pytest.approx([3 / 1000, 4 / 999])


HALF = Fraction(1, 2)
NEITHER = [UnaryEncoding(k=4, p=HALF, q=Fraction(1, 3)), BassilySmith(3, Fraction(3, 4)), TruncatedGeometric(3, HALF)]


@pytest.mark.parametrize("m", NEITHER, ids=str)
def test_where_some_users_have_neither_law_of_user_1_each_has_a_name(m: Mechanism) -> None:
    """Also where their types are left out, as their values are less than those of a type: in pairs they may not be."""
    assert account(Shuffle(m, 1000)).bound.replaced.groups == ()  # type: ignore[attr-defined]
    assert replaced([*SKEWED, [Fraction(1, 3)] * 3]).groups == ()


def test_where_values_hide_user_1_in_different_ways_names_tell_more_than_the_shuffle() -> None:
    found = replaced(SKEWED)
    plain = bound(replace(found, groups=()), Fraction(3, 2), 1000)
    assert bound(found, Fraction(3, 2), 1000) < 0.9 * plain


@pytest.mark.parametrize(("m", "most"), [(FreshProducts(4, 1, Fraction(2)), 1.003), (JLHeavyHitter(16, 2, Fraction(1)), 1.004)])
def test_laplace_vectors_are_known_where_others_hold_different_ones(m: FreshProducts | JLHeavyHitter, most: float) -> None:
    found = account(Shuffle(m, 1000)).epsilon(1e-6)
    assert found.low <= found.high <= most * found.low


@pytest.mark.parametrize("words", [4, 8])
def test_the_numbers_of_coordinates_cover_any_four_words_of_a_code(words: int) -> None:
    """Of which the third is the second wherever the first two differ, and the fourth the first."""
    columns = np.random.default_rng(words).integers(0, 2, size=(5, (words - 1).bit_length()))
    code = [columns @ [(x >> i) & 1 for i in range(columns.shape[1])] % 2 for x in range(words)]
    weigh = np.vectorize(lambda x: int(code[x].sum()))
    heaviest = max(int(word.sum()) for word in code)
    vectors = LaplaceVectors.of_code((Fraction(1), Fraction(1)), weigh, words, int(columns.any(axis=1).sum()), (0, 1), heaviest)
    listed = mixed_pairs(vectors, [each for each in vectors.overlaps if any(each[1:])])
    assert listed is not None
    seen = 0
    for x1, x2, x, y in product(range(words), repeat=4):
        differs = code[x1] != code[x2]
        if differs.any() and ((code[x] == code[x2]) | ~differs).all() and ((code[y] == code[x1]) | ~differs).all():
            one, other = (~differs & (code[each] != code[x1]) for each in (x, y))
            counts = differs.sum(), (one & ~other).sum(), (other & ~one).sum(), (one & other).sum()
            assert any(all(n <= most for n, most in zip(counts, each, strict=True)) for each in listed)
            seen += 1
    assert seen > words


@pytest.mark.parametrize("coordinates", [(4, 0, 0, 0), (2, 1, 1, 0), (1, 1, 1, 1)])
def test_reports_of_mixed_pairs_have_five_laws(coordinates: tuple[int, ...]) -> None:
    with working_precision(200):
        found = Products(Fraction(3, 2), (10, 32), True, 1000, 1000).mixed(coordinates)
    for law in (found.firsts, found.seconds, found.one, found.other):
        assert law.sum() == pytest.approx(1)
        assert law.min() > 0
    assert found.differences == pytest.approx(found.firsts - found.seconds, abs=1e-14)
    # One user is as far from user 1's second value as the other is from the first, but for those coordinates that it has alone.
    assert found.differences.sum() == pytest.approx(0, abs=1e-12)
    d, alone, apart, both = coordinates
    for law, first, second in ((found.one, d + alone + both, alone + both), (found.other, apart + both, d + apart + both)):
        assert [np.abs(np.log(law / own)).max() / 1.5 for own in (found.firsts, found.seconds)] == pytest.approx([first, second])
