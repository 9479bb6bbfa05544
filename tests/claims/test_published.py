"""The field's published bounds and bounds of one's own beside the certified value, and the ledger of all of them."""

import io
import json
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from importlib import metadata
from itertools import product

import pytest
from rich.console import Console

from ldpaudit import Compose, Guarantee, Plan, Repeat, Run, Shuffle, Subsample, account
from ldpaudit.accountants.claims import ledger as field
from ldpaudit.accountants.claims.ledger import CHAPTERS, COLUMNS, Chapter, ledger
from ldpaudit.accountants.claims.published import Published, published
from ldpaudit.accountants.claims.sentence import Printed, Provenance, Standing
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.theorems import smooth_noise_guarantee, smoothness_of_binomial
from ldpaudit.accountants.sampling.theorems import subsampled_renyi, without_replacement
from ldpaudit.accountants.shuffling.theorems import bbgn19_gamma
from ldpaudit.commands.claims import table
from ldpaudit.errors import ImplementationError
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace, ShuffledCountMin, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.report.printer import TableFormat
from ldpaudit.report.tables import chapter_as_data, markdown, print_ledger
from ldpaudit.studies.bibliography import cited
from tests.helpers import ROOT, fails_in_one_line, raises, run, some

DELTA = Fraction(1, 10**6)
COIN, THREE = KaryRandomizedResponse(2, Fraction(3, 4)), KaryRandomizedResponse.for_epsilon(1, 3)


@cache
def beside(plan: Plan, delta: Fraction = DELTA) -> dict[str, Published]:
    return {row.name: row for row in published(plan, delta, account(plan).epsilon(delta))}


def claim(plan: Plan, name: str, delta: Fraction = DELTA) -> Printed:
    return some(beside(plan, delta)[name].printed)


def test_at_least_five_bounds_stand_beside_a_shuffled_three_ary_response() -> None:
    rows = beside(Shuffle(THREE, 10**6))
    assert sum(row.standing is Standing.HOLDS for row in rows.values()) >= 5
    assert rows["FMT22 stronger clones"].standing is Standing.CONJECTURE
    assert rows["EFMRTT19 closed form"].unmet == "0 < epsilon0 <= 1/2, got epsilon0=1.0"
    values = [row.printed.claimed for row in rows.values() if row.printed is not None]
    assert values == sorted(values)


@pytest.mark.parametrize("plan", [
    Shuffle(COIN, 1000), Shuffle(THREE, 100), Shuffle(Guarantee(Fraction(1, 4)), 10**4), Repeat(COIN, 30),
    Repeat(Guarantee(Fraction(1, 4), Fraction(1, 10**9)), 30), Compose([COIN, THREE, THREE]), Repeat(Shuffle(COIN, 6), 2),
    pytest.param(Repeat(Shuffle(COIN, 50), 2), marks=pytest.mark.slow),
    Repeat(Laplace.for_epsilon(Fraction(1, 10), 0, 1), 1000), Run(TrieHeavyHitter(10**6, 1000, 15, levels=2)),
    Subsample(Shuffle(COIN, 1000), 10**5, 1000), Subsample(THREE, 1000, 1), Repeat(Subsample(THREE, 100, 1), 50),
], ids=str)  # fmt: skip
def test_no_proved_bound_is_below_the_certified_lower_end(plan: Plan) -> None:
    rows = beside(plan).values()
    assert any(row.standing is Standing.HOLDS for row in rows)
    for row in rows:
        assert row.standing is not Standing.FAILS, row
        assert (row.printed is None) == bool(row.unmet)


def test_the_row_of_the_clones_is_what_the_clones_alone_show_and_not_what_replacement_does() -> None:
    plan = Shuffle(Guarantee(Fraction(1)), 1000)
    row, least = claim(plan, "FMT21 clones, computed"), account(plan).epsilon(DELTA)
    assert row.claimed == pytest.approx(0.18241234748, rel=1e-9)
    assert least.high < 0.72 * row.claimed


def test_a_theorem_for_another_relation_or_delta_is_not_applied() -> None:
    plan = Run(TrieHeavyHitter(10**6, 1000, 15, levels=1))
    replaced = published(plan, DELTA, account(plan, REPLACE_ONE).epsilon(DELTA), REPLACE_ONE)
    assert "one user more or less" in {row.name: row.unmet for row in replaced}["TrieHH Theorem 1"]
    assert "delta >=" in beside(plan, Fraction(1, 10**20))["TrieHH Theorem 1"].unmet
    assert "threshold = 12 and batch = 1000, got 15 and 1000" in beside(plan)["TrieHH Corollary 1"].unmet


