"""Systems over data in parts: whatever the workers, deaths and restarts, one result, of the law of the system's own run."""

import json
import os
import pickle
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from ldpaudit.core.partitions import Counts, Partition
from ldpaudit.errors import DeploymentError, LdpauditError, Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import KaryRandomizedResponse, NoisyTrieHeavyHitter, TreeHistogram, TrieHeavyHitter
from ldpaudit.mechanisms.shared.coins import subset
from ldpaudit.workers.experiment import Execution
from ldpaudit.workers.runs import run
from ldpaudit.workers.shards import shards
from ldpaudit.workers.worker_processes import Processes
from tests.deadly import Deadly
from tests.helpers import UnpluggedError, raises, same_on_a_cluster
from tests.samples import LEVEL, fits, once

RUNS = 500
"""What a test of a law looks at."""
TRIE = TrieHeavyHitter(users=2600, batch=600, threshold=10, levels=6, counts=1)
WORDS = {"sun$": 400, "sea$": 300, "moon$": 200, "star$": 60, "mars$": 10, "venus$": 3}
DATA = Partition.of_counts([WORDS, {"sun$": 17, "saturn$": 10}, {**WORDS, "earth$": 500}, {"": 127}])


SMALL: list[dict[Any, int]] = [
    {("ab", "b"): 1, ("ab", "ab", "ac"): 1, ("b",): 1},
    {("ab",): 1},
    {("",): 1, ("ac", "ab"): 2, ("b", "ba"): 1},
]


@pytest.mark.parametrize(("noisy", "batch", "passes"), [(False, 5, 2), (True, 3, 2), (False, 5, 1), (True, 3, 1)])
def test_tries_of_data_in_parts_have_the_exact_law_of_all_users_together(noisy: bool, batch: int, passes: int) -> None:
    m: Any = TrieHeavyHitter(users=8, batch=batch, threshold=2, levels=2, words=2, counts=1)
    m = NoisyTrieHeavyHitter(8, batch, 2, 2, Fraction(1, 3), 1, words=2) if noisy else m
    together = Counter(words for part in SMALL for words, users in part.items() for _ in range(users))
    law = dict(m.law(tuple(sorted(together.items()))).items())
    parts, rng = [Counts.of(each) for each in SMALL], np.random.default_rng(5)
    assert fits(Counter(once(m, parts, rng, passes) for _ in range(RUNS)), law)


def test_any_number_of_workers_finds_the_same() -> None:
    alone = run(TRIE, DATA, seed=3)
    assert "sun$" in TRIE.prefixes(alone)
    assert run(TRIE, DATA, seed=4) != alone
    for workers in (1, 2, 4):
        with ThreadPoolExecutor(workers) as pool:
            assert run(TRIE, DATA, 3, Execution(pool)) == alone
    with Processes(2) as pool:
        assert run(TRIE, DATA, 3, Execution(pool)) == alone


@dataclass
class Counted:
    """A part that counts how often it is read."""

    held: Counts
    reads: int = 0

    def counts(self) -> Counts:
        self.reads += 1
        return self.held


@pytest.mark.parametrize(("passes", "reads"), [(None, 6), (6, 6), (3, 3), (4, 3), (2, 2), (1, 1)])
def test_data_are_read_once_to_count_and_then_at_most_as_often_as_is_said(passes: int | None, reads: int) -> None:
    parts = tuple(Counted(part.counts()) for part in DATA.parts)
    found = run(TRIE, Partition(parts), 3, passes=passes)
    assert [part.reads for part in parts[:2]] == [1 + reads] * 2
    assert "sun$" in TRIE.prefixes(found)
    assert all(prefix[:-1] in {"", *TRIE.prefixes(found)} for prefix in TRIE.prefixes(found))


