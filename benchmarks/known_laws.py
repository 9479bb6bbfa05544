"""Randomizers whose law is known by formula, with sound and with wrong parameters: see `benchmarks.violations`."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Law = Sequence[tuple[float, float]]  # of each thing that a report may tell, its probabilities on the two inputs
Rng = np.random.Generator
LATE = 5_000  # calls after which a randomizer changes


@dataclass(frozen=True)
class Built:
    """A randomizer, made of a generator; its law; and the calls before which it has another, sound one."""

    law: Law
    make: Callable[[Rng], Callable[[Any], Any]]
    late: int = 0


def drawn(law: Law, report: Callable[[Rng, Any], Any]) -> Built:
    """A randomizer whose reports are drawn each by itself."""
    return Built(law, lambda rng: partial(report, rng))


# Laws of what a report tells: its symbol, of which the report is a code.


def rr(e: float) -> Law:
    """Binary randomized response."""
    p = float(special.expit(e))
    return (p, 1 - p), (1 - p, p)


def leak(t: float, e: float = 1.0) -> Law:
    """The same, but with probability t the truth, which is seen to be it: symbols 2 and 3."""
    p, q = (float(special.expit(way)) * (1 - t) for way in (e, -e))
    return ((p, q), (q, p), (t, 0.0), (0.0, t)) if t else rr(e)


def told(right: float, wrong: float) -> Law:
    """The input, the other one, or nothing (symbol 2)."""
    rest = 1 - right - wrong
    return (right, wrong), (wrong, right), (rest, rest)


def of_parameter(built: Callable[..., Built]) -> Callable[..., Callable[[Any], Built]]:
    """A randomizer of all its arguments but the first, its parameter, which is given later."""
    return lambda *given: lambda parameter: built(parameter, *given)


@of_parameter
def coded(law: Law, code: Callable[[int, Rng, int], Any]) -> Built:
    """Reports from which the symbol can be read, made of it, a generator and the number of the call."""
    ends = np.cumsum(np.array(law), axis=0).T.tolist()

    def make(rng: Rng) -> Callable[[int], Any]:
        calls = count()

        def report(x: int) -> Any:
            u = rng.random()
            return code(sum(u >= end for end in ends[x][:-1]), rng, next(calls))

        return report

    return Built(law, make)


def later(e: float) -> Built:
    """Binary randomized response, with epsilon 1 in the first 5,000 calls."""

    def make(rng: Rng) -> Callable[[int], Any]:
        calls, first, then = count(), kary(2)(1.0).make(rng), kary(2)(e).make(rng)
        return lambda x: (first if next(calls) < LATE else then)(x)

    return Built(rr(e), make, LATE if e > 1 else 0)


@of_parameter
def kary(e: float, k: int, code: Callable[[int], Any] = int) -> Built:
    """k-ary randomized response."""
    q = 1 / (math.exp(e) + k - 1)
    p = 1 - (k - 1) * q
    law = [(p, q), (q, p), ((k - 2) * q,) * 2]
    return drawn(law, lambda rng, x: code(x if rng.random() < p else (x + 1 + int(rng.integers(k - 1))) % k))


@of_parameter
def unary(shares: tuple[float, float], k: int, code: Callable[[NDArray[np.bool_]], Any]) -> Built:
    """Unary encoding: the bit at x is 1 with probability p, the others with q."""
    p, q = shares
    a, b = p * (1 - q), q * (1 - p)
    law = [(a, b), (b, a), ((1 - a - b) / 2,) * 2, ((1 - a - b) / 2,) * 2]
    return drawn(law, lambda rng, x: code(rng.random(k) < np.where(np.arange(k) == x, p, q)))


def symmetric(e: float) -> tuple[float, float]:
    """The shares of symmetric unary encoding."""
    return float(special.expit(e / 2)), float(special.expit(-e / 2))


def optimized(e: float) -> tuple[float, float]:
    """Those of the optimized form."""
    return 0.5, float(special.expit(-e))


def hashed(seed: Any, x: Any, g: int) -> int:
    """The public hash function; g divides 256."""
    return blake2b(f"{seed}/{x}".encode(), digest_size=8).digest()[0] % g


@of_parameter
def hashing(e: float, g: int, code: Callable[[int, int], Any] = lambda seed, value: (seed, value)) -> Built:
    """Local hashing with seeds of 62 bits, g-ary randomized response of the hash."""
    apart, inner = 1 - 1 / g, kary(g)(e)
    (p, q), *_ = inner.law

    def report(rng: Rng, x: int) -> Any:
        seed = int(rng.integers(1 << 62))
        return code(seed, inner.make(rng)(hashed(seed, x, g)))

    return drawn([(apart * p, apart * q), (apart * q, apart * p), (1 - apart * (p + q),) * 2], report)


@of_parameter
def subset(e: float, k: int, d: int, code: Callable[[list[int]], Any]) -> Built:
    """Subset selection."""
    has = d * math.exp(e) / (d * math.exp(e) + k - d)
    a, b = has * (k - d) / (k - 1), (1 - has) * d / (k - 1)

    def report(rng: Rng, x: int) -> Any:
        within = rng.random() < has
        others = rng.permutation(k - 1)[: d - within]
        return code(sorted([*(others + (others >= x)).tolist(), *[x] * within]))  # its order tells nothing

    return drawn([(a, b), (b, a), (1 - a - b,) * 2], report)


def cells(cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]], each: float = 0.01) -> Law:
    """Of noise, and of noise that is shifted by 1, the probabilities of narrow cells."""
    edges = np.array([-np.inf, *(np.arange(-10, 11 + each, each)), np.inf])
    return list(zip(np.diff(cdf(edges)).tolist(), np.diff(cdf(edges - 1)).tolist(), strict=True))


def rounded(y: Any) -> Any:
    """On a grid, since sums of floats tell more than those of real numbers; a vector as a list."""
    return (np.round(64 * np.asarray(y)) / 64).tolist()


def added(
    noise: Callable[[Rng, float], Any],
    law: Callable[[float], Law],
    code: Callable[[Any], Any] = rounded,
    at: Callable[[Any], Any] = float,
) -> Callable[[float], Built]:
    """The number or vector of an input, and noise with a parameter."""
    return lambda b: drawn(law(b), lambda rng, x: code(at(x) + noise(rng, b)))


def laplace(b: float) -> Law:
    """Of noise of scale b."""
    return cells(stats.laplace(scale=b).cdf)


def normal(b: float) -> Law:
    """Of noise of standard deviation b."""
    return cells(stats.norm(scale=b).cdf)


def two_entries(b: float) -> Law:
    """One entry of a histogram goes down, another one up."""
    one = cells(stats.laplace(scale=b).cdf, 0.25)
    return [(p * r, q * s) for p, q in one for r, s in one]


def stepped(pmf: Sequence[float]) -> Built:
    """Noise of whole numbers from 0 on."""
    return drawn(list(zip([*pmf, 0.0], [0.0, *pmf], strict=True)), lambda rng, x: int(x + rng.choice(len(pmf), p=pmf)))


def cut_geometric(most: int) -> Built:
    """Two-sided geometric noise for epsilon 1, of at most a given number of steps."""
    weights = np.exp(-np.abs(np.arange(-most, most + 1.0)))
    return stepped((weights / weights.sum()).tolist())


def binomial(coins: int) -> Built:
    """The heads of fair coins as noise."""
    return stepped(stats.binom.pmf(np.arange(coins + 1), coins, 0.5).tolist())


@of_parameter
def shuffled(in_order: bool, users: int, code: Callable[[list[int]], Any], e: float) -> Built:
    """Binary randomized response of users, of whom the others hold 0; in their order, which tells the first's, or shuffled."""
    p, q = float(special.expit(e)), float(special.expit(-e))
    ones = stats.binom.pmf(np.arange(users), users - 1, q)
    counts = [np.convolve(ones, chances).tolist() for chances in ((p, q), (q, p))]

    def report(rng: Rng, x: int) -> Any:
        told = (rng.random(users) < np.where(np.arange(users) == 0, (q, p)[x], q)).astype(int)
        return code((told if in_order else rng.permutation(told)).tolist())

    return drawn(rr(e) if in_order else list(zip(*counts, strict=True)), report)


