"""Certificates cannot be forged unseen: each forgery is found, or stands on the page with the option that finds it."""

import re
import sys
from pathlib import Path

import pytest

import ldpaudit as ldp
from ldpaudit.attacks.games import shuffled
from ldpaudit.certificates import signature
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.certify import resample, verify
from ldpaudit.certificates.verification import of_the_source
from ldpaudit.core import strict_json
from ldpaudit.errors import DeploymentError, Unsupported
from tests.helpers import ROOT, make_keys, raises, raises_a_line
from tests.road.forgeries import DEPLOYMENT, SEEN, TRIALS, UNSEEDED, UNSEEN, Data, forged, genuine, whole

BARE = DEPLOYMENT.replace('kind = "randomized_response"\nk = 3', 'kind = "guarantee"')
PAGE = ROOT / "docs" / "security.md"


def rejected(text: str) -> str:
    """Why a certificate is rejected without sampling; empty where it stands."""
    try:
        return "\n".join(verify(Certificate.from_json(text)))
    except DeploymentError as error:
        return str(error)


@pytest.mark.parametrize("text", [DEPLOYMENT, UNSEEDED], ids=["seeded", "unseeded"])
def test_a_genuine_certificate_stands(text: str) -> None:
    assert rejected(genuine(text).to_json()) == rejected(forged(lambda data: None, text)) == ""
    assert text == UNSEEDED or resample(genuine(text)) == []


@pytest.mark.parametrize("name", SEEN)
def test_a_forgery_with_a_true_digest_is_found_without_sampling(name: str) -> None:
    why = rejected(forged(SEEN[name]))
    assert why
    assert "digest" not in why


def test_there_are_forty_forgeries_and_more_and_the_page_lists_those_that_verification_cannot_see() -> None:
    assert len(SEEN) + len(UNSEEN) >= 40
    assert len({forged(forgery) for forgery in SEEN.values()}) == len(SEEN)
    rows = re.findall(r"^\| ([^|]+) \| `(--\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {name: option for name, (option, _, _) in UNSEEN.items()}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_forgery_on_the_page_stands_until_it_is_looked_at_by_the_option_named_there(name: str, tmp_path: Path) -> None:
    option, forgery, text = UNSEEN[name]
    made = forged(forgery, text)
    assert rejected(made) == ""
    assert found_by(option, made, text, tmp_path)
    # That the genuine certificate's samples are drawn again as they were, the first test says.
    assert option == "--resample" or not found_by(option, forged(lambda data: None, text), text, tmp_path)


def found_by(option: str, made: str, deployment: str, folder: Path) -> bool:
    if option == "--resample":
        return bool(resample(Certificate.from_json(made)))
    if option == "--deployment":
        (folder / "d.toml").write_text(deployment)
        return bool(of_the_source(Certificate.from_json(made), folder / "d.toml"))
    assert option == "--key"
    make_keys(folder)
    signed = forged(lambda data: None, deployment).encode()
    (folder / "c.sig").write_bytes(signature.private_key(folder / "private.pem").sign(signed))
    try:
        signature.require(made.encode(), folder / "c.sig", signature.public_key(folder / "public.pem"))
    except DeploymentError:
        return True
    return False


JSON = {
    "a key twice": ('"trials": 2000,', '"trials": 2000, "trials": 2000,'),
    "a key of a claim twice": ('"unit": "report"', '"unit": "report", "unit": "report"'),
    "not a number": ('"confidence": 0.999,', '"confidence": NaN,'),
    "infinity": ('"confidence": 0.999,', '"confidence": Infinity,'),
    "a float that overflows": ('"confidence": 0.999,', '"confidence": 1e999,'),
    "an integer of ten thousand digits": ('"trials": 2000,', f'"trials": {"9" * 10_000},'),
    "an integer of two hundred digits": ('"trials": 2000,', f'"trials": {"9" * 200},'),
    "a hundred thousand brackets": ('"trials": 2000,', f'"trials": {"[" * 100_000},'),
    "half a surrogate": ('"title": "A base"', '"title": "\\ud800"'),
    "something after the end": ('"digest"', '"digest": 1} {"digest"'),
}


@pytest.mark.parametrize("name", JSON)
def test_json_that_says_more_than_one_thing_is_refused_in_one_line(name: str) -> None:
    old, new = JSON[name]
    text = genuine().to_json()
    assert old in text
    caught = raises_a_line(DeploymentError, "", Certificate.from_json, text.replace(old, new, 1))
    assert "needs the digest" not in str(caught)


def test_json_has_32_levels_and_a_certificate_a_largest_size(tmp_path: Path) -> None:
    assert strict_json.parse("[" * 32 + "]" * 32)
    raises(ValueError, "at most 32 levels of lists and objects", strict_json.parse, "[" * 33 + "]" * 33)
    (tmp_path / "c.json").write_bytes(b" " * (1 << 24) + genuine().to_json().encode())
    raises(DeploymentError, "at most 16777216 bytes", Certificate.load, tmp_path / "c.json")


def test_evidence_of_a_plan_that_nobody_can_attack_is_refused() -> None:
    assert not rejected(genuine(BARE).to_json())

    def adds(data: Data) -> None:
        data["claims"][0]["evidence"] = genuine().to_dict()["claims"][0]["evidence"]

    assert "needs no evidence" in rejected(forged(adds, BARE))


@pytest.mark.parametrize("changes", [{"seed": -1}, {"trials": 3}, {"trials": 10**30}, {"confidence": 2.0}], ids=str)
def test_ranges_hold_where_there_is_no_evidence_too(changes: Data) -> None:
    assert "it needs" in rejected(forged(whole(**changes), BARE))


def test_whoever_verifies_imports_nothing_that_the_deployment_names() -> None:
    certificate = genuine(UNSEEDED.replace("tests.road.forgeries:honest", "tests.broken_callables:fair"))
    del sys.modules["tests.broken_callables"]
    assert verify(certificate) == []
    assert "tests.broken_callables" not in sys.modules


def test_samples_of_seeded_code_alone_are_drawn_again() -> None:
    raises(Unsupported, "its own source of randomness", resample, genuine(UNSEEDED))
    certificate = genuine(UNSEEDED.replace("tests.road.forgeries:honest", "tests.road.test_certify:leaky"))
    assert verify(certificate) == resample(certificate) == []


@pytest.mark.parametrize(("code", "heard"), [("tests.road.forgeries:honest", False), ("tests.road.test_certify:leaky", True)])
def test_shuffled_code_that_is_not_imported_may_have_either_form(code: str, heard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many reports may be few for code that makes many at a time, and too many for code that makes one."""
    monkeypatch.setattr(shuffled, "REPORTS_ONE_BY_ONE", 100)
    text = UNSEEDED.replace("tests.road.forgeries:honest", code) + 'delta = "1/100"\n[shuffle]\nusers = 10\n'
    certificate = genuine(text)
    assert (certificate.claims[0].evidence is not None) == heard
    assert verify(certificate) == []


def test_a_deployment_with_any_ends_of_lines_is_the_one_that_its_certificate_embeds(tmp_path: Path) -> None:
    file, text = tmp_path / "d.toml", DEPLOYMENT.replace("\n", "\r\n")
    file.write_bytes(text.encode())
    certificate = Certificate.from_json(ldp.certify(file, trials=TRIALS).to_json())
    assert of_the_source(certificate, file) == verify(certificate) == []
    file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
    assert of_the_source(certificate, file)
