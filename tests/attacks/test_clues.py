"""What an audit says of itself: what betrayed the inputs, in the terms of reports, and that it saw nothing where it did."""

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
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox.clues import _said, _way
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.features import Feature, leaf
from ldpaudit.attacks.blackbox.folding import Kept, fold, number_in_short
from ldpaudit.attacks.blackbox.sampler import Latest
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.certificates.certificate import EvidenceRecord
from ldpaudit.evidence import DIFFERENT, UNREADABLE, Form, Mode
from ldpaudit.mechanisms import KaryRandomizedResponse, LocalHashing
from tests.attacks.test_blackbox import coin
from tests.helpers import some


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


@pytest.mark.few(5)
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
    of_0, all_0, of_1, all_1 = (int(each.replace(",", "")) for each in some(found).groups())
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


HASHED = LocalHashing.optimal(3.0, domain=100)
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
NO_EVENT, ONE_EVENT = "no event was found that distinguishes the inputs", "on this event alone, an epsilon of"


def seen_with_the_seed(x: int, size: int, rng: np.random.Generator) -> Any:
    """Which of two inputs the reported hash function maps to the reported value: anybody can compute it from the report."""
    a, b, value = HASHED.sample(x, size, rng).T
    return np.stack([(a * y + b) % HASHED.prime % HASHED.g == value for y in (0, 1)], axis=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", Mode)
def test_of_hashed_reports_it_says_that_it_cannot_read_them_and_promises_nothing(mode: Mode) -> None:
    evidence = audit(HASHED.sample, inputs=[0, 1], epsilon=1.0, trials=10_000, mode=mode)
    assert evidence.epsilon_lower == 0
    assert some(evidence.distinct) > DIFFERENT
    assert evidence.resolution == UNREADABLE


def test_with_the_public_seed_the_same_reports_are_refuted() -> None:
    assert audit(seen_with_the_seed, inputs=[0, 1], epsilon=1.0, trials=10_000).epsilon_lower > 1


def test_where_no_event_tells_the_inputs_apart_it_says_that_and_how_many_views_it_had() -> None:
    evidence = audit(lambda x, size, rng: rng.integers(0, 3, size), inputs=[0, 1], epsilon=1.0, trials=10_000)
    assert evidence.epsilon_lower == 0
    assert evidence.resolution.startswith(NO_EVENT)
    assert "10,000 views" in evidence.resolution
    assert "power" not in evidence.resolution


def test_the_power_is_that_of_an_event_that_was_found_or_that_the_mechanism_names() -> None:
    for evidence in (
        audit(BINARY.sample, inputs=[0, 1], epsilon=1.0, trials=10_000),
        audit(BINARY, epsilon=1.0, implementation=lambda x, size, rng: rng.integers(0, 2, size), trials=10_000),
    ):
        assert evidence.resolution.startswith(ONE_EVENT)
        assert "this audit says nothing about other events" in evidence.resolution


def test_where_no_count_could_refute_or_nothing_is_claimed_it_names_no_power() -> None:
    assert "too few to refute" in audit(BINARY, epsilon=9.0, trials=100).resolution
    assert "nothing was claimed" in audit(BINARY, trials=100).resolution


def test_reports_that_differ_in_nearly_every_call_are_no_obstacle_where_they_can_be_told_apart() -> None:
    function: Callable[..., Any] = lambda x, size, rng: x + rng.laplace(size=size)  # noqa: E731
    evidence = audit(function, inputs=[0.0, 1.0], epsilon=1.0, trials=10_000, reading=Reading(Form.CANONICAL))
    assert some(evidence.distinct) > DIFFERENT
    assert evidence.resolution.startswith(ONE_EVENT)


def test_a_record_says_the_sentence_of_its_evidence_and_gives_its_looks_and_its_bound_of_a_part_of_the_level_again() -> None:
    def rare(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.where(rng.random(size) < 2e-3, 7 + x, BINARY.sample(x, size, rng))

    evidence = audit(rare, inputs=[0, 1], epsilon=1.0, trials=50_000)
    written = EvidenceRecord.of(evidence).model_dump(mode="json")
    again = EvidenceRecord.model_validate_json(json.dumps(written)).read()
    assert (written["resolution"], written["distinct"]) == (evidence.resolution, evidence.distinct)
    assert (again.resolution, again.trajectory) == (evidence.resolution, evidence.trajectory)
    assert evidence.level < 0.5
    assert bound_of(again) == evidence.epsilon_lower > 1
