"""Channels: the same numbers as the mechanisms whose matrices they are, whatever their size and however they are written."""

import json
import math
import random
import time
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import ldpaudit as ldp
from ldpaudit import Certificate, Mechanism, Repeat, Run, Shuffle, load, registry, strategies
from ldpaudit.accountants.pld import all_pairs
from ldpaudit.accountants.pld.all_pairs import AllPairs, CodedLaws
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile, channel_profile
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.randomizers import of_law
from ldpaudit.certificates.certify import verify
from ldpaudit.certificates.verification import of_the_source
from ldpaudit.core.expression import parse
from ldpaudit.derivation import derive
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.mechanisms import DBitFlip, HadamardResponse, KaryRandomizedResponse, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.channel import Channel, _last_end, channel_of
from ldpaudit.mechanisms.shared.matrices import _PLAIN, MOST_ENTRIES
from tests.helpers import at_most, lay_out, raises, raises_a_line, slow, some, typed
from tests.oracles.pairs import excess, joint

BUNDLED: list[Mechanism] = [
    KaryRandomizedResponse(5, Fraction(3, 5)), HadamardResponse(4, Fraction(3, 5)),
    UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)),
    SubsetSelection(5, 2, Fraction(3, 4)), DBitFlip(4, 2, Fraction(3, 4)),
]  # fmt: skip
ROWS = [[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)]]


def ends(e: ldp.Enclosure) -> tuple[float, float]:
    return e.low, e.high


@pytest.mark.parametrize("m", [*BUNDLED[:4], slow(BUNDLED[4])], ids=str)
def test_a_mechanism_s_matrix_costs_what_the_mechanism_does(m: Mechanism) -> None:
    matrix = channel_of(m)
    ours, theirs = ldp.account(matrix), ldp.account(m)
    for delta in (0, 1e-6, 0.01):
        assert ours.epsilon(delta).high == pytest.approx(theirs.epsilon(delta).high, rel=1e-9)
    assert ours.delta(0.3).high == pytest.approx(theirs.delta(0.3).high, rel=1e-9)
    assert derive(Run(matrix), "replace-one").epsilon.high == pytest.approx(derive(Run(m), "replace-one").epsilon.high)


def test_runs_of_a_mechanism_s_matrix_cost_what_the_mechanism_s_do() -> None:
    m = HadamardResponse(4, Fraction(3, 5))
    ours, theirs = (ldp.account(Repeat(each, 7)).epsilon(1e-6) for each in (channel_of(m), m))
    assert ours.high == pytest.approx(theirs.high, rel=1e-9)


@pytest.mark.parametrize("m", BUNDLED, ids=str)
def test_a_mechanism_s_matrix_hides_among_users_as_the_mechanism_does(m: Mechanism) -> None:
    ours, theirs = (ldp.account(Shuffle(each, 10**4)).epsilon(1e-6) for each in (channel_of(m), m))
    assert ours.low <= theirs.high * (1 + 1e-6)
    assert theirs.low <= ours.high * (1 + 1e-6)
    assert ours.high == pytest.approx(theirs.high, rel=0.01)


TINY = [[tiny, 1 - tiny] for tiny in (Fraction(1, 10**300), Fraction(1, 2), Fraction(1, 10**295))]
"""Of no use to floats."""


@given(
    st.tuples(st.integers(2, 5), st.integers(1, 5)).flatmap(lambda size: strategies.channels(*size, weight=3)),
    st.floats(0, 4),
    st.fractions(0, 1, max_denominator=50).filter(lambda d: d < 1),
)
@example(TINY, 0.5, Fraction(1, 100))
@example([*ROWS, ROWS[0]], 0.1, Fraction(0))
def test_the_pairs_that_floats_leave_out_are_never_the_worst(rows: list[list[Fraction]], epsilon: float, delta: Fraction) -> None:
    m = Channel(tuple(map(tuple, rows)))
    screened, oracle = AllPairs(m.matrix, "the matrix"), channel_profile(m)
    assert ends(screened.delta(epsilon)) == ends(oracle.delta(epsilon))
    assert ends(screened.epsilon(delta)) == ends(oracle.epsilon(delta))
    assert ends(screened.epsilon(0)) == ends(oracle.epsilon(0))


