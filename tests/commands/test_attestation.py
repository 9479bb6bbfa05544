"""``ldpaudit certify --attestation``: in-toto statements, about the files that they name, around the certificates beside them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.certificates.attestation import code_of, statement
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.signature import public_key, require
from ldpaudit.core import strict_json
from ldpaudit.errors import LdpauditError
from tests.helpers import fails_in_one_line, lay_out, make_keys, within

FILE = """\
schema = "ldpaudit.deployment/1"
id = "votes"
[mechanism]
kind = "randomized_response"
k = 2
p = "3/4"
[[claims]]
id = "report"
epsilon = "log(3)"
"""
CODE = """\
import random


def draw(x):
    return x if random.random() < 0.75 else 1 - x
"""
QUICK = ("--trials", "500", "--output", "out", "--attestation")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(folder: Path) -> Any:
    (line,) = (folder / "out" / "votes.intoto.jsonl").read_text(encoding="utf-8").splitlines()
    return strict_json.parse(line)


def test_a_statement_is_about_the_deployment_file_and_its_predicate_is_the_certificate(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(FILE.replace("\n", "\r\n").encode())
    done = within(tmp_path, "certify", "mine.toml", *QUICK)
    assert done.returncode == 0, done.stderr
    said = read(tmp_path)
    assert list(said) == ["_type", "subject", "predicateType", "predicate"]
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "urn:ldpaudit:certificate:1"
    assert said["subject"] == [{"name": "mine.toml", "digest": {"sha256": sha256(tmp_path / "mine.toml")}}]
    made = (tmp_path / "out" / "votes.json").read_text(encoding="utf-8")
    assert said["predicate"] == json.loads(made)
    assert Certificate.from_json(json.dumps(said["predicate"])).to_json() == made
    assert within(tmp_path, "verify", "out").returncode == 0, "a folder of certificates has statements beside them"


def test_a_statement_is_about_the_code_that_was_audited(tmp_path: Path) -> None:
    lay_out(tmp_path, {"d.toml": f"{FILE}[implementation]\ncallable = 'clients.web:draw'\n"})
    lay_out(tmp_path, {"clients/__init__.py": "", "clients/web.py": CODE})
    done = within(tmp_path, "certify", "d.toml", *QUICK)
    assert (tmp_path / "out" / "votes.json").exists(), done.stderr
    assert read(tmp_path)["subject"] == [
        {"name": "d.toml", "digest": {"sha256": sha256(tmp_path / "d.toml")}},
        {"name": "clients/web.py", "digest": {"sha256": sha256(tmp_path / "clients" / "web.py")}},
    ]


def test_code_is_found_without_being_run(tmp_path: Path) -> None:
    ends = {"loud.py": "raise SystemExit(3)", "pack/__init__.py": "raise SystemExit(4)", "pack/part.py": "raise OSError"}
    lay_out(tmp_path, ends)
    assert code_of("loud:f", tmp_path).content == b"raise SystemExit(3)"
    assert (code_of("pack.part:f", tmp_path).name, code_of("pack:f", tmp_path).name) == ("pack/part.py", "pack/__init__.py")
    assert code_of("json.decoder:f", tmp_path).name == "decoder.py", "what lies elsewhere is named by its file alone"


@pytest.mark.parametrize("name", ["sys:exit", "nowhere:f", "json.nowhere:f"])
def test_code_without_a_file_is_no_subject(name: str, tmp_path: Path) -> None:
    with pytest.raises(LdpauditError, match="an attestation needs code in a file"):
        code_of(name, tmp_path)
    lay_out(tmp_path, {"d.toml": f"{FILE}[implementation]\ncallable = '{name}'\n"})
    fails_in_one_line(within(tmp_path, "certify", "d.toml", *QUICK), "an attestation needs code in a file")
    assert not (tmp_path / "out").exists(), "it is known before any work is done"


def test_a_statement_is_about_the_files_that_the_deployment_names(tmp_path: Path) -> None:
    lay_out(tmp_path, {"d.toml": FILE.replace('"randomized_response"\nk = 2\np = "3/4"', '"channel"\nfile = "law.csv"')})
    lay_out(tmp_path, {"law.csv": "3/4,1/4\n1/4,3/4\n"})
    done = within(tmp_path, "certify", "d.toml", *QUICK)
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in read(tmp_path)["subject"]] == ["d.toml", "law.csv"]
    assert read(tmp_path)["subject"][1]["digest"] == {"sha256": sha256(tmp_path / "law.csv")}


def test_a_statement_is_signed_as_the_certificate_is(tmp_path: Path) -> None:
    lay_out(tmp_path, {"d.toml": FILE})
    make_keys(tmp_path)
    assert within(tmp_path, "certify", "d.toml", *QUICK, "--sign", "private.pem").returncode == 0
    made = tmp_path / "out" / "votes.intoto.jsonl"
    require(made.read_bytes(), made.with_name(made.name + ".sig"), public_key(tmp_path / "public.pem"))
    certificate = Certificate.load(tmp_path / "out" / "votes.json")
    assert statement(certificate, "d.toml") == made.read_text(encoding="utf-8")


def test_a_statement_needs_a_folder(tmp_path: Path) -> None:
    lay_out(tmp_path, {"d.toml": FILE})
    fails_in_one_line(within(tmp_path, "certify", "d.toml", "--attestation"), "needs --output, the folder for the statements")
    assert within(tmp_path, "certify", "d.toml", "--trials", "500", "--output", "out").returncode == 0
    assert not [*(tmp_path / "out").glob("*.intoto.jsonl")]
