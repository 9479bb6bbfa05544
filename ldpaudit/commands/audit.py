"""``ldpaudit audit``: what samples of anybody's code show."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options as given
from ldpaudit.commands.ending import REFUTED, reached
from ldpaudit.commands.options import Format, FormatOption, SeedOption
from ldpaudit.commands.output import note, progress, say, say_json

if TYPE_CHECKING:
    from ldpaudit.adapters.outputs import Outputs
    from ldpaudit.evidence import Evidence, Form

AUDITED = (
    "MODULE:CALLABLE, called as callable(x) -> report; MODULE:PLAN, a plan or mechanism of ldpaudit's; exec:COMMAND, a "
    "program that answers each line of JSON with one; or log:FILE, with columns input and report."
)
SETS = "Lists and arrays stand for sets: where raw reports are refuted, look again without their order too."
SUPPORT = (
    "MODULE:FUNCTION, called with a report and an input: whether the report's hash function, say, maps the input to the "
    "reported value. For reports that are nearly all different."
)
TRIALS = 1_000_000
OUTPUTS = (
    "TARGET is a system, MODULE:ATTRIBUTE with run(data, rng): see only what run returns, on the two data sets of --inputs, "
    "lists of users' inputs or objects of input: users. Weaker than an audit of its messages."
)
CANARIES = (
    "A file with a value per line, or a JSON list: audit one run of a whole system, a function of the list of what its users hold "
    "or an object with run(data, rng), by guessing which of these users are in."
)
OTHERS = "With --canaries, a file of what all other users hold."
RELATION = "With --canaries: add-remove, the default, or replace-one, where the file is a JSON list of pairs of values."
ESTIMATE = "Where the claim is refuted, measure epsilon by the views that are left, in a fixed sample of their own."
_TYPES = "types (1 and 1.0 stay apart)"
DROPPED = {"canonical": f"{_TYPES} and the order of sets", "unordered": f"{_TYPES} and the order of lists, arrays and sets"}
"""What a form of the reports leaves out, beside the low bits of floats."""


def audit(
    target: Annotated[str, typer.Argument(help=AUDITED)],
    epsilon: Annotated[str | None, typer.Option(help="The claimed epsilon; without one, epsilon is measured.")] = None,
    inputs: Annotated[list[str] | None, typer.Option(help="Two or more inputs, as JSON or plain text.")] = None,
    delta: Annotated[str, typer.Option(help="The claimed delta.")] = "0",
    trials: Annotated[int | None, given.whole_number("Total number of samples; by default a million.")] = None,
    budget: Annotated[str | None, typer.Option(help="Instead of --trials, a time such as 60s, 5m or 1h.")] = None,
    confidence: Annotated[float, given.real_number("Of the bound.")] = 0.95,
    estimate: Annotated[bool, typer.Option("--estimate", help=ESTIMATE)] = False,
    users: Annotated[int, given.whole_number("With 2, consecutive calls are two users' reports, one of whom differs.")] = 1,
    sets: Annotated[bool, typer.Option("--sets", help=SETS)] = False,
    outputs: Annotated[bool, typer.Option("--outputs", help=OUTPUTS)] = False,
    canaries: Annotated[Path | None, typer.Option(help=CANARIES)] = None,
    others: Annotated[Path | None, typer.Option(help=OTHERS)] = None,
    neighbours: Annotated[str | None, typer.Option(help=RELATION)] = None,
    learned: Annotated[bool, typer.Option("--learned", help="Train a classifier too (extra 'ml').")] = False,
    support: Annotated[str | None, typer.Option(help=SUPPORT)] = None,
    patience: Annotated[
        float | None, given.real_number("Seconds that an answer may take, by default 20; 3 times as long at first.")
    ] = None,
    workers: given.WorkersOption = 1,
    cluster: given.ClusterOption = None,
    seed: SeedOption = 0,
    format: FormatOption = Format.text,
) -> None:
    """Lower bound on the epsilon of any randomizer, from samples of its own output."""
    import ldpaudit
    from ldpaudit.adapters.callables import resolve, resolve_system
    from ldpaudit.core.pace import least_trials, seconds
    from ldpaudit.enclosure import round_up, show_down
    from ldpaudit.errors import Stopped
    from ldpaudit.evidence import Form, Mode
    from ldpaudit.mechanism import Mechanism
    from ldpaudit.plan import Plan
    from ldpaudit.workers.experiment import Execution, Reading

    if budget is not None and trials is not None:
        raise ValueError("an audit needs --trials or --budget, got both")
    claimed, slack = None if epsilon is None else given.number("--epsilon", epsilon), given.number("--delta", delta)
    if estimate and epsilon is None:
        raise ValueError("an audit needs --estimate with --epsilon: without a claim, all views measure epsilon")
    kind, _, rest = target.partition(":")
    if outputs and kind in ("exec", "log"):
        raise ValueError(f"an audit of outputs needs MODULE:ATTRIBUTE with run(data, rng), got {target}")
    if patience is not None and (kind == "log" or outputs):
        raise ValueError(f"an audit needs --patience with MODULE:CALLABLE or exec:COMMAND, got it with {target}")
    if canaries is not None:
        unread = {"inputs": inputs, "trials": trials, "budget": budget, "sets": sets, "outputs": outputs, "learned": learned}
        unread |= {"estimate": estimate, "cluster": cluster, "workers": workers > 1}
        if needless := [name for name, value in unread.items() if value]:
            raise ValueError(f"an audit of one run does not need --{needless[0]}: each canary is one trial")
        claim: dict[str, Any] = {"epsilon": _float(claimed), "delta": round_up(slack)}
        claim |= {"confidence": confidence, "seed": seed, "neighbours": neighbours or "add-remove"}
        given.look_here()
        with progress("running the system"):
            all_others = [] if others is None else _users(others)
            system = resolve_system(target, called=True)
            found = ldpaudit.audit_one_run(system, _users(canaries), all_others, **claim)
        if refuted := _refutes(found, claimed):
            reached(REFUTED)
        if format is Format.json:
            _say_data(target, claimed, found, None, None)
        else:
            _say_verdict(target, epsilon, found, refuted)
        raise typer.Exit(REFUTED if refuted else 0)
    for name, value in (("others", others), ("neighbours", neighbours)):
        if value is not None:
            raise ValueError(f"an audit needs --{name} with --canaries, got it without: --inputs are compared as they are given")
    allowed = None if budget is None else seconds(budget)
    values = [_input(text) for text in inputs or []]
    form, rounded, read, measured = Form.UNORDERED if sets else Form.CANONICAL, None, None, None

    def audited(reading: Reading, trials: int, **more: Any) -> Evidence:
        with progress("sampling") as advance:
            told = replace(execution, progress=lambda drawn, bound: advance(f"{drawn:,} reports, epsilon >= {show_down(bound)}"))
            return ldpaudit.audit(function, reading=reading, trials=trials, execution=told, **options | more)

    with ExitStack() as stack:
        execution = Execution(given.executor(workers, cluster, stack), patience=patience)
        with progress("sampling"):
            if kind == "log":
                function, values, number = _log(rest, values, users, budget, trials)
            elif outputs:
                function, number = _outputs(target, values, users), TRIALS if trials is None else trials
                values = list(function.inputs)
            else:
                function, number = _callable(target, patience, stack), TRIALS if trials is None else trials
            if support is not None:
                given.look_here()
                read = resolve(support)
            options: dict[str, Any] = {"inputs": values, "epsilon": _float(claimed), "delta": round_up(slack)}
            options |= {"confidence": confidence, "seed": seed, "mode": Mode.FIXED if claimed is None else Mode.SEQUENTIAL}
            if allowed is not None:
                raw = Reading(users=users, learned=learned, support=read)
                patient = {"reading": raw, "execution": execution}
                number = _trials_within(allowed, function, {**options, **patient})
                note(f"{budget} allow {number:,} trials")
        raw = Reading(users=users, learned=learned, support=read)
        evidence = audited(raw, number)
        refuted = _refutes(evidence, claimed)
        if refuted:
            reached(REFUTED)
        # A log's reports are used once, and our plans have one form; what raw reports do not refute, no form does.
        asked, unknown = refuted and kind != "log" and not isinstance(function, Plan | Mechanism), ""
        try:
            if format is Format.text:
                _say_verdict(target, epsilon, evidence, refuted)
            elif refuted:
                note(f"{target}: epsilon = {epsilon} is REFUTED")  # the results are one value, and come at the end
            left = (number - evidence.trials) // (2 if estimate else 1)
            if asked and left < least_trials(len(values)):
                unknown = f"the {left:,} views that are left are too few"
            elif asked:
                rounded = audited(Reading(form, users, learned, read), left)
        except Stopped as stopped:
            if not asked:
                raise
            unknown = f"it was stopped by {signal.Signals(stopped.number).name}"
        if asked and format is Format.text:
            _say_form(claimed, form, rounded, unknown)
        elif unknown:
            note(f"{form}: unknown: {unknown}")
        left = number - evidence.trials - (0 if rounded is None else rounded.trials)
        if estimate and refuted and not unknown and left >= least_trials(len(values)):
            # By the next seed: what our own code draws is fresh then, too.
            measured = audited(raw, left, epsilon=None, mode=Mode.FIXED, seed=seed + 1)
            if format is Format.text:
                say(f"the {left:,} views that were left show epsilon >= {show_down(measured.epsilon_lower)} by themselves")
        elif estimate:
            few = unknown or f"{left:,} views are too few"
            note(f"no estimate: {few if refuted else 'the bound is that of all views'}")
    if format is Format.json:
        _say_data(target, claimed, evidence, form, rounded, **({"estimate": measured} if estimate else {}))
    raise typer.Exit(REFUTED if refuted else 0)


def _log(file: str, values: list[Any], users: int, budget: str | None, trials: int | None) -> tuple[Any, list[Any], int]:
    """A log's reports, the inputs that are told apart, and how many trials its reports allow."""
    from ldpaudit.adapters.logs import read_log

    if users != 1:
        raise ValueError(f"an audit of a log needs --users 1, got {users}: its reports do not come from consecutive calls")
    function = read_log(file)
    left = [] if values else function.inputs[len(function.compared) :]
    values = values or function.compared
    if left:
        some = ", ".join(f"{x!r:.20}" for x in left[:5])
        note(f"{file}: left out for having too few reports: {len(left)} inputs, such as {some}; --inputs takes any")
    if budget is not None:
        raise ValueError("an audit of a log needs --trials, got --budget: its reports are used once")
    wanted, held = TRIALS if trials is None else trials, function.trials_on(values)
    if held <= wanted:
        note(f"{file}: its reports allow {held:,} trials")
    return function, values, min(wanted, held)


