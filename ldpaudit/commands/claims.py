"""What papers print: ``ldpaudit claims`` and ``accuracy``, ``table`` and ``limit``, and ``prove``, the proofs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import (
    ExpectFailsOption,
    Format,
    FormatOption,
    ParametersArgument,
    SeedOption,
    StemArgument,
    pairs,
    parameters_of,
)
from ldpaudit.commands.output import console, note, progress, require_drawable, say, say_json, say_sources, say_table
from ldpaudit.core.nearest import one_of
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.gate.cache import Cache
    from ldpaudit.studies.literature import Row

COUNTING = ("ggkpv-1", "ggkpv-2")  # the tables with numbers at any parameters
FIELD = "field"  # the ledger's name among the tables
_FIELD_TITLE = "The field's formulas at three settings each, beside the certified epsilon"


def claims(
    stem: StemArgument = None,
    parameters: ParametersArgument = None,
    paper: Annotated[str | None, typer.Option(help="Only the claims of this source, such as GGKPV.", show_default=False)] = None,
    expect_fails: ExpectFailsOption = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Judge all claims again, and cache nothing.")] = False,
    bibtex: options.BibtexOption = False,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Judge what the papers claim about a mechanism; without a stem, about all, at the examples' parameters.

    Failures at the examples' parameters are on record in docs/literature.md; at others they end with exit code 1.
    """
    from ldpaudit.accountants.claims.sentence import Standing
    from ldpaudit.report import claims as report
    from ldpaudit.studies import literature

    if stem is None:
        known, cache = literature.stems(paper), None if no_cache else options.cache_of("claims")
        with progress("claims", len(known)) as advance:
            rows = []
            for each in known:
                rows += [row for row in _judged(each, cache) if row.where.startswith(paper or "")]
                advance(each)
        if bibtex:
            say_sources(row.where for row in rows)
        else:
            say(report.write(format, rows))
        return
    literature.stems(paper)  # refuses what is no paper before anything is judged
    chosen = _settings("claims", stem, parameters)
    found = []
    with progress(f"claims about {stem}", len(chosen)) as advance:
        for command, x in chosen:
            found.append((command, x, [each for each in literature.printed(stem, x) if each.where.startswith(paper or "")]))
            advance(command)
    if paper is not None and not any(judged for *_, judged in found):
        raise ValueError(f"{stem} has no claims of {paper!r:.60}: `ldpaudit claims {stem}` prints those that it has")
    if bibtex:
        say_sources(claim.where for *_, judged in found for claim in judged)
    elif format is TableFormat.json:
        say_json([report.as_data(stem, x, claim, command) for command, x, judged in found for claim in judged])
    elif format is TableFormat.text:
        for command, _, judged in found:
            report.print_claims(command, judged, say)
    else:
        say(report.write(format, literature.summary(stem, [claim for *_, judged in found for claim in judged])))
    on_record = literature.settings(stem)
    failed = [c.where for _, x, judged in found for c in judged if c.standing is Standing.FAILS and x not in on_record]
    _end(failed, expect_fails)


def _judged(stem: str, cache: Cache | None) -> list[Row]:
    """The summary of a stem's claims at its examples; as it was found before, by the same program."""
    import json

    from ldpaudit.errors import LdpauditError
    from ldpaudit.gate.cache import key_of, program
    from ldpaudit.report.claims import plain, rows_of
    from ldpaudit.studies import literature

    if cache is None:
        return literature.summary(stem, literature.claims(stem))
    key = key_of(["claims", stem, program()])
    with suppress(LdpauditError):  # an entry that is damaged is found again
        if (known := cache.read(key)) is not None:
            return rows_of(json.loads(known))
    rows = literature.summary(stem, literature.claims(stem))
    with suppress(LdpauditError):  # where nothing can be written
        cache.write(key, json.dumps(plain(rows)))
    return rows


