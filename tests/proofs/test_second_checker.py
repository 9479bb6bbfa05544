"""Two programs by two hands, from one page, agree on which proofs are valid."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from ldpaudit.certificates import verify_certificate as first
from ldpaudit.certificates.ledger import proved
from ldpaudit.files.bundled import ids
from tests.proofs.test_verify_certificate import is_valid

NODE = shutil.which("node")
SECOND = Path(__file__).with_name("second_checker.mjs")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def second(records: list[Any], folder: Path) -> list[str]:
    """What the second program prints of each proof: VALID, or INVALID with a reason."""
    files = [folder / f"{i}.json" for i in range(len(records))]
    for file, record in zip(files, records, strict=True):
        file.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    assert NODE is not None
    ran = subprocess.run([NODE, str(SECOND), *map(str, files)], capture_output=True, text=True, timeout=600, check=False)
    assert not ran.stderr
    said = [line.split(": ", 1)[1] for line in ran.stdout.splitlines()]
    assert ran.returncode == (0 if said and all(line == "VALID" for line in said) else 1)
    return said


def text(rng: random.Random, low: int = 1, high: int = 99) -> str:
    return f"{rng.randint(low, high)}/100"


def channel(rng: random.Random) -> dict[str, Any]:
    views, rows = rng.randint(2, 4), []
    for _ in range(rng.randint(2, 4)):
        weights = [rng.randint(1, 9) for _ in range(views)]
        rows.append([f"{w}/{sum(weights)}" for w in weights])
    return {"word": "channel", "rows": rows}


def leaf(rng: random.Random, relation: str) -> dict[str, Any]:
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


def proofs_at_their_limits(rng: random.Random, count: int) -> list[tuple[dict[str, Any], bool]]:
    """Random proofs just above and just below the least epsilon, with what the first program says."""
    found: list[tuple[dict[str, Any], bool]] = []
    while len(found) < count:
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
        if least is None:
            continue
        for epsilon in (least + Fraction(1, 10**8), least - Fraction(1, 10**8)):
            each = record | {"epsilon": str(epsilon)}
            found.append((each, is_valid(each)))
            if runs == 1 and relation != "group-of-2":
                each = each | {"says": "not private", "witness": {}}
                found.append((each, is_valid(each)))
    return found


@pytest.mark.slow
def test_both_programs_find_every_proof_of_the_bundled_deployments_valid(tmp_path: Path) -> None:
    records = list(proved(ids()))
    assert len(records) > 70
    assert second(records, tmp_path) == ["VALID"] * len(records)


def agree(records: list[tuple[dict[str, Any], bool]], folder: Path) -> None:
    """No proof is valid to the first program alone, and to the second alone only where several laws are composed."""
    said = second([record for record, _ in records], folder)
    for (record, valid), line in zip(records, said, strict=True):
        finer = not valid and ("ratio" in record["witness"] or record["plan"]["word"] in ("repeat", "compose"))
        assert finer or (line == "VALID") == valid, (record, line)


def test_both_programs_agree_on_random_proofs_at_their_limits(tmp_path: Path) -> None:
    agree(proofs_at_their_limits(random.Random(5), 6), tmp_path)


@pytest.mark.slow
def test_both_programs_agree_on_a_hundred_random_proofs_at_their_limits(tmp_path: Path) -> None:
    agree(proofs_at_their_limits(random.Random(1), 100), tmp_path)


RESPONSE = {"word": "randomized_response", "k": 3, "p": "1/2"}
PROOF: dict[str, Any] = {"schema": "ldpaudit.proof/1", "plan": RESPONSE, "relation": "replace-one", "says": "private"}
PROOF |= {"epsilon": "1", "delta": "0", "witness": {}}
CLAIM = {"id": "a", "verdict": "PROVED", "epsilon": "1", "delta": "0", "neighbours": "replace-one", "proof": PROOF}
NOISE = {"word": "discrete_laplace", "alpha": "1/4", "change": 1}
SUMMED = {"word": "repeat", "of": {"word": "sum", "of": RESPONSE, "users": 5}, "times": 1}
FORGED = {
    "a certificate of another schema": {"schema": "ldpaudit.certificate/2", "claims": [CLAIM | {"epsilon": "0.1"}]},
    "a certificate without a schema": {"claims": [CLAIM | {"epsilon": "0.1"}]},
    "a claim whose epsilon has a point": {"schema": "ldpaudit.certificate/1", "claims": [CLAIM | {"epsilon": 0.1}]},
    "runs of a sum that cost the most": PROOF | {"says": "not private", "epsilon": "0.1", "plan": SUMMED},
    "noise for a group": PROOF
    | {"plan": NOISE, "relation": "group-of-2", "epsilon": "2.7", "delta": "1/20", "witness": {"digits": 30, "ratio": "4"}},
    "a group with a line end": PROOF | {"relation": "group-of-1\n"},
}


@pytest.mark.parametrize("name", FORGED)
def test_neither_program_finds_a_file_valid_that_shows_less_than_it_says(name: str, tmp_path: Path) -> None:
    file = tmp_path / "0.json"
    assert all(said.startswith("INVALID") for said in second([FORGED[name]], tmp_path)[-1:])
    assert first.main([str(file)]) == 1  # type: ignore[no-untyped-call]
