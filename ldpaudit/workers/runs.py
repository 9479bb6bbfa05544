"""Systems run over users' data in parts: by this process, by several or by a cluster, with one result.

What a part answers is drawn from coins that depend on the run's key, the round and the part's number alone, and answers are
added in the parts' order. So the result depends on the key and the partition, not on workers, completion or restarts: a part that
is asked again answers the same, and no user's coins are ever tossed twice. The key is a secret of the operating system's, of which
nothing is shown; it is kept in the checkpoint alone, which its owner alone may read. With a seed instead, a run is a simulation.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ldpaudit.coins import Coins, Secret, Seeded
from ldpaudit.core.partitions import Counts, Part, Partition
from ldpaudit.core.units import stream
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files.whole import Saved
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.in_parts import Answer, InParts, Question, driven, total
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.workers.experiment import HERE, Execution

SCHEMA = "ldpaudit.run/1"
LARGEST_FILE = 1 << 30  # bytes that a checkpoint may have: the tables of all rounds
_CENTRE, _PARTS = 0, 1  # streams of random numbers: the centre's, and the parts'
_PACKED = 1  # how hard tables are packed: sums of signs are small numbers, and even this makes an eighth of them
_KINDS = ("<i8", "<f8")  # arrays that a checkpoint holds
_Read = TypeVar("_Read")


def run(m: Mechanism, partition: Partition, seed: int | None = None, execution: Execution = HERE, passes: int | None = None) -> Any:
    """The whole system over data in parts: of the law of the mechanism's own `run` on all parts' users, one after the other.

    ``m``: a system whose rounds need nothing of a part but what adds up: TrieHH and those of its kind; ``partition``:
    the data. All are read once to count users and to tell them from other data, then once for every round; ``seed``:
    None for coins that nobody foresees. A seed, at least 0, makes a simulation: whoever knows it knows who said what;
    ``execution``: who answers for the parts, where the state is kept, and who is told: how many answers there are so
    far, and how many rounds are over, of the present one the share that is. The result does not depend on it. The
    checkpoint is written before the first answer, and after each that is added; it holds no more than the centre of a
    deployment would see, and without a seed the key of all coins: it is the owner's alone, and to be deleted when the
    run is over. ``passes``: the most rounds, for TrieHH, whose parts, and checkpoint, then show the votes for prefixes that
    do not grow, too; by default one for each level. The law is the same, but what is drawn is not.
    Returns what the mechanism's `run` returns. Raises Unsupported where the mechanism is not run over
    parts; ValueError where the data are not what the mechanism is for, or of more or fewer users, or the checkpoint
    is another run's, or one with a secret that others may read; DeploymentError where a part cannot be read, or is
    another when it is read again.

    Examples
    --------
    >>> from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
    >>> data = Partition.of_counts([{"sun$": 6000, "moon$": 500}, {"sun$": 3000, "sea$": 500}])
    >>> trie = run(TrieHeavyHitter(users=10_000, batch=1000, threshold=200, levels=9), data)  # no seed: coins of the system's
    >>> sorted(trie)
    ['s', 'su', 'sun', 'sun$']
    """
    if not isinstance(m, InParts):
        raise Unsupported(m, "it does not read users' data in parts")
    system: Any = m
    if passes is not None and not isinstance(system, TrieRounds):
        raise Unsupported(m, "its rounds depend on each other, so that their number is its own")
    if (seed is not None and seed < 0) or (passes is not None and passes < 1):
        raise ValueError(f"a run needs seed >= 0 and passes >= 1, got seed={seed} and passes={passes}")
    census = tuple(stream(map(_Counting, partition.parts), execution.executor))
    users = sum(users for users, _ in census)
    if (stated := getattr(m, "users", users)) != users:  # a part that is missing is no smaller deployment
        raise ValueError(f"a run of {type(m).__name__} needs the values of {stated} users, got {users} in all parts")
    asked = "" if passes is None else f" {passes}"
    made = f"{type(m).__module__} {m!r} {seed} {census} {np.__version__}{asked}"  # str(m) would round parameters
    file = None if execution.checkpoint is None else Saved(Path(execution.checkpoint), "run", SCHEMA, made, LARGEST_FILE)
    coins, state = _begun(seed, file)
    rounds = _Rounds(m, partition, [digest for _, digest in census], coins, execution, file, state)
    at_most = () if passes is None else (passes,)
    return driven(system.centre([users for users, _ in census], coins.at(_CENTRE).generator(), *at_most), rounds.answered)


def _begun(seed: int | None, file: Saved | None) -> tuple[Coins, _State]:
    """The coins and the state of a run, as its checkpoint has them; a new secret is written down before it is used."""
    if file is None:
        return (Secret.fresh() if seed is None else Seeded(seed)), _State()
    if seed is not None:
        return Seeded(seed), loaded(file, _State.from_json) or _State()
    file.require_private()
    found = loaded(file, lambda data: (Secret(bytes.fromhex(data["key"])), _State.from_json(data)))
    if found is None:
        found = Secret.fresh(), _State()
        file.save({**_key(found[0]), "totals": [], "parts": 0, "added": None})
    return found


def _key(coins: Coins) -> dict[str, str]:
    return {"key": coins.key.hex()} if isinstance(coins, Secret) else {}


@dataclass(frozen=True, slots=True)
class _Counting:
    """How many users a part has, and the digest of what they hold."""

    part: Part

    def __call__(self) -> tuple[int, str]:
        counts = self.part.counts()
        return counts.users, counts.digest


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question to a part."""

    system: InParts
    part: Part
    digest: str
    question: Question
    coins: Coins
    place: tuple[int, int]

    def __call__(self) -> Answer:
        held = self.part.counts()
        if held.digest != self.digest:
            named = "" if isinstance(self.part, Counts) else f", {self.part}"
            raise DeploymentError("needs the data that were counted at the start, got different data", f"{self}{named}")
        return self.system.answer(self.question, held, self.coins.generator())

    def __str__(self) -> str:
        return f"round {self.place[0] + 1}, part {self.place[1] + 1}"


