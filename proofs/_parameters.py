"""Parametrizations and laws that several theorems share.

Nothing here is trusted: the kernel checks that fields and symbols are inverse, and that cells sum to 1.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, positive, share
from ldpaudit.proofs._kernel import Law, Noise, Part, Theorem, named

Parameters: TypeAlias = dict[str, Any]
"""Of a theorem: its `fields`, and how to `recover` symbols from them."""
Told: TypeAlias = tuple[Parameters, Expr, Expr]
"""A coin that is at least 1/2: its parametrization, it in symbols, and its odds in fields."""


def both(*several: Parameters) -> Parameters:
    """All of them."""
    return {key: {name: value for each in several for name, value in each[key].items()} for key in ("fields", "recover")}


def plain(fields: Mapping[str, Any]) -> Parameters:
    """Fields each of which is a symbol, or one and a number."""
    symbols = {name: next(iter(value.free_symbols)) for name, value in fields.items()}
    return {"fields": dict(fields), "recover": {s: named(name) - (fields[name] - s) for name, s in symbols.items()}}


def coin(name: str = "p") -> Told:
    """A field that is at least 1/2, by its odds: its parametrization; it in symbols, and its odds in fields."""
    (excess,), p = nonnegative(f"excess_{name}"), named(name)
    truth = (1 + excess) / (2 + excess)
    return {"fields": {name: truth}, "recover": {excess: p / (1 - p) - 1}}, truth, p / (1 - p)


def response(size: str = "k", of: str = "p") -> tuple[Parameters, Law, Law, Expr]:
    """k-ary randomized response, by p(k-1)/(1-p), at least 1: its laws on two values and on equal ones, and that ratio."""
    excess, more = nonnegative("excess" if of == "p" else f"excess_{of}", "more")
    count, k, p = 2 + more, named(size), named(of)
    truth, lie, ratio = (1 + excess) / (excess + count), 1 / (excess + count), p * (k - 1) / (1 - p)
    known = {"fields": {size: count, of: truth}, "recover": {excess: ratio - 1, more: k - 2}}
    return known, *answers(truth, lie, count), ratio


def answers(truth: Expr, lie: Expr, count: Expr) -> tuple[Law, Law]:
    """Laws of one of `count` answers on two values and on equal ones, by the probabilities of the truth and of each other one."""
    apart = {"y = x": (truth, lie), "y = x', the other value": (lie, truth), "y is neither": (count - 2, lie, lie)}
    return apart, {"y = x = x'": (truth, truth), "y is another": (count - 1, lie, lie)}


def ends(low: str, high: str, by_ones: bool) -> tuple[Parameters, Expr, Expr, Expr]:
    """Fields low < high of sum at most 1 if `by_ones`, else at least 1; the two in symbols, and the larger ratio in fields."""
    (gap,), (more,) = positive("gap"), nonnegative("more")
    ones, zeros = (1, 1 + more) if by_ones else (1 + more, 1)
    least, most = ones / (ones + gap + zeros), (ones + gap) / (ones + gap + zeros)
    a, b = named(low), named(high)
    back = {gap: b / a - 1, more: (1 - b) / a - 1} if by_ones else {gap: (1 - a) / (1 - b) - 1, more: a / (1 - b) - 1}
    return {"fields": {low: least, high: most}, "recover": back}, least, most, larger(by_ones, a, b)


def larger(by_ones: bool, low: Any, high: Any) -> Any:
    """The larger of two bits' ratios, of 1 or of 0."""
    return high / low if by_ones else (1 - low) / (1 - high)


def bit(p: Any, q: Any, one: str = "the bit is 1", zero: str = "it is 0") -> Law:
    """A bit that is 1 with probability p, and q on the other input."""
    return {one: (p, q), zero: (1 - p, 1 - q)}


def apart(low: str, high: str, of: str = "gap", rest: str = "rest") -> tuple[Parameters, Expr, Expr]:
    """Fields 0 < low < high < 1, as 1 : gap : rest are low, high - low and 1 - high; the two in symbols, high first."""
    (gap, more), a, b = positive(of, rest), named(low), named(high)
    q, p = 1 / (1 + gap + more), (1 + gap) / (1 + gap + more)
    return {"fields": {low: q, high: p}, "recover": {gap: b / a - 1, more: (1 - b) / a}}, p, q


def two_bits(law: tuple[Any, Any], fields: tuple[Any, Any], times: Any = 1) -> list[Part]:
    """What bits tell that only x sets, and that only x' sets: 1 with the first probability where set, else with the second."""
    (p, q), (set_, unset) = law, fields
    by_one, by_zero = set_ / unset, (1 - unset) / (1 - set_)
    return [
        Part(by_one, [bit(p, q, "a bit that only x sets is reported as 1", "as 0")], times, by_zero),
        Part(by_zero, [bit(q, p, "a bit that only x' sets is reported as 1", "as 0")], times, by_one),
    ]


def flipped(p: Any, what: str = "the bit") -> tuple[Law, Law]:
    """A bit that is told with probability p: of two inputs that it tells apart, and of two that it does not."""
    return bit(p, 1 - p, f"{what} is as on x", "as on x'"), bit(p, p, f"{what} is as on both", "as on neither")


