"""What a gate need not do again."""

from __future__ import annotations

import hashlib
import json
import os
import py_compile
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from py_compile import PycInvalidationMode
from types import SimpleNamespace
from typing import Any

import pytest

from ldpaudit import gate, reuse, source_code
from ldpaudit.apart import Crew, Task
from ldpaudit.cache import Cache
from ldpaudit.errors import LdpauditError, Unsupported
from ldpaudit.measuring import measure
from ldpaudit.mechanisms import KaryRandomizedResponse
from ldpaudit.parallel import Asked, ask
from ldpaudit.plan import Run
from ldpaudit.report.gate import GateFormat
from ldpaudit.source_code import follow, our_digest
from ldpaudit.watched import Seen, seen_in, watched
from tests.road import apart_calls
from tests.road.test_gate import DEPLOYMENT

SECRET = bytes(32)
CODE = {
    "cached/__init__.py": "",
    "cached/randomizer.py": "from cached import noise\nfrom .levels import P\ndef say(x):\n    return noise.flip(x, P)\n",
    "cached/noise.py": "def flip(x, p):\n    import cached_far.coins\n    return x if cached_far.coins.toss() < p else 1 - x\n",
    "cached/levels.py": "P = 0.7\ntry:\n    import cached_extra\nexcept ImportError:\n    pass\n",
    "cached_far/coins.py": "import random\ndef toss():\n    return random.random()\n",
}
CONFIG = """\
deployments = ["ours.toml"]
trials = 1000
[[targets]]
id = "code"
callable = "cached.randomizer:say"
inputs = [0, 1]
epsilon = 1
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, {**CODE, "ours.toml": DEPLOYMENT.format(true=1, claimed=1), "ldpaudit.toml": CONFIG})
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def checked(folder: Path, secret: bytes = SECRET) -> gate.Gate:
    path, config = gate.find_config(folder)
    return gate.check(folder, config, path, cache=Cache(folder / ".cache", secret))


def reused(result: gate.Gate) -> str:
    return str(result.reuse)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets whose code would have been run in a process of its own; their samples are ours."""
    ran: list[str] = []

    def done(visit: Any, work: Task, sought: reuse.Sought) -> tuple[str, Seen]:
        ran.append(work.name)
        return measure("tests.broken_callables:fair", *work.arguments[1:]), Seen(frozenset(), ())

    monkeypatch.setattr(gate, "_done", done)
    return ran


def test_what_was_answered_before_says_the_same_to_the_byte_until_the_code_leaks(folder: Path) -> None:
    first, second = checked(folder), checked(folder)
    assert (reused(first), reused(second)) == ("0 of 2 from the cache", "2 of 2 from the cache")
    assert first.findings == second.findings
    for each in set(GateFormat) - {GateFormat.markdown}:
        assert each.write(first) == each.write(second)
    assert first.reuse is not None
    assert first.reuse.remarks == []
    assert (folder / ".cache/.gitignore").read_text() == "*\n"
    assert first.exit_code == 0
    write(folder, {"cached/levels.py": "P = 1.0\n"})
    changed, again = checked(folder), checked(folder)
    assert (changed.exit_code, reused(changed)) == (1, "1 of 2 from the cache")
    assert (again.exit_code, reused(again)) == (1, "2 of 2 from the cache"), "and no refutation is tried again until it passes"


