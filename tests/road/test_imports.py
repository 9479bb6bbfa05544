"""Which way imports may never go."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import ROOT

PACKAGE = ROOT / "ldpaudit"
HEAVY = ("scipy", "sympy", "matplotlib", "numpy", "flint", "pydantic")
OUTER = ("accountants", "attacks", "proofs")
NOUNS = {
    "mechanism", "neighbours", "plan", "claim", "enclosure", "profile", "evidence", "verdict", "certificate", "errors"
}  # fmt: skip


def imported(file: Path) -> Iterator[str]:
    """Modules of ours that a file imports, `import_module` of a constant included."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names) if module:
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
                yield name
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.JoinedStr(values=[ast.Constant(value=n), *_])]):
                yield str(n)


def ours(file: Path) -> set[str]:
    return {name.removeprefix("ldpaudit.") for name in imported(file) if name.startswith("ldpaudit.")}


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_a_noun_imports_nouns_only() -> None:
    for name in NOUNS:
        for module in ours(PACKAGE / f"{name}.py"):
            assert module.split(".")[0] in NOUNS, f"{name}.py imports {module}"


def test_a_mechanism_imports_nouns_and_mechanisms_only() -> None:
    for file in files("ldpaudit/mechanisms"):
        for module in ours(file):
            assert module.split(".")[0] in NOUNS | {"mechanisms"}, f"{file.name} imports {module}"


@pytest.mark.parametrize(
    ("folder", "never"),
    [("attacks", ("accountants", "proofs")), ("accountants", ("attacks", "proofs")), ("ldpaudit/adapters", OUTER)],
)
def test_testimonies_do_not_see_each_other(folder: str, never: tuple[str, ...]) -> None:
    for file in files(folder):
        for module in ours(file):
            assert not module.startswith(never), f"{file} imports {module}"


def test_a_proof_imports_the_kernel_only() -> None:
    for file in files("proofs"):
        allowed = ("errors",) if file.stem == "_kernel" else ("proofs._kernel",)
        for module in ours(file):
            assert module.startswith(allowed), f"{file.name} imports {module}"


def test_only_certify_sees_all_three() -> None:
    seeing = {f.stem for f in PACKAGE.glob("*.py") if set(OUTER) <= {m.split(".")[0] for m in ours(f)}}
    assert seeing == {"certify"}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom ldpaudit.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "certify" in done.stdout
    loaded = set(done.stdout.split("\n")[-2].split())
    assert "ldpaudit.cli" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_importing_everything_leaves_no_bare_name() -> None:
    code = (
        "import importlib, pkgutil, sys, ldpaudit\n"
        "for m in pkgutil.walk_packages(ldpaudit.__path__, 'ldpaudit.'):\n"
        "    if not m.name.endswith('__main__'): importlib.import_module(m.name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert {f"ldpaudit.{name}" for name in OUTER} <= loaded
    assert loaded.isdisjoint(OUTER)


def test_at_most_25_public_names() -> None:
    import ldpaudit

    assert len(ldpaudit.__all__) <= 25
    for name in ldpaudit.__all__:
        assert getattr(ldpaudit, name) is not None
    assert callable(ldpaudit.certify), "a submodule of the same name must not shadow a function"