def step(mechanism: str, sentence: str, count: str, more: Parameters | None = None, **about: Any) -> Theorem:
    """Geometric noise: a step from x to x + 1 costs log(1/alpha), and `count` steps are taken.

    What is at x or below is nearer to x, and what is above to x + 1: both are sums of geometric series.
    """
    (steps, excess), alpha = positive("steps", "excess"), named("alpha")
    below, above = (1 + excess) / (2 + excess), 1 / (2 + excess)
    known = {"fields": {count: steps, "alpha": 1 / (1 + excess)}, "recover": {steps: named(count), excess: 1 / alpha - 1}}
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        **both(known, more or {"fields": {}, "recover": {}}),
        parts=[Part(1 / alpha, [{"y <= x": (below, above), "y > x": (above, below)}], named(count))],
        **{"tight": ""} | about,
    )


def drawn_bit(mechanism: str, sentence: str, sizes: Parameters, told: Any = None, **about: Any) -> Theorem:
    """One of all bits is drawn, that of x, of x', or another, and told with a coin, by default p."""
    (known, p, odds), (rest,) = told or coin(), nonnegative("other_bits")
    k = 2 + rest
    law = {
        "bit x is drawn, and true on x": (p / k, (1 - p) / k), "bit x is drawn, and a lie on x": ((1 - p) / k, p / k),
        "bit x' is drawn, and true on x": (p / k, (1 - p) / k), "bit x' is drawn, and a lie on x": ((1 - p) / k, p / k),
        "another, a true bit": (rest, p / k, p / k), "another, a lie": (rest, (1 - p) / k, (1 - p) / k),
    }  # fmt: skip
    parts = [Part(odds, [law])]
    return Theorem(mechanism=mechanism, sentence=sentence, **both(known, sizes), parts=parts, **{"tight": ""} | about)


def drawn_bits(mechanism: str, sentence: str, sizes: Parameters, times: Any, told: Any = None, **about: Any) -> Theorem:
    """So many bits tell where they are drawn: each is told with a coin, by default p."""
    known, p, odds = told or coin()
    laws = [bit(p, 1 - p, "the bit is true on x", "a lie on x"), {"the bit is not drawn": (1, 1)}]
    return Theorem(mechanism=mechanism, sentence=sentence, **both(known, sizes), parts=[Part(odds, laws, times)], **about)


def noisy(mechanism: str, sentence: str, fields: Mapping[str, Any], times: Any, change: Any = (1, 1), **about: Any) -> Theorem:
    """So many numbers that change by a share of this at most, in fields and in symbols, with Laplace noise of the field `scale`."""
    (apart,), (most, shown) = share("apart"), change
    parts = [Noise(most / named("scale"), shown * apart / fields["scale"], times)]
    return Theorem(mechanism=mechanism, sentence=sentence, **plain(fields), parts=parts, **about)


HASHED = ("public", "hash functions")
"""What a theorem takes from hash functions."""


def hashed(mechanism: str, sentence: str, of: str = "p", tight: str | None = "", more: tuple[str, ...] = ()) -> Theorem:
    """g-ary randomized response on a public hash, which some two values share and others do not."""
    known, apart, alike, ratio = response("g", of)
    parts = [Part(ratio, [apart, alike])]
    return Theorem(mechanism=mechanism, sentence=sentence, **known, parts=parts, tight=tight, assumes=(*HASHED, *more))


def transcript(mechanism: str, sentence: str, *, shared: bool = True) -> Theorem:
    """What votes and estimates cost; `shared`: whether some votes are cast by both streams at once, whatever they are.

    "No less" is said where as many votes differ as may.
    """
    (known_p, p, vote_odds), (known_q, q, estimate_odds) = coin("vote_coin"), coin("estimate_coin")
    (together, own, idle, sent), (mean, other) = nonnegative("shared", "own", "idle", "sent"), share("mean", "other")
    differing, named_votes = named("differing_votes"), {own: named("votes") - named("common")}
    counts: dict[str, dict[str, Expr] | dict[Expr, Expr]] = plain({"differing_votes": idle})
    if shared:
        counts = {
            "fields": {"votes": together + own, "common": together, "differing_votes": 2 * own - idle},
            "recover": {together: named("common"), **named_votes, idle: 2 * named_votes[own] - differing},
        }
    plus, plus_other = (q * m + (1 - q) * (1 - m) for m in (mean, other))
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        relation="user-level",
        **both(known_p, known_q, counts, plain({"estimates": sent})),
        identities={"as printed, with odds s: a bit of that mean": (plus, (1 + mean * (q / (1 - q) - 1)) * (1 - q))},
        parts=[
            Part(vote_odds, flipped(p, "a vote"), differing),
            Part(estimate_odds, [bit(plus, plus_other, "an estimate of one of two means is 1", "it is 0")], named("estimates")),
        ],
        worst={mean: 1, other: 0},
        tight="where as many votes differ and as many estimates are sent" if shared else None,
        assumes=("transcripts",),
    )
