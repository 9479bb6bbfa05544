"""Clients: ``ldpaudit vectors``, what they must draw, and ``conform``, whether they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ldpaudit.commands import options
from ldpaudit.commands.ending import REFUTED
from ldpaudit.commands.options import Format, FormatOption, ParametersArgument
from ldpaudit.commands.output import progress, say, say_json

_COUNT = 100
VIEWS = 1_000_000
SURE = 1 - 1e-6  # one build in a million fails for nothing; at 0.95 it would be one in thirty
CERTIFIED = "A deployment file, or a bundled id; or STEM or STEM:VARIANT, with its parameters."
COUNTED = "Vectors for each of up to 8 inputs, and for an absent user."
VectorSeedOption = Annotated[int, options.whole_number("Seed of the vectors' bytes.", least=0)]


def vectors(
    name: Annotated[str, typer.Argument(metavar="FILE|STEM", help=CERTIFIED)],
    parameters: ParametersArgument = None,
    count: Annotated[int, options.whole_number(COUNTED, least=0)] = _COUNT,
    seed: VectorSeedOption = 0,
) -> None:
    """Print test vectors of a client: a header, then random bytes in and report out, a JSON object a line.

    With --count 0 it prints the header alone, which a client reads first; docs/clients.md says how.
    """
    from ldpaudit.clients import vectors as made

    m = options.reporting(None, name, parameters)
    for line in (made.header(m), *(vector.record for vector in made.vectors(m, count, seed))):
        say(json.dumps(line))


def conform(
    target: Annotated[str, typer.Argument(metavar="exec:COMMAND", help="The client, a program.")],
    name: Annotated[str | None, typer.Argument(metavar="FILE|STEM", help=CERTIFIED, show_default=False)] = None,
    parameters: ParametersArgument = None,
    deployment: Annotated[Path | None, typer.Option(help="The same as FILE.", show_default=False)] = None,
    count: Annotated[int, options.whole_number(COUNTED, least=1)] = _COUNT,
    views: Annotated[int, options.whole_number("Number of reports of the audit.", least=16)] = VIEWS,
    confidence: Annotated[float, options.real_number("Of the audit; the rest refuses clients that conform.")] = SURE,
    patience: Annotated[float, options.real_number("Seconds that an answer may take; 3 times as long at first.")] = 20,
    seed: VectorSeedOption = 0,
    format: FormatOption = Format.text,
) -> None:
    """Check that a client is what was certified.

    It must draw the vectors' reports from the vectors' bytes, and not repeat its own randomness; then its reports are audited.
    """
    import ldpaudit
    from ldpaudit.certificates.certificate import EvidenceRecord
    from ldpaudit.clients.conformance import Client, first_difference, repetition
    from ldpaudit.clients.vectors import vectors as made
    from ldpaudit.enclosure import show_down, show_up
    from ldpaudit.workers.experiment import Execution

    kind, _, command = target.partition(":")
    if kind != "exec" or not command.strip():
        raise ValueError(f"conform needs exec:COMMAND, such as exec:./client, got {target!r}")
    m = options.reporting(deployment, name, parameters)
    epsilon = ldpaudit.account(m).epsilon(0).high
    asked = list(made(m, count, seed))

    def client() -> Client:
        return Client(command, m, patience)

    with progress("vectors"), client() as given:
        found = first_difference(given, asked)
    if found is not None:
        _end(target, format, True, [f"of {len(asked):,} vectors, {found}"], difference=found.record)
    with progress("own randomness"), client() as first, client() as second:
        repeated = repetition(m, first, second)
    if repeated:
        _end(target, format, True, [f"it repeats its randomness: {repeated}"], repetition=repeated)
    with progress("sampling") as advance, client() as own:
        told = Execution(progress=lambda drawn, bound: advance(f"{drawn:,} reports, epsilon >= {show_down(bound)}"))
        claim: dict[str, Any] = {"epsilon": epsilon, "trials": views, "confidence": confidence, "seed": seed}
        evidence = ldpaudit.audit(m, implementation=own, execution=told, **claim)
    refuted = evidence.refutes(epsilon)
    lines = [f"its reports are those of {len(asked):,} vectors, on {len(asked) // count} inputs"]
    lines += ["no repetition of its own randomness was found, in a process or between two"]
    shown = f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {evidence.confidence:g}"
    verdict = "REFUTED" if refuted else "not refuted"
    lines += [f"epsilon = {show_up(epsilon)} is {verdict} by {evidence.trials:,} of its reports: {shown}"]
    record = EvidenceRecord.of(evidence).model_dump(mode="json")
    _end(target, format, refuted, lines if refuted else [*lines, evidence.resolution], audit=record)


def _end(target: str, format: Format, refused: bool, lines: list[str], **found: Any) -> NoReturn:
    """Print what was found, and end with its exit code; what is missing was not asked any more, or is nothing."""
    if format is Format.json:
        say_json({"target": target, "conforms": not refused, "difference": None, "repetition": None, "audit": None, **found})
    else:
        say(f"{target}: {'REFUSED' if refused else 'conforms'}", *lines)
    raise typer.Exit(REFUTED if refused else 0)