def test_a_corollary_is_applied_at_the_parameters_that_it_names() -> None:
    theorem, corollary = (claim(Run(TrieHeavyHitter(10**6, 1000, 12, 1)), f"TrieHH {each} 1") for each in ("Theorem", "Corollary"))
    assert corollary.claimed == pytest.approx(math.log1p(1 / (1000 / 12 - 1)), rel=1e-12)
    assert corollary.claimed == pytest.approx(theorem.claimed, rel=1e-12)


def test_parts_with_deltas_leave_less_of_delta_or_nothing() -> None:
    some = beside(Repeat(Guarantee(Fraction(1, 4), Fraction(1, 10**9)), 30))
    assert "deltas sum to 3e-08" in some["BS16 zCDP"].unmet
    none = beside(Repeat(Guarantee(Fraction(1, 4), Fraction(1, 1000)), 30))
    assert all(row.standing is Standing.OUTSIDE for row in none.values())
    assert none["DKMMN06 basic composition"].unmet == "delta >= 0.03, got 1e-06"


def test_different_parts_are_no_equal_parts() -> None:
    rows = beside(Compose([COIN, THREE]))
    assert "equal parts, got 2 different ones" in rows["DRV10 advanced composition"].unmet
    assert rows["KOV15 closed form"].printed is not None


def test_the_closed_form_of_a_k_ary_response_is_its_own_inverse() -> None:
    uniform = Fraction(3, 2) * (1 - THREE.p)
    epsilon = Fraction(claim(Shuffle(THREE, 10**6), "BBGN19 closed form, 3-ary RR").claimed)
    needed = [bbgn19_gamma(3, 10**6, e, DELTA).high for e in (epsilon, epsilon * Fraction(999, 1000))]
    assert needed[0] <= uniform < needed[1]
    for k, users in ((1, 10**6), (3, 1)):
        raises(ValueError, "k >= 2 and n >= 2", bbgn19_gamma, k, users, epsilon, DELTA)


def test_amplification_by_subsampling_is_tight_for_one_user_and_its_pure_form_is_looser() -> None:
    tight, pure = (claim(Subsample(THREE, 1000, 1), f"BBG18 subsampling, at {at}") for at in ("delta/q", "delta = 0"))
    assert tight.claimed == pytest.approx(tight.found.high, rel=1e-12)
    assert pure.claimed == pytest.approx(math.log1p(math.expm1(1) / 1000), rel=1e-9)
    assert pure.claimed > tight.claimed
    assert beside(Subsample(THREE, 1000, 1), Fraction(1, 100))["BBG18 subsampling, at delta/q"].unmet == (
        "delta < q, got delta=0.01 and q=0.001"
    )
    for inner, delta, rate in ((1, 0, Fraction(0)), (math.inf, 0, Fraction(1, 2)), (1, 1, Fraction(1, 2))):
        raises(ValueError, "subsampling needs", without_replacement, inner, delta, rate)


def test_a_theorem_on_noise_beside_both_data_sets_is_not_applied_where_a_user_takes_the_noise_along() -> None:
    plan = Run(ShuffledCountMin(10**5, domain=64, rows=4, buckets=1000, gamma=Fraction(1, 10)))
    rows = {row.name: row for row in published(plan, DELTA, account(plan, ADD_REMOVE).epsilon(DELTA), ADD_REMOVE)}
    assert "noise that a user adds" in rows["cpSGD binomial mechanism"].unmet


def test_of_a_single_local_report_nothing_is_on_record() -> None:
    assert beside(Run(COIN)) == {}


def test_the_optimal_composition_is_the_sum_over_all_sets_of_parts() -> None:
    plan, epsilons = Compose([COIN, THREE, THREE, Guarantee(Fraction(2))]), (math.log(3), 1, 1, 2)
    row = claim(plan, "MV16 optimal composition")
    total = sum(epsilons)
    signed = [sum(e * s for e, s in zip(epsilons, signs, strict=True)) for signs in product((1, -1), repeat=4)]
    gained = sum(max(math.exp(loss / 2) - math.exp(float(row.claimed) - loss / 2), 0) for loss in signed)
    assert gained * math.exp(total / 2) / math.prod(1 + math.exp(e) for e in epsilons) == pytest.approx(float(DELTA), rel=1e-6)


