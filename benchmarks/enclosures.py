"""Every enclosure of some 5,000 queries over all stems, saved; and two such files compared, query by query.

``python -m benchmarks.enclosures FILE`` asks and saves; ``python -m benchmarks.enclosures BEFORE AFTER`` compares: an
enclosure of a later version must meet the earlier one, and should lie within it.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import ldpaudit as ldp
from ldpaudit.mechanisms import stem
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.plan import Compose, Plan, Repeat, Run, Shuffle, Subsample
from tests.zoo import STEMS, zoo

SHARES, DELTAS = (0.1, 0.5, 0.9), (0.0, 1e-12, 1e-6, 1e-3)
"""Epsilons that are asked for, as shares of epsilon(1e-9); and deltas."""
SAME = 1e-9
"""Relative change of an end that counts as none."""


def plans() -> Iterator[tuple[str, Plan]]:
    """What is asked about: the bundled deployments, and every animal of the zoo, alone and in plans."""
    for file in sorted((Path(__file__).parent.parent / "deployments").glob("*.toml")):
        for claim in ldp.load(file).claims:
            yield file.stem, claim.plan
    yield "rappor", Run(Rappor(128, 2, Fraction(1, 2), Fraction(1, 2), Fraction(3, 4), reports=32))
    yield "rappor", Repeat(Rappor(64, 4, Fraction(1, 4), Fraction(1, 4), Fraction(3, 4), reports=8), 20)
    seen: set[str] = set()
    for name in STEMS:
        found = zoo(name)
        for m in (*found.small, *found.at_one):
            one = Run(m)
            several: list[Plan] = [one, Repeat(one, 3), Shuffle(one, 5), Shuffle(one, 10_000), Subsample(one, 1000, 1)]
            if m in found.at_one:
                several += [Repeat(one, 2), Repeat(one, 100), Repeat(one, 10_000), Shuffle(one, 10**6)]
                several += [Subsample(Shuffle(one, 100), 10_000, 100), Compose([one, zoo("randomized_response").at_one[0]])]
            for plan in several:
                if str(plan) not in seen:
                    seen.add(str(plan))
                    yield stem(m), plan


def asked(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Queries of one plan and their enclosures."""
    relations = plan.mechanism.relations if isinstance(plan, Run) else (None,)
    for relation in relations:
        profile = ldp.account(plan, relation)
        scale = profile.epsilon(1e-9).high
        scale = scale if math.isfinite(scale) else 1.0
        for share in SHARES:
            yield f"{relation} delta({share} of {scale:.6g})", profile.delta(Fraction(float(f"{scale:.6g}")) * Fraction(share))
        for delta in DELTAS:
            yield f"{relation} epsilon({delta})", profile.epsilon(delta)


def save(file: Path) -> None:
    """Ask everything."""
    rows = []
    for name, plan in plans():
        start = time.perf_counter()
        try:
            for query, e in asked(plan):
                rows.append([name, str(plan), query, e.low, e.high, e.rigour.name, time.perf_counter() - start])
                start = time.perf_counter()
        except Exception as error:  # whatever it is, the other version may do better
            rows.append([name, str(plan), "error", 0.0, 0.0, type(error).__name__, 0.0])
        if rows[-1][-1] > 5 or rows[-1][5] not in ("EXACT", "INTERVAL", "Unsupported"):
            print(*rows[-1], file=sys.stderr)
    file.write_text(json.dumps(rows))
    print(f"{len(rows)} queries, {sum(row[-1] for row in rows):.1f} s")


def compare(before: Path, after: Path) -> int:
    """Say what changed; 1 where an enclosure does not meet the earlier one."""
    old = {(row[1], row[2]): row for row in json.loads(before.read_text())}
    tally: Counter[tuple[str, str]] = Counter()
    bad = 0
    seconds = [0.0, 0.0]
    for row in json.loads(after.read_text()):
        was = old.pop((row[1], row[2]), None)
        if was is None:
            # A query of a share of an epsilon that has become tighter is another query.
            tally[row[0], "new query"] += 1
            continue
        seconds[0] += was[-1]
        seconds[1] += row[-1]
        low, high = row[3] - was[3], was[4] - row[4]
        scale = max(abs(was[4]), 1e-300) if math.isfinite(was[4]) else 1.0
        if row[3] > was[4] * (1 + SAME) or row[4] < was[3] * (1 - SAME):
            bad += 1
            print("CONTRADICTION", was, row)
        changes = [0 if a == b or abs(d) <= SAME * scale else (1 if d > 0 else -1) for d, a, b in
                   ((low, row[3], was[3]), (high, row[4], was[4]))]
        word = "wider" if -1 in changes else "tighter" if 1 in changes else "same"
        rigours = "" if was[5] == row[5] else f", {was[5]} -> {row[5]}"
        tally[row[0], word + rigours] += 1
        if word == "wider" or (rigours and was[5] == "EXACT"):
            print(word, rigours, row[1], row[2], was[3:5], row[3:5])
    for (name, word), count in sorted(tally.items()):
        print(f"{name:24} {word:24} {count}")
    print(f"{len(old)} queries are gone; {seconds[0]:.1f} s before, {seconds[1]:.1f} s after")
    return 1 if bad else 0


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    sys.exit(compare(*files) if len(files) == 2 else save(files[0]))