def test_a_run_in_few_passes_goes_on_from_its_own_checkpoint_alone(tmp_path: Path) -> None:
    file, alone = tmp_path / "run.json", run(TRIE, DATA, 3, passes=2)
    raises(UnpluggedError, "", run, TRIE, DATA, 3, Execution(checkpoint=file, progress=partial(unplugged, 6)), passes=2)
    for passes in (None, 1):
        with pytest.raises(ValueError, match="needs the checkpoint of this run, got another"):
            run(TRIE, DATA, 3, Execution(checkpoint=file), passes=passes)
    assert run(TRIE, DATA, 3, Execution(checkpoint=file), passes=2) == alone
    with pytest.raises(Unsupported, match="its rounds depend on each other"):
        run(TreeHistogram(users=2600, domain=1 << 20, width=4, p=Fraction(3, 4)), DATA, passes=1)
    raises(ValueError, "passes >= 1", run, TRIE, DATA, passes=0)


def test_a_part_of_which_nobody_is_drawn_is_read_for_the_census_alone() -> None:
    spare = Counted(Counts.of({"": 1}))
    assert run(TRIE.__class__(2474, 4, 2, 1), Partition((*DATA.parts[:3], spare)), seed=1)
    assert spare.reads == 1


def test_a_killed_worker_loses_nothing_and_work_that_kills_every_process_is_given_up_in_a_line(tmp_path: Path) -> None:
    deadly = Partition((Deadly(DATA.parts[0].counts(), tmp_path, 1), *DATA.parts[1:]))
    with Processes(2) as pool:
        assert run(TRIE, deadly, 3, Execution(pool)) == run(TRIE, DATA, seed=3)
    assert {"first", "killed 1"} <= {path.name for path in tmp_path.iterdir()}
    with Processes(1) as pool, pytest.raises(LdpauditError, match="3: its process ended with exit code 3 before it answered"):
        pool.submit(os._exit, 3).result()


def unplugged(answers: int, so_far: int, rounds: float) -> None:
    if so_far == answers:
        raise UnpluggedError