def test_the_best_decomposition_is_the_blanket_s_over_all_messages() -> None:
    users, delta, p, lie = 6, Fraction(1, 1000), float(THREE.p), float(1 - THREE.p) / 2
    row = claim(Shuffle(THREE, users), "SCW25 optimal decomposition", delta)
    e = math.exp(float(row.claimed))
    kinds = [((p - e * lie) / lie, lie), ((lie - e * p) / lie, lie), (1 - e, lie), (0, 1 - 3 * lie)]
    seen = sum(max(sum(w for w, _ in one), 0) * math.prod(b for _, b in one) for one in product(kinds, repeat=users)) / users
    assert seen == pytest.approx(float(delta), rel=1e-6)


def test_clones_are_composed_as_their_pairs_are() -> None:
    users, epsilon0 = 4, math.log(3)
    row = claim(Repeat(Shuffle(COIN, users), 2), "KHH23 clones, composed", Fraction(1, 100))
    pair: defaultdict[tuple[int, int], float] = defaultdict(float)
    for others in product((None, 0, 1), repeat=users - 1):
        weight = math.prod(1 - math.exp(-epsilon0) if x is None else math.exp(-epsilon0) / 2 for x in others)
        for own, chance in ((0, 0.75), (1, 0.25)):
            pair[(*others, own).count(0), (*others, own).count(1)] += weight * chance
    e = math.exp(float(row.claimed))
    both = [(p * r, pair[b, a] * pair[d, c]) for ((a, b), p), ((c, d), r) in product(pair.items(), repeat=2)]
    assert sum(max(p - e * q, 0) for p, q in both) == pytest.approx(0.01, rel=1e-3)


def test_the_renyi_divergence_of_a_sample_is_at_most_the_theorem_s_and_that_is_its_formula() -> None:
    inner, exact = account(COIN), account(Subsample(COIN, 10, 1))
    own = {order: inner.renyi(order).high for order in range(2, 21)}
    for order in (2, 3, 5, 20):
        found = subsampled_renyi(order, own, math.log(3), Fraction(1, 10)).high
        # With epsilon0 = log 3 every (e**epsilon - 1)**j is at least 4.
        terms = [0.1**j * math.comb(order, j) * math.exp((j - 1) * own[j]) * 2 for j in range(2, order + 1)]
        terms[0] = min(terms[0], 0.01 * math.comb(order, 2) * 4 * math.expm1(own[2]))
        assert found == pytest.approx(math.log1p(sum(terms)) / (order - 1), rel=1e-9)
        assert exact.renyi(order).high <= found
    small = KaryRandomizedResponse.for_epsilon(Fraction(1, 10), 2)
    own = {order: account(small).renyi(order).high for order in (2, 3)}
    gains = [0.01 * 3 * math.exp(own[2]) * math.expm1(0.1) ** 2, 0.001 * math.exp(2 * own[3]) * math.expm1(0.1) ** 3]
    assert subsampled_renyi(3, own, 0.1, Fraction(1, 10)).high == pytest.approx(math.log1p(sum(gains)) / 2, rel=1e-6)
    raises(ValueError, "sampled Renyi needs", subsampled_renyi, 3, own, 0.1, Fraction(0))


def test_a_binary_sum_is_what_its_noise_promises_where_its_epsilon_is_at_most_1() -> None:
    for gamma, delta in ((Fraction(1, 4), DELTA), (Fraction(3, 4), DELTA), (Fraction(1, 2), Fraction(1, 10**9))):
        count = ShiftProfile(10**4, gamma)
        row = {row.name: row for row in published(count, delta, count.epsilon(delta))}["BC20 binary sum"]
        assert row.standing is Standing.HOLDS
        needed = 50 / (float(some(row.printed).claimed) ** 2 * 10**4) * math.log(2 / delta)
        assert needed == pytest.approx(float(min(gamma, 1 - gamma)))
    for users, sensitivity, why in ((500, 1, "epsilon <= 1"), (10**4, 2, "sensitivity 1")):
        few = ShiftProfile(users, Fraction(1, 2), sensitivity)
        unmet = {row.name: row.unmet for row in published(few, DELTA, few.epsilon(DELTA))}["BC20 binary sum"]
        assert why in unmet


PLAN = Shuffle(KaryRandomizedResponse(2, Fraction(3, 4)), 100)
THOUSANDTH = Fraction(1, 1000)


def one(plan: Plan, delta: Fraction) -> float | None:
    """Shuffles, delta above 0: 1.

    And no more.
    """
    if not isinstance(plan, Shuffle):
        return None
    if not delta:
        raise ValueError("one needs delta > 0, got delta=0")
    return 1.0


def least(plan: Plan, delta: Fraction) -> float:
    return 1e-9


