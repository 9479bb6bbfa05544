"""Random mistakes in the code of numbers and verdicts, each in one place, and the tests that notice: part of `benchmarks.contract`.

A mutant is made in a copy of the tree. The tests that call the changed function are run, short ones first, until one fails or they
have used their time; `calls_plugin` wrote which these are. A test that fails kills only if it passes where nothing is changed.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate, count, zip_longest
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self

from benchmarks.measures import ROOT, sources, tracked
from benchmarks.mutant_plugin import OPTIONS

TARGETS = (
    "accountants/*", "ldpaudit/mechanisms/*", "ldpaudit/verdict.py", "ldpaudit/enclosure.py", "attacks/bounds/*", "proofs/*",
    "ldpaudit/certificates/verify_certificate.py",
)  # fmt: skip
"""Files that are mutated; a pattern that fits none is an error."""
SECONDS = 60  # of a processor, that the tests of a mutant have
FILES = 10  # of tests, where a mutant stands in no function: the whole tree is imported anew for it
FLIPPED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_OPPOSITE = [("up", "down"), ("upper", "lower"), ("round_up", "round_down"), ("ceil", "floor"), ("high", "low"), ("max", "min")]
OPPOSITE = {**dict(_OPPOSITE), **{down: up for up, down in _OPPOSITE}}
_SKIPPED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)  # what only words, or names, are made of
_SKIPPED_FIELDS = ("annotation", "returns", "decorator_list", "bases")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a file, and what it may be replaced by."""

    path: Path
    operator: str
    node: Any
    texts: tuple[str, ...]
    function: int  # the first line of the function around it, 0 where it stands in none

    @property
    def place(self) -> tuple[str, int, int]:
        """The order of sites."""
        return str(self.path), self.node.lineno, self.node.col_offset

    def mutated(self, source: str, text: str) -> str:
        """The file with the place replaced; nothing else changes, and no line moves."""
        lines = source.encode().splitlines(keepends=True)
        node = self.node
        first, last = lines[node.lineno - 1][: node.col_offset], lines[node.end_lineno - 1][node.end_col_offset :]
        ends = "\n" * (node.end_lineno - node.lineno)
        text = f"{text[:-1]}{ends})" if isinstance(node, ast.expr) else text + ends
        return b"".join([*lines[: node.lineno - 1], first, text.encode(), last, *lines[node.end_lineno :]]).decode()


def sites(path: Path) -> Iterator[Site]:
    """All places of a file where an operator applies."""
    tree = ast.parse((ROOT / path).read_text())
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node, returns, function in _walk(tree, "", 0):
        found: dict[str, list[ast.AST]] = {}
        for operator, changed in _changes(node, returns, bound):
            found.setdefault(operator, []).append(changed)
        for operator, several in found.items():
            texts = [ast.unparse(each) for each in several]
            texts = [f"({each})" if isinstance(node, ast.expr) else each for each in texts]
            yield Site(path, operator, node, tuple(texts), function)


def _walk(node: ast.AST, returns: str, function: int) -> Iterator[tuple[ast.AST, str, int]]:
    """Nodes that compute something, with the type that the function around them returns, and its first line."""
    yield node, returns, function
    if isinstance(node, ast.FunctionDef):
        returns = ast.unparse(node.returns) if node.returns else ""
        function = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, _SKIPPED) and name not in _SKIPPED_FIELDS:
                yield from _walk(child, returns, function)


