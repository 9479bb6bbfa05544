"""``ldpaudit account`` and ``ldpaudit risk``: what a mechanism costs, and what its numbers mean for one user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import NameArgument, ParametersArgument, deployed
from ldpaudit.commands.output import console, progress, require_drawable, say, say_sources, say_table
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldpaudit.accountants.claims.published import Published
    from ldpaudit.enclosure import Enclosure

_WORDS = {True: "is kept", False: "is not kept", None: "is neither shown nor refuted"}
_READINGS = {"renyi": "renyi", "rho": "rho", "gdp": "mu"}
"""What is read off the whole curve, by the method of a profile that reads it."""


def account(
    mechanism: options.NameOrNothing = None,
    parameters: ParametersArgument = None,
    delta: Annotated[str | None, typer.Option(help="Compute epsilon at this delta; by default 0.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Compute delta at this epsilon; with --delta, decide whether both hold.")
    ] = None,
    shuffle: options.ShuffleOption = None,
    aggregate: options.AggregateOption = None,
    subsample: options.SubsampleOption = None,
    poisson: options.PoissonOption = None,
    repeat: options.RepeatOption = None,
    compose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE[:CLAIM]",
            help="In place of a mechanism: a deployment file whose first claim, or the named one, says what is run; repeatable, "
            "and all are composed.",
        ),
    ] = None,
    times: Annotated[
        list[int] | None, typer.Option(min=1, help="How often a --compose is run: once for each of them, in their order.")
    ] = None,
    neighbours: options.NeighboursOption = None,
    renyi: Annotated[
        str | None, typer.Option(metavar="ORDER", help="Compute the largest Renyi divergence of this order, above 1.")
    ] = None,
    zcdp: Annotated[bool, typer.Option("--zcdp", help="Compute the smallest rho of zero-concentrated privacy.")] = False,
    gdp: Annotated[bool, typer.Option("--gdp", help="Compute the smallest mu of Gaussian privacy.")] = False,
    compare: options.CompareOption = False,
    bound: options.BoundOption = None,
    bibtex: options.BibtexOption = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the profile (PNG, SVG or PDF; extra 'plot').")] = None,
    change: Annotated[
        str | None,
        typer.Option(metavar="<int>,...", help="By how much one user changes each count: the parameter change of noise on counts."),
    ] = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Certified epsilon or delta of a mechanism or a composition; shuffled or summed, subsampled, repeated where asked."""
    import ldpaudit
    from ldpaudit.core.number import nearest, six_digits, spelled
    from ldpaudit.profile import require_delta, require_epsilon, require_order

    readings = [name for name, wanted in (("renyi", renyi is not None), ("rho", zcdp), ("gdp", gdp)) if wanted]
    if len(readings) > 1 or (readings and (delta or epsilon or plot or compare)):
        others = "without --delta, --epsilon, --compare and --plot"
        raise ValueError(f"account answers one question: --renyi, --zcdp or --gdp stands alone, {others}")
    require_drawable(plot)
    if (bound or bibtex) and not compare:
        option, what = ("--bound", "it is shown beside the published ones") if bound else ("--bibtex", "these cite sources")
        raise ValueError(f"account needs --compare with {option}: {what}")
    if compare and epsilon is not None:
        raise ValueError("account --compare needs --delta alone: published bounds are compared by their epsilon")
    order = None if renyi is None else options.number("--renyi", renyi)
    if order is not None:
        require_order(order)
    given_too = [] if change is None else [f"change={change}"]
    if mechanism is None and not compose:
        raise ValueError("account needs MECHANISM, which is missing; `ldpaudit account -h` explains it")
    if mechanism is not None and (compose or times):
        raise ValueError(f"account needs a mechanism, or --compose FILE with --times for each, got {mechanism} with them")
    whole = options.composed(compose, times) if compose else mechanism or ""
    plan = deployed(whole, [*(parameters or []), *given_too], shuffle, aggregate, subsample, repeat, poisson=poisson)
    relation = None if neighbours is None else ldpaudit.Neighbours.named(neighbours)
    if readings:
        asked, at, given = _READINGS[readings[0]], "order", order
        answer = getattr(ldpaudit.account(plan, relation), readings[0])(*([] if order is None else [order]))
    else:
        asked, at = ("epsilon", "delta") if epsilon is None else ("delta", "epsilon")
        given = options.number(f"--{at}", (delta or "0") if epsilon is None else epsilon)
        (require_delta if epsilon is None else require_epsilon)(given)
        with progress("accounting"):
            profile = ldpaudit.account(plan, relation)
            answer = profile.epsilon(given) if epsilon is None else profile.delta(given)
    claimed = None if epsilon is None or delta is None else options.number("--delta", delta)
    if plot is not None and given is not None:
        from ldpaudit.display import axes
        from ldpaudit.report import plot as drawing

        there = answer.high if claimed is None else nearest(claimed)
        mark = (there, nearest(given)) if epsilon is None else (nearest(given), there)
        with progress("drawing", axes.POINTS) as advance:
            drawing.draw(profile, plot, title=str(plan), mark=mark, advance=advance)
    beside: Sequence[Published] = ()
    if compare and given is not None:
        from ldpaudit.accountants.claims.published import published

        with progress("certified; comparing published bounds"):
            beside = published(plan, given, answer, relation, options.bounds(bound))
    other = "" if given is None else f"{at}={six_digits(given)}"

    def data() -> dict[str, Any]:
        from ldpaudit.report.tables import bound_as_data

        number = {} if given is None else {"at": at, "at_number": nearest(given), "at_exact": spelled(given)}
        values = {"low": answer.low, "high": answer.high, "rigour": answer.rigour.name, "source": answer.source}
        claim = {} if claimed is None else {"claimed": nearest(claimed), "kept": answer.at_most(claimed)}
        rows = {"published": [bound_as_data(row) for row in beside]} if compare else {}
        told = {} if readings else {"given": other}
        return {"plan": str(plan), "asked": asked, **told, **number, **values, **claim, **rows}

    def text() -> None:
        say(str(plan), f"{asked}{f'({other})' if other else ''} in {_ends(answer)}")
        if claimed is not None and given is not None:
            say(f"({six_digits(given)}, {six_digits(claimed)}) {_WORDS[answer.at_most(claimed)]}")
        say(f"by {answer.source}")
        if compare:
            from ldpaudit.report.tables import print_comparison

            say()
            print_comparison(answer, beside, console())

    if bibtex:
        say_sources(row.source for row in beside)
    elif compare:
        from ldpaudit.report.tables import COMPARED, compared

        say_table(format, COMPARED, compared(answer, beside), data, text)
    else:
        from ldpaudit.enclosure import show_down, show_up

        row = (str(plan), asked, other, show_down(answer.low, 9), show_up(answer.high, 9), answer.rigour.name, answer.source)
        say_table(format, ("plan", "asked", "at", "low", "high", "rigour", "source"), [row], data, text)


