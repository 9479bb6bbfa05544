from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import Odometer
from ldpaudit.accountants.composition import users
from ldpaudit.accountants.composition.users import UserOdometers

KINDS = [(Fraction(1, 3), Fraction(0)), (Fraction(1, 50), Fraction(1, 10**9))]
SLACK = Fraction(1, 10**6)


@given(st.lists(st.tuples(st.lists(st.booleans(), min_size=4, max_size=4), st.lists(st.integers(0, 3), min_size=4, max_size=4)),
                max_size=6))  # fmt: skip
def test_each_user_reads_what_an_odometer_of_her_own_reads(epochs: list[tuple[list[bool], list[int]]]) -> None:
    meters, own = UserOdometers.fresh(4, KINDS, SLACK), [Odometer(SLACK)] * 4
    for changed, votes in epochs:
        meters = meters.epoch({0: changed, 1: votes})
        for user in range(4):
            for guarantee in [KINDS[0]] * changed[user] + [KINDS[1]] * votes[user]:
                own[user] = own[user].spend(*guarantee)
    assert [meters.of(user) for user in range(4)] == own
    assert meters.epsilon.tolist() == [meter.epsilon.high for meter in own]
    assert meters.epochs == len(epochs)
    assert all(meters.worst.epsilon.high >= meter.epsilon.high and meters.worst.delta >= meter.delta for meter in own)


def test_a_million_users_read_by_their_own_number_of_changes() -> None:
    changes = np.random.default_rng(0).binomial(100, 0.05, 10**6)
    meters = UserOdometers.fresh(10**6, [(Fraction(1, 4), 0)]).epoch({0: changes})
    assert np.array_equal(meters.epsilon, changes / 4)


def test_a_run_that_was_saved_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "meters"
    straight = halted = UserOdometers.fresh(1000, KINDS, SLACK)
    for _ in range(5):
        draws = {0: rng.random(1000) < 0.1, 1: rng.integers(0, 3, 1000)}
        straight, halted = straight.epoch(draws), halted.epoch(draws)
        halted.save(path)
        halted = UserOdometers.load(path)
    assert np.array_equal(straight.counts, halted.counts)
    assert (straight.guarantees, straight.slack, straight.epochs) == (halted.guarantees, halted.slack, halted.epochs)
    assert [file.name for file in tmp_path.iterdir()] == ["meters"]


@pytest.mark.parametrize("change", [
    lambda b: b[:-8], lambda b: b + bytes(8), lambda b: b[:-1] + b"\x01", lambda b: b.replace(b"1/3", b"1/4"),
    lambda b: b.replace(b'"epochs": 1', b'"epochs": 0'), lambda b: b"", lambda b: b"[]\n",
    lambda b: b'{"guarantees": [["1/0", "0"]]}\n',
    lambda b: b.replace(b"user-odometers/1", b"user-odometers/9"),
])  # fmt: skip
def test_a_table_that_was_cut_or_changed_is_refused(tmp_path: Path, change: object) -> None:
    path = tmp_path / "meters"
    UserOdometers.fresh(3, KINDS, SLACK).epoch({0: [True, False, True]}).save(path)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(ValueError, match="needs a whole table of schema"):
        UserOdometers.load(path)


def test_the_number_of_users_is_read_before_the_counts_are(tmp_path: Path) -> None:
    path = tmp_path / "meters"
    path.write_text(json.dumps({"users": 10**15, "guarantees": [["1", "0"]]}) + "\n")
    with pytest.raises(ValueError, match="needs 8000000000000000 bytes of counts"):
        UserOdometers.load(path)


def test_a_table_of_another_schema_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "meters"
    UserOdometers.fresh(3, KINDS).save(path)
    monkeypatch.setattr(users, "SCHEMA", "ldpaudit.user-odometers/2")
    with pytest.raises(ValueError, match="user-odometers/2"):
        UserOdometers.load(path)


def test_an_epoch_leaves_the_earlier_table_as_it_was() -> None:
    before = UserOdometers.fresh(2, KINDS)
    before.epoch({0: [True, True]})
    assert before.counts.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("kind", "draws", "message"), [
    (2, [True] * 3, "for a kind below 2"), (-1, [True] * 3, "for a kind below 2"), (0, [True] * 2, "of 3 users"),
    (0, [0.5] * 3, "Booleans or integers"), (0, [0, -1, 0], "from 0 to 2\\*\\*40 draws"),
])  # fmt: skip
def test_an_epoch_that_fits_nobody_is_refused(kind: int, draws: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UserOdometers.fresh(3, KINDS).epoch({kind: draws})


@pytest.mark.parametrize(("counts", "message"), [
    (np.zeros((2, 1), dtype=np.int64), "one column for each of 2"), (np.zeros((2, 2)), "int64 counts"),
    (np.zeros((0, 2), dtype=np.int64), "at least one user"), (np.full((1, 2), -1), "counts from 0"),
])  # fmt: skip
def test_what_is_no_table_is_refused(counts: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UserOdometers(tuple(KINDS), counts)
