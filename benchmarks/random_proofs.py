"""Random proofs just above and just below the least epsilon that holds, and what two programs by two hands say of them.

    python -m benchmarks.random_proofs FILE.jsonl [--count 1000]

Each line of the file is a proof with what either program says. It goes on where it was stopped: each proof has a seed of its own.
"""

import argparse
import json
import math
import random
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scipy.optimize import brentq

from ldpaudit.certificates import verify_certificate as first

SECOND = Path(__file__).parent.parent / "tests" / "proofs" / "second_checker.mjs"


def is_valid(record: Any) -> bool:
    """What the first program says of a proof."""
    try:
        first.check(record)  # type: ignore[no-untyped-call]
    except first.Invalid:
        return False
    return True


def second(files: Sequence[Path]) -> list[str]:
    """What the second program prints of each proof in these files: VALID, or INVALID with a reason."""
    ran = subprocess.run(["node", str(SECOND), *map(str, files)], capture_output=True, text=True, check=False)
    said = [line.split(": ", 1)[1] for line in ran.stdout.splitlines()]
    if ran.stderr or ran.returncode != (0 if said and all(line == "VALID" for line in said) else 1):
        raise RuntimeError(f"the second program ended with {ran.returncode}: {ran.stderr[-2000:]}")
    return said


def second_of(records: Sequence[Any]) -> list[str]:
    """What the second program prints of these proofs."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{i}.json" for i in range(len(records))]
        for file, record in zip(files, records, strict=True):
            file.write_text(json.dumps(record), encoding="utf-8")
        return second(files)


def text(rng: random.Random, low: int = 1, high: int = 99) -> str:
    """A random number of hundredths."""
    return f"{rng.randint(low, high)}/100"


def channel(rng: random.Random) -> dict[str, Any]:
    """A random matrix."""
    views, rows = rng.randint(2, 4), []
    for _ in range(rng.randint(2, 4)):
        weights = [rng.randint(1, 9) for _ in range(views)]
        rows.append([f"{w}/{sum(weights)}" for w in weights])
    return {"word": "channel", "rows": rows}


def leaf(rng: random.Random, relation: str) -> dict[str, Any]:
    """A random word of one report."""
    words = ["channel", "bits"]
    if relation == "replace-one":
        words += ["randomized_response", "subset_selection", "hadamard_response", "discrete_laplace"]
    word = rng.choice(words)
    if word == "channel":
        return channel(rng)
    if word == "bits":
        here, there = (1, 0) if relation == "add-remove" else rng.choice([(1, 1), (2, 2), (2, 1), (3, 0)])
        return {"word": word, "p": text(rng), "q": text(rng), "only_here": here, "only_there": there}
    if word == "randomized_response":
        return {"word": word, "k": rng.randint(2, 9), "p": text(rng)}
    if word == "subset_selection":
        k = rng.randint(3, 9)
        return {"word": word, "k": k, "d": rng.randint(1, k - 1), "p": text(rng)}
    if word == "hadamard_response":
        return {"word": word, "columns": 4 * rng.randint(1, 4), "p": text(rng)}
    return {"word": word, "alpha": text(rng, 20, 90), "change": rng.randint(1, 4)}


def crowd(rng: random.Random, relation: str, most: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Users whose bits are counted, and ranges of how many others have one."""
    users = rng.randint(1, most)
    starts = sorted({0, *(rng.randrange(users) for _ in range(3))})
    if relation == "replace-one" and rng.random() < 0.3:
        of_two = {"word": "randomized_response", "k": 2, "p": text(rng)}
        return {"word": rng.choice(["sum", "shuffle"]), "of": of_two, "users": users}, {"starts": starts}
    here, there = (1, 0) if relation == "add-remove" else rng.choice([(1, 1), (1, 0), (2, 1)])
    of = {"word": "bits", "p": text(rng), "q": text(rng), "only_here": here, "only_there": there}
    noise = {"discrete_gaussian": [text(rng, 50, 900)] * rng.randint(1, 2)} if rng.random() < 0.4 else {}
    return {"word": "sum", "of": of, "users": users, **noise}, {"starts": starts}


