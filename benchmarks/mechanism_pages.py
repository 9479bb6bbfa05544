"""One page per mechanism, printed from the code: what it does, what it costs, what the papers claim of it.

The words are the docstrings', the numbers those of the accountant at the example of `ldpaudit init`, the claims the rows of
docs/literature.md, which a test compares. `python -m benchmarks.site` puts the pages into the site.
"""

import inspect
import math
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ldpaudit import Enclosure, Mechanism, PrivacyProfile, account, mechanisms
from ldpaudit.core.parameters import of, plain
from ldpaudit.display import pictures
from ldpaudit.enclosure import show_up
from ldpaudit.files.deployment import loads
from ldpaudit.files.starter import example, starter
from ldpaudit.registry import CONSTRUCTOR

LITERATURE = Path(__file__).resolve().parent.parent / "docs" / "literature.md"
DELTA = 1e-6  # at which epsilon is printed beside that of delta = 0; the picture goes a little further than there
_BEYOND = 1.25
_WITHOUT_END = 8.0  # how far the picture goes, in nats, where no epsilon is enough for `DELTA`
_POINTS = {"local": 25, "interactive": 25, "shuffled": 7, "sampled": 7, "central": 25}
"""Values of epsilon per picture: a delta of a whole protocol takes half a second."""
_SEEN = {
    "local": "one user's report",
    "shuffled": "all users' messages, in random order",
    "interactive": "one user's transcript, whoever the others are",
    "sampled": "what is released",
    "central": "the sums that are released",
}
"""What an adversary sees, by the model."""
_HEADING = re.compile(r"\n\n\w[\w ]*\n---")  # where a numpydoc docstring begins to list parameters


def page(stem: str) -> str:
    """The page of a stem, in MyST."""
    return "\n".join(_lines(stem)) + "\n"


def contents(stems: tuple[str, ...]) -> str:
    """The page over all mechanisms: a row for each variant, and the contents."""
    lines = ["# Mechanisms", "", "Each page is printed from the code: what the mechanism does, what it costs at an example, the",
             "theorem that says so, and what the papers claim of it.", ""]  # fmt: skip
    lines += ["| mechanism | is | an adversary sees |", "|---|---|---|"]
    lines += [f"| [`{name}`]({name.split(':')[0]}.md) | {plain(owner.title)} | {_SEEN[owner.model]} |"
              for stem in stems for name, owner in _variants(stem)]  # fmt: skip
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *stems, "```", ""])


def _variants(stem: str) -> Iterator[tuple[str, type[Mechanism]]]:
    for variant, owner in mechanisms.classes(stem).items():
        yield f"{stem}:{variant}" if variant else stem, owner


def _lines(stem: str) -> Iterator[str]:
    home = f"ldpaudit.mechanisms.{stem}"
    yield from (f"# {stem}", "")
    yield from _directive(f"automodule:: {home}")
    for name, owner in _variants(stem):
        title = plain(owner.title)
        does = _HEADING.split(inspect.getdoc(owner) or "")[0]  # before it comes to parameters
        yield from ("", f"## {title[0].upper()}{title[1:]}", "", "```{eval-rst}", *does.splitlines(), "```", "")
        yield from _at_its_example(stem, name, owner)
    own, again = _home("accountants", stem)
    yield from ("", "## What it costs", "", f"The theorem, as `accountants/{own}.py` states it.", "")
    yield from _directive(f"automodule:: ldpaudit.accountants.{own}", "members:", *again)
    yield from ("", "## What the papers claim of it", "", *_claims(stem))
    own, again = _home("attacks", stem)
    yield from ("", "## What can be seen", "", f"The attack, of `attacks/{own}.py`.", "")
    yield from _directive(f"autofunction:: ldpaudit.attacks.{own}.attack", *again)
    own, again = _home("proofs", stem)
    yield from ("", "## Why", "", f"The proof, of `proofs/{own}.py`, which `ldpaudit prove {stem}` checks.", "")
    yield from _directive(f"automodule:: ldpaudit.proofs.{own}", *again)
    yield from ("", "## In Python", "")
    for _, owner in _variants(stem):
        yield from _directive(f"autoclass:: {home}.{owner.__name__}", "members:", "exclude-members: title, variant, unbiased")


