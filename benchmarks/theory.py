"""Which theorem stands in which file of which room: prints docs/theory.md.

    python -m benchmarks.theory > docs/theory.md

A row is a docstring that says "Source:"; its theorem is the docstring's first sentence. The files that run for one bound
are found by running it.
"""

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "accountants": ("numerics", "pld", "composition", "shuffling", "counting", "sampling", "limits", "claims"),
    "attacks": ("bounds", "games", "engine", "blackbox", "shared"),
}
"""Reading order; a folder that is not listed comes after these, and the files that stand in none come last."""
HEAD = """\
# Which theorem stands where

`python -m benchmarks.theory` prints this page from the docstrings, and a test compares it: never edit it by hand. The
[rooms](architecture.md) are in the order of imports: each imports only from rooms above it on this page, and a mechanism's own
file may import from all of them.
"""
QUERY_HEAD = """\
## One bound, file by file

The query `account(Shuffle(KaryRandomizedResponse.for_epsilon(1, k=3), 10**6)).epsilon(1e-6)` runs these files of
`accountants/`, in this order; a test traces the query and compares.
"""


@dataclass(frozen=True)
class Row:
    """A theorem, where it comes from, and the file and name that it stands under."""

    theorem: str
    source: str
    file: str
    name: str

    def __str__(self) -> str:
        where = f"`{self.file}`" + (f", `{self.name}`" if self.name else "")
        return f"| {_cell(self.theorem)} | {_cell(self.source)} | {where} |"


def markdown(text: str) -> str:
    """A docstring's text, as this page writes it."""
    return re.sub(r":math:`([^`]*)`", r"$\1$", text).replace("``", "`")


def _cell(text: str) -> str:
    return markdown(text).replace("|", "\\|")


def folders(top: str) -> list[Path]:
    """The rooms of a top folder in reading order, and last the folder itself, whose files are the mechanisms' own."""
    found = {init.parent.name for init in (ROOT / top).glob("*/__init__.py")}
    known = [room for room in ROOMS[top] if room in found]
    return [ROOT / top / room for room in [*known, *sorted(found - set(known))]] + [ROOT / top]


def docstrings(file: Path) -> Iterator[tuple[str, str]]:
    """Name and docstring of a module, its classes, its functions and their methods; the module's name is empty."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", ""), text


_FORMULA = ".. math:: "


def sentence(text: str) -> str:
    """The first sentence of a text, on one line, without the period; "i.i.d." ends none; with the formula that completes it."""
    paragraph, *others = (" ".join(each.split()) for each in text.split("\n\n"))
    if others and others[0].startswith(_FORMULA) and not paragraph.endswith("."):
        paragraph += f" :math:`{others[0].removeprefix(_FORMULA)}`"
    return re.split(r"(?<!\.[a-z])\.(?=\s|$)", paragraph)[0]


def rows(folder: Path) -> list[Row]:
    """The theorems with a source in the files of a folder."""
    found = []
    for file in sorted(folder.glob("*.py")):
        for name, text in docstrings(file):
            for source in re.findall(r"Source:\s+(.*)", text, re.DOTALL)[:1]:
                found.append(Row(sentence(text), sentence(source), str(file.relative_to(ROOT)), name))
    return found


def trace(query: Callable[[], object], folder: Path) -> list[str]:
    """Files of a folder in which a function was called during a query, in the order of the first calls."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen[frame.f_code.co_filename] = None

    sys.setprofile(note)
    try:
        query()
    finally:
        sys.setprofile(None)
    files = dict.fromkeys(Path(name).resolve() for name in seen)
    return [str(file.relative_to(ROOT)) for file in files if folder in file.parents]


def shuffled_bound() -> list[str]:
    """The files of accountants/ that run for the bound of shuffled k-ary randomized response, in order."""
    import ldpaudit.accountants
    from ldpaudit import Shuffle, account
    from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

    # All are imported first: what a module does when it is imported is no step of the query.
    for module in pkgutil.walk_packages(ldpaudit.accountants.__path__, "ldpaudit.accountants."):
        importlib.import_module(module.name)
    plan = Shuffle(KaryRandomizedResponse.for_epsilon(1, k=3), 10**6)
    return trace(lambda: account(plan).epsilon(1e-6), ROOT / "accountants")


def first_line(file: Path) -> str:
    """The first sentence of a file's docstring."""
    return sentence(ast.get_docstring(ast.parse(file.read_text())) or "")


def introduction(folder: Path) -> Iterator[str]:
    """What a room is about, and the theorems that its docstring names."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    yield from ("", f"{markdown(sentence(text))}.")
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("Theorems:"):
            yield from ("", markdown(" ".join(paragraph.split())))


def section(folder: Path) -> Iterator[str]:
    """A room, or the mechanisms' own files; nothing where no docstring names a source."""
    own = folder.parent == ROOT
    found = rows(folder)
    if found or not own:
        yield from ("", f"## {folder.relative_to(ROOT)}{', the mechanisms' if own else ''}")
        yield from () if own else introduction(folder)
    if found:
        yield from ("", "| theorem | source | where |", "|---|---|---|", *map(str, found))


def proofs() -> Iterator[str]:
    """The theorems that a machine checks."""
    yield from ("", "## proofs", "", "| theorem | where |", "|---|---|")
    for file in sorted((ROOT / "proofs").glob("*.py")):
        if (line := first_line(file)).startswith("Theorem"):
            yield f"| {_cell(re.sub('^Theorems?: ', '', line))} | `{file.relative_to(ROOT)}` |"


def bound() -> Iterator[str]:
    """The files behind one bound, in the order in which they run."""
    yield from ("", *QUERY_HEAD.splitlines(), "")
    for number, name in enumerate(shuffled_bound(), 1):
        yield f"{number}. `{name}`: {markdown(first_line(ROOT / name))}"


def page() -> list[str]:
    """The lines of docs/theory.md."""
    rooms = [folder for top in ROOMS for folder in folders(top)]
    return [*HEAD.splitlines(), *(line for folder in rooms for line in section(folder)), *proofs(), *bound()]


if __name__ == "__main__":
    print("\n".join(page()))
