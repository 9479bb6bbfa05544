"""``ldpaudit vectors`` and ``conform``: who draws anything else, or the same again, is refused."""

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ldpaudit import registry
from ldpaudit.clients.vectors import chosen, header, vectors
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.helpers import ROOT, fails_in_one_line, run, stdout

CLIENT = (ROOT / "examples" / "clients" / "client.py").read_text()
RESPONSE = ("randomized_response", "k=4", "epsilon=1")
HASHING = ("local_hashing", "domain=9", "epsilon=1", "g=3")
Conform = Callable[..., CompletedProcess[str]]


@pytest.fixture
def conform(tmp_path: Path) -> Conform:
    """Runs `conform` on the reference client with parts replaced, each of which it must have."""

    def judged(changes: dict[str, str], *arguments: str) -> CompletedProcess[str]:
        text = CLIENT
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "client.py"
        file.write_text(text)
        return run("conform", f"exec:{sys.executable} -IS {file}", *arguments)

    return judged


def test_the_reference_client_conforms(conform: Conform) -> None:
    shown = stdout(conform({}, *RESPONSE, "--views", "4000"))
    assert "conforms\nits reports are those of 400 vectors, on 4 inputs\nno repetition" in shown
    assert "epsilon = 1 is not refuted by 4,000 of its reports: epsilon >= 0." in shown


