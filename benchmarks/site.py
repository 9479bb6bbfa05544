"""The documentation as a site: the pages of docs/ and those that are printed from the code, built by Sphinx in strict mode.

    python -m benchmarks.site build/site [STEM...]

Needs the extra 'docs'. With stems, only their pages are printed: a look at one takes seconds.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

from typer.main import get_command

import ldpaudit
from benchmarks import mechanism_pages
from ldpaudit import mechanisms
from ldpaudit.commands import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ABOVE = ("CONTRIBUTING.md", "CHANGELOG.md")  # pages of the site that stand at the top of the repository
PROCESSES = 2
_LINK = re.compile(r"\[(?P<text>[^]\[]*)\]\((?P<target>[\w./-]+)(?P<place>#[\w-]+)?\)")


def stage(folder: Path, stems: Sequence[str] = ()) -> None:
    """Lay the sources of the site into a folder: what is committed, and what is printed.

    ``folder``: where they are laid; what was there is removed; ``stems``: mechanisms whose pages are printed; all
    where none is named.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    for path in (*DOCS.rglob("*.md"), *(ROOT / name for name in ABOVE)):
        (folder / _place(path)).write_text(relinked(path))
    (folder / "api.md").write_text("\n".join(_api()) + "\n")
    shown = tuple(stems) or mechanisms.stems()
    (folder / "mechanisms").mkdir()
    for name, text in zip(("index", *shown), (mechanism_pages.contents(shown), *_printed(shown)), strict=True):
        (folder / "mechanisms" / f"{name}.md").write_text(text)
    if (page := folder / "commands.md").exists():
        _print_commands(page)


def relinked(path: Path) -> str:
    """A page whose links to other pages are those of the site; what the site has not, is named without a link."""

    def link(found: re.Match[str]) -> str:
        target = (path.parent / found["target"]).resolve()
        if not (target.is_relative_to(DOCS) or (target.parent == ROOT and target.name in ABOVE)):
            return f"`{found['text']}`"
        where, place = os.path.relpath(_place(target), _place(path).parent), found["place"] or ""
        if target == DOCS / "commands.md" and place:  # whose sections are pages of their own there
            where, place = f"{where.removesuffix('.md')}/{place[1:]}.md", ""
        return f"[{found['text']}]({where}{place})"

    return _LINK.sub(link, path.read_text())


def _place(path: Path) -> Path:
    """Where a file of the repository stands in the site."""
    return path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)


def _printed(stems: tuple[str, ...]) -> list[str]:
    """Their pages; where there are few, a process of their own would cost more than it saves."""
    if len(stems) <= PROCESSES:
        return [mechanism_pages.page(stem) for stem in stems]
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        return list(pool.map(mechanism_pages.page, stems))


def _print_commands(page: Path) -> None:
    """Cut the page of all commands into one per command, each with the arguments and options that the command line has."""
    head, *sections = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    names = [section.split("\n", 1)[0] for section in sections]
    contents = "\n".join(["```{toctree}", ":hidden:", "", *(f"commands/{name}" for name in names), "```", ""])
    page.write_text(re.sub(r"\(#(\w+)\)", r"(commands/\1.md)", head) + contents)
    folder = page.with_suffix("")
    folder.mkdir()
    for name, section in zip(names, sections, strict=True):
        text = re.sub(r"\]\((?=[\w/-]+\.md)", "](../", section)
        (folder / f"{name}.md").write_text(f"# ldpaudit {text}\n{_options(name)}\n")


def _options(verb: str) -> str:
    """What `ldpaudit VERB --help` says of arguments and options, as a table for each command."""
    command = cast(Any, get_command(app)).commands[verb]
    parts = getattr(command, "commands", {"": command})
    return "\n\n".join(_table(f"## Arguments and options{f' of {name}' if name else ''}", each) for name, each in parts.items())


def _table(title: str, command: Any) -> str:
    rows = ["| argument or option | meaning | default |", "|---|---|---|"]
    for each in command.params:
        name = ", ".join(f"`{word}`" for word in each.opts) if each.param_type_name == "option" else f"`{each.name}`"
        default = getattr(each.default, "value", each.default)  # that of an enumeration is a member
        said = each.show_default and isinstance(default, str | int | float) and default is not False and default != ""
        rows.append(f"| {name} | {(each.help or '').replace('|', '&#124;')} | {f'`{default}`' if said else ''} |")
    return "\n".join([title, "", *rows])


def _api() -> Iterator[str]:
    """The page of the public names, each with its docstring."""
    yield from ("# Python", "", "`import ldpaudit as ldp`; every public name, from its docstring.",
                "The [mechanisms](mechanisms/index.md) have pages of their own.")  # fmt: skip
    for name in sorted(set(ldpaudit.__all__) - {"mechanisms"}, key=str.lower):
        kind = "class" if isinstance(getattr(ldpaudit, name), type) else "function"
        members = ["   :members:", "   :exclude-members: model_config"] if kind == "class" else []
        yield from ("", f"## {name}", "", "```{eval-rst}", f".. auto{kind}:: ldpaudit.{name}", *members, "```")


def build(folder: Path, stems: Sequence[str] = ()) -> None:
    """Build the site, whose first page is then `folder`/html/index.html.

    Raises subprocess.CalledProcessError where Sphinx has anything to complain about.
    """
    stage(folder / "source", stems)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    places = ["--doctree-dir", str(folder / "doctrees"), str(folder / "source"), str(folder / "html")]
    subprocess.run([*command, *places], check=True, env={**os.environ, "PYTHONPATH": path})


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2:])
