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
    design,
    limit,
    mechanisms,
    prove,
    table,
    verify,
)
from ldpaudit.commands.output import note
from ldpaudit.errors import of_the_user

VERBS = (
    certify.certify,
    account.account,
    design.design,
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

INTERRUPTED = 130
"""How a program ends that Ctrl-C ended, as shells have it; not 1, which says that a claim is refuted."""

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
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if of_the_user(error):
            note(" ".join(str(error).split()))
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
