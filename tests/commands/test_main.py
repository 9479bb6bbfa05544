"""What all commands do alike: how errors end, how arguments are read, what is listed."""

import json
import re
import sys
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

import ldpaudit
from ldpaudit import commands, mechanisms
from ldpaudit.commands import spread
from tests.helpers import ROOT, fails_in_one_line, process, python, raises, run, slow, stdout

DEEP = "[" * 3000 + "]" * 3000
ANSWERS_DEEP = f"exec:{sys.executable} -c 'for line in open(0): print(\"[\" * 3000 + \"]\" * 3000, flush=True)'"


def proved() -> list[str]:
    return [each["stem"] for each in json.loads(run("prove", "--format", "json").stdout)]


@pytest.mark.slow
def test_prove_lists_every_stem() -> None:
    assert set(proved()) == set(mechanisms.stems())


def test_prove_and_mechanisms_list_all_stems_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = run("mechanisms").stdout
    assert json.loads(run("mechanisms", "--format", "json").stdout)
    for stem in mechanisms.stems():
        assert re.search(rf"^{stem}\b", listed, re.MULTILINE), stem
    monkeypatch.setattr(mechanisms, "stems", lambda: ("geometric", "laplace"))
    assert set(proved()) == {"geometric", "laplace"}
    assert re.match(r"laplace\b", run("prove", "laplace").stdout)


