"""The gate's findings for people, test reporters, code scanners and build logs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:  # only the types: the command line reads the list of formats, and must start fast
    from ldpaudit.gate import Finding, Gate

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "refuted": "A privacy claim is refuted",
    "not as recorded": "A privacy claim did not come out as its file records it",
    "regressed": "A privacy claim is worse than in the baseline",
    "undecided": "A privacy claim is undecided, and the policy asks for a decision",
}


def text(gate: Gate) -> str:
    """One line a claim; under each that fails, why, and the command that shows it."""
    lines = []
    for f in gate.findings:
        lines.append(f"{'FAIL' if f.problem else 'ok':4}  {f.id}: {f.problem or f.outcome}")
        if f.problem:
            lines += [f"      {f.message}", f"      reproduce: {f.reproduce}"]
    return "\n".join([*lines, _count(gate)]) + "\n"


def _count(gate: Gate) -> str:
    problems = Counter(f.problem for f in gate.findings if f.problem)
    if not problems:
        return f"{len(gate.findings)} claims, none failed"
    return f"{len(gate.findings)} claims, " + ", ".join(f"{n} {problem}" for problem, n in problems.items())


def as_json(gate: Gate) -> str:
    """All findings as data."""
    rows = [asdict(f) for f in gate.findings]
    for row in rows:
        row["high"] = None if row["high"] is None else str(row["high"])
    return json.dumps({"exit_code": gate.exit_code, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def junit(gate: Gate) -> str:
    """JUnit XML: a claim is a test case."""
    failed = sum(f.problem is not None for f in gate.findings)
    counts = {"name": "ldpaudit", "tests": str(len(gate.findings)), "failures": str(failed), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", counts)
    for f in gate.findings:
        case = ElementTree.SubElement(suite, "testcase", {"classname": f.file, "name": f.id})
        if f.problem:
            failure = ElementTree.SubElement(case, "failure", {"type": f.problem, "message": f.message})
            failure.text = f"{f.message}\nreproduce: {f.reproduce}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def sarif(gate: Gate) -> str:
    """SARIF 2.1.0: a result for each claim that fails."""
    rules = [{"id": name, "shortDescription": {"text": RULES[name]}} for name in RULES]
    driver = {"name": "ldpaudit", "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(f) for f in gate.findings if f.problem]}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(f: Finding) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": f.file}, **({"region": {"startLine": f.line}} if f.line else {})}
    return {
        "ruleId": f.problem,
        "level": "warning" if f.problem == "undecided" else "error",
        "message": {"text": f"{f.id}: {f.message}. Reproduce: {f.reproduce}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"claim/v1": f.id},
    }


def github(gate: Gate) -> str:
    """Annotations of a build log: workflow commands, one a claim that fails."""
    lines = []
    for f in gate.findings:
        if f.problem:
            kind = "warning" if f.problem == "undecided" else "error"
            where = f"file={_property(f.file)}" + (f",line={f.line}" if f.line else "")
            title = _property(f"{f.id} {f.problem}")
            lines.append(f"::{kind} {where},title={title}::{_data(f'{f.message}. Reproduce: {f.reproduce}')}")
    return "\n".join([*lines, _count(gate)]) + "\n"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def markdown(gate: Gate) -> str:
    """A table for a build's summary page."""
    rows = ["| claim | outcome | why |", "|---|---|---|"]
    for f in gate.findings:
        state = f"**{f.problem}**" if f.problem else str(f.outcome)
        rows.append(f"| {_cell(f.id)} | {state} | {_cell(f.message)} |")
    commands = [f"- {f.id}: `{f.reproduce}`" for f in gate.findings if f.problem]
    again = ["", "To reproduce:", "", *commands] if commands else []
    return "\n".join(["### ldpaudit", "", *rows, "", _count(gate), *again]) + "\n"


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")


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
