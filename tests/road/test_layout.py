"""One repository, four ways to run it: wheel, sdist, editable install, checkout; and where what Windows lacks is missing."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import helpers
from tests.helpers import ROOT

OUTER = ("accountants", "attacks", "proofs")
DATA = ("deployments", "schemas")
"""Folders of data that stand at the top of the repository, and in the package."""
CLIENTS = "clients/reference"
"""Programs of the package that stand in examples/clients."""
PROBE = (
    "import ldpaudit as ldp, sys\n"
    "m = ldp.mechanisms.KaryRandomizedResponse.for_epsilon(1.0, k=4)\n"
    "assert ldp.account(m).epsilon(0).high == 1.0\n"
    "assert ldp.audit(m, trials=1000).epsilon_lower > 0\n"
    "from ldpaudit.files.deployment import load\n"
    "assert load('enpa-notification').id == 'enpa-notification'\n"
    "from ldpaudit.proofs.randomized_response import prove\n"
    "assert prove() and not {'accountants', 'attacks', 'proofs'} & set(sys.modules)\n"
    "print(ldp.__file__)"
)


def python(*arguments: str, cwd: Path, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    command, given = [sys.executable, *arguments], clean | environment
    return helpers.stdout(subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, check=False)).strip()


def packages_on_disk() -> set[str]:
    inits = [p for p in (ROOT / "ldpaudit").rglob("__init__.py") if not any(o in p.relative_to(ROOT).parts for o in OUTER)]
    inner = {".".join(p.parent.relative_to(ROOT).parts) for p in inits}
    outer = {".".join(("ldpaudit", *p.parent.relative_to(ROOT).parts)) for o in OUTER for p in (ROOT / o).rglob("__init__.py")}
    return inner | outer


def test_every_package_on_disk_is_declared_and_the_checkout_runs_without_install() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert set(declared) == packages_on_disk() | {f"ldpaudit.{name.replace('/', '.')}" for name in (*DATA, CLIENTS)}
    where = python("-S", "-c", f"import sys; sys.path[:0] = {[str(ROOT), *site()]!r}\n{PROBE}", cwd=Path("/"))
    assert where == str(ROOT / "ldpaudit" / "__init__.py")


LINKS = {name: f"../{name}" for name in (*OUTER, *DATA)} | {CLIENTS: "../../examples/clients"}


@pytest.mark.parametrize(("name", "where"), LINKS.items())
def test_the_links_are_relative(name: str, where: str) -> None:
    link = ROOT / "ldpaudit" / name
    assert link.is_symlink()
    assert str(link.readlink()) == where


def site() -> list[str]:
    """Where the dependencies are, without any installed ldpaudit."""
    import numpy

    return [str(Path(numpy.__file__).parent.parent)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from an sdist: whoever installs either gets the same files."""
    out = tmp_path_factory.mktemp("dist")
    source = out / "source"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_symlink():
                (source / name).symlink_to((ROOT / name).readlink())
            else:
                (source / name).write_bytes((ROOT / name).read_bytes())
    python("-m", "build", "--no-isolation", "--outdir", str(out), str(source), cwd=out)
    return out


def test_the_wheel_holds_every_package_and_one_top_level_name(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    code = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in n}
    assert {n.split("/")[0] for n in code} == {"ldpaudit"}
    assert {".".join(n.split("/")[:-1]) for n in code if n.endswith("__init__.py")} == packages_on_disk()
    assert "ldpaudit/py.typed" in code
    for name, ending in zip(DATA, ("toml", "json"), strict=True):
        assert {n for n in code if n.startswith(f"ldpaudit/{name}/")} == {
            f"ldpaudit/{name}/{file.name}" for file in (ROOT / name).glob(f"*.{ending}")
        }
    assert {Path(n).name for n in code if n.startswith(f"ldpaudit/{CLIENTS}/")} == {"client.py", "client.mjs", "client.c"}


def test_the_sdist_holds_the_tests_and_the_deployments(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {n.split("/", 1)[-1] for n in archive.getnames()}
        assert not [member.name for member in archive if member.issym() or member.islnk()], "Windows may not make links"
    assert {"tests/road/test_layout.py", "accountants/pld/finite.py", "LICENSE"} <= names
    assert {"deployments/enpa-notification.toml", "schemas/deployment.json"} <= names


@pytest.mark.slow
def test_the_wheel_runs_where_it_is_installed(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    place = tmp_path / "site"
    python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place), str(wheel), cwd=tmp_path)
    where = python("-S", "-c", f"import sys; sys.path[:0] = {[str(place), *site()]!r}\n{PROBE}", cwd=tmp_path)
    assert where == str(place / "ldpaudit" / "__init__.py")