def edited(name: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda folder, monkeypatch: write(folder, {name: text})


def patched(where: object, name: str, value: object) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda folder, monkeypatch: monkeypatch.setattr(where, name, value)


CHANGES: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], None], str]] = {
    "the code": (edited("cached/randomizer.py", CODE["cached/randomizer.py"] + "# more\n"), "1 of 2"),
    "an import of a package": (edited("cached/noise.py", CODE["cached/noise.py"] + "# more\n"), "1 of 2"),
    "a relative import": (edited("cached/levels.py", CODE["cached/levels.py"].replace("0.7", "0.9")), "1 of 2"),
    "an import in a function, of an import": (edited("cached_far/coins.py", CODE["cached_far/coins.py"] + "# more\n"), "1 of 2"),
    "a package around it": (edited("cached/__init__.py", "import random\nrandom.random = lambda: 0\n"), "1 of 2"),
    "a module that was not there": (edited("cached_extra.py", ""), "1 of 2"),
    "a package that was none": (edited("cached_far/__init__.py", ""), "1 of 2"),
    "a module that hides one of Python's": (edited("random.py", ""), "0 of 2"),
    "a module that hides one of a package that ldpaudit needs": (edited("sympy.py", ""), "0 of 2"),
    "a package that hides one of Python's": (edited("statistics/__init__.py", ""), "0 of 2"),
    "a comment in the deployment": (edited("ours.toml", DEPLOYMENT.format(true=1, claimed=1) + "# more\n"), "1 of 2"),
    "a claim": (edited("ours.toml", DEPLOYMENT.format(true=1, claimed=2)), "1 of 2"),
    "the inputs": (edited("ldpaudit.toml", CONFIG.replace("[0, 1]", "[1, 0]")), "1 of 2"),
    "the type of an input": (edited("ldpaudit.toml", CONFIG.replace("[0, 1]", "[0, 1.0]")), "1 of 2"),
    "the claim of the code": (edited("ldpaudit.toml", CONFIG.replace("epsilon = 1", "epsilon = '1.1'")), "1 of 2"),
    "the target's id": (edited("ldpaudit.toml", CONFIG.replace('"code"', '"coda"')), "1 of 2"),
    "the seed": (edited("ldpaudit.toml", f"seed = 1\n{CONFIG}"), "0 of 2"),
    "the number of views": (edited("ldpaudit.toml", CONFIG.replace("1000", "1001")), "0 of 2"),
    "the confidence": (edited("ldpaudit.toml", f"confidence = 0.99\n{CONFIG}"), "0 of 2"),
    "the version of ldpaudit": (patched(source_code, "__version__", "0.1.1"), "0 of 2"),
    "the code of ldpaudit": (patched(source_code, "our_digest", lambda: "other"), "0 of 2"),
    "the flags of Python": (patched(source_code, "sys", SimpleNamespace(**{**vars(sys), "flags": (1,)})), "0 of 2"),
    "the version of Python": (patched(sys, "version", "3.99"), "0 of 2"),
    "an installed package": (patched(source_code, "_distributions", lambda: [["a", "1", ""]]), "0 of 2"),
    "nothing": (lambda folder, monkeypatch: None, "2 of 2"),
    "the patience, and what is required": (edited("ldpaudit.toml", f"patience = 9\nrequire-decision = true\n{CONFIG}"), "2 of 2"),
}


def test_whatever_an_answer_depends_on_is_in_its_key(
    folder: Path, unwatched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("our_digest", "ours"), ("_distributions", [])):  # the same each time, and slow
        patched(source_code, name, lambda value=value: value)(folder, monkeypatch)
    checked(folder)
    for name, (change, expected) in CHANGES.items():
        with pytest.MonkeyPatch.context() as monkeypatch:
            change(folder, monkeypatch)
            sought = sought_again(folder)
        assert f"{sum(each.found is not None for each in sought)} of 2" == expected, name
        for extra in ("cached_extra.py", "cached_far/__init__.py", "random.py", "sympy.py", "statistics/__init__.py"):
            (folder / extra).unlink(missing_ok=True)
        shutil.rmtree(folder / "statistics", ignore_errors=True)
        write(folder, {**CODE, "ours.toml": DEPLOYMENT.format(true=1, claimed=1), "ldpaudit.toml": CONFIG})


def test_the_digest_of_ldpaudit_is_of_every_file_that_it_consists_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_code, "our_folders", lambda: (tmp_path,))
    write(tmp_path, {"a.py": "", "b/c.toml": "x = 1"})
    seen = [our_digest.__wrapped__()]
    for change in ({"a.py": "1"}, {"b/c.toml": "x = 2"}, {"b/d.py": ""}):
        write(tmp_path, change)
        seen.append(our_digest.__wrapped__())
    assert len(set(seen)) == 4


def test_an_installed_package_is_known_by_what_its_installer_recorded() -> None:
    found = {name: (version, recorded) for name, version, recorded in source_code._distributions()}
    assert found["numpy"][0] == metadata.version("numpy")
    record = metadata.distribution("numpy").read_text("RECORD") or ""
    assert found["numpy"][1] == hashlib.sha256(record.encode()).hexdigest() != hashlib.sha256(b"").hexdigest()


def test_code_that_runs_whatever_its_source_says_is_not_kept(folder: Path) -> None:
    """A compiled file that comes with a change, and that Python does not compare with its source."""
    source = str(folder / "cached" / "levels.py")
    for mode, kept in ((PycInvalidationMode.CHECKED_HASH, True), (PycInvalidationMode.UNCHECKED_HASH, False)):
        py_compile.compile(source, invalidation_mode=mode)
        sought = sought_again(folder)[1]
        assert bool(sought.key) == kept
    assert "is compiled so that its source is not asked" in sought.said


