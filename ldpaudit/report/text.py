"""Certificates as text that reads well at 80 columns, and what the words of a page mean."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from types import MappingProxyType

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ldpaudit.certificates.certificate import Certificate, ClaimRecord
from ldpaudit.display.visible import visible
from ldpaudit.enclosure import show_down, show_up
from ldpaudit.verdict import Outcome

VERDICTS = {
    Outcome.REFUTED: "the claim is false: a certified lower bound exceeds it, or samples of the code do, with the stated "
    "confidence; or samples exceed the bound of the mechanism that the file describes, so that the code is not that mechanism.",
    Outcome.UNDECIDED: "neither shown nor refuted: the certified bounds lie on both sides of the claim, or no bound is known, or "
    "too few views of the deployed code were drawn.",
    Outcome.ASSUMED: "the claim follows from an assumption that nobody has shown: a guarantee about which nothing else is known, "
    "or parameters that are computed from the claim itself.",
    Outcome.BOUNDED: "the claim is true of the mechanism that the file describes: a certified upper bound meets it.",
    Outcome.PROVED: "the claim is true of the mechanism that the file describes: a certified upper bound meets it, and a "
    "program that shares nothing with the accountants found a proof of it valid.",
}
"""In words for whoever was not there."""
SIGNS = dict(zip(Outcome, ("\u2717", "?", "\u2234", "\u2713", "\u2713"), strict=True))
"""So that a verdict is read without its colour."""
NEIGHBOURS = {
    "replace-one": "two inputs in which one user holds different values.",
    "add-remove": "two inputs, one of which has one user more than the other.",
    "user-level": "two inputs that differ in everything that one user ever holds.",
    "same-pattern": "two inputs that differ in the values that one user ever holds, but not in the times at which these repeat "
    "(nor, where values are hashed, in the times at which their hashes do).",
    "pairs": "the pairs of inputs that are named.",
    "group": "two inputs that differ in the values of this many users.",
}
"""Which inputs must be hard to tell apart, by the kind of the relation."""
OVERALL = {
    Outcome.REFUTED: "At least one claim is false, or its code is not what is described.",
    Outcome.UNDECIDED: "No claim is refuted, and at least one is not decided.",
    Outcome.ASSUMED: "No claim is refuted or undecided, and at least one rests on what is only assumed.",
    Outcome.BOUNDED: "Every claim holds.",
    Outcome.PROVED: "Every claim holds, and has a proof that a program without ours checks.",
}
"""The worst of the claims, in a sentence."""
_FARES = {
    Outcome.REFUTED: "This is false.",
    Outcome.UNDECIDED: "This is neither shown nor refuted.",
    Outcome.ASSUMED: "This follows from an assumption, and is not shown.",
    Outcome.BOUNDED: "This is true of the mechanism as described.",
    Outcome.PROVED: "This is true of the mechanism as described, and proved.",
}


_COUNTED = {
    "holds": ("holds", "hold"),
    "assumed": ("follows from what is assumed", "follow from what is assumed"),
    "refuted": ("is refuted", "are refuted"),
    "undecided": ("is undecided", "are undecided"),
}


def plain(claim: ClaimRecord) -> str:
    """The claim, and how it fares, for a reader who knows no formula."""
    if claim.asked:
        answer = "The certificate answers." if claim.verdict.reached else "No answer is certified."
        if claim.infinite:
            answer = "The certificate answers: no epsilon is enough."
        return f"No claim is made about one {claim.unit}: the certificate reports the computed epsilon. {answer}"
    another = claim.code_differs and not claim.refuted_by_samples
    fares = "The code is not what is described, so this is not shown about it." if another else _FARES[claim.verdict]
    return f"It is claimed that {claim.sentence}. {fares}"


def relation(neighbours: str) -> str:
    """What is said of a relation by its name."""
    kind = neighbours.split(" ")[0]
    return NEIGHBOURS["group" if kind.startswith("group-of-") else kind]


def overall(worst: Outcome, claims: Sequence[ClaimRecord]) -> str:
    """The worst verdict in a sentence, and how many claims hold, of how many."""
    made = [claim for claim in claims if not claim.asked]
    fares = OVERALL[worst] if made else OVERALL[worst].replace("Every claim holds", "Every question is answered")
    counts = [(words, sum(claim.verdict.record == record for claim in made)) for record, words in _COUNTED.items()]
    told = ", ".join(f"{count} {words[count != 1]}" for words, count in counts if count)
    claimed = f"{_counted(len(made), 'claim')}: {told}." if made else ""
    asked = f"{_counted(len(claims) - len(made), 'question')}." if len(made) < len(claims) else ""
    return " ".join(filter(None, (fares, claimed, asked)))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


STYLES = dict(zip(Outcome, ("bold red", "yellow", "bright_black", "green", "green"), strict=True))


def print_certificate(
    certificate: Certificate, console: Console, instead: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """One deployment: its claims in a table, and under it why each came out as it did, and what would hold instead."""
    console.print(Text(visible(certificate.id), style="bold"), Text(visible(certificate.title)))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("claim", "per", "claimed", "certified", "measured", "verdict"):
        # An id is written on as many lines as it needs; the rest stays whole as long as there is room.
        table.add_column(column, style=None, no_wrap=column not in ("claim", "verdict"), overflow="fold")
    for claim in certificate.claims:
        verdict = Text(claim.outcome, style=STYLES[claim.verdict])
        # As text: what users write is no markup.
        cells = (claim.id, claim.unit, claim.claimed, claim.certified, claim.measured)
        table.add_row(*(Text(visible(cell)) for cell in cells), verdict)
    console.print(Padding(table, (0, 0, 0, 2)))
    for claim in certificate.claims:
        why = f"{claim.id}: {claim.reason}.{limit(claim)}{sight(claim)}{witness(claim)}{drawn(claim)}"
        console.print(Padding(Text(visible(why), style="dim"), (0, 0, 0, 2)))
        for line in instead.get(claim.id, ()):
            console.print(Padding(Text(visible(line)), (0, 0, 0, 4)))
    for part in filter(attrgetter("is_part"), certificate.units):
        ends = part.enclosure and f"epsilon in [{show_down(part.enclosure.low, 6)}, {show_up(part.enclosure.high, 6)}]"
        alone = f"{part.unit} by itself, {part.plan}: {ends or 'no bound is known'} at delta = {float(Fraction(part.delta)):g}."
        console.print(Padding(Text(visible(alone), style="dim"), (0, 0, 0, 2)))
    console.print()


def limit(claim: ClaimRecord) -> str:
    """Why there is no bound, where there is none."""
    known = claim.enclosure is not None or claim.verdict is not Outcome.UNDECIDED or not claim.unsupported
    return "" if known else f" Unsupported: {claim.unsupported[0]}."


def sight(claim: ClaimRecord) -> str:
    """How far the audit could see, where it refuted nothing."""
    if claim.verdict is Outcome.REFUTED or claim.evidence is None:
        return ""
    return f" About the audit: {claim.evidence.read().resolution}."


def drawn(claim: ClaimRecord) -> str:
    """Epsilon of what the code draws, beside that of what is described."""
    if claim.drawn_beside is None:
        return ""
    described, as_drawn = claim.drawn_beside
    return f" As described, epsilon lies in {described}; as the code draws, in {as_drawn}."


def witness(claim: ClaimRecord) -> str:
    """Two data sets that show the lower end of what is certified, and how they are told apart."""
    if claim.witness is None:
        return ""
    first, second = claim.witness.data_sets
    return f" Witness: {first}, against {second}; {claim.witness.event}."


def summary(certificates: Sequence[Certificate]) -> list[str]:
    """The run's last lines: how many claims hold, how many do not, and which."""
    named = [(f"{c.id}/{claim.id}", claim) for c in certificates for claim in c.claims]
    claims = [(name, claim) for name, claim in named if not claim.asked]
    questions = [(name, claim) for name, claim in named if claim.asked]
    assumed = _count(claims, "assumed")
    lines = [
        f"{_count(claims, 'holds')} of {len(claims)} claims hold, {_count(claims, 'refuted')} do not,"
        f" {_count(claims, 'undecided')} are undecided{f', {assumed} rest on assumptions' if assumed else ''};"
        f" {sum(claim.verdict.reached for _, claim in questions)} questions are answered."
    ]
    for record, title in (("assumed", "rest on what is assumed"), ("refuted", "do not hold"), ("undecided", "are undecided")):
        if which := [name for name, claim in claims if claim.verdict.record == record]:
            lines.append(f"These {title}: {', '.join(which)}.")
    if which := [name for name, claim in named if claim.code_differs]:
        lines.append(f"The code is not what is described: {', '.join(which)}.")
    if which := [name for name, claim in questions if not claim.verdict.reached]:
        lines.append(f"No answer is certified: {', '.join(which)}.")
    wrong = [name for name, claim in named if not claim.as_recorded]
    on_record = [name for name, claim in named if claim.expect]
    if wrong:
        lines.append(f"Not as expected: {', '.join(wrong)}.")
    elif on_record:
        lines.append("All verdicts are as expected.")
    return lines


def _count(claims: Iterable[tuple[str, ClaimRecord]], record: str) -> int:
    return sum(claim.verdict.record == record for _, claim in claims)
