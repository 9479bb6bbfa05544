"""The kinds of input that are fuzzed: how each is made from a valid one, and which command reads it."""

import base64
import json
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import fuzz_files
from benchmarks.fuzz_mutations import EXPRESSIONS, broken, changed, expression, toml

DEPLOYMENT = b"""schema = "ldpaudit.deployment/1"
id = "notification"
title = "A metric"
sources = ["a page"]

[mechanism]
kind = "randomized_response"
k = 5
rho = "2/(1+exp(8))"

[contribution]
reports = 3

[shuffle]
users = 3

[[claims]]
id = "report"
epsilon = 8
delta = "1/1000"
unit = "report"
view = "local"
expect = "refuted"

[[claims]]
id = "day"
epsilon = "?"
unit = "user-day"
view = "shuffled"
neighbours = "replace-one"
"""
GATE = b"""deployments = ["deployment.toml"]
seed = 3
trials = 256
confidence = 0.99
require-decision = false
baseline = "baseline.json"

[[targets]]
id = "coin"
callable = "fuzzed_target:response"
inputs = [0, 1]
epsilon = 1
delta = 0
"""
SMALL = b"""schema = "ldpaudit.deployment/1"
id = "small"
[mechanism]
kind = "randomized_response"
k = 2
epsilon = 1
[[claims]]
id = "report"
epsilon = 1
"""
TARGET = "import random\n\ndef response(x):\n    return x if random.random() < 0.7 else 1 - x\n"
ANSWERS = b"0\n1\n1\n0\n" * 400
PROGRAM = 'exec 3< "$1"; while read -r question; do IFS= read -r answer <&3 || exit; printf "%s\\n" "$answer"; done\n'
"""A program that answers each question with the next line of a file."""
SAMPLED = ("--trials", "256")  # enough for a callable on two inputs, of which an audit needs 214


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of input."""

    share: float  # of all inputs
    make: Callable[[Random], bytes]  # random generator to the input: bytes of a file, or arguments as JSON
    # (input, folder) to the arguments of the command that reads it, after the files are laid out in that folder; or a
    # function of the library that is called
    place: Callable[[bytes, Path], list[str] | Callable[[], Any]]
    # whether exit code 0 may be an input's; what else ends with it is a finding
    believable: Callable[[bytes], bool] = lambda data: True


def _file(seed: bytes, parse: Callable[[str], Any], write: Callable[[Any], bytes]) -> Callable[[Random], bytes]:
    """A generator that changes a file's tree, its bytes, or both."""
    tree = parse(seed.decode())

    def make(rng: Random) -> bytes:
        data = write(changed(tree, rng)) if rng.random() < 0.7 else seed
        return broken(data, rng) if data is seed or rng.random() < 0.2 else data

    return make


def _json(tree: Any) -> bytes:
    return json.dumps(tree).encode("utf-8", "surrogatepass")


@cache
def _deployments() -> tuple[tuple[bytes, Any], ...]:
    texts = [DEPLOYMENT, *(file.read_bytes() for file in sorted(Path(__file__).parent.parent.glob("deployments/*.toml")))]
    return tuple((text, tomllib.loads(text.decode())) for text in texts)


def _deployment(rng: Random) -> bytes:
    text, tree = rng.choice(_deployments()) if rng.random() < 0.5 else _deployments()[0]
    data = toml(changed(tree, rng)) if rng.random() < 0.7 else broken(text, rng)
    return broken(data, rng) if rng.random() < 0.1 else data


def _certify(data: bytes, folder: Path) -> list[str]:
    (folder / "deployment.toml").write_bytes(data)
    return ["certify", str(folder / "deployment.toml"), "--output", str(folder / "out"), *SAMPLED, "--jobs", "1"]


def _expression(rng: Random) -> bytes:
    text = expression(rng) if rng.random() < 0.8 else rng.choice(EXPRESSIONS)
    data = text.encode("utf-8", "surrogatepass")
    return broken(data, rng) if rng.random() < 0.3 else data


def _parse(data: bytes, folder: Path) -> Callable[[], Any]:
    from ldpaudit.core.expression import parse

    return lambda: parse(data.decode("utf-8", "surrogateescape"))


