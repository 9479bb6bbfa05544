"""Systems run over users' data in parts: by this process, by several or by a cluster, with one result.

What a part answers is drawn from a stream that depends on the seed, the round and the part's number alone, and answers are
added in the parts' order. So the result depends on the seed and the partition, not on workers, completion or restarts.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.errors import Unsupported
from ldpaudit.experiment import HERE, Execution
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms._parts import Answer, InParts, Question, driven, total
from ldpaudit.partitions import Part, Partition
from ldpaudit.saved import Saved
from ldpaudit.units import stream

SCHEMA = "ldpaudit.run/1"
LARGEST_FILE = 1 << 30
"""Bytes that a checkpoint may have: the tables of all rounds."""
_CENTRE, _PARTS = 0, 1
"""Streams of random numbers: the centre's, and the parts'."""
_PACKED = 1
"""How hard tables are packed: sums of signs are small numbers, and even this makes an eighth of them."""
_KINDS = ("<i8", "<f8")
"""Arrays that a checkpoint holds."""


def run(m: Mechanism, partition: Partition, seed: int = 0, execution: Execution = HERE) -> Any:
    """The whole system over data in parts: of the law of the mechanism's own `run` on all parts' users, one after the other.

    Parameters
    ----------
    m : Mechanism
        A system whose rounds need nothing of a part but what adds up: TrieHH and those of its kind.
    partition : Partition
        The data. All are read once to count users and to tell them from other data, then once for every round.
    seed : int
        Of all randomness, at least 0.
    execution : Execution
        Who answers for the parts, where the state is kept, and who is told: how many answers there are so far, and how
        many rounds are over, of the present one the share that is. The result does not depend on it. The checkpoint is
        written after each answer that is added; it holds no more than the centre of a deployment would see.

    Returns
    -------
    object
        What the mechanism's `run` returns.

    Raises
    ------
    Unsupported
        Where the mechanism is not run over parts.
    ValueError
        Where the data are not what the mechanism is for, or the checkpoint is another run's.

    Examples
    --------
    >>> from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
    >>> data = Partition.of_counts([{"sun$": 6000, "moon$": 500}, {"sun$": 3000, "sea$": 500}])
    >>> trie = run(TrieHeavyHitter(users=10_000, batch=1000, threshold=200, levels=9), data)
    >>> sorted(trie)
    ['s', 'su', 'sun', 'sun$']
    """
    if not isinstance(m, InParts):
        raise Unsupported(m, "its users' data are not read in parts")
    if seed < 0:
        raise ValueError(f"a run needs seed >= 0, got {seed}")
    census = tuple(stream(map(_Counting, partition.parts), execution.executor))
    made = f"{type(m).__module__} {m!r} {seed} {census} {np.__version__}"  # str(m) would round parameters
    file = None if execution.checkpoint is None else Saved(Path(execution.checkpoint), "run", SCHEMA, made, LARGEST_FILE)
    rounds = _Rounds(m, partition, seed, execution, file)
    stream_of_centre = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_CENTRE,)))
    return driven(m.centre([users for users, _ in census], stream_of_centre), rounds.answered)


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
    question: Question
    seed: int
    place: tuple[int, int]

    def __call__(self) -> Answer:
        seeds = np.random.SeedSequence(self.seed, spawn_key=(_PARTS, *self.place))
        return self.system.answer(self.question, self.part.counts(), np.random.default_rng(seeds))

    def __str__(self) -> str:
        return f"round {self.place[0] + 1}, part {self.place[1] + 1}"


@dataclass(frozen=True, slots=True)
class _State:
    """How far a run has come.

    Parameters
    ----------
    totals : tuple of Answer
        Of the rounds that are over.
    parts : int
        Parts of the present round whose answers are added.
    added : Answer or None
        Their sum.
    """

    totals: tuple[Answer, ...] = ()
    parts: int = 0
    added: Answer | None = None

    def with_answer(self, answer: Answer) -> _State:
        """When one more part has answered."""
        return replace(self, parts=self.parts + 1, added=answer if self.added is None else total((self.added, answer)))

    @classmethod
    def from_json(cls, data: Any) -> _State:
        """Read back."""
        added, parts = data["added"], data["parts"]
        if not isinstance(parts, int) or parts < 0 or (parts == 0) is not (added is None):
            raise ValueError(f"the sum of {parts!r:.20} parts")
        return cls(tuple(map(_answer, data["totals"])), parts, None if added is None else _answer(added))


class _Rounds:
    """The answers to a centre's questions, round by round, from the state in which a run was left."""

    def __init__(self, m: InParts, partition: Partition, seed: int, execution: Execution, file: Saved | None) -> None:
        self._system, self._parts, self._seed, self._execution, self._file = m, partition.parts, seed, execution, file
        self._state = _State() if file is None else _loaded(file)
        self._known, self._answers = iter(self._state.totals), 0
        self._written = [*map(_plain, self._state.totals)]

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
        units = (
            _Asking(self._system, self._parts[place], questions[place], self._seed, (round_, place))
            for place in asked[state.parts :]
        )
        for answer in stream(units, self._execution.executor):
            self._add(answer, len(asked))
        assert self._state.added is not None  # a centre asks some part
        over = self._state.added
        self._state = _State((*self._state.totals, over))
        if self._file is not None:
            self._written.append(_plain(over))
        return over

    def _add(self, answer: Answer, asked: int) -> None:
        self._state = self._state.with_answer(answer)
        self._answers += 1
        if self._file is not None:
            added = None if self._state.added is None else _plain(self._state.added)
            self._file.save({"totals": self._written, "parts": self._state.parts, "added": added})
        if self._execution.progress is not None:
            self._execution.progress(self._answers, len(self._state.totals) + self._state.parts / asked)


def _loaded(file: Saved) -> _State:
    data = file.load()
    try:
        return _State() if data is None else _State.from_json(data)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise ValueError(f"{file.needs}, got {error!r:.200}") from None


def _plain(answer: Answer) -> dict[str, Any]:
    """An answer as JSON, every bit of it."""
    if isinstance(answer, Counter):
        return {"votes": dict(answer)}
    kind = answer.dtype.newbyteorder("<").str
    if kind not in _KINDS:
        raise TypeError(f"a checkpoint holds arrays of {' or '.join(_KINDS)}, got {kind}")
    packed = zlib.compress(answer.astype(kind).tobytes(), _PACKED)
    return {"kind": kind, "shape": [*answer.shape], "zlib": base64.b64encode(packed).decode()}


def _answer(data: Any) -> Answer:
    match data:
        case {"votes": dict(votes)} if all(isinstance(n, int) and n > 0 for n in votes.values()):
            return Counter(votes)
        case {"kind": kind, "shape": [*shape], "zlib": str(text)} if kind in _KINDS:
            size = 8 * math.prod(shape)
            content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
            if len(content) == size:
                return np.frombuffer(content, kind).reshape(shape).astype(kind[1:])
    raise ValueError(f"an answer {data!r:.60}")
