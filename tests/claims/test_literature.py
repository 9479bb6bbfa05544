"""What the papers print: every claim judged, reproducible, and the same on the page; errors, simulated."""

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import typer

from benchmarks.literature import page
from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed, Standing
from ldpaudit.accountants.claims.sign_oracle import all_ones
from ldpaudit.claim import Hypothesis
from ldpaudit.commands.claims import accuracy, claims as judged
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.frames import table
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.report import claims as report
from ldpaudit.report.printer import TableFormat
from ldpaudit.studies import literature
from tests.helpers import ROOT, fails_in_one_line, raises, run, some

SETTINGS = [(stem, setting) for stem in literature.stems() for setting in literature.settings(stem)]
PAGE = (ROOT / "docs" / "literature.md").read_text()


LONG = {
    "bassily_smith": {0}, "bucket_heavy_hitter": {0}, "genprot": {4}, "glps_heavy_hitter": {2}, "jl_heavy_hitter": {0, 1, 3},
    "loloha": {2}, "longitudinal_unary": {2}, "one_bit": {2}, "randomized_response": {0, 1, 2}, "range_queries": {0, 3},
    "shuffled_count_min": {1, 3}, "shuffled_hadamard": {2}, "shuffled_heavy_hitters": {0, 1, 2}, "shuffled_quantiles": {1, 2},
    "sparse_statistical_queries": {1, 2}, "trie_heavy_hitter": {6}, "unary_encoding": {0, 1},
}  # fmt: skip
"""Positions of examples that take about a second, where the same sentences are judged at others: two thirds of the time of all."""

printed_at = cache(literature.printed)


def claims_of(stem: str, every: bool = False) -> list[Printed]:
    chosen = [x for i, x in enumerate(literature.settings(stem)) if every or i not in LONG.get(stem, ())]
    return [claim for setting in chosen for claim in printed_at(stem, setting)]


@cache
def rows_of(stem: str, every: bool = False) -> list[literature.Row]:
    return literature.summary(stem, claims_of(stem, every))


def test_every_source_s_systems_are_on_record() -> None:
    assert set(literature.stems()) >= {"bucket_heavy_hitter", "hashtogram", "sign_oracle", "thresh"}
    assert all(len(literature.settings(stem)) >= 3 for stem in literature.stems())


@pytest.mark.parametrize(("stem", "setting"), SETTINGS, ids=str)
def test_a_claim_is_reproduced_by_its_command(stem: str, setting: Any) -> None:
    verb, name, *given = literature.command(stem, setting).split()[1:]
    assert (verb, name) == ("claims", stem)
    assert literature.settings(stem, dict(each.split("=") for each in given)) == (setting,)


Cells = list[str]
"""Of a table of claims: the sentence, the stem, how it stands, the ratios, and how it is known."""


def cells_of(text: str, stem: str) -> list[Cells]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if f" | `{stem}` | " in line]


def agrees(found: Cells, page: Cells) -> bool:
    """Whether a row over some examples may be a part of one of the page, over all of them."""
    words, said = (set(re.findall("[A-Za-z]{2,}", cells[2])) for cells in (found, page))
    some, ends = ([float(x) for x in cells[3].split(" to ") if x] for cells in (found, page))
    same = all(literature._NUMBER.sub("...", found[i]) == literature._NUMBER.sub("...", page[i]) for i in (0, 4))
    return same and words <= said and (not some or ends[0] <= some[0] <= some[-1] <= ends[-1])


@pytest.mark.parametrize("stem", literature.stems())
def test_the_page_says_what_is_found(stem: str) -> None:
    page = cells_of(PAGE.split("## Every sentence", maxsplit=1)[1], stem)
    found = cells_of(report.write(TableFormat.markdown, rows_of(stem)), stem)
    assert len(found) == len(page)
    assert found == page if stem not in LONG else all(any(agrees(one, row) for row in page) for one in found)


@pytest.mark.slow
def test_the_page_is_what_is_printed() -> None:
    assert page([row for stem in literature.stems() for row in rows_of(stem, every=True)]) == PAGE