def accuracy(
    stem: Annotated[str, typer.Argument(help="A stem, as `ldpaudit mechanisms` lists them.")],
    parameters: ParametersArgument = None,
    runs: Annotated[int, options.whole_number("Simulations per claim.", least=1)] = 100,
    confidence: Annotated[float, options.real_number("Confidence of the interval for the probability of failure.")] = 0.95,
    seed: Annotated[int, options.whole_number("Seed of all randomness.")] = 0,
    expect_fails: ExpectFailsOption = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Simulate a mechanism's error, and print it beside what its paper claims.

    Ends with exit code 1 where an error FAILS that --expect-fails does not name.
    """
    from ldpaudit.report import claims as report
    from ldpaudit.studies import literature

    if not 0 < confidence < 1:
        raise ValueError(f"accuracy needs 0 < confidence < 1, got {confidence}")
    chosen = _settings("accuracy", stem, parameters)
    stated = [(command, x, literature.accuracy(stem, x)) for command, x in chosen]
    if not any(each for *_, each in stated):
        raise ValueError(f"accuracy has nothing to measure for {stem} at these parameters: no printed error applies to them")
    found = []
    for command, x, each in stated:
        measured = []
        with progress(f"simulating {command}", len(each)) as advance:
            for claim in each:
                measured.append(literature.measure(x, claim, runs, seed, confidence))
                advance(claim.where)
        found.append((command, x, measured))
        if measured and format is TableFormat.text:  # a run that is stopped has said what it knew
            report.print_measured(command, measured, say)
    rows = [report.measured_as_data(stem, x, m, command) for command, x, each in found for m in each]
    if format is not TableFormat.text:
        shown = [key for key in rows[0] if key != "setting"]
        say_table(format, tuple(shown), [tuple(str(row[key]) for key in shown) for row in rows], lambda: rows)
    _end([m.claim.where for *_, measured in found for m in measured if m.holds is False], expect_fails)


def _settings(verb: str, stem: str, parameters: list[str] | None) -> list[tuple[str, Any]]:
    """Settings of a stem with the commands that reproduce what is said of them."""
    from ldpaudit.studies import literature

    choose = literature.simulated if verb == "accuracy" else literature.settings
    with parameters_of(stem):
        chosen = choose(stem, pairs(parameters))
    return [(literature.command(stem, each, verb), each) for each in chosen]


def _end(failed: Iterable[str], expected: list[str] | None) -> NoReturn:
    """End with 1 where other places fail than those on record, and say which."""
    from ldpaudit.studies import literature

    news = literature.not_on_record(failed, expected or [])
    for line in news:
        note(line)
    raise typer.Exit(1 if news else 0)


def table(
    name: Annotated[str | None, typer.Argument(help="Name of a table; without one, all are listed.", show_default=False)] = None,
    format: options.TableFormatOption = TableFormat.text,
    parameters: ParametersArgument = None,
    runs: Annotated[int, options.whole_number("Simulations per system in ggkpv-1 and ggkpv-2.", least=0)] = 10,
    seed: SeedOption = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the regimes over n (PNG, SVG or PDF; extra 'plot').", show_default=False)
    ] = None,
    bound: options.BoundOption = None,
    bibtex: options.BibtexOption = False,
) -> None:
    """Print a paper's bound table beside certified values; `field` prints the field's formulas.

    \b
    What it costs to count values in four models, and with many messages, in numbers:
      ldpaudit table ggkpv-1 n=1e6 B=1e4 epsilon=1 delta=1e-9
      ldpaudit table ggkpv-2 n=1e6 B=1e4 epsilon=1 delta=1e-9 --plot regimes.png
    """
    from ldpaudit.studies import ggkpv_tables, tables

    if bound and name != FIELD:
        raise ValueError(f"table needs {FIELD} with --bound, got {name or 'no name'}")
    if bibtex and name in tables.names():
        table = tables.load(name)
        say_sources([table.source, *(row.theorem for row in table.rows)])
    elif bibtex and name != FIELD:
        say_sources(["GGKPV"] * (name in COUNTING))
    elif name in COUNTING:
        _counting(name, parameters, runs, seed, plot, format)
    elif parameters or plot is not None:
        raise ValueError(f"table needs one of {', '.join(COUNTING)} for parameters and --plot, got {name or 'no name'}")
    elif name == FIELD:
        from ldpaudit.accountants.claims.ledger import ledger
        from ldpaudit.report import tables as report

        chapters = ledger(options.bounds(bound))
        if bibtex:
            say_sources(formula.stated.source for chapter in chapters for formula in chapter.formulas)
            return
        data = {"name": FIELD, "title": _FIELD_TITLE, "chapters": [report.chapter_as_data(each) for each in chapters]}
        every = [(chapter.title, *cells) for chapter in chapters for cells in report.cells_of(chapter)]
        say_table(format, ("kind", *report.LEDGER), every, lambda: data, lambda: report.print_ledger(chapters, console()))
    elif name is not None:
        _printed(name, format)
    else:
        listed = [(t.name, t.title, t.source) for t in map(tables.load, tables.names())]
        listed += [(each, ggkpv_tables.TITLES[each], "see each cell's command") for each in COUNTING]
        listed += [(FIELD, _FIELD_TITLE, "see each row")]
        head, text = ("name", "title", "source"), lambda: say(*(f"{name}  {title}" for name, title, _ in listed))
        say_table(format, head, listed, lambda: [dict(zip(head, each, strict=True)) for each in listed], text)


def _counting(table: str, parameters: list[str] | None, runs: int, seed: int, plot: Path | None, format: TableFormat) -> None:
    require_drawable(plot)
    from ldpaudit.registry import call
    from ldpaudit.report import counting as report
    from ldpaudit.studies import ggkpv_tables
    from ldpaudit.studies.counting_protocols import Setting

    with parameters_of(table):
        s: Setting = call(Setting.of, pairs(parameters))
    title, command, found = ggkpv_tables.TITLES[table], report.table_command(table, s, runs, seed), []
    with progress(table, len(ggkpv_tables.TABLES[table])) as advance:
        for each in ggkpv_tables.lines(table, s, runs, seed):
            found.append(each)
            advance(f"{each.protocol.name}, {each.protocol.origin}")
    if plot is not None:
        with progress("regimes", ggkpv_tables.steps(table)) as advance:
            regimes = ggkpv_tables.regimes(table, s, advance)
        report.draw_regimes(title, s, regimes, plot)

    def text() -> None:
        say(report.write_table(title, command, ggkpv_tables.DATA, found))

    say_table(format, report.TABLE, map(report.cells, found), lambda: report.table_as_data(table, command, s, found), text)


def _printed(name: str, format: TableFormat) -> None:
    from ldpaudit.accountants.claims import tables as judged
    from ldpaudit.report import tables as report
    from ldpaudit.studies import tables

    if name not in tables.names():
        raise ValueError(f"table {one_of([*COUNTING, *tables.names(), FIELD], name, 'ldpaudit table')}")
    chosen, checked = tables.load(name), []
    with progress(name, len(chosen.rows)) as advance:
        for each in judged.check(chosen):
            checked.append(each)
            advance()
    data = {"name": chosen.name, "source": chosen.source, "rows": [report.row_as_data(c) for c in checked]}
    say_table(format, *report.table_of(checked), lambda: data, lambda: report.print_table(chosen, checked, console()))


def limit(
    name: Annotated[str | None, typer.Argument(help="A calculator; without one, all are listed.", show_default=False)] = None,
    parameters: ParametersArgument = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """Lower bounds on the error of every private protocol."""
    import inspect

    from ldpaudit.accountants.limits import calculators
    from ldpaudit.registry import call

    known = calculators()
    if name is None:
        listed = {name: ", ".join(inspect.signature(f).parameters) for name, f in known.items()}

        def text() -> None:
            for name, takes in listed.items():
                first_line, *_ = (inspect.getdoc(known[name]) or "").splitlines() or [""]  # python -OO drops docstrings
                say(f"{name}: {takes}\n    {first_line}".rstrip())

        say_table(format, ("limit", "parameters"), listed.items(), lambda: listed, text)
        return
    if name not in known:
        raise ValueError(f"limit {one_of(known, name, 'ldpaudit limit')}")
    with parameters_of(name):
        answer = call(known[name], pairs(parameters))
    low, high = (getattr(answer, side, answer) for side in ("low", "high"))
    found = {"limit": name, "low": low, "high": high, "source": getattr(answer, "source", "")}
    say_table(format, tuple(found), [tuple(map(str, found.values()))], lambda: found, lambda: say(f"{name}: {answer}"))


def prove(
    stems: Annotated[list[str] | None, typer.Argument(help="Stems; by default all.", show_default=False)] = None,
    steps: Annotated[bool, typer.Option(help="Print every step.")] = False,
    ledger: Annotated[bool, typer.Option("--ledger", help="What the standalone checker finds valid of deployments.")] = False,
    plan: Annotated[list[str] | None, typer.Option(help="With --ledger, a deployment file or id; by default all bundled.")] = None,
    smt: Annotated[Path | None, typer.Option(help="A folder, in which SMT-LIB 2 files of all sentences are written.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Run the proofs, and print what is checked, assumed and admitted."""
    if ledger:
        from ldpaudit.certificates import ledger as proofs
        from ldpaudit.files.bundled import ids

        if stems or steps or smt or format is not Format.text:
            raise ValueError("--ledger takes --plan alone")
        say(proofs.page(plan or ids()).rstrip())
        return
    if plan:
        raise ValueError("--plan needs --ledger")
    from ldpaudit import mechanisms
    from ldpaudit.derivation import proofs_of
    from ldpaudit.registry import LISTING

    rows = []
    for stem in stems or mechanisms.stems():
        if stem not in mechanisms.stems() and mechanisms.part_of(stem, "proof") is None:
            raise ValueError(f"prove {one_of(mechanisms.names(), stem, LISTING)}")
        rows += [(stem, proof) for proof in proofs_of(stem)]
    if smt is not None:
        from ldpaudit.files.whole import write_whole
        from ldpaudit.proofs._smt import scripts

        for name, script in scripts(rows):
            write_whole(smt / f"{name}.smt2", script)
    if format is Format.json:
        keys = ("statement", "mechanism", "relation", "steps", "assumes", "admissions")
        say_json([{"stem": stem, **{key: getattr(proof, key, "") for key in keys}} for stem, proof in rows])
        return
    for stem, proof in rows:
        checked = f"{len(proof.steps)} steps{'' if hasattr(proof, 'mechanism') else ' of a proof on paper'} checked"
        say(f"{stem}: {proof.statement} ({proof.relation}; {checked})")
        told = [*(proof.steps if steps else []), *(f"assumes: {each}" for each in proof.assumes)]
        for line in (*told, *(f"ADMITS: {each}" for each in proof.admissions)):
            say(f"    {line}")
