"""Which way imports may never go."""

import ast
import graphlib
import inspect
import sys
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import ldpaudit
from tests.helpers import ROOT, lay_out, python, stdout

PACKAGE = ROOT / "ldpaudit"
HEAVY = ("scipy", "sympy", "matplotlib", "numpy", "flint", "pydantic")
OUTER = ("accountants", "attacks", "proofs")
NOUNS = {"mechanism", "neighbours", "plan", "groups", "claim", "enclosure", "profile", "evidence", "verdict", "errors", "version"}
DISPLAY = "display"
"""What nouns look like: it knows no noun, so that all of them may use it."""
FLOORS = {
    DISPLAY: 0, "core": 1, "mechanisms": 2, "adapters": 3, "files": 4, "clients": 4, "accountants": 5, "attacks": 5, "proofs": 5,
    "workers": 6, "studies": 7, "certificates": 8, "gate": 9, "report": 10, "commands": 11,
}  # fmt: skip
"""How high each room stands; the nouns, files that users import, stand beside `core`."""
DOORS = {"__init__", "__main__", "coins", "registry", "derivation", "frames", "strategies", "pytest_plugin"}
"""Files that users open: they stand in no room, and hand on what stands in any."""


def module_of(file: Path) -> str:
    """The name under which a file of the repository is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    inside = parts if parts[0] == "ldpaudit" else ("ldpaudit", *parts)
    return ".".join(inside[:-1] if inside[-1] == "__init__" else inside)


def imported(file: Path) -> tuple[str, ...]:
    """Modules and names of ours that a file imports: also in functions, under TYPE_CHECKING, and by a string.

    A part of a string that is computed is a star: such a string may name any module below what is before it.
    """
    return _imported(file.read_text(), module_of(file))


@cache
def _imported(text: str, importer: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found += (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names) if module:
                found += (f"{module}.{alias.name}" for alias in names)
            case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[name, *_]):
                found.append(_string(name, importer))
    return tuple(found)


def _string(node: ast.expr, module: str) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_string(value, module) for value in values)
        case ast.FormattedValue(value=ast.Name(id="__name__")):
            return module
    return "*"


def ours(file: Path) -> set[str]:
    return {name.removeprefix("ldpaudit.") for name in imported(file) if name.startswith("ldpaudit.")}


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


MAY_IMPORT = {
    "a noun": ([PACKAGE / f"{name}.py" for name in NOUNS], NOUNS | {DISPLAY, "core"}),
    "the display": (files(f"ldpaudit/{DISPLAY}"), {DISPLAY, "errors"}),
    "a mechanism": (files("ldpaudit/mechanisms"), NOUNS | {"mechanisms", "core"}),
    "the derivation": ([PACKAGE / "derivation.py"], NOUNS | {"core", "mechanisms", "proofs"}),
}
"""What files of a kind may import; so the derivation shares no code with accountants and attacks."""


@pytest.mark.parametrize("kind", MAY_IMPORT)
def test_a_noun_a_mechanism_the_display_and_the_derivation_import_what_they_may_alone(kind: str) -> None:
    several, allowed = MAY_IMPORT[kind]
    for file in several:
        assert {module.split(".")[0] for module in ours(file)} <= allowed, f"{file.name} imports {ours(file)}"


def above(file: Path) -> list[str]:
    """What a file of a room imports that stands in a higher room, or in none."""
    heights = FLOORS | dict.fromkeys(NOUNS | {"coins", "registry", "derivation"}, FLOORS["core"])
    own = FLOORS[file.relative_to(PACKAGE).parts[0]]
    return [module for module in ours(file) if heights.get(module.split(".")[0], 99) > own]


@pytest.mark.parametrize("room", sorted(FLOORS.keys() - {DISPLAY, *OUTER}))
def test_a_room_sees_lower_rooms_only(room: str) -> None:
    for file in files(f"ldpaudit/{room}"):
        assert not above(file), f"{file.relative_to(ROOT)} imports {above(file)}"


@pytest.mark.parametrize(("folder", "never"), [
    ("attacks", ("accountants", "proofs")), ("accountants", ("attacks", "proofs")), ("ldpaudit/adapters", OUTER),
])  # fmt: skip
def test_testimonies_do_not_see_each_other(folder: str, never: tuple[str, ...]) -> None:
    for file in files(folder):
        for module in ours(file):
            assert not module.startswith(never), f"{file} imports {module}"


KERNEL = {
    "_algebra": ("errors",),
    "_hypotheses": (),
    "_kernel": ("errors", "proofs._algebra", "proofs._hypotheses"),
    "_exhaustive": ("errors",),
}
"""The trusted part of the proofs, and what it may import."""


def test_a_proof_imports_the_kernel_only() -> None:
    for file in files("proofs"):
        rooms = "kernel", "algebra", "exhaustive", "parameters", "steps"
        allowed = KERNEL.get(file.stem, tuple(f"proofs._{room}" for room in rooms))
        for module in ours(file):
            assert module.startswith(allowed), f"{file.name} imports {module}"
    trusted = ((ROOT / "proofs" / f"{name}.py").read_text().count("\n") for name in ("_algebra", "_kernel"))
    assert sum(trusted) <= 300


def test_only_certify_sees_all_three_and_the_theory_knows_no_mechanism_by_name() -> None:
    def sees(file: Path) -> set[str]:
        return {module.split(".")[0].replace("derivation", "proofs") for module in ours(file)}

    assert [f.stem for f in files("ldpaudit") if set(OUTER) <= sees(f)] == ["certify"]
    for file in (file for room in THEORY for file in files(f"accountants/{room}")):
        assert not named_mechanisms(file), file


def test_help_imports_nothing_heavy() -> None:
    code = ("import sys\nfrom ldpaudit.commands import app\ntry: app(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)")
    shown = stdout(python("-c", code))
    assert "certify" in shown
    loaded = set(shown.split("\n")[-2].split())
    assert "ldpaudit.commands" in loaded
    assert loaded.isdisjoint(HEAVY)


SLOW = ("scipy.optimize", "scipy.stats", "scipy.signal")


@pytest.mark.parametrize(("folder", "slow"), [
    ("accountants", SLOW), ("attacks", SLOW), ("accountants/numerics", ("scipy",)), ("ldpaudit/studies", ("scipy",)),
])  # fmt: skip
def test_a_query_does_not_wait_for_the_slow_parts_of_scipy(folder: str, slow: tuple[str, ...]) -> None:
    """Four fifths of the time in which the shuffles' accountants or the audit were imported: a function imports them."""
    for file in files(folder):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scipy"):
                found = {f"{node.module}.{alias.name}" for alias in node.names}
                assert not any(name.startswith(slow) for name in found), file