def _outputs(target: str, data: list[Any], users: int) -> Outputs:
    """What a system returns on two data sets."""
    from ldpaudit.adapters.callables import resolve_system
    from ldpaudit.adapters.outputs import Outputs

    sets = [each for each in data if isinstance(each, list | dict)]
    if not (len(sets) == len(data) == 2 and users == 1):
        raise ValueError(f"an audit of outputs needs two data sets as --inputs and --users 1, got {len(sets)} and {users}")
    given.look_here()
    # Lists of inputs, or how many users hold each: there an input is JSON in quotes.
    first, second = ([*map(_value, x)] if isinstance(x, list) else {_value(_input(k)): n for k, n in x.items()} for x in sets)
    return Outputs.of(resolve_system(target), first, second)


def _users(file: Path) -> list[Any]:
    """What users hold: a JSON list, or a value per line."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: needs a readable file of users' values: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: needs a UTF-8 text file") from None
    found = _input(text) if text.lstrip().startswith("[") else text.splitlines()
    if not isinstance(found, list):
        raise ValueError(f"{file}: needs a value per line, or a JSON list")
    return [_value(x) for x in found]


def _value(x: Any) -> Any:
    """An input as mechanisms know it: lists are tuples."""
    return tuple(map(_value, x)) if isinstance(x, list) else x


def _callable(target: str, patience: float | None, stack: ExitStack) -> Any:
    """What is audited: a program that runs until the stack ends, or a function or plan of the user's."""
    from ldpaudit.adapters.callables import PATIENCE, resolve_audited
    from ldpaudit.adapters.programs import Program

    given.look_here()
    kind, _, rest = target.partition(":")
    if kind == target and not target.endswith(".py"):
        hint = given.of_a_deployment(target)
        raise ValueError(f"needs MODULE:CALLABLE, MODULE:PLAN, exec:COMMAND or log:FILE, got {target!r}{hint}")
    if kind == "exec" and not rest.strip():
        raise ValueError(f"needs exec:COMMAND, such as exec:./randomizer, got {target!r}")
    if kind != "exec":
        return resolve_audited(target)
    return stack.enter_context(Program(rest, PATIENCE if patience is None else patience))


