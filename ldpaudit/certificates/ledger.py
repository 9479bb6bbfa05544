"""What the standalone checker finds valid of deployments' claims, and what that rests on: `ldpaudit prove --ledger`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ldpaudit.accountants import account
from ldpaudit.certificates import verify_certificate as checker
from ldpaudit.certificates.proof import Proof, prove
from ldpaudit.errors import Unsupported
from ldpaudit.files.deployment import load

ENUMERATED = {
    "composition": "two and three runs of 12 random channels, all inputs",
    "blanket": "two to four users of 12 random channels, all data sets",
    "Laplace integral": "",
}
"""Theorems from the literature that no machine checked, and what tests/proofs enumerates of them. All others are elementary."""
HEAD = """# The proofs of the bundled deployments

`ldpaudit prove --ledger` prints this page. For each claim of `deployments/` it shows what [the standalone checker](proof-format.md)
finds valid: the epsilon and delta, the size of the proof in bytes, the work to check it, and the theorems that it rests on; or why
there is no proof. If a claim names no epsilon, the proof is of the certified epsilon, or of at most half a percent more. A million
units of work take about a fifth of a second at most; 200 million are the limit.

| theorem | status | statement, and source | enumerated in tests/proofs |
|---|---|---|---|
"""
CLAIMS = """
A second program, `tests/proofs/second_checker.mjs`, finds the same proofs valid.

| claim | says | epsilon | delta | bytes | million units | rests on, or why there is no proof |
|---|---|---|---|---|---|---|
"""


class Row(NamedTuple):
    """One claim."""

    deployment: str
    claim: str
    proof: Proof | None
    rests: tuple[str, ...]  # names of theorems
    work: int  # of a check
    reason: str  # why there is no proof


def rows(files: Iterable[str | Path]) -> Iterator[Row]:
    """Each claim of these deployment files, or bundled ids, and its proof, or why it has none."""
    for path in files:
        for claim in (whole := load(path)).claims:
            try:
                if claim.assumptions:
                    raise Unsupported(claim.plan, "it rests on what is assumed")
                known = account(claim.plan, claim.neighbours).epsilon(claim.delta)
                proof = prove(claim.plan, claim.neighbours, claim.epsilon, claim.delta, known)
            except Unsupported as limit:
                yield Row(whole.id, claim.id, None, (), 0, str(limit).split(": ", 1)[-1])
                continue
            _, rests = checker.check(proof.record)  # type: ignore[no-untyped-call]
            yield Row(whole.id, claim.id, proof, tuple(sorted(rests)), checker.spent, "")


def proved(files: Iterable[str | Path]) -> Iterator[dict[str, Any]]:
    """The proofs that there are."""
    yield from (row.proof.record for row in rows(files) if row.proof)


def admissions(found: Iterable[Row]) -> dict[str, set[str]]:
    """The theorems that were admitted, by deployment."""
    by_deployment: dict[str, set[str]] = {}
    for row in found:
        by_deployment.setdefault(row.deployment, set()).update(set(row.rests) & set(ENUMERATED))
    return {name: theorems for name, theorems in by_deployment.items() if theorems}


def page(files: Iterable[str | Path]) -> str:
    """The theorems, the claims, and what is admitted."""
    found = list(rows(files))
    used = {theorem for row in found for theorem in row.rests}
    lines = [HEAD]
    for name in (name for name in checker.THEOREMS if name in used):
        status = "admitted" if name in ENUMERATED else "elementary"
        lines.append(f"| {name} | {status} | {checker.THEOREMS[name]} | {ENUMERATED.get(name, '')} |\n")
    lines.append(CLAIMS)
    for row in found:
        name = f"{row.deployment}/{row.claim}"
        if row.proof is None:
            lines.append(f"| {name} | no proof |  |  |  |  | {row.reason} |\n")
            continue
        numbers = f"{float(row.proof.epsilon):.12g} | {float(row.proof.delta):g} | {len(json.dumps(row.proof.record))}"
        theorems = ", ".join(row.rests) or "the definition"
        lines.append(f"| {name} | {row.proof.record['says']} | {numbers} | {row.work / 1e6:.2g} | {theorems} |\n")
    says = Counter(row.proof.record["says"] if row.proof else "none" for row in found)
    rests = Counter(theorem for row in found if row.proof for theorem in row.rests or ("the definition",))
    proved = f"{says['private']} of {len(found)} claims are proved private, {says['not private']} not private"
    lines.append(f"\n{proved}, {says['none']} have no proof.\n")
    lines.append(f"They rest on: {', '.join(f'{name} ({times})' for name, times in sorted(rests.items()))}.\n\n")
    admitted = admissions(found)
    several = "; ".join(f"{name}: {', '.join(sorted(each))}" for name, each in admitted.items())
    lines.append(f"Admissions: {sum(map(len, admitted.values()))}. {several}.\n")
    return "".join(lines)
