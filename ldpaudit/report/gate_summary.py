"""The gate's findings for whoever reviews a change: the verdict, what changed, what fails and how to see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ldpaudit.display.visible import markdown_code, markdown_text

if TYPE_CHECKING:
    from ldpaudit.gate.findings import Finding, Gate

HEADINGS = ("passed", "failed", "not everything was checked", "a decision is missing")
"""By exit code."""
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
    parts = [
        [f"### ldpaudit: {HEADINGS[gate.exit_code]}", "", f"{count(gate)}."],
        _changed(gate),
        _table([f for f in gate.findings if f.state != "ok"]),
        _commands([f for f in gate.findings if f.problem]),
        _folded([f for f in gate.findings if f.state == "ok"]),
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


def _folded(passed: Sequence[Finding]) -> list[str]:
    if not passed:
        return []
    return [f"<details><summary>{len(passed)} passed</summary>", "", *_table(passed), "", "</details>"]


def _reused(gate: Gate) -> list[str]:
    """What was not done again; nobody who reads "passed" should have to guess when it was found."""
    if gate.reuse is None:
        return []
    others = [_text(name) for name in gate.reuse.anew]
    done = f"; done anew: {', '.join(others[:20])}{', ...' if others[20:] else ''}" if others else ""
    return [f"{gate.reuse}{done}.", "", *(f"- {_text(line)}" for line in gate.reuse.remarks[:20])]
