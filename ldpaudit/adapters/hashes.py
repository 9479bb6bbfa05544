"""The hash functions of public packages' clients: which inputs a report on a public seed supports.

A client of local hashing reports a value and the seed of a hash function. A report supports the inputs that its hash function
maps to the value, and nothing else in it depends on the input.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

SEED = (1 << 32) - 1  # xxHash32 takes this many bits of a seed


def xxh32(g: int) -> Callable[[Any, Any], bool]:
    """The support of a report ``(value, seed)`` whose hash is ``xxh32(str(input), seed) % g``: multi-freq-ldpy's, and Wang's.

    ``g``: how many values the hash functions have: 2, or ``round(exp(epsilon)) + 1`` of optimal local hashing.
    """
    return partial(_supports, g, lambda x: x)


def support_of(client: Any) -> Callable[[Any, Any], bool] | None:
    """The support of an object that says itself how it hashes: a client of pure-ldp's local hashing; None of any other.

    ``client``: the client, or its method `privatise`.
    """
    client = getattr(client, "__self__", client)
    if type(client).__module__.startswith("pure_ldp.") and type(client).__name__ in ("LHClient", "FastLHClient"):
        return partial(_supports, client.g, client.index_mapper)
    return None


def _supports(g: int, index: Callable[[Any], Any], report: Any, x: Any) -> bool:
    import xxhash  # type: ignore[import-not-found,unused-ignore]  # which the packages need, too

    value, seed = report
    return bool(xxhash.xxh32(str(index(x)).encode(), seed=int(seed) & SEED).intdigest() % g == value)