def _with(node: Any, **fields: Any) -> Any:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _changes(node: Any, returns: str, bound: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """The operators that apply to a node, and the node that each makes of it."""
    match node:
        case ast.Compare(ops=[op, *rest]):
            yield from (("comparison", _with(node, ops=[other(), *rest])) for other in FLIPPED[type(op)])
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.AugAssign(op=ast.Add() | ast.Sub()):
            yield "plus and minus", _with(node, op=ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
        case ast.BoolOp():
            yield "and, or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield from (("constant", ast.parse(repr(value + step), mode="eval").body) for step in (1, -1))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            constants = {"bool": ("True", "False"), "int": ("0", "1"), "Fraction": ("0", "1"), "float": ("0.0", "1.0")}
            yield from (("returned constant", ast.parse(f"return {text}").body[0]) for text in constants.get(returns, ("None",)))
        case ast.Call(func=ast.Attribute(attr="arb"), args=[ast.Constant(value=0)]):
            return  # without an argument it is 0, too
        case ast.Call(args=args, keywords=keywords):
            yield from (("argument dropped", _with(node, args=[*args[:i], *args[i + 1 :]])) for i in range(len(args)))
            yield from (("argument dropped", _with(node, keywords=[k for k in keywords if k is not each])) for each in keywords)
            for i, each in enumerate(keywords):
                if each.arg in OPPOSITE and isinstance(each.value, ast.Constant) and isinstance(each.value.value, bool):
                    swapped = _with(each, value=ast.Constant(not each.value.value))
                    yield "up and down", _with(node, keywords=[*keywords[:i], swapped, *keywords[i + 1 :]])
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in OPPOSITE:
            yield "up and down", _with(node, attr=OPPOSITE[name])
        case ast.Name(id=name, ctx=ast.Load()) if name in OPPOSITE and (OPPOSITE[name] in bound or name in ("max", "min")):
            yield "up and down", _with(node, id=OPPOSITE[name])


def chosen(number: int, seed: int) -> list[tuple[Site, str]]:
    """The first mutants of a seed: the operators in turn, the places of each in random order; more are the same and some more."""
    paths = [path for path in sources() if any(fnmatchcase(str(path), target) for target in TARGETS)]
    if missing := [target for target in TARGETS if not any(fnmatchcase(str(path), target) for path in paths)]:
        raise ValueError(f"mutants need files for each of {', '.join(TARGETS)}, found none for {', '.join(missing)}")
    pools: dict[str, list[Site]] = {}
    for site in sorted((site for path in paths for site in sites(path)), key=lambda site: site.place):
        pools.setdefault(site.operator, []).append(site)
    rng = Random(seed)
    shuffled = [rng.sample(pool, len(pool)) for _, pool in sorted(pools.items())]
    turns = [site for turn in zip_longest(*shuffled) for site in turn if site is not None]
    return [(site, Random(f"{seed} {site.place}").choice(site.texts)) for site in turns[:number]]


@dataclass(frozen=True, slots=True)
class Calls:
    """The seconds of each test, and the tests that call each function, named by its file and first line."""

    seconds: dict[str, float]
    tests: dict[str, list[str]]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What the processes of one run of the tests have written."""
        found = cls({}, {})
        for file in sorted(folder.glob("*.json")):
            seen = json.loads(file.read_text())
            found.seconds.update(seen["seconds"])
            for function, tests in seen["calls"].items():
                found.tests.setdefault(function, []).extend(tests)
        if not found.seconds:
            raise ValueError(f"mutants need a folder of calls, found none in {folder}: see benchmarks/calls_plugin.py")
        return found

    def of(self, site: Site) -> dict[str, float]:
        """The tests that call the function of a place, short ones first; where none does, of the files that call its file most."""
        found = {*self.tests.get(f"{site.path}:{site.function}", ())}
        if not found:
            near = {test for name, tests in self.tests.items() if name.startswith(f"{site.path}:") for test in tests}
            files = Counter(test.partition("::")[0] for test in near).most_common(FILES)
            found = {test for test in near if test.partition("::")[0] in dict(files)}
        ranked = {test: self.seconds[test] for test in sorted(found, key=lambda test: (self.seconds[test], test))}
        spent = accumulate(ranked.values())
        return {test: seconds for (test, seconds), total in zip(ranked.items(), spent, strict=True) if total <= SECONDS}


@contextmanager
def collected(folder: Path) -> Iterator[Connection]:
    """The end of a pipe at whose other end a process has collected the tests of a copy."""
    ours, theirs = Pipe()
    environment = {**os.environ, "PYTHONPATH": str(folder), "MUTANTS": str(theirs.fileno()), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--basetemp=scratch", "tests"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          pass_fds=[theirs.fileno()]), ours:  # fmt: skip
        theirs.close()
        ours.recv()  # no file is changed before all are imported
        yield ours


@dataclass
class Copy:
    """A copy of the tree in which files are changed, and the process that runs its tests."""

    folder: Path
    process: Any
    sound: set[str] = field(default_factory=set)  # tests that pass where nothing is changed
    unsound: set[str] = field(default_factory=set)
    stamps: Iterator[int] = field(default_factory=lambda: count(10**9))

    def tested(self, tests: dict[str, float], path: str = "", text: str = "") -> dict[str, Any]:
        """What became of tests, each with its seconds, with a file changed or none: how many, and which failed or took too long."""
        before = (self.folder / path).read_text() if path else ""
        self._write(path, text)
        asked = {test: seconds for test, seconds in tests.items() if test not in self.unsound}
        self.process.send({"tests": asked, "changed": (path, before, text)})
        found: dict[str, Any] = self.process.recv()
        self._write(path, before)
        return found

    def _write(self, path: str, text: str) -> None:
        """Write a file, if any, with a time of its own: no compiled file of another text is taken for it."""
        if path:
            (self.folder / path).write_text(text)
            os.utime(self.folder / path, (stamp := next(self.stamps), stamp))

    def verdict(self, path: Path, text: str, tests: dict[str, float]) -> dict[str, Any]:
        """What the tests say of one changed file."""
        while True:
            found = self.tested(tests, str(path), text)
            test = found.get("failed") or found.get("timeout")
            if test is None or test in self.sound or self._passes(test, tests, str(path) if "anew" in found else ""):
                break
            self.unsound.add(test)
        status = "timeout" if "timeout" in found else "killed" if "failed" in found else "survived"
        return {"status": status, "test": test, "tests": found["tests"]}

    def _passes(self, test: str, tests: dict[str, float], anew: str) -> bool:
        """Whether a test passes where nothing is changed, or but the length of a file; all files could be read there."""
        text = (self.folder / anew).read_text() + "\n" if anew else ""
        if test not in tests or not self.tested({test: tests[test]}, anew, text).keys() & {"failed", "timeout"}:
            self.sound.add(test)
        return test in self.sound


def run(folder: Path, number: int, seed: int, calls: Calls) -> None:
    """Judge the mutants that the folder's `mutants.jsonl` does not have yet."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mutants.jsonl"
    with TemporaryDirectory() as name, file.open("a", encoding="utf-8") as log, ExitStack() as stack:
        for each in tracked():
            (Path(name) / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / each, Path(name) / each, follow_symlinks=False)
        sound = {row["test"] for row in rows(file) if row["test"]}
        tree = Copy(Path(name), stack.enter_context(collected(Path(name))), sound)
        for site, text in chosen(number, seed):
            place, source = f"{site.node.lineno}:{site.node.col_offset}", (tree.folder / site.path).read_text()
            start, row = time.monotonic(), dict[str, Any]() | {
                "path": str(site.path), "place": place, "operator": site.operator,
                "before": ast.get_source_segment(source, site.node), "after": text,
            }  # fmt: skip
            if any(row.items() <= each.items() for each in rows(file)):
                continue
            row |= tree.verdict(site.path, site.mutated(source, text), calls.of(site))
            row |= {"seconds": round(time.monotonic() - start, 1)}
            print(json.dumps(row), file=log, flush=True)
            what = f"{site.path}:{place} {row['before']!r} -> {text!r}"
            print(row["status"], what, row["test"] or "", row["tests"], row["seconds"], flush=True)
    for name, counts in table(file).items():
        print(f"{name}: {counts}")


def rows(file: Path) -> list[dict[str, Any]]:
    """What was judged, each mutant as it was last."""
    found = map(json.loads, file.read_text().splitlines() if file.exists() else [])
    return list({(row["path"], row["place"], row["after"]): row for row in found}.values())


def table(file: Path) -> dict[str, str]:
    """What became of the mutants of each operator and each room; one that never ends is killed by the clock."""
    tally = Counter((name, row["status"]) for row in rows(file) for name in (row["operator"], row["path"].rsplit("/", 1)[0], "all"))
    names = sorted({name for name, _ in tally})
    return {name: ", ".join(f"{tally[name, status]} {status}" for status in ("killed", "timeout", "survived")) for name in names}
