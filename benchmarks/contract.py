"""What users see, written down: certificates, answers, outputs, names; two such records compared; and mutants that tests kill.

    python -m benchmarks.contract record FOLDER [--only plans ...] [--plans 2000] [--like BEFORE] [--most N]
    python -m benchmarks.contract compare BEFORE AFTER [--most N]
    python -m benchmarks.contract mutants FOLDER --calls CALLS [--count 400] [--seed 1]

A record is a folder of JSON files. What a file already has is not computed again: so a record goes on where it was stopped, and
``--most 10`` adds at most ten items to each file. Plans are drawn from tests/zoo, each by a seed of its own; ``--like`` takes the
plans of an earlier record in their place, so that a later zoo changes none. `compare` exits with 1 where anything is different but
for enclosures that are tighter; measures, seconds and mutants are tables, and no difference.
"""

import argparse
import hashlib
import inspect
import json
import multiprocessing
import os
import pkgutil
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import ldpaudit as ldp
from benchmarks import code_mutants, fuzz_kinds
from benchmarks.contract_differences import report
from benchmarks.measures import ROOT, measures
from ldpaudit import Compose, Guarantee, Plan, Repeat, Run, Shuffle, Subsample, accountants, mechanisms
from tests.zoo import STEMS, zoo

CALLS = Path(__file__).with_name("contract_calls.txt")
PATIENCE = 20  # seconds of a processor that a plan may take
MEMORY = 4 << 30  # bytes of addresses that a plan's process may have
_EVERY = 20  # seconds after which what was found is written
EPSILONS = ("0", "1/10", "1/2", "1", "2", "5")
DELTAS = ("0", "1e-12", "1e-9", "1e-6", "1e-3", "1/10")
_LOG = "input,report\n" + "".join(f"{x},{y}\n" for x in (0, 1) for y in [x] * 200 + [1 - x] * 100)
FILES = {
    "small.toml": fuzz_kinds.SMALL, "deployment.toml": fuzz_kinds.DEPLOYMENT, "ldpaudit.toml": fuzz_kinds.GATE,
    "fuzzed_target.py": fuzz_kinds.TARGET.encode(), "log.csv": _LOG.encode(), "broken.toml": b"id = 1\n",
    "words.txt": b"to\nbe\nor\nnot\nto\nbe\n",
}  # fmt: skip
"""What lies in the folder of each call."""
Items: TypeAlias = Iterator[tuple[str, Callable[[], Any]]]  # names of items, and what computes each


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `record` was asked for."""

    plans: int
    like: Path | None


def certificates(wanted: Wanted) -> Items:
    """Each bundled deployment's certificate, without the versions that made it, and the digest of that."""
    for file in sorted((ROOT / "deployments").glob("*.toml")):
        yield file.stem, partial(certificate, file)


def certificate(file: Path) -> dict[str, Any]:
    """One certificate, as `certificates` says."""
    found = {k: v for k, v in ldp.certify(file).to_dict().items() if k not in ("versions", "digest")}
    return {**found, "digest": hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()}


def plans(wanted: Wanted) -> Items:
    """Random plans of the zoo, or those of an earlier record, and what `account` answers."""
    before = _read(wanted.like, "plans") if wanted.like else {}
    for number in range(wanted.plans):
        key = f"{number:04}"
        if wanted.like is None or key in before:
            plan, neighbours = (before[key]["plan"], before[key]["neighbours"]) if before else drawn(number)
            yield key, partial(answered, plan, neighbours, number)


def drawn(number: int) -> tuple[str, str]:
    """A random plan and relation as Python text, which the public names alone give a meaning."""
    rng = Random(f"plan {number}")
    m = rng.choice(_animals(STEMS[number % len(STEMS)]))
    named = [ldp.Neighbours("add-remove"), ldp.Neighbours("group", users=rng.choice((2, 3, 10)))]
    return repr(_tree(rng, m)), repr(rng.choice([None, None, None, *named, *m.relations]))


@cache
def _animals(name: str) -> tuple[ldp.Mechanism, ...]:
    found = zoo(name)
    return (*found.small, *found.at_one, *(each for m in found.mutants for each in (m.declared, m.runs)))