@cache
def _callables() -> tuple[tuple[list[str], Mapping[str, Any]], ...]:
    """Every constructor of every mechanism, and every calculator: how it is called, and its parameters."""
    from ldpaudit import mechanisms
    from ldpaudit.accountants.limits import calculators
    from ldpaudit.registry import constructors, parameters_of

    found: list[tuple[list[str], Mapping[str, Any]]] = []
    for stem in mechanisms.stems():
        for variant, owner in mechanisms.classes(stem).items():
            name = f"{stem}:{variant}" if variant else stem
            found += [(["account", name], parameters_of(make)) for make in constructors(owner).values()]
    return (*found, *((["limit", name], parameters_of(make)) for name, make in calculators().items()))


def _value(rng: Random) -> str:
    usual = rng.choice(("1", "2", "3", "4", "8", "10", "100", "1/2", "1/4", "3/4", "0.9", "1e-6"))
    return usual if rng.random() < 0.85 else expression(rng, 1)


def _parameters(rng: Random) -> bytes:
    words, parameters = rng.choice(_callables())
    given = [f"{name}={_value(rng)}" for name in parameters if rng.random() < 0.97]
    options = [f"--{name}={_value(rng)}" for name in ("delta", "shuffle", "repeat", "subsample") if rng.random() < 0.15]
    return _json([*words, *given, *(options if words[0] == "account" else [])])


def _gate(data: bytes, folder: Path) -> list[str]:
    _lay_out(folder, data, b"")
    (folder / "out" / "baseline.json").unlink()
    return ["check", str(folder / "out"), *(["--update-baseline"] if len(data) % 2 else [])]


def _baseline(data: bytes, folder: Path) -> list[str]:
    _lay_out(folder, b'deployments = ["deployment.toml"]\ntrials = 256\nbaseline = "baseline.json"\n', data)
    return ["check", str(folder / "out")]


def _lay_out(folder: Path, gate: bytes, baseline: bytes) -> None:
    files = {"ldpaudit.toml": gate, "deployment.toml": SMALL, "baseline.json": baseline, "fuzzed_target.py": TARGET.encode()}
    for name, content in files.items():
        (folder / "out" / name).write_bytes(content)


CLAIM = {"verdict": "PROVED", "high": "1.0", "delta": 0.0, "unit": "report", "neighbours": "replace-one"}
BASELINE = {
    "schema": "ldpaudit.baseline/1",
    "claims": {"small/report": CLAIM, "gone/report": {**CLAIM, "verdict": "UNDECIDED", "high": None}},
}


@cache
def written(deployment: bytes = DEPLOYMENT) -> dict[str, Any]:
    """A certificate, by default of the first deployment above."""
    import tempfile

    from ldpaudit.certificates.certify import certify

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "deployment.toml"
        file.write_bytes(deployment)
        (Path(folder) / "m.csv").write_text("3/4,1/4\n1/3,rest\n", encoding="utf-8")
        return certify(file, seed=1, trials=64).to_dict()


def _certificate(rng: Random) -> bytes:
    """Changed, and in most cases signed again: what is behind the digest must not be trusted either."""
    tree = changed(written(), rng)
    data = _json(signed(tree) if rng.random() < 0.8 else tree)
    return broken(data, rng) if rng.random() < 0.1 else data


def signed(tree: Any) -> Any:
    """With the digest and the verdict that go with the rest."""
    from ldpaudit.certificates.certificate import Certificate

    try:
        rest = {name: value for name, value in tree.items() if name not in ("digest", "verdict", "schema")}
        of = Certificate.model_validate_json(_json({**rest, "schema_": tree["schema"]}))
        return {**tree, "digest": of.digest, "verdict": str(of.verdict)}
    except Exception:  # it is none any more, and is refused for that
        return tree


def _verify(data: bytes, folder: Path) -> list[str]:
    (folder / "certificate.json").write_bytes(data)
    return ["verify", str(folder / "certificate.json")]


def _audit(checkpoint: Path) -> Any:
    import ldpaudit
    from ldpaudit.workers.experiment import Execution

    m = ldpaudit.mechanisms.KaryRandomizedResponse.for_epsilon(1.0, k=2)
    return ldpaudit.audit(m, epsilon=1.0, trials=256, execution=Execution(checkpoint=checkpoint))


