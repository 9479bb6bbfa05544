"""Reports on public seeds: with the support of a report the auditor sees what anybody can compute of it."""

import hashlib
import json
import math
import random
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.adapters import hashes
from ldpaudit.adapters.programs import Program
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox.sampler import Sampler
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import SUPPORTED, UNREADABLE, Form
from tests.helpers import raises, stdout, within

TRUTH = math.e / (1 + math.e)
CLIENT = """
import hashlib, random

rng = random.Random(5)

def hashed(seed, value):
    return hashlib.sha256(f"{seed} {value}".encode()).digest()[0] % 2

def client(x):
    seed = rng.getrandbits(64)
    return seed, hashed(seed, x) ^ (rng.random() > 0.9)

def support(report, x):
    return hashed(report[0], x) == report[1]
"""


def hashed(seed: int, value: Any) -> int:
    return hashlib.sha256(f"{seed} {value}".encode()).digest()[0] % 2


def support(report: Any, x: Any) -> bool:
    return bool(hashed(int(report[0]), x) == report[1])


def client(truth: float) -> Callable[[Any], Any]:
    rng = random.Random(3)

    def report(x: Any) -> Any:
        seed = rng.getrandbits(62)
        return seed, hashed(seed, x) ^ (rng.random() > truth)

    return report


def many(x: int, size: int, rng: np.random.Generator) -> Any:
    seeds = rng.integers(0, 1 << 62, size)
    return np.array([(seed, hashed(int(seed), x) ^ lie) for seed, lie in zip(seeds, rng.random(size) > 0.9, strict=True)])


@pytest.mark.few(2)
@pytest.mark.parametrize(("function", "inputs", "form", "users"), [
    *((client(0.9), ["a", "b"], form, users) for form in (Form.RAW, Form.CANONICAL) for users in (1, 2)),
    (many, [0, 1], Form.RAW, 1),
])  # fmt: skip
def test_a_hashing_client_that_leaks_is_refuted_with_its_support(
    function: Callable[..., Any], inputs: list[Any], form: Form, users: int
) -> None:
    found = audit(function, inputs=inputs, epsilon=1.0, trials=4_000, reading=Reading(form, users, support=support))
    assert found.refutes(1)
    assert SUPPORTED in found.event


@pytest.mark.slow
def test_a_sound_hashing_client_is_not_refuted_and_is_said_to_be_seen() -> None:
    sound = client(TRUTH)
    found = audit(sound, inputs=[0, 1], epsilon=1.0, trials=10_000, confidence=0.999, reading=Reading(support=support))
    assert 0.65 < found.epsilon_lower <= 1
    nothing = audit(client(0.5), inputs=[0, 1], epsilon=1.0, trials=4_000, reading=Reading(support=support))
    assert nothing.resolution.startswith("no event was found")


def test_of_reports_that_are_nearly_all_different_the_message_names_the_support_first() -> None:
    assert audit(client(0.9), inputs=[0, 1], epsilon=1.0, trials=4_000).resolution.startswith(UNREADABLE)
    assert UNREADABLE.index("support") < UNREADABLE.index("mechanism")


def test_a_support_that_raises_or_cannot_be_called_is_an_error_of_one_line() -> None:
    with pytest.raises(ImplementationError, match=r"the support raised ZeroDivisionError"):
        audit(client(0.9), inputs=[0, 1], trials=1_000, reading=Reading(support=lambda report, x: 1 / 0))
    raises(TypeError, "support to be a function", Reading, support=7)


@pytest.mark.slow
def test_a_program_has_a_support_on_the_command_line_and_in_a_gate(tmp_path: Path) -> None:
    (tmp_path / "hashing_client.py").write_text(CLIENT, encoding="utf-8")
    loop = "for line in sys.stdin: print(json.dumps(client(json.loads(line))), flush=True)"
    (tmp_path / "serve.py").write_text(f"import json, sys\nfrom hashing_client import client\n{loop}\n", encoding="utf-8")
    program = f"exec:{shlex.quote(sys.executable)} serve.py"
    options = ["--inputs", "0", "1", "--epsilon", "1", "--trials", "1500", "--support", "hashing_client:support"]
    done = within(tmp_path, "audit", program, *options, "--format", "json")
    assert (done.returncode, done.stdout and json.loads(done.stdout)["refuted"]) == (1, True), done.stderr
    target = 'id = "hashed"\ncallable = "hashing_client:client"\nsupport = "hashing_client:support"\ninputs = [0, 1]\nepsilon = 1\n'
    (tmp_path / "ldpaudit.toml").write_text(f"trials = 1500\n[[targets]]\n{target}", encoding="utf-8")
    assert "--support hashing_client:support" in stdout(within(tmp_path, "check"), 1)


COUNTING = "n = 0\nwhile input(): print(n, flush=True); n += 1"


@pytest.mark.parametrize(("reading", "first", "second"), [
    (Reading(support=lambda report, x: x == report), [([True, False], 0), ([False, False], 2)], [([False, True], 1)]),
    (Reading(Form.CANONICAL), [0, 2], [1]),
    (Reading(users=2), [(0, 1, False, 1.0), (4, 5, False, 1.0)], [(2, 3, False, 1.0)]),
])  # fmt: skip
def test_a_program_keeps_its_own_order_however_it_is_read(reading: Reading, first: list[Any], second: list[Any]) -> None:
    xs = [(0, 0), (1, 0)] if reading.users == 2 else [0, 1]
    with Program([sys.executable, "-c", COUNTING], 5) as program:
        read: Any = Sampler.of(program, reading, [0, 1]).function
        assert read.in_order(xs, [0, 1, 0]) == [first, second]


def test_the_packages_clients_are_known_by_their_own_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = ModuleType("xxhash")

    def digest(text: str, seed: int) -> int:
        return int.from_bytes(hashlib.sha256(f"{text} {seed}".encode()).digest()[:4])

    fake.xxh32 = lambda text, seed: type("Digest", (), {"intdigest": lambda self: digest(text.decode(), seed)})()
    monkeypatch.setitem(sys.modules, "xxhash", fake)
    rng = random.Random(4)

    class LHClient:
        """As pure-ldp's: items count from 1."""

        g = 4

        def index_mapper(self, x: int) -> int:
            return x - 1

        def privatise(self, x: int) -> tuple[int, int]:
            seed = rng.getrandbits(63)
            truth = digest(str(x - 1), seed & hashes.SEED) % 4
            return truth if rng.random() < 0.9 else rng.randrange(4), seed

    LHClient.__module__ = "pure_ldp.frequency_oracles.local_hashing.lh_client"
    for target in (LHClient(), LHClient().privatise):  # an object that has the method, and the method
        assert audit(cast(Any, target), inputs=[1, 2], epsilon=1.0, trials=4_000).refutes(1)
    assert hashes.support_of(client) is None
    report = LHClient().privatise(3)
    assert hashes.xxh32(4)(report, 2) == (digest("2", report[1] & hashes.SEED) % 4 == report[0])
