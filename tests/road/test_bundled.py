"""The bundled deployments: found by their ids, with sources, and beside what is computed by hand from published parameters."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from ldpaudit import account, certify, load
from ldpaudit.certificates.parallel import Asked, ask
from ldpaudit.errors import DeploymentError
from ldpaudit.files import bundled
from ldpaudit.mechanisms.channel import Channel
from tests.helpers import ROOT, fails_in_one_line, raises, run, typed


def test_a_bundled_deployment_reads_by_its_id_and_a_name_that_is_like_one_is_answered_with_it() -> None:
    assert sorted(bundled.ids()) == sorted(file.stem for file in (ROOT / "deployments").glob("*.toml"))
    for each in bundled.ids():
        assert load(each) == load(ROOT / "deployments" / f"{each}.toml")
        assert load(each).id == each
    raises(DeploymentError, "did you mean 'rappor-client'", load, "rapor-client")
    raises(DeploymentError, "needs a readable file: No such file", load, "nothing-of-the-kind.toml")


def test_the_list_names_every_file_with_its_title_and_that_of_one_state_no_others() -> None:
    rows = json.loads(run("deployments", "--format", "json").stdout)
    assert [row["id"] for row in rows] == sorted(file.stem for file in (ROOT / "deployments").glob("*.toml"))
    lines = run("deployments").stdout.splitlines()
    assert all(line.split(None, 1) == [row["id"], row["title"]] for line, row in zip(lines, rows, strict=True))
    states = {each: (status.state if (status := load(each).status) else "unknown") for each in bundled.ids()}
    for state in ("announced-retirement", "retired"):
        rows = json.loads(run("deployments", "--state", state, "--format", "json").stdout)
        assert [row["id"] for row in rows] == [each for each, is_ in states.items() if is_ == state]
    assert run("deployments", "--state", "active").stdout == "", "of none is it known"
    fails_in_one_line(run("deployments", "--state", "retierd"), "'retired'")


def test_an_id_is_taken_from_any_folder_without_a_file_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_id = certify("enpa-notification", trials=1000)
    assert by_id == certify(ROOT / "deployments/enpa-notification.toml", trials=1000)
    monkeypatch.chdir(tmp_path)
    Path("enpa-notification").write_text((ROOT / "deployments/windows-telemetry.toml").read_text())
    assert load("enpa-notification").id == "windows-telemetry"
    assert typed(Asked, ask(Path("enpa-notification"))).deployment.id == "windows-telemetry"


def test_every_bundled_claim_has_a_source_that_supports_it_and_every_refuted_one_a_quotation() -> None:
    files = [load(each) for each in bundled.ids()]
    for whole in files:
        assert whole.status is not None, f"{whole.id} is of the first edition"
        if whole.status.state == "example":
            continue
        for claim in whole.claims:
            found = [each for each in whole.cited if claim.id in each.supports]
            assert found or claim.epsilon is None, (whole.id, claim.id)
            assert any(each.quote for each in found) or claim.expect != "refuted", (whole.id, claim.id)
        assert any("mechanism" in each.supports for each in whole.cited), whole.id


def test_the_list_of_sources_has_every_claim_with_its_quotation_address_and_status() -> None:
    shown = run("deployments", "--sources").stdout
    rows = {row["id"]: row for row in json.loads(run("deployments", "--sources", "--format", "json").stdout)}
    for whole in (load(each) for each in bundled.ids()):
        _, _, part = f"\n{shown}".partition(f"\n{whole.id}\n")
        part = part.split("\n\n")[0]
        assert part.startswith(f"  {whole.status or 'Its status is not stated.'}\n"), whole.id
        for claim in whole.claims:
            assert f"\n  {claim.id}: epsilon = " in part
        assert all(each in part for each in (*whole.sources, *(cited.quote for cited in whole.cited))), whole.id
        assert [row["title"] for row in rows[whole.id]["sources"]] == ([each.title for each in whole.cited] or [*whole.sources])


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
    ("firefox-newtab-interests", "interest", 2 * math.log(3)), ("firefox-newtab-interests", "update", 14 * math.log(3)),
    ("firefox-newtab-clicks", "update", 2 * math.log(9)),
    ("android-network-watchlist", "report", math.log((0.28 * 0.469 + 0.72 * 0.531) / 0.469)),
    ("android-network-watchlist-for-ever", "for-ever", math.inf), ("rappor-chrome-no-noise", "report", math.inf),
    ("cobalt-rappor-none", "report", math.inf), ("tor-hidserv-onions", "relay-day", 0.3), ("tor-hidserv-cells", "relay-day", 0.3),
    ("rappor-chrome-low-frequency", "lifetime", 4 * math.log(7)),
    ("rappor-chrome-low-frequency", "report", 2 * math.log((11 / 16) ** 2 / (5 / 16) ** 2)),
    ("w3c-attribution", "another-report", 1), ("w3c-attribution", "present-or-absent", 0.5),
])  # fmt: skip
def test_published_parameters_cost_what_their_closed_form_says(name: str, claim: str, epsilon: float) -> None:
    (found,) = (each for each in load(ROOT / f"deployments/{name}.toml").claims if each.id == claim)
    answer = account(found.plan, found.neighbours).epsilon(found.delta)
    assert (answer.low, answer.high) == pytest.approx((epsilon, epsilon), rel=RELATIVE)


def test_the_worst_two_users_of_topics_and_of_vaccine_status_are_those_of_the_files() -> None:
    topics, top, noise = range(7), 2, Fraction(1, 20)
    drawn = noise / len(topics)
    sets = [[drawn + (1 - noise) / top * (y in x) for y in topics] for x in combinations(topics, top)]
    one, other = 1 - noise + top * drawn, top * drawn
    merged = Channel([[one, other, 1 - one - other], [other, one, 1 - one - other]])
    for delta in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        found, expected = (account(each).epsilon(delta) for each in (Channel(sets), merged))
        assert (found.low, found.high) == (expected.low, expected.high)
    (whole,) = (each for each in load(ROOT / "deployments/enpa-vaccine-status.toml").claims if each.id == "bit-vector")
    most = max(len(one ^ other) for one, other in combinations(VACCINE_STATUS, 2))
    assert account(whole.plan).epsilon(0).high == pytest.approx(8 * most)
