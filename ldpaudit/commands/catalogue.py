"""What there is: ``ldpaudit mechanisms`` and ``deployments``, ``init``, a file to begin with, and ``schema``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import DeploymentOption, ParametersArgument, parameters_of, reporting
from ldpaudit.commands.output import note, say, say_json, say_table
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.files.deployment import Deployment


def mechanisms(
    name: Annotated[
        str | None,
        typer.Argument(help="STEM or STEM:VARIANT: only this, with what each parameter means.", show_default=False),
    ] = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """List the mechanisms with their parameters; of one stem, what each parameter means, its unit and range."""
    from ldpaudit import mechanisms as known, registry

    if name is not None:
        _explain(name, format)
        return
    rows: list[tuple[str, str, str, list[str]]] = []
    for stem in known.names():
        for variant, owner in known.classes(stem).items():
            made = registry.constructors(owner)
            ways = [f"{name}: {', '.join(registry.parameters_of(make))}" for name, make in made.items()]
            rows.append((f"{stem}:{variant}" if variant else stem, owner.title, known.source(stem), ways))

    def text() -> None:
        for name, title, source, ways in rows:
            say(f"{name}  {title}{'' if source == 'ldpaudit' else f'  (from {source})'}", *(f"    {way}" for way in ways))

    head, cells = ("name", "title", "from", "parameters"), [(*each, "; ".join(ways)) for *each, ways in rows]
    say_table(format, head, cells, lambda: [dict(zip(head, row, strict=True)) for row in rows], text)


def _explain(name: str, format: TableFormat) -> None:
    """The classes of a stem, or the one that a variant names, with what their parameters mean."""
    from ldpaudit import mechanisms as known, registry
    from ldpaudit.core.parameters import of, summary

    stem, variant = known.named(name)
    with parameters_of(name):
        one = registry.find(stem, variant)
    classes = {variant: one} if variant else known.classes(stem)
    rows = []
    for variant, owner in classes.items():
        makers = registry.constructors(owner)
        ways = [(way, summary(makers[way]), parameters) for way, parameters in of(owner).items()]
        rows.append((f"{stem}:{variant}" if variant else stem, owner, [*map(str, owner.relations)], ways))
    def data() -> list[dict[str, Any]]:
        shown = ("name", "type", "unit", "range", "default")
        return [
            {"name": name, "title": owner.title, "model": owner.model, "neighbours": neighbours, "constructors": [
                {"name": way, "summary": said, "parameters": [
                    {**{key: getattr(each, key) for key in shown}, "meaning": each.words} for each in parameters
                ]} for way, said, parameters in ways
            ]}
            for name, owner, neighbours, ways in rows
        ]  # fmt: skip

    def text() -> None:
        for name, owner, neighbours, ways in rows:
            say(f"{name}  {owner.title}", f"    model {owner.model}; neighbours {', '.join(neighbours)}")
            for way, said, parameters in ways:
                say("", f"  {way}({', '.join(each.name for each in parameters)})", f"    {said}")
                for each in parameters:
                    default = "" if each.default is None else f"by default {each.default}"
                    kind = ", ".join(part for part in (each.type, each.unit, each.range, default) if part)
                    say(f"    {each.name} : {kind}", f"        {each.words}")
            say()

    keys = ("name", "type", "unit", "range", "default", "words")
    cells = [
        (name, way, *(str(getattr(each, key) or "") for key in keys))
        for name, *_, ways in rows for way, _, parameters in ways for each in parameters
    ]  # fmt: skip
    say_table(format, ("mechanism", "constructor", *keys), cells, data, text)


def deployments(
    sources: Annotated[bool, typer.Option("--sources", help="Each claim with the words and places that support it.")] = False,
    state: Annotated[
        str | None, typer.Option(help="Only those whose system is in this state, such as active or retired.", show_default=False)
    ] = None,
    format: options.TableFormatOption = TableFormat.text,
) -> None:
    """List the bundled deployments, by the ids that `ldpaudit certify` takes."""
    from ldpaudit.core.nearest import one_of
    from ldpaudit.files import bundled
    from ldpaudit.files.deployment import load
    from ldpaudit.files.stated import STATES

    if state is not None and state not in STATES:
        raise ValueError(f"deployments --state {one_of([*STATES], state, 'ldpaudit deployments --sources')}")
    found = [load(bundled.FOLDER / f"{each}.toml") for each in bundled.ids()]
    found = [d for d in found if state in (None, d.status.state if d.status else "unknown")]
    rows: list[dict[str, Any]] = []
    for d in found:
        rows.append({"id": d.id, "title": d.title, "claims": [c.id for c in d.claims], "sources": [*d.sources]})
        if sources:
            cited = [each.model_dump(exclude_none=True) for each in d.cited]
            rows[-1]["sources"] = cited or [{"title": each} for each in d.sources]
            rows[-1]["status"] = d.status and d.status.model_dump(exclude_none=True)
    widest = max((len(d.id) for d in found), default=0)

    def text() -> None:
        for d in found:
            say("\n  ".join([d.id, *_sources(d)]) + "\n" if sources else f"{d.id:{widest}}  {d.title}")

    cells = [(d.id, d.title, ", ".join(c.id for c in d.claims), "; ".join(map(str, d.cited or d.sources))) for d in found]
    say_table(format, ("id", "title", "claims", "sources"), cells, lambda: rows, text)


def _sources(d: Deployment) -> list[str]:
    """The status, each claim with what supports it, and what the mechanism is taken from."""
    from ldpaudit.core.number import show
    from ldpaudit.files.stated import ABOUT

    def saying(about: str) -> list[str]:
        """The sources that say something, each with its words."""
        found = []
        for each in d.cited:
            if about in each.supports:
                quote = f': "{each.quote}"' if each.quote else ", without a quotation"
                found.append(f"  {each}{quote}{f' (seen at {each.via})' if each.via else ''}")
        return found

    lines = [str(d.status or "Its status is not stated.")]
    for claim in d.claims:
        lines.append(f"{claim.id}: epsilon = {'?' if claim.epsilon is None else show(claim.epsilon)} per {claim.unit}")
        lines += [f"  in words: {claim.source}"] * bool(claim.source) + saying(claim.id)
    for about in ABOUT:
        lines += [about, *said] if (said := saying(about)) else []
    return lines if d.cited else [*lines, *(f"  {each}" for each in d.sources)]


def init(
    name: Annotated[
        str | None,
        typer.Argument(help="STEM or STEM:VARIANT, as `ldpaudit mechanisms` lists them; without one, a few.", show_default=False),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask what is reported, how often, and by whom it is seen; on a terminal, without a name.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Output file; by default standard output.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    schema: Annotated[str, typer.Option(help="Path or URL of the JSON Schema, named in the first line for editors.")] = "",
    client: Annotated[
        str | None, typer.Option(help="Write a reference client, in python, javascript or c.", show_default=False)
    ] = None,
) -> None:
    """Write a commented deployment file for a mechanism, which certifies as it stands; or a client that sends its reports."""
    from ldpaudit import mechanisms, registry
    from ldpaudit.files.starter import CHOICE, starter
    from ldpaudit.files.whole import write_whole

    if client is not None:
        from ldpaudit.clients.vectors import reference

        if name is not None:
            raise ValueError(f"init needs a STEM or --client, got both: {name} and {client}")
        text, told = reference(client), 'to compare it with what is certified: ldpaudit conform "exec:COMMAND" --deployment FILE'
    elif ask or (name is None and sys.stdin.isatty()):
        from ldpaudit.commands.asking import asked
        from ldpaudit.files.deployment import loads

        stem, variant, known = asked(name)
        text, told = starter(stem, variant, schema, known), f"to have it judged: ldpaudit certify {output}"
        loads(text, str(output or "the file"))  # numbers that do not fit together are an error
    elif name is None:
        if output is not None:
            raise ValueError("init needs a STEM with --output")
        widest = max(map(len, CHOICE))
        say(*(f"{stem:{widest}}  {registry.find(stem).title}" for stem in CHOICE))
        note("init needs one of these, or of the others that `ldpaudit mechanisms` lists")
        return
    else:
        with parameters_of(name):
            text, told = starter(*mechanisms.named(name), schema), f"to have it judged: ldpaudit certify {output}"
    if output is None:
        say(text.rstrip("\n"))
        return
    if overwrite:
        write_whole(output, text)
    else:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            with output.open("x", encoding="utf-8", newline="\n") as file:  # never in place of what came between a look and this
                file.write(text)
        except FileExistsError:
            raise ValueError(f"{output}: already exists: needs another name, or --overwrite") from None
    note(f"wrote {output}; {told}")


def schema(
    name: Annotated[str, typer.Argument(help="deployment, gate, baseline, certificate or report.")] = "deployment",
    mechanism: Annotated[
        str | None, typer.Argument(help="STEM or STEM:VARIANT whose reports are meant.", show_default=False)
    ] = None,
    parameters: ParametersArgument = None,
    deployment: DeploymentOption = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors and other programs; of a report, that of a mechanism's."""
    from ldpaudit.report import schema as schemas

    if name == "report":
        say_json(schemas.of_report(reporting(deployment, mechanism, parameters)))
        return
    if mechanism is not None or deployment is not None:
        raise ValueError(f"schema {name} is that of all files: only schema report is about a mechanism")
    say_json(schemas.schema(name))