def stocked(stock: int) -> Built:
    """Laplace noise that is drawn anew for each report, or from a stock."""

    def make(rng: Rng) -> Callable[[int], Any]:
        kept, calls = rng.laplace(size=max(stock, 1)), count()
        return lambda x: rounded(x + (kept[next(calls) % stock] if stock else rng.laplace()))

    return Built([(1.0, 0.0), (0.0, 1.0)] if stock else laplace(1.0), make)


def one_of_many(bad: float) -> Built:
    """30-ary randomized response, but input 17 is told as it is with a probability."""
    others = kary(30)(1.0)
    (p, q), *_ = others.law
    law = [(bad + (1 - bad) * p, q), ((1 - bad) * q, p), ((1 - bad) * 28 * q, 28 * q)]
    return drawn(law, lambda rng, x: x if x == 17 and rng.random() < bad else others.make(rng)(x))


def pair_of_many(share: float) -> Built:
    """A coin of each of twenty inputs, which is fair but for two of them."""
    chances = {3: share, 4: 1 - share}
    return drawn(told(share, 1 - share)[:2], lambda rng, x: int(rng.random() < chances.get(x, 0.5)))


# Codes of a symbol, whose reports have more in them.

WORDS = ["".join(np.random.default_rng(i).choice(list("abcdefgh"), 6)) for i in range(400)]