def _home(folder: str, stem: str) -> tuple[str, tuple[str, ...]]:
    """The stem whose file is this one's, and the option of a directive that shows it on a second page."""
    own = next(each for each in mechanisms.homes(stem) if find_spec(f"ldpaudit.{folder}.{each}") is not None)
    return own, () if own == stem else ("no-index:",)


def _directive(what: str, *options: str) -> Iterator[str]:
    """What Sphinx reads a docstring with."""
    yield from ("```{eval-rst}", f".. {what}", *(f"   :{option}" for option in options), "```")


def _at_its_example(stem: str, name: str, owner: type[Mechanism]) -> Iterator[str]:
    """Certified numbers of the mechanism that `ldpaudit init` writes, and a picture."""
    (claim,) = loads(starter(stem, owner.variant)).claims
    profile = account(claim.plan, claim.neighbours)
    yield f"An adversary sees {_SEEN[owner.model]}. At the example of `ldpaudit init {name}`, for {claim.neighbours} neighbours:"
    account_it = command(name, owner)
    yield from ("", *(("```sh", account_it, "```", "") if account_it else ()), "| delta | certified epsilon |", "|---|---|")
    for delta in (0.0, DELTA):
        yield f"| {delta:g} | {shown(profile.epsilon(delta))} |"
    drawn = [(epsilon, found.low, found.high) for epsilon, found in points(profile, _POINTS[owner.model])]
    yield from ("", pictures.curve(drawn, None, f"Privacy profile of {name}"))


def command(name: str, owner: type[Mechanism]) -> str:
    """The command that accounts the example; empty where a parameter is a matrix, which is given as a file."""
    constructor, values = example(owner)
    if any(value.startswith('"') for value in values.values()):
        return ""
    parts = [({each.name for each in way if each.default is None}, {each.name for each in way}) for way in of(owner).values()]
    fitting = [way for required, way in parts if required <= set(values) <= way]
    chosen = [f"{CONSTRUCTOR}={constructor}"] if len(fitting) > 1 else []
    return " ".join(("ldpaudit account", name, *(f"{key}={value}" for key, value in values.items()), *chosen))


def shown(enclosure: Enclosure) -> str:
    """The certified epsilon as a reader needs it: its upper end, rounded up, or that there is none."""
    if math.isinf(enclosure.low):
        return "none is enough"
    return "none is certified" if math.isinf(enclosure.high) else show_up(enclosure.high, 6)


def points(profile: PrivacyProfile, count: int) -> list[tuple[float, Enclosure]]:
    """Delta at values of epsilon, from 0 to beyond the one that is enough for `DELTA`, if one is."""
    enough = profile.epsilon(DELTA).high or 1.0
    widest = _WITHOUT_END if math.isinf(enough) else _BEYOND * enough
    return [(epsilon, profile.delta(epsilon)) for epsilon in (widest * i / (count - 1) for i in range(count))]


def _claims(stem: str) -> Iterator[str]:
    """The rows of the table of all claims that are about it."""
    # The first table with every sentence of the sources; questions of ours stand in another, below it.
    (table,) = re.findall(r"^## Every sentence\n+((?:\|.*\n)+)", LITERATURE.read_text(), re.MULTILINE)
    rows = [line for line in table.splitlines() if line.split(" | ")[1:2] == [f"`{stem}`"]]
    if not rows:
        yield "No source of ours prints a claim about it that is judged."
        return
    yield f"As [What the papers claim, and what is true](../literature.md) has them; `ldpaudit claims {stem}` judges them anew."
    yield from ("", "| claim | at the examples | printed over found | source |", "|---|---|---|---|")
    for row in rows:
        claim, _, *rest = row.strip("| ").split(" | ")
        yield f"| {' | '.join((claim, *rest))} |"
