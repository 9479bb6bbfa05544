"""GGKPV's two tables in numbers: those of the specification, by the command, and what holds between the cells."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.report import counting as report
from ldpaudit.studies import ggkpv_tables
from ldpaudit.studies.counting_protocols import COUNT_MIN, DRAWS, HADAMARD, SUMS, VECTORS, Model, Protocol, Setting, largest_error
from ldpaudit.studies.ggkpv_tables import ONE, TWO, Curve, Point, Regimes, around, limit, lines
from tests.helpers import fails_in_one_line, run, slow, some, stdout

F = Fraction
SETTINGS = [
    Setting.of(10**6, 10**4, F(1), F(1, 10**9)), Setting.of(10**8, 10**6, F(1), F(1, 10**10)),
    Setting.of(10**5, 10**3, F(1, 2), F(1, 10**8)),
]
SMALL = Setting.of(3000, 16, F(1), F(1, 10**6))
ERRORS_1: dict[str, tuple[float | None, ...]] = {
    "sign oracle, certified": (9631, 116567, 5034),
    "RAPPOR, closed form": (785.7, 2941, 712.9),
    "RAPPOR, certified": (418.8, 1628.8, 283.2),
    "randomized response, closed form": (None, None, None),
    "randomized response, certified": (712.2, 7085.6, 372.3),
    "Hadamard response, closed form": (125.0, 141.6, 185.9),
    "Hadamard response, certified": (41.3, 53.8, 58.3),
    "Laplace noise, certified": (19.58, 28.79, 29.94),
}
"""Errors of an independent computation. RAPPOR's law there is Poisson's, whose variance is n q where ours is n q (1 - q), and its
coin is told: ours are certified, and smaller, also by replacement in place of the blanket. Randomized response's are of Lambert's
formula in floats, at the table's gamma."""
ABOVE = {"RAPPOR, closed form": 0.1, "RAPPOR, certified": 0.06}
"""By how much ours may be below."""
MESSAGES_2: dict[str, tuple[float | None, ...]] = {
    "labelled binary sums, certified": (1.7206, 1.8213, 3.039),
    "Hadamard response, closed form": (784, 866, 2898),
    "Hadamard response, certified": (77, 112, 269),
    "count-min, closed form": (1.4656e7, 4.461e7, None),
    "count-min, certified": (27246.3, 60811.3, 48184.6),
}
"""Messages a user. The first row is that of a hidden message among as many like it, 72.06, 82.13 and 203.9. The last row is
that of a composition by a Fourier transform with losses rounded to 2e-5 and binomial counts; one with 2e-4 and Poisson counts
gives 27746, 62088 and 47978, of which the last does not keep the promise."""


def found(table: str, s: Setting, *options: str) -> dict[str, Any]:
    shown = stdout(run("table", table, *s.named.split(), "--format", "json", "--runs", "0", *options))
    data: dict[str, Any] = json.loads(shown)
    return data


@cache
def rows(table: str, s: Setting) -> dict[str, dict[str, Any]]:
    return {f"{row['protocol']}, {row['noise']}": row for row in found(table, s)["rows"]}


@pytest.mark.slow
@pytest.mark.parametrize("at", range(3))
def test_the_first_table_has_the_numbers_of_an_independent_computation(at: int) -> None:
    table = rows(ONE, SETTINGS[at])
    assert list(table) == list(ERRORS_1)
    for name, known in ERRORS_1.items():
        if known[at] is None:
            assert "at most" not in table[name]
            continue
        value, error = some(known[at]), table[name]["at most"]["value"]
        assert (1 - ABOVE.get(name, 0.002)) * value <= error <= 1.001 * value
    least = {row["model"]: row["at least"]["value"] for row in table.values() if row["noise"] == "certified"}
    local, one, many = ((3153, 4.0, 4.0), (40352, 14.0, 6.5), (1723, 6.5, 6.5))[at]
    assert least["local"] == local
    assert one <= least["one message"] <= one + 1
    assert least["many messages"] == least["central"] == many
    assert table["RAPPOR, closed form"]["at least"]["value"] == (4.0, 8.5, 6.5)[at]
    bits = {name: row["bits a user"]["value"] for name, row in table.items() if "bits a user" in row}
    assert bits["RAPPOR, certified"] == SETTINGS[at].values
    assert bits["Hadamard response, closed form"] == (235200, 491022, 541926)[at]
    assert bits["Hadamard response, certified"] == (23100, 63504, 50303)[at]