def test_code_compiled_from_another_text_of_the_same_age_and_size_is_not_kept(folder: Path) -> None:
    """As copies that keep times make it: Python runs what was compiled, whatever the source says by now."""
    source = folder / "cached" / "levels.py"
    py_compile.compile(str(source))
    assert sought_again(folder)[1].key
    before = source.stat()
    source.write_text(CODE["cached/levels.py"].replace("0.7", "0.9"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    sought = sought_again(folder)[1]
    assert sought.key == ""
    assert "cached.levels: is compiled from another text than its source" in sought.said
    py_compile.compile(str(source))
    assert sought_again(folder)[1].key


def test_what_python_compiles_does_not_change_the_key(folder: Path) -> None:
    before = [each.key for each in sought_again(folder)]
    for name in ("random", "cached/noise"):
        compiled = folder / f"{name}.py"
        (compiled.parent / "__pycache__").mkdir(exist_ok=True)
    assert [each.key for each in sought_again(folder)] == before


def test_a_module_is_found_that_is_as_young_as_the_last_look_at_its_folder(folder: Path) -> None:
    before = folder.stat()
    assert follow("cached.levels:P").modules["cached_extra"] == "absent"
    write(folder, {"cached_extra.py": ""})
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert follow("cached.levels:P").modules["cached_extra"] == hashlib.sha256(b"").hexdigest()


def sought_again(folder: Path) -> list[reuse.Sought]:
    """What the gate would find in its cache; nothing is run."""
    _, config = gate.find_config(folder)
    memory = reuse.Memory(Cache(folder / ".cache", SECRET), folder)
    return [gate._seek_deployment(memory, ask(folder / "ours.toml"), "ours.toml", config),
            gate._seek_target(memory, config.targets[0], config)]  # fmt: skip


def test_code_that_reads_a_file_is_not_kept_and_that_is_said(folder: Path) -> None:
    levels = "from pathlib import Path\nP = float((Path(__file__).parent / 'p.txt').read_text())\n"
    write(folder, {"cached/levels.py": levels, "cached/p.txt": "0.7", "ours.toml": "x ="})
    result = checked(folder)
    assert result.findings[-1].problem is None
    assert result.reuse is not None
    assert result.reuse.remarks == [f"code: it is not kept: its code reads {folder}/cached/p.txt"]
    assert not (folder / ".cache").exists()


def test_the_watch_sees_what_is_read_and_asked_and_not_what_is_only_written(tmp_path: Path) -> None:
    for name in ("present", "low"):
        (tmp_path / name).touch()
    with Crew() as crew:
        answer, data = crew.do(Task("watch", watched, (apart_calls.reads_and_asks, str(tmp_path)), 60.0))
    seen = seen_in(data)
    assert answer == str(tmp_path)
    assert {Path(file).name for file in seen.files if file.startswith(str(tmp_path))} == {"absent", "present", "low"}
    assert {"socket.connect", "subprocess.Popen", "os.environ for 'HOME'"} <= set(seen.acts)
    assert any(act.startswith("open('/proc/") for act in seen.acts) == Path("/proc/self/status").exists()
    assert seen.beyond(seen.files) == f"its code calls {seen.acts[0]}"
    assert str(Path(apart_calls.__file__).resolve()) in seen.files


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import importlib\nimportlib.import_module('a' + 'b')", "has import_module in line 2"),
        ("from importlib import import_module as load", "has import_module in line 1"),
        ("exec('import cached')", "has exec in line 1"),
        ("P = eval('1')", "has eval in line 1"),
        ("__import__('cached')", "has __import__ in line 1"),
        ("import os\nP = os.environ.get('P')", "has environ in line 2"),
        ("from os import getenv", "has getenv in line 1"),
        ("import os\nP = os.path.expandvars('$P')", "has expandvars in line 2"),
        ("import sys\nsys.path.insert(0, 'x')", "has sys.path in line 2"),
        ("from cached import *", "is a package of which everything is imported"),
        ("import cached.binary", "is no Python source"),
        ("import cached_far.inner.deep", "cannot be found without importing it"),
        ("from ... import above", "beyond top-level package"),
        ("def f(:", "is no Python that can be read"),
    ],
)
def test_code_whose_imports_cannot_be_followed_is_not_kept_and_that_is_said(folder: Path, text: str, says: str) -> None:
    write(folder, {"cached/levels.py": text, f"cached/binary{EXTENSION_SUFFIXES[0]}": "", "cached_far/inner/deep.py": ""})
    with pytest.raises((Unsupported, ImportError)):
        follow("cached.randomizer:say")
    _, sought = sought_again(folder)
    assert sought.key == ""
    assert sought.said.startswith("it is not kept: ")
    assert says in sought.said


def entry(folder: Path) -> Path:
    (found,) = (folder / ".cache").glob("*.json")
    return found


def resealed(text: str, secret: bytes) -> str:
    data = json.loads(text)
    data["value"] = data["value"].replace("REFUTED", "PROVED")
    data["seal"] = Cache(Path(), secret)._seal(data["key"], data["value"])
    return json.dumps(data)