@pytest.mark.slow  # ./run makes such an environment for the whole check
def test_an_editable_install_runs(tmp_path: Path) -> None:
    place = tmp_path / "site"
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in ("ldpaudit", *OUTER, *DATA, "examples", "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).symlink_to(ROOT / name)
    command = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(place))
    python(*command, "--editable", str(copy), cwd=tmp_path)
    where = python(
        "-S",
        "-c",
        # Before the dependencies: these may lie beside another checkout's finder, which has the same name.
        f"import site, sys; sys.path[:0] = {[str(place), *site()]!r}; site.addsitedir({str(place)!r})\n{PROBE}",
        cwd=tmp_path,
    )
    assert where == str(ROOT / "ldpaudit" / "__init__.py")


def test_an_environment_that_run_did_not_make_is_left_alone(tmp_path: Path) -> None:
    for name in ("run", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".venv-docs").mkdir()
    (tmp_path / ".venv-docs" / "mine").touch()
    done = subprocess.run(["sh", "run", "docs"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "this one is not of its making" in done.stderr
    assert (tmp_path / ".venv-docs" / "mine").exists()


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement).lower()


def _needed(package: str, extras: tuple[str, ...]) -> set[str]:
    """What a package with these extras requires, as it is installed here, with all that this requires."""
    lines = map(Requirement, metadata.requires(package) or ())
    direct = [each for each in lines if not each.marker or any(each.marker.evaluate({"extra": x}) for x in ("", *extras))]
    return {_name(each.name) for each in direct}.union(*(_needed(each.name, tuple(each.extras)) for each in direct))


@pytest.mark.parametrize(("sections", "extras"), [(1, ()), (2, ("docs",)), (3, ("test",))])
def test_an_environment_of_run_has_what_it_needs_and_the_first_nothing_else(sections: int, extras: tuple[str, ...]) -> None:
    pytest.importorskip("sphinx", reason="the environment of the lowest versions is not made from constraints.txt")
    parts = re.split(r"^# .*$", (ROOT / "constraints.txt").read_text(), flags=re.M)[1 : sections + 1]
    pinned = {_name(line.split("==")[0]) for line in "".join(parts).splitlines() if "==" in line}
    needed = _needed("ldpaudit", extras) - {"ldpaudit"}
    assert needed <= pinned
    if sections == 1:
        assert pinned - needed == {"setuptools", "colorama"}, "the latter is needed on Windows"


def test_no_page_and_no_source_has_a_character_that_is_not_seen() -> None:
    # A formula that was written without its r prefix once had them: \\v of varepsilon, \\b of binom.
    folders = ("ldpaudit", *OUTER, "benchmarks", "tests", "docs", "examples")
    files = [each for folder in folders for kind in ("py", "md", "toml") for each in (ROOT / folder).rglob(f"*.{kind}")]
    unseen = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
    assert len(files) > 500
    assert not [each for each in files if unseen.search(each.read_text())]


LACKING = {
    "os": {"fork", "forkpty", "killpg", "getpgrp", "getpgid", "setsid", "setpgid", "getuid", "geteuid", "register_at_fork",
           "sched_getaffinity", "set_blocking", "mkfifo", "openpty", "nice", "wait", "wait3", "wait4", "WNOHANG", "uname",
           "statvfs", "sysconf", "O_NONBLOCK", "O_CLOEXEC", "fchmod", "chown", "posix_spawn", "pread", "pwrite"},
    "signal": {"SIGKILL", "SIGHUP", "SIGALRM", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGQUIT", "SIGSTOP", "SIGCONT",
               "setitimer", "alarm", "pause", "ITIMER_REAL", "pthread_kill", "pthread_sigmask", "sigwait", "set_wakeup_fd"},
    "select": {"poll", "epoll", "kqueue"},
    "time": {"clock_gettime", "tzset"},
}  # fmt: skip
"""Names of modules that Windows has, which it has not; `os.set_blocking` it has since Python 3.12."""
MODULES = {"fcntl", "resource", "termios", "pty", "pwd", "grp", "tty", "posix", "syslog", "readline", "crypt"}
"""Modules that it has not."""
IMPORTING = re.compile(rf"^\s*(import|from) .*\b({'|'.join((*LACKING, *MODULES))})\b", re.MULTILINE)
ASKED = {
    ("ldpaudit/commands/ending.py", "supervised"): "returns first where there is no os.fork",
    ("ldpaudit/commands/ending.py", "_handed_on"): "is called by supervised alone, where there is os.fork",
    ("ldpaudit/commands/ending.py", "_end_with"): "is called by supervised alone, where there is os.fork",
    ("ldpaudit/adapters/talk.py", "_streams"): "returns first where os.name is not posix",
    ("ldpaudit/adapters/programs.py", "_signalled"): "returns first where there is no os.killpg",
    ("ldpaudit/workers/worker_processes.py", "close"): "asks for os.killpg",
    ("ldpaudit/workers/worker_processes.py", "_read"): "asks for os.killpg",
    ("ldpaudit/workers/worker_processes.py", "_end_marked"): "ends what /proc shows, which Windows has not",
    ("ldpaudit/core/working_precision.py", ""): "asks for os.register_at_fork",
    ("ldpaudit/studies/comparison.py", "_scored"): "answers that it is unknown where there is no resource",
}
"""The functions that use such a name, and why they may."""
FILES = sorted(f for folder in ("ldpaudit", "accountants", "attacks", "proofs") for f in (ROOT / folder).rglob("*.py")
               if not any(part.is_symlink() for part in f.parents))  # fmt: skip


def users(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node with the function that it stands in."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef) and not function else function
        yield inside, node
        yield from users(node, inside)


def lacking(file: Path) -> Iterator[tuple[str, str]]:
    """Functions of a file that use what Windows lacks, with what."""
    text = file.read_text(encoding="utf-8")
    if IMPORTING.search(text) is None:
        return
    for function, node in users(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in LACKING.get(module, ()):
                yield function, f"{module}.{name}"
            case ast.ImportFrom(module=module, names=names):
                known = LACKING.get(module or "", set())
                yield from ((function, f"{module}.{each.name}") for each in names if each.name in known or module in MODULES)
            case ast.Import(names=names):
                yield from ((function, each.name) for each in names if each.name in MODULES)


def test_what_windows_lacks_is_used_only_where_it_is_asked_for_and_no_use_is_overlooked(tmp_path: Path) -> None:
    found = {(str(file.relative_to(ROOT)), function): name for file in FILES for function, name in lacking(file)}
    assert found.keys() <= ASKED.keys(), {where: found[where] for where in found.keys() - ASKED.keys()}
    assert found.keys() == ASKED.keys(), "a reason that nothing needs"
    file = tmp_path / "a.py"
    uses = ("os.fork()", "def f():\n    x = signal.SIGKILL", "import fcntl", "from os import killpg", "from pwd import getpwnam")
    for line in uses:
        file.write_text(f"import os, signal\n{line}", encoding="utf-8")
        assert list(lacking(file)), line


def test_every_text_file_is_read_and_written_with_its_encoding() -> None:
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        for _, node in users(ast.parse(text)) if "_text(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = {each.arg for each in node.keywords}
                of_a_package = node.func.attr == "read_text" and node.args  # a distribution's, which is UTF-8
                if node.func.attr in ("read_text", "write_text") and not of_a_package:
                    assert "encoding" in given, f"{file.name}:{node.lineno}"


BARE = """
import os, signal, sys
import flint, numpy, polars, pydantic._internal._validators, rich.console, scipy.optimize, scipy.stats, sympy
import concurrent.futures.process, ldpaudit.attacks.blackbox.late, ldpaudit.certificates.certify, ldpaudit.certificates.exhibits
import ldpaudit.adapters.talk as talk
from ldpaudit.commands import main
for module, names in {names!r}.items():
    for name in names:
        if hasattr(sys.modules[module], name): delattr(sys.modules[module], name)
for module in {modules!r}: sys.modules[module] = None
sys.platform, talk.POLLED = "win32", False
for arguments in {commands!r}:
    sys.argv, code = ["ldpaudit", *arguments], None
    try: main()
    except SystemExit as ended: code = ended.code
    print("ended with", code, file=sys.stderr)
"""
KEPT = {"signal": {"SIGKILL"}, "os": {"set_blocking", "WNOHANG", "O_CLOEXEC"}, "select": {"poll"}}
"""What Python's own subprocess and selectors use here."""
COMMANDS = {
    ("mechanisms",): 0,
    ("account", "randomized_response", "k=2", "p=3/4"): 0,
    ("certify", "enpa-notification", "--trials", "1000"): 0,
    ("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "0.1", "--trials", "2000"): 1,
    ("audit", "exec:no-such-program", "--inputs", "0", "1", "--epsilon", "1"): 2,
}


@pytest.mark.slow
def test_commands_run_where_there_is_nothing_of_posix() -> None:
    names = {module: sorted(lacks - KEPT.get(module, set())) for module, lacks in LACKING.items()}
    code = BARE.format(names=names, modules=sorted(MODULES), commands=list(COMMANDS))
    done = helpers.python("-c", code)
    assert done.returncode == 0, done.stderr
    ended = re.findall("^ended with (.*)$", done.stderr, re.MULTILINE)
    assert ended == [str(code) for code in COMMANDS.values()], done.stderr
    assert "Traceback" not in done.stderr
