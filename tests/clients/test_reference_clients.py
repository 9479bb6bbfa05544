"""The clients of examples/clients draw what the test vectors say, in three languages."""

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.clients.vectors import header, vectors
from ldpaudit.mechanisms import DBitFlip, HadamardResponse, LocalHashing, Loloha, LongitudinalUnary, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from tests.helpers import ROOT, stdout, within

CLIENTS = ROOT / "examples" / "clients"
P, Q = Fraction(2, 3), Fraction(1, 257)
LONG = Fraction(3**700 - 1, 3**700)
"""A probability of 1,110 bits, whose digits do not end; they begin with 138 times 255."""
SETTINGS = (
    KaryRandomizedResponse.for_epsilon(1, 2),
    KaryRandomizedResponse(300, LONG),
    UnaryEncoding.optimized(1, 9),
    UnaryEncoding(5, P, Q),
    Rappor(16, 3, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)),
    Rappor(70, 2, Fraction(0), Q, P, reports=3, domain=1 << 31 - 1),
    PermanentRappor(8, 2, Fraction(2, 7)),
    LongitudinalUnary(5, P, Q, Fraction(3, 4), Fraction(1, 5), reports=3),
    UnaryEncoding.thresholded(1, 3),
    LocalHashing.optimal(2, 1 << 20),
    LocalHashing(3, P, 5, prime=5),
    Loloha(3, P, Fraction(3, 4), domain=9, reports=4),
    HadamardResponse.for_epsilon(1, 100),
    HadamardResponse(2**62 - 1, LONG),
    CountMeanSketch.for_epsilon(2, 17, 5),
    CountMeanSketch(2, 1 << 16, P),
    HadamardCountMeanSketch.for_epsilon(2, 1 << 10, 1 << 10),
    DBitFlip.for_epsilon(1, 32, 4),
    DBitFlip(3, 3, P),
)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler cc")
    made = tmp_path_factory.mktemp("clients") / "client"
    warned = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *warned, "-O1", "-o", str(made), str(CLIENTS / "client.c")], check=True)
    return made


@pytest.fixture(params=["py", "mjs", "c"])
def client(request: pytest.FixtureRequest) -> list[str]:
    """The command of a client."""
    if request.param == "c":
        return [str(request.getfixturevalue("in_c"))]
    if request.param == "py":
        return [sys.executable, "-IS", str(CLIENTS / "client.py")]
    if (node := shutil.which("node")) is None:
        pytest.skip("there is no node")
    return [node, str(CLIENTS / "client.mjs")]


def answers(client: list[str], *lines: object) -> list[dict[str, Any]]:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(client, input=text, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_reference_client_draws_what_the_vectors_say(client: list[str]) -> None:
    for m in SETTINGS:
        known = list(vectors(m, 8))
        expected = [{"report": v.record["report"], "used": len(v.bytes)} for v in known]
        assert answers(client, header(m), *(v.record for v in known)) == json.loads(json.dumps(expected)), m


def test_a_reference_client_says_where_bytes_are_lacking_and_draws_fresh_ones_where_none_are_given(client: list[str]) -> None:
    requests = [{"input": 0, "bytes": given} for given in ("", "55", "55ff00", "fe", "fe0700")]
    m = KaryRandomizedResponse(3, Fraction(1, 3))
    lacking = {"error": "needs more bytes than it was given"}
    expected = [lacking, lacking, {"report": 1, "used": 3}, lacking, {"report": 2, "used": 2}]
    assert answers(client, header(m), *requests) == expected
    many = KaryRandomizedResponse(1 << 62, Fraction(1, 1 << 62))
    reports = [answer["report"] for _ in range(2) for answer in answers(client, header(many), *[{"input": 1}] * 2000)]
    assert len(set(reports)) == 4000
    assert all(sum(report >> bit & 1 for report in reports) in range(1700, 2300) for bit in range(62))
    assert answers(client, header(many), {"input": 1})[0].keys() == {"report"}


def test_no_client_is_longer_than_200_lines_or_needs_a_package() -> None:
    for file in CLIENTS.iterdir():
        assert len(file.read_text().splitlines()) < 200


@pytest.mark.slow
def test_a_reference_client_conforms_in_a_million_reports(client: list[str]) -> None:
    stdout(within(ROOT, "conform", f"exec:{' '.join(client)}", "randomized_response", "k=4", "epsilon=1"))
