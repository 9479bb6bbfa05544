"""Mistakes in files: how the fuzz changes a valid one, as a tree and as bytes.

All take a `random.Random`, and give the same for the same state of it.
"""

import json
import math
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, TypeAlias

Tree: TypeAlias = Any  # what JSON and TOML hold: dicts, lists, text, numbers, Booleans, None

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 15, 16, 63, 64, 1000, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400,
    0.0, -0.0, 0.5, 1.0, 1.5, -0.5, 0.1, 1 - 2**-53, 5e-324, 1e-300, 1e308, -1e308, math.inf, -math.inf, math.nan,
)  # fmt: skip
"""Ends of domains and of machine types, and what lies just inside and far outside."""
EXPRESSIONS = (
    "1/2", "1/3", "2.05", "0", "1", "-1", "1/0", "0/0", "?", "1e-320", "1e308", "1e309", "1e4096", "1e4097", "1e999999999",
    "exp(1)", "exp(8)", "exp(1000)", "exp(1e9)", "exp(-1e9)", "exp(exp(exp(9)))", "log(0)", "log(-1)", "log(2)", "sqrt(-1)",
    "sqrt(2)", "2**4096", "2**-4096", "2**4097", "2**2**9", "(1/3)**4096", "9**9**9", "exp(1)**4096", "0**-1", "0**0",
    "log(1+1e-4000)", "exp(1e-4000)-1", "1e4000*1e4000", "1_000", "0x10", "1j", "True", "None", "inf", "nan", "__import__('os')",
    "exp", "exp()", "exp(1,2)", "exp(x=1)", "1 if 1 else 2", "[1]", "lambda: 1", "1;2", "1\n+1", "1 #", "½", "１", "−1", "1e", ".",
)  # fmt: skip
"""Of numbers in quotes: valid, at the ends of what is allowed, and beyond."""
TEXTS = (
    "", " ", "\t", "\n", "\r\n", "a\x00b", "\x1b[31mred", "\x07", "\u202eabc", "\ufeff", "\ud800", "é", "e\u0301", "𝔘", "İ", "𝟙",
    "a/b", "..", ".", "../escaped", "../../escaped", "/escaped", "~", "a" * 300, "a" * 20_000, "{0}", "{x}", "%s", "%", "\\", "'",
    '"', "<script>", "&amp;", "]]>", "*", "**", "[", "a:b", "json:dumps", "math:sqrt", "math:pi", "no_such:thing", ":", "raw",
    "replace-one", "add-remove", "user-level", "holds", "refuted", "undecided", "BOUNDED", "REFUTED", "lifetime", "user-day",
)  # fmt: skip
"""Empty, invisible, misleading, long, and what means something to a shell, a path, a format or a page; and words of ours."""
PIECES = (
    b"[" * 5000 + b"]" * 5000, b'{"a":' * 3000, b"((((" * 300, b"1" + b"0" * 5000, b"9" * 400, b"," * 2000, b"-", b"1e999999",
    b"\x00", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[2J", b"\r", b"\n\n", b'"', b"'''", b'"""', b"#",
    b"=", b",", b"[[", b"]]", b"{}", b"[]", b"NaN", b"Infinity", b"null", b"true", b"inf", b"\\u0000", b"\\ud800",
    b"1979-05-27T07:32:00Z", b"a.b.c = 1\n", b"[a.b]\n", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0c", b"a" * 140_000,
)  # fmt: skip
"""What breaks parsers."""


def junk(rng: Random, depth: int = 2) -> Tree:
    """A value of any type."""
    choice = rng.randrange(10 if depth else 8)
    if choice < 3:
        return rng.choice(NUMBERS)
    if choice < 5:
        return rng.choice(EXPRESSIONS)
    if choice < 7:
        return rng.choice(TEXTS)
    if choice == 7:
        return rng.choice((True, False, None))
    if choice == 8:
        return [junk(rng, depth - 1) for _ in range(rng.choice((0, 1, 2, 3, 50)))]
    return {rng.choice(TEXTS): junk(rng, depth - 1) for _ in range(rng.choice((0, 1, 2)))}


def nested(rng: Random) -> Tree:
    """Lists or tables, far inside each other: as far as three such trees can be copied and written; pieces are deeper."""
    tree: Tree = 1
    for _ in range(rng.choice((10, 50, 100))):
        tree = [tree] if rng.random() < 0.5 else {"a": tree}
    return tree


def nudged(value: Tree, rng: Random) -> Tree:
    """Nearly the same value."""
    if isinstance(value, bool) or value is None:
        return rng.choice((not value, int(bool(value)), str(value)))
    if isinstance(value, int):
        near = value + 1, value - 1, -value, value * 10, value * 1000, value * 10**9
        return rng.choice((*near, str(value), [value], float(value) if abs(value) < 2**1000 else None))
    if isinstance(value, float):
        return rng.choice((-value, value * 2, value / 2, value * 1e9, math.nextafter(value, math.inf), repr(value), 1 - value))
    if isinstance(value, str):
        return rng.choice((value + "x", value[:-1], value.upper(), value * 3, f" {value}", [value], f"{value}\x00", f"-({value})"))
    if isinstance(value, list | tuple):
        value = [*value]
        return rng.choice((value + value, value[:-1], value[::-1], [value], value[:1] * 100, dict(enumerate(map(str, value)))))
    return rng.choice(([value], {**value, "": 0}, [[key, inner] for key, inner in value.items()]))


def places(tree: Tree) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    here = [(tree, key) for key in keys]
    return here + [place for key in keys for place in places(tree[key])]


def _replace(container: Any, key: Any, rng: Random) -> None:
    container[key] = nested(rng) if rng.random() < 0.02 else junk(rng)


def _nudge(container: Any, key: Any, rng: Random) -> None:
    container[key] = nudged(container[key], rng)


def _remove(container: Any, key: Any, rng: Random) -> None:
    del container[key]


def _rename(container: Any, key: Any, rng: Random) -> None:
    value = container.pop(key)
    if isinstance(container, dict):
        name = str(key)  # a tree that was changed before may have numbers for keys
        container[rng.choice((*TEXTS, f"{name}x", name.upper(), name.replace("_", "-")))] = value


def _add(container: Any, key: Any, rng: Random) -> None:
    if isinstance(container, dict):
        container[rng.choice((*TEXTS, "extra", "__class__", "epsilon", "users"))] = junk(rng)
    else:
        container.insert(key, deepcopy(rng.choice((container[key], junk(rng)))))


def _swap(container: Any, key: Any, rng: Random) -> None:
    other = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


Change: TypeAlias = Callable[[Any, Any, Random], None]
CHANGES: tuple[Change, ...] = (_replace, _replace, _nudge, _nudge, _nudge, _remove, _rename, _add, _swap)


def changed(tree: Tree, rng: Random) -> Tree:
    """The tree with one to three changes."""
    tree = deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if found := places(tree):
            rng.choice(CHANGES)(*rng.choice(found), rng)
    return tree


def broken(data: bytes, rng: Random) -> bytes:
    """Bytes with one to three changes that know no structure but lines."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        lines = data.splitlines(keepends=True) or [b""]
        line = rng.randrange(len(lines))
        data = rng.choice((
            data[:at],
            data[:at] + data[at + 1 :],
            data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
            data[:at] + rng.choice(PIECES) + data[at:],
            data[:at] + rng.choice(PIECES) + data[end:],
            data[:at] + data[end:] if end - at < 40 else data[:at] + data[at:end] + data[at:],
            b"".join((*lines[:line], lines[line], *lines[line:])),
            b"".join((*lines[:line], *lines[line + 1 :])),
            b"".join(rng.sample(lines, len(lines))),
        ))  # fmt: skip
    return data


def expression(rng: Random, depth: int = 3) -> str:
    """An expression of the grammar, of numbers that are often at the end of what is allowed."""
    choice = rng.random() if depth else 0.0
    if choice < 0.4:
        return rng.choice((str(rng.randrange(10)), f"{rng.random():.3f}", rng.choice(EXPRESSIONS)))
    if choice < 0.6:
        return f"{rng.choice(('exp', 'log', 'ln', 'sqrt'))}({expression(rng, depth - 1)})"
    if choice < 0.7:
        return f"-{expression(rng, depth - 1)}"
    operator = rng.choice(("+", "-", "*", "/", "**", " ** ", "//", "%"))
    return f"({expression(rng, depth - 1)}){operator}{expression(rng, depth - 1)}"


def toml(tree: dict[str, Tree]) -> bytes:
    """TOML, one key a line, everything deeper inline. None, which TOML has not, becomes a word that it has not either."""
    lines = (f"{json.dumps(str(key))} = {_inline(value)}\n" for key, value in tree.items())
    return "".join(lines).encode("utf-8", "surrogatepass")


def _inline(value: Tree) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value)
