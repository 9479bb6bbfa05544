"""The gate's findings for people, test reporters, code scanners, build logs, and whoever reviews a change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from ldpaudit.display.visible import markdown_code, markdown_text, visible, visible_json

if TYPE_CHECKING:
    from ldpaudit.gate.findings import Finding, Gate

HEADINGS = ("passed", "failed", "not everything was checked", "a decision is missing")  # by exit code
ROOM = 15_000
"""Characters of one of the four parts that grow with the number of claims: a comment on GitHub may have 65,536."""


def outcome(f: Finding) -> str:
    """How it came out where the build does not fail over it."""
    if f.target is not None and not f.target.refuted:
        return "not refuted"
    return "REFUTED, as recorded" if f.outcome == "REFUTED" else str(f.outcome)


def count(gate: Gate) -> str:
    """How many claims there are, and how many of them in each state that is not ok."""
    states = Counter(f.state for f in gate.findings if f.state != "ok")
    failed = sum(f.problem is not None for f in gate.findings)
    counted = [f"{n} {state}" for state, n in states.items()]
    told = ", ".join([f"{len(gate.findings)} claims", *counted, *([] if failed else ["none failed"])])
    return f"{told}; {gate.uncompared}" if gate.uncompared else told


def markdown(gate: Gate) -> str:
    """For a build's summary page, and for a comment on the change."""
    passed = [f for f in gate.findings if f.state == "ok"]
    parts = [
        [f"### ldpaudit: {HEADINGS[gate.exit_code]}", "", f"{count(gate)}."],
        _changed(gate),
        _table([f for f in gate.findings if f.state != "ok"]),
        _commands([f for f in gate.findings if f.problem]),
        [f"<details><summary>{len(passed)} passed</summary>", "", *_table(passed), "", "</details>"] if passed else [],
        _reused(gate),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _text(text: str) -> str:
    """Text of a user's: its @names must call nobody."""
    return markdown_text(text).replace("@", "@<!-- -->")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _fitting(rows: Sequence[str]) -> Iterator[str]:
    """As many rows as there is room for, and how many are left out."""
    room = ROOM
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            yield f"\n{len(rows) - number} more are in the build's log."
            return
        yield row


def _changed(gate: Gate) -> list[str]:
    """Claims that are new, gone, or came out otherwise than in the baseline."""
    if gate.baseline is None:
        return []
    name = markdown_code(gate.baseline)
    changed = [f for f in gate.findings if f.was is not None and f.was != f.now]
    if not changed:
        return [f"Nothing changed against {name}."]
    rows = [_row(_text(f.id), _text(f.was or "new"), f"**{_text(f.now)}**") for f in changed]
    return [f"Changed against {name}:", "", _row("claim", "before", "now"), "|---|---|---|", *_fitting(rows)]


def _table(findings: Sequence[Finding]) -> list[str]:
    rows = [_row(_text(f.id), f"**{f.problem}**" if f.problem else outcome(f), _text(f.message)) for f in findings]
    return [_row("claim", "outcome", "why"), "|---|---|---|", *_fitting(rows)] if rows else []


def _commands(failed: Sequence[Finding]) -> list[str]:
    """What shows each failure alone; a command that shows several stands once."""
    by_command: dict[str, list[str]] = {}
    for f in failed:
        by_command.setdefault(f.reproduce, []).append(_text(f.id))
    lines = [f"- {', '.join(ids)}: {markdown_code(command)}" for command, ids in by_command.items()]
    return ["To reproduce:", "", *_fitting(lines)] if lines else []


def _reused(gate: Gate) -> list[str]:
    """What was not done again; nobody who reads "passed" should have to guess when it was found."""
    if gate.reuse is None:
        return []
    others = [_text(name) for name in gate.reuse.anew]
    done = f"; done anew: {', '.join(others[:20])}{', ...' if others[20:] else ''}" if others else ""
    return [f"{gate.reuse}{done}.", "", *(f"- {_text(line)}" for line in gate.reuse.remarks[:20])]


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "refuted": "A privacy claim is refuted",
    "not as recorded": "A privacy claim's verdict is not the one that its file expects",
    "regressed": "A privacy claim is worse than in the baseline",
    "gone": "A privacy claim of the baseline has been dropped",
    "undecided": "A privacy claim is undecided",
    "assumed": "A privacy claim rests only on an assumption",
    "error": "A privacy claim could not be checked",
}