def bare(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.split(".")[0] in OUTER]


def test_no_file_imports_a_bare_name_and_26_names_at_most_are_public() -> None:
    for file in modules().values():
        assert not bare(imported(file)), file
    assert bare(_imported("def f():\n    from proofs._kernel import equal", "ldpaudit.derivation"))
    assert bare(_imported('import_module(f"attacks.{name}")', "ldpaudit.attacks"))
    assert len(ldpaudit.__all__) <= 26
    for name in ldpaudit.__all__:
        assert getattr(ldpaudit, name) is not None
    assert callable(ldpaudit.certify)


@pytest.mark.slow
def test_importing_everything_leaves_no_bare_name() -> None:
    code = (
        "import importlib, pkgutil, sys, ldpaudit\n"
        "for m in pkgutil.walk_packages(ldpaudit.__path__, 'ldpaudit.'):\n"
        "    if not m.name.endswith('__main__'): importlib.import_module(m.name)\n"
        "print(*sys.modules)"
    )
    loaded = set(stdout(python("-c", code)).split())
    assert {f"ldpaudit.{name}" for name in OUTER} <= loaded
    assert loaded.isdisjoint(OUTER)


def test_a_public_method_says_what_it_does_unless_one_that_it_overrides_does() -> None:
    silent = [
        f"{name}.{owner.__name__}.{method}"
        for name, file in modules().items()
        if file.stem != "__main__"
        for owner in vars(import_module(name)).values()
        if inspect.isclass(owner) and owner.__module__ == name and not owner.__name__.startswith("_")
        for method, value in vars(owner).items()
        if isinstance(value, property | classmethod) or (inspect.isfunction(value) and value.__name__ == method)
        if not method.startswith("_") and not inspect.getdoc(getattr(owner, method))
    ]
    assert not silent


