"""What can go wrong, classed by whose fault it is."""

from __future__ import annotations


class LdpauditError(Exception):
    """Base of the errors that a user can act on; its message is one line."""


class DeploymentError(LdpauditError):
    """A file of the user's does not say what a deployment file must say.

    Parameters
    ----------
    message : str
        What was required and what was found.
    file : str
        Where it was read.
    line : int or None
        1-based line, where it is known.
    key : str
        Dotted key, such as ``mechanism.p``.
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


class ImplementationError(LdpauditError):
    """The audited code raised, hung, or returned what it never may.

    Parameters
    ----------
    message : str
        What happened.
    inputs : object
        The input on which it happened, where it was one.
    """

    def __init__(self, message: str, *inputs: object) -> None:
        self.inputs = inputs
        super().__init__(f"on input {inputs[0]!r}: {message}" if inputs else message)


class ProofError(LdpauditError):
    """A step of a theorem of ours does not check.

    Parameters
    ----------
    step : str
        The step's reason, as the proof states it.
    remainder : object
        What was left over.
    """

    def __init__(self, step: str, remainder: object) -> None:
        self.step, self.remainder = step, remainder
        super().__init__(f"step {step!r} does not check: {remainder} is left over")


def of_the_user(error: BaseException) -> bool:
    """Whether an error says what a user did: one of ours, or one of Python's that we raised about a value.

    Any other is a fault of ours.
    """
    return isinstance(error, LdpauditError | ValueError) or (isinstance(error, TypeError) and _raised_by_us(error))


def _raised_by_us(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and "ldpaudit" in str(trace.tb_frame.f_globals.get("__name__", ""))