def test_a_run_goes_on_wherever_it_was_stopped_and_asks_nothing_twice(tmp_path: Path) -> None:
    alone, told = run(TRIE, DATA, seed=3), list[tuple[int, float]]()
    file = tmp_path / "run.json"
    for stop in (1, 4, 6, 7, 11):
        raises(UnpluggedError, "", run, TRIE, DATA, 3, Execution(checkpoint=file, progress=partial(unplugged, stop)))
    assert run(TRIE, DATA, 3, Execution(checkpoint=file, progress=lambda *seen: told.append(seen))) == alone
    assert [answers for answers, _ in told] == list(range(12, 12 + len(told)))
    assert [rounds for _, rounds in told] == sorted(rounds for _, rounds in told)
    assert told[-1][1] == TRIE.levels == max(map(len, TRIE.prefixes(alone)))
    assert run(TRIE, DATA, 3, Execution(checkpoint=file, progress=partial(unplugged, told[-1][0]))) == alone
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_checkpoint_is_for_one_run_alone(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    run(TRIE, DATA, 3, Execution(checkpoint=file))
    others: list[tuple[TrieHeavyHitter, Partition, int]] = [
        (replace(TRIE, batch=601), DATA, 3), (TRIE, replace(DATA, parts=DATA.parts[::-1]), 3), (TRIE, DATA, 4),
        (TRIE, Partition.of_counts([{"moon$": 2600}]), 3),
    ]
    for m, data, seed in others:
        raises(ValueError, "needs the checkpoint of this run, got another", run, m, data, seed, Execution(checkpoint=file))


class Handed(Executor):
    """Does what it is given at once, from what was written of it, and keeps that."""

    def __init__(self) -> None:
        self.given = list[bytes]()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.given.append(pickle.dumps(args))
        done = Future[Any]()
        done.set_result(fn(*pickle.loads(self.given[-1]), **kwargs))
        return done


def begun(file: Path) -> bytes:
    """A run without a seed, stopped at its first answer; its key."""
    raises(UnpluggedError, "", run, TRIE, DATA, execution=Execution(checkpoint=file, progress=partial(unplugged, 1)))
    return bytes.fromhex(json.loads(file.read_text())["state"]["key"])


def test_two_runs_without_a_seed_share_no_coins(tmp_path: Path) -> None:
    assert len({run(TRIE, DATA) for _ in range(5)}) > 1
    assert len({begun(tmp_path / f"{i}.json") for i in range(3)}) == 3
    seeded = tmp_path / "seeded.json"
    run(TRIE, DATA, 3, Execution(checkpoint=seeded))
    assert "key" not in json.loads(seeded.read_text())["state"]


def test_a_secret_run_goes_on_with_the_coins_that_it_began_with(tmp_path: Path) -> None:
    key = begun(tmp_path / "a.json")
    shutil.copy(tmp_path / "a.json", tmp_path / "b.json")
    found = run(TRIE, DATA, execution=Execution(checkpoint=tmp_path / "a.json"))
    for stop in (3, 6, 7):
        with pytest.raises(UnpluggedError):
            run(TRIE, DATA, execution=Execution(checkpoint=tmp_path / "b.json", progress=partial(unplugged, stop)))
    with Processes(2) as pool:
        deadly = Partition((Deadly(DATA.parts[0].counts(), tmp_path, 1), *DATA.parts[1:]))
        assert run(TRIE, deadly, execution=Execution(pool, tmp_path / "b.json")) == found
    assert {json.loads((tmp_path / name).read_text())["state"]["key"] for name in ("a.json", "b.json")} == {key.hex()}
    assert "killed 1" in {path.name for path in tmp_path.iterdir()}


def test_the_secret_is_on_the_disk_before_the_first_coin_is_drawn(tmp_path: Path) -> None:
    class Watched(TrieHeavyHitter):
        __slots__ = ()

        def centre(self, users: Any, rng: np.random.Generator, passes: int | None = None) -> Any:
            state = json.loads((tmp_path / "run.json").read_text())["state"]
            first.append((len(bytes.fromhex(state["key"])), state["totals"], state["parts"]))
            return super().centre(users, rng)

    first = list[Any]()
    run(Watched(2600, 600, 10, 6, counts=1), DATA, execution=Execution(checkpoint=tmp_path / "run.json"))
    assert first == [(32, [], 0)]


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_checkpoint_is_its_owner_s_alone(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    begun(file)
    assert file.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(ValueError, match=r"run\.json: needs a checkpoint that nobody else may read \(mode 600\)"):
            run(TRIE, DATA, execution=Execution(checkpoint=file))


def test_who_answers_for_a_part_learns_the_coins_of_that_part_and_round_alone(tmp_path: Path) -> None:
    key, pool = begun(tmp_path / "run.json"), Handed()
    run(TRIE, DATA, execution=Execution(pool, tmp_path / "run.json"))
    asked = pool.given[len(DATA.parts) :]  # after the census
    assert len(asked) > len(DATA.parts)
    assert not any(key in each for each in pool.given)
    keys = [pickle.loads(each)[0].coins.key for each in asked]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("key", ["", "00", "zz" * 32, 7, None])
def test_a_key_that_is_none_is_refused_in_a_line(key: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    begun(file)
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "state": {**data["state"], "key": key}}))
    with pytest.raises(ValueError, match=r"run.json: needs a checkpoint of schema ldpaudit.run/1, got"):
        run(TRIE, DATA, execution=Execution(checkpoint=file))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_part_that_changes_during_a_run_is_an_error_that_names_it(workers: int, tmp_path: Path) -> None:
    for name, word in (("a.txt", "sun"), ("b.txt", "moon")):
        (tmp_path / name).write_text(f"{word}\n" * 1300)

    def change(answers: int, rounds: float) -> None:
        (tmp_path / "new").write_text("noon\n" * 1300)
        (tmp_path / "new").replace(tmp_path / "b.txt")

    with ExitStack() as stack:
        pool = stack.enter_context(Processes(workers)) if workers else None
        with pytest.raises(LdpauditError, match=r"part 2, .*b\.txt: needs the data that were counted at the start"):
            run(TRIE, shards([tmp_path], end="$"), 0, Execution(pool, progress=change))


