"""``ldpaudit design``: which parameter keeps a promise."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands.options import (
    AggregateOption,
    Format,
    FormatOption,
    ParametersArgument,
    ShuffleOption,
    pairs,
    parameters_of,
    require_one_view,
    whole,
)
from ldpaudit.commands.output import say, say_json

if TYPE_CHECKING:
    from ldpaudit.enclosure import Enclosure
    from ldpaudit.studies.design import Answer, Goal, Value

FREQUENCIES = "frequencies"
"""In place of a mechanism: which protocol counts values, rather than which parameter one needs."""
AGGREGATE = "aggregate"
"""In place of a mechanism: who adds noise to a sum of reports, and how much."""
DESIGNED = (
    "STEM or STEM:VARIANT; guarantee, for any randomizer with that epsilon; binomial_noise, on a count; "
    f"{FREQUENCIES}, for which protocol counts values; or {AGGREGATE}, for the noise of a sum."
)


def design(
    mechanism: Annotated[str, typer.Argument(help=DESIGNED)],
    epsilon: Annotated[str, typer.Option(help="Epsilon to keep.")],
    parameters: ParametersArgument = None,
    delta: Annotated[str, typer.Option(help="Delta to keep.")] = "0",
    shuffle: ShuffleOption = None,
    aggregate: AggregateOption = None,
    repeat: Annotated[int | None, typer.Option(parser=whole, metavar="<int>", help="Number of repetitions.")] = None,
    format: FormatOption = Format.text,
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
    from ldpaudit.core.expression import parse
    from ldpaudit.studies.design import Goal
    from ldpaudit.studies.design import design as answer_to

    goal = Goal(parse(epsilon), parse(delta))
    require_one_view(shuffle, aggregate)
    if mechanism in (FREQUENCIES, AGGREGATE):
        if shuffle or aggregate or repeat is not None:
            raise ValueError(f"design of {mechanism} needs no --shuffle, --aggregate or --repeat: it is of all users, once")
        (_frequencies if mechanism == FREQUENCIES else _sums)(goal, parameters or [], format)
        return
    given = {key: parse(value) if key != "constructor" else value for key, value in pairs(parameters or []).items()}
    with parameters_of(mechanism, keys=True):
        found = answer_to(mechanism, given, goal, shuffle or aggregate, repeat, aggregate is not None)
    if format is Format.json:
        say_json(_data(found))
    else:
        _say_text(found)


def _frequencies(goal: Goal, parameters: list[str], format: Format) -> None:
    from ldpaudit.registry import call
    from ldpaudit.report import frequencies as report
    from ldpaudit.studies import frequencies

    with parameters_of(FREQUENCIES):
        users, values = call(_sizes, pairs(parameters))
    found = frequencies.any_messages(goal, users, values)
    if format is Format.json:
        say_json(report.as_data(goal, users, values, found))
    else:
        say(report.write(goal, users, values, found))


def _sums(goal: Goal, parameters: list[str], format: Format) -> None:
    from ldpaudit.registry import call
    from ldpaudit.report import sums as report
    from ldpaudit.studies import sums

    given = pairs(parameters)
    with parameters_of(AGGREGATE):
        if "error" in given:
            error, values, aggregators = call(_known_to, given)
            found = sums.least_users(goal, error, values, aggregators)
        else:
            users, values, aggregators = call(_summed, given)
            found = sums.least_noise(goal, users, values, aggregators)
    if format is Format.json:
        say_json(report.as_data(goal, values, found))
    else:
        say(report.write(goal, values, found))


def _known_to(error: Fraction, values: int, aggregators: int = 2) -> tuple[Fraction, int, int]:
    return error, values, aggregators


def _summed(users: int, values: int, aggregators: int = 2) -> tuple[int, int, int]:
    return users, values, aggregators


def _sizes(users: int, values: int) -> tuple[int, int]:
    return users, values


def _say_text(found: Answer) -> None:
    say(found.plan)
    say(f"{found.parameter} = {found.value} is the {found.best} found that keeps {found.goal}")
    say(f"at {found.value}: {_delta(found, found.certified)}")
    if found.refused is not None and found.beyond is None:
        say(f"at {found.refused}: there is no such mechanism")
    if found.refused is not None and found.beyond is not None:
        word = "does not keep it" if found.is_tight else "is not shown to keep it"
        say(f"at {found.refused}: {_delta(found, found.beyond)}, which {word}")
    say(f"by {found.certified.source}")


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
