"""Which to choose: ``ldpaudit design``, a parameter; ``compare``, a system; and ``calibrate``, how good the auditor is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import ParametersArgument, Post, SeedOption, pairs, parameters_of
from ldpaudit.commands.output import note, progress, require_drawable, say, say_json, say_table
from ldpaudit.core.nearest import one_of
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.enclosure import Enclosure
    from ldpaudit.studies.design import Answer, Goal, Value

FREQUENCIES = "frequencies"
"""In place of a mechanism: which protocol counts values, rather than which parameter one needs."""
AGGREGATE = "aggregate"  # in place of a mechanism: who adds noise to a sum of reports, and how much
DESIGNED = (
    "STEM or STEM:VARIANT; guarantee, for any randomizer with that epsilon; binomial_noise, on a count; "
    f"{FREQUENCIES}, for which protocol counts values; or {AGGREGATE}, for the noise of a sum."
)
SIMULATED = 100_000
"""Users, where nothing says how many."""
_PATIENCE = 3600.0  # seconds that a contender may take; all of ours take minutes at most for 1e6 users


def design(
    mechanism: Annotated[str, typer.Argument(help=DESIGNED)],
    epsilon: Annotated[str, typer.Option(help="Epsilon to keep.")],
    parameters: ParametersArgument = None,
    delta: Annotated[str, typer.Option(help="Delta to keep.")] = "0",
    shuffle: options.ShuffleOption = None,
    aggregate: options.AggregateOption = None,
    repeat: options.RepeatOption = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Find the parameter that keeps (epsilon, delta): the one that is left out.

    \b
    Which epsilon may each of a million shuffled reports have?
      ldpaudit design guarantee --epsilon 1/2 --delta 1e-6 --shuffle 1e6
      ldpaudit design randomized_response k=3 --epsilon 1/2 --shuffle 1e6 ...
      ldpaudit design unary_encoding k=8 ... --epsilon 0.3 --aggregate 1e5

    \b
    Which one may a report have that is sent a hundred times?
      ldpaudit design randomized_response k=2 --epsilon 4 --repeat 100 ...

    \b
    How many users must shuffle? (nothing is left out)
      ldpaudit design randomized_response k=3 epsilon=2 --epsilon 1/2 ...

    \b
    The largest batch, and the smallest noise:
      ldpaudit design trie_heavy_hitter users=1e6 threshold=15 levels=10 ...
      ldpaudit design shuffled_hadamard users=2**14 domain=256 tau=10 ...
      ldpaudit design shuffled_count_min users=1e5 domain=8 rows=4 buckets=1e6 ...
      ldpaudit design bucket_heavy_hitter domain=64 rows=8 trials=4 ...
      ldpaudit design binomial_noise n=1e6 k=1 ...

    \b
    Which protocol counts values among shuffled users, with which noise?
      ldpaudit design frequencies users=1e6 values=1000 ...

    \b
    Who adds noise to a sum of reports, and how much? With how few users?
      ldpaudit design aggregate users=1e5 values=8 ...
      ldpaudit design aggregate error=1/100 values=8 aggregators=2 ...
    """
    from ldpaudit.studies.design import Goal, design as answer_to

    goal = Goal(options.number("--epsilon", epsilon), options.number("--delta", delta))
    texts = pairs(parameters)
    options.require_one_view(shuffle, aggregate)
    if mechanism in (FREQUENCIES, AGGREGATE):
        if shuffle or aggregate or repeat is not None:
            raise ValueError(f"design of {mechanism} needs no --shuffle, --aggregate or --repeat: it is of all users, once")
        (_frequencies if mechanism == FREQUENCIES else _sums)(goal, texts, format)
        return
    given = {key: options.number(key, value) if key != "constructor" else value for key, value in texts.items()}
    with parameters_of(mechanism, keys=True), progress("designing"):
        found = answer_to(mechanism, given, goal, shuffle or aggregate, repeat, aggregate is not None)
    table = _at(found.value, found.certified)
    say_table(format, tuple(table), [tuple(map(str, table.values()))], lambda: _data(found), lambda: _say(found))


