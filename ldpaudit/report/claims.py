"""Papers' claims and measured errors, for people, pages and programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ldpaudit.enclosure import show_down, show_up

if TYPE_CHECKING:
    from ldpaudit.accountants.claims.sentence import Printed
    from ldpaudit.literature import Measured, Row


def print_claims(command: str, claims: Iterable[Printed], say: Callable[[str], None]) -> None:
    """Every claim at one setting: verdict, what is printed and found, hypotheses that are not met."""
    say(f"$ {command}")
    for each in claims:
        say(f"{each.standing.name:5}  {each.where}: {each.sentence}")
        low, high = show_down(each.found.low, 6), show_up(each.found.high, 6)
        what = f"[{low}, {high}]" if each.attained else f"at most {high}"
        ratio = "" if each.holds is None else _times_found(each)
        say(f"       printed {float(each.claimed):.6g}, found {what} ({each.found.rigour.name}){ratio}")
        for hypothesis in each.hypotheses:
            if not hypothesis.holds:
                say(f"       not met: {hypothesis.sentence}")
    say("")


def _times_found(each: Printed) -> str:
    return f", {two_digits(each.looseness)} times what is found" if 0 < each.looseness < float("inf") else ""


def print_measured(command: str, measured: Iterable[Measured], say: Callable[[str], None]) -> None:
    """Every measured error at one setting."""
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


def markdown(rows: Iterable[Row]) -> str:
    """The summary as a table for a page."""
    lines = ["| claim | of | at the examples | printed over found |", "|---|---|---|---|"]
    for r in rows:
        claim = f"{r.where}: {r.sentence}".replace("|", r"\|")
        lines.append(f"| {claim} | `{r.stem}` | {r.verdict} | {spread(r.looseness)} |")
    return "\n".join(lines)


def spread(looseness: tuple[float, ...]) -> str:
    """Least and largest ratio, to two digits."""
    finite = sorted(x for x in looseness if 0 < x < float("inf"))
    if not finite:
        return ""
    ends = two_digits(finite[0]), two_digits(finite[-1])
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def as_data(stem: str, setting: Any, claim: Printed, command: str) -> dict[str, Any]:
    """One claim as plain data."""
    return {
        "stem": stem,
        "setting": {f.name: str(getattr(setting, f.name)) for f in dataclasses.fields(setting)},
        "where": claim.where,
        "sentence": claim.sentence,
        "claimed": float(claim.claimed),
        "low": claim.found.low,
        "high": claim.found.high,
        "rigour": claim.found.rigour.name,
        "attained": claim.attained,
        "holds": claim.holds,
        "hypotheses": [{"sentence": h.sentence, "holds": h.holds} for h in claim.hypotheses],
        "command": command,
    }


def measured_as_data(stem: str, setting: Any, each: Measured, command: str) -> dict[str, Any]:
    """One measured error as plain data."""
    return {
        "stem": stem,
        "setting": {f.name: str(getattr(setting, f.name)) for f in dataclasses.fields(setting)},
        "where": each.claim.where,
        "sentence": each.claim.sentence,
        "alpha": each.claim.alpha,
        "beta": each.claim.beta,
        "runs": each.runs,
        "failures": each.failures,
        "low": each.low,
        "high": each.high,
        "confidence": each.confidence,
        "median": each.median,
        "upper": each.upper,
        "holds": each.holds,
        "command": command,
    }