def broken(plan: Plan, delta: Fraction) -> float:
    raise KeyError("gone")


def test_a_bound_holds_or_fails_beside_what_is_certified() -> None:
    certified = account(PLAN).epsilon(THOUSANDTH)
    rows = {row.name: row for row in published(PLAN, THOUSANDTH, certified, bounds=(one, least))}
    assert rows["one"].standing is Standing.HOLDS
    assert (rows["one"].needs, rows["one"].provenance) == ("Shuffles, delta above 0: 1", Provenance.OWN)
    assert some(rows["one"].printed).claimed == 1
    assert (rows["least"].standing, rows["least"].source) == (Standing.FAILS, f"{__name__}.least")


def test_a_bound_of_other_plans_is_no_row_and_one_whose_hypothesis_is_not_met_says_which() -> None:
    repeated = Repeat(COIN, 2)
    assert "one" not in {row.name for row in published(repeated, THOUSANDTH, account(repeated).epsilon(THOUSANDTH), bounds=(one,))}
    (row,) = (row for row in published(PLAN, Fraction(0), account(PLAN).epsilon(0), bounds=(one,)) if row.name == "one")
    assert (row.standing, row.unmet) == (Standing.OUTSIDE, "delta > 0, got delta=0")


def test_a_bound_that_raises_anything_else_is_named() -> None:
    with pytest.raises(ImplementationError, match="the bound broken raised KeyError: 'gone'"):
        published(PLAN, THOUSANDTH, account(PLAN).epsilon(THOUSANDTH), bounds=(broken,))


