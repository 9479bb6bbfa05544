from fractions import Fraction

from hypothesis import HealthCheck, given, settings, strategies as st

from ldpaudit import strategies
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

CALM = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@given(strategies.channels(inputs=3, views=4))
def test_a_channel_is_stochastic(channel: list[list[Fraction]]) -> None:
    assert len(channel) == 3
    assert all(sum(row) == 1 and min(row) >= 0 for row in channel)


@CALM
@given(st.data())
def test_a_pair_of_inputs_is_two_different_inputs(data: st.DataObject) -> None:
    m = data.draw(strategies.mechanisms("randomized_response"))
    x, y = data.draw(strategies.input_pairs(m))
    assert isinstance(m, KaryRandomizedResponse)
    assert x != y
    assert x in m.inputs
    assert y in m.inputs