def test_ratios_of_many_thousand_digits_leave_no_pair_out_that_needs_more() -> None:
    # Two pairs need nearly the same epsilon; logarithms of 60,000 bits are wrong by more than the two differ.
    goal, q = Fraction(1, 10**6), Fraction(1, 40)
    less = 2 + Fraction(random.Random(0).getrandbits(60_000), 1 << 60_000)
    more = less * (1 + Fraction(1, 10**13))
    first, second = goal + less * q, goal + more * q
    laws = tuple((a, b, 1 - a - b) for a, b in ((first, second), (q, second), (first, q)))
    pairs = tuple(ExactPLD.of(zip(a, b, strict=True)) for a, b in permutations(laws, 2))
    assert AllPairs(laws, "the matrix").epsilon(goal) == FiniteProfile(pairs, "the matrix").epsilon(goal)


def random_channel(inputs: int, views: int, seed: int) -> Channel:
    """Rows of large denominators, no two pairs of one kind."""
    weights = np.random.default_rng(seed).integers(100, 1000, (inputs, views)).tolist()
    return Channel([[Fraction(weight, sum(row)) for weight in row] for row in weights])


def test_pairs_that_chords_leave_out_are_never_the_worst_whatever_was_asked_before() -> None:
    m = random_channel(14, 6, 1)
    screened, oracle = AllPairs(m.matrix, "the matrix"), channel_profile(m)
    grid = [0.0, 2.0, 1.0, 0.5, 1.5, *(0.1 * i for i in range(20)), 1e-6, 1e-5]
    for epsilon in grid:
        assert ends(screened.delta(epsilon)) == ends(oracle.delta(epsilon)), epsilon
    assert 2 <= len(screened.asked) < len(grid) / 2


def test_runs_of_a_channel_of_many_pairs_cost_what_some_pair_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    m, epsilon = random_channel(4, 3, 2), 0.5
    one = [(a, b) for a, b in permutations(m.matrix, 2)]
    both = (joint(zip(*a, strict=True), zip(*b, strict=True)) for a in one for b in one)
    twice = max(excess(each, Fraction(math.exp(epsilon))) for each in both)
    monkeypatch.setattr(all_pairs, "_MOST_LISTED", 0)
    profile = typed(AllPairs, ldp.account(m))
    found = ldp.account(Repeat(m, 2)).delta(epsilon)
    assert found.low <= twice * (1 + Fraction(1, 10**12))
    assert found.high >= twice * (1 - Fraction(1, 10**12))
    assert found.low > 1.2 * profile.delta(epsilon).high
    mean = max(one, key=lambda pair: sum(p * math.log(p / q) for p, q in zip(*pair, strict=True)))
    assert ExactPLD.of(zip(*mean, strict=True)) in profile.telling()
    assert all(ExactPLD.of(zip(*pair, strict=True)) in profile.telling() for pair in one if largest(pair) == max(map(largest, one)))


Pair = tuple[tuple[Fraction, ...], ...]


def largest(pair: Pair) -> Fraction:
    """The largest likelihood ratio."""
    found: Fraction = max(p / q for p, q in zip(*pair, strict=True))
    return found


@given(st.tuples(st.integers(2, 4), st.integers(1, 4)).flatmap(lambda size: strategies.channels(*size, weight=2)))
def test_two_pairs_are_of_one_kind_where_their_views_can_be_renamed(rows: list[list[Fraction]]) -> None:
    coded = CodedLaws.of(rows)
    shown = {(i, j): tuple(sorted(zip(rows[i], rows[j], strict=True))) for i, j in coded.all_pairs().tolist()}
    few = some(coded.few_kinds(100))
    assert sorted(shown[i, j] for i, j in few.tolist()) == sorted(set(shown.values()))
    assert (coded.few_kinds(len(few) - 1) is None) == (len(few) > 0)


@given(strategies.channels(3, 4, weight=2).filter(lambda rows: len(set(map(tuple, rows))) == 3))
@example([[Fraction(n, 8) for n in row] for row in ((3, 1, 2, 2), (1, 3, 2, 2), (2, 2, 1, 3))])
def test_every_pair_of_inputs_has_its_blanket_among_those_of_the_bound(rows: list[list[Fraction]]) -> None:
    bound = typed(BlanketBound, of_law({x: dict(enumerate(row)) for x, row in enumerate(rows)}, 100))
    below = [min(column) for column in zip(*rows, strict=True)]
    assert set(bound.blankets) == {Blanket.of(zip(p, q, below, strict=True)) for p, q in permutations(rows, 2)}


