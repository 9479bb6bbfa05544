"""The gate's findings for people, test reporters, code scanners and build logs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from ldpaudit.display.visible import visible, visible_json
from ldpaudit.report.gate_summary import count, markdown, outcome

if TYPE_CHECKING:  # only the types: the command line reads the list of formats, and must start fast
    from ldpaudit.gate.checking import Finding, Gate

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
        lines.append(f"{_mark(f):9}  {f.id}: {f.problem or outcome(f)}")
        if f.problem:
            lines += [f"           {f.message}", f"           reproduce: {f.reproduce}"]
    return "\n".join([*map(visible, lines), count(gate)]) + "\n"


def _mark(f: Finding) -> str:
    """First word of a line: nothing that is undecided or assumed is ever ok."""
    if f.problem == "error":
        return "ERROR"
    return "FAIL" if f.problem else f.state


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
