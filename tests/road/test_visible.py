"""What users write never acts on a terminal, a page or a build's log."""

import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, strategies as st
from rich.console import Console

import ldpaudit as ldp
from ldpaudit import Certificate, load
from ldpaudit.commands import output
from ldpaudit.display.visible import markdown_code, visible, visible_json
from ldpaudit.gate.checking import Finding, Gate
from ldpaudit.report import html, text
from ldpaudit.report.gate import RULES, GateFormat
from ldpaudit.verdict import Outcome
from tests.helpers import ROOT, Tags

HOSTILE = (
    "[red]x[/red] [/] ::error::x ##[group] \x1b[31m \x9b31m \r\n::error::y </script></title><b> | ` ``` ]]> & \u202e \u2066 "
    "\x00 %0A [link](http://x) \\ \ud800 \uffff"
)
"""Acts on one thing or another that shows it."""


@given(st.text(st.characters(codec=None)))
def test_what_is_visible_is_one_line_of_characters_that_do_nothing(given_text: str) -> None:
    shown = visible(given_text)
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert len(shown.splitlines()) <= 1
    shown.encode()


@given(st.text(st.characters(codec=None)))
def test_json_that_is_made_visible_means_the_same(given_text: str) -> None:
    shown = visible_json(json.dumps({"a": given_text}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == json.loads(json.dumps({"a": given_text}))
    assert visible(shown, kept="\n") == shown


@given(st.text("`a "))
def test_code_in_markdown_is_fenced_by_more_backticks_than_it_has(code: str) -> None:
    shown = markdown_code(code)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert fence not in shown[len(fence) : -len(fence)]


@pytest.fixture(scope="module")
def hostile() -> Certificate:
    """All that a file may say, and a claim whose words are hostile."""
    deployment = replace(load(ROOT / "deployments/enpa-notification.toml"), title=HOSTILE, note=HOSTILE, sources=(HOSTILE,))
    found = ldp.certify(deployment, trials=500)
    words = {"id": HOSTILE, "source": HOSTILE, "reason": HOSTILE, "sentence": HOSTILE, "plan": HOSTILE}
    return found.model_copy(update={"id": HOSTILE, "claims": (found.claims[0].model_copy(update=words),)})


def harmless(shown: str) -> bool:
    return visible(shown, kept="\n") == shown


def test_a_certificate_on_a_terminal_is_no_markup_and_moves_no_cursor(hostile: Certificate) -> None:
    screen = Console(file=io.StringIO(), width=1000, highlight=False)
    text.print_certificate(hostile, screen)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert harmless(shown)
    assert shown.count("[red]x[/red]") == 5, "id and title, the cell, and id and reason"
    assert not [line for line in shown.splitlines() if line.startswith("::")]


def test_a_claim_of_a_long_id_or_without_a_bound_is_told_whole(hostile: Certificate) -> None:
    name = "-".join(f"claim{i}" for i in range(20))
    screen = Console(file=io.StringIO(), width=80, highlight=False)
    text.print_certificate(hostile.model_copy(update={"claims": (hostile.claims[0].model_copy(update={"id": name}),)}), screen)
    _, table, _ = screen.file.getvalue().split("claim0-", 2)  # type: ignore[attr-defined]  # before the lines that say why
    assert name in "claim0-" + "".join(line.split()[0] for line in table.splitlines() if line.split())
    why = "its inputs have the relations replace-one, not add-remove"
    claim = hostile.claims[0].model_copy(update={"enclosure": None, "unsupported": (why,), "verdict": Outcome.UNDECIDED})
    screen = Console(file=io.StringIO(), width=10_000, highlight=False)
    text.print_certificate(hostile.model_copy(update={"claims": (claim,)}), screen)
    assert f" Unsupported: {why}." in screen.file.getvalue()  # type: ignore[attr-defined]


def test_hostile_words_are_no_tags_and_move_no_cursor(hostile: Certificate, capsys: pytest.CaptureFixture[str]) -> None:
    page = html.page(hostile)
    assert Tags(page).names <= {"html", "head", "meta", "title", "style", "body", "h1", "p", "section", "h2", "span", "svg", "line",
                                "text", "rect", "path", "dl", "dt", "dd", "code", "pre", "footer", "header", "div", "main", "h3",
                                "figure", "figcaption", "circle", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
    assert harmless(page)
    page.encode()
    output.say(HOSTILE)
    output.note(HOSTILE)
    output.say_json([HOSTILE])
    out, err = capsys.readouterr()
    assert harmless(out + err)
    assert json.loads(out[out.index("[\n") :]) == [HOSTILE]


@pytest.fixture(scope="module")
def findings() -> Gate:
    """One finding of each kind, of hostile words."""
    outcomes: dict[str | None, Outcome | None] = dict.fromkeys([*RULES], Outcome.REFUTED)
    outcomes |= {"gone": None, "error": None, None: Outcome.UNDECIDED}
    made = [Finding(HOSTILE, o, p, HOSTILE, HOSTILE, 3, HOSTILE) for p, o in outcomes.items()]
    return Gate((*made, Finding("good", Outcome.PROVED, None, "", "good.toml", 1, "")))


@pytest.mark.parametrize("kind", list(GateFormat))
def test_a_gates_findings_of_hostile_words_act_nowhere(kind: GateFormat, findings: Gate) -> None:
    shown = kind.write(findings)
    assert harmless(shown)
    assert "error::y" in shown or "error%3A%3Ay" in shown, "what is shown is shown whole"
    shown.encode()


def test_hostile_words_leave_each_format_well_formed(findings: Gate) -> None:
    many = len(RULES) + 1
    written = {kind.value: kind.write(findings) for kind in GateFormat}
    assert len(list(ElementTree.fromstring(written["junit"]).iter("testcase"))) == many + 1
    assert json.loads(written["json"])["findings"][0]["message"] == HOSTILE
    log = json.loads(written["sarif"])
    assert len(log["runs"][0]["results"]) == many
    jsonschema.Draft4Validator(json.loads((ROOT / "tests/data/sarif-2.1.0.json").read_text())).validate(log)
    *annotations, _ = written["github"].splitlines()
    assert len(annotations) == many
    for line in annotations:
        assert re.fullmatch(r"::(error|warning|notice) file=[^:,]*,line=3,title=[^:,]*::.*", line)
    assert not [line for line in written["text"].splitlines() if re.match(r"\s*(::|##)", line)]
    table = [line for line in written["markdown"].splitlines() if line.startswith("|")]
    assert len(table) == many + 1 + 4, "and the heads of two tables"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {4}
    assert "</script>" not in "".join(table)