@pytest.mark.parametrize(("arguments", "says"), [
    (("certify", "nothing.toml"), "nothing.toml: needs a readable file"),
    (("certify", "README.md"), "needs TOML"),
    (("certify", "docs"), "needs deployment files"),
    (("certify", "nothing"), "needs a readable file, or an id that `ldpaudit deployments` lists"),
    (("certify", "enpa-notificatoin"), "did you mean 'enpa-notification'?"),
    (("account", "randomised", "k=2"), "mechanism: needs one of those that `ldpaudit mechanisms` lists, got 'randomised'; did"),
    (("account", "xyzzy", "k=2"), "mechanism: needs one of those that `ldpaudit mechanisms` lists, got 'xyzzy'\n"),
    (("account", "enpa-notification"), "got 'enpa-notification'; `ldpaudit certify enpa-notification` judges a deployment"),
    (("account", "rappor:nothing"), "variant: needs no variant, or one of permanent, got 'nothing'"),
    (("account", "unary_encoding:nothing"), "variant: unary_encoding has no variants, got 'nothing'"),
    (("account", "rapor", "k=2"), "needs one of those that `ldpaudit mechanisms` lists, got 'rapor'; did you mean 'rappor'?"),
    (("mechanisms", "rapor"), "did you mean 'rappor'?"),
    (("mechanisms", "rappor:permanant"), "did you mean 'permanent'?"),
    (("schema", "deploymnet"), "needs one of deployment, gate, baseline, certificate, report, got 'deploymnet'; did you mean"),
    (
        ("account", "randomized_response", "k=2"),
        "needs (k, p) or (epsilon, k) or (epsilon, delta, users, k) or (rho, k), got (k); add p or epsilon or rho\n",
    ),
    (("account", "randomized_response", "k=2", "epsilon=1", "p=1/2"), "got (k, epsilon, p); leave out epsilon or p"),
    (("account", "randomized_response", "K=2", "p=1/2"), "K: needs (k, p) or"),
    (("account", "randomized_response", "K=2", "p=1/2"), "got (K, p); did you mean 'k'?"),
    (("account", "randomized_response", "k=2", "change=1"), "got (k, change); change is none of these"),
    (("account", "randomized_response", "k=two", "p=1/2"), "k: needs an integer, got 'two'"),
    (("account", "randomized_response", "k=2", "p=2"), "1/k <= p < 1, got p=2"),
    (("account", "randomized_response", "k2"), "key=value, got 'k2'"),
    (("account", "randomized_response", "k=2", "epsilon=1", "--delta", "1"), "0 <= delta < 1, got 1"),
    (("account", "randomized_response", "k=2", "p=1-10^-6"), "needs ** for a power, got '1-10^-6'"),
    (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "one"), "got 'one'"),
    (("audit", "tests.broken_callables:fair", "--inputs", "0", "--epsilon", "1"), "two inputs"),
    (("audit", "tests.broken_callables:none", "--inputs", "0", "1", "--epsilon", "1"), "cannot import"),
    (("audit", "tests.broken_callables:fair", "--inputs", "0", DEEP, "--epsilon", "1"), "nested less deeply"),
    (("audit", ANSWERS_DEEP, "--inputs", "0", "1", "--epsilon", "1"), "for each question, got '[[["),
    (("audit", "nowhere", "--inputs", "0", "1", "--epsilon", "1"), "MODULE:CALLABLE"),
    (("audit", "my.toml", "--inputs", "0", "1", "--epsilon", "1"), "; `ldpaudit certify my.toml` judges a deployment"),
    (("audit", "exec:", "--inputs", "0", "1", "--epsilon", "1"), "needs exec:COMMAND, such as exec:./randomizer, got 'exec:'"),
    (("audit", "tests.broken_callables:fare", "--inputs", "0", "1", "--epsilon", "1"), "did you mean 'fair'"),
    (("audit", "nowhere:at_all", "--inputs", "0", "1", "--epsilon", "1"), "; it is looked for in this folder and among"),
    (("audit", "tests.broken_callables:fair", "--canaries", "none.txt", "--epsilon", "1"), "none.txt: needs a readable file"),
    (("audit", "log:docs", "--epsilon", "1"), "docs: needs a file, got a folder"),
    (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--neighbours", "add-remove"), "needs --neighbours with"),
    (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--others", "README.md"), "needs --others with --canaries"),
    (("audit", "tests.broken_callables:raises", "--inputs", "0", "1", "--epsilon", "1"), "raised RuntimeError"),
    (("audit", "tests.broken_callables:returns_nothing", "--inputs", "0", "1", "--epsilon", "1"), "got None"),
    (("audit", "tests.broken_callables:wrong_type", "--inputs", "0", "1", "--epsilon", "1"), "object"),
    slow(("audit", "tests.broken_callables:hangs", "--inputs", "0", "1", "--epsilon", "1"), "hangs"),
    (("audit", "tests.broken_callables:ends", "--inputs", "0", "1", "--epsilon", "1"), "raised SystemExit"),
    (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "1e400"), "above 1e308"),
    (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "1", "--delta", "2"), "got 2.0"),
    (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--budget", "60"), "such as 60s, 5m or 1h, got '60'"),
    (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--budget", "9s", "--trials", "500"), "got both"),
    (("audit", "log:tests/data/nothing.csv", "--epsilon", "1", "--users", "2"), "needs --users 1, got 2"),
    (("prove", "nothing"), "prove needs one of those that `ldpaudit mechanisms` lists, got 'nothing'"),
    (("limit", "laplace_error"), "that `ldpaudit limit` lists, got 'laplace_error'; did you mean 'central.laplace_error'"),
    (("compare", "--only", "rapor"), "compare --only: needs one of those that `ldpaudit compare` lists, got 'rapor'"),
    (("compare", "--only", "laplace", "--only", "laplac"), "lists, got 'laplac'; did you mean 'laplace'?"),
    (("compare", "--data", "README.md", "--users", "50"), "compare needs --data or --users, got both: README.md says how many"),
    (("compare", "--column", "word"), "compare needs --column with --data, got --column word without"),
    (("design", "laplace", "low=0", "high=1", "--epsilon", "1", "--delta", "2"), "ldpaudit: a goal needs epsilon >= 0 and"),
    (("claims", "randomized_response", "--paper", "ggkpv"), "claims --paper: needs one of HKR12, STEMMER, GGKPV"),
    (("nothing",), "ldpaudit: needs a command, got 'nothing'; `ldpaudit -h` lists the commands"),
    (("--nothing",), "ldpaudit: has no option --nothing; `ldpaudit -h` lists the commands"),
    (("account",), "ldpaudit: account needs MECHANISM, which is missing; `ldpaudit account -h` explains it"),
    (("registry", "check"), "registry check needs RECORD, which is missing; `ldpaudit registry check -h` explains it"),
    (("account", "laplace", "scale=1", "--neighbors", "add-remove"), "has no option --neighbors; did you mean '--neighbours'?"),
    (("account", "laplace", "--scale", "1"), "account has no option --scale; a parameter is given as scale=VALUE"),
    (("account", "laplace", "scale=1", "--delta"), "--delta: needs a value, got none"),
    (("account", "laplace", "scale=1", "--format", "jsn"), "needs one of text, json, markdown, csv, latex, got 'jsn'; did you"),
    (("account", "laplace", "scale=1", "--delta", "x"), "--delta: needs a number, or numbers with"),
    (("account", "laplace", "scale=1", "--shuffle", "1,000"), "account --shuffle: needs a number without commas, such as 0.5"),
    (("account", "laplace", "scale=1", "--shuffle", "1M"), "--shuffle: needs a number without a unit, such as 1*1000000"),
    (("certify", "enpa-notification", "--trials", "many"), "certify --trials: needs an integer >= 16, got 'many'"),
    (("certify", "enpa-notification", "--trials", "0"), "ldpaudit: certify --trials: needs an integer >= 16, got '0'"),
    (("certify", "enpa-notification", "--confidence", "1"), "certify --confidence: needs a number above 0 and below 1"),
    (("certify", "enpa-notification", "--seed", "-1"), "certify --seed: needs an integer >= 0, got '-1'"),
    (("certify", "enpa-notification", "--confidence", "95%"), "needs a number without a unit, such as '95/100' for a share"),
    (("certify", "enpa-notification", "--output", "README.md"), "certify --output: needs a folder, got the file README.md"),
    (("deployments", "nothing"), "deployments takes no such argument, got nothing"),
    (("verify", "README.md"), "needs a certificate in JSON"),
    (("account", "randomized_response", "epsilon=1", "epsilon=2"), "a parameter needs one value, got epsilon=1 and epsilon=2"),
    (("claims", "hashtogram", "--paper", "GGKPV"), "hashtogram has no claims of 'GGKPV'"),
    (("limit", "hsu.heavy_hitter_error", "users=10", "beta=7", "epsilon=1"), "heavy_hitter_error needs 0 <= beta < 1, got 7"),
])  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str) -> None:
    fails_in_one_line(run(*arguments), says)


