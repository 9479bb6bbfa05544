"""The deployment files that come with the package are found by their ids, wherever it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpaudit import certify
from ldpaudit.certificates.parallel import Asked, ask
from ldpaudit.errors import DeploymentError
from ldpaudit.files import bundled
from ldpaudit.files.deployment import load
from tests.helpers import ROOT, run


def test_a_bundled_deployment_reads_by_its_id() -> None:
    for each in bundled.ids():
        assert load(each) == load(ROOT / "deployments" / f"{each}.toml")


def test_a_file_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "deployments/windows-telemetry.toml").read_text()
    Path("enpa-notification").write_text(text)
    assert load("enpa-notification").id == "windows-telemetry"
    asked = ask(Path("enpa-notification"))
    assert isinstance(asked, Asked)
    assert asked.deployment.id == "windows-telemetry"


def test_a_name_that_is_like_a_bundled_id_is_answered_with_it() -> None:
    with pytest.raises(DeploymentError, match="did you mean 'rappor-client'"):
        load("rapor-client")
    with pytest.raises(DeploymentError, match="needs a readable file: No such file"):
        load("nothing-of-the-kind.toml")


def test_the_list_names_every_file_with_its_title() -> None:
    rows = json.loads(run("deployments", "--format", "json").stdout)
    assert [row["id"] for row in rows] == sorted(file.stem for file in (ROOT / "deployments").glob("*.toml"))
    lines = run("deployments").stdout.splitlines()
    assert all(line.split(None, 1) == [row["id"], row["title"]] for line, row in zip(lines, rows, strict=True))


def test_certify_takes_a_bundled_id_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_id = certify("enpa-notification", trials=1000)
    assert by_id == certify(ROOT / "deployments/enpa-notification.toml", trials=1000)


FIRST_EDITION = {"enpa-prio": "the white paper's address", "ipa-binomial": "the words of the tested claim"}
"""Files of which these facts were not found."""


def test_every_bundled_claim_has_a_source_that_supports_it_and_every_refuted_one_a_quotation() -> None:
    files = [load(each) for each in bundled.ids()]
    assert {whole.id for whole in files if whole.status is None} == {*FIRST_EDITION}
    for whole in files:
        if whole.id in FIRST_EDITION or (whole.status is not None and whole.status.state == "example"):
            continue
        for claim in whole.claims:
            found = [each for each in whole.cited if claim.id in each.supports]
            assert found or claim.epsilon is None, (whole.id, claim.id)
            assert any(each.quote for each in found) or claim.expect != "refuted", (whole.id, claim.id)
        assert any("mechanism" in each.supports for each in whole.cited), whole.id


def test_the_list_of_sources_has_every_claim_with_its_quotation_address_and_status() -> None:
    shown = run("deployments", "--sources").stdout
    rows = {row["id"]: row for row in json.loads(run("deployments", "--sources", "--format", "json").stdout)}
    for whole in (load(each) for each in bundled.ids()):
        _, _, part = f"\n{shown}".partition(f"\n{whole.id}\n")
        part = part.split("\n\n")[0]
        assert part.startswith(f"  {whole.status or 'Its status is not stated.'}\n"), whole.id
        for claim in whole.claims:
            assert f"\n  {claim.id}: epsilon = " in part
        assert all(each in part for each in (*whole.sources, *(cited.quote for cited in whole.cited))), whole.id
        assert [row["title"] for row in rows[whole.id]["sources"]] == ([each.title for each in whole.cited] or [*whole.sources])