@pytest.mark.slow
@pytest.mark.parametrize("at", range(3))
def test_the_second_table_has_the_numbers_of_an_independent_computation(at: int) -> None:
    table = rows(TWO, SETTINGS[at])
    assert list(table) == list(MESSAGES_2)
    for name, known in MESSAGES_2.items():
        if known[at] is None:
            assert table[name]["feasible from"]["value"] == 1874102
        else:
            assert table[name]["messages"]["value"] == pytest.approx(known[at], rel=2e-3)
    errors = {name: row["at most"]["value"] for name, row in table.items() if "at most" in row}
    assert errors["labelled binary sums, certified"] == pytest.approx((41.0, 53.5, 58.3)[at], rel=5e-3)
    assert errors["count-min, certified"] == pytest.approx((200, 281, 283)[at], rel=0.015)
    # With the variance n gamma (1 - gamma) in place of n gamma, where gamma is nearly 1/2 and 0.01.
    for printed, gamma in (((4451, 0.48852), (7319, 0.010622))[at],) if at < 2 else ():
        assert errors["count-min, closed form"] == pytest.approx(printed * math.sqrt(1 - gamma), rel=2e-3)


def test_the_count_min_s_noise_of_a_coarse_composition_does_not_keep_the_promise() -> None:
    assert worst_replaced(10**5, F("2180.3") / 10**5, 1, 11).delta(F(1, 2)).low > 1e-8
    assert worst_replaced(10**5, F("2189.7") / 10**5, 1, 11).delta(F(1, 2)).high <= 1e-8


@pytest.mark.parametrize(
    ("protocol", "least"), [(COUNT_MIN[0], (977041, 2124489, 1874102)), (DRAWS[0], (2998299, 332065975, 1070376))]
)
def test_count_min_and_randomized_response_in_closed_form_exist_from_a_known_number_of_users(
    protocol: Protocol, least: tuple[int, ...]
) -> None:
    for s, n in zip(SETTINGS, least, strict=True):
        assert protocol.least_users(s) == n


@pytest.mark.parametrize("protocol", [VECTORS[0], DRAWS[0], COUNT_MIN[0], slow(SUMS)], ids=lambda p: p.name)
def test_a_protocol_exists_from_its_least_users_on_and_not_below(protocol: Protocol) -> None:
    n = protocol.least_users(SMALL)
    assert protocol.system(replace(SMALL, users=n)) is not None
    assert protocol.system(replace(SMALL, users=n - 1)) is None


@pytest.mark.slow
def test_certified_noise_has_a_smaller_error_than_a_closed_form_s_and_a_measured_error_is_noise_alone() -> None:
    for closed, certified in (VECTORS, DRAWS, HADAMARD):
        s = replace(SMALL, users=10**6)
        one, other = some(closed.system(s)), some(certified.system(s))
        assert other.error.high < 0.8 * one.error.high
        assert other.bits_a_user <= one.bits_a_user
    for protocol in (*HADAMARD, COUNT_MIN[0]):
        s = replace(SMALL, users=10**6)
        system = some(protocol.system(s))
        assert largest_error(system.mechanism, s, np.random.default_rng(5)) < 2 * system.error.high


@pytest.mark.slow
def test_simulated_errors_are_below_their_bounds_and_the_same_at_the_same_seed() -> None:
    first = list(lines(ONE, SMALL, 40, 1))
    for line in first:
        assert (line.system is None) == (line.measured is None) == bool(line.least_users)
        if line.system and line.measured:
            assert line.measured.mean < line.system.error.high + 4 * line.measured.standard_error
            assert line.measured.mean > line.limit.error.low / 2
    signs = next(lines(ONE, SMALL, 40, 1))
    assert signs == first[0]
    assert next(lines(ONE, SMALL, 40, 2)).measured != signs.measured


def test_random_columns_give_the_sign_oracle_s_errors() -> None:
    m, rng = SignOracle.for_epsilon(1, 2000, 16), np.random.default_rng(0)
    data = np.repeat([3, 12], [1500, 500])
    seeds = range(400)
    real = np.array([replace(m, seed=seed).run(data, rng) for seed in seeds])
    ours = np.array([m.run_with_random_columns({3: 1500, 12: 500}, rng) for _ in seeds])
    truth = np.bincount(data, minlength=16)
    for off in (real - truth, ours - truth):
        assert np.abs(off.mean(axis=0)).max() < 5 * off.std() / math.sqrt(len(seeds))
    assert ours.std(axis=0) == pytest.approx(real.std(axis=0), rel=0.2)


@pytest.mark.slow
def test_each_limit_and_noise_is_what_its_command_prints() -> None:
    table = rows(ONE, SMALL)
    for name in ("sign oracle, certified", "RAPPOR, certified", "Laplace noise, certified"):
        row = table[name]
        _, *words = row["at least"]["command"].split()
        assert json.loads(run(*words, "--format", "json").stdout)["low"] == row["at least"]["value"]
        _, *words = row["parameter"]["command"].split()
        assert run(*words).returncode == 0, words
    _, *words = table["Hadamard response, certified"]["parameter"]["command"].split()
    rho = json.loads(run(*words, "--format", "json").stdout)["value"]
    assert table["Hadamard response, certified"]["parameter"]["value"] == f"rho = {rho}"


