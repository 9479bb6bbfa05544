"""``ldpaudit sweep``: what is certified along ranges of parameters, as a table and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import NameArgument, deployed
from ldpaudit.commands.output import progress, require_drawable, say_sources, say_table
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.accountants.claims.published import Published
    from ldpaudit.enclosure import Enclosure

_POINTS, _MOST_POINTS, _MOST_ROWS = 13, 1_000, 10_000
"""Points of a range, where none are named, and at most; and of all ranges together."""
_RANGE = "one value, several as 1,2,4, or a range in equal ratios as 1e3..1e9 (integers), 0.5..2.0, or 1e3..1e9:25 for 25 points"


@dataclass(frozen=True, slots=True)
class _Row:
    """A point of a sweep."""

    at: Mapping[str, str]  # the value of each parameter that is swept
    answer: Enclosure | None = None
    refused: str = ""  # why there is no answer
    published: tuple[Published, ...] | None = None  # where they are asked for

    def cells(self, bounds: Sequence[str]) -> tuple[str, ...]:
        """Its values, both ends, and the bounds of these names."""
        from ldpaudit.enclosure import show_down, show_up

        ends = ("", "", self.refused)
        if self.answer is not None:
            ends = show_down(self.answer.low, 9), show_up(self.answer.high, 9), self.answer.rigour.name
        beside = {row.name: _said(row) for row in self.published or ()}
        return (*self.at.values(), *ends, *(beside.get(bound, "") for bound in bounds))

    def data(self) -> dict[str, Any]:
        """For JSON."""
        from ldpaudit.report.tables import bound_as_data

        found: dict[str, Any] = dict(self.at)
        if self.answer is None:
            return {**found, "refused": self.refused}
        ends = {"low": self.answer.low, "high": self.answer.high}
        beside = {} if self.published is None else {"published": [bound_as_data(row) for row in self.published]}
        return {**found, **ends, "rigour": self.answer.rigour.name, "source": self.answer.source, **beside}


def account(
    mechanism: NameArgument,
    parameters: Annotated[list[str] | None, typer.Argument(help=f"key=value, or key=RANGE: {_RANGE}.")] = None,
    delta: Annotated[str, typer.Option(metavar="RANGE", help="Deltas at which epsilon is computed.")] = "0",
    shuffle: Annotated[str | None, typer.Option(metavar="RANGE", help="Numbers of users whose views are shuffled.")] = None,
    aggregate: Annotated[str | None, typer.Option(metavar="RANGE", help="Numbers of users whose views are summed.")] = None,
    subsample: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Population sizes: participants are drawn without replacement.")
    ] = None,
    repeat: Annotated[str | None, typer.Option(metavar="RANGE", help="Numbers of repetitions.")] = None,
    neighbours: options.NeighboursOption = None,
    compare: options.CompareOption = False,
    bound: options.BoundOption = None,
    bibtex: options.BibtexOption = False,
    plot: Annotated[Path | None, typer.Option(help="Draw epsilon over the longest range (PNG, SVG or PDF; extra 'plot').")] = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Certified epsilon along ranges of any parameters; a point that is refused is a row that says why."""
    import ldpaudit

    require_drawable(plot)
    if (bound or bibtex) and not compare:
        option, what = ("--bound", "it is shown beside the published ones") if bound else ("--bibtex", "these cite sources")
        raise ValueError(f"sweep needs --compare with {option}: {what}")
    bounds = options.bounds(bound) if compare else None
    relation = None if neighbours is None else ldpaudit.Neighbours.named(neighbours)
    around = {"--shuffle": shuffle, "--aggregate": aggregate, "--subsample": subsample, "--repeat": repeat, "--delta": delta}
    given = {**options.pairs(parameters), **{name: text for name, text in around.items() if text is not None}}
    ranges = {name: values(name, text) for name, text in given.items()}
    if (size := math.prod(map(len, ranges.values()))) > _MOST_ROWS:
        raise ValueError(f"sweep needs at most {_MOST_ROWS:,} points of all ranges together, got {size:,}")
    rows: list[_Row] = []
    with progress("accounting", size) as advance:
        for point in product(*ranges.values()):
            at = dict(zip(ranges, point, strict=True))
            shown = {name.lstrip("-"): value for name, value in at.items() if len(ranges[name]) > 1}
            rows.append(_row(mechanism, at, shown, relation, bounds))
            advance()
    if all(row.answer is None for row in rows):
        raise ValueError(rows[0].refused)
    if plot is not None:
        from ldpaudit.report import plot as drawing

        drawing.draw_curves(list(_curves(rows)), plot, title=mechanism, across=_longest(rows))
    if bibtex:
        say_sources(each.source for row in rows for each in row.published or ())
        return
    names = _bounds(rows)
    head = (*rows[0].at, "low", "high", "rigour", *names)
    say_table(format, head, [row.cells(names) for row in rows], lambda: [row.data() for row in rows])


