"""``ldpaudit verify``, ``certify --sign`` and ``--attestation``: what they print and write, and how they end."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.certificates.attestation import code_of, statement
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.signature import private_key, public_key, require
from ldpaudit.core import strict_json
from ldpaudit.errors import DeploymentError, LdpauditError
from tests.helpers import COIN, deployment, fails_in_one_line, lay_out, make_keys, process, raises, run, stdout, within
from tests.road.forgeries import DEPLOYMENT, LOCAL, UNSEEDED, Forgery, claim, counted, evidence, forged, genuine, whole

QUICK = ("--trials", "2000", "--jobs", "1")


def test_the_proofs_inside_are_checked_by_the_program_alone(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(genuine().to_json())
    bad.write_text(good.read_text().replace('"relation": "replace-one"', '"relation": "add-remove"'))
    found = [process("verify", "--proof", str(path)) for path in (good, bad)]
    assert [done.returncode for done in found] == [0, 1], found
    assert "VALID " in found[0].stdout
    assert found[1].stdout.startswith("INVALID ")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    lay_out(tmp_path, {"c.json": genuine().to_json(), "d.toml": DEPLOYMENT})
    return tmp_path / "c.json"


def test_a_certificate_stands_beside_its_deployment_and_its_samples_and_what_differs_is_printed(written: Path) -> None:
    done = run("verify", str(written), "--deployment", str(written.with_name("d.toml")), "--resample")
    assert (done.returncode, done.stdout) == (0, "base: stands (4 claims, verdict REFUTED)\n"), done.stderr
    written.with_name("d.toml").write_text(DEPLOYMENT + "\n")
    shown = stdout(run("verify", str(written), "--deployment", str(written.with_name("d.toml"))), 1)
    assert shown.splitlines()[0].endswith("d.toml")
    assert shown.splitlines()[1] == "base: does not stand (4 claims, verdict REFUTED)"
    written.write_text(forged(claim(epsilon="1/10")))
    found = json.loads(run("verify", str(written), "--format", "json").stdout)["differences"]
    assert found == ["local: epsilon is 1, not 1/10"]


def test_counts_that_were_forged_with_care_are_found_by_resampling_alone(written: Path) -> None:
    written.write_text(forged(counted(LOCAL, -1)))
    assert run("verify", str(written)).returncode == 0
    assert run("verify", str(written), "--resample").returncode == 1
    written.write_text(genuine(UNSEEDED).to_json())
    fails_in_one_line(run("verify", str(written), "--resample"), "has its own source of randomness")


def test_what_was_changed_or_written_by_a_stranger_is_told_and_does_not_reach_the_terminal(written: Path) -> None:
    written.write_text(forged(claim(reason="\x1b[2Jfine\nbase: stands")))
    done = run("verify", str(written))
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 2
    written.write_text(genuine().to_json().replace("A base", "A bass"))
    fails_in_one_line(run("verify", str(written)), "was changed after it was written")


MALFORMED: dict[str, bytes | Forgery] = {
    "binary": bytes(range(256)),
    "empty": b"",
    "deep": b"[" * 100_000,
    "null": b"null",
    "a list": b"[]",
    "an empty table": b"{}",
    "a table of three keys": b'{"digest": 1, "verdict": 2, "schema": 3}',
    "huge integer": b'{"seed": ' + b"9" * 5000 + b"}",
    "overflow": b'{"seed": 1e999}',
    "no claims": whole(claims=[]),
    "claims of another type": whole(claims={"id": 1}),
    "evidence of another type": claim(evidence=[]),
    "a pair of three": evidence(pair=["0", "1", "2"]),
    "a deployment that is none": whole(deployment=""),
    "a verdict of another type": whole(verdict=[]),
    "a digest of another type": whole(digest={}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_certificate_is_one_line_and_exit_code_2(name: str, written: Path) -> None:
    made = MALFORMED[name]
    written.write_bytes(made if isinstance(made, bytes) else forged(made).encode())
    fails_in_one_line(run("verify", str(written)), "inside the certificate" if "deployment" in name else "c.json")


def test_several_certificates_and_folders_are_a_table_and_the_worst_of_them_is_how_it_ends(tmp_path: Path, written: Path) -> None:
    (tmp_path / "empty").mkdir()
    fails_in_one_line(run("verify", str(tmp_path / "empty")), "needs certificates in JSON, found none in ")
    folder = written.parent
    lay_out(folder, {"other/same.json": genuine().to_json()})
    shown = stdout(run("verify", str(written), str(folder / "other")))
    assert shown.count("stands") == 2
    assert shown.endswith("2 of 2 certificates stand\n")
    files = "".join(line[: line.index("  ")] for line in shown.splitlines() if "  " in line)  # the first column
    assert str(folder / "other" / "same.json") in files, shown
    (folder / "other" / "forged.json").write_text(forged(whole(title="Another")))
    done = run("verify", str(folder), str(folder / "other"))
    assert (done.returncode, "does not stand: title is A base" in " ".join(done.stdout.split())) == (1, True), done.stdout
    (folder / "other" / "changed.json").write_text(genuine().to_json().replace("A base", "A bass"))
    shown = stdout(run("verify", str(folder / "other")), 2)
    assert "was changed" in shown
    assert shown.endswith("1 of 3 certificates stand\n")
    found = json.loads(run("verify", str(folder / "other"), "--format", "json").stdout)
    assert [(row["read"], bool(row["differences"])) for row in found] == [(False, True), (True, True), (True, False)]
    fails_in_one_line(run("verify", str(folder / "other"), "--deployment", "d.toml"), "needs a single certificate")


def test_a_signed_certificate_is_known_by_its_key_and_by_openssl(written: Path) -> None:
    folder = written.parent
    make_keys(folder)
    private, public = str(folder / "private.pem"), str(folder / "public.pem")
    done = run("certify", str(folder / "d.toml"), *QUICK, "--output", str(folder / "out"), "--sign", private)
    assert (folder / "out" / "base.json.sig").stat().st_size == 64, done.stderr
    made = str(folder / "out" / "base.json")
    assert run("verify", made, "--key", public).returncode == 0
    asked = ["openssl", "pkeyutl", "-verify", "-rawin", "-in", made, "-sigfile", made + ".sig", "-pubin", "-inkey", public]
    if shutil.which("openssl"):
        assert subprocess.run(asked, capture_output=True, check=False).returncode == 0
    Path(made).write_text(Path(made).read_text() + "\n")
    fails_in_one_line(run("verify", made, "--key", public), "needs a signature of this certificate by this key")


def test_a_signature_by_another_key_or_of_another_kind_is_one_line(tmp_path: Path) -> None:
    make_keys(tmp_path)
    (tmp_path / "c.sig").write_bytes(private_key(tmp_path / "private.pem").sign(b"c"))
    require(b"c", tmp_path / "c.sig", public_key(tmp_path / "public.pem"))
    make_keys(tmp_path)
    raises(DeploymentError, "got another", require, b"c", tmp_path / "c.sig", public_key(tmp_path / "public.pem"))
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

    make_keys(tmp_path)
    own, other = private_key(tmp_path / "private.pem"), generate_private_key(SECP256R1())
    locked = BestAvailableEncryption(b"word")
    for content, says in (
        (other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "Ed25519 key, got one of another kind"),
        (own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked), "needs a key without a password"),
        ((tmp_path / "public.pem").read_bytes(), "needs a private Ed25519 key in PEM"),
        (b"\x00nothing", "needs a private Ed25519 key in PEM"),
    ):
        (tmp_path / "k.pem").write_bytes(content)
        raises(DeploymentError, says, private_key, tmp_path / "k.pem")
    raises(DeploymentError, "needs a public Ed25519 key in PEM", public_key, tmp_path / "private.pem")


LOW_ORDER = (
    "00" * 32,
    "00" * 31 + "80",
    "01" + "00" * 31,
    "01" + "00" * 30 + "80",
    "ec" + "ff" * 30 + "7f",
    "ed" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
)
"""Encodings of points whose order divides 8, as the literature lists them: for such a key anybody makes signatures."""


@pytest.mark.parametrize("raw", LOW_ORDER)
def test_a_key_of_low_order_is_refused(raw: str, tmp_path: Path) -> None:
    import base64

    der = bytes.fromhex("302a300506032b6570032100" + raw)  # RFC 8410
    pem = f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"
    (tmp_path / "k.pem").write_text(pem)
    raises(DeploymentError, "needs a public Ed25519 key of large order", public_key, tmp_path / "k.pem")


def test_a_signature_needs_its_options_and_its_extra(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_in_one_line(run("certify", str(written.with_name("d.toml")), "--sign", "k.pem"), "needs --output")
    fails_in_one_line(run("verify", str(written), "--signature", "s.sig"), "needs --key")
    make_keys(written.parent)
    fails_in_one_line(run("verify", str(written), "--key", str(written.with_name("public.pem"))), "c.json.sig: needs a readable")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    raises(DeploymentError, "needs the extra 'sign'", public_key, written.with_name("public.pem"))


FILE = deployment(COIN, 'id = "report"\nepsilon = "log(3)"', "votes")
CODE = """\
import random


