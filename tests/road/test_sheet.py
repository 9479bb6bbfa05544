"""The evaluation sheet: every layer has its three answers, units stand side by side, and what nobody states is said so."""

import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldpaudit import Aggregate, Certificate, Repeat, Run, Shuffle, account, certify
from ldpaudit.certificates.certify import units, verify
from ldpaudit.certificates.exhibits import exhibits
from ldpaudit.display.digits import show_up
from ldpaudit.files import bundled
from ldpaudit.files.deployment import Deployment, load, loads
from ldpaudit.files.starter import starter
from ldpaudit.mechanisms import DiscreteLaplace, HadamardResponse, KaryRandomizedResponse, LocalHashing, SubsetSelection
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.report import html
from ldpaudit.report.sheet import COLUMNS, Layer, layers
from ldpaudit.studies.deviations import largest_deviation
from tests.helpers import some
from tests.road.test_deployment import CITED
from tests.road.test_records import certificate

NAMES = ["Epsilon and delta", "Unit of privacy", "Algorithms and correctness", "Utility and bias", "Trust model", "Side channels",
         "Access control", "Data collection"]  # fmt: skip
LIFETIME = "One user for ever: no bound over a lifetime; the file bounds no number of days."


def made(whole: Deployment) -> Certificate:
    return certificate(whole).model_copy(update={"units": units(whole)})


@cache
def bundled_sheet(name: str) -> tuple[Layer, ...]:
    return tuple(layers(made(load(name)), {}))


def sheet(whole: Deployment) -> dict[str, Layer]:
    return {each.name: each for each in layers(made(whole), {})}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", bundled.ids())
def test_no_cell_of_a_bundled_deployment_s_sheet_is_blank(name: str) -> None:
    found = bundled_sheet(name)
    assert [layer.name for layer in found] == NAMES
    for layer in found:
        for cell in (layer.certified, layer.stated, layer.open):
            assert cell, layer.name
            assert all(re.fullmatch(r"\S.*\.", line, re.DOTALL) for line in cell), layer
    assert all("not stated" in " ".join(layer.stated) for layer in found[3:]), "no bundled file says all of these"


def test_units_stand_side_by_side_whatever_is_claimed_and_those_without_a_bound_are_said_to_have_none() -> None:
    whole = load("rappor-chrome-uma")
    shown = sheet(whole)["Unit of privacy"].certified
    (day, life) = (next(c for c in whole.units if c.unit == unit) for unit in ("user-day", "lifetime"))
    assert shown == tuple(
        f"{label}: epsilon at most {show_up(account(each.plan, each.neighbours).epsilon(0).high)}."
        for label, each in (("One report", whole.units[0]), ("One user and day", day), ("One user for ever", life))
    )
    assert [claim.unit for claim in whole.units] == ["report", "user-day", "lifetime"]
    assert LIFETIME in sheet(load("enpa-notification"))["Unit of privacy"].certified
    topics = sheet(load("chrome-topics-v1"))["Unit of privacy"].certified
    assert topics[-2:] == ("All 3 epochs of one user: epsilon at most 21.5725.", LIFETIME), "the file counts three of all weeks"
    kept = sheet(load("epochs-memoized"))["Unit of privacy"].certified
    assert "All 365 epochs of one user: no finite epsilon." in kept
    assert LIFETIME not in sheet(load("rappor-chrome-uma"))["Unit of privacy"].certified
    found = sheet(load("enpa-notification"))["Unit of privacy"]
    assert found.stated[0] == "Reports of a user and day: not stated, so that no day is certified."
    assert not any("day:" in line for line in found.certified)
    assert sheet(load("dap-histogram-5"))["Unit of privacy"].certified[0] == "One report: epsilon at most 0.29758 at delta = 1e-09."


@pytest.mark.few(20)
@pytest.mark.parametrize("name", bundled.ids())
def test_what_a_client_that_keeps_answers_must_never_do_is_said_of_those_that_keep_some(name: str) -> None:
    said = "Kept answers: a client keeps one for each value, on the device alone and as secret as the value, and never draws"
    stated = next(layer.stated for layer in bundled_sheet(name) if layer.name == "Unit of privacy")
    assert any(each.startswith(said) for each in stated) == ("memoized = true" in load(name).text)


