"""Plain functions as samplers."""

import inspect
import marshal
import signal
import sys
import threading
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.objects import as_callable
from ldpaudit.core.nearest import or_rather
from ldpaudit.errors import ImplementationError, Stopped, in_users_code, is_fault, shown
from ldpaudit.mechanism import Mechanism, Views, is_ours
from ldpaudit.plan import Plan

PATIENCE = 20.0  # seconds that a single report may take before the callable is said to hang
START = 3
"""How many times its patience the first answer of all may take: programs start before it, and functions compile and load."""

LARGEST = 1 << 20  # numbers and characters that one report may have, all together, and bits that one integer may have

_UNCHANGING = frozenset({bool, int, float, complex, str, bytes, type(None), np.bool_, np.int64, np.float64})
"""Types of reports that nobody can change after they were returned; the usual ones, for speed."""

ROW = 32
"""Numbers that take longer to be read one by one than by `in_a_row`."""
_HEAD = 5  # bytes of a type and a length
_CODES: dict[type, tuple[bytes, np.dtype[Any]]] = {
    bool: (b"TF", np.dtype("u1")),
    int: (b"i", np.dtype([("code", "u1"), ("value", "<i4")])),
    float: (b"g", np.dtype([("code", "u1"), ("value", "<f8")])),
}
"""How `marshal` writes numbers of these types: what each begins with, and its bytes."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """What an iterator gave, and what it was: a zip, a generator, the bytes of a view of memory."""

    kind: str
    parts: list[Any] | bytes


ITERATED = (Iterator, KeysView, ValuesView, ItemsView)  # of whose values only what they give can be kept

CONTAINERS = (list, tuple, set, frozenset)  # whose parts are looked at; of a dictionary its values are

Sampler = Callable[[Any, int, np.random.Generator], Views]


def as_sampler(implementation: Mechanism | Callable[..., Any]) -> Sampler:
    """``(x, size, rng) -> views`` from a mechanism, from a callable of that form, or from ``x -> report``.

    Raises TypeError where it is none of these.
    """
    if isinstance(implementation, Mechanism):
        sample = implementation.sample
        return sample if is_ours(implementation) else lambda x, size, rng: as_it_is_now(sample(x, size, rng), x)
    if not callable(implementation):
        raise TypeError(f"an implementation needs a callable, got {type(implementation).__name__}")
    if positional(implementation) >= 3:
        return lambda x, size, rng: call(lambda value: implementation(value, size, rng), x)
    return lambda x, size, rng: stack([call(implementation, x) for _ in range(size)], x)


def resolve(name: str) -> Callable[..., Any]:
    """The callable that ``module:attribute`` names.

    Raises ImplementationError where it cannot be imported, or is not callable.
    """
    found: Callable[..., Any] = _imported(name)
    if not callable(found):
        raise ImplementationError(f"needs a callable, got {type(found).__name__} at {name}")
    return found


def resolve_audited(name: str) -> Callable[..., Any] | Plan | Mechanism:
    """What ``module:attribute`` names, where it can be audited: a callable, an object with a method that is one, or a plan or
    mechanism of ours.

    Raises ImplementationError where it cannot be imported, or is none of these.
    """
    found: Callable[..., Any] | Plan | Mechanism = _imported(name)
    if isinstance(found, Plan | Mechanism):
        return found
    try:
        return as_callable(found)
    except TypeError as error:
        raise ImplementationError(f"{error}, at {name}") from None


def resolve_system(name: str, called: bool = False) -> Any:
    """What ``module:attribute`` names, where it is a whole system: anything with a method ``run(data, rng)``.

    ``called``: a function will do, too.

    Raises ImplementationError where it cannot be imported, or has no such method.
    """
    found = _imported(name)
    if isinstance(found, type) or not (callable(getattr(found, "run", None)) or (called and callable(found))):
        raise ImplementationError(f"needs a system with a method run(data, rng), got {type(found).__name__} at {name}")
    return found


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if "/" in module or module.endswith(".py"):
        as_is = f"; write {module.removesuffix('.py')}:{attribute or 'CALLABLE'}" if "/" not in module else ""
        raise ImplementationError(f"needs MODULE:CALLABLE with an importable module name, got the path {module!r}{as_is}")
    if not module or not attribute:
        raise ImplementationError(f"needs MODULE:CALLABLE, such as mypackage.rappor:randomize, got {name!r}")
    try:
        found = import_module(module)
        _require_first(module.partition(".")[0])
        for part in attribute.split("."):
            found = getattr(found, part)
    except BaseException as error:  # whatever the user's module raises while it is imported
        if _asks_to_stop(error):
            raise
        raise ImplementationError(f"cannot import {name}: {named(error)}{_not_there(error, module)}") from error
    return found


def _not_there(error: BaseException, module: str) -> str:
    """What was probably meant by a name that a module does not have, or where a module is looked for; else nothing."""
    if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
        return "; it is looked for in this folder and among the installed packages"
    if isinstance(error, AttributeError) and error.obj is sys.modules.get(module):
        return or_rather(error.name, vars(error.obj))
    return ""


def _require_first(name: str) -> None:
    """A module of the user's that has the name of one that was loaded before would never be looked at."""
    loaded, first = getattr(sys.modules[name], "__file__", None), PathFinder.find_spec(name)
    if first is None or not (first.has_location and first.origin):
        return
    if loaded is None or Path(loaded).resolve() != Path(first.origin).resolve():
        found = f"{first.origin}, but {loaded or 'a part of Python'} was loaded before"
        raise ImportError(f"needs a module with a unique name, got {name!r} at {found}")