def words(rng: Rng) -> list[str]:
    """Six to nineteen."""
    return [WORDS[i] for i in rng.integers(0, len(WORDS), int(rng.integers(6, 20)))]


def with_word(symbol: int, rng: Rng, _: int) -> str:
    """A text with a word in it that tells."""
    text = words(rng)
    if symbol < 2:
        text.insert(int(rng.integers(len(text) + 1)), ("yes", "not")[symbol])
    return " ".join(text)


def image(side: int, change: Callable[[NDArray[np.uint8], int, Rng], None]) -> Callable[[int, Rng, int], Any]:
    """Random pixels, of which one or some are set."""

    def code(symbol: int, rng: Rng, _: int) -> NDArray[np.uint8]:
        pixels = rng.integers(0, 256, (side, side), dtype=np.uint8)
        change(pixels, symbol, rng)
        return pixels

    return code


def low_bit(pixels: NDArray[np.uint8], symbol: int, _: Rng) -> None:
    """One pixel's low bit tells."""
    pixels[3, 5] = pixels[3, 5] & 254 | symbol


def two_bits(pixels: NDArray[np.uint8], symbol: int, _: Rng) -> None:
    """Whether two pixels' low bits are equal tells."""
    pixels[1, 1] = pixels[1, 1] & 254 | (int(pixels[6, 2]) & 1 ^ symbol)


def black_pixel(pixels: NDArray[np.uint8], symbol: int, rng: Rng) -> None:
    """The half of the only black pixel tells."""
    pixels[pixels == 0] = 1
    if symbol < 2:
        pixels[(slice(0, 4), slice(4, 8))[symbol], :][int(rng.integers(4)), int(rng.integers(8))] = 0


def first_of(symbol: int, rng: Rng, _: int) -> list[int]:
    """A list that begins with the symbol."""
    return sorted(rng.permutation(8).tolist(), key=lambda item: item != symbol)


def two_in_order(symbol: int, rng: Rng, _: int) -> list[int]:
    """Which of 2 and 4 comes first tells."""
    order: list[int] = rng.permutation(6).tolist()
    a, b = order.index(2), order.index(4)
    if (a < b) == bool(symbol):
        order[a], order[b] = order[b], order[a]
    return order


def users(symbol: int, rng: Rng, _: int) -> str:
    """Rows of users, one of whom tells."""
    rows: list[Any] = [{"id": int(rng.integers(10**6)), "ok": None} for _ in range(int(rng.integers(2, 9)))]
    rows[int(rng.integers(len(rows)))]["ok"] = (False, True, None)[symbol]
    return json.dumps(rows)


def plain(symbol: int, *_: Any) -> int:
    """The symbol itself."""
    return symbol


# Violations.


@dataclass(frozen=True)
class Case:
    """A randomizer with a wrong parameter and with the right one."""

    family: str
    name: str
    build: Callable[[Any], Built]
    wrong: Any
    right: Any
    delta: float = 0.0
    inputs: Sequence[Any] = (0, 1)
    support: Callable[[Any, Any], bool] | None = None


