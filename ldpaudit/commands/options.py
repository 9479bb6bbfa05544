"""What commands are given: the options and arguments that several share, and what these mean."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.gate.cache import Cache
    from ldpaudit.mechanism import Mechanism
    from ldpaudit.plan import Plan


class Post(StrEnum):
    """What is done to estimated counts."""

    none = "none"
    nonnegative = "nonnegative"
    norm_sub = "norm-sub"
    simplex = "simplex"
    empirical_bayes = "empirical-bayes"


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


def number(option: str, text: str) -> Fraction:
    """The exact number that an option's text means; an error names the option."""
    from ldpaudit.core.expression import parse

    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def reader(kind: type[int] | type[float], least: int | None) -> Callable[[str | float], int | float]:
    """What reads a number of this kind, written as any exact expression: 1e6, 2**20, 19/20."""

    def read(text: str | float) -> int | float:
        from ldpaudit.core.expression import parse

        if not isinstance(text, str):  # a default
            return text
        refused = f"needs {'an integer' if kind is int else 'a number'}{above}, got {text!r}"
        try:
            number = parse(text)
        except ValueError as error:
            raise typer.BadParameter(refused if text.isidentifier() else str(error)) from None
        if (kind is int and number.denominator != 1) or (least is not None and number < least):
            raise typer.BadParameter(refused)
        return kind(number)

    above = "" if least is None else f" >= {least}"
    return read


def _numeric(help: str, kind: type[int] | type[float], least: int | None) -> Any:
    """An option whose value is read so."""
    above = "" if least is None else f" >= {least}"
    return typer.Option(parser=reader(kind, least), metavar=f"<{kind.__name__}{above}>", help=help)


def whole_number(help: str, least: int | None = None) -> Any:
    """An option whose value is an integer, ``least`` or more."""
    return _numeric(help, int, least)


def real_number(help: str, least: int | None = None) -> Any:
    """An option whose value is a float, ``least`` or more."""
    return _numeric(help, float, least)


FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed on standard output.")]
TableFormatOption = Annotated[TableFormat, typer.Option("--format", help="How the table is printed on standard output.")]
BibtexOption = Annotated[bool, typer.Option("--bibtex", help="In place of the table: BibTeX entries of the sources that it cites.")]
NoImportOption = Annotated[bool, typer.Option("--no-import", help="Refuse files that name code to run, before anything is run.")]
DeploymentOption = Annotated[
    Path | None, typer.Option(help="Deployment file, or id of a bundled one, in place of a mechanism.", show_default=False)
]
SeedOption = Annotated[int, whole_number("Seed of all samples.", least=0)]
NameArgument = Annotated[str, typer.Argument(help="STEM or STEM:VARIANT, as `ldpaudit mechanisms` lists them.")]
NameOrNothing = Annotated[
    str | None, typer.Argument(help="STEM or STEM:VARIANT, as `ldpaudit mechanisms` lists them.", show_default=False)
]
StemArgument = Annotated[str | None, typer.Argument(help="A stem, as `ldpaudit mechanisms` lists them.", show_default=False)]
ParametersArgument = Annotated[list[str] | None, typer.Argument(help="key=value, values as exact expressions.")]
ExpectFailsOption = Annotated[
    list[str] | None,
    typer.Option(help="A place, such as 'HKR12 Lemma 4.5', whose claim is known to fail here; repeatable."),
]
WorkersOption = Annotated[int, whole_number("Processes on this machine.", least=1)]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="In place of --workers: address of a Dask scheduler (extra 'dist'), or MODULE:CALLABLE that returns an executor of "
        "concurrent.futures.",
        show_default=False,
    ),
]
CompareOption = Annotated[bool, typer.Option("--compare", help="Print the field's published bounds beside it.")]
BoundOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:FUNCTION",
        help="A bound of your own beside the published ones, from a plan and a delta to an epsilon; repeatable. Those of installed "
        "packages are there anyway.",
    ),
]
ShuffleOption = Annotated[int | None, whole_number("Number of users whose views are shuffled.")]
AggregateOption = Annotated[int | None, whole_number("Number of users whose views are summed.")]
SubsampleOption = Annotated[int | None, whole_number("Population size: participants are drawn without replacement.")]
PoissonOption = Annotated[
    str | None, typer.Option(metavar="RATE", help="Each user takes part with this probability, and else sends nothing.")
]
RepeatOption = Annotated[int | None, whole_number("Number of repetitions.")]
NeighboursOption = Annotated[str | None, typer.Option(help="replace-one, add-remove, or group-of-K: K users replaced.")]