def draw(x):
    return x if random.random() < 0.75 else 1 - x
"""
ATTESTED = ("--trials", "500", "--output", "out", "--attestation")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(folder: Path) -> Any:
    (line,) = (folder / "out" / "votes.intoto.jsonl").read_text(encoding="utf-8").splitlines()
    return strict_json.parse(line)


def test_a_statement_is_about_the_deployment_file_and_its_predicate_is_the_certificate(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(FILE.replace("\n", "\r\n").encode())
    stdout(within(tmp_path, "certify", "mine.toml", *ATTESTED))
    said = read(tmp_path)
    assert list(said) == ["_type", "subject", "predicateType", "predicate"]
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "urn:ldpaudit:certificate:1"
    assert said["subject"] == [{"name": "mine.toml", "digest": {"sha256": sha256(tmp_path / "mine.toml")}}]
    made = (tmp_path / "out" / "votes.json").read_text(encoding="utf-8")
    assert said["predicate"] == json.loads(made)
    assert Certificate.from_json(json.dumps(said["predicate"])).to_json() == made
    assert within(tmp_path, "verify", "out").returncode == 0, "a folder of certificates has statements beside them"


def test_a_statement_is_about_the_code_that_was_audited_which_is_not_run_and_about_named_files(tmp_path: Path) -> None:
    ends = {"loud.py": "raise SystemExit(3)", "pack/__init__.py": "raise SystemExit(4)", "pack/part.py": "raise OSError"}
    lay_out(tmp_path, ends)
    assert code_of("loud:f", tmp_path).content == b"raise SystemExit(3)"
    assert (code_of("pack.part:f", tmp_path).name, code_of("pack:f", tmp_path).name) == ("pack/part.py", "pack/__init__.py")
    assert code_of("json.decoder:f", tmp_path).name == "decoder.py", "what lies elsewhere is named by its file alone"
    lay_out(tmp_path, {"d.toml": f"{FILE}[implementation]\ncallable = 'clients.web:draw'\n"})
    lay_out(tmp_path, {"clients/__init__.py": "", "clients/web.py": CODE})
    done = within(tmp_path, "certify", "d.toml", *ATTESTED)
    assert (tmp_path / "out" / "votes.json").exists(), done.stderr
    assert read(tmp_path)["subject"] == [
        {"name": "d.toml", "digest": {"sha256": sha256(tmp_path / "d.toml")}},
        {"name": "clients/web.py", "digest": {"sha256": sha256(tmp_path / "clients" / "web.py")}},
    ]
    lay_out(tmp_path, {"d.toml": FILE.replace('"randomized_response"\nk = 2\np = "3/4"', '"channel"\nfile = "law.csv"')})
    lay_out(tmp_path, {"law.csv": "3/4,1/4\n1/4,3/4\n"})
    stdout(within(tmp_path, "certify", "d.toml", *ATTESTED))
    assert [each["name"] for each in read(tmp_path)["subject"]] == ["d.toml", "law.csv"]
    assert read(tmp_path)["subject"][1]["digest"] == {"sha256": sha256(tmp_path / "law.csv")}


@pytest.mark.parametrize("name", ["sys:exit", "nowhere:f", "json.nowhere:f"])
def test_code_without_a_file_is_no_subject(name: str, tmp_path: Path) -> None:
    raises(LdpauditError, "an attestation needs code in a file", code_of, name, tmp_path)
    lay_out(tmp_path, {"d.toml": f"{FILE}[implementation]\ncallable = '{name}'\n"})
    fails_in_one_line(within(tmp_path, "certify", "d.toml", *ATTESTED), "an attestation needs code in a file")
    assert not (tmp_path / "out").exists(), "it is known before any work is done"


def test_a_statement_is_signed_as_the_certificate_is_and_needs_a_folder(tmp_path: Path) -> None:
    lay_out(tmp_path, {"d.toml": FILE})
    fails_in_one_line(within(tmp_path, "certify", "d.toml", "--attestation"), "needs --output, the folder for the statements")
    assert within(tmp_path, "certify", "d.toml", "--trials", "500", "--output", "out").returncode == 0
    assert not [*(tmp_path / "out").glob("*.intoto.jsonl")]
    make_keys(tmp_path)
    assert within(tmp_path, "certify", "d.toml", *ATTESTED, "--sign", "private.pem").returncode == 0
    made = tmp_path / "out" / "votes.intoto.jsonl"
    require(made.read_bytes(), made.with_name(made.name + ".sig"), public_key(tmp_path / "public.pem"))
    certificate = Certificate.load(tmp_path / "out" / "votes.json")
    assert statement(certificate, "d.toml") == made.read_text(encoding="utf-8")
