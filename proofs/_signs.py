"""Theorems: a public vector's sign of the value, told by a coin, costs the coin's log odds; two such signs the sum of both.

The steps of every mechanism whose reports are such signs: what its vectors are, the mechanism's own file says.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem


def one_sign(mechanism: str, sentence: str, column: str) -> Theorem:
    """The sign (-1)^<s, x> with s not 0, told with probability p."""
    t = Theorem(mechanism=mechanism, sentence=sentence)
    t.assume(f"{column}; with its bit j set, 0 and 2^j have opposite signs")
    (excess,), p_field = t.positive("excess"), t.parameter("p")
    p = (1 + excess) / (2 + excess)
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    t.costs(
        p_field / (1 - p_field),
        {"y is the sign of x, and x' has the opposite one": (p, 1 - p), "y is that of x', and x has the opposite one": (1 - p, p)},
        {"y is the sign of x and of x'": (p, p), "y is the sign of neither": (1 - p, 1 - p)},
    )
    t.attained("by 0 and 2^j")
    return t


def two_signs(mechanism: str, sentence: str, column: str) -> Theorem:
    """Two signs (-1)^<s, x> and (-1)^<s', x> with s and s' not 0, told with probabilities p and q."""
    t = Theorem(mechanism=mechanism, sentence=sentence)
    t.assume(f"{column}; the same holds of the second sign, of all of x, and the two coins are independent")
    t.assume("two vectors that are not 0 have a common bit j, or a bit each that the other has not: some d is odd in both")
    more, fields = t.positive("excess", "surplus"), (t.parameter("p"), t.parameter("q"))
    coins = tuple((1 + each) / (2 + each) for each in more)
    back = {each: field / (1 - field) - 1 for each, field in zip(more, fields, strict=True)}
    t.parametrize(dict(zip("pq", coins, strict=True)), back)
    for name, coin, field in zip(("the first sign", "the second sign"), coins, fields, strict=True):
        t.costs(
            field / (1 - field),
            {f"{name} is that of x, not of x'": (coin, 1 - coin), f"{name} is that of x', not of x": (1 - coin, coin)},
            {f"{name} is that of x and of x'": (coin, coin), f"{name} is that of neither": (1 - coin, 1 - coin)},
        )
    t.attained("by two values that differ by d, where both signs are those of x")
    return t