def files_in(given: list[Path], ending: str, needs: str) -> list[Path]:
    """Files as they are given, and those in folders that end so, by their names; an error that says what it needs for none."""
    found = [path for each in given for path in (sorted(each.glob(f"*{ending}")) if each.is_dir() else [each])]
    if not found:
        raise ValueError(f"{needs}, found none in {', '.join(map(str, given))}")
    return found


@contextmanager
def parameters_of(name: str, keys: bool = False) -> Iterator[None]:
    """Errors of parameters say whose these are, and where asked, which; that of a name which is none, no more than that."""
    from ldpaudit.registry import ParameterError

    try:
        yield
    except ParameterError as error:
        if error.keys == ("kind",):
            raise ValueError(f"mechanism: {error}{of_a_deployment(name)}") from None
        where = f"{'.'.join(error.keys)}: " if keys and error.keys else ""
        raise ValueError(f"{name}: {where}{error}") from None


def of_a_deployment(name: str) -> str:
    """Which command is for a deployment that was given in place of a mechanism."""
    from ldpaudit.files import bundled

    is_one = name.endswith(".toml") or name in bundled.ids()
    return f"; `ldpaudit certify {name}` judges a deployment" if is_one else ""


def pairs(texts: list[str] | None, what: str = "a parameter", form: str = "key=value") -> dict[str, str]:
    """Values by their keys, from texts of this form, such as key=value."""
    found: dict[str, str] = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ValueError(f"{what} needs the form {form}, got {text!r}")
        if key in found:
            raise ValueError(f"{what} needs one value, got {key}={found[key]} and {text}")
        found[key] = value
    return found


def mechanism(name: str, parameters: list[str] | None) -> Any:
    """The mechanism, or the guarantee, of a name and key=value texts."""
    from ldpaudit import mechanisms, registry
    from ldpaudit.plan import Guarantee

    kind, variant = mechanisms.named(name)
    given = pairs(parameters)
    with parameters_of(name, keys=True):
        return registry.construct(Guarantee, given) if kind == "guarantee" else registry.build(kind, variant, given)


def reporting(deployment: Path | None, name: str | None, parameters: list[str] | None) -> Mechanism:
    """The mechanism whose reports are meant: that of a deployment file, also by its name, or of a name and key=value texts."""
    from ldpaudit.errors import Unsupported
    from ldpaudit.files.deployment import load
    from ldpaudit.mechanism import Mechanism
    from ldpaudit.plan import Guarantee, Run

    if (deployment is None) == (name is None):
        raise ValueError(f"needs --deployment FILE or a mechanism, got {'both' if name else 'neither'}")
    file = deployment or (Path(name) if name and of_a_deployment(name) else None)
    if file and parameters:
        raise ValueError(f"needs a mechanism for {parameters[0]}, got the deployment {file}")
    if file:
        found = plan.mechanism if isinstance(plan := load(file).plan, Run) else plan
    else:
        found = mechanism(name or "", parameters)
    if not isinstance(found, Mechanism):
        promise = isinstance(found, Guarantee)
        what = "it is a promise about any randomizer, of which no report is known" if promise else "needs reports of one mechanism"
        raise Unsupported(found, what)
    return found


def look_here() -> None:
    """Import modules of the current folder, where the user's code may stand."""
    sys.path.insert(0, str(Path.cwd()))


_CLUSTER_RETRIES = 10  # times that a cluster may lose what it is doing for one part


