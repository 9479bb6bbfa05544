"""``ldpaudit account``: what a mechanism costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpaudit.commands.options import (
    AggregateOption,
    ChangeOption,
    Format,
    FormatOption,
    NameArgument,
    ParametersArgument,
    ShuffleOption,
    deployed,
    whole,
)
from ldpaudit.commands.output import console, progress, require_drawable, say, say_json

if TYPE_CHECKING:
    from ldpaudit.accountants.claims.published import Published
    from ldpaudit.enclosure import Enclosure
    from ldpaudit.plan import Plan

_WORDS = {True: "is kept", False: "is not kept", None: "is neither shown nor refuted"}


def account(
    mechanism: NameArgument,
    parameters: ParametersArgument = None,
    delta: Annotated[str | None, typer.Option(help="Compute epsilon at this delta; by default 0.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Compute delta at this epsilon; with --delta, decide whether both hold.")
    ] = None,
    shuffle: ShuffleOption = None,
    aggregate: AggregateOption = None,
    subsample: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="<int>", help="Population size: participants are drawn without replacement."
        ),
    ] = None,
    repeat: Annotated[int | None, typer.Option(parser=whole, metavar="<int>", help="Number of repetitions.")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="replace-one, add-remove, or group-of-K: K users replaced.")
    ] = None,
    renyi: Annotated[
        str | None, typer.Option(metavar="ORDER", help="Compute the largest Renyi divergence of this order, above 1.")
    ] = None,
    zcdp: Annotated[bool, typer.Option("--zcdp", help="Compute the smallest rho of zero-concentrated privacy.")] = False,
    gdp: Annotated[bool, typer.Option("--gdp", help="Compute the smallest mu of Gaussian privacy.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Print the field's published bounds beside it.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the profile (PNG, SVG or PDF; extra 'plot').")] = None,
    change: ChangeOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Certified epsilon or delta of a mechanism; shuffled or summed, subsampled and repeated, in this order, where asked."""
    import ldpaudit
    from ldpaudit.core.expression import parse
    from ldpaudit.core.number import nearest, six_digits, spelled
    from ldpaudit.profile import require_delta, require_epsilon, require_order

    reading = _reading(renyi, zcdp, gdp, alone=not (delta or epsilon or plot or compare))
    require_drawable(plot)
    if compare and epsilon is not None:
        raise ValueError("account --compare needs --delta alone: published bounds are compared by their epsilon")
    given_too = [] if change is None else [f"change={change}"]
    order = None if renyi is None else parse(renyi)
    if order is not None:
        require_order(order)
    plan = deployed(mechanism, [*(parameters or []), *given_too], shuffle, aggregate, subsample, repeat)
    relation = None if neighbours is None else ldpaudit.Neighbours.named(neighbours)
    if reading is not None:
        _say_reading(plan, reading, getattr(ldpaudit.account(plan, relation), reading), order, format)
        return
    asked, given = ("epsilon", parse(delta or "0")) if epsilon is None else ("delta", parse(epsilon))
    (require_delta if epsilon is None else require_epsilon)(given)
    profile = ldpaudit.account(plan, relation)
    answer = profile.epsilon(given) if epsilon is None else profile.delta(given)
    claimed = None if epsilon is None or delta is None else parse(delta)
    if plot is not None:
        from ldpaudit.display import axes
        from ldpaudit.report import plot as drawing

        there = answer.high if claimed is None else nearest(claimed)
        mark = (there, nearest(given)) if epsilon is None else (nearest(given), there)
        with progress("drawing", axes.POINTS) as advance:
            drawing.draw(profile, plot, title=str(plan), mark=mark, advance=advance)
    beside: tuple[Published, ...] = ()
    if compare:
        from ldpaudit.accountants.claims.published import published
        from ldpaudit.report.published import as_data, print_comparison

        beside = published(plan, given, answer, relation)
    other = f"{'delta' if asked == 'epsilon' else 'epsilon'}={six_digits(given)}"
    if format is Format.json:
        values = {"low": answer.low, "high": answer.high, "rigour": answer.rigour.name, "source": answer.source}
        number = {
            "at": "delta" if asked == "epsilon" else "epsilon",
            "at_number": nearest(given),
            "at_exact": spelled(given),
        }
        claim = {} if claimed is None else {"claimed": nearest(claimed), "kept": answer.at_most(claimed)}
        rows = {"published": [as_data(row) for row in beside]} if compare else {}
        say_json({"plan": str(plan), "asked": asked, "given": other, **number, **values, **claim, **rows})
        return
    say(str(plan))
    say(f"{asked}({other}) in {_ends(answer)}")
    if claimed is not None:
        say(f"({six_digits(given)}, {six_digits(claimed)}) {_WORDS[answer.at_most(claimed)]}")
    say(f"by {answer.source}")
    if compare:
        say()
        print_comparison(answer, beside, console())


def _reading(renyi: str | None, zcdp: bool, gdp: bool, alone: bool) -> str | None:
    """What is read off the whole curve, where that is asked; nothing else is asked then."""
    asked = [name for name, wanted in (("renyi", renyi is not None), ("rho", zcdp), ("gdp", gdp)) if wanted]
    if len(asked) > 1 or (asked and not alone):
        others = "without --delta, --epsilon, --compare and --plot"
        raise ValueError(f"account answers one question: --renyi, --zcdp or --gdp stands alone, {others}")
    return next(iter(asked), None)


def _say_reading(plan: Plan, reading: str, answer: Callable[..., Enclosure], order: Fraction | None, format: Format) -> None:
    """Print a Renyi divergence, a rho or a mu."""
    from ldpaudit.core.number import nearest, six_digits, spelled

    found = answer() if order is None else answer(order)
    if format is Format.json:
        at = {} if order is None else {"at": "order", "at_number": nearest(order), "at_exact": spelled(order)}
        values = {"low": found.low, "high": found.high, "rigour": found.rigour.name, "source": found.source}
        say_json({"plan": str(plan), "asked": {"gdp": "mu"}.get(reading, reading), **at, **values})
        return
    what = {"rho": "rho", "gdp": "mu"}[reading] if order is None else f"renyi(order={six_digits(order)})"
    say(str(plan))
    say(f"{what} in {_ends(found)}")
    say(f"by {found.source}")


def _ends(answer: Enclosure) -> str:
    """Both ends, the rigour, and how far the ends are apart where they need not be."""
    from ldpaudit.enclosure import Rigour, show_down, show_up

    apart = answer.rigour is not Rigour.EXACT and 0 < answer.relative_width < float("inf")
    ratio = f", high/low = {show_up(1 + answer.relative_width, 6)}" if apart else ""
    return f"[{show_down(answer.low, 9)}, {show_up(answer.high, 9)}], {answer.rigour.name}{ratio}"
