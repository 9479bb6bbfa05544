

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit.core import streams
from ldpaudit.core.streams import Stream
from tests.helpers import raises


@given(st.integers(2, 80), st.integers(0, 90), st.integers(0, 2**32))
def test_a_piecewise_stream_changes_as_often_as_it_says(epochs: int, changes: int, seed: int) -> None:
    if changes > epochs - 1:
        with pytest.raises(ValueError, match=f"has no room for {changes} changes"):
            streams.piecewise(epochs, changes, 0.5, np.random.default_rng(seed))
        return
    stream = streams.piecewise(epochs, changes, 0.5, np.random.default_rng(seed))
    assert stream.values.shape == (epochs, 1)
    assert stream.changes == changes
    assert set(np.diff(stream.values[:, 0])[stream.changed[1:]].tolist()[::2]) <= {0.5}
    assert set(np.diff(stream.values[:, 0])[stream.changed[1:]].tolist()[1::2]) <= {-0.5}


def test_every_place_of_a_change_is_drawn_and_no_user_lost_where_shares_are_rounded() -> None:
    found = {int(np.flatnonzero(streams.piecewise(6, 1, 0.5, np.random.default_rng(s)).changed)[0]) for s in range(60)}
    assert found == {1, 2, 3, 4, 5}
    stream = Stream("three groups", np.array([[0.0, 0.0, 1.0]]), (0.7, 0.2, 0.1))
    assert np.ravel(stream.counts(10, 1, np.random.default_rng(0))).tolist() == [0] * 9 + [1]


def test_a_change_at_the_bound_comes_right_after_the_vote_and_a_drift_changes_in_every_epoch() -> None:
    # T = 64: K = 6, users who see a small change vote at multiples of 32; epoch 33 stands at 32.
    assert np.flatnonzero(streams.at_the_bound(64, 1, 0.4).changed).tolist() == [32]
    assert np.flatnonzero(streams.at_the_bound(64, 3, 0.4).changed).tolist() == [16, 32, 48]
    raises(ValueError, "no room for 64 changes", streams.at_the_bound, 64, 64, 0.4)
    assert streams.drift(64, 0.3, 0.7).changes == 63
    assert streams.sine_wave(64, 17, 0.4).changes == 63


def test_users_draw_from_their_own_group() -> None:
    stream = Stream("two groups", np.array([[0.0, 1.0], [1.0, 0.0]]), (0.25, 0.75))
    assert stream.counts(8, 10, np.random.default_rng(0)).tolist() == [[0, 10]] * 2 + [[10, 0]] * 6
    assert stream.average.tolist() == [0.75, 0.25]


def test_words_follow_the_mixture() -> None:
    stream = streams.drift(3, 0, 1).mixtures((1, 0), (0, 1))
    assert stream.average.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    counts = stream.counts(4, 100, np.random.default_rng(0))
    assert counts.shape == (4, 3, 2)
    assert counts.sum(axis=2).tolist() == [[100] * 3] * 4
    assert counts[:, 0].tolist() == [[100, 0]] * 4


@pytest.mark.parametrize(("values", "shares", "message"), [
    ([[0.5, 1.5]], (0.5, 0.5), "values in \\[0, 1\\]"), ([[0.5, 0.5]], (1.0,), "a share above 0 for each of 2 groups"),
    ([[[0.5, 0.4]]], (1.0,), "sum to 1"), ([0.5], (1.0,), "got an array of shape \\(1,\\)"),
])  # fmt: skip
def test_what_is_no_stream_is_refused(values: object, shares: tuple[float, ...], message: str) -> None:
    raises(ValueError, message, Stream, "none", np.array(values), shares)