def test_a_failure_is_said_only_of_the_source_s_own_sentence_with_its_hypotheses_met() -> None:
    fails = [claim for stem in literature.stems() for claim in claims_of(stem) if claim.standing is Standing.FAILS]
    for claim in fails:
        assert not claim.variant
        assert all(each.holds for each in claim.hypotheses if each.stated), str(claim)
    assert len(fails) >= 20


@pytest.mark.parametrize("stem", literature.stems())
def test_a_stem_s_claims_name_their_place_and_are_judged_by_certified_numbers(stem: str) -> None:
    for claim in claims_of(stem):
        assert claim.where.split()[0].rstrip(",") in literature.PAPERS, claim.where
        assert claim.found.rigour > Rigour.FLOAT
        assert claim.holds is not None or not claim.attained or claim.found.low <= claim.claimed <= claim.found.high


@pytest.mark.parametrize(("low", "high", "rigour", "attained", "holds"), [
    (0.5, 0.9, Rigour.EXACT, True, True),
    (0.5, 1.5, Rigour.INTERVAL, True, None),
    (1.1, 1.5, Rigour.INTERVAL, True, False),
    (1.1, 1.5, Rigour.INTERVAL, False, None),
    (0.5, 0.9, Rigour.FLOAT, True, None),
])  # fmt: skip
def test_a_printed_bound_of_one_is_judged(low: float, high: float, rigour: Rigour, attained: bool, holds: bool | None) -> None:
    claim = Printed("HKR12 Theorem 0", "it is at most 1", 1.0, Enclosure(low, high, rigour, "made up"), attained=attained)
    assert claim.holds is holds


@pytest.mark.parametrize(("hypotheses", "variant", "standing"), [
    ((), "", Standing.FAILS),
    ((Hypothesis("stated and met", True),), "", Standing.FAILS),
    ((Hypothesis("stated and not met", False),), "", Standing.OUTSIDE),
    ((Hypothesis("needed, and not stated", False, stated=False),), "", Standing.FAILS),
    ((Hypothesis("unseen", None),), "", Standing.FAILS),
    ((), "another relation", Standing.VARIANT),
    ((Hypothesis("stated and not met", False),), "another relation", Standing.VARIANT),
])  # fmt: skip
def test_a_source_is_accused_only_of_what_it_claims(hypotheses: tuple[Hypothesis, ...], variant: str, standing: Standing) -> None:
    found = Enclosure(1.1, 1.5, Rigour.EXACT, "made up")
    claim = Printed("HKR12 Theorem 0", "it is at most 1", 1.0, found, hypotheses, variant=variant)
    assert claim.standing is standing
    said = " ".join(claim.remarks)
    assert all(each.sentence in said for each in hypotheses if each.holds is not True)
    assert variant in said


def test_one_source_is_asked_for_alone_and_another_is_an_error() -> None:
    assert set(literature.stems("JRUW18")) >= {"bassily_smith", "thresh"}
    assert {paper for stem in literature.stems() for paper in literature.PAPERS if stem in literature.stems(paper)} == set(
        literature.PAPERS
    )
    raises(ValueError, "needs one of HKR12", literature.stems, "JRUW")


def test_tables_are_written_for_other_programs() -> None:
    rows = rows_of("thresh")
    assert [line[0] for line in csv.reader(io.StringIO(report.write(TableFormat.csv, rows)))] == ["kind", "claim", "claim"]
    assert json.loads(report.write(TableFormat.json, rows))[0]["standings"] == ["holds", "fails", "outside"]
    assert r"100 \% of a\_b \& c" in report.write(TableFormat.latex, [replace(rows[0], sentence="100 % of a_b & c")])


def test_a_ratio_of_0_is_the_least_of_its_row() -> None:
    assert report.spread((0.0, 14.0, 2.8, float("inf"))) == "0 to 14"
    assert report.spread((float("inf"),)) == ""
    (row,) = (row for row in rows_of("trie_heavy_hitter") if row.where == "TRIEHH Theorem 1" and not row.variant)
    assert "| 0 to " in report.failures([row])
    assert table([row]).rows[0]["least_looseness"] == 0


