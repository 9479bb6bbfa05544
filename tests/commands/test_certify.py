"""``ldpaudit certify``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers import ROOT, run

ENPA = "deployments/enpa-notification.toml"
QUICK = ("--trials", "2000", "--jobs", "1")


def test_certify_prints_verdicts_and_counts_in_80_columns(tmp_path: Path) -> None:
    done = run("certify", ENPA, "deployments/attribution-event.toml", *QUICK, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.rstrip().endswith("All came out as recorded.")
    assert "1 of 2 claims hold, 1 do not" in done.stdout
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{name}.{kind}" for name in ("enpa-notification", "attribution-event") for kind in ("json", "html")
    }
    verified = run("verify", str(tmp_path / "enpa-notification.json"))
    assert verified.returncode == 0
    assert "stands" in verified.stdout


def test_json_is_all_that_standard_output_gets() -> None:
    done = run("certify", ENPA, *QUICK, "--format", "json")
    (certificate,) = json.loads(done.stdout)
    assert certificate["verdict"] == "REFUTED"


def test_a_claim_refuted_without_record_or_against_it_ends_with_1(tmp_path: Path) -> None:
    text = (ROOT / ENPA).read_text()
    for name, changed in (
        ("none", text.replace('expect = "refuted"', "")),
        ("holds", text.replace('"refuted"', '"holds"')),
    ):
        (tmp_path / f"{name}.toml").write_text(changed)
        assert run("certify", str(tmp_path / f"{name}.toml"), *QUICK).returncode == 1


def test_an_undecided_claim_ends_with_3_where_a_decision_is_required(tmp_path: Path) -> None:
    text = (ROOT / "deployments/apple-lookup-hints.toml").read_text().replace('expect = "undecided"', "")
    (tmp_path / "d.toml").write_text(text)
    assert run("certify", str(tmp_path / "d.toml"), *QUICK).returncode == 0
    assert run("certify", str(tmp_path / "d.toml"), *QUICK, "--require-decision").returncode == 3


def test_a_claim_that_is_met_exactly_is_certified_with_the_digits_that_are_claimed() -> None:
    """The enclosure is [1.672, 1.672 + 2e-16]; rounded up to six digits it would look like more than what is claimed."""
    done = run("certify", "deployments/windows-telemetry.toml", *QUICK)
    assert "1.672    = 1.672 " in done.stdout
    assert run("certify", ENPA, *QUICK).stdout.count("= 8.91609") == 1, "8.91608..., rounded up"
