"""What the standalone checker finds valid of each claim of the bundled deployments.

    python -m benchmarks.proofs > docs/proofs.md    # a minute
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ldpaudit import account
from ldpaudit.certificates.proof import Proof, prove
from ldpaudit.certificates.verify_certificate import THEOREMS
from ldpaudit.errors import Unsupported
from ldpaudit.files.deployment import load

HEAD = """# The proofs of the bundled deployments

`python -m benchmarks.proofs` prints this page. For each claim of `deployments/` it shows what [the standalone
checker](proof-format.md) finds valid: the epsilon and delta, the size of the proof in bytes, and the theorems that it rests on; or
why there is no proof. If a claim names no epsilon, the proof is of the certified epsilon, or of at most half a percent more.

| claim | says | epsilon | delta | bytes | rests on, or why there is no proof |
|---|---|---|---|---|---|
"""


def claims() -> Iterator[tuple[str, Proof | Unsupported]]:
    """Each claim of the bundled deployments, and its proof, or why it has none."""
    for path in sorted((Path(__file__).parent.parent / "deployments").glob("*.toml")):
        for claim in (whole := load(path)).claims:
            try:
                if claim.assumptions:
                    raise Unsupported(claim.plan, "it rests on what is assumed")
                known = account(claim.plan, claim.neighbours).epsilon(claim.delta)
                yield f"{whole.id}/{claim.id}", prove(claim.plan, claim.neighbours, claim.epsilon, claim.delta, known)
            except Unsupported as limit:
                yield f"{whole.id}/{claim.id}", limit


def proved() -> Iterator[dict[str, Any]]:
    """The proofs that there are."""
    yield from (found.record for _, found in claims() if not isinstance(found, Unsupported))


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each claim."""
    for name, found in claims():
        if isinstance(found, Unsupported):
            yield name, "no proof", "", "", "", str(found).split(": ", 1)[-1]
            continue
        theorems = [key for key, text in THEOREMS.items() if text in found.sentence]
        size = str(len(json.dumps(found.record)))
        numbers = f"{float(found.epsilon):.12g}", f"{float(found.delta):g}"
        yield name, found.record["says"], *numbers, size, ", ".join(theorems) or "the definition"


def page() -> str:
    """The whole page."""
    found = list(rows())
    lines = [f"| {' | '.join(row)} |" for row in found]
    says = Counter(row[1] for row in found)
    rests = Counter(theorem for row in found if row[1] != "no proof" for theorem in row[5].split(", "))
    counted = ", ".join(f"{'' if key == 'the definition' else 'the theorem '}{key} ({rests[key]})" for key in sorted(rests))
    proved = f"{says['private']} of {len(found)} claims are proved private, {says['not private']} not private"
    total = f"{proved}, {says['no proof']} have no proof."
    return f"{HEAD}{chr(10).join(lines)}\n\n{total} The proofs rest on: {counted}.\n"


if __name__ == "__main__":
    sys.stdout.write(page())