@dataclass(frozen=True, slots=True)
class _State:
    """How far a run has come."""

    totals: tuple[Answer, ...] = ()  # of the rounds that are over
    parts: int = 0  # parts of the present round whose answers are added
    added: Answer | None = None  # their sum

    @classmethod
    def from_json(cls, data: Any) -> _State:
        """Read back."""
        added, parts = data["added"], data["parts"]
        if not isinstance(parts, int) or parts < 0 or (parts == 0) is not (added is None):
            raise ValueError(f"the sum of {parts!r:.20} parts")
        return cls(tuple(map(unpacked, data["totals"])), parts, None if added is None else unpacked(added))


class _Rounds:
    """The answers to a centre's questions, round by round, from the state in which a run was left."""

    def __init__(
        self,
        m: InParts,
        partition: Partition,
        digests: Sequence[str],
        coins: Coins,
        execution: Execution,
        file: Saved | None,
        state: _State,
    ) -> None:
        self._system, self._parts, self._digests, self._coins = m, partition.parts, digests, coins
        self._execution, self._file, self._state = execution, file, state
        self._known, self._answers = iter(self._state.totals), 0
        self._written = [*map(packed, self._state.totals)]

    def answered(self, questions: Sequence[Question | None]) -> Answer:
        """The sum of all answers in a round."""
        asked = [place for place, question in enumerate(questions) if question is not None]
        self._answers += len(asked)
        if (known := next(self._known, None)) is not None:
            return known
        round_, state = len(self._state.totals), self._state
        if state.parts > len(asked):
            assert self._file is not None  # else nothing was added
            raise ValueError(f"{self._file.needs}, got {state.parts} answers in a round of {len(asked)}")
        self._answers -= len(asked) - state.parts
        parts, digests, coins = self._parts, self._digests, self._coins
        units = (
            _Asking(self._system, parts[i], digests[i], questions[i], coins.at(_PARTS, round_, i), (round_, i))
            for i in asked[state.parts :]
        )
        for answer in stream(units, self._execution.executor):
            self._add(answer, len(asked))
        assert self._state.added is not None  # a centre asks some part
        over = self._state.added
        self._state = _State((*self._state.totals, over))
        if self._file is not None:
            self._written.append(packed(over))
        return over

    def _add(self, answer: Answer, asked: int) -> None:
        added = answer if self._state.added is None else total((self._state.added, answer))
        self._state = replace(self._state, parts=self._state.parts + 1, added=added)
        self._answers += 1
        if self._file is not None:
            state = {"totals": self._written, "parts": self._state.parts, "added": packed(added)}
            self._file.save({**_key(self._coins), **state})
        if self._execution.progress is not None:
            self._execution.progress(self._answers, len(self._state.totals) + self._state.parts / asked)


def loaded(file: Saved, read: Callable[[Any], _Read]) -> _Read | None:
    """The state of a checkpoint, if there is one. Raises ValueError where it is none of this work."""
    data = file.load()
    try:
        return None if data is None else read(data)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        said = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"{file.needs}, got one of another kind: {said:.200}") from None


def packed(answer: Answer) -> dict[str, Any]:
    """An answer as JSON, every bit of it."""
    if isinstance(answer, Counter):
        return {"votes": dict(answer)}
    if answer.dtype.kind == "O":
        return {"integers": [*map(hex, answer.tolist())]}
    kind = answer.dtype.newbyteorder("<").str
    if kind not in _KINDS:
        raise TypeError(f"a checkpoint holds arrays of {' or '.join(_KINDS)}, got {kind}")
    small = zlib.compress(answer.astype(kind).tobytes(), _PACKED)
    return {"kind": kind, "shape": [*answer.shape], "zlib": base64.b64encode(small).decode()}


def unpacked(data: Any) -> Any:
    """An answer, read back. Raises ValueError where it is none."""
    match data:
        case {"integers": [*numbers]}:
            return np.array([int(each, 16) for each in numbers], dtype=object)
        case {"votes": dict(votes)} if all(isinstance(n, int) and n > 0 for n in votes.values()):
            return Counter(votes)
        case {"kind": kind, "shape": [*shape], "zlib": str(text)} if kind in _KINDS:
            size = 8 * math.prod(shape)
            content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
            if len(content) == size:
                return np.frombuffer(content, kind).reshape(shape).astype(kind[1:])
    raise ValueError(f"an answer {data!r:.60}")
