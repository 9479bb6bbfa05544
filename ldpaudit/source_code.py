"""What a callable's code consists of, read and never run: the local modules that it imports, and those that these import.

An installed package is known by its version and by the digests that its installer recorded; those of the
standard library by Python's version. Everything else is local, and known by what it says.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import platform
import site
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import invalidate_caches, metadata
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec, resolve_name
from pathlib import Path

from ldpaudit.errors import Unsupported
from ldpaudit.version import __version__

OUTER = ("accountants", "attacks", "proofs")
"""Packages of ours that may stand outside of ours."""
_CALLED = {"exec", "eval", "compile", "__import__"}
_NAMED = {
    "import_module", "spec_from_file_location", "meta_path", "path_hooks", "__path__", "run_path", "run_module", "CDLL",
    "environ", "environb", "getenv", "getenvb", "expandvars", "expanduser",
}  # fmt: skip
"""Names with which code imports what its imports do not say, or asks for what no file says."""
_OF_SYS = {"path", "modules", "argv"}
_HEADER = 16
"""Bytes of a compiled file before its code."""
_UNCHECKED = (1).to_bytes(4, "little")
"""Flags of a compiled file that is by a hash of its source, and says that nobody need compare it."""
STANDARD, INSTALLED, ABSENT, NAMESPACE = "standard", "installed", "absent", "namespace"


@dataclass(frozen=True, slots=True)
class Followed:
    """Code, as its imports name it."""

    modules: dict[str, str]  # by each module's name, the SHA-256 of its source; of one that is not local, what it is
    files: frozenset[str]  # the local ones: sources, and what Python compiles them to


@contextmanager
def first_on_path(folder: Path) -> Iterator[None]:
    """For looking for modules as a process does in which a folder comes first; nothing may be imported meanwhile."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def follow(name: str) -> Followed:
    """The code of ``module:callable``.

    Raises Unsupported where it cannot be followed: a module that is no Python source, one that imports by a name that
    it computes, or one that asks for variables of the environment.
    """
    invalidate_caches()  # a file may be as young as the last look at its folder
    start = name.partition(":")[0]
    modules: dict[str, str] = {}
    files: set[str] = set()
    left = [start]
    while left:
        for each in _with_parents(left.pop()):
            if each in modules:
                continue
            spec = _spec(each)
            modules[each] = _kind(spec, start)
            if spec is None or modules[each]:
                continue
            source = Path(_source(spec))
            content = source.read_bytes()
            _require_compiled_from_it(each, source, content)
            modules[each] = hashlib.sha256(content).hexdigest()
            files |= {str(path.resolve()) for path in (source, Path(cache_from_source(str(source))))}
            left += _imported(content, spec, start)
    return Followed(modules, frozenset(files))