def _trials_within(allowed: float, function: Any, options: dict[str, Any]) -> int:
    """How many trials an allowed time is enough for."""
    import time

    import ldpaudit
    from ldpaudit.core.pace import least_trials, trials_within
    from ldpaudit.evidence import Mode

    whole: dict[str, Any] = {**options, "epsilon": None, "mode": Mode.FIXED}
    least = least_trials(max(len(options["inputs"]), 2))
    return trials_within(allowed, lambda n: ldpaudit.audit(function, **whole, trials=n), least, time.perf_counter)


def _refutes(evidence: Evidence, claimed: Fraction | None) -> bool:
    return claimed is not None and evidence.refutes(claimed)


def _say_data(
    target: str, claimed: Fraction | None, evidence: Evidence, form: Form | None, rounded: Evidence | None, **more: Evidence | None
) -> None:
    from ldpaudit.certificates.certificate import EvidenceRecord

    more |= {} if form is None else {str(form): rounded}
    records = {name: None if e is None else EvidenceRecord.of(e).model_dump(mode="json") for name, e in more.items()}
    told = {"one_run": True} if form is None else {}
    refuted = None if claimed is None else evidence.refutes(claimed)
    record = EvidenceRecord.of(evidence).model_dump(mode="json")
    say_json({"target": target, **record, "clue": evidence.clue, "refuted": refuted, **told, **records})


