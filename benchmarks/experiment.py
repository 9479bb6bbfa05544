"""What experiments share: options of the command line, tables whose rows are printed as they come, times, exponents, pictures.

An experiment is its question (the module's docstring), its settings (constants), a function that measures one of them, and the
columns of its table.
"""

import argparse
import multiprocessing
import re
import resource
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Row = TypeVar("Row", bound=Sequence[Any])


def options(doc: str | None, names: Collection[str] | None = None, **defaults: Any) -> argparse.Namespace:
    """The arguments of the command line: an option for each default, and words that must be among `names`.

    A type in place of a default is that of an option that may be missing; False is a switch, a list takes several
    words, and a number may be written as 1e6.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if names is not None:
        parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(names)}; all by default")
    for name, default in defaults.items():
        how: dict[str, Any]
        match default:
            case False:
                how = {"action": "store_true"}
            case type():
                how = {"type": default}
            case [str(), *_]:
                how = {"nargs": "*", "choices": default, "default": default}
            case list():
                how = {"nargs": "*", "type": type(default[0]), "default": default}
            case int():
                how = {"type": _whole, "default": default}
            case _:
                how = {"type": type(default), "default": default}
        parser.add_argument(f"--{name}", **how)
    given = parser.parse_intermixed_args()
    if names is not None and (unknown := [name for name in given.names if name not in names]):
        parser.error(f"names are of {', '.join(names)}, got {', '.join(unknown)}")
    return given


def _whole(text: str) -> int:
    return int(float(text))


def say(lines: Iterable[str]) -> None:
    """Print lines as they are made."""
    for line in lines:
        print(line, flush=True)


_NUMBER = re.compile(r">?(?P<width>\d*)([,.].*|[a-z%])")
_FIELD = re.compile(r"\{([^{}]*?)(?::([^:{}]*))?\}")
"""A column's name, which may have a colon itself, and how its values are written."""


def show(columns: str, rows: Iterable[Row]) -> list[Row]:
    """Print a table as its rows are made; the rows.

    The fields of `columns` are named as the columns are, and written as the values of a row are; text in a column of numbers
    is set to the right.
    """
    *parts, end = _FIELD.split(columns)
    fields = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))

    def line(cells: Sequence[Any]) -> str:
        return "".join(before + _cell(each, spec) for (before, _, spec), each in zip(fields, cells, strict=True)) + end

    print(line([name for _, name, _ in fields]), flush=True)
    shown = []
    for row in rows:
        print(line(row), flush=True)
        shown.append(row)
    return shown


def _cell(value: Any, spec: str | None) -> str:
    if isinstance(value, str) and (number := _NUMBER.fullmatch(spec or "")):
        spec = f">{number['width']}"
    return format(value, spec or "")


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and the seconds of the processor that it took."""
    start = time.process_time()
    return call(), time.process_time() - start


def apart(call: Callable[[], T], seconds: int, memory: int = resource.RLIM_INFINITY) -> T | None:
    """What a call returns in a process of its own; None where that was stopped, after these seconds of a processor or otherwise.

    ``memory``: bytes of addresses that it may have.
    """
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def answer() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        there.send(call())

    process = multiprocessing.get_context("fork").Process(target=answer, daemon=True)
    process.start()
    there.close()
    try:
        found: T | None = here.recv()
    except EOFError:
        found = None
    process.join()
    return found


def times(call: Callable[[], object], repeats: int = 3) -> list[float]:
    """The seconds of the processor of each of a few calls, the fewest first: the machine has other things to do."""
    return sorted(timed(call)[1] for _ in range(repeats))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def growth(title: str, sizes: Sequence[float], of: Callable[[Any], float], claimed: str) -> str:
    """A quantity over sizes, with its exponent beside the one that is claimed, if any is."""
    values = [of(size) for size in sizes]
    cells = "  ".join(f"{size:{'.0e' if size >= 100 else '.3g'}}: {value:.3g}" for size, value in zip(sizes, values, strict=True))
    beside = f", claimed {claimed:12}" if claimed else "  "
    return f"{title:44}exponent {exponent(sizes, values):5.2f}{beside}{cells}"


@contextmanager
def picture(file: Path, size: tuple[float, float], salt: str) -> Iterator[Any]:
    """A figure that is written to a file in the end: the same bytes for the same data and matplotlib."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": salt}):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
