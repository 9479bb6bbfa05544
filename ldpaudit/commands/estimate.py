"""``ldpaudit estimate``: counts with intervals, from the reports that users sent."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import Post
from ldpaudit.commands.output import note, progress, say, say_table
from ldpaudit.report.printer import TableFormat, csv_of

if TYPE_CHECKING:
    from ldpaudit.files.reports import Tally
    from ldpaudit.studies.estimation import Estimates
    from ldpaudit.studies.trees import Tree
    from ldpaudit.workers.experiment import Execution

_LINES = 1 << 10  # estimates that text shows without --top


def estimate(
    reports: Annotated[
        list[str],
        typer.Argument(help="Files or folders of reports; without --deployment, then STEM key=value ...", show_default=False),
    ],
    deployment: options.DeploymentOption = None,
    post: Annotated[Post, typer.Option(help="Make estimated counts nonnegative, or such that they sum to the users.")] = Post.none,
    confidence: Annotated[str, typer.Option(help="Of the intervals, in (0, 1).")] = "0.95",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals that hold all counts together, not each by itself.")
    ] = False,
    ranges: Annotated[str | None, typer.Option(help="Count these ranges of values, 0:9,10:99.", show_default=False)] = None,
    quantiles: Annotated[str | None, typer.Option(help="Find these quantiles, 0.5,0.9.", show_default=False)] = None,
    top: Annotated[int | None, options.whole_number("Show only this many of the largest estimates.", least=1)] = None,
    values: Annotated[
        Path | None, typer.Option(help="Text file with the values' names, one a line, in their order.", show_default=False)
    ] = None,
    refused: Annotated[str, typer.Option(help="Largest share of records that may be malformed or duplicate.")] = "0.01",
    workers: options.WorkersOption = 1,
    cluster: options.ClusterOption = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted count continues.", show_default=False)
    ] = None,
    format: options.TableFormatOption = TableFormat.text,
    output: Annotated[
        Path | None, typer.Option(help="Output file for the results, .json or .csv.", show_default=False)
    ] = None,
) -> None:
    """Estimate counts, or sums, from users' reports or from what an aggregator released, with confidence intervals.

    \b
    A report is what `ldpaudit schema report` says, bare or as {"report": ..., "id": ...}:
      a line of JSON (.jsonl, .ndjson, .json);
      a row of a CSV file: a column `report`, or `report_0`, `report_1`, ...;
      a row of a Parquet or Arrow file (.parquet, .arrow, .feather): a column `report`.
    Files may end in .gz or .zst besides, and be anywhere: s3://bucket/folder.
    An aggregator's release is {"sum": [...], "users": N} in a file of its own (.json).
    """
    from ldpaudit.errors import LdpauditError, Unsupported
    from ldpaudit.files.reports import Tally
    from ldpaudit.files.whole import write_whole
    from ldpaudit.studies.estimation import Estimates
    from ldpaudit.studies.trees import Tree
    from ldpaudit.workers.experiment import Execution

    share, level = options.number("--refused", refused), options.number("--confidence", confidence)
    if not (0 <= share <= 1 and 0 < level < 1):
        raise ValueError(f"estimate needs --refused in [0, 1] and --confidence in (0, 1), got {refused} and {confidence}")
    if output is not None and output.suffix not in (".json", ".csv"):
        raise ValueError(f"estimate --output needs a file that ends in .json or .csv, got {output.name!r}")
    asked: dict[str, range | Fraction] = {**_ranges(ranges), **_shares(quantiles)}
    if asked and not (post is Post.none and top is None and values is None):
        raise ValueError("estimate with --ranges or --quantiles needs none of --post, --top and --values")
    tally = Tally()
    try:
        with ExitStack() as stack:
            execution = Execution(options.executor(workers, cluster, stack), checkpoint)
            found = _estimates(reports, deployment, tally, execution, Tree if asked else Estimates)
    finally:
        for line in tally.named:
            note(f"left out: {line}")
    if tally.refused > share * (tally.accepted + tally.refused):
        told = f"{tally.malformed} malformed and {tally.duplicate} duplicate records of {tally.accepted + tally.refused}"
        raise LdpauditError(f"needs at most a share of {refused} of records that are left out (--refused), got {told}")
    if isinstance(found, Tree):
        names: list[Any] = [*asked]
        counts, ends = found.answers([*asked.values()], float(level), simultaneous)
        how = ends.how
    else:
        names, counts, ends = _names(values, found), found.processed(post), None
        try:
            how = (ends := found.intervals(float(level), simultaneous)).how
        except Unsupported as error:
            how = error.reason
    order = range(len(counts)) if top is None else counts.argsort(kind="stable")[::-1][:top].tolist()
    rows: list[dict[str, Any]] = []
    for i in order:
        between = {} if ends is None else {"low": float(ends.low[i]), "high": float(ends.high[i])}
        rows.append({"value": names[i], "estimate": float(counts[i]), **between})
    left_out = {"malformed": tally.malformed, "duplicates": tally.duplicate, "left_out": tally.named}
    way = {"post": post.value, "confidence": float(level), "simultaneous": simultaneous}
    data = {"mechanism": str(found.mechanism), "users": found.users, **left_out, **way, "intervals": how, "estimates": rows}
    if top is not None and ends is not None and not simultaneous:
        note("the largest are chosen by their estimates: only --simultaneous intervals hold for these as often as they say")
    head = tuple(rows[0]) if rows else ("value", "estimate")
    cells = [tuple(map(str, row.values())) for row in rows]
    if output is not None:
        written = csv_of([head, *cells]) if output.suffix == ".csv" else json.dumps(data, indent=1, ensure_ascii=False)
        write_whole(output, f"{written}\n")
    say_table(format, head, cells, lambda: data, lambda: _print(data, level=confidence))


def _ranges(text: str | None) -> dict[str, range]:
    """Ranges of values by what they are called; the last value is in its range."""
    found: dict[str, range] = {}
    for each in () if text is None else text.split(","):
        first, colon, last = each.partition(":")
        if not (colon and first.strip().isdecimal() and last.strip().isdecimal() and int(first) <= int(last)):
            raise ValueError(f"estimate --ranges needs first:last, two integers in order, with commas between, got {each!r:.40}")
        found[each] = range(int(first), int(last) + 1)
    return found


def _shares(text: str | None) -> dict[str, Fraction]:
    """Shares of the users by what they are called."""
    found = {} if text is None else {each: options.number("--quantiles", each) for each in text.split(",")}
    if not all(0 < share < 1 for share in found.values()):
        raise ValueError(f"estimate --quantiles needs numbers in (0, 1), got {text}")
    return found


def _estimates(
    arguments: list[str], deployment: Path | None, tally: Tally, execution: Execution, kind: type[Estimates | Tree]
) -> Estimates | Tree:
    """From all that the arguments name."""
    from ldpaudit.adapters.places import is_here
    from ldpaudit.files.deployment import load
    from ldpaudit.files.reports import ReportForm, listed, released
    from ldpaudit.studies.estimation import Estimates, noise_of, unwrapping

    def is_file(name: str) -> bool:
        return not is_here(name) or Path(name).exists()

    parameters = [each for each in arguments if "=" in each and not is_file(each)]
    files = [each for each in arguments if each not in parameters]
    if deployment is None and files and is_file(files[-1]):
        raise ValueError("estimate needs --deployment FILE, or STEM key=value ... behind the files, got neither")
    name = files.pop() if deployment is None and files else None
    m = options.reporting(deployment, name, parameters)
    form, paths = ReportForm.of(m), listed(files)
    numbers = form.numbers if m.summed == "vector" else getattr(m, "cells", len(m.inputs))
    deployed = None if deployment is None else load(deployment)
    sums = released(paths, numbers) if deployed is None else released(paths, numbers, unwrapping(deployed, m))
    if sums is not None and kind is Estimates:
        tally.accepted = sums.users
        return Estimates.of_sum(m, sums, () if deployed is None else noise_of(deployed, sums))
    with progress("reading reports", total=len(paths)) as advance:
        read = 0.0

        def told(accepted: int, files: float) -> None:
            nonlocal read
            advance(f"{accepted:,} reports", files - read)
            read = files

        return kind.of_files(m, paths, tally, replace(execution, progress=told))


def _names(file: Path | None, found: Estimates) -> list[Any]:
    """What the estimates are called."""
    from ldpaudit.adapters import rows
    from ldpaudit.errors import DeploymentError

    if file is None:
        return [".".join(map(str, each)) if isinstance(each, tuple) else each for each in found.values]
    names = list(rows.lines(file))
    if found.mechanism.names_values:
        return [names[x] if x < len(names) else x for x in found.values]
    if len(names) != len(found.counts):
        raise DeploymentError(f"needs {len(found.counts)} names, one a line, got {len(names)}", str(file))
    return names


def _print(data: dict[str, Any], level: str) -> None:
    out = f"; {data['malformed']} malformed and {data['duplicates']} duplicate left out" if data["left_out"] else ""
    say(f"{data['mechanism']}: {data['users']:,} reports{out}")
    rows = data["estimates"]
    if rows and "low" in rows[0]:
        before = "" if data["post"] == "none" else f" before {data['post']}"
        say(f"intervals{before} hold {'all together' if data['simultaneous'] else 'each'} at {level}, {data['intervals']}")
    else:
        say(data["intervals"])
    shown = [(str(row["value"]), *(f"{row[key]:,.1f}" for key in row if key != "value")) for row in rows[:_LINES]]
    if shown:
        say(TableFormat.text.written(("value", "estimate", "from", "to")[: len(shown[0])], shown, left=1))
    if len(rows) > _LINES:
        note(f"{len(rows) - _LINES} more: --top K shows the largest, --format csv all")
