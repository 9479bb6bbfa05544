"""What can go wrong, classed by whose fault it is."""

import reprlib
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from opcode import opmap
from pathlib import Path
from types import TracebackType

_PARTED = (list, tuple, set, frozenset, dict)
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = _SHORT.maxdict = 100
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 1000


MOST_SHOWN = 1000  # characters of an input that an error shows


def shown(value: object, most: int) -> str:
    """The first characters of a value as Python writes it; only its type, where it cannot be written.

    ``value``: other people's: its own `__repr__` may raise, or need that of a million parts; ``most``: characters; of
    parts inside each other, far fewer are looked at than it may have.
    """
    try:
        return f"{_SHORT.repr(value) if isinstance(value, _PARTED) else repr(value):.{most}}"
    except Exception:  # whatever its own words raise
        return f"a {type(value).__name__}"


class LdpauditError(Exception):
    """Base of the errors that a user can act on; its message is one line."""


class DeploymentError(LdpauditError):
    """A file of the user's does not say what a deployment file must say.

    ``message``: what was required and what was found; ``file``: where it was read; ``line``: 1-based line, where it is
    known; ``key``: dotted key, such as ``mechanism.p``.
    """

    def __init__(self, message: str, file: str, line: int | None = None, key: str = "") -> None:
        self.file, self.line, self.key = file, line, key
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {key}: {message}" if key else f"{where}: {message}")


class Unsupported(LdpauditError):  # noqa: N818 - it is a value that certificates print as often as it is raised
    """Our limit: this node of a plan is beyond what a stage can answer.

    Parameters
    ----------
    node : object
        The mechanism, plan or relation.
    reason : str
        Why, and what would be needed.
    """

    def __init__(self, node: object, reason: str) -> None:
        self.node, self.reason = node, reason
        super().__init__(f"{node}: {reason}")


class Stopped(BaseException):
    """This process was asked to end: nobody's fault, and nothing that audited code may be blamed for, or catch.

    ``number``: the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class ImplementationError(LdpauditError):
    """The audited code raised, hung, or returned what it never may.

    ``message``: what happened; ``inputs``: the input on which it happened, where it was one.
    """

    def __init__(self, message: str, *inputs: object) -> None:
        self.inputs = inputs
        super().__init__(f"on input {shown(inputs[0], MOST_SHOWN)}: {message}" if inputs else message)


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Whatever an installed package raises while it is imported is one error, which says what needs it."""
    try:
        yield
    except Exception as error:
        raise ImplementationError(f"{what}: {type(error).__name__}: {error}") from error


class Contradiction(LdpauditError):  # noqa: N818 - an internal error: two testimonies of ours of which one must be false
    """A checked proof and a certified enclosure of the same number do not agree; no verdict can be had of either."""


class ProofError(LdpauditError):
    """A step of a theorem of ours does not check.

    ``step``: the step's reason, as the proof states it; ``remainder``: what was left over.
    """

    def __init__(self, step: str, remainder: object) -> None:
        self.step, self.remainder = step, remainder
        super().__init__(f"step {step!r} does not check: {remainder} is left over")


OUT_OF_MEMORY = "needs more memory than there is"


def of_the_user(error: BaseException) -> bool:
    """Whether an error says what a user did or what the machine lacks: ours, one of Python's that we raised about a value,
    or one of files or memory.

    Any other is a fault of ours, also a ValueError that arose where we meant to raise none.
    """
    if isinstance(error, LdpauditError | OSError | MemoryError | UnicodeError):
        return True
    # The frames of another process stay there: its ValueError is taken for one that was meant.
    if isinstance(error, ValueError) and (type(error.__cause__).__name__ == "_RemoteTraceback" or in_users_code(error)):
        return True
    return isinstance(error, ValueError | TypeError) and _is_meant(error)


def is_fault(error: BaseException) -> bool:
    """Whether an error that audited code seems to raise arose in our own code, where we meant to raise none.

    The frame of whoever caught it is the first; adapters only call code of other people's.
    """
    entered = [trace.tb_frame.f_globals.get("__name__", "") for trace in list(_traces(error))[1:]]
    ours = bool(entered) and _is_ours(entered[0]) and not entered[0].startswith("ldpaudit.adapters")
    return ours and not _is_meant(error) and not in_users_code(error)


def _is_meant(error: BaseException) -> bool:
    """Whether the innermost frame is ours, and raised the error by a statement of its own."""
    *_, trace = [None, *_traces(error)]
    if trace is None or not _is_ours(trace.tb_frame.f_globals.get("__name__", "")):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]


def in_users_code(error: BaseException) -> str:
    """The innermost line that we called and that is neither ours nor a library's, as ``file:line``; empty where there is none."""
    found, called = "", False
    for trace in _traces(error):
        file, ours = trace.tb_frame.f_code.co_filename, _is_ours(trace.tb_frame.f_globals.get("__name__", ""))
        if called and not (ours or file.startswith((*_libraries(), "<"))):
            found = f"{_from_here(file)}:{trace.tb_lineno}"
        called = called or ours  # what comes before is whoever called us
    return found


def fault(error: BaseException) -> str:
    """A fault of ours in a line: what, and the innermost place."""
    *_, place = ["", *(f" ({each.tb_frame.f_code.co_filename}:{each.tb_lineno})" for each in _traces(error))]
    return " ".join(f"internal error of ldpaudit, please report it: {type(error).__name__}: {error}{place}".split())


def _traces(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_ours(module: object) -> bool:
    return str(module).partition(".")[0] == "ldpaudit"


@cache
def _libraries() -> tuple[str, ...]:
    """Folders of Python's own modules and of installed packages."""
    return tuple({sysconfig.get_paths()[each] for each in ("stdlib", "platstdlib", "purelib", "platlib")})


def _from_here(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def in_a_line(error: BaseException) -> str:
    """What an error says, on one line; of memory that is missing Python says little or nothing, and of files it says codes."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {without_file(error)}"
    words = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"{OUT_OF_MEMORY}: {words}" if words else OUT_OF_MEMORY
    return words


def without_file(error: BaseException) -> str:
    """What an error says, behind the name of the file."""
    return error.strerror if isinstance(error, OSError) and error.strerror else in_a_line(error)
