"""Nothing that Windows lacks is used before it is asked for, and commands run where it is missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.helpers import ROOT

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


def test_what_windows_lacks_is_used_only_where_it_is_asked_for() -> None:
    found = {(str(file.relative_to(ROOT)), function): name for file in FILES for function, name in lacking(file)}
    assert found.keys() <= ASKED.keys(), {where: found[where] for where in found.keys() - ASKED.keys()}
    assert found.keys() == ASKED.keys(), "a reason that nothing needs"


def test_no_use_of_what_windows_lacks_is_overlooked(tmp_path: Path) -> None:
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


def test_commands_run_where_there_is_nothing_of_posix() -> None:
    names = {module: sorted(lacks - KEPT.get(module, set())) for module, lacks in LACKING.items()}
    code = BARE.format(names=names, modules=sorted(MODULES), commands=list(COMMANDS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    ended = re.findall("^ended with (.*)$", done.stderr, re.MULTILINE)
    assert ended == [str(code) for code in COMMANDS.values()], done.stderr
    assert "Traceback" not in done.stderr
