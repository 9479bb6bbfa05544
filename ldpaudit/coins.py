"""Where a run's coins come from: a seed, from which anybody can draw them again, or a secret that nobody else knows.

numpy's own generators are made for simulations: whoever knows the seed, or sees enough numbers, knows all others. Here a secret of
256 bits that the operating system draws is expanded by SHAKE-128 in counter mode (FIPS 202), which Python has without an extra.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import operator
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count, repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SECRET_BYTES = 32
BLOCK = 1 << 14  # bytes that are made at a time: a multiple of 8
_FEW = 32  # numbers below which numpy asks one by one, as fast as blocks are cut
_WORDS = {np.dtype(np.int64): 1 << 63, np.dtype(np.uint64): 1 << 64}
"""Types whose integers are cut from blocks, and where they end."""

_NAME = b"BitGenerator"  # kept: a capsule keeps no copy

_Word, _Half, _Real = (ctypes.CFUNCTYPE(kind) for kind in (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_double))


class _Interface(ctypes.Structure):
    """`bitgen_t` of numpy's public header numpy/random/bitgen.h."""

    _fields_ = [("state", ctypes.c_void_p), ("uint64", _Word), ("uint32", _Half), ("double", _Real), ("raw", _Word)]


_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class _Bits:
    """What `numpy.random.Generator` needs of its source: C functions that return one number each, and a lock.

    Iterators that are implemented in C lead from the block to the number. No line of Python runs between: there a signal's
    handler could raise an error, which ctypes drops, and the number would be 0.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        def cut(kind: str) -> Iterator[Any]:
            views: Iterator[Any] = map(memoryview, blocks)
            return chain.from_iterable(map(operator.methodcaller("cast", kind), views))

        words = cut("Q")
        reals = map((2.0**-53).__mul__, map(float, map(operator.rshift, words, repeat(11))))
        word, half, real = _Word(words.__next__), _Half(cut("I").__next__), _Real(reals.__next__)
        self._interface = _Interface(None, word, half, real, word)
        self.capsule = _capsule(ctypes.addressof(self._interface), _NAME, None)
        self.lock = threading.RLock()


class CryptographicGenerator(np.random.Generator):
    """A generator of numpy's whose numbers are those of blocks of bytes; uniform integers are exact.

    Many integers below one number, and many uniform reals, are cut from blocks at once; all else is numpy's own, number by number.

    ``blocks``: endless, of a multiple of 8 bytes each, uniform and unforeseeable: none is used twice. Made by C alone,
    as by ``map(os.urandom, itertools.repeat(4096))``.

    Examples
    --------
    >>> rng = Secret.fresh().generator()
    >>> bool(0 <= rng.integers(0, 6) < 6), rng.random(100).shape, rng.binomial(3, 0.5, 4).shape
    (True, (100,), (4,))
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        bits = _Bits(blocks)
        super().__init__(bits)  # type: ignore[arg-type]
        self._blocks, self._left, self._one = blocks, np.zeros(0, dtype=np.uint64), bits.lock

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False) -> Any:
        """As numpy's, exactly uniform."""
        below, most = (low, high) if high is not None else (0, low), _WORDS.get(np.dtype(dtype))
        whole = size is not None and all(isinstance(each, int | np.integer) for each in below)
        if not whole or most is None or endpoint or below[0] != 0 or not 0 < below[1] <= most or math.prod(_shape(size)) < _FEW:
            return super().integers(low, high, size, dtype, endpoint)
        return self._below(int(below[1]), math.prod(_shape(size))).view(dtype).reshape(size)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As numpy's: multiples of 2**-53."""
        if size is None or out is not None or np.dtype(dtype) != np.float64:
            return super().random(size, dtype, out)
        return ((self._words(math.prod(_shape(size))) >> np.uint64(11)) * 2.0**-53).reshape(size)

    def _below(self, end: int, size: int) -> NDArray[np.uint64]:
        """Uniform numbers below `end`: as many bits as its largest has, drawn again where they are too large."""
        bits = (end - 1).bit_length()
        if not bits:
            return np.zeros(size, dtype=np.uint64)
        found = self._words(size) >> np.uint64(64 - bits)
        again = np.flatnonzero(found > np.uint64(end - 1))
        if len(again):
            found[again] = self._below(end, len(again))
        return found

    def _words(self, size: int) -> NDArray[np.uint64]:
        """Numbers of 64 bits."""
        with self._one:
            found = [self._left]
            missing = size - len(self._left)
            while missing > 0:
                found.append(np.frombuffer(next(self._blocks), dtype=np.uint64))
                missing -= len(found[-1])
            words = np.concatenate(found)
            self._left = words[size:].copy()
        return words[:size]


def _shape(size: Any) -> tuple[int, ...]:
    return (int(size),) if isinstance(size, int | np.integer) else tuple(size)


@dataclass(frozen=True, slots=True)
class Seeded:
    """Coins of a simulation: whoever knows the seed knows them all.

    ``seed``: at least 0; ``place``: of a stream among those of the seed.
    """

    seed: int
    place: tuple[int, ...] = ()

    def at(self, *place: int) -> Seeded:
        """Coins that are independent of those at all other places."""
        return Seeded(self.seed, (*self.place, *place))

    def generator(self) -> np.random.Generator:
        """Of numpy's, from the first coin on."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=self.place))


@dataclass(frozen=True, slots=True)
class Secret:
    """Coins that nobody foresees, and that can be drawn again by whoever has the key.

    ``key``: 32 bytes, never shown. Raises ValueError for a key of another length.
    """

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.key) != SECRET_BYTES:
            raise ValueError(f"a secret needs {SECRET_BYTES} bytes, got {len(self.key)}")

    @classmethod
    def fresh(cls) -> Secret:
        """A key of the operating system's."""
        return cls(secrets.token_bytes(SECRET_BYTES))

    def at(self, *place: int) -> Secret:
        """Coins that are independent of those at all other places: who has this key alone knows no other."""
        return Secret(hashlib.shake_128(self.key + b"at" + repr(place).encode()).digest(SECRET_BYTES))

    def generator(self) -> CryptographicGenerator:
        """From the first coin on: numbers, not reports, are repeated where a generator is made twice."""
        numbered = map(operator.methodcaller("to_bytes", 8, "little"), count())
        seeds = map((self.key + b"no").__add__, numbered)
        return CryptographicGenerator(map(operator.methodcaller("digest", BLOCK), map(hashlib.shake_128, seeds)))


Coins: TypeAlias = Seeded | Secret