ROOMS = {
    "numerics": 0, "pld": 1, "composition": 2, "shuffling": 2, "counting": 2, "limits": 2, "sampling": 3, "aggregation": 3,
    "claims": 4,
}  # fmt: skip
"""How high each room of the accountants stands; a file that stands in no room is a stem's, and above them all."""
STEM = 4
ATTACK_ROOMS = {"attack": 0, "bounds": 0, "shared": 1, "games": 1, "engine": 2, "blackbox": 3}
"""The same of the attacks; the noun `attack` is a file. The stems need it and `shared` alone, and stand above all."""
ATTACK_STEM = 4
LOOKUP = ROOT / "attacks" / "games" / "stems.py"
"""The one place of the attacks' rooms that looks up to the stems."""


def room_of(module: str, folder: str) -> str:
    """The room of an accountant's or attack's module, or what it is called where it stands in none."""
    return module.removeprefix(f"{folder}.").split(".")[0]


def misplaced(file: Path, rooms: dict[str, int], top: int, upward: str) -> list[str]:
    """What a file imports that stands as high as itself in another room, or higher."""
    folder = file.relative_to(ROOT).parts[0]
    own = room_of(module_of(file).removeprefix("ldpaudit."), folder)
    found = []
    for name in imported(file):
        if name.startswith("*"):
            found.append(name)  # it may be anything
        module = name.removeprefix("ldpaudit.")
        if module == name or not module.startswith(f"{folder}.") or module == f"{folder}.{upward}":
            continue
        room = room_of(module, folder)
        stems = rooms.get(own, top) == rooms.get(room, top) == top
        if room != own and not stems and rooms.get(room, top) >= rooms.get(own, top):
            found.append(module)
    return found


@pytest.mark.parametrize(("folder", "rooms", "stem", "upward"), [
    ("accountants", ROOMS, STEM, "account"), ("attacks", ATTACK_ROOMS, ATTACK_STEM, ""),
])  # fmt: skip
def test_a_room_of_accountants_or_attacks_sees_lower_rooms_only(folder: str, rooms: dict[str, int], stem: int, upward: str) -> None:
    for file in files(folder):
        if file not in (ROOT / folder / "__init__.py", LOOKUP):
            assert not misplaced(file, rooms, stem, upward), file


THEORY = ("numerics", "pld", "composition", "shuffling", "sampling")
"""Rooms that know no mechanism by name: what they need of one, its stem says."""


def named_mechanisms(file: Path) -> list[str]:
    """Modules of single mechanisms that a file imports."""
    return [module for module in ours(file) if module.startswith("mechanisms.") and module != "mechanisms.stem"]


OVERLOOKED: tuple[tuple[str, Callable[[Path], list[str]], tuple[str, ...]], ...] = (
    ("ldpaudit/studies/design.py", above,
     ("from ldpaudit.gate import config", "def f():\n    from ldpaudit.commands import app", "import ldpaudit.frames")),
    ("accountants/shuffling/plan.py", named_mechanisms,
     ("from ldpaudit.mechanisms.rappor import Rappor", "def f():\n    from ldpaudit.mechanisms import rappor",
      'import_module("ldpaudit.mechanisms.rappor")', 'import_module(f"ldpaudit.mechanisms.{name}")')),
    ("accountants/counting/balls.py", lambda file: misplaced(file, ROOMS, STEM, "account"),
     ("from ldpaudit.accountants.shuffling import blanket",
      "def f():\n    from ldpaudit.accountants.shuffling.blanket import Blanket",
      "if TYPE_CHECKING:\n    import ldpaudit.accountants.shuffling.blanket",
      'import_module("ldpaudit.accountants.shuffling.blanket")', 'importlib.import_module(f"ldpaudit.accountants.{room}")',
      "import_module(name)", "from ldpaudit.accountants import rappor")),
)  # fmt: skip


@pytest.mark.parametrize(("name", "found_by", "lines"), OVERLOOKED, ids=[name for name, *_ in OVERLOOKED])
def test_no_import_of_what_stands_higher_is_overlooked(
    name: str, found_by: Callable[[Path], list[str]], lines: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "ldpaudit")
    file = tmp_path / name
    lay_out(tmp_path, {name: "from ldpaudit.accountants import account\nfrom ldpaudit.claim import Claim\n"})
    assert not found_by(file)
    for line in lines:
        file.write_text(line)
        assert found_by(file), line