def _say(found: Answer) -> None:
    say(found.plan, f"{found.parameter} = {found.value} is the {found.best} found that keeps {found.goal}")
    say(f"at {found.value}: {_delta(found, found.certified)}")
    if found.refused is not None and found.beyond is None:
        say(f"at {found.refused}: there is no such mechanism")
    if found.refused is not None and found.beyond is not None:
        word = "does not keep it" if found.is_tight else "is not shown to keep it"
        say(f"at {found.refused}: {_delta(found, found.beyond)}, which {word}")
    say(f"by {found.certified.source}")


def _frequencies(goal: Goal, given: dict[str, str], format: TableFormat) -> None:
    from ldpaudit.registry import call
    from ldpaudit.report import counting as report
    from ldpaudit.studies import frequencies

    def sizes(users: int, values: int) -> tuple[int, int]:
        return users, values

    with parameters_of(FREQUENCIES):
        users, values = call(sizes, given)
    found = frequencies.any_messages(goal, users, values)
    asked = goal, users, values, found
    say_table(format, report.FREQUENCIES, report.frequencies(found), lambda: report.frequencies_as_data(*asked),
              lambda: say(report.write_frequencies(*asked)))  # fmt: skip


def _sums(goal: Goal, given: dict[str, str], format: TableFormat) -> None:
    from ldpaudit.registry import call
    from ldpaudit.report import counting as report
    from ldpaudit.studies import frequencies as sums

    def known_to(error: Fraction, values: int, aggregators: int = 2) -> tuple[Fraction, int, int]:
        return error, values, aggregators

    def summed(users: int, values: int, aggregators: int = 2) -> tuple[int, int, int]:
        return users, values, aggregators

    with parameters_of(AGGREGATE):
        if "error" in given:
            error, values, aggregators = call(known_to, given)
            found = sums.least_users(goal, error, values, aggregators)
        else:
            users, values, aggregators = call(summed, given)
            found = sums.least_noise(goal, users, values, aggregators)
    data, text = lambda: report.sums_as_data(goal, values, found), lambda: say(report.write_sums(goal, values, found))
    say_table(format, report.SUMS, report.sums(found), data, text)


def _delta(found: Answer, delta: Enclosure) -> str:
    from ldpaudit.enclosure import show_down, show_up

    ends = f"[{show_down(delta.low, 7)}, {show_up(delta.high, 7)}]"
    return f"delta(epsilon={float(found.goal.epsilon):g}) in {ends}, {delta.rigour.name}"


def _data(found: Answer) -> dict[str, Any]:
    return {
        "plan": found.plan,
        "epsilon": float(found.goal.epsilon),
        "delta": float(found.goal.delta),
        "epsilon_exact": str(found.goal.epsilon),
        "delta_exact": str(found.goal.delta),
        "asked": found.parameter,
        "best": found.best,
        **_at(found.value, found.certified),
        "source": found.certified.source,
        "refused": None if found.refused is None else _at(found.refused, found.beyond),
    }


def _at(value: Value, delta: Enclosure | None) -> dict[str, Any]:
    exact = value if isinstance(value, int) else str(value)
    both = {"value": exact, "number": value if isinstance(value, int) else float(value)}
    if delta is None:  # the parameters allow no such mechanism
        return both
    return {**both, "low": delta.low, "high": delta.high, "rigour": delta.rigour.name}


