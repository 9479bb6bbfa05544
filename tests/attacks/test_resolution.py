"""What an audit says of itself: of the event that it looked for, and that it saw nothing where it saw nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.attacks import Reading
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.certificates.certificate import EvidenceRecord
from ldpaudit.evidence import DIFFERENT, UNREADABLE, Form, Mode
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

HASHED = LocalHashing.optimal(3.0, domain=100)
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
NO_EVENT, ONE_EVENT = "no event was found that distinguishes the inputs", "on this event alone, an epsilon of"


def seen_with_the_seed(x: int, size: int, rng: np.random.Generator) -> Any:
    """Which of two inputs the reported hash function maps to the reported value: anybody can compute it from the report."""
    a, b, value = HASHED.sample(x, size, rng).T
    return np.stack([(a * y + b) % HASHED.prime % HASHED.g == value for y in (0, 1)], axis=1)


@pytest.mark.parametrize("mode", Mode)
def test_of_hashed_reports_it_says_that_it_cannot_read_them_and_promises_nothing(mode: Mode) -> None:
    evidence = audit(HASHED.sample, inputs=[0, 1], epsilon=1.0, trials=10_000, mode=mode)
    assert evidence.epsilon_lower == 0
    assert evidence.distinct is not None
    assert evidence.distinct > DIFFERENT
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
    assert evidence.distinct is not None
    assert evidence.distinct > DIFFERENT
    assert evidence.resolution.startswith(ONE_EVENT)


def test_a_record_says_the_sentence_of_its_evidence() -> None:
    evidence = audit(BINARY.sample, inputs=[0, 1], epsilon=1.0, trials=1_000)
    written = EvidenceRecord.of(evidence).model_dump(mode="json")
    assert (written["resolution"], written["distinct"]) == (evidence.resolution, evidence.distinct)
    assert EvidenceRecord.model_validate_json(json.dumps(written)).read().resolution == evidence.resolution


def test_a_bound_of_a_part_of_the_level_is_computed_again_from_what_is_written() -> None:
    def rare(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.where(rng.random(size) < 2e-3, 7 + x, BINARY.sample(x, size, rng))

    evidence = audit(rare, inputs=[0, 1], epsilon=1.0, trials=50_000)
    again = EvidenceRecord.model_validate_json(EvidenceRecord.of(evidence).model_dump_json()).read()
    assert evidence.level < 0.5
    assert bound_of(again) == evidence.epsilon_lower > 1
