"""How large the tree is, and how much of it four queries run: tables of `python -m benchmarks.contract`."""

import ast
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("ldpaudit", "accountants", "attacks", "proofs")
QUERIES = (
    "account randomized_response k=100 epsilon=1 --shuffle 1e6 --delta 1e-6",
    "certify enpa-notification --output certificates --jobs 1",
    "claims thresh",
    "audit target:response --inputs 0 1 --epsilon 1 --trials 2000",
)
_TARGET = "import random\n\ndef response(x):\n    return x if random.random() < 0.7 else 1 - x\n"
_WATCH = f"""
import atexit, os, sys, threading
seen, leave, folder = set(), os._exit, os.path.dirname(__file__)
def watch(frame, event, argument):
    code = frame.f_code
    if event == "call" and code not in seen and code.co_flags & 1 and ours(code) and not code.co_name.startswith("<"):
        while (frame := frame.f_back) and not (frame.f_code.co_name == "<module>" and ours(frame.f_code)):
            pass
        if frame is None:
            seen.add(code)
def ours(code):
    return code.co_filename.startswith({str(ROOT) + os.sep!r}) and not code.co_filename.endswith("__main__.py")
def write(*_):
    lines = [f"module {{name}}" for name in list(sys.modules) if name.split(".")[0] == "ldpaudit"]
    lines += [f"file {{code.co_filename}}" for code in seen]
    lines += [f"function {{code.co_filename}} {{code.co_qualname}} {{code.co_firstlineno}}" for code in seen]
    with open(os.path.join(folder, f"{{os.getpid()}}.seen"), "w") as file:
        file.write("\\n".join(lines))
def end(code):
    write()
    leave(code)
os._exit = end
atexit.register(write)
threading.setprofile(watch)
sys.setprofile(watch)
"""
"""Start of each process of a query: it remembers what is called while no module is imported (flag 1: no class)."""


def tracked() -> list[Path]:
    """The repository's own files and links, from its top."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(Path(name) for name in listed.stdout.splitlines() if os.path.lexists(ROOT / name))


def sources() -> list[Path]:
    """The Python files among them."""
    return [path for path in tracked() if path.suffix == ".py"]


def lines_by_folder() -> dict[str, int]:
    """Lines of Python by folder, at most two levels deep, as ``wc -l`` counts them; product, and all."""
    found: Counter[str] = Counter()
    for path in sources():
        count = (ROOT / path).read_bytes().count(b"\n")
        found.update(dict.fromkeys({"/".join(path.parts[:-1][:2]) or ".", path.parts[0], "all"}, count))
        found["product"] += count * (path.parts[0] in PRODUCT)
    return dict(found)


def functions() -> dict[str, float]:
    """Product functions: how many, their lines without docstrings, and the private ones to which one place refers."""
    files = [path for path in sources() if path.parts[0] in PRODUCT]
    lengths, once = [], []
    for tree in (ast.parse((ROOT / path).read_text()) for path in files):
        uses = Counter(getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                doc = node.body[0] if ast.get_docstring(node) is not None else None
                lengths.append((node.end_lineno or 0) - node.lineno + 1 - ((doc.end_lineno or 0) - doc.lineno + 1 if doc else 0))
                private = node.name.startswith("_") and not node.name.endswith("__")
                once += [lengths[-1]] if private and uses[node.name] == 1 else []
    return {
        "files": len(files), "functions": len(lengths),
        "median lines": median(lengths), "90th percentile": quantiles(lengths, n=10)[-1],
        "private, one caller in the file": len(once), "of these at most 6 lines": sum(length <= 6 for length in once),
    }  # fmt: skip


def footprint(query: str) -> dict[str, int]:
    """Modules of ours that a query imports, and our functions and files that it runs, in all of its processes."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "target.py").write_text(_TARGET)
        (Path(folder) / "sitecustomize.py").write_text(_WATCH)
        environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "XDG_CONFIG_HOME": folder}
        command = [sys.executable, "-m", "ldpaudit", *shlex.split(query)]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        lines = {line for file in Path(folder).glob("*.seen") for line in file.read_text().splitlines()}
    return {what: sum(line.startswith(what + " ") for line in lines) for what in ("module", "function", "file")}


def measures() -> Iterator[tuple[str, Any]]:
    """Each table by its name, and what computes it."""
    yield "lines", lines_by_folder
    yield "functions", functions
    for query in QUERIES:
        yield query, lambda query=query: footprint(query)
