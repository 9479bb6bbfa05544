"""The command line: one file a verb, each thin; no mathematics, no decisions."""

from __future__ import annotations

import sys
import traceback

import typer

from ldpaudit.commands import (
    account,
    accuracy,
    audit,
    calibrate,
    certify,
    check,
    claims,
    limit,
    mechanisms,
    prove,
    table,
    verify,
)
from ldpaudit.errors import LdpauditError

VERBS = (
    certify.certify,
    account.account,
    audit.audit,
    check.check,
    calibrate.calibrate,
    table.table,
    limit.limit,
    claims.claims,
    accuracy.accuracy,
    prove.prove,
    mechanisms.mechanisms,
    verify.verify,
)
"""In the order of ``ldpaudit --help``."""

app = typer.Typer(
    name="ldpaudit",
    help="Is this deployment as private as it says, and how do we know?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _verb in VERBS:
    app.command()(_verb)


def main() -> None:
    """Run a command; an error of the user's or of the audited code is one line, and exit code 2."""
    try:
        app(spread(sys.argv[1:]))
    except Exception as error:
        if isinstance(error, LdpauditError | ValueError) or (isinstance(error, TypeError) and _raised_by_us(error)):
            print(f"ldpaudit: {' '.join(str(error).split())}", file=sys.stderr)  # noqa: T201
        else:
            traceback.print_exc()  # and not 1, with which Python ends: that says that a claim is refuted
        sys.exit(2)


def spread(arguments: list[str]) -> list[str]:
    """``--inputs 0 1`` as the option given twice, which is what the parser takes."""
    spread_out: list[str] = []
    several = False
    for argument in arguments:
        option = argument.startswith("-") and not _is_number(argument)
        if several and not option:
            spread_out += ["--inputs", argument]
            continue
        several = argument == "--inputs"
        spread_out += [] if several else [argument]
    return spread_out


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _raised_by_us(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and "ldpaudit" in str(trace.tb_frame.f_globals.get("__name__", ""))