FORGED: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (lambda text: text[: len(text) // 2], "its entry is cut, or no entry"),
    "empty": (lambda text: "", "its entry is cut, or no entry"),
    "a list": (lambda text: "[]", "its entry is cut, or no entry"),
    "a verdict changed": (lambda text: text.replace("REFUTED", "PROVED"), "its entry was not sealed here"),
    "sealed elsewhere": (lambda text: resealed(text, b"x" * 32), "its entry was not sealed here"),
    "a key twice": (lambda text: text.replace('"key"', '"seal": "", "key"', 1), "its entry is cut, or no entry"),
    "another key's": (lambda text: text.replace('"key": "', '"key": "0', 1), "its entry was not sealed here"),
    "one more key": (lambda text: text.replace('"key"', '"more": 1, "key"', 1), "its entry is cut, or no entry"),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_entry_that_was_not_sealed_here_is_made_again_and_that_is_said(tmp_path: Path, name: str) -> None:
    change, says = FORGED[name]
    cache = Cache(tmp_path / "c", SECRET)
    memory = reuse.Memory(None, tmp_path)
    memory._cache, memory._environment = cache, "here"
    given = {"what": "certificate"}
    memory.keep(memory.seek("a.toml", given, None), '"verdict": "REFUTED"')
    assert memory.seek("a.toml", given, None).found == '"verdict": "REFUTED"'
    (path,) = (tmp_path / "c").glob("*.json")
    path.write_text(change(path.read_text()))
    sought = memory.seek("a.toml", given, None)
    assert sought.found is None
    assert sought.said == f"{says}; it was made again"
    memory.keep(sought, "fresh")
    assert memory.seek("a.toml", given, None).found == "fresh"


def test_a_cache_that_comes_with_a_change_is_no_green_light(folder: Path) -> None:
    """An entry that whoever proposes the change has made, for this very key, is not believed."""
    (folder / "ldpaudit.toml").write_text('deployments = ["ours.toml"]\ntrials = 1000\n')
    (folder / "ours.toml").write_text(DEPLOYMENT.format(true=2, claimed=1))
    theirs = b"y" * 32
    assert checked(folder, theirs).exit_code == 1
    entry(folder).write_text(resealed(entry(folder).read_text(), theirs))
    with suppress(LdpauditError):  # the certificate inside has a digest of its own
        assert reused(checked(folder, theirs)) == "1 of 1 from the cache"
    result = checked(folder)
    assert (result.exit_code, reused(result)) == (1, "0 of 1 from the cache")
    assert result.reuse is not None
    assert result.reuse.remarks == ["ours.toml: its entry was not sealed here; it was made again"]


def test_all_of_the_cache_is_read_before_any_code_runs(
    folder: Path, unwatched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that writes into the cache cannot answer for another target of the same run."""
    (folder / "ldpaudit.toml").write_text(CONFIG + CONFIG[CONFIG.index("[[") :].replace('"code"', '"other"'))
    read = Cache.read

    def noted(self: Cache, key: str) -> str | None:
        unwatched.append("read")
        return read(self, key)

    monkeypatch.setattr(Cache, "read", noted)
    checked(folder)
    assert unwatched == ["read", "read", "read", "code", "other"]


def test_code_that_changes_while_it_is_audited_is_not_kept(
    folder: Path, unwatched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = gate._done

    def changes(*arguments: Any) -> Any:
        write(folder, {"cached/levels.py": "P = 1\n"})
        return done(*arguments)

    monkeypatch.setattr(gate, "_done", changes)
    result = checked(folder)
    assert result.reuse is not None
    assert result.reuse.remarks == ["code: it is not kept: its code was changed meanwhile"]


def test_a_cache_that_cannot_be_written_fails_no_build(folder: Path) -> None:
    (folder / "ldpaudit.toml").write_text('deployments = ["ours.toml"]\ntrials = 1000\n')
    (folder / ".cache").write_text("a file")
    result = checked(folder)
    assert result.exit_code == 0
    assert "needs a place that can be written" in str(result.reuse and result.reuse.remarks)


class Foreign(KaryRandomizedResponse):
    """A mechanism of another package, whose files no key has."""


def test_a_deployment_whose_mechanism_is_another_packages_is_not_kept_and_that_is_said(folder: Path) -> None:
    known = ask(folder / "ours.toml")
    assert isinstance(known, Asked)
    foreign = replace(known, deployment=replace(known.deployment, plan=Run(Foreign.for_epsilon(1.0, k=4))))
    memory = reuse.Memory(Cache(folder / ".cache", SECRET), folder)
    sought = gate._seek_deployment(memory, foreign, "ours.toml", gate.find_config(folder)[1])
    assert (sought.key, sought.said) == ("", "it is not kept: its mechanism is another package's")