def test_inputs_may_be_given_in_one_go_and_every_number_may_be_one() -> None:
    arguments = ["audit", "m:f", "--inputs", "0", "-1", "--epsilon", "1", "--inputs", "2"]
    assert spread(arguments) == ["audit", "m:f", "--inputs", "0", "--inputs", "-1", "--epsilon", "1", "--inputs", "2"]
    assert spread(["--inputs", "-.5", "-1e3", "--seed", "1"]) == ["--inputs", "-.5", "--inputs", "-1e3", "--seed", "1"]


def test_a_fault_of_ours_does_not_end_as_a_refuted_claim(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(commands, "_parser", Mock(return_value=Mock(side_effect=ZeroDivisionError("ours"))))
    assert raises(SystemExit, "", commands.main).code == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith("ldpaudit: internal error of ldpaudit, please report it: ZeroDivisionError: ours (")


def test_every_verb_stands_on_its_page_explains_itself_and_is_answered_for_a_mistyped_one() -> None:
    listed = set(re.findall(r"^## (\w+)$", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE))
    assert set(re.findall(r"^│ (\w+) ", run("--help").stdout, re.MULTILINE)) == listed
    assert run("-h").stdout == run("--help").stdout
    for verb in commands.VERBS:
        shown = CliRunner().invoke(commands.app, [verb.__name__, "-h"], prog_name="ldpaudit")
        assert shown.exit_code == 0, shown.output
        assert f"Usage: ldpaudit {verb.__name__}" in shown.output
    fails_in_one_line(run("certifi", "enpa-notification"), "did you mean 'certify'?")
    assert "did you mean" not in run("qqq").stderr


def test_the_script_for_completion_asks_by_name_and_version_and_infinite_numbers_are_text() -> None:
    assert process("--version").stdout == f"ldpaudit {ldpaudit.__version__}\n"
    shuffled = ("randomized_response", "k=4", "p=3/4", "--shuffle", "9", "--neighbours", "add-remove")
    text = run("account", *shuffled, "--format", "json").stdout
    assert "Infinity" not in text
    assert json.loads(text)
    # Whatever shell the tests run in, which a parser that is built does not look at again.
    shown = stdout(python("-m", "ldpaudit", "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"))
    assert "_LDPAUDIT_COMPLETE=complete_bash" in shown


@pytest.mark.parametrize(("words", "last", "offered"), [
    ("ldpaudit certify --out", 2, "--output"), slow("ldpaudit cert", 1, "certify"),
])  # fmt: skip
def test_a_shell_completes_verbs_and_options(words: str, last: int, offered: str) -> None:
    done = python("-m", "ldpaudit", _LDPAUDIT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(last))
    assert stdout(done).split() == [offered]