def test_bounds_of_packages_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [metadata.EntryPoint("theirs", f"{__name__}:least", "ldpaudit.bounds")]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "ldpaudit.bounds" else [])
    plan = ("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "100", "--delta=1e-3", "--compare", "--format", "json")
    rows = json.loads(run(*plan, "--bound", f"{__name__}:one").stdout)["published"]
    assert {row["name"]: row["standing"] for row in rows if row["known"] == "by its function"} == {"least": "fails", "one": "holds"}
    points.append(metadata.EntryPoint("gone", "no.such:thing", "ldpaudit.bounds"))
    fails_in_one_line(run(*plan), "the bound gone needs no.such:thing: ModuleNotFoundError")


def test_a_bound_is_shown_beside_the_field_s_alone() -> None:
    fails_in_one_line(run("account", "laplace", "scale=1", "--bound", "a:b"), "account needs --compare with --bound")
    fails_in_one_line(run("table", "ggkpv-1", "--bound", "a:b"), "table needs field with --bound, got ggkpv-1")


@pytest.mark.slow
def test_the_ledger_has_bounds_that_are_about_all_settings_of_a_kind() -> None:
    chapters = {chapter.title: [each.stated.name for each in chapter.formulas] for chapter in ledger((one, least))}
    assert {"one", "least"} < {*chapters["Shuffling"]}
    assert "one" not in chapters["Composition"]


NAMED = ("DRV10", "KOV15", "BS16", "M17", "EFMRTT19", "BBGN19", "FMT21", "cpSGD", "BC22", "BBG18", "HKR12", "TrieHH", "GGKPV19",
         "MV16", "KHH23", "WBK19", "SCW25", "BC20")  # fmt: skip
"""Every theorem that the ledger is asked for."""


def test_the_page_says_what_the_ledger_s_settings_are() -> None:
    page = (ROOT / "docs" / "literature.md").read_text()
    for title, settings in CHAPTERS:
        chapter = page.partition(f"### {title}\n")[2].partition("###")[0]
        for column, setting in zip(COLUMNS, settings, strict=True):
            (line,) = (line for line in chapter.splitlines() if line.startswith(f"- {column}: {setting.what}: epsilon "))
            assert line.endswith(f" at delta = {float(setting.delta):.3g}")


@pytest.fixture(scope="module", params=["few users", pytest.param("all", marks=pytest.mark.slow)])
def chapters(request: pytest.FixtureRequest) -> tuple[Chapter, ...]:
    """The ledger; rounds of shuffles, more than half of its time, are of few users by default."""
    few = {"Rounds of shuffles": tuple(field._rounds(times, *field._shuffled(4, 1, 3)) for times in (4, 6, 8))}
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "few users":
            patch.setattr(field, "CHAPTERS", [(title, few.get(title, settings)) for title, settings in CHAPTERS])
        return ledger.__wrapped__()


def rows(chapters: tuple[Chapter, ...]) -> list[tuple[Chapter, int, Published]]:
    return [(c, i, row) for c in chapters for formula in c.formulas for i, row in enumerate(formula.found)]


def test_every_formula_of_the_field_holds_at_some_setting(chapters: tuple[Chapter, ...]) -> None:
    holding = {row.name.split()[0] for _, _, row in rows(chapters) if row.standing is Standing.HOLDS}
    assert holding >= set(NAMED)


def test_every_formula_is_judged_at_three_settings_and_says_what_it_needs(chapters: tuple[Chapter, ...]) -> None:
    for chapter in chapters:
        assert len(chapter.settings) == len(chapter.certified) == len(COLUMNS)
        for formula in chapter.formulas:
            assert len(formula.found) == len(COLUMNS)
            assert len({(row.name, row.source, row.needs, row.provenance) for row in formula.found}) == 1
            assert formula.stated.needs
            assert cited([formula.stated.source]), "docs/bibliography.md has it"
            assert all(bool(row.unmet) == (row.standing is Standing.OUTSIDE) for row in formula.found)


def test_what_holds_is_never_below_the_certified_epsilon_and_two_theorems_fail(chapters: tuple[Chapter, ...]) -> None:
    for chapter, column, row in rows(chapters):
        certified = chapter.certified[column]
        if row.standing is Standing.HOLDS:
            assert some(row.printed).claimed >= certified.high, row.name
    failing = [(row.name, COLUMNS[i]) for _, i, row in rows(chapters) if row.standing is Standing.FAILS]
    assert failing == [("TrieHH Theorem 1", "edge"), ("cpSGD binomial mechanism", "edge")]


def test_the_edges_are_where_hypotheses_are_not_met(chapters: tuple[Chapter, ...]) -> None:
    for chapter in chapters:
        standings = {formula.found[-1].standing for formula in chapter.formulas}
        assert standings & {Standing.OUTSIDE, Standing.FAILS}, chapter.title


def test_a_page_and_a_program_read_the_same_verdicts(chapters: tuple[Chapter, ...]) -> None:
    page = markdown(chapters)
    for chapter in chapters:
        data = chapter_as_data(chapter)
        assert f"### {chapter.title}" in page
        assert [each["standing"] for each in data["formulas"][0].values()] == [
            row.standing.name.lower() for row in chapter.formulas[0].found
        ]
        json.dumps(data, allow_nan=False)
    assert "| TrieHH Theorem 1 |" in page
    assert "BC22 sample-and-threshold needs s^tau < delta, got s=1/10, tau=5 and delta=1e-06" in page
    assert "| holds, 3.26 x | holds, 14 x | FAILS |" in page
    assert "epsilon is infinite at delta" in page


def test_people_read_it_on_80_columns(chapters: tuple[Chapter, ...]) -> None:
    page = io.StringIO()
    print_ledger(chapters, Console(file=page, width=80))
    assert max(len(line) for line in page.getvalue().splitlines()) <= 80
    assert "…" not in page.getvalue()  # nothing is cut off
    assert "conjecture, 1.03 x" in page.getvalue()
    assert "epsilon in [10.997, 10.998]" in page.getvalue()
    assert "HKR12 composition needs a total epsilon below 1, not 52.5652" in page.getvalue()


@pytest.mark.slow
def test_the_command_answers_programs(capsys: pytest.CaptureFixture[str]) -> None:
    table("field", TableFormat.json)
    chapters = json.loads(capsys.readouterr().out)["chapters"]
    assert [each["title"] for each in chapters] == [each.title for each in ledger()]
    assert any(math.isinf(float(each["settings"]["edge"]["low"])) for each in chapters)


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_ledger_is_listed_among_the_tables(form: str) -> None:
    assert "field" in run("table", "--format", form).stdout
    fails_in_one_line(run("table", "fields"), "triehh_table_1, field, got 'fields'")


def test_smooth_noise_is_read_at_the_smallest_alpha_whose_delta_suffices() -> None:
    m = ShuffledCountMin(10**5, 64, 2, 16, Fraction(1, 20), 1, seed=0)
    claimed = claim(Run(m), "GGKPV19 smooth noise").claimed

    def promised(alpha: Fraction) -> tuple[float, float]:
        smooth = smoothness_of_binomial(m.users, m.gamma, m.held, alpha)
        at, least = smooth_noise_guarantee(*smooth, 2 * m.rows * m.held, m.held, m.held)
        return at.high, least.high

    kept = [epsilon for epsilon, delta in (promised(Fraction(i, 1000)) for i in range(1, 1000)) if delta <= DELTA]
    assert min(kept) * 0.98 < claimed <= min(kept)
