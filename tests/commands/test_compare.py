"""``ldpaudit compare``: users' values as they are read, numbered and drawn, and how contenders are made and scored."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Enclosure, Rigour, Shuffle, account
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files.user_data import Held, numbering, read
from ldpaudit.mechanisms import KaryRandomizedResponse, ShuffledHadamard, UnaryEncoding
from ldpaudit.report.comparison import Leaderboard, as_data, write
from ldpaudit.report.printer import TableFormat
from ldpaudit.studies import comparison
from ldpaudit.studies.comparison import CLOSE, Contender, Contest, Score, bits, contenders, score
from tests.helpers import fails_in_one_line, raises, run, stdout

WORDS = ["the"] * 900 + ["of"] * 500 + ["and"] * 300 + ["zygote"] * 200 + ["zygotes"] * 100


def test_every_way_to_write_users_values_is_read_alike(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    (tmp_path / "words.csv").write_text("user,word\n" + "".join(f"{i},{word}\n" for i, word in enumerate(WORDS)))
    polars.DataFrame({"word": WORDS}).write_parquet(tmp_path / "words.parquet")
    every = [read(tmp_path / "words.txt"), read(tmp_path / "words.csv", "word"), read(tmp_path / "words.parquet")]
    for held in every:
        assert held.values == ("the", "of", "and", "zygote", "zygotes")
        assert held.places.tolist() == [0] * 900 + [1] * 500 + [2] * 300 + [3] * 200 + [4] * 100


@pytest.mark.parametrize(("name", "text", "column", "says"), [
    ("a.csv", "x,y\n1,2\n", "z", "needs a column 'z', got x, y"), ("a.txt", "one\n", "", "two different values, got 1"),
    ("a.csv", "", "", "needs a column 'of values', got none"), ("a.parquet", "no", "", "Parquet file"),
])  # fmt: skip
def test_a_file_without_values_is_an_error_of_a_line(tmp_path: Path, name: str, text: str, column: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    raises(DeploymentError, says, read, tmp_path / name, column)


@given(st.text("abcz' .", max_size=12), st.text("abcz' .", max_size=12))
def test_words_with_a_common_beginning_have_numbers_with_common_leading_bits(one: str, other: str) -> None:
    number = numbering([one, other])
    same = next((i for i, pair in enumerate(zip(one.ljust(12), other.ljust(12), strict=True)) if pair[0] != pair[1]), 12)
    differ = number(one) ^ number(other)
    assert differ < 1 << (60 - 5 * same)
    assert (differ == 0) == (same == 12)


def test_all_that_the_issue_of_choosing_is_about_contends_and_shuffled_formulas_as_randomizers() -> None:
    names = {str(each) for each in contenders()}
    assert names >= {
        "randomized_response", "unary_encoding optimized", "local_hashing optimal", "hadamard_response", "subset_selection optimal",
        "count_mean_sketch", "sign_oracle", "hashtogram", "tree_histogram", "bitstogram", "expander_sketch",
        "bucket_heavy_hitter as_printed", "glps_heavy_hitter as_printed", "jl_heavy_hitter for_users",
        "shuffled_hadamard as_printed", "shuffled_count_min as_printed",
    }  # fmt: skip
    assert {"randomized_response, shuffled", "unary_encoding symmetric, shuffled"} <= names
    assert not any("shuffled_as_printed" in name or "shuffled_in_closed_form" in name for name in names)


def test_an_oracle_s_error_is_that_of_its_law() -> None:
    held = Held.of(WORDS * 10)
    m = KaryRandomizedResponse.for_epsilon(4, k=5)
    p, q = float(m.p), float(m.lie)
    expected = math.sqrt(sum(f * p * (1 - p) + (20_000 - f) * q * (1 - q) for f in (9_000, 5_000)) / 2) / (p - q)
    contests = [Contest(Fraction(4), Fraction(1, 10**6), dictionary=4, top=2, seed=seed) for seed in range(60)]
    errors = [score(Contender("randomized_response", "", "for_epsilon"), each, held).error for each in contests]
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("name", ["longitudinal_unary optimized", "loloha binary, for ever", "one_bit:perturbed, for ever"])
def test_post_processed_counts_are_nearer_and_sum_to_the_users(name: str) -> None:
    held = Held.of(WORDS)
    (contender,) = (each for each in contenders() if str(each) == name)
    contests = [Contest(Fraction(1), Fraction(0), dictionary=4, top=4, seed=seed) for seed in range(8)]
    before, after = (np.mean([score(contender, replace(each, post=post), held).error**2 for each in contests])
                     for post in ("none", "norm-sub"))  # fmt: skip
    assert after < 0.95 * before
    m = contender.calibrated(contests[0], held.users, 5)
    assert 0.95 <= account(contender.plan(m, held.users)).epsilon(0).high <= 1
    if contender.for_ever:
        assert account(m).epsilon(0).high < 0.9
    raw, counts = comparison._counts(m, held.frequent(4), np.arange(5), np.random.default_rng(0), "norm-sub")
    assert counts.min() >= 0
    assert counts.sum() == pytest.approx(held.users)
    assert np.all(np.diff(counts[np.argsort(raw)]) >= 0)


def test_counts_that_are_0_alike_are_not_ranked_by_the_truth() -> None:
    held = Held.of([f"{i}" for i in range(300) for _ in range(10 + 300 - i)])
    (contender,) = (each for each in contenders() if str(each) == "randomized_response")
    one, other = (score(contender, Contest(Fraction(1, 2), Fraction(0), 300, 50, post=post), held) for post in ("none", "norm-sub"))
    assert one.recall == other.recall < 0.6
    assert other.error < one.error


def test_a_system_that_names_values_is_scored_by_what_it_names() -> None:
    held = Held.of(["alpha"] * 60_000 + ["beta"] * 30_000 + [f"{i}" for i in range(10_000)])
    contest = Contest(Fraction(4), Fraction(1, 10**6), top=2)
    found = score(Contender("tree_histogram", "", "for_epsilon"), contest, held)
    assert (found.recall, found.precision, found.missed) == (1.0, 1.0, 1)
    assert 0 < found.error <= found.largest_error < 5_000
    assert found.bits == 1.0
    assert 10_000 < found.found_from < 30_000
    assert 4 - 1e-5 < found.epsilon <= 4  # at the contest's delta


ASKED = Contest(Fraction(2), Fraction(1, 10**6), dictionary=4, top=2)


@pytest.mark.few(3)
@pytest.mark.parametrize("contender", [
    Contender("laplace", "histogram", "as_printed"), Contender("jl_heavy_hitter", "", "for_users"),
    Contender("randomized_response", "", "for_epsilon"), Contender("randomized_response", "", "for_epsilon", shuffled=True),
    Contender("shuffled_hadamard", "", "as_printed"), Contender("bucket_heavy_hitter", "", "as_printed"),
    pytest.param(Contender("unary_encoding", "", "symmetric", shuffled=True), marks=pytest.mark.slow),
    pytest.param(Contender("shuffled_count_min", "", "as_printed"), marks=pytest.mark.slow),
], ids=str)  # fmt: skip
def test_every_row_is_certified_to_cost_about_what_is_asked_in_its_own_model(contender: Contender) -> None:
    users = 20_000
    m = contender.calibrated(ASKED, users, 8)
    cost = account(Shuffle(m, users) if contender.shuffled else m).epsilon(ASKED.delta)
    assert 0.95 * 2 <= cost.high <= 2
    assert contender.model == ("shuffled" if "shuffled" in str(contender) else "local")


@pytest.mark.parametrize(("delta", "cost"), [(1e-7, 2.0), (1e-5, 2.1)])
def test_a_delta_certified_at_what_is_asked_is_what_it_costs(monkeypatch: pytest.MonkeyPatch, delta: float, cost: float) -> None:
    class Rough:
        def epsilon(self, _: Fraction) -> Enclosure:
            return Enclosure(0, 2.1, Rigour.INTERVAL, "")

        def delta(self, _: Fraction) -> Enclosure:
            return Enclosure(0, delta, Rigour.INTERVAL, "")

    monkeypatch.setattr(comparison, "account", lambda _: Rough())
    contender = Contender("randomized_response", "", "for_epsilon")
    assert contender.certified(KaryRandomizedResponse.for_epsilon(2, k=5), ASKED, 9) == cost


def test_a_formula_that_charges_twice_has_twice_the_noise_and_bits_are_those_of_all_messages() -> None:
    printed, exact = (Contender("laplace", "histogram", name).calibrated(ASKED, 100, 8) for name in ("as_printed", "for_epsilon"))
    assert printed.scale == pytest.approx(float(exact.scale), rel=1e-3)  # type: ignore[attr-defined]
    assert printed.scale >= exact.scale  # type: ignore[attr-defined]
    assert bits(UnaryEncoding.optimized(1, k=40)) == 40
    assert bits(ShuffledHadamard(users=100, domain=8, tau=3, rho=5)) == 6 * 3 * 4


def test_what_cannot_be_brought_near_the_asked_epsilon_is_marked_and_has_no_rank() -> None:
    genprot, response = Contender("genprot", "one-bit", "of_response"), Contender("randomized_response", "", "for_epsilon")
    held = Held.of(["yes"] * 600 + ["no"] * 400)
    contest = Contest(Fraction(1), Fraction(0), dictionary=1, top=1)
    few = score(genprot, contest, held)  # it is made below log(2)/2 alone
    assert few.epsilon < CLOSE
    assert not few.is_calibrated
    table = Leaderboard(contest, 1000, 2, ((genprot, few), (response, score(response, contest, held))))
    assert [each["rank"] for each in as_data(table, [])["rows"]] == [1, None]
    last = write(table, TableFormat.text).splitlines()[-1]
    assert last == "not calibrated, hence not ranked: no epsilon from 0.95 to 1 was certified: genprot:one-bit of_response"


def test_no_printed_epsilon_is_below_the_certified_one_and_places_are_by_kind() -> None:
    none = math.nan
    tree = Score("m", 1, 1, 5, 9, 1, 1, 0, 7, 1, 1, is_calibrated=True, knows_dictionary=True)
    far = replace(tree, epsilon=0.51239, error=1, is_calibrated=False)
    rows = ((Contender("randomized_response", "", "for_epsilon"), Score("m", 0.99995, 1, 5, 9, 1, 1, 0, none, 1, 1)),
            (Contender("tree_histogram", "hashed", "for_epsilon"), tree),
            (Contender("unary_encoding", "", "optimized"), far))  # fmt: skip
    table = Leaderboard(Contest(Fraction(1), Fraction(0)), 10, 2, rows)
    assert table.places == [1, None, 1]
    _, _, *lines = write(table, TableFormat.text).splitlines()
    assert [line.split("local")[1].split()[0] for line in lines[:3]] == ["1", "0.5124", "1"]
    assert lines[-1] == "given the dictionary, because it cannot be made for more values: tree_histogram:hashed"


@pytest.mark.parametrize(("option", "value", "says"), [
    ("--epsilon", "sqrt(1e-4096)", "needs 1e-6 <= epsilon <= 64"), ("--epsilon", "1e999", "needs 1e-6 <= epsilon <= 64"),
    ("--delta", "1e-4000", "needs delta = 0 or 1e-300 <= delta < 1"), ("--delta", "1", "needs delta = 0 or 1e-300 <= delta < 1"),
])  # fmt: skip
def test_what_no_float_holds_is_refused_in_a_line(tmp_path: Path, option: str, value: str, says: str) -> None:
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    fails_in_one_line(run("compare", "--data", str(tmp_path / "words.txt"), "--only", "randomized_response", option, value), says)


def test_reports_that_cannot_be_drawn_leave_a_contender_out_and_rare_values_are_one() -> None:
    held = Held(tuple(map(str, range(200))), np.zeros(10**7, dtype=np.int64))
    with pytest.raises(Unsupported, match="64 bits, but at most"):
        score(Contender("laplace", "histogram", "for_epsilon"), Contest(Fraction(1), Fraction(1, 10**6), 200, 1), held)
    assert np.bincount(Held.of(WORDS).frequent(2)).tolist() == [900, 500, 600]


def compare(tmp_path: Path, stems: tuple[str, ...], *options: str) -> CompletedProcess[str]:
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    only = [part for stem in stems for part in ("--only", stem)]
    asked = ["--data", str(tmp_path / "words.txt"), "--epsilon", "4", "--dictionary", "4", "--top", "2"]
    return run("compare", *asked, *only, *options)


@pytest.mark.usefixtures("in_process")
def test_the_table_has_a_line_for_each_and_says_who_was_left_out(tmp_path: Path) -> None:
    stems = ("randomized_response", "tree_histogram", "shuffled_count_min")
    done = compare(tmp_path, stems, "--plot", str(tmp_path / "picture.svg"))
    title, head, *lines = stdout(done).splitlines()
    assert title.startswith("2,000 users, 5 values, (4, 1e-09), oracles asked about 4 values")
    assert head.split()[:4] == ["system", "rank", "model", "epsilon"]
    ranks = {line.split("  ")[0]: line.split() for line in lines[:-1]}
    assert next(iter(ranks)) == "randomized_response, shuffled"
    assert sorted(list(ranks)[-3:]) == ["tree_histogram", "tree_histogram:hashed", "tree_histogram:split"]
    assert "left out: shuffled_count_min as_printed: " in done.stderr
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


@pytest.mark.usefixtures("in_process")
def test_the_same_seed_gives_the_same_scores_as_data(tmp_path: Path) -> None:
    measured = ("seconds", "megabytes")
    stems = ("hadamard_response", "sign_oracle")
    found = [json.loads(stdout(compare(tmp_path, stems, "--format", "json"))) for _ in range(2)]
    one, other = ([{k: v for k, v in row.items() if k not in measured} for row in each["rows"]] for each in found)
    assert one == other
    assert {"hadamard_response", "sign_oracle"} <= {row["system"] for row in one}
