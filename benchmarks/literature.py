"""What the papers claim, and what is true: prints docs/literature.md.

    python -m benchmarks.literature > docs/literature.md
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.looseness import section
from ldpaudit.accountants.claims.statements import STATEMENTS, named
from ldpaudit.report import claims as report
from ldpaudit.studies import literature

MATTER = (
    "JRUW18 Theorem 4.1",
    "TRIEHH Theorem 1",
    "GGKPV Section 1",
    "GGKPV Lemma 3.19, proof",
    "HKR12 Theorem 2.5",
)
"""The statements that the page starts with: those that people rely on, and whose failure changes what may be promised."""

TITLE = """\
# What the papers claim, and what is true

Five statements that do not hold as they are printed, and what does:
"""

HEAD = """\
## How to read it

Printed by `python -m benchmarks.literature`, and compared by a test: never edited by hand. `ldpaudit claims` prints the same
tables; `ldpaudit claims STEM key=value...` judges at your parameters, `--paper GGKPV` one source alone, and `--format` takes
text, json, csv, latex and markdown.

A row is one sentence of a source at a few settings. *holds* and *FAILS* are said only where every hypothesis that the source
states is met, in its own model and for its own neighbours; *outside* where one is not met, so that nothing is claimed there;
*open* where the certified ends do not decide. *Printed over found* is how loose the sentence is where it holds; below 1 it is
false by that factor at least, and at 0 by any factor: 0 is printed, or what is found is infinite. *Source* is how we know the
sentence: *printed* in the source; *restored* from a public implementation, where the source's formula is illegible or hidden
in an O; *derived* from its proof or from what is left of the formula, where it has no constants or is illegible; *from memory*
where nobody has compared it. Where a text leaves something open, each reading has its own row, with the reading in brackets.

Every failure has a witness in [witnesses.json](witnesses.json): two inputs, an event, its probabilities and the command that
prints the failure. `tests/claims/test_witnesses.py` checks them again in rationals, without the accountants.
"""

FAILS = """\
## What fails

At some of the examples at least, to which the numbers in the sentence belong; at others the same sentence may hold. Below the
table stands of each where the failure begins, where the proof breaks, and what holds instead, but of the five above.
"""

FALLEN = """\
Of these statements the proof uses one that fails; they fail for parameters of their own, and are not counted again:
"""


ALL = """\
## Every sentence
"""


WITHOUT = """\
## Statements without a row

Every numbered statement of the sources has a row above, or stands here with the reason why it has none; a test compares.
Definitions, algorithms and remarks are not listed.
"""


def page(rows: Iterable[literature.Row]) -> str:
    """The whole page."""
    several = list(rows)
    says = {each.where: each.says for each in STATEMENTS}
    others = sorted({row.where for row in several if row.fails} - {*MATTER})
    first, rest = (report.reasons(several, places, says) for places in (MATTER, others))
    tables = f"{report.tally(several, literature.PAPERS)}\n\n{FAILS}\n{report.failures(several)}\n\n{rest}"
    tables += f"\n\n{FALLEN}\n{report.fallen(several)}"
    every = report.TableFormat.markdown.write(several)
    return f"{TITLE}\n{first}\n\n{HEAD}\n{tables}\n\n{ALL}\n{every}\n\n{WITHOUT}\n{without(several)}\n\n{section()}\n"


def without(rows: Iterable[literature.Row]) -> str:
    """The statements that no row is about, as a table per source."""
    judged = {each for row in rows for each in named(row.where)}
    lines = []
    for paper in literature.PAPERS:
        missing = [each for each in STATEMENTS if each.paper == paper and each.where not in judged]
        lines += [f"### {paper}", "", "| statement | what it says | why it has no row |", "|---|---|---|"]
        lines += [f"| {each.where} | {each.says} | {each.without} |" for each in missing] + [""]
    return "\n".join(lines[:-1])


if __name__ == "__main__":
    print(page(row for stem in literature.stems() for row in literature.summary(stem, literature.claims(stem))), end="")
