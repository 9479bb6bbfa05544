r"""What each of many users has spent, epoch after epoch: an odometer per user, in one table of counts.

A user who memoizes spends only in epochs in which they draw: the permanent response to a value that is new to them, a vote, an
estimate. Their reading is therefore a function of their own number of changes, and is itself private data: it tells them what their
transcript can show at most, against any other stream whose draws come in the same epochs. Do not publish it. What may be
published is a bound on the number of draws that every client keeps to, and its reading.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.accountants.composition.filters import Odometer, Spent
from ldpaudit.profile import Number

SCHEMA = "ldpaudit.user-odometers/1"
_MOST = 1 << 40  # draws of one kind by one user: no file may say more
_HEADER = 1 << 16  # bytes of a checkpoint's first line, at most


@dataclass(frozen=True, slots=True, eq=False)
class UserOdometers:
    """One `Odometer` per user, for users who draw from few kinds of mechanisms; `spend` returns the next table.

    Parameters
    ----------
    guarantees : tuple of (Fraction, Fraction)
        (epsilon, delta) of each kind of draw.
    counts : ndarray of int64, shape (users, kinds)
        How often each user has drawn each kind.
    slack : Fraction
        As in `Odometer`.
    epochs : int
        Number of epochs so far.

    Raises
    ------
    ValueError
        Where a part lies outside its domain.

    Examples
    --------
    >>> meters = UserOdometers.fresh(3, [(Fraction(1, 2), 0)])
    >>> meters = meters.epoch({0: [True, True, True]}).epoch({0: [False, True, False]})
    >>> meters.epsilon.tolist(), meters.epochs
    ([0.5, 1.0, 0.5], 2)
    """

    guarantees: tuple[tuple[Fraction, Fraction], ...]
    counts: NDArray[np.int64]
    slack: Fraction = Fraction(0)
    epochs: int = 0

    def __post_init__(self) -> None:
        for each in self.guarantees:
            Spent().after(*each)
        Odometer(self.slack)
        shape = self.counts.shape
        if self.counts.dtype != np.int64 or self.counts.ndim != 2 or shape[1] != len(self.guarantees) or not self.counts.size:
            raise ValueError(
                f"UserOdometers needs int64 counts of at least one user, one column for each of {len(self.guarantees)} guarantees, "
                f"got {self.counts.dtype} of shape {shape}"
            )
        if self.counts.min() < 0 or self.counts.max() > _MOST or self.epochs < 0:
            raise ValueError(f"UserOdometers needs counts from 0 to 2**40 and epochs >= 0, got epochs={self.epochs}")

    @classmethod
    def fresh(cls, users: int, guarantees: Sequence[tuple[Number, Number]], slack: Number = 0) -> Self:
        """Users who have drawn nothing."""
        kinds = tuple((Fraction(epsilon), Fraction(delta)) for epsilon, delta in guarantees)
        return cls(kinds, np.zeros((users, len(kinds)), dtype=np.int64), Fraction(slack))

    def epoch(self, draws: Mapping[int, ArrayLike]) -> Self:
        """The table after one epoch more.

        ``draws``: for each kind that was drawn: which users did, as Booleans, or how often each did, as integers.
        Raises ValueError for a kind that there is not, another number of users, or a negative number of draws.
        """
        counts = self.counts.copy()
        for kind, given in draws.items():
            times = np.asarray(given)
            if not 0 <= kind < len(self.guarantees) or times.shape != (len(counts),) or times.dtype.kind not in "biu":
                raise ValueError(
                    f"an epoch needs Booleans or integers of {len(counts)} users for a kind below {len(self.guarantees)}, "
                    f"got {times.dtype} of shape {times.shape} for kind {kind}"
                )
            if times.min() < 0 or times.max() > _MOST:
                raise ValueError(f"an epoch needs from 0 to 2**40 draws per user, got {times.min()} to {times.max()}")
            counts[:, kind] += times.astype(np.int64)
        return replace(self, counts=counts, epochs=self.epochs + 1)

    def of(self, user: int) -> Odometer:
        """One user's odometer, from exact sums."""
        return self._meter(self.counts[user].tolist())

    @property
    def epsilon(self) -> NDArray[np.float64]:
        """Each user's reading in nats, rounded up, shape ``(users,)``: users with equal counts share one computation."""
        rows, places = _different(self.counts)
        return np.array([self._meter(row.tolist()).epsilon.high for row in rows])[places]

    @property
    def worst(self) -> Odometer:
        """The odometer of all that users drew at most, kind by kind: it bounds each of them."""
        return self._meter(self.counts.max(axis=0).tolist())

    def _meter(self, counts: Sequence[int]) -> Odometer:
        kinds = list(zip(counts, self.guarantees, strict=True))
        epsilon = sum((n * e for n, (e, _) in kinds), Fraction(0))
        rho = sum((n * e * e / 2 for n, (e, _) in kinds), Fraction(0))
        return Odometer(self.slack, Spent(epsilon, rho, sum((n * d for n, (_, d) in kinds), Fraction(0))))

    def save(self, path: Path) -> None:
        """Replace the file at once: whoever reads it sees the old table or the new one, never half of one."""
        fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        body = self.counts.astype("<i8").tobytes()
        header = {"schema": SCHEMA, "users": len(self.counts), "epochs": self.epochs, "slack": str(self.slack),
                  "guarantees": [[str(e), str(d)] for e, d in self.guarantees]}  # fmt: skip
        line = json.dumps(header | {"digest": _digest(header, body)})
        fresh.write_bytes(line.encode() + b"\n" + body)
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            Where the file is none, or was cut or changed.
        """
        try:
            with path.open("rb") as file:
                header = json.loads(file.readline(_HEADER))
                kinds = tuple((Fraction(e), Fraction(d)) for e, d in header["guarantees"])
                size = 8 * int(header["users"]) * len(kinds)
                if path.stat().st_size != file.tell() + size:
                    raise ValueError(f"needs {size} bytes of counts, has {path.stat().st_size - file.tell()}")
                body = file.read()
            if header.pop("digest") != _digest(header, body) or header["schema"] != SCHEMA:
                raise ValueError("its digest does not match")
            counts = np.frombuffer(body, dtype="<i8").astype(np.int64).reshape(-1, len(kinds))
            return cls(kinds, counts, Fraction(header["slack"]), int(header["epochs"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise ValueError(f"{path}: needs a whole table of schema {SCHEMA}, got {error!r}") from None


def _digest(header: Mapping[str, Any], body: bytes) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode() + b"\n" + body).hexdigest()


def _different(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows, and where among them each row stands; column by column, which sorts integers and not rows."""
    places = np.zeros(len(counts), dtype=np.int64)
    for column in counts.T:
        # Beginnings and values are numbered, each below the number of users: their pairs are below its square.
        values, numbers = np.unique(column, return_inverse=True)
        _, places = np.unique(places * len(values) + numbers, return_inverse=True)
    first = np.zeros(places.max() + 1, dtype=np.int64)
    first[places] = np.arange(len(places))
    return counts[first], places