@cache
def _state() -> dict[str, Any]:
    """What an audit wrote last."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        _audit(file := Path(folder) / "checkpoint.json")
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def _checkpoint(rng: Random) -> bytes:
    tree = _state()
    tree = {**tree, "state": changed(tree["state"], rng)} if rng.random() < 0.8 else changed(tree, rng)
    data = _json(tree)
    return broken(data, rng) if rng.random() < 0.15 else data


def _go_on(data: bytes, folder: Path) -> Callable[[], Any]:
    file = folder / "out" / "checkpoint.json"
    file.write_bytes(data)
    return lambda: _audit(file)


CHANNEL = b"""schema = "ldpaudit.deployment/1"
id = "channel"
[mechanism]
kind = "channel"
file = "m.csv"
[[claims]]
id = "report"
epsilon = 3
"""


def _channel(data: bytes, folder: Path) -> list[str]:
    """Half of the matrices are in a file, half in a certificate, which a stranger signed as its own."""
    name, content = fuzz_files.unnamed(data)
    if len(data) % 2:
        (folder / name).write_bytes(content)
        return ["account", "channel", f"file={folder / name}"]
    tree, files = written(CHANNEL), {name: base64.b64encode(content).decode()}
    return _verify(_json(signed({**tree, "deployment": tree["deployment"].replace("m.csv", name), "files": files})), folder)


WORDS = ("trie_heavy_hitter", "users=600", "batch=400", "threshold=10", "levels=5", "--end", "$")
RUNS = {
    "run": WORDS,
    "counts": (*WORDS, "--counts", "users"),
    "numbered": ("tree_histogram", "users=600", "domain=2**56", "width=8", "p=1-1e-9", "--numbered", "--column", "input"),
}
"""Of `ldpaudit run`, by what reads the data."""


def _users(data: bytes, folder: Path) -> list[str] | Callable[[], Any]:
    from ldpaudit.files import user_data

    name, content = fuzz_files.unnamed(data)
    (file := folder / name).write_bytes(content)
    reader = file.stem
    if reader == "compare":
        return lambda: user_data.read(file).numbered()
    if reader == "log":
        return ["audit", f"log:{file}", "--epsilon", "1", *SAMPLED]
    return ["run", *RUNS[reader], "--data", str(file), "--output", str(folder / "out" / "found.json"), "--seed", "1"]


def _parts(data: bytes) -> tuple[bytes, bytes]:
    key, _, signature = data.rpartition(fuzz_files.SPLIT)
    return key, signature


def _verify_signed(data: bytes, folder: Path) -> list[str]:
    for name, content in zip(("public.pem", "certificate.json.sig"), _parts(data), strict=True):
        (folder / name).write_bytes(content)
    return [*_verify(_json(written()), folder), "--key", str(folder / "public.pem")]


def _answers(rng: Random) -> bytes:
    lines = [json.loads(line) for line in ANSWERS.splitlines()]
    data = b"".join(_json(value) + b"\n" for value in changed(lines, rng)) if rng.random() < 0.6 else ANSWERS
    return broken(data, rng)


def _audit_program(data: bytes, folder: Path) -> list[str]:
    (folder / "answers").write_bytes(data)
    (folder / "program").write_text(PROGRAM, encoding="utf-8")
    command = f"exec:sh {shlex.quote(str(folder / 'program'))} {shlex.quote(str(folder / 'answers'))}"
    return ["audit", command, "--inputs", "0", "1", "--epsilon", "1", *SAMPLED]


KINDS = {
    "expression": Kind(0.30, _expression, _parse),
    "parameters": Kind(0.13, _parameters, lambda data, _: json.loads(data)),
    "deployment": Kind(0.10, _deployment, _certify),
    "certificate": Kind(0.10, _certificate, _verify),
    "matrix": Kind(0.10, fuzz_files.matrix, _channel),
    "data": Kind(0.08, fuzz_files.data, _users),
    "key": Kind(0.05, lambda rng: fuzz_files.keyed(rng, _json(written())), _verify_signed,
                lambda data: fuzz_files.right(*_parts(data), _json(written()))),
    "gate": Kind(0.05, _file(GATE, tomllib.loads, toml), _gate),
    "baseline": Kind(0.04, _file(_json(BASELINE), json.loads, _json), _baseline),
    "checkpoint": Kind(0.04, _checkpoint, _go_on),
    "program": Kind(0.01, _answers, _audit_program),
}