CASES = (
    Case("randomized response", "epsilon is spent twice", kary(2), 2.0, 1.0),
    Case("randomized response", "a tenth more", kary(2), 1.1, 1.0),
    Case("randomized response", "of three values, and there are four", kary(4), 1 + math.log(3 / 2), 1.0),
    Case("randomized response", "epsilon 2.5 for 2, of ten words", kary(10, lambda v: WORDS[v]), 2.5, 2.0),
    Case("randomized response", "of a hundred", kary(100), 2.0, 1.0),
    Case("unary", "symmetric, of ten", unary(10, lambda b: b.astype(int).tolist()), symmetric(1.5), symmetric(1.0)),
    Case("unary", "optimized, an array of fifty", unary(50, lambda b: b.astype(np.int8)), optimized(1.5), optimized(1.0)),
    Case("unary", "each bit spends all", unary(6, lambda b: b.tolist()), symmetric(2.0), symmetric(1.0)),
    Case("unary", "packed bytes of 64", unary(64, lambda b: np.packbits(b).tobytes()), optimized(1.6), optimized(1.0)),
    Case("unary", "the ones of 200", unary(200, lambda b: np.flatnonzero(b).tolist()), optimized(2.0), optimized(1.0)),
    Case("hashing", "to four", hashing(4), 1.6, 1.0, support=lambda y, x: hashed(y[0], x, 4) == y[1]),
    Case("hashing", "to two", hashing(2), 1.5, 1.0, support=lambda y, x: hashed(y[0], x, 2) == y[1]),
    Case("hashing", "to sixteen, as text", hashing(16, lambda s, v: f"{s}:{v}"), 2.5, 2.0,
         support=lambda y, x: hashed(y.split(":")[0], x, 16) == int(y.split(":")[1])),
    Case("subsets", "5 of 20, lists", subset(20, 5, list), 1.6, 1.0),
    Case("subsets", "4 of 12, sets", subset(12, 4, frozenset), 1.5, 1.0),
    Case("subsets", "50 of 180, sorted arrays", subset(180, 50, np.array), 1.8, 1.0),
    Case("subsets", "a text of 3 of 9", subset(9, 3, lambda s: ",".join(map(str, s))), 1.5, 1.0),
    Case("Laplace", "a tenth less noise", added(lambda r, b: r.laplace(0, b), laplace), 1 / 1.1, 1.0),
    Case("Laplace", "the scale is the deviation", added(lambda r, b: r.laplace(0, b), laplace), 0.5**0.5, 1.0),
    Case("Laplace", "on a grid of quarters",
         added(lambda r, b: r.laplace(0, b), laplace, lambda y: round(4 * y) / 4), 0.8, 1.0),
    Case("Laplace", "a histogram, one entry for two",
         added(lambda r, b: r.laplace(0, b, 4), two_entries, at=lambda x: np.eye(4)[x]), 1.4, 2.0),
    Case("Laplace", "a vector of which one entry tells",
         added(lambda r, b: r.laplace(0, b, 12), laplace, lambda y: np.array(rounded(y)), lambda x: np.eye(12)[7] * x), 0.75, 1.0),
    Case("Gaussian", "an eighth less noise", added(lambda r, b: r.normal(0, b), normal), 1.5 / 1.125, 1.5, 1e-2),
    Case("Gaussian", "half of the noise", added(lambda r, b: r.normal(0, b), normal), 1.0, 2.0, 1e-5),
    Case("Gaussian", "a vector of eight, the norm of one entry",
         added(lambda r, b: r.normal(0, b, 8), normal, at=lambda x: np.full(8, x / math.sqrt(8))), 1.2, 2.4, 1e-3),
    Case("Gaussian", "rounded to tenths", added(lambda r, b: r.normal(0, b), normal, lambda y: round(y, 1)), 1.1, 1.5, 1e-3),
    Case("delta", "a leak five times delta", coded(plain), leak(0.05), leak(0.01), 1e-2),
    Case("delta", "epsilon is spent twice", coded(plain), rr(2.0), rr(1.0), 1e-6),
    Case("delta", "noise is cut too early", cut_geometric, 2, 4, 1e-2),
    Case("delta", "binomial noise of too few coins", binomial, 10, 40, 1e-3),
    Case("rare leaks", "1e-2", coded(plain), leak(1e-2), rr(1.0)),
    Case("rare leaks", "1e-2, a word in a text", coded(with_word), (*told(1e-2, 0.0)[:2], (0.99, 0.99)), told(1e-2, 1e-2 / math.e)),
    Case("rare leaks", "3e-3, a list with one more", coded(lambda s, r, _: [s % 2] * (1 + s // 2)), leak(3e-3), rr(1.0)),
    Case("rare leaks", "1e-3, a sign", coded(lambda s, r, _: s if s < 2 else 1 - s), leak(1e-3), rr(1.0)),
    Case("rare leaks", "3e-4, a field", coded(lambda s, r, _: {"v": s} if s < 2 else {"v": 0, "x": s}), leak(3e-4), rr(1.0)),
    Case("rare leaks", "1e-4", coded(plain), leak(1e-4), rr(1.0)),
    Case("order", "the first of a list", coded(first_of), rr(1.6), rr(1.0)),
    Case("order", "two of six", coded(two_in_order), rr(1.6), rr(1.0)),
    Case("order", "keys", coded(lambda s, r, _: dict(sorted({"a": int(r.integers(9)), "b": 1}.items(), reverse=bool(s)))),
         rr(2.0), rr(1.0)),
    Case("types", "numpy's integers", coded(lambda s, r, _: (int, np.int64)[s](r.integers(4))), rr(1.6), rr(1.0)),
    Case("types", "lists and tuples", coded(lambda s, r, _: (list, tuple)[s](r.random(3).tolist())), rr(2.0), rr(1.0)),
    Case("types", "decimals", coded(lambda s, r, _: {"n": int(r.integers(9)), "d": Decimal(("1.5", "1.50")[s])}), rr(1.5), rr(1.0)),
    Case("lengths", "parity of a list's", coded(lambda s, r, _: r.integers(0, 9, 2 * int(r.integers(2, 60)) + s).tolist()),
         rr(1.6), rr(1.0)),
    Case("lengths", "a space at a text's end", coded(lambda s, r, _: " ".join(words(r)) + " " * s), rr(2.0), rr(1.0)),
    Case("lengths", "bytes", coded(lambda s, r, _: r.bytes(30 + (int(r.integers(3)) + 3 * s))), rr(1.5), rr(1.0)),
    Case("images", "a low bit of 256 pixels", coded(image(16, low_bit)), rr(1.8), rr(1.0)),
    Case("images", "two pixels' low bits", coded(image(8, two_bits)), rr(1.8), rr(1.0)),
    Case("images", "where a pixel is black", coded(image(8, black_pixel)), told(0.5, 0.05), told(0.3, 0.3 / math.e)),
    Case("text", "a word anywhere", coded(with_word), told(0.4, 0.05), told(0.3, 0.3 / math.e)),
    Case("text", "parity of a hexadecimal", coded(lambda s, r, _: f"{2 * int(r.integers(1 << 31)) + s:08x}"), rr(1.6), rr(1.0)),
    Case("text", "a number after a key",
         coded(lambda s, r, _: f"user={r.integers(1 << 40)};v={s};w={r.random():.3f}"), rr(1.6), rr(1.0)),
    Case("JSON", "a row of users", coded(users), told(0.4, 0.05), told(0.3, 0.3 / math.e)),
    Case("JSON", "a value beside an id",
         coded(lambda s, r, _: json.dumps({"id": int(r.integers(1 << 50)), "tags": words(r), "v": s})), rr(1.6), rr(1.0)),
    Case("shuffled lists", "not shuffled", shuffled(100, list, 1.0), True, False, 1e-3),
    Case("shuffled lists", "not shuffled, as text", shuffled(300, lambda v: "".join(map(str, v)), 2.0), True, False, 1e-2),
    Case("state", "another code each 2,000 calls", coded(lambda s, r, n: 7 * (n // 2_000) + s), rr(1.6), rr(1.0)),
    Case("state", "from the 5,000th call on", later, 3.0, 1.0),
    Case("state", "sixteen noises", stocked, 16, 0),
    Case("many inputs", "one of thirty", one_of_many, 0.3, 0.0, inputs=range(30)),
    Case("many inputs", "two of twenty", pair_of_many, 0.85, float(special.expit(1.0)), inputs=range(20)),
)