def compare(
    data: Annotated[
        str | None,
        typer.Option(help="Users' values: text with one per line, or a table; by default English words.", metavar="PLACE",
                     show_default=False),
    ] = None,
    column: Annotated[str, typer.Option(help="Column of the CSV or Parquet file; by default the first.", show_default=False)] = "",
    epsilon: Annotated[str, typer.Option(help="Epsilon that every system is certified to keep.")] = "1",
    delta: Annotated[str, typer.Option(help="Delta at which that is certified.")] = "1e-9",
    users: Annotated[
        int | None, options.whole_number("Number of simulated users, in place of --data; by default 100,000.", least=2)
    ] = None,
    dictionary: Annotated[
        int, options.whole_number("Number of most frequent values that oracles are asked about.", least=1)
    ] = 1_000,
    top: Annotated[int, options.whole_number("Number of most frequent values that should be recovered.", least=1)] = 100,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this stem; repeatable.", show_default=False)] = None,
    post: Annotated[Post, typer.Option(help="How oracles that estimate all counts process them.")] = Post.none,
    seed: Annotated[int, options.whole_number("Seed of all randomness.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw errors and recall (PNG, SVG or PDF; extra 'plot').")] = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Every frequency oracle and heavy-hitter system on the same data at the same certified epsilon: errors, recall, bits, time.

    Each system's noise is searched until it is certified to cost what is asked, in its own model: users' reports as they are
    (local), or shuffled. What cannot be brought near it is printed without a rank. Oracles are asked about a dictionary of the
    most frequent values; systems that name values know none.
    """
    import numpy as np

    from ldpaudit.errors import LdpauditError
    from ldpaudit.files import user_data
    from ldpaudit.report import comparison as report
    from ldpaudit.studies import comparison
    from ldpaudit.workers.worker_processes import Crew, Task

    require_drawable(plot)
    keeps = options.number("--epsilon", epsilon), options.number("--delta", delta)
    contest = comparison.Contest(*keeps, dictionary, top, seed, post.value)
    all_of_them = list(comparison.contenders())
    comparable = {each.stem: each for each in all_of_them}
    for stem in only or []:
        if stem not in comparable:
            raise ValueError(f"compare --only: {one_of(comparable, stem, 'ldpaudit compare')}")
    chosen = [each for each in all_of_them if not only or each.stem in only]
    if data is not None and users is not None:
        raise ValueError(f"compare needs --data or --users, got both: {data} says how many users there are")
    if data is None and column:
        raise ValueError(f"compare needs --column with --data, got --column {column} without")
    if data is None:
        values = user_data.english(SIMULATED if users is None else users, np.random.default_rng(seed))
    else:
        values = user_data.read(data, column)
    rows, left = [], []
    with progress("comparing", len(chosen)) as advance, Crew() as crew:
        for each in chosen:
            try:
                # In a process of its own, so that the most memory that it ever held is this one's.
                rows.append((each, crew.do(Task(str(each), comparison.score, (each, contest, values), _PATIENCE, pickled=True))))
            except LdpauditError as error:
                left.append(f"left out: {error}")
            advance(str(each))
    table = report.Leaderboard(contest, values.users, len(values.values), tuple(rows))
    if plot is not None:
        report.draw(table, plot)
    if format is TableFormat.json:
        say_json(report.as_data(table, left))
        return
    say(report.write(table, format))
    for line in left:
        note(line)


def calibrate(
    runs: Annotated[int, options.whole_number("Audits per mechanism.", least=1)] = 1_000,
    trials: Annotated[int, options.whole_number("Samples per audit.", least=16)] = 2_000,
    confidence: Annotated[float, options.real_number("Of each audit.")] = 0.95,
    seed: SeedOption = 0,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Measure how often the installed auditor refutes true claims that are exactly tight."""
    from ldpaudit.enclosure import show_down, show_up
    from ldpaudit.studies import calibration

    with progress("calibrating", len(calibration.CASES)) as advance:
        rates = []
        for rate in calibration.measure(runs=runs, trials=trials, confidence=confidence, seed=seed):
            rates.append(rate)
            advance(rate.name)

    def text() -> None:
        for r in rates:
            interval = f"[{show_down(r.low, 3)}, {show_up(r.high, 3)}]"
            say(f"{r.name}, {r.mode}: {r.refuted} of {r.runs} true claims refuted; rate in {interval}, stated {r.stated:.3g}")

    keys = calibration.Rate.__slots__
    cells = [tuple(str(getattr(r, key)) for key in keys) for r in rates]
    say_table(format, keys, cells, lambda: [{key: getattr(r, key) for key in keys} for r in rates], text)
    raise typer.Exit(0 if all(r.low <= r.stated for r in rates) else 1)
