"""``ldpaudit compare``: users' values as they are read, numbered and drawn, and how contenders are made and scored."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.commands import run
from ldpaudit.comparison import Contender, Contest, bits, contenders, score
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.held import Held, numbering, read
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding

WORDS = ["the"] * 900 + ["of"] * 500 + ["and"] * 300 + ["zygote"] * 200 + ["zygotes"] * 100
CONTEST = Contest(Fraction(4), Fraction(1, 10**6), dictionary=4, top=2)


def test_every_way_to_write_users_values_is_read_alike(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    (tmp_path / "words.csv").write_text("user,word\n" + "".join(f"{i},{word}\n" for i, word in enumerate(WORDS)))
    polars.DataFrame({"word": WORDS}).write_parquet(tmp_path / "words.parquet")
    every = [read(tmp_path / "words.txt"), read(tmp_path / "words.csv", "word"), read(tmp_path / "words.parquet")]
    for held in every:
        assert held.values == ("the", "of", "and", "zygote", "zygotes")
        assert held.places.tolist() == [0] * 900 + [1] * 500 + [2] * 300 + [3] * 200 + [4] * 100


@pytest.mark.parametrize(
    ("name", "text", "column", "says"),
    [("a.csv", "x,y\n1,2\n", "z", "needs a column 'z', got x, y"), ("a.txt", "one\n", "", "two different values, got 1"),
     ("a.csv", "", "", "needs a column 'of values', got none"), ("a.parquet", "no", "", "Parquet file")],
)  # fmt: skip
def test_a_file_without_values_is_an_error_of_a_line(tmp_path: Path, name: str, text: str, column: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DeploymentError, match=says):
        read(tmp_path / name, column)


@given(st.text("abcz' .", max_size=12), st.text("abcz' .", max_size=12))
def test_words_with_a_common_beginning_have_numbers_with_common_leading_bits(one: str, other: str) -> None:
    number = numbering([one, other])
    same = next((i for i, pair in enumerate(zip(one.ljust(12), other.ljust(12), strict=True)) if pair[0] != pair[1]), 12)
    differ = number(one) ^ number(other)
    assert differ < 1 << (60 - 5 * same)
    assert (differ == 0) == (same == 12)


def test_the_rest_of_the_dictionary_stands_for_one_value() -> None:
    held = Held.of(WORDS)
    assert np.bincount(held.frequent(2)).tolist() == [900, 500, 600]


def test_what_the_issue_of_choosing_is_about_contends() -> None:
    names = {str(each) for each in contenders()}
    assert names >= {
        "randomized_response", "unary_encoding optimized", "local_hashing optimal", "hadamard_response", "subset_selection optimal",
        "count_mean_sketch", "sign_oracle", "hashtogram", "tree_histogram", "bitstogram", "expander_sketch",
        "bucket_heavy_hitter as_printed", "glps_heavy_hitter as_printed", "jl_heavy_hitter for_users",
        "shuffled_hadamard as_printed", "shuffled_count_min as_printed",
    }  # fmt: skip


def test_an_oracle_s_error_is_that_of_its_law() -> None:
    held = Held.of(WORDS * 10)
    m = KaryRandomizedResponse.for_epsilon(4, k=5)
    p, q = float(m.p), float(m.lie)
    expected = math.sqrt(sum(f * p * (1 - p) + (20_000 - f) * q * (1 - q) for f in (9_000, 5_000)) / 2) / (p - q)
    contests = [Contest(Fraction(4), Fraction(1, 10**6), dictionary=4, top=2, seed=seed) for seed in range(60)]
    errors = [score(Contender("randomized_response", "", "for_epsilon"), each, held).error for each in contests]
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.25)


def test_a_system_that_names_values_is_scored_by_what_it_names() -> None:
    held = Held.of(["alpha"] * 60_000 + ["beta"] * 30_000 + [f"{i}" for i in range(10_000)])
    contest = Contest(Fraction(4), Fraction(1, 10**6), top=2)
    found = score(Contender("tree_histogram", "", "for_epsilon"), contest, held)
    assert (found.recall, found.precision, found.missed) == (1.0, 1.0, 1)
    assert 0 < found.error <= found.largest_error < 5_000
    assert found.bits == 1.0
    assert 10_000 < found.found_from < 30_000
    assert 4 - 1e-9 < found.epsilon <= 4


def test_what_is_made_for_a_shuffler_is_accounted_shuffled() -> None:
    contest = Contest(Fraction(1), Fraction(1, 10**6), dictionary=4, top=2)
    found = score(Contender("randomized_response", "", "shuffled_as_printed"), contest, Held.of(WORDS * 100))
    assert found.epsilon <= 1


def test_bits_are_those_of_the_report_or_of_all_messages() -> None:
    assert bits(UnaryEncoding.optimized(1, k=40)) == 40
    m = ShuffledHadamard(users=100, domain=8, tau=3, rho=5)
    assert bits(m) == 6 * 3 * 4


def test_reports_that_cannot_be_drawn_leave_a_contender_out() -> None:
    held = Held(tuple(map(str, range(200))), np.zeros(10**7, dtype=np.int64))
    with pytest.raises(Unsupported, match="are drawn at most"):
        score(Contender("laplace", "histogram", "for_epsilon"), Contest(Fraction(1), Fraction(1, 10**6), 200, 1), held)


def compare(tmp_path: Path, capsys: Any, *options: str) -> tuple[str, str]:
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    only = [part for stem in ("randomized_response", "tree_histogram", "shuffled_count_min") for part in ("--only", stem)]
    asked = ["--data", str(tmp_path / "words.txt"), "--epsilon", "4", "--dictionary", "4", "--top", "2"]
    assert run(["compare", *asked, *only, *options]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_table_has_a_line_for_each_and_says_who_was_left_out(tmp_path: Path, capsys: Any) -> None:
    out, err = compare(tmp_path, capsys, "--plot", str(tmp_path / "picture.svg"))
    title, head, *lines = out.splitlines()
    assert title.startswith("2,000 users, 5 values, epsilon 4, oracles asked about 4 values")
    assert head.split("  ")[0] == "system"
    first, *others = (line.split()[0] for line in lines)
    assert first == "randomized_response"
    assert sorted(others) == ["tree_histogram", "tree_histogram:hashed", "tree_histogram:split"]
    assert "left out: shuffled_count_min as_printed: " in err
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_the_same_seed_gives_the_same_scores_as_data(tmp_path: Path, capsys: Any) -> None:
    measured = ("seconds", "megabytes")
    found = [json.loads(compare(tmp_path, capsys, "--format", "json")[0]) for _ in range(2)]
    one, other = ([{k: v for k, v in row.items() if k not in measured} for row in each["rows"]] for each in found)
    assert one == other
    assert one[0]["system"] == "randomized_response"
