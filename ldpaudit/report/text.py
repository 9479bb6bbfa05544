"""Certificates as text that reads well at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ldpaudit.certificates.certificate import Certificate, ClaimRecord
from ldpaudit.display.visible import visible
from ldpaudit.verdict import Outcome

STYLES = dict(zip(Outcome, ("bold red", "yellow", "bright_black", "green", "green"), strict=True))


def print_certificate(
    certificate: Certificate, console: Console, instead: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """One deployment: its claims in a table, and under it why each came out as it did, and what would hold instead."""
    console.print(Text(visible(certificate.id), style="bold"), Text(visible(certificate.title)))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("claim", "per", "claimed", "certified", "measured", "verdict"):
        table.add_column(column, style=None, no_wrap=column != "claim")
    for claim in certificate.claims:
        verdict = Text(claim.outcome, style=STYLES[claim.verdict])
        # As text: what users write is no markup.
        cells = (claim.id, claim.unit, claim.claimed, claim.certified, claim.measured)
        table.add_row(*(Text(visible(cell)) for cell in cells), verdict)
    console.print(Padding(table, (0, 0, 0, 2)))
    for claim in certificate.claims:
        why = f"{claim.id}: {claim.reason}.{sight(claim)}{witness(claim)}"
        console.print(Padding(Text(visible(why), style="dim"), (0, 0, 0, 2)))
        for line in instead.get(claim.id, ()):
            console.print(Padding(Text(visible(line)), (0, 0, 0, 4)))
    console.print()


def sight(claim: ClaimRecord) -> str:
    """How far the audit could see, where it refuted nothing."""
    if claim.verdict is Outcome.REFUTED or claim.evidence is None:
        return ""
    return f" About the audit: {claim.evidence.read().resolution}."


def witness(claim: ClaimRecord) -> str:
    """Two data sets that show the lower end of what is certified, and how they are told apart."""
    if claim.witness is None:
        return ""
    first, second = claim.witness.data_sets
    return f" Witness: {first}, against {second}; {claim.witness.event}."


def summary(certificates: Sequence[Certificate]) -> list[str]:
    """The run's last lines: how many claims hold, how many do not, and which."""
    named = [(f"{c.id}/{claim.id}", claim) for c in certificates for claim in c.claims]
    claims = [(name, claim) for name, claim in named if not claim.asked]
    questions = [(name, claim) for name, claim in named if claim.asked]
    assumed = _count(claims, "assumed")
    lines = [
        f"{_count(claims, 'holds')} of {len(claims)} claims hold, {_count(claims, 'refuted')} do not,"
        f" {_count(claims, 'undecided')} are undecided{f', {assumed} rest on assumptions' if assumed else ''};"
        f" {sum(claim.verdict.reached for _, claim in questions)} questions are answered."
    ]
    for record, title in (("assumed", "rest on what is assumed"), ("refuted", "do not hold"), ("undecided", "are undecided")):
        if which := [name for name, claim in claims if claim.verdict.record == record]:
            lines.append(f"These {title}: {', '.join(which)}.")
    if which := [name for name, claim in named if claim.code_differs]:
        lines.append(f"The code is not what is described: {', '.join(which)}.")
    if which := [name for name, claim in questions if not claim.verdict.reached]:
        lines.append(f"No answer is certified: {', '.join(which)}.")
    wrong = [name for name, claim in named if not claim.as_recorded]
    on_record = [name for name, claim in named if claim.expect]
    if wrong:
        lines.append(f"Not as expected: {', '.join(wrong)}.")
    elif on_record:
        lines.append("All verdicts are as expected.")
    return lines


def _count(claims: Iterable[tuple[str, ClaimRecord]], record: str) -> int:
    return sum(claim.verdict.record == record for _, claim in claims)
