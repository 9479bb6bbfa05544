"""``ldpaudit run``: a system on users' data in parts."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import Format, FormatOption, NameArgument, ParametersArgument, mechanism
from ldpaudit.commands.output import progress, say, say_json


def run(
    name: NameArgument,
    parameters: ParametersArgument = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Users' values: a text, CSV, Parquet or Arrow file, or a folder of such; repeatable.", metavar="PLACE"),
    ] = None,
    column: Annotated[str, typer.Option(help="Of values, in a table; by default the first.", show_default=False)] = "",
    counts: Annotated[
        str, typer.Option(help="Column with the number of users; by default a row is one user.", show_default=False)
    ] = "",
    end: Annotated[str, typer.Option(help="Symbol that ends every word, such as '$'.", show_default=False)] = "",
    numbered: Annotated[
        bool, typer.Option("--numbered", help="Encode words as numbers by their first 7 bytes, for at least 2**56 values.")
    ] = False,
    passes: Annotated[
        int | None,
        options.whole_number("TrieHH reads data at most so often after counting users; by default once a level.", least=1),
    ] = None,
    workers: options.WorkersOption = 1,
    cluster: options.ClusterOption = None,
    dask: Annotated[str | None, typer.Option(help="As --cluster, for a Dask scheduler.", show_default=False)] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted run continues; as secret as the coins.", show_default=False)
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Output file for the result, as JSON.", show_default=False)] = None,
    seed: Annotated[
        int | None,
        options.whole_number(
            "Simulate with coins that this seed reproduces. By default coins come from the operating system, and are secret.",
            least=0,
        ),
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Run a heavy-hitter system on users' data in parts, on this machine or on a cluster.

    \b
    A user is
      a line of a text file (.txt), ended by LF or CR LF alone and never empty;
      a row of a CSV file (.csv) after the header, with a value for each column;
      a row of a Parquet file (.parquet) or Arrow file (.arrow), without nulls;
      with --counts, a row is as many users as that column says.
    Files may end in .gz or .zst besides, and be anywhere: s3://bucket/folder.
    Anything else is an error that names the file, and the line where there are lines.
    """
    from ldpaudit.core.partitions import Partition
    from ldpaudit.files.user_data import text_of
    from ldpaudit.files.whole import write_whole
    from ldpaudit.workers import runs, shards
    from ldpaudit.workers.experiment import Execution

    if not data:
        raise ValueError("run needs --data FOLDER or --data FILE, got none")
    if dask is not None and (workers != 1 or cluster is not None):
        raise ValueError(f"run needs --{'cluster' if cluster else 'workers'} or --dask, got both")
    m, partition = mechanism(name, parameters), shards.shards(data, column, counts, end)
    if numbered:
        partition = Partition(tuple(map(shards.Numbered, partition.parts)))
    with ExitStack() as stack:
        advance = stack.enter_context(progress("counting users"))
        executor = options.executor(workers, cluster or dask, stack)
        told = Execution(executor, checkpoint, lambda parts, rounds: advance(f"{parts} answers, {rounds:.2f} rounds"))
        found = _listed(runs.run(m, partition, seed, told, passes))
    if numbered:  # pairs of a number and its users, or numbers: the words of which they are the first bytes
        found = [[text_of(each[0]), *each[1:]] if isinstance(each, list) else each for each in found]
    told_of = {} if seed is None else {"seed": seed}
    data_found = {"system": str(m), "simulation": seed is not None, **told_of, "found": found}
    if output is not None:
        write_whole(output, json.dumps(data_found, indent=1, ensure_ascii=False) + "\n")
    if format is Format.json:
        say_json(data_found)
        return
    if seed is not None:
        say(f"simulation: whoever knows the seed, {seed}, can draw every coin again; leave --seed out to deploy")
    say(f"{m}: {len(found)} found", *("  ".join(map(str, x)) if isinstance(x, list) else str(x) for x in found))


def _listed(found: Any) -> list[Any]:
    """Plain data: values in their order, or pairs of a value and its number, most frequent first; of a table its rows."""
    import numpy as np

    if isinstance(found, Mapping):
        return [[value, number] for value, number in found.items()]
    if isinstance(found, frozenset):
        return [list(each) if isinstance(each, tuple) else each for each in sorted(found)]
    return list(np.asarray(found).tolist())
