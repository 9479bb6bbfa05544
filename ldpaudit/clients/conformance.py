"""Other people's clients: whether they draw what the test vectors say, and whether their own bytes are fresh."""

import json
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import PATIENCE, stack
from ldpaudit.adapters.programs import Program
from ldpaudit.clients.randomness import Randomness
from ldpaudit.clients.samplers import report
from ldpaudit.clients.vectors import Vector, header
from ldpaudit.errors import ImplementationError, shown
from ldpaudit.mechanism import Mechanism, look_alike, plain

_FEW, _MANY = 1 << 10, 1 << 16
"""Reports that are compared with those of another process, at least, unless they are long, and at most."""
_LEAST, _NUMBERS = 1 << 7, 1 << 20  # of long ones, and numbers in them together
_CHANGES = 40
"""How often our own reports differ where a client's never do. Whatever the law is, independent reports do so with probability
below 2e-13, which is the largest product of exp(-t) and P[Poisson(t) >= 40]."""
_SHOWN = 200  # characters of a report that are shown
_NAMED = 5  # numbers of reports that are named


class Client(Program):
    """A program that reads a mechanism's header and then requests, and answers each with an object that holds a report."""

    def __init__(self, command: str | Sequence[str], m: Mechanism, patience: float = PATIENCE) -> None:
        super().__init__(command, patience, header=header(m))

    def in_order(self, xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
        """Reports that it draws from its own randomness; see `Program`."""
        made = super().in_order([{"input": x} for x in xs], order)
        return [[_report(answer, x) for answer in answers] for x, answers in zip(xs, made, strict=True)]

    def answer(self, vector: Vector) -> Any:
        """What it answers to a request that gives it the bytes."""
        return super().in_order([vector.request], [0])[0][0]


def _report(answer: Any, x: Any) -> Any:
    if type(answer) is dict and "report" in answer:
        return answer["report"]
    raise ImplementationError(f'needs an object with a report, such as {{"report": 0}}, got {shown(answer, _SHOWN)}', x)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first vector that a client answers with something else."""

    number: int
    """Of the vector, from 1 on."""
    vector: Vector
    answer: Any

    @property
    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {"number": self.number, **self.vector.record, "answer": self.answer}

    def __str__(self) -> str:
        got, given = self.answer, len(self.vector.bytes)
        if type(got) is not dict or "report" not in got:
            told = f"no report: {shown(got, _SHOWN)}"
        elif not _equal(got["report"], self.vector.report):
            told = f"{json.dumps(got['report']):.{_SHOWN}}"
        elif type(used := got.get("used")) is int:
            told = f"the same, from {used} bytes: {abs(given - used)} are {'left over' if used < given else 'lacking'}"
        else:
            told = f"the same, without the number of bytes that it used ({given}), as an integer"
        lines = [f"report {self.number} differs:", f"  input     {json.dumps(self.vector.input)}"]
        lines += [f"  bytes     {self.vector.bytes.hex():.{_SHOWN}} ({given})"]
        return "\n".join([*lines, f"  expected  {json.dumps(self.vector.report):.{_SHOWN}}", f"  got       {told}"])


def first_difference(client: Client, vectors: Iterable[Vector]) -> Difference | None:
    """The first of these vectors that a client answers differently."""
    for number, vector in enumerate(vectors, 1):
        answer = client.answer(vector)
        expected = type(answer) is dict and _equal(answer.get("report"), vector.report)
        if not (expected and type(answer.get("used")) is int and answer["used"] == len(vector.bytes)):
            return Difference(number, vector, answer)
    return None


def _equal(found: Any, expected: Any) -> bool:
    return bool((found := plain(found)) == expected and look_alike(found, expected))


def repetition(m: Mechanism, first: Client, second: Client) -> str:
    """How two new processes of a client repeat each other's reports, or one repeats its own; nothing where they do not.

    They are started together, so that a seed that is taken from the time is the same. Which numbers of a report usually differ
    between two reports is seen in some of our own, of exactly the certified law.
    """
    x, source, ours = m.inputs[0], Randomness(random.Random(0).randbytes), list[Any]()
    size, varies = max(_LEAST, min(_FEW, _NUMBERS // m.view_length)), np.zeros(1, dtype=np.bool_)
    while not varies.any() and size <= _MANY:
        ours += [report(m, x, source) for _ in range(size - len(ours))]
        varies, size = _changes(_table(ours[::2], x), _table(ours[1::2], x)) >= _CHANGES, 4 * size
    with ThreadPoolExecutor(2) as together:
        one, other = together.map(lambda client: _table(client(x, len(ours), _UNUSED), x), (first, second))
    if {one.shape[1] + 1, other.shape[1] + 1} != {len(varies)}:
        raise ImplementationError(f"needs reports of {len(varies) - 1} numbers, got {shown(one[0].tolist(), _SHOWN)}", x)
    for whose, a, b in (("one process, one after the other,", one[::2], one[1::2]), ("two processes", one, other)):
        if (equal := varies & (_changes(a, b) == 0)).any():
            what = "reports" if equal[-1] else f"numbers {', '.join(str(i + 1) for i in np.flatnonzero(equal)[:_NAMED])} of reports"
            return f"{what} of {whose} are equal on input {json.dumps(x)}: report 1 of {len(ours):,} is {one[0].tolist()}"
    return ""


_UNUSED = np.random.default_rng(0)


def _table(reports: list[Any], x: Any) -> NDArray[Any]:
    return np.asarray(stack(reports, x)).reshape(len(reports), -1)


def _changes(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """How often each number differs, and whether any does."""
    differ = a != b
    return np.append(differ.sum(axis=0), differ.any(axis=1).sum())
