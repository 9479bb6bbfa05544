"""``ldpaudit certify``: what it prints, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ldpaudit.certificates.parallel import last_commit
from tests.helpers import COIN, ROOT, at_most, deployment, fails_in_one_line, run, stdout, within

ENPA = "deployments/enpa-notification.toml"
QUICK = ("--trials", "2000", "--jobs", "1")


def test_certify_prints_verdicts_and_counts_in_80_columns(tmp_path: Path) -> None:
    files = ("attribution-navigation", "deployments/attribution-event.toml")
    shown = stdout(run("certify", *files, *QUICK, "--output", str(tmp_path)))
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.rstrip().endswith("All verdicts are as expected.")
    assert "1 of 2 claims hold, 1 do not" in shown
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{name}.{kind}" for name in ("attribution-navigation", "attribution-event") for kind in ("json", "html")
    } | {"index.html", "verify_certificate.py"}
    assert "stands" in stdout(run("verify", str(tmp_path / "attribution-event.json")))


def test_a_file_that_gave_no_certificate_is_told_first_and_counted(tmp_path: Path) -> None:
    done = within(tmp_path, "certify", "missing.toml", "apple-emoji", *QUICK)
    assert done.returncode == 2
    assert done.stderr == "ldpaudit: missing.toml: needs a readable file: No such file or directory\n"
    lines = done.stdout.splitlines()
    left = lines.index("1 of 2 files gave no certificate, and are not counted.")
    assert "0 of 2 claims hold, 0 do not, 0 are undecided, 2 rest on assumptions" in lines[left + 1]


def test_a_certificate_that_replaces_that_of_another_file_says_so(tmp_path: Path) -> None:
    for name, text in (("a", (ROOT / ENPA).read_text()), ("b", (ROOT / ENPA).read_text() + "# another\n")):
        (tmp_path / f"{name}.toml").write_text(text)
    once, again, other = (within(tmp_path, "certify", f"{name}.toml", *QUICK, "--output", "out").stderr for name in ("a", "a", "b"))
    assert once == again == ""
    assert "enpa-notification.json: was of another deployment file, or of this one before it was changed, and is replaced" in other


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), pytest.param(("--format", "json"), marks=pytest.mark.slow)])
def test_a_title_beyond_the_locale_s_letters_is_escaped_and_the_verdict_printed(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = Path(written(tmp_path, "a"))
    file.write_text(file.read_text().replace("[mechanism]", 'title = "W\u00e4hler"\n[mechanism]'))
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "ldpaudit", "certify", str(file), "--trials", "500", "--jobs", "1", *options]
    done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode("ascii")
    assert ("W\u00e4hler" in json.loads(shown)[0]["title"]) if options else "W\\u00e4hler" in shown


def test_a_claim_refuted_against_its_record_ends_with_1_and_an_undecided_one_with_3_if_that_is_required(tmp_path: Path) -> None:
    text = (ROOT / "deployments/attribution-navigation.toml").read_text()
    for name, changed in (("none", text.replace('expect = "refuted"', "")), ("holds", text.replace('"refuted"', '"holds"'))):
        (tmp_path / f"{name}.toml").write_text(changed)
        assert run("certify", str(tmp_path / f"{name}.toml"), *QUICK).returncode == 1
    text = (ROOT / "deployments/apple-lookup-hints.toml").read_text().replace('expect = "undecided"', "")
    (tmp_path / "d.toml").write_text(text)
    assert run("certify", str(tmp_path / "d.toml"), *QUICK).returncode == 0
    assert run("certify", str(tmp_path / "d.toml"), *QUICK, "--require-decision").returncode == 3


def test_a_claim_that_is_met_exactly_is_certified_with_the_digits_that_are_claimed(tmp_path: Path) -> None:
    """The enclosure is [1.672, 1.672 + 2e-16]; rounded up to six digits it would look like more than what is claimed."""
    claim = '[mechanism]\nkind = "randomized_response"\nk = 2\nepsilon = "1.672"\n[[claims]]\nid = "round"\nepsilon = "1.672"\n'
    (tmp_path / "d.toml").write_text(f'schema = "ldpaudit.deployment/1"\nid = "d"\n{claim}')
    assert "1.672    = 1.672 " in run("certify", str(tmp_path / "d.toml"), *QUICK).stdout
    assert run("certify", "attribution-navigation", *QUICK).stdout.count("= 14.011 ") == 1, "14.0109..., rounded up"


def written(folder: Path, name: str, code: str = "") -> str:
    implementation = f'[implementation]\ncallable = "tests.broken_callables:{code}"\n' if code else ""
    claim = 'id = "report"\nepsilon = 1'
    (folder / f"{name}.toml").write_text(deployment(COIN.replace("3/4", "exp(1)/(1 + exp(1))"), claim, name, implementation))
    return str(folder / f"{name}.toml")


def test_a_file_in_error_is_named_in_a_line_and_the_others_are_certified(tmp_path: Path) -> None:
    good, killed = written(tmp_path, "a"), written(tmp_path, "b", "exits")
    (tmp_path / "d.toml").write_text("x =")
    files = (killed, good, str(tmp_path / "d.toml"))
    done = run("certify", *files, "--trials", "2000", "--jobs", "2", "--output", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "1 of 1 claims hold" in done.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"a.json", "a.html", "index.html", "verify_certificate.py"}
    assert done.stderr.splitlines() == [
        f"ldpaudit: {tmp_path}/d.toml: needs TOML: Invalid value (at end of document)",
        f"ldpaudit: {killed}: its process ended with exit code 0 before it answered",
    ]


def test_code_that_ends_the_program_or_takes_too_long_is_an_error(tmp_path: Path) -> None:
    fails_in_one_line(run("certify", written(tmp_path, "a", "exits"), *QUICK), "a.toml: its process ended")
    done = run("certify", written(tmp_path, "a", "sleeps"), *QUICK, "--patience", "0.5")
    fails_in_one_line(done, "a.toml: needs an answer within 0.5 s, got none: it hangs")


def test_deployments_that_name_code_without_imports_or_have_one_id_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    files = written(tmp_path, "a"), written(tmp_path, "b", "exits")
    done = run("certify", *files, *QUICK, "--no-import", "--output", str(tmp_path / "out"))
    fails_in_one_line(done, "b.toml:8: implementation: must not name code with --no-import, got 'tests.broken_callables:exits'")
    assert not (tmp_path / "out").exists()
    assert run("certify", files[0], *QUICK, "--no-import").returncode == 0
    first = written(tmp_path, "a")
    (tmp_path / "other.toml").write_text(Path(first).read_text().replace('"a"', '"A"'))
    done = run("certify", first, str(tmp_path / "other.toml"), *QUICK, "--output", str(tmp_path / "out"))
    fails_in_one_line(done, f"other.toml:2: id: needs a unique id, got 'A' twice, as in {first}")
    assert not (tmp_path / "out").exists()


def test_pages_say_who_issued_them_when_and_what_changed_since(tmp_path: Path) -> None:
    file, first, second = written(tmp_path, "a"), str(tmp_path / "first"), str(tmp_path / "second")
    by = ("--issuer", "The authority", "--date", "2026-01-31")
    assert run("certify", file, *QUICK, *by, "--output", first).returncode == 0
    Path(file).write_text(Path(file).read_text().replace('id = "report"\nepsilon = 1', 'id = "report"\nepsilon = 2'))
    stdout(run("certify", file, *QUICK, "--output", second, "--previous", first))
    before, now = (json.loads((Path(folder) / "a.json").read_text()) for folder in (first, second))
    assert (before["issuer"], before["date"]) == ("The authority", "2026-01-31")
    assert not {"issuer", "date"} & set(now), "the folder is in no repository"
    assert "issued by The authority, 2026-01-31" in (Path(first) / "a.html").read_text()
    page = (Path(second) / "a.html").read_text()
    assert "What changed since the previous certificate of 2026-01-31" in page
    assert "Report: its claim was 1 and is 2." in page
    assert "its claim was 1 and is 2" in (Path(second) / "index.html").read_text()


def test_what_pages_need_is_asked_for_before_anything_runs_and_their_date_is_that_of_the_last_commit(tmp_path: Path) -> None:
    file = written(tmp_path, "a")
    fails_in_one_line(run("certify", file, "--previous", str(tmp_path)), "needs --output")
    output = ("--output", str(tmp_path / "out"))
    fails_in_one_line(run("certify", file, *output, "--previous", str(tmp_path / "none")), "needs --previous to be a folder")
    fails_in_one_line(run("certify", file, *output, "--date", "31.1.2026"), "needs a date such as 2026-01-31, got '31.1.2026'")
    assert not (tmp_path / "out").exists()
    assert last_commit(tmp_path) == ""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    day = {**os.environ, "GIT_COMMITTER_DATE": "2001-02-03T04:05:06+00:00", "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+00:00"}
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run(["git", *words], cwd=tmp_path, env=day, check=True)
    assert last_commit(tmp_path) == "2001-02-03"


@pytest.mark.parametrize("wait", [1.5, *(pytest.param(wait, marks=pytest.mark.slow) for wait in (0.7, 3.0))])
def test_ctrl_c_ends_within_seconds_with_130_and_leaves_nobody(tmp_path: Path, wait: float) -> None:
    files = [written(tmp_path, name, "sleeps") for name in ("a", "b", "c")]
    command = [sys.executable, "-m", "ldpaudit", "certify", *files, "--jobs", "2"]
    started = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "LDPAUDIT_TEST": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # in the background it is ignored
    )  # fmt: skip
    time.sleep(wait)
    with at_most(5):
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)
        assert (started.returncode, out) == (130, ""), err
        assert "Traceback" not in err
    assert not [p for p in Path("/proc").iterdir() if p.name.isdigit() and _marked(p, str(tmp_path))]


def _marked(process: Path, mark: str) -> bool:
    try:
        return f"LDPAUDIT_TEST={mark}" in (process / "environ").read_text()
    except OSError:
        return False
