"""The deployment file to begin with: it explains itself, certifies as it stands, and takes no other file's place."""

import io
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import ldpaudit
from ldpaudit import Mechanism, Run, mechanisms
from ldpaudit.core import parameters
from ldpaudit.core.refusal import table_at
from ldpaudit.files.deployment import loads
from ldpaudit.files.starter import CHOICE, example, starter
from ldpaudit.files.stated import DeploymentTable
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.report.schema import schema
from ldpaudit.verdict import Outcome
from tests.helpers import fails_in_one_line, run, some, stdout, typed

ALL = [(stem, variant) for stem in mechanisms.stems() for variant in mechanisms.classes(stem)]
NAMES = [f"{stem}:{variant}" if variant else stem for stem, variant in ALL]


@pytest.fixture(scope="module")
def checker() -> Any:
    return jsonschema.Draft202012Validator(schema("deployment"))


@pytest.mark.parametrize(("stem", "variant"), ALL, ids=NAMES)
def test_every_mechanism_has_a_file_to_begin_with_that_reads_and_is_valid(stem: str, variant: str, checker: Any) -> None:
    text = starter(stem, variant)
    assert type(typed(Run, loads(text).plan).mechanism) is mechanisms.classes(stem)[variant]
    checker.validate(tomllib.loads(text))


@pytest.mark.parametrize(("stem", "variant"), ALL, ids=NAMES)
def test_every_parameter_in_it_stands_below_what_it_means(stem: str, variant: str) -> None:
    owner = mechanisms.classes(stem)[variant]
    lines = starter(stem, variant).split("[mechanism]\n")[1].split("\n\n")[0].splitlines()
    constructor, _ = example(owner)
    for each in parameters.of(owner)[constructor]:
        if each.default != parameters.NONE:
            (at,) = (i for i, line in enumerate(lines) if line.removeprefix("# ").startswith(f"{each.name} = "))
            assert lines[at - 1].startswith("# ")
            assert each.words.split()[-1] in lines[at - 1]


@pytest.mark.parametrize("marked", [["contribution", "reports"], ["shuffle", "users"], ["expect"]])
def test_what_is_commented_out_works_without_its_marks(marked: list[str]) -> None:
    names = {f"[{marked[0]}]", *(f"{key} =" for key in marked)}
    lines = starter("randomized_response").splitlines()
    freed = [line.removeprefix("# ") if any(line.startswith(f"# {name}") for name in names) else line for line in lines]
    assert len(set(freed) - set(lines)) == len(marked)
    assert loads("\n".join(freed)).claims


def certified(stem: str, variant: str, trials: int) -> None:
    (claim,) = ldpaudit.certify(loads(starter(stem, variant)), trials=trials).claims
    assert claim.verdict in (Outcome.PROVED, Outcome.BOUNDED)
    assert 0 < some(claim.enclosure).high < float("inf")


@pytest.mark.parametrize("stem", ["randomized_response", "laplace", "bitstogram"])
def test_it_certifies_as_it_stands(stem: str) -> None:
    certified(stem, "", 1000)


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "variant"), ALL, ids=NAMES)
def test_every_one_certifies_as_it_stands(stem: str, variant: str) -> None:
    if stem == "memoized_response":  # a stream of one value and one of several: no epsilon holds for all streams
        (claim,) = ldpaudit.certify(loads(starter(stem, variant)), trials=1000).claims
        assert claim.reason.startswith("no finite epsilon holds below delta = ")
    else:
        certified(stem, variant, 1000)


class _Chatty(Mechanism):
    """Shows what an example may look like.

    >>> print(_Chatty.named("x")), _Chatty.fair(1 << 20, share=Fraction(1, 3), loss=1e-6)  # doctest: +SKIP
    """

    @classmethod
    def named(cls, name: str) -> "_Chatty":
        """What no file can say."""
        raise NotImplementedError

    @classmethod
    def fair(cls, users: int, share: Fraction, loss: Fraction) -> "_Chatty":
        """What a file can."""
        raise NotImplementedError


def test_an_example_is_read_without_being_run_and_written_as_expressions() -> None:
    found = example(_Chatty)  # type: ignore[type-abstract]
    assert found == ("fair", {"users": "2**20", "share": "1/3", "loss": "1e-6"})


def test_it_is_written_to_a_file_once_and_again_only_where_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "my.toml"
    assert run("init", "rappor", "--output", str(file)).returncode == 0
    assert file.read_text() == starter("rappor")
    file.write_text("precious")
    fails_in_one_line(run("init", "rappor", "--output", str(file)), "already exists: needs another name, or --overwrite")
    assert file.read_text() == "precious"
    assert run("init", "rappor", "--output", str(file), "--overwrite").returncode == 0
    assert file.read_text() == starter("rappor")


def test_it_is_printed_where_no_file_is_named_and_without_a_stem_it_shows_a_few(tmp_path: Path) -> None:
    done = run("init", "rappor:permanent", "--schema", "../d.json")
    assert done.stdout == starter("rappor", "permanent", "../d.json")
    assert done.stdout.startswith("#:schema ../d.json\n")
    assert tuple(line.split()[0] for line in stdout(run("init")).splitlines()) == tuple(CHOICE)
    fails_in_one_line(run("init", "--output", str(tmp_path / "x.toml")), "needs a STEM")
    assert not [*tmp_path.iterdir()]
    fails_in_one_line(run("init", "rapor"), "did you mean 'rappor'?")


@pytest.mark.parametrize(("answers", "again", "plans"), [
    ("1 2 8 3 2 1e4", 0, ["Shuffle({}, users=10000)", "Shuffle(Repeat({}, 3), users=10000)"]),
    ("9 1 x 2 8 0 1/2 1 3 1000", 4, ["Aggregate({}, users=1000)"]),
    ("1 2 8 1 1", 0, ["{}"]),
])  # fmt: skip
def test_the_file_says_what_was_answered(answers: str, again: int, plans: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answers.replace(" ", "\n")))
    done = run("init", "--ask")
    assert done.stderr.startswith("What does a user report?\n  1  one of a few values: k-ary randomized response\n")
    assert done.stderr.count("Error: needs") == again
    found = loads(done.stdout)
    mechanism = KaryRandomizedResponse.for_epsilon(2, k=8)
    assert [str(claim.plan) for claim in found.claims] == [plan.format(mechanism) for plan in plans]


def test_every_key_of_a_deployment_file_has_a_description() -> None:
    inner = (("mechanism",), ("contribution",), ("shuffle",), ("implementation",), ("claims", 0))
    for path in ((), *inner):
        table = some(table_at(DeploymentTable, path))
        assert all(field.description for field in table.model_fields.values()), path


def test_a_file_to_begin_with_says_what_kept_answers_and_epochs_are_and_holds_with_their_marks_taken_away() -> None:
    text = starter("randomized_response")
    assert "every report of that value" in " ".join(text.replace("#", "").split())
    tables = some(re.search(r"# \[contribution\]\n(.*?)\n# If there is a shuffler", text, re.DOTALL))
    taken = "\n".join(re.findall(r"^# (\[\w+\]|\w+ = \w+)$", tables[0], re.MULTILINE))
    whole = text.replace(tables[0], f"{taken}\n# If there is a shuffler").replace('unit = "report"', 'unit = "lifetime"')
    (claim,) = loads(whole).claims
    assert "epochs=520" in str(claim.plan)