def test_a_sentence_counts_once_in_whatever_readings_and_a_fall_with_another_is_no_failure_of_its_own() -> None:
    row = rows_of("thresh")[0]
    readings = [replace(row, reading=reading, sentence=f"at most {i}") for i, reading in enumerate(("one", "another"))]
    assert report.tally(readings, ["JRUW18"]).endswith("| JRUW18 | 1 | 2 | 0 | 0 | 0 | 0 | 1 | 1 derived |")
    fallen = replace(row, failure=Failure("From 1 on.", "It uses it.", "Less.", "HKR12 Theorem 2.5"))
    assert report.tally([fallen], ["JRUW18"]).endswith("| JRUW18 | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 1 derived |")
    assert "JRUW18" not in report.failures([fallen])
    assert "JRUW18" in report.fallen([fallen])


LOST = ("GGKPV Lemma 4.11", "JRUW18 Theorem 4.1", "TRIEHH Proposition 1", "TRIEHH Proposition 2", "TRIEHH Theorem 1")
"""Statements whose formulas the text has lost, or has in pieces."""


@pytest.mark.parametrize("where", LOST)
def test_a_formula_that_the_text_has_lost_is_not_called_printed(where: str) -> None:
    rows = [row for stem in ("shuffled_count_min", "thresh", "trie_heavy_hitter") for row in rows_of(stem) if row.where == where]
    assert rows
    assert all(row.provenance in {"derived", "restored", "from memory"} for row in rows)


def test_what_a_failure_says_is_printed_with_it_and_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    for setting in literature.settings("thresh"):
        claims = literature.printed("thresh", setting)
        report.print_claims("", claims, print)
        said, fails = capsys.readouterr().out, claims[0].standing is Standing.FAILS
        failure = some(claims[0].failure)
        assert all((each in said) is fails for each in (failure.begins, failure.breaks, failure.instead))
        (data,) = {json.dumps(report.as_data("thresh", setting, claim, "")["failure"]) for claim in claims}
        assert (data != "null") is fails


def test_sentences_differ_in_their_numbers_only() -> None:
    found = {row.sentence for row in rows_of("bucket_heavy_hitter")}
    assert "delta of T=... mechanisms at epsilon=..." in found
    assert all("#" not in sentence for sentence in found)


TOO_FEW = ("users=10", "epochs=3", "rounds=100", "epsilon=1", "delta=1/20", "smallest=10")
SMALL = SignOracle.for_epsilon(1, users=400, domain=10)


def at_most(alpha: float, beta: float) -> Accuracy:
    def data(rng: np.random.Generator) -> Any:
        return rng.integers(0, 10, 400)

    def error(data: Any, found: Any) -> float:
        return float(np.abs(found - np.bincount(data, minlength=10)).max())

    return Accuracy("HKR12 Theorem 0", "over ten values", alpha, beta, data, error)


def test_an_error_that_is_often_exceeded_is_refuted_and_one_that_never_is_holds() -> None:
    often, never = (literature.measure(SMALL, at_most(alpha, 0.1), 80, seed=3) for alpha in (20.0, 400.0))
    assert often.holds is False
    assert often.failures > 40
    assert never.holds is True
    assert never.failures == 0
    assert never.upper == often.upper > often.median
    assert 1 < never.looseness < 20
    assert never.low <= 0 <= never.high < 0.1


def test_few_runs_do_not_tell() -> None:
    found = literature.measure(SMALL, at_most(400.0, 0.1), 5, seed=3)
    assert found.holds is None
    again = literature.measure(SMALL, at_most(400.0, 0.1), 5, seed=3)
    assert replace(found, claim=again.claim) == again


def test_the_measured_failure_probability_covers_the_exact_one() -> None:
    # All users hold 1 of {0, 1}: the sign oracle's error is a binomial's deviation.
    m = SignOracle.warm_up(Fraction(1, 10), 100)
    alpha = 60.0

    def error(data: Any, found: Any) -> float:
        return float(abs(found[1] - 100))

    claim = Accuracy("STEMMER, warm-up", "all hold 1", alpha, 0.5, lambda _: np.ones(100, dtype=np.int64), error)
    found = literature.measure(m, claim, 400, seed=9, confidence=0.999)
    truth = all_ones(Fraction(3, 5), 100, Fraction(alpha))
    assert found.low < truth.low < truth.high < found.high