@pytest.mark.parametrize(("name", "layer", "says"), [
    ("dap-histogram-5", "Epsilon and delta", "delta = 1e-09 is below 1/n = 1e-05 and above 1/n^2 = 1e-10."),
    ("enpa-prio-notification", "Epsilon and delta", "delta = 1e-06 is equal to 1/n = 1e-06 and above 1/n^2 = 1e-12."),
    ("apple-emoji", "Epsilon and delta", "Delta is 0 in every claim."),
    *((name, "Utility and bias", f"Standard deviation of an estimated count: at most {size}.") for name, size in (
        ("dap-histogram-5", "26.14 users, of 100,000 who send one report each"),
        ("dap-hedge", "28.86 users, of 100,000 who send one report each"),
        ("enpa-notification", "0.02318 sqrt(n) users, of n who send one report each"),
        ("rappor-client", "3.969 sqrt(n) users, of n who send one report each"),
        ("libprio-discrete-laplace", "1.357, however many users take part"),
        ("ipa-binomial", "19.26, however many users take part"),
    )),
])  # fmt: skip
def test_delta_is_compared_with_the_number_of_users_and_a_count_s_error_certified(name: str, layer: str, says: str) -> None:
    certified = next(each.certified for each in bundled_sheet(name) if each.name == layer)
    assert certified == (says,) if layer.startswith("Utility") else says in certified


def test_of_shuffles_that_no_claim_is_about_nothing_is_computed() -> None:
    epochs = "count = 365\nwindow = 7\nwindow_answers = 7\nlifetime_answers = 365"
    whole = loads(CITED.replace("[mechanism]", f"[shuffle]\nusers = 1000\nper = 'report'\n[epochs]\n{epochs}\n[mechanism]"))
    shown = sheet(whole)["Unit of privacy"].certified
    assert shown[1:3] == ("One user and window of epochs: not certified here.", "All 365 epochs of one user: not certified here.")
    assert shown[0].startswith("One report: epsilon at most ")
    text = "\n".join(line for line in starter("range_queries", "hadamard").splitlines() if not line.startswith("#"))
    day = units(loads(f"{text}\n[contribution]\nreports = 3\n"))[1]
    assert (day.unit, day.enclosure) == ("user-day", None)


def test_what_the_code_draws_what_is_assumed_and_what_is_undecided_stand_in_their_places() -> None:
    drawn = {each.name: each for each in layers(certify("enpa-notification", trials=100), {})}["Side channels"]
    assert drawn.certified == (
        "report: epsilon in [8.91608932501, 8.91608932502] as drawn, in [8.91608943403, 8.91608943404] as described.",
    )
    assert drawn.stated[0] == "Sampler: probabilities on a grid."
    whole = certify("apple-lookup-hints", trials=100)
    found = layers(whole, exhibits(whole))
    assert found[0].certified == ("Delta is 0 in every claim.",)
    assert "text-event: claimed 4, epsilon [0, 4], which rests on an assumption." in found[0].stated
    assert "text-user-day: claimed 4, epsilon [0, 8], undecided." in found[0].open
    costs = ("One report: epsilon at most 4", "One user and day: epsilon at most 8")
    assert found[1].stated[:2] == tuple(f"{cost}. This is assumed." for cost in costs)
    assert found[1].certified == (LIFETIME,)
    assert found[7].certified == ("Nothing: what a report tells of is not described.",)
    assert "text-event: against whoever sees one event." in found[4].certified


def test_errors_without_a_formula_and_a_delta_without_a_number_of_users_are_not_stated() -> None:
    for name in ("apple-emoji", "apple-lookup-hints", "android-network-watchlist"):
        assert sheet(load(name))["Utility and bias"].certified == ("Nothing on this page: ldpaudit accuracy simulates errors.",)
    found = sheet(load("apple-iconic-scenes"))["Epsilon and delta"]
    assert "Number of users n: not stated, so that delta is compared with neither 1/n nor 1/n^2." in found.stated
    assert found.certified == ("Nothing.",) or all("delta =" not in line for line in found.certified)


def test_the_largest_deviation_is_that_of_enumerated_data() -> None:
    m, users, on, off = KaryRandomizedResponse(3, Fraction(2, 3)), 5, Fraction(2, 3), Fraction(1, 6)
    # By holders of value 0: the variance of what the reports count, over the slope squared.
    variances = (holders * on * (1 - on) + (users - holders) * off * (1 - off) for holders in range(users + 1))
    worst = float(max(variances) / (on - off) ** 2) ** 0.5
    for plan in (Run(m), Shuffle(m, users), Aggregate(m, users)):
        found = some(largest_deviation(plan, users))
        assert found.high == pytest.approx(worst)
        assert found.high >= worst * (1 - 1e-12)
    noise = DiscreteLaplace(Fraction(1, 2))
    for added in (None, 2 * noise.variance):  # that of two aggregators, of whom one is honest
        found = some(largest_deviation(Aggregate(m, users, [noise, noise][: 1 if added else 2]), users, added))
        assert found.high == pytest.approx(math.sqrt(worst**2 + 2 * noise.variance / Fraction(1, 2) ** 2))
    assert largest_deviation(Aggregate(m, users, most_ones=1), users) is None
    assert largest_deviation(Repeat(m, 2), users) is None