@pytest.mark.parametrize(("matrix", "says"), [
    ([["1/2", "1/2"], ["1/2", "1/3"]], "sum to 1 exactly, got 5/6 in row 1"),
    ([[0.9, 0.1], [0.1, 0.9]], r"got 1 \+ 2.77556e-17 \(decimals are exact where they stand in quotes\) in row 0"),
    ([[1, 0], [-1, 2]], "needs probabilities, got -1 in row 1, place 0"),
    ([["rest", "rest"], [1, 0]], "row 0: needs 'rest' at most once, got it 2 times"),
    ([["1/0", 1], [1, 0]], "row 0, place 0: needs a finite number"),
    ([[1, 0], ["1/2", "x"]], "row 1, place 1: needs a number"),
    ([[1, 0], [1, None]], "row 1, place 1: it needs an int"),
    ([[1, 0], [1, []]], "row 1, place 1: it needs an int"),
    ([[1, 0], [1]], "two rows of one length, got 2 of 1, 2 entries"),
    ([[1, 0]], "at least two rows"),
    ([[], []], "at least two rows of one length, got 2 of 0 entries"),
    ([[1, 0], "1"], "row 1: needs a list of numbers, got '1'"),
    ([], "a list of rows"),
    (7, "a list of rows, got 7"),
    ([[0] * MOST_ENTRIES, [0]], f"at most {MOST_ENTRIES} entries, got {MOST_ENTRIES + 1}"),
])  # fmt: skip
def test_what_is_no_matrix_of_probabilities_is_an_error_that_names_the_row(matrix: object, says: str) -> None:
    raises_a_line(registry.ParameterError, says, registry.build, "channel", "", {"matrix": matrix})


def test_rest_is_what_the_others_of_a_row_leave() -> None:
    m = Channel("1/(1+exp(-1)), rest; rest, 1/(1+exp(-1))")
    assert ldp.account(m).epsilon(0).high == pytest.approx(1, abs=1e-15)
    assert m.matrix[0] == m.matrix[1][::-1]


def test_a_matrix_is_the_same_in_every_kind_of_file(tmp_path: Path) -> None:
    lay_out(tmp_path, {"m.csv": "0.5, 0.25, rest\n\n1/4,1/2,1/4\n", "m.json": '[[0.5, "1/4", 0.25], [0.25, 0.5, "rest"]]'})
    np.save(tmp_path / "m.npy", np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]))
    found = {Channel.from_file(tmp_path / f"m.{kind}") for kind in ("csv", "json", "npy")}
    assert found == {Channel("1/2,1/4,1/4;1/4,1/2,1/4")}


def test_a_decimal_in_a_file_is_the_number_that_is_written(tmp_path: Path) -> None:
    for name, text in (("m.csv", "0.9,0.1\n0.1,0.9\n"), ("m.json", "[[0.9, 0.1], [0.1, 0.9]]")):
        (tmp_path / name).write_text(text)
        assert Channel.from_file(tmp_path / name).matrix[0] == (Fraction(9, 10), Fraction(1, 10))