def values(name: str, text: str) -> list[str]:
    """The values of a range, each as text. Raises ValueError where it is none; see `_RANGE`."""
    if set("[;") & set(text):  # a list of numbers, or a matrix: one value
        return [text]
    found: list[str] = []
    for part in text.split(","):
        ends, _, points = part.partition(":")
        low, dots, high = ends.partition("..")
        found += _between(name, low, high, points) if dots else [part]
    if repeated := [value for value in found if found.count(value) > 1]:
        raise ValueError(f"{name} needs each value once, got {repeated[0]} twice")
    return found


def _between(name: str, first: str, last: str, points: str) -> list[str]:
    low, high = (options.number(name, end) for end in (first, last))
    count = int(points) if points.isascii() and points.isdigit() else _POINTS if not points else 0
    if not (0 < low < high and 2 <= count <= _MOST_POINTS):
        got = f"{first}..{last}{points and ':'}{points}"
        raise ValueError(f"{name} needs {_RANGE}; 2 to {_MOST_POINTS:,} points above 0, got {got}")
    ratio = float(high / low) ** (1 / (count - 1))
    between = [float(low) * ratio**i for i in range(1, count - 1)]
    if low.denominator == high.denominator == 1 and "." not in first + last:
        whole = [int(low), *map(round, between), int(high)]
        return [str(n) for n in dict.fromkeys(whole)]
    return [first, *(f"{x:.6g}" for x in between), last]


def _row(mechanism: str, at: Mapping[str, str], shown: Mapping[str, str], relation: Any, bounds: Any) -> _Row:
    import ldpaudit
    from ldpaudit.errors import in_a_line, of_the_user

    given = [f"{key}={value}" for key, value in at.items() if not key.startswith("--")]
    try:
        around = [_whole(name, at.get(name)) for name in ("--shuffle", "--aggregate", "--subsample", "--repeat")]
        goal, plan = options.number("--delta", at["--delta"]), deployed(mechanism, given, *around)
        answer = ldpaudit.account(plan, relation).epsilon(goal)
        if bounds is None:
            return _Row(shown, answer)
        from ldpaudit.accountants.claims.published import published

        return _Row(shown, answer, published=published(plan, goal, answer, relation, bounds))
    except Exception as error:
        if not of_the_user(error):
            raise
        return _Row(shown, refused=in_a_line(error))


def _whole(name: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(options.reader(int, None)(text))
    except typer.BadParameter as error:
        raise ValueError(f"{name}: {error.message}") from None


def _bounds(rows: Sequence[_Row]) -> list[str]:
    """Names of the bounds that apply to any of the rows."""
    return list(dict.fromkeys(each.name for row in rows for each in row.published or () if each.printed))


def _said(row: Published) -> str:
    """The bound's epsilon, and how it stands beside the certified one where it is no theorem that holds."""
    from ldpaudit.accountants.claims.sentence import Standing

    if row.printed is None:
        return ""
    return f"{float(row.printed.claimed):.6g}{'' if row.standing is Standing.HOLDS else f' ({row.standing.value})'}"


def _longest(rows: Sequence[_Row]) -> str:
    """The parameter of the most values, which a picture has across."""
    if not rows[0].at:
        raise ValueError("sweep --plot needs a range, got one point")
    return max(rows[0].at, key=lambda name: len({row.at[name] for row in rows}))


def _curves(rows: Sequence[_Row]) -> Iterator[tuple[str, list[tuple[float, float, float]]]]:
    """Names of curves, and of each what is across with both ends of epsilon; one for each choice of the other parameters."""
    across = _longest(rows)
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        if row.answer is not None:
            name = ", ".join(f"{key}={value}" for key, value in row.at.items() if key != across)
            groups.setdefault(name, []).append(row)
    for name, group in groups.items():
        places = [float(options.number(across, row.at[across])) for row in group]
        ends = [(x, row.answer.low, row.answer.high) for x, row in zip(places, group, strict=True) if row.answer]
        yield ", ".join(filter(None, ("certified", name))), ends
        for bound in _bounds(group):
            said = ((x, each) for x, row in zip(places, group, strict=True) for each in row.published or () if each.name == bound)
            epsilons = [(x, float(each.printed.claimed)) for x, each in said if each.printed]
            yield ", ".join(filter(None, (bound, name))), [(x, e, e) for x, e in epsilons if math.isfinite(e)]
