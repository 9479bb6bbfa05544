"""Ranges and quantiles from reports of prefixes: trees that are consistent, without bias by their laws, and held by intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ldpaudit.commands import run
from ldpaudit.mechanisms import PrefixExtending, SignPrefixExtending, TreeHistogram
from ldpaudit.mechanisms.shared.public_questions.server_queries import Answers
from ldpaudit.studies.trees import Tree, consistent
from tests.samples import SEEDED_LEVEL

SIZES, VARIANCES = (2, 8, 8), (3.0, 5.0, 2.0)
"""Levels of a tree, of which the last one is asked for twice, as in TreeHist, and the variances of their counts."""
NUMBERS = st.floats(-100, 100)


def summed_up(leaves: Any) -> list[Any]:
    return [np.reshape(leaves, (size, -1)).sum(axis=1) for size in SIZES]


def distance(one: list[Any], other: list[Any]) -> float:
    return float(sum(np.sum((a - b) ** 2) / v for a, b, v in zip(one, other, VARIANCES, strict=True)))


@given(st.tuples(*(arrays(np.float64, size, elements=NUMBERS) for size in SIZES)), arrays(np.float64, 8, elements=NUMBERS))
def test_the_consistent_tree_is_the_nearest_one_and_farther_from_no_truth(levels: tuple[Any, ...], truth: Any) -> None:
    root = truth.sum()
    found = consistent(levels, VARIANCES, root)
    assert found[-1].sum() == pytest.approx(root, abs=1e-9)
    for a, b, c in zip(found, summed_up(found[-1]), consistent(found, VARIANCES, root), strict=True):
        assert a == pytest.approx(b, abs=1e-9)
        assert a == pytest.approx(c, abs=1e-9)
    # Pythagoras: a projection on what the truth is among.
    apart = distance([*levels], found) + distance(found, summed_up(truth))
    assert distance([*levels], summed_up(truth)) == pytest.approx(apart, rel=1e-9, abs=1e-6)


def tree_of(m: Any, data: Any, seed: int) -> Tree:
    return Tree.of(m, m.collect(data, np.random.default_rng(seed)))


@pytest.mark.parametrize(
    "m", [SignPrefixExtending(99, 8, 1, 1, Fraction(3, 4)), TreeHistogram(99, 8, 2, Fraction(2, 3), Fraction(1, 3))], ids=str
)
def test_a_range_s_count_is_unbiased_by_the_law_of_a_report(m: Any) -> None:
    tree = tree_of(m, np.zeros(9, dtype=np.int64), 0)
    for first, last, x in product(range(4), (4, 5, 7), range(8)):
        weights, mean = tree._weights(range(first, last + 1))
        for each, own in zip(tree.told, weights, strict=True):
            assert isinstance(each, Answers)
            rank, vectors = each.rank, np.arange(1, 1 << each.rank)
            true = 1 - 2 * np.array([(int(r) & x >> 3 - rank).bit_count() % 2 for r in vectors])
            terms = np.array([replace(each, columns=vectors, signs=sign).added(own) for sign in (true, -true)])
            assert each.most(own) == pytest.approx(np.abs(terms).max())
            powers = [(float(m.p) * terms[0] ** k + float(1 - m.p) * terms[1] ** k).mean() for k in (2, 3, 4)]
            assert each.moments(own)[:, x >> 3 - rank] == pytest.approx(powers, rel=1e-9, abs=1e-9)
            mean += float(each.share) * (float(m.p) * terms[0] + float(1 - m.p) * terms[1]).mean()
        assert mean == pytest.approx(int(first <= x <= last), abs=1e-9)


@pytest.mark.parametrize("kind", [PrefixExtending, SignPrefixExtending])
def test_an_estimate_is_the_sum_of_what_reports_add(kind: Any) -> None:
    tree = tree_of(kind.for_epsilon(2, users=500, domain=64, top=1, width=2), np.arange(500) % 64, 1)
    for inside in (range(3, 20), range(64), range(49, 50)):
        weights, root = tree._weights(inside)
        for each, own in zip(tree.told, weights, strict=True):
            for some in (own, np.eye(1, len(own))[0]):
                added = each.added(some)
                assert added.sum() == pytest.approx(some @ each.counts(), abs=1e-6)
                assert np.abs(added).max() <= each.most(some) + 1e-9
        terms = sum(each.added(own).sum() for each, own in zip(tree.told, weights, strict=True))
        assert tree.answers([inside], 0.9)[0][0] == pytest.approx(root * 500 + terms, abs=1e-6)


USERS, RUNS = 12_000, 120
VALUES = np.minimum(np.random.default_rng(1).geometric(1 / 5, USERS), 15)
ASKED: list[range | Fraction] = [range(3), range(2, 9), range(15, 16), Fraction(1, 2), Fraction(9, 10)]
TRUTH = [np.isin(VALUES, [*each]).sum() if isinstance(each, range) else np.sort(VALUES)[int(each * USERS) - 1] for each in ASKED]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [SignPrefixExtending.for_epsilon(1, USERS, 16, 1, 2), PrefixExtending.for_epsilon(2, USERS, 16, 1, 2)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_intervals_hold_as_often_as_they_say_and_are_little_wider_than_the_normal_law_s(m: Any) -> None:
    runs, wider = (RUNS, 1.2) if isinstance(m, SignPrefixExtending) else (RUNS // 4, 1.4)
    found, low, high = np.array([
        (estimates, ends.low, ends.high) for seed in range(runs)
        for estimates, ends in [tree_of(replace(m, seed=seed), VALUES, seed).answers(ASKED, 0.9)]
    ]).swapaxes(0, 1)  # fmt: skip
    missed = ((low > TRUTH) | (high < TRUTH)).sum(axis=0)
    assert np.all(stats.binom.sf(missed - 1, runs, 0.1) > SEEDED_LEVEL)
    off = (found - TRUTH)[:, :3]
    assert np.all(np.abs(off.mean(axis=0)) < 5 * off.std(axis=0) / runs**0.5)
    assert np.all((high - low)[:, :3].mean(axis=0) < wider * 2 * stats.norm.isf(0.05) * off.std(axis=0))


def test_all_users_are_in_the_range_of_all_values_and_a_quantile_of_sure_answers_is_that_of_the_data() -> None:
    sure = SignPrefixExtending(1 << 20, 16, 1, 2, 1 - Fraction(1, 10**6))
    tree = tree_of(sure, np.repeat([3, 9], [70_000, 30_000]), 3)
    asked: list[range | Fraction] = [range(16), Fraction(1, 2), Fraction(9, 10)]
    for simultaneous, confidence in ((False, 0.95), (True, 0.85)):  # the same, of three
        estimates, ends = tree.answers(asked, confidence, simultaneous)
        assert estimates.tolist() == ends.low.tolist() == ends.high.tolist() == [100_000, 3, 9]
    narrow, wide = (tree.answers([range(4), *asked], 0.9, each)[1] for each in (False, True))
    assert wide.high[0] - wide.low[0] > narrow.high[0] - narrow.low[0]


TREE = ["prefix_extending:signs", "epsilon=4", "users=6000", "domain=60", "top=1", "width=2"]


def test_the_command_counts_ranges_and_finds_quantiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m = SignPrefixExtending.for_epsilon(4, users=6000, domain=60, top=1, width=2)
    views = m.collect(np.repeat([5, 30, 59], [3500, 1500, 1000]), np.random.default_rng(0))
    (file := tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in views.tolist()))
    assert run(["estimate", str(file), *TREE, "--ranges", "0:9,10:59", "--quantiles", "0.3,9/10", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in told["estimates"]] == ["0:9", "10:59", "0.3", "9/10"]
    assert all(row["low"] <= truth <= row["high"] for row, truth in zip(told["estimates"], (3500, 2500, 5, 59), strict=True))
    assert told["estimates"][0]["estimate"] + told["estimates"][1]["estimate"] == pytest.approx(6000)
    assert told["intervals"] == "by certified tails"
    for arguments, says in (
        ([*TREE, "--ranges", "0:60"], "needs ranges of values below 60, got 0:60"),
        ([*TREE, "--ranges", "9:5"], "two integers in order"), ([*TREE, "--quantiles", "1"], "needs numbers in (0, 1), got 1"),
        ([*TREE, "--quantiles", "0.5", "--top", "1"], "needs none of --post, --top and --values"),
        (["randomized_response", "k=4", "p=1/2", "--quantiles", "0.5"], "ranges and quantiles need reports of prefixes"),
        (["tree_histogram:split", *TREE[1:4], "--ranges", "0:5"], "ranges and quantiles need reports of prefixes"),
        ([TREE[0], *TREE[1:3], f"domain={1 << 21}", "--ranges", "0:5"], "at most 20 bits, got 21"),
    ):  # fmt: skip
        assert run(["estimate", str(file), *arguments]) == 2
        assert says in capsys.readouterr().err
    (tmp_path / "b.jsonl").write_text("")
    assert run(["estimate", str(tmp_path / "b.jsonl"), *TREE, "--ranges", "0:5"]) == 2
    assert "at least one report, got none" in capsys.readouterr().err
