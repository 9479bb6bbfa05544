"""What the papers claim, and what is true: prints docs/literature.md.

    python -m benchmarks.literature > docs/literature.md
"""

from collections.abc import Iterable

from benchmarks.looseness import section
from ldpaudit.accountants.claims.statements import STATEMENTS, named
from ldpaudit.report import claims as report
from ldpaudit.report.printer import TableFormat
from ldpaudit.studies import literature

MATTER = ("JRUW18 Theorem 4.1", "TRIEHH Theorem 1", "GGKPV Section 1", "GGKPV Lemma 3.19, proof", "HKR12 Theorem 2.5")
"""The statements that the page starts with: those that people rely on, and whose failure changes what may be promised."""

TITLE = """\
# What the papers claim, and what is true

Five statements that do not hold as printed; for each, where it fails, where its proof breaks, and what holds instead:
"""

HEAD = """\
## How to read it

`python -m benchmarks.literature` prints this page, and a test compares it: never edit it by hand. `ldpaudit claims` prints the
same tables; `ldpaudit claims STEM key=value...` judges at your parameters, `--paper GGKPV` judges one source alone, and
`--format` takes text, json, csv, latex and markdown. The [bibliography](bibliography.md#the-five-sources) explains the initials.

A row is one sentence of a source at a few examples of settings; *2x* means at two of them:

- *holds* and *FAILS* appear only if every hypothesis that the source states is met, in its own model and for its own neighbours;
- *outside* means that a hypothesis is not met, so nothing is claimed there;
- *open* means that the certified ends do not decide.

*Printed over found* is the printed bound divided by the certified one. Above 1 it is how loose the sentence is; below 1 the
sentence is false by at least that factor, and at 0 by any factor (0 is printed, or the certified value is infinite). *Source* is
how we know the sentence: it is *printed* in the source; *restored* from a public implementation, if the source's formula is
illegible or hidden in an O; *derived* from its proof or from the legible part of the formula, if it has no constants or is
illegible; or *from memory*, if nobody has compared it. If a text leaves something open, each reading has its own row, with the
reading in brackets.

Every failure has a witness in [witnesses.json](witnesses.json): two inputs, an event, its probabilities and the command that
prints the failure. `tests/claims/test_witnesses.py` checks the witnesses in rationals, without the accountants.
"""

FAILS = """\
## What fails

Each of these sentences fails at one or more examples, to which the numbers in the sentence belong; at others it may hold. The
paragraphs below the table say where the failure begins, where the proof breaks, and what holds instead; those of the five
statements above are not repeated.
"""

FALLEN = """\
The proofs of the following statements use a statement that fails. These statements fail at parameters of their own, and are not
counted again:
"""


ALL = """\
## Every sentence
"""


WITHOUT = """\
## Statements without a row

Every numbered statement of the sources has a row above, or is listed here with the reason why it has none; a test compares.
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
    every = report.write(TableFormat.markdown, several)
    return f"{TITLE}\n{first}\n\n{HEAD}\n{tables}\n\n{ALL}\n{every}\n\n{WITHOUT}\n{without(several)}\n\n{section()}\n"


def without(rows: Iterable[literature.Row]) -> str:
    """The statements that no row is about, as a table per source."""
    judged = {each for row in rows for each in named(row.where)}
    lines = []
    for paper in literature.PAPERS:
        missing = [each for each in STATEMENTS if each.paper == paper and each.where not in judged]
        if not missing:
            continue
        lines += [f"### {paper}", "", "| statement | what it says | why it has no row |", "|---|---|---|"]
        lines += [f"| {each.where} | {each.says} | {each.without} |" for each in missing] + [""]
    return "\n".join(lines[:-1])


if __name__ == "__main__":
    print(page(row for stem in literature.stems() for row in literature.summary(stem, literature.claims(stem))), end="")
