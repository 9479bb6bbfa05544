"""Bundled deployments beside what a reader computes by hand from the published parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from ldpaudit import account
from ldpaudit.files.deployment import load
from ldpaudit.mechanisms.channel import Channel
from tests.helpers import ROOT

RELATIVE = 1e-12
"""Of a float formula: a few roundings."""

VACCINE_STATUS = [set(), {0, 1, 3, 4}, {0, 2, 3, 5}, {0, 1, 6, 7, 12, 13}, {0, 2, 6, 8, 12, 14}]
"""Bits that KeysUploadedVaccineStatusMetric sets: no upload, then vaccinated or not, first without a notification."""


def uniform_draw(states: int, probability: float) -> float:
    """Epsilon where a value is replaced, with a probability, by one of all states."""
    return math.log1p(states * (1 - probability) / probability)


def top_topic(topics: int) -> float:
    """Epsilon of a week: one topic of all with 5 %, else one of the top five."""
    return math.log((0.95 / 5 + 0.05 / topics) / (0.05 / topics))


@pytest.mark.parametrize(("name", "claim", "epsilon"), [
    ("android-attribution-navigation", "source", uniform_draw(math.comb(27, 3), 0.0024263)),
    ("android-attribution-navigation-dual", "source", uniform_draw(math.comb(51, 3), 0.0170218)),
    ("android-attribution-event-dual", "source", uniform_draw(math.comb(5, 1), 0.0000042)),
    ("android-attribution-event-install", "source", uniform_draw(math.comb(6, 2), 0.0000125)),
    ("android-attribution-event-install-dual", "source", uniform_draw(25, 0.0000208)),
    ("attribution-chromium-navigation", "source", 14), ("android-attribution-navigation-computed", "source", 14),
    ("chrome-topics-v1", "week", top_topic(349)), ("chrome-topics-v1", "three-weeks", 3 * top_topic(349)),
    ("chrome-topics-v2", "week", top_topic(469)), ("chrome-topics-v2", "three-weeks", 3 * top_topic(469)),
    ("protected-audience-join-count", "call", uniform_draw(2**4, 0.01)),
    ("protected-audience-recency", "call", uniform_draw(2**5, 0.01)),
    ("protected-audience-modeling-signals", "call", uniform_draw(2**12, 0.01)),
    ("mozilla-rappor-homepage", "report", 4 * math.log(0.65 / 0.35)),
    ("cobalt-rappor-small", "report", 2 * math.log(99)), ("cobalt-rappor-medium", "report", 2 * math.log(9)),
    ("cobalt-rappor-large", "report", 2 * math.log(3)),
    ("private-aggregation", "present-or-absent", 64), ("private-aggregation", "another-key", 128),
    ("enpa-vaccine-status", "one-bit", 8), ("enpa-vaccine-status", "bit-vector", 64),
])  # fmt: skip
def test_published_parameters_cost_what_their_closed_form_says(name: str, claim: str, epsilon: float) -> None:
    (found,) = (each for each in load(ROOT / f"deployments/{name}.toml").claims if each.id == claim)
    answer = account(found.plan, found.neighbours).epsilon(found.delta)
    assert (answer.low, answer.high) == pytest.approx((epsilon, epsilon), rel=RELATIVE)


def test_the_two_users_of_a_topics_file_are_the_worst_two_sets_of_top_topics() -> None:
    topics, top, noise = range(7), 2, Fraction(1, 20)
    drawn = noise / len(topics)
    sets = [[drawn + (1 - noise) / top * (y in x) for y in topics] for x in combinations(topics, top)]
    one, other = 1 - noise + top * drawn, top * drawn
    merged = Channel([[one, other, 1 - one - other], [other, one, 1 - one - other]])
    for delta in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        found, expected = (account(each).epsilon(delta) for each in (Channel(sets), merged))
        assert (found.low, found.high) == (expected.low, expected.high)


def test_no_two_vectors_of_vaccine_status_differ_in_more_bits_than_the_file_has_reports() -> None:
    (whole,) = (each for each in load(ROOT / "deployments/enpa-vaccine-status.toml").claims if each.id == "bit-vector")
    most = max(len(one ^ other) for one, other in combinations(VACCINE_STATUS, 2))
    assert account(whole.plan).epsilon(0).high == pytest.approx(8 * most)
