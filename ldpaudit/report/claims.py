"""Papers' claims and measured errors, for people, pages and programs."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ldpaudit.report.printer import Cells, TableFormat, markdown_of

if TYPE_CHECKING:
    from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed
    from ldpaudit.studies.literature import Measured, Row


def print_claims(command: str, claims: Iterable[Printed], say: Callable[[str], None]) -> None:
    """Every claim at one setting: verdict, what is printed and found, provenance, and what a reader has to know of it."""
    from ldpaudit.enclosure import show_down, show_up

    say(f"$ {command}")
    for each in claims:
        say(f"{each.standing.name:7}  {each.where}: {each.sentence}")
        low, high = show_down(each.found.low, 6), show_up(each.found.high, 6)
        what = f"[{low}, {high}]" if each.attained else f"at most {high}"
        decided = each.holds is not None and each.looseness < float("inf")
        ratio = f", {two_digits(each.looseness)} times what is found" if decided else ""
        printed = f"{float(each.claimed):.6g} ({each.provenance.value})"
        say(f"         claimed {printed}, found {what} ({each.found.rigour.name}){ratio}")
        for remark in (*each.remarks, *told(each)):
            say(f"         {remark}")
    say("")


def told(claim: Printed) -> tuple[str, ...]:
    """Where a failure begins, where the proof breaks, and what holds instead; nothing of a claim that does not fail here."""
    failure = _failure(claim)
    return (failure.begins, failure.breaks, failure.instead) if failure else ()


def _failure(claim: Printed) -> Failure | None:
    return claim.failure if claim.standing.name == "FAILS" else None


def print_measured(command: str, measured: Iterable[Measured], say: Callable[[str], None]) -> None:
    """Every measured error at one setting."""
    from ldpaudit.enclosure import show_down, show_up

    say(f"$ {command}")
    for each in measured:
        claim = each.claim
        say(f"{each.standing.name:5}  {claim.where}: {claim.sentence}")
        say(f"       printed: at most {claim.alpha:.6g} except with probability {claim.beta:.3g}")
        interval = f"[{show_down(each.low, 3)}, {show_up(each.high, 3)}] at {each.confidence:g}"
        say(f"       exceeded in {each.failures} of {each.runs} runs, so with probability in {interval}")
        ratio = "" if each.looseness in (0.0, float("inf")) else f", {two_digits(each.looseness)} times less than printed"
        say(f"       median error {each.median:.6g}, quantile at {1 - claim.beta:.3g}: {each.upper:.6g}{ratio}")
    say("")


def two_digits(value: float) -> str:
    """A ratio, to two digits."""
    return f"{float(f'{value:.2g}'):g}"


PROVENANCE = ("printed", "restored", "derived", "from memory")  # in the order of `Provenance`
CLAIMS = ("claim", "of", "at the examples", "printed over found", "source")
VARIANTS = ("variant", "of", "true at the examples", "claimed over found", "source")


OURS = "Questions of ours, which the sources do not answer:"


def write(form: TableFormat, rows: Iterable[Row]) -> str:
    """The summary, and variants in a table of their own; what `text` and `markdown` say is the same."""
    several = list(rows)
    own, ours = [_cells(r) for r in several if not r.variant], [_cells(r) for r in several if r.variant]
    if form is TableFormat.json:
        return json.dumps(plain(several), indent=2)
    if form is TableFormat.csv:
        kinds = [("claim", own), ("variant", ours)]
        return form.written(("kind", *CLAIMS), [(kind, *cells) for kind, table in kinds for cells in table])
    if form is TableFormat.latex:
        return "\n\n".join(form.written(head, table) for head, table in ((CLAIMS, own), (VARIANTS, ours)) if table)
    claims = markdown(CLAIMS, own)
    return f"{claims}\n\n{OURS}\n\n{markdown(VARIANTS, ours)}" if ours else claims


def rows_of(data: Iterable[dict[str, Any]]) -> list[Row]:
    """Rows of what `plain` made, also where JSON has made lists of tuples."""
    from ldpaudit.accountants.claims.sentence import Failure, Standing
    from ldpaudit.studies.literature import Row

    found = []
    for each in data:
        standings = tuple(Standing[name.upper()] for name in each["standings"])
        several = {key: tuple(each[key]) for key in ("outcomes", "looseness")}
        found.append(Row(**{**each, **several, "standings": standings, "failure": each["failure"] and Failure(**each["failure"])}))
    return found


def plain(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as plain data."""
    return [
        {**{field.name: getattr(r, field.name) for field in dataclasses.fields(r)},
         "failure": r.failure and dataclasses.asdict(r.failure), "standings": [each.name.lower() for each in r.standings]}
        for r in rows
    ]  # fmt: skip


def _cells(r: Row) -> Cells:
    said = r.variant or r.reading
    claim = f"{r.where}: {r.sentence}{f' ({said})' if said else ''}"
    return claim, r.stem, r.verdict, spread(r.looseness), r.provenance