def test_a_digest_tells_data_apart_by_value_type_number_and_order() -> None:
    held: list[tuple[Any, list[int]]] = [
        (np.array([1, 2]), [1, 1]), (np.array([2, 1]), [1, 1]), (np.array([1, 2]), [1, 2]), (np.array([1, 2], dtype="<u8"), [1, 1]),
        (np.array(["1", "2"], dtype=object), [1, 1]), (np.array(["1', '2"], dtype=object), [1]), (np.array(["1", "2"]), [1, 1]),
        (np.array([1, 2, 3]), [1, 1, 0]), (np.array([1, 3, 2, 3])[::2], [1, 1]), (np.array(["\ud800"], dtype=object), [1]),
    ]  # fmt: skip
    digests = [Counts(values, np.array(users)).digest for values, users in held]
    assert (len(set(digests)), digests[8]) == (len(held) - 1, digests[0])


def test_more_than_a_thousand_million_users_are_run_and_a_missing_part_is_an_error() -> None:
    data = Partition.of_counts([{"sun$": 3 * 10**9}, {"sun$": 10**9, "moon$": 10**9}, {"sea$": 5000}])
    found = run(TrieHeavyHitter(5 * 10**9 + 5000, batch=20_000, threshold=2_000, levels=5), data)
    assert {word for word in found if word.endswith("$")} == {"sun$", "moon$"}
    assert "se" not in found
    tree = TreeHistogram(users=2600, domain=1 << 20, width=4, p=Fraction(3, 4))
    with pytest.raises(ValueError, match="a run of TreeHistogram needs the values of 2600 users, got 1300 in all parts"):
        run(tree, Partition.of_counts([{5: 1000, 7: 300}]))


@pytest.mark.parametrize(("n", "k"), [(6, 0), (6, 1), (6, 3), (6, 4), (6, 6), (1, 1)])
def test_every_choice_of_users_is_as_likely_as_any_other(n: int, k: int) -> None:
    rng, every = np.random.default_rng(0), list(combinations(range(n), k))
    often = Counter(tuple(subset(n, k, rng).tolist()) for _ in range(3000))
    assert set(often) <= set(every)
    assert len(every) == 1 or stats.chisquare([often[each] for each in every]).pvalue > LEVEL
    assert np.all(np.diff(subset(10**15, 1000, rng)) > 0)


