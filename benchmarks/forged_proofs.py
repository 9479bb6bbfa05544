"""Proofs that should not be valid: how many of them verify_certificate.py calls so, or tests/proofs/second_checker.mjs.

    python -m benchmarks.forged_proofs mutants [--count 2000]    # of the proofs of the bundled deployments, each made stronger
    python -m benchmarks.forged_proofs files [--count 10000]     # hostile files: seconds, memory, and what the second program says

A mutant says more than its proof, which has nearly the least epsilon that is VALID; or is of a plan that is less private; or is a
certificate that claims more than its proof shows. A hostile file is a proof with extreme numbers, or a bundled one with a few
changes; it is read by a process with the standard library alone, 1 GiB of addresses and 90 seconds. Where it is VALID, the
second program has to say so, too.
"""

import io
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.experiment import options
from benchmarks.fuzz_mutations import broken, changed, places
from benchmarks.random_proofs import plan, second, second_of
from ldpaudit.certificates import verify_certificate as checker
from ldpaudit.certificates.ledger import proved
from ldpaudit.files.bundled import ids

NUMBERS = (0, 1, 2, 3, 7, 64, 1000, 4000, 10**5, 10**6, 10**9, 10**10, 10**17, 10**18, 2**64, 10**400)
WRONG: tuple[Any, ...] = (None, True, 1.5, "1e3", "0x1", "1/0", "", [], {}, "nan", "-1", -1, "1_0", "\u0661", "9" * 5000)
"""What no key has."""
TINY, LONG = "1/1" + "0" * 300, "9" * 3999 + "/1" + "0" * 3999
SHARES = ("0", "1", "1/2", "1/3", "0.9", "999999/1000000", "1/1000000", TINY, "0." + "7" * 1000, LONG)
EACH = 30  # most mutants of a proof: of all bundled ones there are 2,000
WORKER = """
import importlib.util, json, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
spec = importlib.util.spec_from_file_location("checker", sys.argv[1])
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)
for name in sys.argv[2:]:
    signal.setitimer(signal.ITIMER_PROF, 90)  # ends the process
    begun = time.process_time()
    code = checker.main([name])
    print(json.dumps([name, code, time.process_time() - begun]), file=sys.stderr, flush=True)
"""


def valid(record: Any) -> bool:
    """Whether the program calls it so, a proof or a certificate."""
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "forged.json").write_text(json.dumps(record))
        with redirect_stdout(said := io.StringIO()):
            code: int = checker.main([str(file)])  # type: ignore[no-untyped-call]
    return code == 0 or "VALID    " in said.getvalue().replace("INVALID  ", "")


