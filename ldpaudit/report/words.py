"""What the words of a page mean, and each claim in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from ldpaudit.certificates.certificate import ClaimRecord
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
    "same-pattern": "two inputs that differ in the values that one user ever holds, but not in the times at which these repeat.",
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
        return f"No claim is made about one {claim.unit}: the certificate reports the computed epsilon. {answer}"
    another = claim.code_differs and not claim.refuted_by_samples
    fares = "The code is not what is described, so this is not shown about it." if another else _FARES[claim.verdict]
    return f"It is claimed that {claim.sentence}. {fares}"


def relation(neighbours: str) -> str:
    """What is said of a relation by its name."""
    kind = neighbours.split(" ")[0]
    return NEIGHBOURS["group" if kind.startswith("group-of-") else kind]


def overall(claims: Sequence[ClaimRecord]) -> str:
    """How many claims hold, of how many."""
    made = [claim for claim in claims if not claim.asked]
    counts = [(words, sum(claim.verdict.record == record for claim in made)) for record, words in _COUNTED.items()]
    told = ", ".join(f"{count} {words[count != 1]}" for words, count in counts if count)
    claimed = f"{_counted(len(made), 'claim')}: {told}." if made else ""
    asked = f"{_counted(len(claims) - len(made), 'question')}." if len(made) < len(claims) else ""
    return " ".join(filter(None, (claimed, asked)))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."