def positional(function: Callable[..., Any]) -> int:
    """How many positional arguments a callable requires; 1 where it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def call(function: Callable[[Any], Any], x: Any) -> Any:
    """One report, as it is when it is returned.

    Raises ImplementationError where the callable raises, or returns None or what cannot be copied.
    """
    return as_it_is_now(_returned(function, x), x)


def _returned(function: Callable[[Any], Any], x: Any) -> Any:
    try:
        report = function(x)
    except ImplementationError:  # an adapter's, which says what happened
        raise
    except BaseException as error:  # code that ends the program would end the audit as if it had passed
        if _asks_to_stop(error) or is_fault(error):
            raise
        raise ImplementationError(f"the callable raised {named(error)}", x) from error
    if report is None:
        raise ImplementationError("the callable needs to return a report, got None", x)
    return report


def as_it_is_now(report: Any, x: Any) -> Any:
    """A copy: code may return one object again and again, and change what earlier reports say.

    Raises ImplementationError where it cannot be copied, and where an array has a mask, which nobody would look at.
    """
    try:
        return _copied(report, x)
    except ImplementationError:
        raise
    except Exception as error:
        if inspect.iscoroutine(report):
            report.close()  # or Python warns that nobody awaited it
            raise ImplementationError("needs a callable that returns a report, got one that is async", x) from None
        raise ImplementationError(f"needs reports that can be copied, got {type(report).__name__}: {named(error)}", x) from error


def _copied(part: Any, x: Any) -> Any:
    kind = type(part)
    if kind in _UNCHANGING:
        return part
    if kind is list or kind is tuple:
        return kind(part if _UNCHANGING.issuperset(map(type, part)) else [_copied(each, x) for each in part])
    if kind is dict:
        return {key: _copied(each, x) for key, each in part.items()}
    if isinstance(part, np.ma.MaskedArray):
        raise ImplementationError("needs arrays without a mask, got a masked array", x)
    if kind is np.ndarray and not part.dtype.hasobject:
        return part.copy(order="K")  # in memory as it was
    if isinstance(part, ITERATED):
        # Whoever sends it consumes it; whether it was a list or an iterator shows in how it is sent.
        if len(parts := list(islice(part, LARGEST + 1))) > LARGEST:
            raise ImplementationError(f"needs reports of at most {LARGEST} numbers or characters, got a {kind.__name__} of more", x)
        return Consumed(kind.__name__, [_copied(each, x) for each in parts])
    return Consumed(kind.__name__, part.tobytes()) if kind is memoryview else deepcopy(part)


class Reports(list[Any]):
    """Copies of reports, and beside each its numbers if it is a row of them, so that their types are told once."""

    def __init__(self) -> None:
        self.rows: list[NDArray[Any] | None] = []

    def add(self, report: Any, x: Any) -> None:
        """One more, on this input, as it is when it is returned."""
        row = in_a_row(report)
        self.rows.append(row)
        self.append(as_it_is_now(report, x) if row is None else type(report)(report))


def in_a_row(part: Any) -> NDArray[Any] | None:
    """A list or tuple of `ROW` numbers or more, all booleans, integers of 32 bits or floats of Python's own; else None.

    Python writes each with its exact type before it, in as many bytes as all of this type: where there are only such types,
    one call has told what a look at each would.
    """
    if type(part) not in (list, tuple) or len(part) < ROW or (code := _CODES.get(kind := type(part[0]))) is None:
        return None
    if kind is int and part[0].bit_length() > 31:
        return None
    try:
        told = marshal.dumps(part, 2)  # the last version that writes each number where it stands
    except ValueError:
        return None
    codes, made = code
    if told[_HEAD :: made.itemsize].translate(None, codes):  # a number of another type, or what is none
        return None
    held = np.frombuffer(told, made, offset=_HEAD)
    return held == ord("T") if made.names is None else held["value"].astype(np.int64 if kind is int else np.float64)


def _asks_to_stop(error: BaseException) -> bool:
    """Whether it was not the code that raised it, but somebody who wants the whole audit to end."""
    pressed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return isinstance(error, Stopped) or (isinstance(error, KeyboardInterrupt) and pressed)


def named(error: BaseException) -> str:
    """An error of other people's in words, where it has any, and the line of their code."""
    try:
        words = f": {error}" if str(error) else ""
    except Exception:  # whatever its own words raise
        words = ""
    at = "" if isinstance(error, SyntaxError) else in_users_code(error)  # Python's words of that name the line
    return f"{type(error).__name__}{words}{f' ({at})' if at else ''}"