def _ends(answer: Enclosure) -> str:
    """Both ends, the rigour, and how far the ends are apart where they need not be."""
    from ldpaudit.enclosure import Rigour, show_down, show_up

    apart = answer.rigour is not Rigour.EXACT and 0 < answer.relative_width < float("inf")
    ratio = f", high/low = {show_up(1 + answer.relative_width, 6)}" if apart else ""
    return f"[{show_down(answer.low, 9)}, {show_up(answer.high, 9)}], {answer.rigour.name}{ratio}"


def risk(
    mechanism: NameArgument,
    parameters: ParametersArgument = None,
    shuffle: options.ShuffleOption = None,
    aggregate: options.AggregateOption = None,
    subsample: options.SubsampleOption = None,
    repeat: Annotated[
        int | None, options.whole_number("Number of runs in a lifetime, shown beside a single run.")
    ] = None,
    neighbours: options.NeighboursOption = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """What the best adversary can do: certified probabilities of a right guess, of being found, and of certainty."""
    import ldpaudit
    from ldpaudit.certificates import risk as risks

    relation = None if neighbours is None else ldpaudit.Neighbours.named(neighbours)
    plans = {"one run": deployed(mechanism, parameters, shuffle, aggregate, subsample)}
    if repeat is not None:
        plans[f"{repeat:,} runs"] = deployed(mechanism, parameters, shuffle, aggregate, subsample, repeat)
    found = {}
    with progress("risk", len(plans)) as advance:
        for seen, plan in plans.items():
            found[seen] = risks.risk(ldpaudit.account(plan, relation))
            advance(seen)
    head = ("certified chance", *found)
    lines = zip(*(each.rows for each in found.values()), strict=True)
    rows = [(line[0][0], *(risks.percent(chance) for _, chance in line)) for line in lines]

    def text() -> None:
        from rich.text import Text

        say(str([*plans.values()][-1]))
        screen = console()
        for seen, each in found.items():
            screen.print(Text(each.sentence(seen)))
        say("", format.written(head, rows))

    say_table(format, head, rows, lambda: [{"plan": str(plans[s]), "seen": s, **_data(e)} for s, e in found.items()], text)


def _data(found: Any) -> dict[str, Any]:
    """A `Risk` for JSON."""
    from ldpaudit.certificates.risk import ends

    return {
        "guess": ends(found.guess),
        "true_positive": [{"false_positive": float(rate), **ends(chance)} for rate, chance in found.true_positive],
        "posterior": [{"prior": float(prior), **ends(chance)} for prior, chance in found.posterior],
    }
