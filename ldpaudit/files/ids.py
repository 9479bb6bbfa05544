"""Names of submissions that came before, in 16 bytes each."""

import base64
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]  # of shape ``(2, names)``
_KEY = b"ldpaudit.reports/1"  # public: of 128 bits nobody finds two names with one hash, whoever chooses them
_BLOCK = 1 << 23  # names of a block that is merged with no other: merging needs three times as much memory


def hashed(names: Iterable[str | int]) -> Hashes:
    """Hashes of 128 bits, of 1 and "1" different ones. That any two of n names have the same is less likely than n**2 / 2**129."""
    texts = (f"{'s' if isinstance(each, str) else 'i'}{each}".encode("utf-8", "surrogatepass") for each in names)
    content = b"".join(blake2b(text, digest_size=16, key=_KEY).digest() for text in texts)
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(-1, 2).T


class Ids:
    """A set of hashes: in blocks, each in the order of its first row."""

    def __init__(self, blocks: Sequence[Hashes] = ()) -> None:
        self.blocks: list[Hashes] = [*blocks]

    @property
    def state(self) -> str:
        """Plain data."""
        whole = np.concatenate([np.empty((2, 0), np.uint64), *self.blocks], axis=1)
        return base64.b64encode(whole.astype("<u8").tobytes()).decode()

    @classmethod
    def of_state(cls, state: str) -> Self:
        """Read back. Raises ValueError where it is none."""
        found = cls()
        found.add(np.frombuffer(base64.b64decode(state, validate=True), "<u8").astype(np.uint64).reshape(2, -1))
        return found

    def have(self, asked: Hashes) -> NDArray[np.bool_]:
        """Which of these are in the set."""
        order, found = np.argsort(asked[0]), np.zeros(asked.shape[1], dtype=np.bool_)  # in order they are found far sooner
        first, second = asked[:, order]
        for low, high in self.blocks:
            place = np.searchsorted(low, first)
            # Of two names one half of the hash may be the same.
            while (alike := (place < len(low)) & (low.take(place, mode="clip") == first)).any():
                found[order] |= alike & (high.take(place, mode="clip") == second)
                place += 1
        return found

    def add(self, hashes: Hashes) -> None:
        """Put in what is not in it yet."""
        block = hashes[:, np.argsort(hashes[0], kind="stable")]
        while self.blocks and self.blocks[-1].shape[1] <= min(2 * block.shape[1], _BLOCK - block.shape[1]):
            block = np.concatenate([self.blocks.pop(), block], axis=1)
            block = block[:, np.argsort(block[0], kind="stable")]
        if block.size:
            self.blocks.append(block)

    def new(self, hashes: Hashes, before: Self) -> NDArray[np.bool_]:
        """Put in what is in neither set yet: which these are, of equal ones the first."""
        order = np.lexsort((hashes[1], hashes[0]))
        ranked, fresh = hashes[:, order], np.ones(len(order), dtype=np.bool_)
        fresh[order[1:]] = (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)
        fresh &= ~(self.have(hashes) | before.have(hashes))
        self.add(hashes[:, fresh])
        return fresh