def npy(dtype: str, shape: object, entries: bytes = b"") -> bytes:
    """An NPY file of version 1.0, whose header says what is given."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + entries


@pytest.mark.parametrize(("name", "content", "says"), [
    ("m.txt", b"1,0\n0,1\n", r"needs a file \.csv or \.json or \.npy, got"),
    ("m.csv", b"1,0\n0,\xff\n", "UTF-8"),
    ("m.csv", b'1,"0\n', "needs a CSV file"),
    ("m.csv", b"", "a list of rows"),
    ("m.json", b"[[1, 0], [0, 1]", "needs a JSON file"),
    ("m.json", b"[" * 100_000, "needs a JSON file"),
    ("m.json", b"[[NaN, 1], [0, 1]]", "row 0, place 0: it needs a finite number"),
    ("m.json", b'{"rows": 2}', "a list of rows"),
    ("m.npy", b"no", "needs an NPY file"),
    ("m.npy", npy("<U0", (10**9, 1)), "needs an NPY file of one array with two axes"),
    ("m.npy", npy("<f8", (10**9, 0)), "the 0 bytes of its 1000000000 x 0 entries"),
    ("m.npy", npy("<f8", (10**9, 10**9)), "got 0"),
    ("m.npy", npy("<f8", (1, 2), bytes(17)), "the 16 bytes of its 1 x 2 entries, got 17"),
    ("m.npy", npy("<f8", (1,), bytes(8)), "two axes"),
    ("m.npy", npy("|O", (1, 1), bytes(8)), "of integers, floats or text"),
    ("m.npy", npy("<f8", "(" * 9000), "needs an NPY file"),
    ("m.npy", b"PK\x03\x04" + bytes(40), "needs an NPY file"),
    ("m.npy", b"\x93NUMPY\x01\x00\xff\xff", "needs an NPY file"),
    ("m.npy", b"\x93NUMPY\x09\x00\x00\x00", "needs an NPY file"),
    ("m.csv", b"1" * (1 << 22) + b"1", "at most 4194304 bytes"),
    ("m.json", b"[[]" + b", []" * 199_999 + b"]", "at most 131072 entries, got 200000"),
])  # fmt: skip
def test_a_file_that_holds_no_matrix_is_an_error_of_one_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    raises_a_line(registry.ParameterError, says, registry.build, "channel", "", {"file": str(tmp_path / name)})


SHARES = ",".join(f"1/{10**398 + i}" for i in range(10_000))
PAIRS = ",".join(f"{i}/{1000 * (10**190 + i)},{10**190}/{1000 * (10**190 + i)}" for i in range(1, 1001))
LONG = "(3**-4096+5**-4096+7**-4096+11**-4096+13**-4096+17**-4096)*0"
"""Takes 5 ms."""
SOON = 10
"""Seconds that a stranger's file may take."""