@pytest.mark.parametrize("m", [
    SubsetSelection(4, 2, Fraction(2, 3)), HadamardResponse(3, Fraction(3, 4)), LocalHashing(2, Fraction(3, 4), 4, 5),
    Rappor(3, 1, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), 1, 8), PermanentRappor(3, 1, Fraction(1, 2), 8),
], ids=lambda m: type(m).__name__)  # fmt: skip
def test_the_deviation_of_one_report_is_that_of_all_views_of_its_law(m: Any) -> None:
    variances = []
    for x in m.inputs:
        views, chances = zip(*m.law(x).items(), strict=True)
        found = np.array([m.estimate(np.array([view])) for view in views])
        p = np.array(chances, dtype=float)[:, None]
        variances.append((p * found**2).sum(axis=0) - (p * found).sum(axis=0) ** 2)
    assert some(largest_deviation(Run(m), 1)).high == pytest.approx(np.sqrt(np.max(variances)))


def test_what_the_deployer_states_is_printed_in_its_layer_and_a_source_named_once() -> None:
    more = '[adversary]\nsees = "aggregate"\nlinks = "device"\nretention = "thirty days"\n[registry]\nintended_use = "planning"\n'
    whole = loads(CITED.replace("[mechanism]", f"{more}post_processing = 'none'\n[mechanism]"))
    found = sheet(whole)
    assert found["Trust model"].stated == ("Who is not trusted sees: aggregate.", "What links reports: device.")
    assert "Retention of reports and logs: thirty days." in found["Access control"].stated
    assert "Purpose: planning." in found["Data collection"].stated
    assert found["Utility and bias"].stated == ("Post-processing: none.",)
    assert found["Data collection"].certified == ("One report of randomized_response: k = 4.",)
    stated = sheet(load("firefox-ppa-128"))["Algorithms and correctness"].stated
    assert [line.startswith("Read from: mozilla/explainers") for line in stated] == [False, True]
    for name, parties, noise, batch in (
        ("dap-hedge", "2; of these may collude: 1", "all of it by each of them", "not stated"),
        ("firefox-ppa-128", "not stated; of these may collude: not stated", "not stated", "50"),
    ):
        said = (f"Aggregators: {parties}.", f"Noise by aggregators: {noise}.", f"Least batch that is summed: {batch}.")
        assert sheet(load(name))["Trust model"].stated[-3:] == said
    assert not any("Aggregators:" in line for line in sheet(load("rappor-client"))["Trust model"].stated)


def test_the_sheet_is_on_the_page_with_its_three_kinds_named_and_strangers_words_are_text() -> None:
    text = CITED.replace("[mechanism]", "[adversary]\nretention = '<b>long</b>'\n[mechanism]")
    whole = certify(loads(text), trials=100)
    page = html.page(whole, exhibits(whole))
    part = page[page.index("Evaluation sheet") :]
    assert [part.count(f'<p class="kind">{name}</p>') for name in COLUMNS] == [8, 8, 8]
    assert "&lt;b&gt;long&lt;/b&gt;" in part
    assert "<b>long" not in page


def test_units_are_checked_again_and_an_earlier_certificate_without_them_stands() -> None:
    whole = certify("enpa-notification", trials=100)
    assert verify(whole) == []
    assert verify(whole.model_copy(update={"units": ()})) == []
    forged = whole.units[0].model_copy(update={"delta": "1/2"})
    assert verify(whole.model_copy(update={"units": (forged,)})) == [
        "its units are not those of its deployment file, or cost something else"
    ]


def test_of_code_that_is_another_mechanism_no_unit_is_certified() -> None:
    text = CITED.replace("[mechanism]", "[implementation]\ncallable = 'builtins:int'\n[mechanism]")
    whole = certify(loads(text), trials=2000)
    assert whole.claims[0].code_differs
    assert whole.units == ()
    assert verify(whole) == []
    forged = whole.model_copy(update={"units": units(loads(text))})
    assert verify(forged) == ["its units are not those of its deployment file, or cost something else"]


def test_an_index_counts_reports() -> None:
    many = loads(CITED.replace("[mechanism]", "[contribution]\nreports = 9\n[mechanism]"))
    both = [certify(many, trials=100), certify(loads(CITED.replace('"cited"', '"other"')), trials=100)]
    verdict = both[0].verdict
    says = f"by the worst verdict of their deployment: 10 (100%) in {verdict}, of 10; 1 of 2 files do not state it"
    assert f"Reports of a user and day, {says}" in html.index(both)
    shown = html.index([both[0], certify("windows-telemetry", trials=100)])
    assert "9 (90%) in" in shown
    assert "1 (10%) in ASSUMED" in shown