def plan(rng: random.Random, relation: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """A plan, a witness for it at a delta above 0, and the number of runs."""
    kind = rng.randrange(10)
    lattice: dict[str, Any] = {"digits": 30, "ratio": rng.choice(["11/10", "101/100", "1.003"])}
    if kind == 6:
        words, witness = crowd(rng, relation, 500)
        return words, lattice | witness | {"ratio": "51/50"}, 0
    if kind == 7:
        (words, witness), times = crowd(rng, relation, 40), rng.randint(2, 4)
        return {"word": "repeat", "of": words, "times": times}, lattice | witness | {"ratio": "11/10"}, 0
    if kind == 8:
        if rng.random() < 0.5:
            return {"word": "discrete_gaussian", "variance": text(rng, 20, 2000), "change": rng.randint(1, 3)}, {"digits": 30}, 0
        coins, large = rng.randint(1, 60), rng.random() < 0.5
        words = {"word": "binomial", "coins": 100 * coins if large else coins, "gamma": text(rng), "change": rng.randint(1, 3)}
        return words, {"digits": 30} if large else {}, 1
    part = leaf(rng, relation)
    if kind == 9 and relation == "replace-one":
        part = {"word": "randomized_response", "k": rng.randint(2, 5), "p": text(rng, 30, 90)}
        of_many = {"word": "shuffle", "of": part, "users": rng.randint(2, 12)}
        parts = [of_many, {"word": "repeat", "of": leaf(rng, relation), "times": 2}]
        return {"word": "compose", "of": parts}, {"digits": 20, "ratio": "6/5", "step": "1/2"}, 0
    if kind < 2:
        return part, {}, 1
    if kind == 2:
        return {"word": "repeat", "of": part, "times": (n := rng.randint(2, 9))}, lattice, n
    if kind == 3:
        parts = [part, {"word": "repeat", "of": leaf(rng, relation), "times": 3}, leaf(rng, relation)]
        if rng.random() < 0.5:
            parts.append({"word": "laplace", "change": text(rng, 10, 99)})
        return {"word": "compose", "of": parts}, lattice, 6
    if kind == 4:
        return {"word": "sum", "of": part, "users": rng.randint(1, 99)}, {}, 1
    while part["word"] == "discrete_laplace" or part["word"] == "bits":
        part = leaf(rng, relation)
    if relation == "replace-one" and rng.random() < 0.3:
        q = rng.randint(1, 40)
        part = {"word": "bits", "p": f"{rng.randint(q, 99)}/100", "q": f"{q}/100", "only_here": 1, "only_there": 1}
    step: dict[str, Any] = {"digits": 30, "step": rng.choice(["1/2", "1/10", "1/50"])}
    return {"word": "shuffle", "of": part, "users": rng.randint(2, 300)}, step, 1


def threshold(record: dict[str, Any]) -> Fraction | None:
    """The least epsilon that the first program finds valid, within 1e-9."""
    low, high, tolerance = Fraction(0), Fraction(64), Fraction(1, 2 * 10**9)
    if is_valid(record | {"epsilon": "0"}) or not is_valid(record | {"epsilon": str(high)}):
        return None

    def excess(epsilon: float) -> float:
        try:
            first.check(record | {"epsilon": str(Fraction(epsilon)), "delta": "0"})  # type: ignore[no-untyped-call]
        except first.Invalid as error:
            delta = re.search("delta may be ([^,]*),", str(error))
            return math.log(float(delta[1]) / float(Fraction(record["delta"]))) if delta else 99.0
        return -99.0

    if record["delta"] != "0":  # a few steps in place of thirty
        near = Fraction(brentq(excess, 1e-9, float(high), xtol=1e-10, rtol=1e-12))
        ends = max(low, near - 2 * tolerance), near + 2 * tolerance
        if not is_valid(record | {"epsilon": str(ends[0])}) and is_valid(record | {"epsilon": str(ends[1])}):
            return ends[1]
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (low, middle) if is_valid(record | {"epsilon": str(middle)}) else (middle, high)
    return high


def at_their_limits(seed: int) -> list[tuple[dict[str, Any], bool]]:
    """Proofs of one random plan just above and just below the least epsilon, with what the first program says."""
    rng, found = random.Random(seed), list[tuple[dict[str, Any], bool]]()
    while not found:
        relation = rng.choice(["replace-one", "replace-one", "add-remove", "group-of-2"])
        words, witness, runs = plan(rng, "replace-one" if relation == "group-of-2" else relation)
        if relation == "group-of-2" and runs == 0:
            continue
        delta = rng.choice(["0", "0", "1/1000", "0.05"])
        if words["word"] == "shuffle":
            if relation == "add-remove":  # for which the first program has no rule
                continue
            delta = rng.choice(["1/1000", "0.01"])
        if relation == "group-of-2":
            witness = {} if delta == "0" else {"digits": 30, "ratio": "101/100"}
        record = {"schema": "ldpaudit.proof/1", "plan": words, "relation": relation, "says": "private"}
        record |= {"epsilon": "1", "delta": delta, "witness": {} if delta == "0" else witness}
        least = threshold(record)
        for epsilon in () if least is None else (least + Fraction(1, 10**8), least - Fraction(1, 10**8)):
            each = record | {"epsilon": str(epsilon)}
            found.append((each, is_valid(each)))
            if runs == 1 and relation != "group-of-2":
                each = each | {"says": "not private", "witness": {}}
                found.append((each, is_valid(each)))
    return found


def compare(file: Path, count: int) -> Counter[str]:
    """Proofs that the file does not have yet; of all of its proofs, how many both programs find valid, one of them, or none."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    while len(rows) < count:
        begin = 1 + max((row["seed"] for row in rows), default=-1)
        seeds = range(begin, begin + min(20, 1 + (count - len(rows)) // 3))  # whose proofs one process reads
        made = [(seed, *each) for seed in seeds for each in at_their_limits(seed)]
        said = second_of([record for _, record, _ in made])
        new = [{"seed": s, "proof": record, "first": valid, "second": line}
               for (s, record, valid), line in zip(made, said, strict=True)]  # fmt: skip
        with file.open("a") as log:
            log.writelines(json.dumps(row) + "\n" for row in new)
        rows += new
    found: Counter[str] = Counter(proofs=len(rows))
    for row in rows:
        proof, both = row["proof"], (row["first"], row["second"] == "VALID")
        finer = both[1] and ("ratio" in proof["witness"] or proof["plan"]["word"] in ("repeat", "compose"))  # of several laws
        fine = "" if both[0] == both[1] or finer else ", which is a DISAGREEMENT"
        found[f"valid to the first: {both[0]}, to the second: {both[1]}{fine}"] += 1
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    for what, often in compare(given.file, given.count).items():
        print(f"{often:7d}  {what}")