@pytest.mark.slow
def test_the_text_names_what_is_infeasible_and_from_when_on_it_is_not() -> None:
    page = run("table", ONE, *replace(SMALL, users=300).named.split(), "--runs", "2").stdout
    assert "infeasible: randomized response, closed form, gamma < 1: from n = " in page
    assert "$ ldpaudit table ggkpv-1 n=300 B=16 epsilon=1 delta=1e-06 --runs 2 --seed 0" in page
    assert "mean of 2 runs" in page


@pytest.mark.parametrize(("words", "says"), [
    (("ggkpv-1",), "ggkpv-1: needs (n, B, epsilon, delta), got ()"),
    (("ggkpv-2", "n=10", "B=4", "epsilon=2", "delta=1e-6"), "0 < epsilon <= 1"),
    (("triehh_table_1", "n=10"), "table needs one of ggkpv-1, ggkpv-2 for parameters and --plot, got triehh_table_1"),
    (("--plot", "x.png"), "got no name"),
])  # fmt: skip
def test_wrong_parameters_are_an_error_of_one_line(words: tuple[str, ...], says: str) -> None:
    fails_in_one_line(run("table", *words), says)


def test_a_limit_is_the_largest_that_is_known_for_the_model() -> None:
    assert limit(HADAMARD[1], replace(SETTINGS[0], users=100)).command.startswith("ldpaudit limit central.error")
    assert limit(VECTORS[1], SETTINGS[1]).command.startswith("ldpaudit limit intermediate.error ")
    assert limit(VECTORS[0], SETTINGS[1]).command.startswith("ldpaudit limit intermediate.error_as_printed ")


@pytest.mark.slow
def test_one_message_s_own_limit_stands_beside_the_central_one_where_that_is_larger() -> None:
    for name, row in rows(ONE, SETTINGS[0]).items():
        own = row["at least"].get("own")
        assert (own is not None) == (row["model"] == "one message"), name
        if own:
            assert own["value"] == 0 < row["at least"]["value"], "limits of one message exclude nothing at a million users"
            assert row["at least"]["command"].startswith("ldpaudit limit central.error")
            assert "shuffled=1" in own["command"]
    assert report.write_table("", "", "", list(lines(ONE, SETTINGS[0], 0, 0))).count("4 (0)") == 4


def a_curve(protocol: Protocol, error: Callable[[int], float]) -> Curve:
    return Curve(protocol, tuple(Point(n, error(n), 0.0, 1.0) for n in (10, 100, 1000, 10_000)), 0)


def test_regimes_end_at_the_square_of_the_number_of_values_and_curves_cross_where_their_powers_meet() -> None:
    root, flat = a_curve(VECTORS[1], lambda n: n**0.5), a_curve(DRAWS[1], lambda _: 20.0)
    assert root.overtaken(flat, lambda point: point.error) == pytest.approx(400)
    assert flat.overtaken(root, lambda point: point.error) is None
    assert root.overtaken(flat, lambda point: point.bits) is None
    assert (around(10**6, 10**4)[0], around(10**6, 10**4)[-1]) == (10**3, 10**11)
    assert (around(10**8, 10**6)[-1], around(20, 2)[0]) == (1 << 40, 2)


def test_the_picture_shows_lines_limits_and_crossings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from ldpaudit.report import counting as report

    users, late = (10, 100, 1000, 10_000), replace(a_curve(VECTORS[0], lambda n: 2 * n**0.5), least_users=50)
    curves = (late, a_curve(VECTORS[1], lambda n: n**0.5), a_curve(DRAWS[1], lambda _: 20.0))
    found = Regimes(users, curves, {Model.one_message: (0.0, 1.0, 2.0, 2.0), Model.central: (0.0, 1.0, 2.0, 2.0)})
    shown: list[str] = []
    texts = methodcaller("findobj", lambda artist: hasattr(artist, "get_text"))
    monkeypatch.setattr(report, "save", lambda figure, _: shown.extend(each.get_text() for each in texts(figure)))
    report.draw_regimes("title", SMALL, found, tmp_path / "regimes.svg")
    assert "randomized response below\nRAPPOR: n = 4e+02" in shown
    assert "RAPPOR exists,\nq < 1/2: n = 50" in shown
    assert {"RAPPOR, closed form", "RAPPOR, certified", "at least, one message, central"} <= set(shown)


@pytest.mark.slow
def test_the_regimes_of_the_first_table_cross_and_stay_above_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ggkpv_tables, "_DECADES", 1)
    asked: list[str] = []
    found = ggkpv_tables.regimes(ONE, replace(SMALL, users=2000, values=300), asked.append)
    assert len(asked) == ggkpv_tables.steps(ONE)
    names = [(one.protocol.name, other.protocol.name) for _, one, other in found.crossings(lambda point: point.error)]
    assert ("RAPPOR", "randomized response") in names
    for curve in found.curves:
        limits = dict(zip(found.users, found.limits[curve.protocol.model], strict=True))
        assert all(point.error > limits[point.users] for point in curve.points)
