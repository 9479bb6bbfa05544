"""The command line: verbs by what they are about, each thin; no mathematics, no decisions."""

import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache, wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from ldpaudit.commands import (
    account,
    audit,
    catalogue,
    certify,
    check,
    claims,
    clients,
    design,
    estimate,
    registry,
    running,
    sweep,
    verify,
)
from ldpaudit.commands.ending import CLOSED, FAULT, SIGNALLED, OutputClosed, results_apart, stopped_by_signals, supervised
from ldpaudit.commands.output import note, require_every_letter, say
from ldpaudit.commands.usage import in_our_words
from ldpaudit.core.nearest import or_rather
from ldpaudit.errors import Stopped, fault, in_a_line, of_the_user
from ldpaudit.version import __version__

VERBS = (
    catalogue.init,
    certify.certify,
    account.account,
    account.risk,
    design.design,
    audit.audit,
    clients.vectors,
    clients.conform,
    check.check,
    design.calibrate,
    claims.table,
    claims.limit,
    claims.claims,
    design.compare,
    running.run,
    estimate.estimate,
    claims.accuracy,
    claims.prove,
    catalogue.mechanisms,
    catalogue.deployments,
    catalogue.schema,
    verify.verify,
)
"""In the order of ``ldpaudit --help``."""


class _Verbs(TyperGroup):
    """Says of a command line that it cannot read what it says of other bad input: one line, in our words."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if not (name in self.commands or name.startswith("-") or ctx.resilient_parsing):
            ctx.fail(f"needs a command, got {name!r}{or_rather(name, self.commands)}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        with in_our_words() if args else nullcontext():  # without any, the help is printed
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with in_our_words():
            return super().invoke(ctx)


_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="ldpaudit",
    cls=_Verbs,
    help="Is this deployment as private as it says, and how do we know?",
    no_args_is_help=True,
    context_settings=_HELP,
    pretty_exceptions_enable=False,
)
_parser = cache(get_command)  # to build one takes longer than many commands do
SUPERVISED = "audit"  # the verb that runs other people's code in this process


class _PassedOnError(Exception):
    """Around an error that typer would end with exit code 1, which says that a claim is refuted."""


def _passing_on(verb: Callable[..., None]) -> Callable[..., None]:
    @wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except (OSError, EOFError, typer.Abort) as error:
            raise _PassedOnError from error
        except (Exception, Stopped, OutputClosed):
            raise
        except BaseException as error:  # such as a report's that ends the program when it is looked at
            raise _PassedOnError from error

    return run


def _print_version(asked: bool) -> None:
    if asked:
        say(f"ldpaudit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


for _verb in VERBS:
    app.command()(_passing_on(_verb))
_records = typer.Typer(
    cls=_Verbs,
    help="Records of the public registry of deployments: write one from a certificate, or check one.",
    no_args_is_help=True,
    context_settings=_HELP,
)
_records.command()(_passing_on(registry.export))
_records.command()(_passing_on(registry.check))
app.add_typer(_records, name="registry")
_sweeps = typer.Typer(
    cls=_Verbs, help="Tables and pictures along ranges of parameters.", no_args_is_help=True, context_settings=_HELP
)
_sweeps.command()(_passing_on(sweep.account))
_sweeps.callback()(lambda: None)  # else the only command has no name
app.add_typer(_sweeps, name="sweep")


def main() -> None:
    """Run a command; an error of the user's or of the audited code is one line, and exit code 2."""
    require_every_letter()
    arguments = spread(sys.argv[1:])
    if arguments[:1] != [SUPERVISED]:
        sys.exit(run(arguments))
    try:
        sys.exit(supervised(lambda: run(arguments), _tell))
    except OSError as error:
        _tell(f"needs a process for the audit: {error}")
        sys.exit(FAULT)


def run(arguments: list[str]) -> int:
    """Run a command in this process, and return its exit code."""
    try:
        with stopped_by_signals(), results_apart():
            _parser(app)(arguments, prog_name="ldpaudit")  # and not "python -m ldpaudit", of which no shell completes a word
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FAULT
    except OutputClosed:
        return CLOSED
    except Stopped as stopped:
        _tell(f"stopped by {signal.Signals(stopped.number).name}")
        return SIGNALLED + stopped.number
    except Exception as error:
        _explain(error.__cause__ if isinstance(error, _PassedOnError) else error)
    return FAULT


def _explain(error: BaseException | None) -> None:
    if isinstance(error, Exception) and of_the_user(error):
        _tell(in_a_line(error))
    elif isinstance(error, SystemExit | KeyboardInterrupt | GeneratorExit):
        _tell(f"the audited code raised {type(error).__name__}")
    else:
        with suppress(OSError, ValueError):  # of a standard error that is closed
            traceback.print_exception(error)  # and not 1, with which Python ends: that says that a claim is refuted
        _tell(fault(error) if error is not None else "internal error of ldpaudit, please report it")


def _tell(line: str) -> None:
    note(" ".join(line.split()))


def spread(arguments: list[str]) -> list[str]:
    """``--inputs 0 1`` as the option given twice, which is what the parser takes."""
    spread_out: list[str] = []
    several = False
    for argument in arguments:
        option = argument.startswith("-")
        with suppress(ValueError):  # of what is no number
            float(argument)
            option = False
        if several and not option:
            spread_out += ["--inputs", argument]
            continue
        several = argument == "--inputs"
        spread_out += [] if several else [argument]
    return spread_out
