"""Test vectors: the bytes that a client is given, and the report that it must make of them."""

import dataclasses
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from ldpaudit import mechanisms
from ldpaudit.clients.randomness import Randomness, digits
from ldpaudit.clients.samplers import report
from ldpaudit.core.nearest import one_of
from ldpaudit.mechanism import Mechanism, View, number_of

FORMAT = "ldpaudit.vectors/1"
_LANGUAGES = {"python": "py", "javascript": "mjs", "c": "c"}
_INPUTS = 8  # inputs of which vectors are made, where there are more
_DEEPEST = 40
"""Digits of a probability that bytes follow, at most: a float has 7 of 1/3, a probability from an epsilon some 32."""


@dataclass(frozen=True, slots=True)
class Vector:
    """What a client is asked: to draw a report on an input from exactly these bytes, and which it is."""

    input: Any
    bytes: bytes
    report: View

    @property
    def request(self) -> dict[str, Any]:
        """The line that asks for it, as JSON."""
        return {"input": self.input, "bytes": self.bytes.hex()}

    @property
    def record(self) -> dict[str, Any]:
        """Its line in a file of vectors, as JSON."""
        return self.request | {"report": self.report}


def header(m: Mechanism) -> dict[str, Any]:
    """The first line of a file of vectors, and of what a client reads: which mechanism it is, with exact parameters."""
    values = {f.name: getattr(m, f.name) for f in dataclasses.fields(m)}  # type: ignore[arg-type]
    exact = {name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()}
    stem = next(stem for stem in mechanisms.names() if type(m) in mechanisms.classes(stem).values())
    return {"format": FORMAT, "mechanism": stem, "variant": m.variant, "parameters": exact}


def reference(language: str) -> str:
    """The reference client in a language. Raises ValueError where there is none."""
    if language not in _LANGUAGES:
        raise ValueError(f"a reference client {one_of(_LANGUAGES, language, 'ldpaudit init -h')}")
    return (Path(__file__).parent / "reference" / f"client.{_LANGUAGES[language]}").read_text(encoding="utf-8")


def chosen(m: Mechanism) -> list[Any]:
    """All inputs where these are few, else some from the first to the last one; and an absent user, where there may be one."""
    last = number_of(m.inputs) - 1
    places = dict.fromkeys(last * i // (_INPUTS - 1) for i in range(_INPUTS)) if last >= _INPUTS else range(last + 1)
    absent = [None] if any(relation.kind == "add-remove" for relation in m.relations) else []
    return [m.inputs[place] for place in places] + absent


def vectors(m: Mechanism, count: int, seed: int = 0) -> Iterator[Vector]:
    """As many vectors for each of the chosen inputs; every second one has rare bytes.

    Raises Unsupported where the mechanism has no client.
    """
    for x in chosen(m):
        for number in range(count):
            own = random.Random(f"{FORMAT} {seed} {x} {number}")
            source = _RareBytes(own) if number % 2 else _Bytes(own)
            view = report(m, x, source)
            yield Vector(x, bytes(source.taken), view)


class _Bytes(Randomness):
    """Bytes of a generator, which are noted."""

    def __init__(self, own: random.Random) -> None:
        super().__init__(self._noted)
        self.own, self.ahead, self.taken = own, b"", bytearray()

    def _noted(self, n: int) -> bytes:
        drawn, self.ahead = self.ahead[:n], self.ahead[n:]
        drawn += self.own.randbytes(n - len(drawn))
        self.taken += drawn
        return drawn


class _RareBytes(_Bytes):
    """Bytes that often equal the digits of a probability, and numbers that often are too large.

    Random bytes equal the first digit in one report of 256, and the first seven, which a float knows, in none that is ever seen.
    """

    def coin(self, p: Fraction) -> bool:
        if p < 1 and self.own.random() < 1 / 2:
            known = _first_digits(p)
            self.ahead = known[: self.own.randint(0, len(known))]
        return super().coin(p)

    def uniform(self, n: int) -> int:
        bits = (n - 1).bit_length()
        if 0 < n < 1 << bits and self.own.random() < 1 / 4:
            self.ahead = self.own.randrange(n, 1 << bits).to_bytes(-(-bits // 8), "big")
        return super().uniform(n)


@lru_cache(maxsize=16)
def _first_digits(p: Fraction) -> bytes:
    return bytes(islice(digits(p), _DEEPEST))
