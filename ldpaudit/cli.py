"""The command line: thin, no mathematics, no decisions."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.errors import LdpauditError

if TYPE_CHECKING:
    from ldpaudit.certificate import Certificate

app = typer.Typer(
    name="ldpaudit",
    help="Is this deployment as private as it says, and how do we know?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


AUDITED = (
    "MODULE:CALLABLE, called as callable(x) -> report; MODULE:PLAN, a plan or mechanism of ldpaudit's; exec:COMMAND, a "
    "program that answers each line of JSON with one; or log:FILE, with columns input and report."
)
FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed on standard output.")]
SeedOption = Annotated[int, typer.Option(help="Seed of all samples.", min=0)]


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


def _say(line: str = "") -> None:
    print(line)  # noqa: T201


def _say_json(data: Any) -> None:
    _say(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def _progress(title: str, total: int | None = None) -> Iterator[Any]:
    """A bar on standard error, where that is a terminal; yields a function that advances it.

    What audited code prints meanwhile goes there too: standard output is for the results.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with redirect_stdout(sys.stderr), shown as bar:
        task = bar.add_task(title, total=total)
        yield lambda description=title, step=1: bar.update(task, description=description, advance=step)


@app.command()
def certify(
    files: Annotated[list[Path], typer.Argument(help="Deployment files, or folders of them.", show_default=False)],
    output: Annotated[Path | None, typer.Option(help="Folder for the certificates, JSON and HTML.")] = None,
    seed: SeedOption = 0,
    trials: Annotated[int, typer.Option(help="Views drawn a claim.")] = 200_000,
    confidence: Annotated[float, typer.Option(help="Of the evidence on each claim.")] = 0.999,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.", min=1)] = None,
    require_decision: Annotated[bool, typer.Option(help="Exit with 3 where a claim is undecided.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Account, attack, prove and judge every claim of deployment files."""
    from ldpaudit import parallel
    from ldpaudit.report import html, text
    from ldpaudit.report.files import write_whole

    paths = [p for f in files for p in (sorted(f.glob("*.toml")) if f.is_dir() else [f])]
    if not paths:
        raise ValueError(f"certify needs deployment files, found none in {', '.join(map(str, files))}")
    certificates: list[Certificate] = []
    with _progress("certifying", len(paths)) as advance:
        for certificate in parallel.certify_all(paths, seed, trials, confidence, jobs):
            certificates.append(certificate)
            advance(certificate.id)
            if output is not None:
                write_whole(output / f"{certificate.id}.json", certificate.to_json())
                write_whole(output / f"{certificate.id}.html", html.page(certificate))
    if format is Format.json:
        _say_json([c.to_dict() for c in certificates])
    else:
        console = _console()
        for certificate in certificates:
            text.print_certificate(certificate, console)
        for line in text.summary(certificates):
            console.print(line, highlight=False)
    raise typer.Exit(_exit_code(certificates, require_decision))


def _exit_code(certificates: list[Certificate], require_decision: bool) -> int:
    claims = [claim for c in certificates for claim in c.claims]
    if not all(claim.as_recorded for claim in claims):
        return 1
    undecided = any(claim.verdict.record == "undecided" and not claim.expect for claim in claims)
    return 3 if require_decision and undecided else 0


def _console() -> Any:
    from rich.console import Console

    console = Console(highlight=False)
    # A pipe gets the width that a terminal of 80 columns would have.
    return console if console.is_terminal else Console(highlight=False, width=80)


def _parameters(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"a parameter needs the form key=value, got {pair!r}")
        found[key] = value
    return found


def _mechanism(name: str, pairs: list[str]) -> Any:
    from ldpaudit import registry
    from ldpaudit.plan import Guarantee

    kind, _, variant = name.partition(":")
    parameters = _parameters(pairs)
    try:
        if kind == "guarantee":
            return registry.construct(Guarantee, parameters)
        return registry.build(kind, variant, parameters)
    except registry.ParameterError as error:
        where = f"{'.'.join(error.keys)}: " if error.keys else ""
        raise ValueError(f"{name}: {where}{error}") from None


NameArgument = Annotated[str, typer.Argument(help="STEM or STEM:VARIANT, as `ldpaudit mechanisms` lists them.")]
ParametersArgument = Annotated[list[str] | None, typer.Argument(help="key=value, values as exact expressions.")]


@app.command()
def account(
    mechanism: NameArgument,
    parameters: ParametersArgument = None,
    delta: Annotated[str | None, typer.Option(help="Ask for epsilon at this delta; by default 0.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Ask for delta at this epsilon instead; with --delta, whether the two are kept.")
    ] = None,
    shuffle: Annotated[int | None, typer.Option(help="Shuffled among so many users.")] = None,
    subsample: Annotated[int | None, typer.Option(help="Run by users drawn from so many, without replacement.")] = None,
    repeat: Annotated[int | None, typer.Option(help="Repeated so many times.")] = None,
    neighbours: Annotated[str | None, typer.Option(help="replace-one or add-remove.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the profile (PNG, SVG or PDF; extra 'plot').")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Certified epsilon or delta of a mechanism, shuffled, subsampled and repeated as asked, in this order."""
    import ldpaudit
    from ldpaudit.enclosure import show_down, show_up
    from ldpaudit.expression import parse

    plan = ldpaudit.Run(m) if isinstance(m := _mechanism(mechanism, parameters or []), ldpaudit.Mechanism) else m
    plan = plan if shuffle is None else ldpaudit.Shuffle(plan, shuffle)
    plan = plan if subsample is None else ldpaudit.Subsample(plan, subsample, shuffle or 1)
    plan = plan if repeat is None else ldpaudit.Repeat(plan, repeat)
    profile = ldpaudit.account(plan, None if neighbours is None else ldpaudit.Neighbours(neighbours))
    asked, given = ("epsilon", parse(delta or "0")) if epsilon is None else ("delta", parse(epsilon))
    answer = profile.epsilon(given) if epsilon is None else profile.delta(given)
    claimed = None if epsilon is None or delta is None else parse(delta)
    if plot is not None:
        from ldpaudit.report import plot as drawing

        there = answer.high if claimed is None else float(claimed)
        mark = (there, float(given)) if epsilon is None else (float(given), there)
        with _progress("drawing", drawing.POINTS) as advance:
            drawing.draw(profile, plot, title=str(plan), mark=mark, advance=advance)
    kept = None
    if claimed is not None and answer.rigour > ldpaudit.Rigour.FLOAT:
        kept = True if answer.high <= claimed else False if answer.low > claimed else None
    other = f"{'delta' if asked == 'epsilon' else 'epsilon'}={float(given):g}"
    if format is Format.json:
        values = {"low": answer.low, "high": answer.high, "rigour": answer.rigour.name, "source": answer.source}
        claim = {} if claimed is None else {"claimed": float(claimed), "kept": kept}
        _say_json({"plan": str(plan), "asked": asked, "given": other, **values, **claim})
        return
    _say(str(plan))
    apart = answer.rigour is not ldpaudit.Rigour.EXACT and 0 < answer.relative_width < float("inf")
    ratio = f", high/low = {show_up(1 + answer.relative_width, 6)}" if apart else ""
    _say(f"{asked}({other}) in [{show_down(answer.low, 9)}, {show_up(answer.high, 9)}], {answer.rigour.name}{ratio}")
    if claimed is not None:
        word = {True: "is kept", False: "is not kept", None: "is neither shown nor refuted"}[kept]
        _say(f"({float(given):g}, {float(claimed):g}) {word}")
    _say(f"by {answer.source}")


@app.command()
def audit(
    target: Annotated[str, typer.Argument(help=AUDITED)],
    epsilon: Annotated[str, typer.Option(help="The claimed epsilon.")],
    inputs: Annotated[list[str] | None, typer.Option(help="Two inputs or more, as JSON or plain text.")] = None,
    delta: Annotated[str, typer.Option(help="The claimed delta.")] = "0",
    trials: Annotated[int | None, typer.Option(help="Reports drawn in all; by default a million.")] = None,
    budget: Annotated[str | None, typer.Option(help="In place of --trials: a time, such as 60s, 5m or 1h.")] = None,
    confidence: Annotated[float, typer.Option(help="Of the bound.")] = 0.95,
    users: Annotated[int, typer.Option(help="2: two users' reports by consecutive calls, one of whom differs.")] = 1,
    learned: Annotated[bool, typer.Option("--learned", help="Train a classifier too (extra 'ml').")] = False,
    seed: SeedOption = 0,
    format: FormatOption = Format.text,
) -> None:
    """Bound the epsilon of any randomizer from below, on samples of its own output."""
    import time

    import ldpaudit
    from ldpaudit.adapters.callables import resolve_audited
    from ldpaudit.adapters.logs import read_log
    from ldpaudit.adapters.programs import Program
    from ldpaudit.enclosure import round_up, show_down, show_up
    from ldpaudit.evidence import Form, Mode
    from ldpaudit.expression import parse
    from ldpaudit.mechanism import Mechanism
    from ldpaudit.pace import least_trials, seconds, trials_within
    from ldpaudit.plan import Plan

    if budget is not None and trials is not None:
        raise ValueError("an audit needs --trials or --budget, got both")
    allowed, trials = None if budget is None else seconds(budget), 1_000_000 if trials is None else trials
    sys.path.insert(0, str(Path.cwd()))
    claimed, values = parse(epsilon), [_input(text) for text in inputs or []]
    function: Any
    kind, _, rest = target.partition(":")
    rounded = None
    with ExitStack() as stack:
        advance = stack.enter_context(_progress("sampling"))
        if kind == "log":
            if users != 1:
                raise ValueError(f"an audit of a log needs --users 1, got {users}: its reports are not of consecutive calls")
            function = read_log(rest)
            values = values or function.inputs[:2]
            if budget is not None:
                raise ValueError("an audit of a log needs --trials, got --budget: its reports are used once")
            trials = min(trials, held := function.trials_on(values))
            if trials == held:
                print(f"ldpaudit: {rest}: its reports allow {held:,} trials", file=sys.stderr)  # noqa: T201
        elif kind == "exec":
            function = stack.enter_context(Program(rest))
        else:
            function = resolve_audited(target)
        ours = isinstance(function, Plan | Mechanism)
        options: dict[str, Any] = {"inputs": values, "epsilon": _float(claimed), "delta": round_up(parse(delta))}
        options |= {"confidence": confidence, "seed": seed, "users": users, "learned": learned}
        if allowed is not None:
            whole: dict[str, Any] = {**options, "epsilon": None, "mode": Mode.FIXED}
            least = least_trials(max(len(values), 2))
            trials = trials_within(allowed, lambda n: ldpaudit.audit(function, **whole, trials=n), least, time.perf_counter)
            print(f"ldpaudit: {budget} allow {trials:,} trials", file=sys.stderr)  # noqa: T201
        options["trials"] = trials
        options |= {"progress": lambda drawn, bound: advance(f"{drawn:,} reports, epsilon >= {show_down(bound)}")}
        evidence = ldpaudit.audit(function, **options)
        refuted = evidence.refutes(claimed)
        # A log's reports are used once, and our plans have one form; what raw reports do not refute, no form does.
        if refuted and kind != "log" and not ours:
            rounded = ldpaudit.audit(function, form=Form.CANONICAL, **options)
    if format is Format.json:
        from ldpaudit.certificate import EvidenceRecord

        record = EvidenceRecord.of(evidence).model_dump(mode="json")
        other = None if rounded is None else EvidenceRecord.of(rounded).model_dump(mode="json")
        _say_json({"target": target, **record, "refuted": refuted, "canonical": other})
    else:
        outcome = "REFUTED" if refuted else "not refuted"
        _say(f"{target}: epsilon = {epsilon} is {outcome}")
        _say(f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {confidence:g}:")
        _say(f"{evidence.right} of {evidence.guesses} guesses were right, on {evidence.event}")
        if rounded is not None:
            outcome = "REFUTED too" if rounded.refutes(claimed) else "not refuted"
            _say(f"with the order of sets dropped and floats rounded it is {outcome}:")
            _say(f"epsilon >= {show_down(rounded.epsilon_lower)} with confidence {confidence:g}")
        if not refuted and evidence.detectable is not None:
            _say(f"it would have detected epsilon >= {show_up(evidence.detectable)} with 95 % power")
    raise typer.Exit(1 if refuted else 0)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("needs numbers that a float can hold, got one above 1e308") from None


def _input(text: str) -> Any:
    """A JSON value where the text is one, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class GateFormat(StrEnum):
    """How the gate's findings are printed."""

    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"
    github = "github"
    markdown = "markdown"


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Where ldpaudit.toml or pyproject.toml stands.")] = Path(),
    baseline: Annotated[str | None, typer.Option(help="Compare with this file instead of the configured one.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Write the findings as the new baseline.")] = False,
    report: Annotated[list[str] | None, typer.Option(help="FORMAT=FILE: written as well; may be given again.")] = None,
    format: Annotated[GateFormat, typer.Option("--format", help="How findings are printed.")] = GateFormat.text,
) -> None:
    """Gate a build: deployments and callables against a policy and a baseline."""
    from ldpaudit import gate
    from ldpaudit.report.files import write_whole
    from ldpaudit.report.gate import FORMATS

    sys.path.insert(0, str(folder.resolve()))
    path, config = gate.find_config(folder)
    reports = _parameters(report or [])
    if unknown := set(reports) - set(FORMATS):
        raise ValueError(f"check --report needs a format among {', '.join(FORMATS)}, got {unknown.pop()!r}")
    if baseline is not None:
        config = config.model_copy(update={"baseline": baseline})
    if update_baseline and config.baseline is None:
        raise ValueError("check --update-baseline needs a baseline in the configuration, or --baseline FILE")
    with _progress("checking") as advance:
        result = gate.check(folder, config, path, advance)
    if update_baseline and config.baseline is not None:
        write_whole(folder / config.baseline, gate.baseline_of(result))
    for kind, file in reports.items():
        write_whole(Path(file), FORMATS[kind](result))
    sys.stdout.write(FORMATS[format](result))
    raise typer.Exit(result.exit_code)


@app.command()
def calibrate(
    runs: Annotated[int, typer.Option(help="Audits of each mechanism.", min=1)] = 1_000,
    trials: Annotated[int, typer.Option(help="Views of each audit.", min=16)] = 2_000,
    confidence: Annotated[float, typer.Option(help="Of each audit.")] = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = Format.text,
) -> None:
    """Measure how often the installed auditor refutes claims that are true and exactly tight."""
    from ldpaudit import calibration
    from ldpaudit.enclosure import show_down, show_up

    with _progress("calibrating", len(calibration.CASES)) as advance:
        rates = []
        for rate in calibration.measure(runs=runs, trials=trials, confidence=confidence, seed=seed):
            rates.append(rate)
            advance(rate.name)
    if format is Format.json:
        _say_json([{key: getattr(r, key) for key in calibration.Rate.__slots__} for r in rates])
    for r in rates if format is Format.text else []:
        interval = f"[{show_down(r.low, 3)}, {show_up(r.high, 3)}]"
        _say(f"{r.name}, {r.mode}: {r.refuted} of {r.runs} true claims refuted; rate in {interval}, stated {r.stated:.3g}")
    raise typer.Exit(0 if all(r.low <= r.stated for r in rates) else 1)


@app.command()
def table(
    name: Annotated[str | None, typer.Argument(help="A table; without one, all are listed.", show_default=False)] = None,
    format: FormatOption = Format.text,
) -> None:
    """A paper's bound table: each printed value beside the certified one."""
    from ldpaudit import tables
    from ldpaudit.accountants.claims import tables as judged
    from ldpaudit.report import rows

    if name is None:
        listed = [tables.load(each) for each in tables.names()]
        if format is Format.json:
            _say_json([{"name": t.name, "title": t.title, "source": t.source} for t in listed])
        for t in listed if format is Format.text else []:
            _say(f"{t.name}  {t.title}")
        return
    if name not in tables.names():
        raise ValueError(f"table needs one of {', '.join(tables.names())}, got {name!r}")
    chosen = tables.load(name)
    with _progress(name, len(chosen.rows)) as advance:
        checked = []
        for each in judged.check(chosen):
            checked.append(each)
            advance()
    if format is Format.json:
        _say_json({"name": chosen.name, "source": chosen.source, "rows": [rows.as_data(c) for c in checked]})
    else:
        rows.print_table(chosen, checked, _console())


@app.command()
def limit(
    name: Annotated[str | None, typer.Argument(help="A calculator; without one, all are listed.", show_default=False)] = None,
    parameters: ParametersArgument = None,
    format: FormatOption = Format.text,
) -> None:
    """Lower-bound calculators: what error no private protocol can beat."""
    import inspect

    from ldpaudit.accountants.limits import calculators
    from ldpaudit.registry import ParameterError, call

    known = calculators()
    if name is None:
        listed = {n: ", ".join(inspect.signature(f).parameters) for n, f in known.items()}
        if format is Format.json:
            _say_json(listed)
        for n, takes in listed.items() if format is Format.text else []:
            _say(f"{n}: {takes}\n    {(inspect.getdoc(known[n]) or '').splitlines()[0]}")
        return
    if name not in known:
        raise ValueError(f"limit needs one of {', '.join(known)}, got {name!r}")
    try:
        answer = call(known[name], _parameters(parameters or []))
    except ParameterError as error:
        raise ValueError(f"{name}: {error}") from None
    if format is Format.json:
        low, high = (getattr(answer, side, answer) for side in ("low", "high"))
        _say_json({"limit": name, "low": low, "high": high, "source": getattr(answer, "source", "")})
    else:
        _say(f"{name}: {answer}")


StemArgument = Annotated[
    str | None, typer.Argument(help="A stem, as `ldpaudit mechanisms` lists them.", show_default=False)
]


def _settings(verb: str, stem: str, parameters: list[str] | None) -> list[tuple[str, Any]]:
    """Settings of a stem with the commands that reproduce what is said of them."""
    from ldpaudit import literature
    from ldpaudit.registry import ParameterError

    try:
        chosen = literature.settings(stem, _parameters(parameters or []))
    except ParameterError as error:
        raise ValueError(f"{stem}: {error}") from None
    return [(literature.command(stem, each, verb), each) for each in chosen]


@app.command()
def claims(stem: StemArgument = None, parameters: ParametersArgument = None, format: FormatOption = Format.text) -> None:
    """What the papers claim of a mechanism, judged; without a stem a table of all, at the examples' parameters."""
    from ldpaudit import literature
    from ldpaudit.report import claims as report

    if stem is None:
        known = literature.stems()
        with _progress("claims", len(known)) as advance:
            rows = []
            for each in known:
                rows += literature.summary(each, literature.claims(each))
                advance(each)
        if format is Format.json:
            _say_json([{key: getattr(row, key) for key in literature.Row.__slots__} for row in rows])
        else:
            _say(report.markdown(rows))
        return
    found = [(command, x, literature.printed(stem, x)) for command, x in _settings("claims", stem, parameters)]
    if format is Format.json:
        _say_json([report.as_data(stem, x, claim, command) for command, x, held in found for claim in held])
    for command, _, held in found if format is Format.text else []:
        report.print_claims(command, held, _say)


@app.command()
def accuracy(
    stem: Annotated[str, typer.Argument(help="A stem, as `ldpaudit mechanisms` lists them.")],
    parameters: ParametersArgument = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulations of each claim.")] = 100,
    confidence: Annotated[float, typer.Option(help="Of the interval for the probability of failure.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    format: FormatOption = Format.text,
) -> None:
    """A mechanism's error, simulated, beside what its paper prints."""
    from ldpaudit import literature
    from ldpaudit.report import claims as report

    if not 0 < confidence < 1:
        raise ValueError(f"accuracy needs 0 < confidence < 1, got {confidence}")
    chosen = _settings("accuracy", stem, parameters)
    stated = [(command, x, literature.accuracy(stem, x)) for command, x in chosen]
    total = sum(len(each) for *_, each in stated)
    if not total:
        raise ValueError(f"accuracy has nothing to measure for {stem} at these parameters: no printed error applies to them")
    with _progress("simulating", total) as advance:
        found = []
        for command, x, each in stated:
            measured = []
            for claim in each:
                measured.append(literature.measure(x, claim, runs, seed, confidence))
                advance(claim.where)
            found.append((command, x, measured))
    if format is Format.json:
        _say_json([report.measured_as_data(stem, x, m, command) for command, x, each in found for m in each])
    for command, _, measured in found if format is Format.text else []:
        if measured:
            report.print_measured(command, measured, _say)


@app.command()
def prove(
    stems: Annotated[list[str] | None, typer.Argument(help="Stems; by default all.", show_default=False)] = None,
    steps: Annotated[bool, typer.Option(help="Print every step.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Run the proofs: what is checked, what is assumed, what is admitted."""
    from importlib import import_module

    from ldpaudit import mechanisms

    rows = []
    for stem in stems or mechanisms.stems():
        if stem not in mechanisms.stems():
            raise ValueError(f"prove needs stems among {', '.join(mechanisms.stems())}, got {stem!r}")
        rows += [(stem, proof) for proof in import_module(f"ldpaudit.proofs.{stem}").prove()]
    if format is Format.json:
        keys = ("statement", "mechanism", "relation", "steps", "assumes", "admissions")
        _say_json([{"stem": stem, **{key: getattr(proof, key) for key in keys}} for stem, proof in rows])
        return
    for stem, proof in rows:
        _say(f"{stem}: {proof.statement} ({proof.relation}; {len(proof.steps)} steps checked)")
        for line in proof.steps if steps else []:
            _say(f"    {line}")
        for word, lines in (("assumes", proof.assumes), ("ADMITS", proof.admissions)):
            for line in lines:
                _say(f"    {word}: {line}")


@app.command()
def mechanisms(format: FormatOption = Format.text) -> None:
    """List what is known, with each one's parameters."""
    import inspect

    from ldpaudit import mechanisms as known
    from ldpaudit import registry

    rows: list[tuple[str, str, list[str]]] = []
    for stem in known.stems():
        for variant, owner in known.classes(stem).items():
            made = {name: inspect.signature(make) for name, make in registry.constructors(owner).items()}
            ways = [f"{name}: {', '.join(s.parameters)}" for name, s in made.items()]
            rows.append((f"{stem}:{variant}" if variant else stem, owner.title, ways))
    if format is Format.json:
        _say_json([{"name": name, "title": title, "parameters": ways} for name, title, ways in rows])
        return
    for name, title, ways in rows:
        _say(f"{name}  {title}")
        for way in ways:
            _say(f"    {way}")


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    format: FormatOption = Format.text,
) -> None:
    """Re-check a certificate without sampling."""
    from ldpaudit.certificate import Certificate
    from ldpaudit.certify import verify as check

    loaded = Certificate.load(certificate)
    differences = check(loaded)
    if format is Format.json:
        _say_json({"certificate": loaded.id, "digest": loaded.digest, "differences": differences})
    else:
        for line in differences:
            _say(line)
        _say(f"{loaded.id}: {'stands' if not differences else 'does not stand'} ({len(loaded.claims)} claims)")
    raise typer.Exit(1 if differences else 0)
