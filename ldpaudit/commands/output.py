"""What commands print: results on standard output, progress and everything else on standard error."""

import codecs
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from ldpaudit.display.visible import visible, visible_json
from ldpaudit.errors import ImplementationError
from ldpaudit.report.printer import Cells, TableFormat


def say(*lines: str) -> None:
    """Print lines of results; without any, an empty one."""
    print(visible("\n".join(lines), kept="\n"))  # noqa: T201


def say_json(data: Any) -> None:
    """Print results as JSON, an infinite number as "inf": JSON has none."""
    print(visible_json(json.dumps(_finite(data), indent=2, ensure_ascii=False)))  # noqa: T201


def say_table(
    format: TableFormat, head: Cells, rows: Iterable[Cells], data: Callable[[], Any], text: Callable[[], None] | None = None
) -> None:
    """Print a table in its format: as JSON the data, and as text what the command says in its own way, if it has one."""
    if format is TableFormat.json:
        say_json(data())
    elif format is TableFormat.text and text is not None:
        text()
    else:
        say(format.written(head, rows))


def say_sources(texts: Iterable[str]) -> None:
    """Print BibTeX entries of the sources that these texts cite."""
    from ldpaudit.studies.bibliography import cited

    say("\n\n".join(each.bibtex for each in cited(texts)))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def require_every_letter() -> None:
    """Let streams of a locale that has few letters write the others as JSON does, in place of an error after the work is done."""

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error("ldpaudit.escaped", escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="ldpaudit.escaped")


def note(line: str) -> None:
    """Print a line that is no result, on standard error."""
    with suppress(OSError, ValueError):  # nobody reads it: that is no fault
        print(f"ldpaudit: {visible(line)}", file=sys.stderr)  # noqa: T201


def require_drawable(path: Path | None) -> None:
    """Refuse a picture that cannot be drawn there before anything is computed for it; see `ldpaudit.report.plot.require`."""
    if path is not None:
        from ldpaudit.report.plot import require

        require(path)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Any]:
    """A bar on standard error, where that is a terminal; yields a function that advances it.

    What audited code prints meanwhile goes there too: standard output is for the results.

    Raises ImplementationError where standard output is closed in the end: what is opened next would get its number.
    """
    was_open = _is_open(1)
    with redirect_stdout(sys.stderr), _bar(title, total) if _is_terminal() else nullcontext(lambda *_, **__: None) as advance:
        yield advance
    if was_open and not _is_open(1):
        raise ImplementationError("needs code that leaves standard output open, but it closed descriptor 1")


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Any]:
    from rich.console import Console  # here: it takes a while to import
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda description=title, step=1: shown.update(task, description=visible(description), advance=step)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def console() -> Any:
    """A console on standard output; a pipe gets the width that a terminal of 80 columns would have."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=80)