def stronger(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Proofs of more than this one, which is of nearly the least epsilon."""
    epsilon, delta, refutes = Fraction(record["epsilon"]), Fraction(record["delta"]), record["says"] != "private"
    for percent in (1, 2, 5, 20, 50):
        yield f"epsilon {percent} %", record | {"epsilon": str(epsilon * (100 + percent if refutes else 100 - percent) / 100)}
    if delta and record["witness"]:
        yield "a tenth of delta", record | {"delta": str(delta / 10)}
    yield "the contrary", record | {"says": "private" if refutes else "not private", "witness": {}}
    for key in record:
        yield f"no {key}", {name: value for name, value in record.items() if name != key}
        for wrong in (*WRONG, [record[key]]):
            if (key, wrong) != ("witness", {}) and wrong != record[key]:
                yield f"{key} {wrong!r:.20}", record | {key: wrong}
    starts = record["witness"].get("starts", [])
    others: list[Any] = [["0"], [0.0], [False], [0, -1], {}, None]
    for wrong in ([], starts[1:], [1, *starts[1:]], [*starts, 10**12], [*starts, *starts[-1:]], *others):
        if starts:
            yield f"starts {wrong!r:.20}", record | {"witness": record["witness"] | {"starts": wrong}}
    yield "another key", record | {"more": 1}
    yield "another schema", record | {"schema": "ldpaudit.proof/2"}
    for path, word in list(words(record["plan"])):
        for name, change in LESS_PRIVATE.get(word["word"], {}).items():
            value = change(word)
            if value is not None and value != word.get(name, []) and not refutes and (name in word or value) and (
                name not in ("users", "discrete_gaussian") or record["witness"]
            ):
                fits = {"starts": [each for each in starts if each < value]} if starts and name == "users" else {}
                less = {"plan": put(record["plan"], path, word | {name: value}), "witness": record["witness"] | fits}
                yield f"{word['word']} with another {name}", record | less


LESS_PRIVATE: dict[str, dict[str, Any]] = {
    "randomized_response": {"p": lambda w: nearer_one(w["p"])},
    "subset_selection": {"p": lambda w: nearer_one(w["p"])},
    "hadamard_response": {"p": lambda w: nearer_one(w["p"])},
    "bits": {"p": lambda w: nearer_one(w["p"]) if Fraction(w["p"]) > Fraction(w["q"]) else None,
             "q": lambda w: str(Fraction(w["q"]) * 24 / 25) if Fraction(w["p"]) > Fraction(w["q"]) else None,
             "only_here": lambda w: w["only_here"] + 1},
    "discrete_laplace": {"alpha": lambda w: str(Fraction(w["alpha"]) * 24 / 25), "change": lambda w: w["change"] + 1},
    "laplace": {"change": lambda w: str(Fraction(w["change"]) * 25 / 24)},
    "binomial": {"coins": lambda w: w["coins"] * 49 // 50, "change": lambda w: w["change"] + 1,
                 "gamma": lambda w: str(Fraction(w["gamma"]) * 4 / 5) if Fraction(w["gamma"]) <= Fraction(1, 2) else None},
    "repeat": {"times": lambda w: w["times"] + 1},
    "compose": {"of": lambda w: [*w["of"], w["of"][0]]},
    "shuffle": {"users": lambda w: w["users"] * 19 // 20},
    "sum": {"users": lambda w: w["users"] * 19 // 20, "discrete_gaussian": lambda w: w.get("discrete_gaussian", [])[1:]},
    "discrete_gaussian": {"variance": lambda w: str(Fraction(w["variance"]) * 29 / 30), "change": lambda w: w["change"] + 1},
}  # fmt: skip
"""What of a word makes its plan less private; None where it would not."""


def nearer_one(p: str) -> str:
    """A probability of the truth, which tells more."""
    return str(1 - (1 - Fraction(p)) * 24 / 25)


def words(plan: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Each word of a plan, and where it stands."""
    yield path, plan
    inner = plan.get("of")
    for i, each in enumerate(inner) if isinstance(inner, list) else [(None, inner)] * (inner is not None):
        yield from words(each, (*path, "of") if i is None else (*path, "of", i))


def put(plan: Any, path: tuple[Any, ...], word: Any) -> Any:
    """The plan with another word there."""
    if not path:
        return word
    copy = list(plan) if isinstance(plan, list) else dict(plan)
    copy[path[0]] = put(plan[path[0]], path[1:], word)
    return copy


def at_its_limit(record: dict[str, Any]) -> dict[str, Any]:
    """The proof with nearly the least epsilon that is valid; the largest, where it says that a plan is not private."""
    begun, step = time.process_time(), Fraction(11, 10) if record["says"] != "private" else Fraction(9, 10)
    while abs(step - 1) > Fraction(1, 10**8) and time.process_time() - begun < 40:
        further = record | {"epsilon": str(Fraction(record["epsilon"]) * step)}
        if valid(further):
            record = further
        else:
            step = 1 + (step - 1) / 4
    return record


def certificates(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Certificates that claim more than this proof shows."""
    refutes = record["says"] != "private"
    claim = {"id": "a", "verdict": "REFUTED" if refutes else "PROVED", "neighbours": record["relation"], "proof": record}
    claim |= {"epsilon": record["epsilon"], "delta": record["delta"]}
    further = Fraction(record["epsilon"]) * Fraction(101 if refutes else 99, 100)
    for change in ({"epsilon": str(further)}, {"epsilon": float(further)}, {"neighbours": "user-level"}, {"proof": None},
                   {"verdict": "PROVED" if refutes else "REFUTED"}, {"delta": "2" if refutes else "-1"}):  # fmt: skip
        if not (refutes and change == {"proof": None}):
            yield f"a claim with {change}"[:40], {"schema": "ldpaudit.certificate/1", "claims": [claim | change]}
    yield "a certificate of another schema", {"schema": "ldpaudit.certificate/2", "claims": [claim]}


def mutants(count: int, rng: Random) -> Counter[str]:
    """How many mutants are INVALID to both programs; those that are not by name."""
    found = Counter[str]()
    for base in map(at_its_limit, proved(rng.sample(ids(), len(ids())))):
        found[f"a proof that the second program finds {second_of([base])[-1]:.12}"] += 1
        made = [*stronger(base), *certificates(base)]
        for name, record in rng.sample(made, min(EACH, len(made), count - found["INVALID"])):
            to = ["first"] * valid(record) + ["second"] * (second_of([record])[-1] == "VALID")
            found[f"VALID to {to}: {name}: {record}" if to else "INVALID"] += 1
        sys.stderr.write(f"{dict(found)}\n")
    return found


def hostile(rng: Random) -> dict[str, Any]:
    """A random plan with other numbers, of which some are extreme, and lists that are long; and a witness of another one."""
    said, witness = plan(rng, "replace-one")[0], plan(rng, "replace-one")[1]
    share, most = rng.choice((0.1, 0.5)), rng.choice((1, 1, 40, 2000))
    for container, key in places({"plan": said, "witness": witness}):
        value = container[key]
        if isinstance(value, list) and rng.random() < share:
            container[key] = value * most
        elif isinstance(value, int) and rng.random() < share:
            container[key] = rng.choice(NUMBERS)
        elif isinstance(value, str) and value[:1].isdigit() and rng.random() < share:
            container[key] = rng.choice((*SHARES, "1.001", "1000001/1000000", "999", "9"))
    return {"plan": said, "witness": witness}


def file(rng: Random, bundled: list[dict[str, Any]]) -> bytes:
    """A hostile file."""
    if rng.random() < 0.3:
        data = json.dumps(changed(rng.choice(bundled), rng)).encode("utf-8", "surrogatepass")
        return broken(data, rng) if rng.random() < 0.2 else data
    record = {"schema": "ldpaudit.proof/1", **hostile(rng), "says": rng.choice(["private", "private", "not private"])}
    record |= {"relation": rng.choice(["replace-one", "replace-one", "add-remove", "group-of-2", "group-of-1000000"])}
    record |= {"epsilon": rng.choice(["0", "1/10", "1", "20", "700", "20000"]), "delta": rng.choice(["0", "1/1000", TINY, "1/2"])}
    return json.dumps(record if record["says"] == "private" else record | {"witness": {}}).encode()


def files(count: int, rng: Random) -> Counter[str]:
    """What becomes of hostile files, and which take a minute of a processor, end the program, or are VALID to one program alone."""
    bundled, found = list(proved(ids())), Counter[str]()
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        worker = Path(folder) / "worker.py"
        worker.write_text(WORKER)
        for begin in range(0, count, 50):
            names = []
            for i in range(begin, min(begin + 50, count)):
                names.append(Path(folder) / f"{i}.json")
                names[-1].write_bytes(file(rng, bundled))
            while names:  # a file that ends the process is the next that it had not told of
                command = [sys.executable, "-I", "-S", str(worker), checker.__file__, *map(str, names)]
                ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
                told = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("[")]
                for name, code, seconds in told:
                    longest, said = max(longest, seconds), "INVALID"
                    if code == 0:
                        said = "VALID" if second([Path(name)])[-1] == "VALID" else "VALID to the first program alone"
                    found[said] += 1
                    if seconds > 60 or said.endswith("alone"):
                        found[f"{said}, {seconds:.0f} s: {Path(name).read_text(errors='replace')[:2000]}"] += 1
                if ran.returncode:
                    found[f"the process ended: {ran.returncode} {ran.stderr[-200:]}: {names[len(told)].read_bytes()[:9000]!r}"] += 1
                    told.append(None)
                names = names[len(told) :]
            sys.stderr.write(f"{begin + 50} files, {dict(found)}"[:300] + f", the longest {longest:.1f} s\n")
    found[f"the longest took {longest:.1f} s"] += 1
    return found


RUNS = {"mutants": (mutants, 2000), "files": (files, 10_000)}
"""What is run, and how often by default."""


if __name__ == "__main__":
    given = options(__doc__, RUNS, count=int, seed=1)
    for run, usual in (RUNS[name] for name in given.names or RUNS):
        for what, often in run(given.count or usual, Random(given.seed)).items():
            print(f"{often:7d}  {what}")
