"""Two programs by two hands, from one page, agree on which proofs are valid."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.random_proofs import compare, second, second_of
from ldpaudit.certificates import verify_certificate as first
from ldpaudit.certificates.ledger import proved
from ldpaudit.files.bundled import ids

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.mark.slow
def test_both_programs_find_every_proof_of_the_bundled_deployments_valid() -> None:
    records = list(proved(ids()))
    assert len(records) > 70
    assert second_of(records) == ["VALID"] * len(records)


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_both_programs_agree_on_random_proofs_at_their_limits(count: int, tmp_path: Path) -> None:
    found = compare(tmp_path / "proofs.jsonl", count)
    assert found["proofs"] >= count
    assert not [what for what in found if "DISAGREEMENT" in what]


RESPONSE = {"word": "randomized_response", "k": 3, "p": "1/2"}
PROOF: dict[str, Any] = {"schema": "ldpaudit.proof/1", "plan": RESPONSE, "relation": "replace-one", "says": "private"}
PROOF |= {"epsilon": "1", "delta": "0", "witness": {}}
CLAIM = {"id": "a", "verdict": "PROVED", "epsilon": "1", "delta": "0", "neighbours": "replace-one", "proof": PROOF}
NOISE = {"word": "discrete_laplace", "alpha": "1/4", "change": 1}
SUMMED = {"word": "repeat", "of": {"word": "sum", "of": RESPONSE, "users": 5}, "times": 1}
FORGED: dict[str, Any] = {
    "a certificate of another schema": {"schema": "ldpaudit.certificate/2", "claims": [CLAIM | {"epsilon": "0.1"}]},
    "a certificate without a schema": {"claims": [CLAIM | {"epsilon": "0.1"}]},
    "a claim whose epsilon has a point": {"schema": "ldpaudit.certificate/1", "claims": [CLAIM | {"epsilon": 0.1}]},
    "runs of a sum that cost the most": PROOF | {"says": "not private", "epsilon": "0.1", "plan": SUMMED},
    "noise for a group": PROOF
    | {"plan": NOISE, "relation": "group-of-2", "epsilon": "2.7", "delta": "1/20", "witness": {"digits": 30, "ratio": "4"}},
    "noise on either of two counts": PROOF | {
        "plan": {"word": "sum", "of": RESPONSE | {"k": 2, "p": "3/4"}, "users": 3, "discrete_gaussian": ["16"]},
        "epsilon": "0.3", "delta": "1/1000", "witness": {"digits": 30, "starts": [0, 1, 2]},
    },
    "shuffled bits as if they were counted": PROOF | {
        "plan": {"word": "shuffle", "of": {"word": "bits", "p": "3/4", "q": "1/4", "only_here": 1, "only_there": 1}, "users": 200},
        "epsilon": "0.3", "delta": "1/1000", "witness": {"digits": 30, "ratio": "1.01", "starts": [0, 50, 100, 150]},
    },
    "a group with a line end": PROOF | {"relation": "group-of-1\n"},
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_neither_program_finds_a_file_valid_that_shows_less_than_it_says(name: str, tmp_path: Path) -> None:
    file = tmp_path / "0.json"
    file.write_text(json.dumps(FORGED[name]))
    assert all(said.startswith("INVALID") for said in second([file])[-1:])
    assert first.main([str(file)]) == 1  # type: ignore[no-untyped-call]