def _with_parents(name: str) -> list[str]:
    """A module and the packages that are imported before it."""
    parts = name.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is, as a new process would find it; nothing is imported."""
    parent = name.rpartition(".")[0]
    path = None
    if parent:
        above = _spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        path = list(above.submodule_search_locations)
    try:
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        return next((spec for spec in found if spec is not None), None)
    except (KeyError, ValueError, ImportError):  # of a namespace within one that is not imported
        raise Unsupported(name, "cannot be found without importing it") from None


def _kind(spec: ModuleSpec | None, start: str) -> str:
    """What a module is that is not local; nothing where it is."""
    if spec is None:
        return ABSENT
    if spec.origin is None:
        return NAMESPACE
    if spec.origin in ("built-in", "frozen"):
        return STANDARD
    # A package's own code is looked into wherever it is: it decides what is audited.
    own = spec.name.split(".")[0] == start.split(".")[0] != "ldpaudit"
    return INSTALLED if is_installed(spec.origin) and not own else ""


def _source(spec: ModuleSpec) -> str:
    if not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
        raise Unsupported(spec.name, "is no Python source, and cannot be followed")
    return spec.origin


def _require_compiled_from_it(name: str, source: Path, content: bytes) -> None:
    """Refuse a compiled file that Python may run though the source says something else: it looks at times, or at nothing."""
    compiled = Path(cache_from_source(str(source)))
    found = compiled.read_bytes() if compiled.exists() else b""
    if found[4:8] == _UNCHECKED:
        raise Unsupported(name, "is compiled so that its source is not asked, and cannot be followed")
    if found[:4] != MAGIC_NUMBER:  # another Python's
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            same = marshal.loads(found[_HEADER:]) == compile(content, source, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError, EOFError, RecursionError):
        same = False
    if not same:
        raise Unsupported(name, f"is compiled from another text than its source, in {compiled.parent.name}, and cannot be followed")


def _imported(content: bytes, spec: ModuleSpec, start: str) -> Iterator[str]:
    """Names of modules that a source imports, anywhere in it; some may be names of what a module holds."""
    try:
        with warnings.catch_warnings(action="ignore"):  # what its author is told of it is not the gate's business
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        raise Unsupported(spec.name, "is no Python that can be read") from None
    package = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
    for node in ast.walk(tree):
        _require_plain(node, spec.name)
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                whole = resolve_name("." * level + (module or ""), package)
                yield from (whole, *_members(whole, [alias.name for alias in names], start))


def _members(module: str, names: list[str], start: str) -> list[str]:
    """Those of the names that are modules in a local package."""
    spec = _spec(module)
    if spec is None or spec.submodule_search_locations is None or _kind(spec, start) == INSTALLED:
        return []
    if "*" in names:
        raise Unsupported(module, "is a package of which everything is imported, and cannot be followed")
    return [f"{module}.{name}" for name in names if _spec(f"{module}.{name}") is not None]


def _require_plain(node: ast.AST, module: str) -> None:
    """Refuse what imports, or asks for, more than it names."""
    match node:
        case ast.Name(id=name) if name in _CALLED | _NAMED:
            found = name
        case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in _OF_SYS:
            found = f"sys.{name}"
        case ast.Attribute(attr=name) | ast.alias(name=name) if name in _NAMED:
            found = name
        case _:
            return
    raise Unsupported(module, f"has {found} in line {getattr(node, 'lineno', '?')}, and cannot be followed")


@cache
def _roots() -> tuple[str, ...]:
    """Folders of what is installed: Python's own, those of packages, and ours."""
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    folders = [*named, *site.getsitepackages(), *users, *map(str, our_folders())]
    return tuple({os.path.realpath(path) + os.sep for path in folders})


@cache
def our_folders() -> tuple[Path, ...]:
    """Folders of ldpaudit."""
    specs = [find_spec(name) for name in ("ldpaudit", *(f"ldpaudit.{name}" for name in OUTER))]
    places = [place for spec in specs if spec for place in spec.submodule_search_locations or ()]
    return tuple({Path(place).resolve() for place in places})


def is_installed(path: str) -> bool:
    """Whether a file is Python's, a package's or ours."""
    return os.path.realpath(path).startswith(_roots())


def environment() -> dict[str, object]:
    """What answers depend on besides what is asked and whose code it is asked of."""
    return {
        "ldpaudit": __version__,
        "code": our_digest(),
        "python": sys.version,
        "flags": [int(flag) for flag in sys.flags],
        "machine": [sys.platform, platform.machine()],
        "installed": _distributions(),
        "hidden": _hidden(),
    }


def _hidden() -> list[str]:
    """Modules of Python's and of installed packages that a local one of the same name may hide, from ldpaudit too."""
    local, installed = set[str](), set(sys.stdlib_module_names)
    for folder in sys.path:
        with suppress(OSError):
            names = {path.name.partition(".")[0] for path in Path(folder or os.curdir).iterdir()}
            (installed if is_installed(str(Path(folder, "any"))) else local).update(names)
    return sorted(local & installed - {"__pycache__"})


@cache
def our_digest() -> str:
    """SHA-256 of all that ldpaudit consists of."""
    digest = hashlib.sha256()
    for root in sorted(our_folders()):
        for path in sorted(root.rglob("*")):
            if path.suffix in (".py", ".toml", ".json") and path.is_file():
                digest.update(f"{path.relative_to(root)}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _distributions() -> list[list[str]]:
    """Installed packages: name, version, and the digest of the digests that its installer recorded.

    A package that is installed again from a changed checkout often has the version that it had.
    """
    found = [(each, each.read_text("RECORD") or "") for each in metadata.distributions()]
    return sorted([str(each.name), each.version, hashlib.sha256(recorded.encode()).hexdigest()] for each, recorded in found)