BROKEN = {
    "probabilities as floats": ({"num, den = p.numerator, p.denominator": "num, den = float(p).as_integer_ratio()"}, RESPONSE),
    "a float instead of a coin": ({"digit, num = divmod(num * 256, den)": "return int(self.take(7)[0] / 256 < p)"}, RESPONSE),
    "swapped probabilities": (
        {"r.coin(p if bit == x else q)": "r.coin(q if bit == x else p)"},
        ("unary_encoding", "k=4", "p=1/2", "q=1/4"),
    ),
    "the truth among the lies": ({"r.uniform(n - 1)": "r.uniform(n)", "drawn + (drawn >= x)": "drawn"}, RESPONSE),
    "a remainder in place of a rejection": ({"if drawn < n:\n                return drawn": "return drawn % n"}, HASHING),
    "floats in reports": ({'{"report": y, ': '{"report": float(y), '}, RESPONSE),
    "a byte that was not used": ({'"used": r.used': '"used": r.used + 1'}, RESPONSE),
    "bytes taken ahead": ({"self.used += count\n        if": "self.used += max(count, 4)\n        if"}, RESPONSE),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("mistake", BROKEN)
def test_a_client_that_draws_anything_else_is_refused_with_the_first_report_that_differs(mistake: str, conform: Conform) -> None:
    changes, mechanism = BROKEN[mistake]
    found = json.loads(stdout(conform(changes, *mechanism, "--format", "json"), 1))
    assert (found["conforms"], found["repetition"], found["audit"]) == (False, None, None)
    name, *given = mechanism
    known = [json.loads(line) for line in run("vectors", name, *given).stdout.splitlines()[1:]]
    number, answer = found["difference"].pop("number"), found["difference"].pop("answer")
    assert found["difference"] == known[number - 1]
    expected = {"report": known[number - 1]["report"], "used": len(known[number - 1]["bytes"]) // 2}
    assert json.dumps(answer) != json.dumps(expected)
    shown = conform(changes, *mechanism).stdout
    assert f"REFUSED\nof {len(known):,} vectors, report {number} differs:\n  input     0\n  bytes     " in shown
    assert "\n  expected  " in shown
    assert "\n  got       " in shown


REPEATED = {
    "a seed that is written down": ("OWN = random.Random(7)", "OWN.randbytes(count)", "reports of two processes"),
    "the time as a seed": ("OWN = random.Random(time.time() // 1000)", "OWN.randbytes(count)", "reports of two processes"),
    "a seed for each report": ("", "random.Random(self.used).randbytes(count)", "reports of one process, one after the other,"),
    "a seed for each process": ("OWN = os.getpid() << 9", "random.Random(OWN + self.used).randbytes(count)", "reports of one"),
    "one hash function for all": ("", "bytes(count) if count == 4 else os.urandom(count)", "numbers 1, 2 of reports of one"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("mistake", REPEATED)
def test_a_client_that_repeats_its_randomness_is_refused_with_a_report_that_is_repeated(mistake: str, conform: Conform) -> None:
    own, drawn, says = REPEATED[mistake]
    changes = {"import json\n": f"import json, os, random, time\n{own}\n", "os.urandom(count)": drawn}
    shown = stdout(conform(changes, *HASHING), 1)
    assert f"REFUSED\nit repeats its randomness: {says}" in shown
    assert "are equal on input 0: report 1 of 1,024 is [" in shown


def test_a_file_of_vectors_names_the_mechanism_and_its_inputs_from_the_first_to_the_last() -> None:
    m = registry.build("unary_encoding", "", {"k": 1000, "p": "1/2", "q": "1/3"})
    assert registry.build("unary_encoding", "", header(m)["parameters"]) == m
    assert chosen(m) == [0, 142, 285, 428, 570, 713, 856, 999, None]
    assert chosen(KaryRandomizedResponse(8, Fraction(1, 2))) == [*range(8)]
    assert [v.input for v in vectors(m, 2)] == [x for x in chosen(m) for _ in range(2)]
    assert {v.bytes for v in vectors(m, 1)}.isdisjoint(v.bytes for v in vectors(m, 1, seed=1))


def test_vectors_are_of_a_deployments_report_as_of_its_mechanism_and_the_header_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "votes.toml"
    file.write_text(run("init", "randomized_response").stdout)
    printed = run("vectors", str(file), "--count", "2", "--seed", "5").stdout
    assert printed == run("vectors", "randomized_response", "k=4", "p=1/2", "--count", "2", "--seed", "5").stdout
    first, *lines = map(json.loads, printed.splitlines())
    kind = {"format": "ldpaudit.vectors/1", "mechanism": "randomized_response", "variant": ""}
    assert first == kind | {"parameters": {"k": 4, "p": "1/2"}}
    assert [line.keys() for line in lines] == [{"input", "bytes", "report"}] * 8
    assert run("vectors", str(file), "--count", "0").stdout == json.dumps(first) + "\n"


def test_vectors_follow_the_digits_of_a_probability_and_reject_numbers() -> None:
    third, numbers = KaryRandomizedResponse(2, Fraction(1, 2) + Fraction(1, 3**99)), KaryRandomizedResponse(6, Fraction(1, 4))
    assert max(len(v.bytes) for v in vectors(third, 100)) > 30
    assert {v.bytes[0] for v in vectors(third, 100) if len(v.bytes) > 1} == {128}
    assert any(v.bytes[1] & 7 > 4 for v in vectors(numbers, 100) if len(v.bytes) > 2)


@pytest.mark.parametrize(("arguments", "says"), [
    (("vectors", "guarantee", "epsilon=1"), "no report is known"),
    (("vectors", "geometric", "epsilon=1", "bound=3"), "its clients have no test vectors"),
    (("vectors", "nothing"), "needs one of those that `ldpaudit mechanisms` lists"),
    (("conform", "exec:true"), "needs --deployment FILE or a mechanism, got neither"),
    (("conform", "exec:true", "windows-telemetry", "k=4"), "needs a mechanism for k=4, got the deployment"),
    (("conform", "client.py", *RESPONSE), "conform needs exec:COMMAND"),
    (("conform", "exec:true", *RESPONSE), "true ended before it answered"),
    (("conform", "exec:echo 1", *RESPONSE), "which answers no question"),
])  # fmt: skip
def test_what_has_no_client_and_what_is_none_is_an_error_of_one_line(arguments: tuple[str, ...], says: str) -> None:
    fails_in_one_line(run(*arguments), says)


def test_a_client_whose_own_reports_are_not_of_the_law_is_refuted_though_it_passes_its_vectors(conform: Conform) -> None:
    lazy = {"def coin(self, p):\n": "def coin(self, p):\n        if self.given is None: return int(os.urandom(1)[0] < 240)\n"}
    shown = stdout(conform(lazy, *RESPONSE, "--views", "20000", "--format", "json"), 1)
    found: dict[str, Any] = json.loads(shown)
    assert (found["conforms"], found["difference"], found["repetition"]) == (False, None, None)
    assert found["audit"]["epsilon_lower"] > 1
    assert found["audit"]["confidence"] == 1 - 1e-6