def _tree(rng: Random, m: ldp.Mechanism) -> Plan:
    inner = _tree(rng, m) if rng.random() < 0.25 else Run(m)
    match rng.choice(("Run", "Repeat", "Repeat", "Compose", "Shuffle", "Shuffle", "Subsample")):
        case "Repeat":
            return Repeat(inner, rng.choice((2, 3, 10, 100, 1000)))
        case "Compose":
            others = (m, *_animals("randomized_response"), *_animals("laplace"))
            return Compose([inner, rng.choice((Guarantee(Fraction(1, 2)), *map(Run, others)))])
        case "Shuffle":
            return Shuffle(inner, rng.choice((2, 5, 100, 10**4, 10**6)))
        case "Subsample":
            users = rng.choice((10, 1000, 10**6))
            return Subsample(inner, users, rng.choice((1, users // 10, users)))
    return inner


class _PublicNames(dict[str, Any]):
    """A plan's names: the public ones, and the few private mechanisms that others are made of."""

    def __missing__(self, name: str) -> Any:
        for home in (ldp, mechanisms, sys.modules["fractions"]):
            if hasattr(home, name):
                return getattr(home, name)
        below = [ldp.Mechanism]
        for each in below:
            below += each.__subclasses__()
        return next((each for each in below if each.__name__ == name), None) or super().__missing__(name)  # type: ignore[misc]


def answered(plan: str, neighbours: str, number: int) -> dict[str, Any]:
    """What `account` answers in a process of its own: enclosures, or the class and message of what was raised."""
    load_everything()
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(there, plan, neighbours, number), daemon=True)
    process.start()
    there.close()
    found: dict[str, Any] = {"plan": plan, "neighbours": neighbours, "ended": f"after {PATIENCE} s of a processor"}
    try:
        while here.poll(20 * PATIENCE):
            found.update(here.recv())
    except EOFError:
        pass
    process.kill()
    process.join()
    return found


@cache
def load_everything() -> None:
    """Import all accountants once, and not in each plan's process."""
    for each in pkgutil.walk_packages(accountants.__path__, f"{accountants.__name__}."):
        import_module(each.name)


def _asked(profile: Any, what: str, at: str) -> Any:
    return _ends(getattr(profile, what)(Fraction(at)))


def _answer(pipe: Connection, plan: str, neighbours: str, number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng = Random(f"queries {number}")
    asked = [*(("delta", x) for x in rng.sample(EPSILONS, 2)), *(("epsilon", x) for x in rng.sample(DELTAS, 2))]
    try:
        profile = ldp.account(*(eval(text, {}, _PublicNames()) for text in (plan, neighbours)))
        for what, at in asked:
            pipe.send({f"{what}({at})": _or_error(partial(_asked, profile, what, at))})
    except Exception as error:  # whatever it is, users see it
        pipe.send({"account": f"{type(error).__name__}: {error}"})
    pipe.send({"ended": ""})


def _ends(e: ldp.Enclosure) -> dict[str, Any]:
    return {"low": e.low, "high": e.high, "rigour": e.rigour.name, "source": e.source}


def _or_error(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:  # whatever it is, users see it
        return f"{type(error).__name__}: {error}"


def calls(wanted: Wanted) -> Items:
    """What the command line prints, writes and ends with, for each line of `contract_calls.txt`."""
    for line in CALLS.read_text().splitlines():
        if not line.startswith("#"):
            names = [line.replace("STEM", name) for name in STEMS] if "STEM" in line.split() else [line]
            yield from ((name.removeprefix("? "), partial(called, name.removeprefix("? "), line.startswith("?"))) for name in names)


def called(line: str, code_alone: bool) -> dict[str, Any]:
    """The commands of a line in a new folder; JSON is read, other output is a list of lines."""
    with TemporaryDirectory() as folder:
        for name, data in FILES.items():
            (Path(folder) / name).write_bytes(data)
        apart = {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": folder, "HOME": folder, "COLUMNS": "100", "TERM": "dumb"}
        codes = []
        for each in line.split(" && "):
            command = [sys.executable, "-m", "ldpaudit", *shlex.split(each)]
            done = subprocess.run(command, cwd=folder, env=os.environ | apart, capture_output=True, text=True, check=False)
            codes.append(done.returncode)
        files = (str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.suffix in (".json", ".html", ".toml"))
        found = {"exit": codes, "written": sorted(set(files) - FILES.keys())}
    return found if code_alone else found | {"out": _parsed(done.stdout, folder), "err": _parsed(done.stderr, folder)}


def _parsed(text: str, folder: str) -> Any:
    text = text.replace(folder, ".")
    try:
        return json.loads(text)
    except ValueError:
        return [line.rstrip() for line in text.splitlines()]


def names(wanted: Wanted) -> Items:
    """Public names with their constructors, methods and parameters: of `ldpaudit`, and of each mechanism's variants."""
    yield "ldpaudit", lambda: {name: surface(getattr(ldp, name)) for name in (*ldp.__all__, "Rigour", "load")}
    yield "ldpaudit.mechanisms", lambda: dir(mechanisms)
    for name in STEMS:
        yield name, partial(_surfaces, name)


def _surfaces(stem: str) -> Any:
    return {f"{v}: {c.__name__}": surface(c) for v, c in mechanisms.classes(stem).items()}


def surface(value: Any) -> Any:
    """A function's parameters; a class's, and those of its public attributes that are ours."""
    if not inspect.isclass(value):
        return str(inspect.signature(value)) if callable(value) else type(value).__name__
    inside = [each for each in inspect.classify_class_attrs(value) if each.defining_class.__module__.startswith("ldpaudit")]
    public = {each.name: getattr(value, each.name, None) for each in inside if not each.name.startswith("_")}
    shown = {name: str(inspect.signature(each)) if callable(each) else "" for name, each in public.items()}
    return {"": _or_error(lambda: str(inspect.signature(value))), **shown}


SECTIONS: dict[str, Callable[[Wanted], Items]] = {
    "names": names, "calls": calls, "certificates": certificates, "plans": plans, "measures": lambda wanted: measures(),
}  # fmt: skip


def _read(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _write(folder: Path, **files: dict[str, Any]) -> None:
    for name, found in files.items():
        (folder / "part").write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        (folder / "part").replace(folder / f"{name}.json")


def record(folder: Path, only: list[str], wanted: Wanted, most: int) -> None:
    """Compute what the folder does not have yet; what is interrupted is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = _read(folder, "seconds")
    for section in only:
        found, spent, written = _read(folder, section), seconds.setdefault(section, {}), time.monotonic()
        new = [(key, make) for key, make in SECTIONS[section](wanted) if key not in found][:most]
        try:
            for key, make in new:
                start = sum(os.times()[:4])
                found[key] = make()
                spent[key] = round(sum(os.times()[:4]) - start, 3)
                if time.monotonic() - written > _EVERY:
                    _write(folder, **{section: found, "seconds": seconds})
                    written = time.monotonic()
        finally:
            _write(folder, **{section: found, "seconds": seconds})
        print(f"{section}: {len(new)} new, {len(found)} in all, {sum(spent.values()):.1f} s of a processor", flush=True)


def compare(before: Path, after: Path, most: int) -> int:
    """Print what differs, and the tables; 1 where anything but a tighter enclosure does."""
    fine = True
    for section in SECTIONS:
        old, new = (_read(folder, section) for folder in (before, after))
        if section == "measures":
            for key in sorted(old.keys() & new.keys()):
                values = (f"{what} {old[key].get(what, 0)} -> {new[key].get(what, 0)}" for what in old[key] | new[key])
                print(f"{key}: {', '.join(values)}")
            continue
        lines, same = report(section, old, new, most)
        print("\n".join(lines))
        fine = fine and same
        spent = [_read(folder, "seconds").get(section, {}) for folder in (before, after)]
        print("  seconds of a processor:", *(f"{sum(each[k] for k in spent[0].keys() & spent[1].keys()):.1f}" for each in spent))
    killed = [code_mutants.table(folder / "mutants.jsonl") for folder in (before, after)]
    for name in sorted(killed[0].keys() | killed[1].keys()):
        print(f"mutants, {name}: {' -> '.join(each.get(name, 'none') for each in killed)}")
    return 0 if fine else 1


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one, two, three = (verbs.add_parser(name) for name in ("record", "compare", "mutants"))
    one.add_argument("folder", type=Path)
    one.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    one.add_argument("--plans", type=int, default=2000)
    one.add_argument("--like", type=Path)
    one.add_argument("--most", type=int, default=10**9)
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    two.add_argument("--most", type=int, default=20)
    three.add_argument("folder", type=Path)
    three.add_argument("--count", type=int, default=400)
    three.add_argument("--seed", type=int, default=1)
    three.add_argument("--calls", type=Path, required=True, help="what benchmarks/calls_plugin.py wrote")
    a = parser.parse_args()
    if a.verb == "record":
        record(a.folder, a.only, Wanted(a.plans, a.like), a.most)
    elif a.verb == "compare":
        return compare(a.before, a.after, a.most)
    else:
        code_mutants.run(a.folder, a.count, a.seed, code_mutants.Calls.read(a.calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