def text(gate: Gate) -> str:
    """One line a claim; under each that fails, why, and the command that shows it."""
    lines = []
    for f in gate.findings:
        mark = "ERROR" if f.problem == "error" else "FAIL" if f.problem else f.state  # what is undecided or assumed is never ok
        lines.append(f"{mark:9}  {f.id}: {f.problem or outcome(f)}")
        if f.problem:
            lines += [f"           {f.message}", f"           reproduce: {f.reproduce}"]
    return "\n".join([*map(visible, lines), count(gate)]) + "\n"


def as_json(gate: Gate) -> str:
    """All findings as data."""
    rows = []
    for f in gate.findings:
        claim, target = f.claim and f.claim.kept(), f.target and f.target.kept()
        rows.append({**asdict(f), "state": f.state, "high": claim and claim["high"], "claim": claim, "target": target})
    data = {"exit_code": gate.exit_code, "uncompared": gate.uncompared, "findings": rows}
    return visible_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"


def junit(gate: Gate) -> str:
    """JUnit XML: a claim is a test case, skipped where it is undecided and need not be decided, or assumed."""
    states = Counter(_case(f) for f in gate.findings)
    numbers = {"failures": states["failure"], "errors": states["error"], "skipped": states["skipped"]}
    counts = {"name": "ldpaudit", "tests": str(len(gate.findings)), **{name: str(n) for name, n in numbers.items()}}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", counts)
    for f in gate.findings:
        case = ElementTree.SubElement(suite, "testcase", {"classname": visible(f.file), "name": visible(f.id)})
        if _case(f) != "passed":
            told = {"type": f.state, "message": visible(f.message)}
            why = ElementTree.SubElement(case, _case(f), told if f.problem else {"message": told["message"]})
            why.text = f"{visible(f.message)}\nreproduce: {visible(f.reproduce)}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(f: Finding) -> str:
    """JUnit's word for how a test case ended."""
    if f.state == "error":
        return "error"
    return "failure" if f.problem else "passed" if f.state == "ok" else "skipped"


def sarif(gate: Gate) -> str:
    """SARIF 2.1.0: a result for each claim that fails, and an open one for each that is undecided or assumed."""
    rules = [{"id": name, "shortDescription": {"text": RULES[name]}} for name in RULES]
    driver = {"name": "ldpaudit", "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(f) for f in gate.findings if f.state != "ok"]}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(f: Finding) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": quote(f.file, errors="replace")}, **({"region": {"startLine": f.line}} if f.line else {})}
    return {
        "ruleId": f.state,
        # What neither fails nor passes is "open", and then SARIF wants the level "none".
        "kind": "fail" if f.problem else "open",
        "level": _level(f),
        "message": {"text": f"{visible(f.id)}: {visible(f.message)}. Reproduce: {visible(f.reproduce)}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"claim/v1": visible(f.id)},
    }


def _level(f: Finding) -> str:
    if not f.problem:
        return "none"
    return "warning" if f.problem == "undecided" else "error"


def github(gate: Gate) -> str:
    """Annotations of a build log: workflow commands, one a claim that fails, and a notice of each that is undecided or assumed."""
    lines = []
    for f in gate.findings:
        if f.state != "ok":
            kind = "notice" if not f.problem else _level(f)
            where = f"file={_property(f.file)}" + (f",line={f.line}" if f.line else "")
            title = _property(f"{f.id} {f.state}")
            lines.append(f"::{kind} {where},title={title}::{_data(f'{f.message}. Reproduce: {f.reproduce}')}")
    return "\n".join([*lines, count(gate)]) + "\n"


def _data(value: str) -> str:
    return visible(value).replace("%", "%25")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


class GateFormat(StrEnum):
    """How the gate's findings are printed: each format's name, and the function that writes it."""

    def __new__(cls, name: str, write: Callable[[Gate], str]) -> GateFormat:
        """Known by its name; the function is its `write`."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.write = write
        return member

    write: Callable[[Gate], str]

    text = "text", text
    json = "json", as_json
    junit = "junit", junit
    sarif = "sarif", sarif
    github = "github", github
    markdown = "markdown", markdown