def test_the_commands_answer_people_and_programs() -> None:
    answers = json.loads(run("claims", "thresh", "--format", "json").stdout)
    assert {a["where"] for a in answers} == {"JRUW18 Theorem 4.1"}
    assert [a["holds"] for a in answers] == [True, True, False, False, False, False]
    assert [a["standing"] for a in answers[::2]] == ["holds", "fails", "outside"]
    assert "ldpaudit claims thresh users=800" in run("claims", "thresh").stdout
    measured = run("accuracy", "sign_oracle", "epsilon=1/10", "users=500", "domain=20", "--runs", "4", "--format", "json")
    assert json.loads(measured.stdout)[0]["runs"] == 4
    assert "exceeded in" in run("accuracy", "sign_oracle", "epsilon=1/10", "users=500", "domain=20", "--runs", "4").stdout


PLACE = "JRUW18 Theorem 4.1"


@pytest.mark.parametrize(("failed", "recorded", "news"), [
    ([], [], []),
    (["a", "a"], ["a"], []),
    (["a"], [], ["a FAILS, which is not on record for these parameters"]),
    ([], ["a"], ["a is on record as FAILS, and does not fail here"]),
])  # fmt: skip
def test_what_is_on_record_fails_and_nothing_else(failed: list[str], recorded: list[str], news: list[str]) -> None:
    assert literature.not_on_record(failed, recorded) == news


def test_a_claim_that_fails_at_the_examples_is_on_record_and_elsewhere_ends_with_1_unless_it_is_named(capsys: Any) -> None:
    def ends(setting: Any, *named: str) -> int:
        _, _, stem, *given = literature.command("thresh", setting).split()
        return raises(typer.Exit, None, judged, stem, given, expect_fails=list(named)).exit_code

    codes, failing = [], []
    for setting in literature.settings("thresh"):
        codes.append(ends(setting))
        failing += [setting] if "FAILS" in capsys.readouterr().out else []
    assert codes == [0, 0, 0]
    assert failing
    elsewhere = replace(failing[0], users=failing[0].users + 1)
    assert ends(elsewhere) == 1
    assert capsys.readouterr().err == f"ldpaudit: {PLACE} FAILS, which is not on record for these parameters\n"
    assert ends(elsewhere, PLACE) == 0
    assert ends(elsewhere, PLACE, "another") == 1


def test_a_simulation_that_is_stopped_has_said_what_it_knew(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    claim = at_most(400.0, 0.1)
    stopped = Mock(side_effect=[literature.measure(SMALL, claim, 20, seed=3), KeyboardInterrupt])
    monkeypatch.setattr(literature, "accuracy", lambda stem, setting: (claim,))
    monkeypatch.setattr(literature, "simulated", lambda *_: (SMALL, SMALL))
    monkeypatch.setattr(literature, "measure", stopped)
    raises(KeyboardInterrupt, None, accuracy, "sign_oracle", None, runs=20)
    assert capsys.readouterr().out.count("HKR12 Theorem 0: over ten values") == 1


def test_a_simulated_error_that_fails_ends_with_1_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literature, "accuracy", lambda stem, setting: (at_most(20.0, 0.1),))
    monkeypatch.setattr(literature, "simulated", lambda *_: (SMALL,))
    for named, code in ((None, 1), (["HKR12 Theorem 0"], 0), (["HKR12 Theorem 1"], 1)):
        ended = raises(typer.Exit, None, accuracy, "sign_oracle", None, runs=60, confidence=0.95, seed=3, expect_fails=named)
        assert ended.exit_code == code


@pytest.mark.parametrize(("arguments", "message"), [
    (("claims", "nothing"), "needs one of"),
    (("claims", "thresh", "users=3"), "needs"),
    (("accuracy", "geometric"), "needs one of"),
    (("accuracy", "thresh", *TOO_FEW), "nothing to"),
    (("accuracy", "sign_oracle", "--confidence", "2"), "0 < confidence < 1"),
])  # fmt: skip
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    fails_in_one_line(run(*arguments), message)