def test_the_attack_on_a_mechanism_is_looked_up_in_one_place_and_every_folder_is_a_room() -> None:
    assert misplaced(LOOKUP, ATTACK_ROOMS, ATTACK_STEM, "") == ["attacks.*"]
    folders = {p.parent.name for p in (ROOT / "attacks").glob("*/__init__.py")}
    nouns = {p.stem for p in (ROOT / "attacks").glob("*.py")} - {"__init__", *ldpaudit.mechanisms.stems()}
    assert folders | nouns == set(ATTACK_ROOMS)
    assert {p.parent.name for p in (ROOT / "accountants").glob("*/__init__.py")} == set(ROOMS)
    assert {p.stem for p in PACKAGE.glob("*.py")} == NOUNS | DOORS
    assert {p.parent.name for p in PACKAGE.glob("*/__init__.py")} == set(FLOORS)


def test_a_stem_of_the_attacks_needs_the_noun_and_what_stems_share_alone() -> None:
    for stem in ldpaudit.mechanisms.stems():
        file = ROOT / "attacks" / f"{stem}.py"
        seen = {room_of(m, "attacks") for m in ours(file) if m.startswith("attacks.")} if file.is_file() else set()
        assert seen <= {"attack", "shared", *ldpaudit.mechanisms.stems()}, stem


ANYTHING = {
    "ldpaudit": "its public names", "ldpaudit.adapters.callables": "the code of users",
    "ldpaudit.mechanisms.shared.plugins": "the mechanisms of other packages",
}  # fmt: skip
"""Modules that import by a string that tells nothing beforehand, and what."""


def modules() -> dict[str, Path]:
    """All files of the program by the names under which they are imported."""
    found = [file for folder in ("ldpaudit", *OUTER) for file in files(folder)]
    return {module_of(f): f for f in found if not (ROOT / "ldpaudit" in f.parents and set(OUTER) & set(f.relative_to(ROOT).parts))}


def arrows(known: dict[str, Path]) -> dict[str, set[str]]:
    """What each module imports; but for `account`, which the rooms of the accountants may call upward."""
    found: dict[str, set[str]] = {}
    for module, file in known.items():
        upward = module.startswith("ldpaudit.accountants.")
        names = [n for n in imported(file) if n != "*" and not (upward and n == "ldpaudit.accountants.account")]
        found[module] = {target for name in names for target in meant(name, known)} - {module}
    return found


def meant(name: str, known: dict[str, Path]) -> set[str]:
    """The module that a name is, or is in; all that it may be, where a part of it is computed."""
    if "*" in name:
        return {module for module in known if fnmatchcase(module, name) and module.count(".") == name.count(".")}
    while name and name not in known:
        name = name.rpartition(".")[0]
    return {name} if name else set()


def circle(found: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the one before it, the first and the last being one; none where there is no circle."""
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_circle_of_imports_in_the_whole_program() -> None:
    known = modules()
    assert {"ldpaudit.certificates.certify", "ldpaudit.attacks.games.stems", "ldpaudit.proofs._kernel"} <= set(known)
    found = arrows(known)
    assert {m for m, file in known.items() if "*" in imported(file)} == set(ANYTHING)
    found["ldpaudit"] |= set(ldpaudit._HOME.values())
    assert circle(found) == []


@pytest.mark.parametrize("line", [
    "import ldpaudit.claim",
    "def f():\n    from ldpaudit.claim import Claim",
    "if TYPE_CHECKING:\n    from ldpaudit import claim",
    'import_module("ldpaudit.claim")',
    'import_module(f"ldpaudit.{name}")',
])  # fmt: skip
def test_no_circle_is_overlooked(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    lay_out(tmp_path, {"ldpaudit/claim.py": "from ldpaudit.plan import Plan\n", "ldpaudit/plan.py": "from math import pi\n"})
    assert not circle(arrows(modules()))
    lay_out(tmp_path, {"ldpaudit/plan.py": line})
    assert {"ldpaudit.claim", "ldpaudit.plan"} <= set(circle(arrows(modules())))


def test_account_alone_is_called_upward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    lay_out(tmp_path, {"accountants/__init__.py": 'import_module(f"{__name__}.sampling.subsample")\n'})
    for name, found in (("account", False), ("other", True)):
        lay_out(tmp_path, {"accountants/sampling/subsample.py": f"from ldpaudit.accountants import {name}\n"})
        assert bool(circle(arrows(modules()))) is found