@pytest.mark.few(3)
@pytest.mark.parametrize(("text", "says"), [
    (f"{SHARES},rest", "row 0: needs a common denominator of at most 131072 bits"),
    slow(f"{SHARES}\n{'0,' * 9_999}1", "row 0: needs a common denominator of at most 131072 bits"),
    (f"{PAIRS}\n{PAIRS}", "row 0: needs a common denominator of at most 131072 bits"),
    (",".join(["((1/3)**4096)**20"] * 1_000), "a matrix of at most 67108864 bits"),
    slow(",".join(["((1/3)**4096)**20"] * 90_000), "a matrix of at most 67108864 bits"),
    slow(",".join(f"{LONG}*{i}" for i in range(20_000)), "different expressions of at most 262144 characters"),
    (",".join(f"2**0*{'0*' * 88}{i}" for i in range(200)), "different expressions of at most 262144 characters"),
    (",".join(f"exp(exp(-1/{i + 1}))" for i in range(20_000)), "different expressions of at most 262144 characters"),
], ids=["rest", "denominators", "sum of 1", "bits", "more bits", "powers", "a few powers", "expressions"])  # fmt: skip
def test_a_matrix_whose_numbers_take_long_is_refused_soon(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with at_most(SOON, time.process_time):
        raises(registry.ParameterError, says, registry.build, "channel", "", {"file": str(tmp_path / "m.csv")})


@pytest.mark.parametrize("text", ["1", "0.25", "7/14", "7.5e-01", "2E+3", "1e-999", "0.0e5"])
def test_what_needs_no_parser_of_expressions_is_what_the_parser_says(text: str) -> None:
    assert _PLAIN.fullmatch(text)
    assert Fraction(text) == parse(text)


def test_a_large_matrix_that_another_program_wrote_is_read(tmp_path: Path) -> None:
    entries = (np.random.default_rng(0).permutation(22_500) + 1).reshape(150, 150) / 2**22
    entries[:, 0] += 1 - entries.sum(axis=1)
    np.savetxt(tmp_path / "m.csv", entries, fmt="%.30e", delimiter=",")
    assert Channel.from_file(tmp_path / "m.csv") == Channel(entries.tolist())


THIRD = (1 << 62) // 3
"""The first 62 bits of a third; more of its bits are as many again."""


@pytest.mark.parametrize(("digits", "view"), [((0,), 0), ((THIRD + 1,), 1), ((THIRD, 0), 0), ((THIRD, THIRD + 1), 1)])
def test_a_number_whose_digits_are_those_of_an_end_is_told_from_it_by_more_digits(digits: tuple[int, ...], view: int) -> None:
    ends = [Fraction(0), Fraction(1, 3)]
    assert _last_end(ends, THIRD, Mock(integers=Mock(side_effect=digits))) == view


def test_counts_that_no_view_tells_apart_have_no_unbiased_estimate() -> None:
    m = Channel("1/2,1/2;1/2,1/2;1/4,3/4")
    raises(Unsupported, "linearly dependent", m.run, [0, 1, 2], np.random.default_rng(0))


def test_users_counts_and_users_values_give_estimates_around_the_truth() -> None:
    m, rng = Channel(tuple(map(tuple, ROWS))), np.random.default_rng(1)
    found = np.mean([m.run_on_counts({0: 3000, 1: 1000}, rng) for _ in range(200)], axis=0)
    assert np.abs(found - [3000, 1000]).max() < 30


def test_a_view_that_another_input_never_shows_leaves_no_epsilon_to_prove() -> None:
    m = Channel("1/2,1/2,0;1/3,1/3,1/3")
    raises(Unsupported, r"no theorem of proofs/channel\.py covers", derive, Run(m), "replace-one")


DEPLOYED = """
schema = "ldpaudit.deployment/1"
id = "own"
mechanism = {kind = "channel", file = "matrices/m.csv"}
claims = [{id = "one", epsilon = "log(3)"}]
"""


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    lay_out(tmp_path, {"matrices/m.csv": "3/4,1/4\n1/4,rest\n", "own.toml": DEPLOYED})
    return tmp_path / "own.toml"


def test_a_certificate_holds_the_matrix_of_the_file_that_its_deployment_names(deployed: Path) -> None:
    made = ldp.certify(deployed, trials=2000)
    assert made.verdict == "PROVED"
    read = Certificate.from_json(made.to_json())
    (deployed.parent / "matrices" / "m.csv").write_text("3/4,1/4\n1/4,3/4\n")
    assert verify(read) == []
    assert of_the_source(read, deployed) == [f"its file matrices/m.csv is not the one beside {deployed}"]


def test_a_certificate_of_another_matrix_does_not_stand(deployed: Path) -> None:
    made = ldp.certify(deployed, trials=2000)
    (deployed.parent / "matrices" / "m.csv").write_text("2/3,1/3\n1/3,2/3\n")
    assert verify(made.model_copy(update={"files": ldp.certify(deployed, trials=2000).files}))
    raises(DeploymentError, r"needs the file 'matrices/m\.csv'", verify, made.model_copy(update={"files": {}}))
    raises(DeploymentError, "base64", verify, made.model_copy(update={"files": {"matrices/m.csv": "?"}}))
    assert verify(made.model_copy(update={"files": {**made.files, "more.csv": ""}})) == [
        "its files are not those that its deployment file names"
    ]


def test_a_certificate_without_files_is_written_as_before(deployed: Path) -> None:
    deployed.write_text(DEPLOYED.replace('file = "matrices/m.csv"', 'matrix = [["3/4", "1/4"], ["1/4", "3/4"]]'))
    assert "files" not in json.loads(ldp.certify(deployed, trials=2000).to_json())


@pytest.mark.parametrize("name", ["../own.csv", "/etc/hostname", "link/own.csv", "matrices/../../own.csv"])
def test_a_deployment_reads_no_file_outside_its_folder(deployed: Path, name: str) -> None:
    (deployed.parent.parent / "own.csv").write_text("3/4,1/4\n1/4,3/4\n")
    (deployed.parent / "link").symlink_to(deployed.parent.parent)
    deployed.write_text(DEPLOYED.replace("matrices/m.csv", name))
    raises(DeploymentError, r"own\.toml:4: mechanism\.file: needs a file in the deployment's folder", load, deployed)


@pytest.mark.slow
def test_a_channel_of_300_inputs_and_views_is_accounted_shuffled_proved_and_audited() -> None:
    weights = np.random.default_rng(1).integers(500, 1500, (300, 300)).tolist()
    m = Channel(tuple(tuple(Fraction(w, sum(row)) for w in row) for row in weights))
    profile = ldp.account(m)
    assert profile.epsilon(1e-3).high < profile.epsilon(0).high < np.log(4)
    assert ldp.account(Shuffle(m, 10**6)).epsilon(1e-6).high < 0.01
    assert derive(Run(m), "replace-one").epsilon.high == pytest.approx(profile.epsilon(0).high)
    assert 0 < ldp.audit(m, seed=1).epsilon_lower < profile.epsilon(0).high
