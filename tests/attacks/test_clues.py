"""What betrayed the inputs is said in the report's own terms: the value, the field, the bit, and a report of each kind."""

from __future__ import annotations

import ast
import json
import operator
import pickle
import re
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.attacks.blackbox.clues import _said, _way
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.features import Feature, leaf
from ldpaudit.attacks.blackbox.folding import Kept, fold, number_in_short
from ldpaudit.attacks.blackbox.sampler import Latest
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.attacks.test_blackbox import coin


def noisy(x: int, rng: np.random.Generator) -> int:
    return x if rng.random() < 0.9 else 1 - x


SHOWN: dict[str, tuple[Callable[[int, np.random.Generator], Any], list[str]]] = {
    "a value": (noisy, ["the report is 0:", "the event fired on 0 on input 0, and on 1 on input 1"]),
    "a field": (lambda x, rng: {"n": rng.integers(1 << 30), "v": {"w": [rng.integers(2), noisy(x, rng)]}}, ["w'][1]) ="]),
    "a bit": (lambda x, rng: rng.integers(0, 199, 4) & [-1, -1, -2, -1] | [0, 0, noisy(x, rng), 0], ["bit 0 of number 2"]),
    "a character": (lambda x, rng: json.dumps({"v": noisy(x, rng), "n": rng.random()}), ["number 6 of the report", "= '"]),
    "a type": (lambda x, rng: np.int64(1) if noisy(x, rng) else 1, ["the event fired on "]),
    "a word": (lambda x, rng: " ".join(map(str, [*rng.integers(0, 99, rng.integers(9)), ["no", "yes"][x]])), ["fired on '"]),
}  # fmt: skip


@pytest.mark.parametrize(("leak", "mode"), [
    *((leak, Mode.SEQUENTIAL) for leak in SHOWN), ("a value", Mode.FIXED), ("a bit", Mode.FIXED),
    *(pytest.param(leak, Mode.FIXED, marks=pytest.mark.slow) for leak in SHOWN if leak not in ("a value", "a bit")),
])  # fmt: skip
def test_what_betrayed_it_is_said_in_the_reports_own_terms(leak: str, mode: Mode) -> None:
    (function, wanted), rng = SHOWN[leak], np.random.default_rng(1)
    evidence = audit(lambda x: function(x, rng), inputs=[0, 1], epsilon=1.0, trials=4_000, mode=mode)
    assert evidence.refutes(1.0)
    assert evidence.clue is not None
    assert [words for words in wanted if words not in evidence.clue] == []
    assert "none of the usual values" not in evidence.clue, "which tells least"
    assert ("betrayed by", evidence.clue) in list(evidence._facts())


def test_the_counts_are_those_of_whoever_counts_again() -> None:
    evidence = audit(coin(3, 0.9), inputs=[0, 1], epsilon=1.0, trials=4_000, mode=Mode.FIXED)
    found = re.match(r"the report is 0: ([\d,]+) of ([\d,]+) on input 0, ([\d,]+) of ([\d,]+) on input 1", evidence.clue or "")
    assert found is not None
    of_0, all_0, of_1, all_1 = (int(each.replace(",", "")) for each in found.groups())
    assert 0.85 < of_0 / all_0 < 0.95
    assert 0.05 < of_1 / all_1 < 0.15


def test_reports_that_are_made_together_are_shown_one_by_one() -> None:
    found = audit(KaryRandomizedResponse.for_epsilon(2, k=2).sample, inputs=[0, 1], epsilon=1.0, trials=4_000)
    assert (found.clue or "").startswith(f"the report is {np.int64(0)!r}: ")


def test_where_nothing_fired_nothing_is_said() -> None:
    assert audit(coin(1, 0.5), inputs=[0, 1], epsilon=1.0, trials=2_000).clue is None


REPORTS: list[Any] = [{"a": [1.5, (2, "xyz")], "b": {3: b"b"}, "c": np.arange(6).reshape(2, 3)}, [[7, 8], "text", b"bytes"], [4, 5]]


@pytest.mark.parametrize("report", REPORTS, ids=repr)
def test_a_way_leads_to_the_number_that_the_encoding_has_at_its_place(report: Any) -> None:
    ((_, group),) = encode([report], 1, None).items()
    for j, number in enumerate(group.leaves):
        way, _, in_key = _way(report, j).partition(", its key")
        *before, last = (ast.literal_eval(f"({at})") for at in re.findall(r"\[([^\]]+)\]", way))
        held = reduce(operator.getitem, before, report)
        part = held[last] if not in_key and "its key" not in _way(report, j) else last
        for at in re.findall(r"\d+", in_key):
            part = part[int(at)]
        assert number[0] == (ord(part) if isinstance(part, str) else part)


def test_what_is_held_and_arrays_of_several_numbers_each_are_said_without_a_place() -> None:
    held = Feature("token", "whether it holds 'number 999' (item)", partial(leaf, 0), np.arange(2), False, np.zeros((2, 3)))
    never: Any = lambda j: 1 / 0  # noqa: E731
    assert [_said(held, cell, never)[:11] for cell in range(3)] == ["it does not", "it holds 'n", "it does not"]
    assert _way(np.zeros(2, dtype=[("a", "i4"), ("b", "i4")]), 3) == ""


def test_a_number_in_short_is_what_its_words_say() -> None:
    report = [float(i) for i in range(200)]
    ((_, group),) = fold(encode([report], 1, 0), Kept(frozenset(), 1_000)).items()
    said = {number_in_short(j): float(group.leaves[j][0]) for j in range(group.width)}
    assert len(said) == group.width
    assert said["the number of its numbers"] == 200
    assert said["its number 3"] == 3
    assert said["its number 1 from the end"] == 199
    assert said["the sum of every 64th number from its number 5 on"] == 5 + 69 + 133 + 197
    assert sum(number for words, number in said.items() if "by hash" in words) == 200


def test_reports_that_are_kept_to_be_shown_stay_in_this_process() -> None:
    latest = Latest()
    latest.add(0, [1])
    latest.add(1, [2])
    latest.add(0, [3])
    assert latest == [(1, [2]), (0, [3])]
    assert pickle.loads(pickle.dumps(latest)) == []