def _say_verdict(target: str, epsilon: str | None, evidence: Evidence, refuted: bool) -> None:
    """Print it now, whatever is asked next."""
    from ldpaudit.enclosure import show_down

    verdict = f"epsilon = {epsilon} is {'REFUTED' if refuted else 'not refuted'}"
    say(f"{target}: {'measured' if epsilon is None else verdict}")
    say(f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {evidence.confidence:g}:")
    say(f"{evidence.right} of {evidence.guesses} guesses were right, on {evidence.event}")
    if evidence.clue and (refuted or epsilon is None):
        say(f"what betrayed it, to be counted again: {evidence.clue}")
    if not refuted:
        say(evidence.resolution)
    sys.stdout.flush()


def _say_form(claimed: Fraction | None, form: Form, rounded: Evidence | None, unknown: str) -> None:
    """Print what the same code shows in another form, or why that is not known."""
    from ldpaudit.enclosure import show_down

    dropped = f"with {DROPPED[form]} dropped and floats rounded it is"
    if rounded is None:
        say(f"{dropped} unknown: {unknown}")
        return
    say(f"{dropped} {'REFUTED too' if _refutes(rounded, claimed) else 'not refuted'}:")
    say(f"epsilon >= {show_down(rounded.epsilon_lower)} with confidence {rounded.confidence:g}")


def _float(number: Fraction | None) -> float | None:
    try:
        return None if number is None else float(number)
    except OverflowError:
        raise ValueError("needs numbers that a float can hold, got one above 1e308") from None


def _input(text: str) -> Any:
    """A JSON value where the text is one, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
    except RecursionError:
        raise ValueError(f"needs inputs that are nested less deeply, got {text:.20}...") from None