def executor(workers: int, cluster: str | None, stack: ExitStack) -> Any:
    """Who does the work until the stack ends; None for this process."""
    from ldpaudit.errors import LdpauditError, in_a_line
    from ldpaudit.workers.worker_processes import Processes

    if cluster is None:
        return stack.enter_context(Processes(workers)) if workers > 1 else None
    if workers != 1:
        raise ValueError("needs --workers or --cluster, got both")
    if "://" not in cluster and not cluster.rpartition(":")[2].isdigit():
        from ldpaudit.adapters.callables import resolve

        look_here()
        make = resolve(cluster)
        try:
            made = make()
        except Exception as error:  # whatever the user's code raises
            raise LdpauditError(f"--cluster {cluster}: needs an executor of concurrent.futures: {in_a_line(error)}") from None
        if not callable(getattr(made, "submit", None)):
            raise LdpauditError(f"--cluster {cluster}: needs an executor of concurrent.futures, got {made!r:.60}")
        return stack.enter_context(made) if hasattr(made, "__exit__") else made
    try:
        from distributed import Client
    except ImportError:
        raise LdpauditError("a Dask scheduler needs the package distributed: install ldpaudit[dist]") from None
    try:
        client = stack.enter_context(Client(cluster))
    except (OSError, ValueError) as error:
        raise LdpauditError(f"--cluster {cluster}: needs a scheduler that answers: {error}") from None
    return client.get_executor(retries=_CLUSTER_RETRIES)


def bounds(given: list[str] | None) -> Any:
    """The bounds that installed packages register, and the named ones."""
    from ldpaudit.accountants.claims.published.own import installed
    from ldpaudit.adapters.callables import resolve

    if given:
        look_here()
    return (*installed(), *map(resolve, given or []))


def cache_of(place: Path | str, checked: Path | None = None) -> Cache | None:
    """A cache in a folder, or of this name in the user's, sealed with a secret of the user's; without one there is none.

    ``checked``: a folder that may be a stranger's, and must not have the secret in it.
    """
    from ldpaudit.commands.output import note
    from ldpaudit.errors import LdpauditError
    from ldpaudit.gate.cache import Cache, secret_of

    ours = Path(typer.get_app_dir("ldpaudit"))
    secret = ours / "cache.key"
    if checked is not None and secret.resolve().is_relative_to(checked.resolve()):
        note(f"no cache: its secret would be {secret}, in the folder that is checked")
        return None
    try:
        return Cache(ours / place, secret_of(secret))
    except LdpauditError as error:
        note(f"no cache: {error}")
        return None


def require_one_view(shuffle: int | None, aggregate: int | None) -> None:
    """Check that views are not both shuffled and summed."""
    if shuffle is not None and aggregate is not None:
        raise ValueError("views are shuffled or summed: give --shuffle or --aggregate")


def composed(claims: list[str], times: list[int] | None) -> Plan:
    """The composition of what deployment files say of claims, each FILE or FILE:CLAIM, run as often as is said in their order."""
    from ldpaudit.core.nearest import or_rather
    from ldpaudit.files.deployment import load
    from ldpaudit.plan import Compose, Repeat

    counts = times or [1] * len(claims)
    if len(counts) != len(claims):
        raise ValueError(f"needs --times once for each --compose, {len(claims)}, got {len(counts)}")
    parts = []
    for name, count in zip(claims, counts, strict=True):
        file, _, wanted = name.rpartition(":") if ":" in name and not Path(name).exists() else (name, "", "")
        known = {claim.id: claim.plan for claim in load(file).claims}
        if wanted and wanted not in known:
            raise ValueError(f"--compose {name}: needs the id of a claim, got {wanted!r:.60}{or_rather(wanted, [*known])}")
        parts.append(Repeat(known[wanted] if wanted else next(iter(known.values())), count))
    return Compose(parts)


def deployed(
    name: str | Plan,
    parameters: list[str] | None,
    shuffle: int | None,
    aggregate: int | None,
    subsample: int | None,
    repeat: int | None = None,
    *,
    poisson: str | None = None,
) -> Plan:
    """The plan of a mechanism, or another one: of some users, shuffled or summed, subsampled, and repeated, as is asked for."""
    import ldpaudit

    require_one_view(shuffle, aggregate)
    found = mechanism(name, parameters) if isinstance(name, str) else name
    plan: Plan = ldpaudit.Run(found) if isinstance(found, ldpaudit.Mechanism) else found
    plan = plan if poisson is None else ldpaudit.Poisson(plan, number("--poisson", poisson))
    plan = plan if aggregate is None else ldpaudit.Aggregate(plan, aggregate)
    plan = plan if shuffle is None else ldpaudit.Shuffle(plan, shuffle)
    plan = plan if subsample is None else ldpaudit.Subsample(plan, subsample, shuffle or 1)
    return plan if repeat is None else ldpaudit.Repeat(plan, repeat)