def one_by_one(function: Callable[..., Any]) -> bool:
    """Whether it makes one report after the other, so that it is up to us on which input each is; see `in_order`."""
    return positional(function) < 3 or hasattr(function, "in_order")


def in_order(function: Callable[..., Any], xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
    """One report after the other, on the inputs at these places; put together for each input. Raises as `call`."""
    if (own := getattr(function, "in_order", None)) is not None:
        made: list[list[Any]] = own(xs, order)
        return made
    reports = [Reports() for _ in xs]
    for place in order:
        reports[place].add(_returned(function, xs[place]), xs[place])
    return list(reports)


def stack(reports: list[Any], x: Any) -> Views:
    """Reports as one array, the first axis counting reports.

    Raises ImplementationError where they do not all have one shape.
    """
    try:
        return np.asarray(reports)
    except (ValueError, RecursionError) as error:
        raise ImplementationError(f"needs reports of one shape, got {shown(reports[0], 60)}, ...", x) from error


def probe(function: Callable[[Any], Any], x: Any, patience: float = PATIENCE, *, times: int = 1) -> Any:
    """One report, or an error where none comes in time; `START` times as long where it is the first of all.

    Raises ImplementationError where the callable raises, returns None or what is too large, or does not return within
    `patience` seconds, or `times` as many.
    """
    reports: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            reports.append(_returned(function, x))
        except BaseException as error:
            raised.append(error)

    # A daemon: a function that hangs cannot be stopped, but it does not keep the program from ending.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(times * patience)
    if raised:
        raise _with_a_hint(raised[0], x)
    if not reports:
        told = f"needs a report within {times * patience:g} s, got none: the callable hangs, or is still compiling or loading"
        raise ImplementationError(f"{told} (--patience gives it longer)", x)
    if _is_large(reports[0]):
        raise ImplementationError(f"needs reports of at most {LARGEST} numbers or characters, got a larger one", x)
    return as_it_is_now(reports[0], x)


def _with_a_hint(error: BaseException, x: Any) -> BaseException:
    """What code raised of its first report on an input, which it may not be meant for."""
    cause = error.__cause__
    if not isinstance(cause, ValueError | LookupError | TypeError | AssertionError):
        return error
    hint = "if this input is not one of the code's, name two that are as inputs, or with --inputs"
    found = ImplementationError(f"the callable raised {named(cause)}; {hint}", x)
    found.__cause__ = cause
    return found


def _is_large(report: Any) -> bool:
    """Whether a report has too many parts to be compared with others; what is not Python's own is not looked into."""
    parts, left = [report], LARGEST
    while parts and left >= 0:
        part = parts.pop()
        inside = part.values() if type(part) is dict else part if type(part) in CONTAINERS else None
        left -= _extent(part) if inside is None else 1
        if inside is not None and len(inside) <= left:
            parts.extend(inside)
        elif inside is not None:
            return True
    return left < 0


def _extent(part: Any) -> int:
    """How many numbers or characters one part is; of an integer its bits, where they are too many."""
    if type(part) is int:
        return bits if (bits := part.bit_length()) > LARGEST else 1
    if type(part) is np.ndarray:
        return part.size
    return len(part) if type(part) in (str, bytes, bytearray) else 1


def prober(function: Callable[..., Any], patience: float | None = None, first: bool = False) -> Callable[..., Any]:
    """`probe`, or `call` for a callable with a patience of its own, such as a program that has to start first.

    ``patience``: in seconds; None for the usual; ``first``: whether nothing was asked of the callable before.
    """
    if hasattr(function, "patience"):
        return call
    times = START if first else 1
    return partial(probe, times=times) if patience is None else partial(probe, patience=patience, times=times)
