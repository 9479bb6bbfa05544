"""What changed since the previous certificate, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from ldpaudit.certificates.certificate import Certificate, ClaimRecord


def changes(before: Certificate, now: Certificate) -> list[str]:
    """Each in a sentence; nothing where both say the same."""
    old, new = ({claim.id: claim for claim in each.claims} for each in (before, now))
    found = [f"{name} is no longer claimed" for name in old if name not in new]
    found += [f"{name} is new: {claim.verdict}" for name, claim in new.items() if name not in old]
    found += [line for name in new if name in old for line in _of_a_claim(old[name], new[name])]
    return [*found, *_of_the_run(before, now)]


def deployment_lines(before: Certificate, now: Certificate) -> list[str]:
    """The lines of the deployment file that went (-) and that came (+)."""
    lines = unified_diff(before.deployment.splitlines(), now.deployment.splitlines(), lineterm="", n=0)
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def _of_a_claim(old: ClaimRecord, new: ClaimRecord) -> Iterator[str]:
    for what, field in (
        ("verdict", "verdict"),
        ("claim", "claimed"),
        ("certified epsilon", "certified"),
        ("measured epsilon", "measured"),
        ("plan", "plan"),
        ("relation", "neighbours"),
    ):
        if (was := getattr(old, field)) != (is_ := getattr(new, field)):
            yield f"{new.id}: its {what} was {was} and is {is_}"


def _of_the_run(before: Certificate, now: Certificate) -> Iterator[str]:
    fields = (("the seed", "seed"), ("the number of views", "trials"), ("the confidence", "confidence"), ("the issuer", "issuer"))
    settings = [(what, getattr(before, field), getattr(now, field)) for what, field in fields]
    settings += [(f"the version of {name}", before.versions.get(name), version) for name, version in now.versions.items()]
    for what, was, is_ in settings:
        if was != is_:
            yield f"{what} was {_told(was)} and is {_told(is_)}"


def _told(value: object) -> str:
    return "none" if value in (None, "") else str(value)