def markdown(head: Cells, rows: Iterable[Cells]) -> str:
    """A table of claims and their stems for a page."""
    return markdown_of(head, [(claim, f"`{stem}`", *rest) for claim, stem, *rest in rows])


def failures(rows: Iterable[Row]) -> str:
    """What the sources claim and what fails by itself, as a table for a page."""
    return markdown(CLAIMS, (_cells(dataclasses.replace(r, sentence=r.failing)) for r in rows if r.fails and not r.rests_on))


FALLEN = ("claim", "falls with", "from where on", "what holds instead")


def fallen(rows: Iterable[Row]) -> str:
    """What fails because its proof uses a statement that does, as a table for a page."""
    lines = {
        (f"{r.where}{f' ({r.reading})' if r.reading else ''}", r.failure.rests_on, r.failure.begins, r.failure.instead): None
        for r in rows
        if r.failure and r.rests_on
    }
    return markdown_of(FALLEN, lines)


def reasons(rows: Iterable[Row], places: Sequence[str], says: Mapping[str, str]) -> str:
    """Where failures begin, where proofs break and what holds instead, a paragraph per failure at these places, for a page."""
    paragraphs, several = [], list(rows)
    for place in places:
        told: dict[str, str] = {}
        for r in several:
            if r.where == place and r.failure and not r.rests_on:
                told.setdefault(r.failure.told, r.reading)
        for words, reading in told.items():
            said = "; ".join(filter(None, (says.get(place.split(", proof")[0], ""), reading if len(told) > 1 else "")))
            paragraphs.append(f"**{place}** ({said}). {words}")
    return "\n\n".join(paragraphs)


def tally(rows: Iterable[Row], papers: Sequence[str]) -> str:
    """How many sentences of each source stand how, and how they are known, as a table for a page; without variants.

    A sentence counts once, in whatever readings; it stands as the reading that stands worst.
    """
    own = [r for r in rows if not r.variant]
    lines = []
    for paper in papers:
        several = [r for r in own if r.where.startswith(paper)]
        read: dict[tuple[str, str], list[Row]] = {}
        for r in several:
            read.setdefault(r.sentence_of_any_reading, []).append(r)
        stands = Counter(max((_stands(r) for r in of), key=STANDS.index) for of in read.values())
        known = Counter(of[0].provenance for of in read.values())
        said = ", ".join(f"{known[word]} {word}" for word in sorted(known, key=PROVENANCE.index))
        counts = (len(read), len(several), *(stands[how] for how in STANDS))
        lines.append((paper, *map(str, counts), said))
    return markdown_of(("source", "sentences", "readings", *STANDS, "known how"), lines)


STANDS = ("outside at all examples", "hold", "open", "fall with another", "FAIL at some example")
"""How a sentence stands at the examples, the worst last."""


def _stands(r: Row) -> str:
    words = {r.outside: STANDS[0], r.opened: STANDS[2], r.fails: STANDS[4]}
    return STANDS[3] if r.rests_on else words.get(True, STANDS[1])


def spread(looseness: tuple[float, ...]) -> str:
    """Least and largest ratio, to two digits."""
    finite = sorted(x for x in looseness if x < float("inf"))
    if not finite:
        return ""
    ends = two_digits(finite[0]), two_digits(finite[-1])
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def as_data(stem: str, setting: Any, claim: Printed, command: str) -> dict[str, Any]:
    """One claim as plain data."""
    return {
        **_stated(stem, setting, claim),
        "claimed": float(claim.claimed),
        "low": claim.found.low,
        "high": claim.found.high,
        "rigour": claim.found.rigour.name,
        "attained": claim.attained,
        "holds": claim.holds,
        "standing": claim.standing.name.lower(),
        "provenance": claim.provenance.value,
        "reading": claim.reading,
        "variant": claim.variant,
        "failure": dataclasses.asdict(failure) if (failure := _failure(claim)) else None,
        "hypotheses": [dataclasses.asdict(h) for h in claim.hypotheses],
        "command": command,
    }


def measured_as_data(stem: str, setting: Any, each: Measured, command: str) -> dict[str, Any]:
    """One measured error as plain data."""
    seen = ("runs", "failures", "low", "high", "confidence", "median", "upper", "holds")
    return {
        **_stated(stem, setting, each.claim),
        "alpha": each.claim.alpha,
        "beta": each.claim.beta,
        **{name: getattr(each, name) for name in seen},
        "command": command,
    }


def _stated(stem: str, setting: Any, claim: Printed | Accuracy) -> dict[str, Any]:
    given = {f.name: str(getattr(setting, f.name)) for f in dataclasses.fields(setting)}
    return {"stem": stem, "setting": given, "where": claim.where, "sentence": claim.sentence}
