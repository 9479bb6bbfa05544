"""``ldpaudit run``: a system on users' data in parts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpaudit.commands.options import Format, FormatOption, NameArgument, ParametersArgument, mechanism
from ldpaudit.commands.output import progress, say, say_json

_CLUSTER_RETRIES = 10
"""Times that a cluster may lose what it is doing for one part."""


def run(
    name: NameArgument,
    parameters: ParametersArgument = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Users' values: a folder of text, CSV or Parquet files, or a file; may be given again."),
    ] = None,
    column: Annotated[str, typer.Option(help="Of values, in CSV and Parquet; by default the first.", show_default=False)] = "",
    counts: Annotated[
        str, typer.Option(help="Column that says how many users hold a value; by default a row is a user.", show_default=False)
    ] = "",
    end: Annotated[str, typer.Option(help="What every word is ended with, such as '$'.", show_default=False)] = "",
    numbered: Annotated[
        bool, typer.Option("--numbered", help="Words are numbers of their first 7 bytes: for systems on 2**56 values or more.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes of this machine.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, in place of --workers (extra 'dist').", show_default=False)
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which the run goes on; as secret as the coins.", show_default=False)
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File for what is found, as JSON.", show_default=False)] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Simulate: of this seed all coins can be drawn again. By default they are the operating system's, and secret.",
            min=0,
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Run a heavy-hitter system on users' data in parts, on this machine or on a cluster.

    \b
    A user is
      a line of a text file (.txt), ended by LF or CR LF alone and never empty;
      a row of a CSV file (.csv) after the header, with a value for each column;
      a row of a Parquet file (.parquet), without nulls;
      with --counts, a row is as many users as that column says.
    Anything else is an error that names the file, and the line where there are lines.
    """
    from ldpaudit import runs, shards
    from ldpaudit.experiment import Execution
    from ldpaudit.partitions import Partition
    from ldpaudit.report import found as report
    from ldpaudit.report.files import write_whole

    if not data:
        raise ValueError("run needs --data FOLDER or --data FILE, got none")
    if dask is not None and workers != 1:
        raise ValueError("run needs --workers or --dask, got both")
    m, partition = mechanism(name, parameters or []), shards.shards(data, column, counts, end)
    if numbered:
        partition = Partition(tuple(map(shards.Numbered, partition.parts)))
    with ExitStack() as stack:
        advance = stack.enter_context(progress("counting users"))
        executor = _executor(workers, dask, stack)
        told = Execution(executor, checkpoint, lambda parts, rounds: advance(f"{parts} answers, {rounds:.2f} rounds"))
        found = report.listed(runs.run(m, partition, seed, told))
    found = report.spelled(found) if numbered else found
    told_of = {} if seed is None else {"seed": seed}
    data_found = {"system": str(m), "simulation": seed is not None, **told_of, "found": found}
    if output is not None:
        write_whole(output, report.as_json(data_found))
    if format is Format.json:
        say_json(data_found)
        return
    if seed is not None:
        say(f"simulation: whoever knows the seed, {seed}, can draw every coin again; leave --seed out to deploy")
    say(f"{m}: {len(found)} found")
    for line in report.lines(found):
        say(line)


def _executor(workers: int, dask: str | None, stack: ExitStack) -> Any:
    """Who answers for the parts; None for this process."""
    from ldpaudit.errors import LdpauditError
    from ldpaudit.worker_processes import Processes

    if dask is None:
        return stack.enter_context(Processes(workers)) if workers > 1 else None
    try:
        from distributed import Client
    except ImportError:
        raise LdpauditError("--dask needs the package distributed: install ldpaudit[dist]") from None
    try:
        client = stack.enter_context(Client(dask))
    except (OSError, ValueError) as error:
        raise LdpauditError(f"--dask {dask}: needs a scheduler that answers: {error}") from None
    return client.get_executor(retries=_CLUSTER_RETRIES)