@pytest.mark.parametrize("state", [
    None,
    {},
    {"totals": [], "parts": 1, "added": None},
    {"totals": [], "parts": -1, "added": {"votes": {"a": 1}}},
    {"totals": [], "parts": 9, "added": {"votes": {}}},
    {"totals": [{"votes": {"a": -1}}], "parts": 0, "added": None},
    {"totals": [{"kind": "<i8", "shape": [2], "zlib": ""}], "parts": 0, "added": None},
])  # fmt: skip
def test_what_is_no_state_of_a_run_is_refused_in_a_line(state: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    run(TRIE, DATA, 3, Execution(checkpoint=file))
    file.write_text(json.dumps({**json.loads(file.read_text()), "state": state}))
    with pytest.raises(ValueError, match=r"run.json: needs a checkpoint of schema ldpaudit.run/1, got"):
        run(TRIE, DATA, 3, Execution(checkpoint=file))


def test_what_cannot_be_run_over_parts_is_refused() -> None:
    refused: list[tuple[Mechanism, Partition, type[Exception], str]] = [
        (KaryRandomizedResponse.for_epsilon(1, k=2), DATA, Unsupported, "does not read users' data in parts"),
        (replace(TRIE, users=5000), DATA, ValueError, "needs the values of 5000 users, got 2600"),
        (TRIE, Partition.of_counts([{7: 2600}]), ValueError, "needs words, got 7"),
        (TRIE, Partition.of_counts([{("a", "b"): 2600}]), ValueError, "at most 1 words a user"),
    ]  # fmt: skip
    for m, data, error, says in refused:
        raises(error, says, run, m, data)
    wrong: list[Callable[[], Any]] = [
        lambda: Partition(()), lambda: Partition.of_counts([{"a": -1}]), lambda: Partition.of_counts([{}]),
        lambda: Partition.of_users(["a"], 2), lambda: Counts(np.ones(1), cast(Any, np.ones(1))), lambda: Processes(0),
    ]
    for made in wrong:
        raises(ValueError, "need", made)


def test_every_way_to_write_a_part_is_read_alike(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    held = {"moon": 2, "sun": 3}
    users = [word for word, often in held.items() for _ in range(often)]
    (tmp_path / "a.txt").write_text("\n".join(users) + "\n")
    (tmp_path / "b.csv").write_text("id,word\n" + "".join(f"{i},{word}\n" for i, word in enumerate(users)))
    polars.DataFrame({"id": range(5), "word": users[::-1]}).write_parquet(tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("word,n\n" + "".join(f"{word},{often}\n" for word, often in held.items()))
    polars.DataFrame({"word": list(held), "n": list(held.values())}).write_parquet(tmp_path / "e.parquet")
    ended = {f"{word}$": often for word, often in held.items()}
    single = [shards([tmp_path / name], column, n, "$") for name, column, n in
              [("a.txt", "", ""), ("b.csv", "word", ""), ("c.parquet", "word", ""), ("d.csv", "word", "n"),
               ("e.parquet", "word", "n")]]  # fmt: skip
    for (part,) in (each.parts for each in single):
        assert dict(zip(part.counts().values.tolist(), part.counts().holders.tolist(), strict=True)) == ended
    assert len({part.counts().digest for each in single for part in each.parts}) == 1
    assert [part.path.name[0] for part in shards([tmp_path]).parts] == [*"abcde"]  # type: ignore[attr-defined]


def test_several_words_a_user_are_a_list_in_a_parquet_file_and_what_is_missing_in_it_is_an_error(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"words": [["a", "b"], [], ["c"]]}).write_parquet(tmp_path / "a.parquet")
    (part,) = shards([tmp_path], end="$").parts
    assert part.counts().values.tolist() == [("a$", "b$"), (), ("c$",)]
    polars.DataFrame({"word": ["a", None], "n": [1, 2], "share": [0.5, 2.0]}).write_parquet(tmp_path / "a.parquet")
    for column, users, says in (("word", "n", "got 1 without"), ("n", "share", "integers >= 0 for numbers of users, got 0.5")):
        raises(DeploymentError, says, shards([tmp_path], column, users).parts[0].counts)


@pytest.mark.parametrize(("name", "text", "users", "says"), [
    ("a.csv", "x,y\n1,2\n", "z", "needs a column 'z', got x, y"),
    ("a.csv", "x,y\n1,2.5\n", "y", "2.5"),
    ("a.csv", "x,y\n1,-2\n", "y", "integers >= 0 for numbers of users, got -2"),
    ("a.txt", "a\n", "y", "in CSV and Parquet files only"),
    ("a.parquet", "no", "", "Parquet file"),
    ("a.txt", "", "", "integers >= 0 for numbers of users"),
    ("b.doc", "", "", "a folder of files that end in"),
])  # fmt: skip
def test_a_part_that_cannot_be_read_is_an_error_of_a_line(tmp_path: Path, name: str, text: str, users: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    raises(DeploymentError, says, lambda: shards([tmp_path], "x" if "x" in text else "", users).parts[0].counts())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask and tornado, when a worker dies
def test_a_cluster_finds_the_same_also_where_a_worker_dies_half_way(tmp_path: Path) -> None:
    words = ["sun", "sea", "moon", "star", *(f"w{i:03}" for i in range(500))]
    for part in range(16):
        held = np.random.default_rng(part).multinomial(62_500, np.full(len(words), 1 / len(words)))
        lines = (f"{word},{users}\n" for word, users in zip(words, held, strict=True))
        (tmp_path / f"{part}.csv").write_text("word,users\n" + "".join(lines))
    data, m = shards([tmp_path], "word", "users", "$"), TrieHeavyHitter(10**6, 5_600, 17, 10)
    same_on_a_cluster(partial(run, m, data, 3), lambda _, rounds: rounds > 2.5)
