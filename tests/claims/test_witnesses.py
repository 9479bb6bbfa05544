"""For every sentence of a source that fails, a witness that is checked again in rationals, without an accountant.

docs/witnesses.json holds two inputs, an event, and a lower bound of its probability on the first and an upper bound on the
second. What is checked here shares no code with the accountants: exponentials and logarithms in mpmath's intervals, everything
else exactly. THRESH and the Bucket mechanism are played out from their pseudocode, by no code of the suite.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import ceil, comb, factorial
from typing import Any

import mpmath
import pytest

from ldpaudit.accountants.claims.sentence import Printed, Standing
from ldpaudit.mechanisms.glps_heavy_hitter import printed_sizes
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, JLHeavyHitter
from ldpaudit.studies import literature
from tests.claims.test_literature import claims_of, printed_at
from tests.helpers import ROOT
from tests.oracles.shuffle import law_of
from tests.oracles.trie import heads

F = Fraction
WITNESSES: list[dict[str, Any]] = json.loads((ROOT / "docs" / "witnesses.json").read_text())["witnesses"]


def bounds(function: Callable[[Any], Any], x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals on either side of a function's value, by mpmath's intervals of 60 digits."""
    mpmath.iv.dps = 60
    found = function(mpmath.iv.mpf(x.numerator) / x.denominator)
    low, high = (F(*mpmath.libmp.to_rational(end)) for end in found._mpi_)
    return low, high


exp_bounds, log_bounds = partial(bounds, mpmath.iv.exp), partial(bounds, mpmath.iv.log)


def root_below(x: Fraction) -> Fraction:
    """The square root of a number, from below."""
    return bounds(mpmath.iv.sqrt, x)[0]


SQRT_2 = root_below(F(2))


def composition(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """T randomized responses, of which at least `least` name the first input; their epsilon is small enough."""
    t, odds, epsilon, delta = w["times"], F(w["odds"]), F(w["epsilon"]), F(w["delta"])
    share = F(w["share"])
    assert odds <= exp_bounds(share)[0], "each is share-private"
    # share <= epsilon / sqrt(8 T ln(1/delta)), as ln(1/delta) <= 1/delta - 1
    assert share**2 * 8 * t * (1 / delta - 1) <= epsilon**2
    truth = odds / (1 + odds)
    return heads(t, truth, w["least"]), heads(t, 1 - truth, w["least"])


def bucket(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """So many of the coordinates that differ, whose bits are 1 apart, lie on the first value's side of the middle."""
    domain, delta, beta, scale, vectors = w["domain"], F(w["delta"]), F(w["beta"]), F(w["scale"]), w["vectors"]
    rows = (12 * domain - 1).bit_length()  # log2(12 N), rounded up
    trials = 8 * log_bounds(1 / beta)[0]
    assert ceil(trials) == ceil(8 * log_bounds(1 / beta)[1])
    assert len(vectors) == rows * ceil(trials), "one vector for each row of each trial"
    assert all(0 < r < domain for r in vectors), "Algorithm 3 may draw any of them"
    # not below sqrt(8 k1 k2 ln(1/delta)) / epsilon
    assert scale**2 * F(w["epsilon"]) ** 2 >= 8 * len(vectors) * log_bounds(1 / delta)[1]
    differing = sum(((w["first"] & r).bit_count() + (w["second"] & r).bit_count()) % 2 for r in vectors)
    return most_on_its_side(differing, w["least"], exp_bounds(-F(1, 2) / scale)[1])


def most_on_its_side(differing: int, least: int, high: Fraction) -> tuple[Fraction, Fraction]:
    """At least `least` of the noisy numbers are on the first input's side, each with probability 1 - high/2, or with high/2."""
    return heads(differing, 1 - high / 2, least), heads(differing, high / 2, least)


def glps(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Two full columns of opposite signs: so many of the measurements lie on the first one's side of the middle."""
    epsilon, delta, scale = F(w["epsilon"]), F(w["delta"]), F(w["scale"])
    rows = ceil(printed_sizes(epsilon, delta, F(w["beta"]), w["users"], w["domain"])[1])
    assert w["differing"] == rows
    # not below sqrt(8 m ln(1/delta)) / epsilon, as ln(1/delta) <= 1/delta - 1, for the whole m and so for any smaller one
    assert scale**2 * epsilon**2 >= 8 * rows * (1 / delta - 1)
    return most_on_its_side(w["differing"], w["least"], exp_bounds(-1 / scale)[1])


def projection(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Of all noisy entries in which two columns differ, at least `least` have the first one's sign."""
    m = JLHeavyHitter.as_printed(F(w["epsilon"]), F(w["delta"]), F(w["beta"]), w["domain"], w["users"])
    entry, n = F(w["entry"]), w["copies"] * w["differing"]
    assert entry**2 * m.rows <= 1, "entries are no closer to 0 than 1/sqrt(rows)"
    one, other = (m.columns(w[side]) for side in ("first", "second"))
    assert int((one != other).sum()) == w["differing"]
    wrong = -(-exp_bounds(-entry / m.scale)[1] * 10**20 // 2)  # rounded up, in units of 1e-20
    first, second = (
        F(sum(comb(n, k) * p**k * (10**20 - p) ** (n - k) for k in range(w["least"], n + 1)), 10 ** (20 * n))
        for p in (10**20 - wrong, wrong)
    )
    return first, second


def products(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """A value's product with its own column is 1, another's with that column is less; Chernoff's bound for sums of noises."""
    m = FreshProducts.as_printed(F(w["epsilon"]), F(w["delta"]), F(w["beta"]), w["domain"], w["users"])
    own, other = (round(float(m.products(w[side])[w["first"]]) * m.rows) for side in ("first", "second"))
    assert own == m.rows
    middle, rate = F(w["middle"]), F(w["rate"])
    moment = (1 - rate**2 * m.scale**2 / m.rows) ** -m.rows
    beyond = [exp_bounds(-rate * reach)[1] * moment for reach in (1 - middle, middle - F(other, m.rows))]
    return 1 - beyond[0], beyond[1]


def constant(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """C_k = 2 sqrt(pi k) e**(sign (1/(6k) - k/2)), from below; there is no second input."""
    k, sign = w["k"], {"proof": 1, "printed": -1}[w["exponent"]]
    low = exp_bounds(sign * (F(1, 6 * k) - F(k, 2)))[0]
    root = F(w["root"])
    assert root**2 <= F("3.14159265") * k
    return 2 * root * low, F(0)


def thresh(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """The votes of one stream, by Algorithms 1 and 2 without a global update, so that what is sent for estimates is alike.

    Assumption 4.2 is met, and the noise levels a and b are above 0.
    """
    n, epochs, rounds, smallest, delta = w["users"], w["epochs"], w["rounds"], w["smallest"], F(w["delta"])
    top, epsilon = epochs.bit_length() - 1, F(w["epsilon"])
    logs = log_bounds(12 * n * epochs / delta)
    steps = tuple(2 * log / rounds for log in logs)  # squares of tau_0 = 2 sqrt(ln(12 n T/delta)/(2 l))
    few = log_bounds(12 * epochs / delta)
    levels = [4 * root / (smallest / SQRT_2 - F(3, 2) * root) for root in map(root_below, (n * log for log in few))]
    low, high = levels[0] * F(999_999, 10**6), levels[1] * F(1_000_001, 10**6)  # roots are off by a thousandth of that
    assert 0 < low < high < epsilon, "a < epsilon is Assumption 4.2"
    assert top**2 * logs[0] / (2 * rounds) > few[1] / (2 * n), "b > 0"

    def votes(stream: list[int]) -> list[int]:
        cast, given = [], 0
        for epoch, ones in enumerate(stream, 1):
            square = (F(ones, rounds) - w["start"]) ** 2
            exceeded = [[b for b in range(-1, top + 1) if square > (b + 1) ** 2 * step] for step in steps]
            assert exceeded[0] == exceeded[1], "no distance is within the rounding of a threshold"
            able = [given * level < epsilon / 4 for level in (low, high)]
            assert able[0] == able[1]
            yes = able[0] and bool(exceeded[0]) and epoch % 2 ** (top - exceeded[0][-1]) == 0
            cast.append(int(yes))
            given += yes
        return cast

    assert w["event"] == votes(w["first"])
    lies = sum(one != other for one, other in zip(w["event"], votes(w["second"]), strict=True))
    truth = [1 - 1 / (1 + bounds) for bounds in (exp_bounds(low)[0], exp_bounds(high)[1])]
    return truth[0] ** epochs, (1 - truth[0]) ** lies * truth[1] ** (epochs - lies)


def empty_trie(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Nothing is released: some prefix always has theta votes, unless the user who is alone with hers is drawn."""
    n, m, theta, groups, alone = w["users"], w["batch"], w["threshold"], w["groups"], w["alone"]
    assert sum(groups) + alone == n

    def nothing(singles: int) -> Fraction:
        ways = {0: 1}
        for size in (*groups, *[1] * singles):
            ways = _draw(ways, size, min(theta - 1, m))
        return F(ways.get(m, 0), comb(n + singles - alone, m))

    return nothing(alone + 1), nothing(alone)


def _draw(ways: dict[int, int], size: int, most: int) -> dict[int, int]:
    """In how many ways this many users are drawn, of whom at most `most` hold one more prefix."""
    mores = range(min(size, most) + 1)
    return law_of((drawn + more, count * comb(size, more)) for drawn, count in ways.items() for more in mores)


def sum_of_rare_prefixes(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Theorem 1's delta, (theta - 2)/((theta - 3) theta!), at the nearest integer to log10(n) + 6; there is no second input."""
    n, theta = w["users"], w["threshold"]
    assert 10 ** (2 * theta - 13) <= n**2 < 10 ** (2 * theta - 11), "theta - 6 is within 1/2 of log10(n)"
    return F(theta - 2, (theta - 3) * factorial(theta)), F(0)


def likely_ratio(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Below a number, the ratio of two Laplace laws at distance 1 is above e**half; no event costs more than delta there."""
    epsilon, half, below = F(w["epsilon"]), F(w["half"]), F(w["below"])
    assert epsilon * (1 - 2 * below) >= half, "the ratio at a number t between 0 and 1 is e**(epsilon (1 - 2 t))"
    least = 1 - exp_bounds(-epsilon * below)[1] / 2
    other = exp_bounds(-epsilon * (1 - below))[0] / 2
    assert 1 - exp_bounds(-epsilon * below)[0] / 2 - exp_bounds(half)[0] * other < F("0.2212"), "delta, by that same event"
    return least, F(0)


def fewer_shuffled(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """All responses are 0, among the users who are left; delta of all users, over all their data sets and both directions."""
    p, ratio = F(w["p"]), F(w["ratio"])

    def counts(ones: int, users: int) -> list[Fraction]:
        law = [F(1)]
        for rate in [p] * ones + [1 - p] * (users - ones):
            law = [a * (1 - rate) + b * rate for a, b in zip([*law, F(0)], [F(0), *law], strict=True)]
        return law

    n = w["users"]
    pairs = [(counts(a, n), counts(b, n)) for k in range(n) for a, b in ((k, k + 1), (k + 1, k))]
    assert max(sum(max(x - ratio * y, F(0)) for x, y in zip(*pair, strict=True)) for pair in pairs) == F("0.140625")
    return counts(0, w["active"])[0], counts(1, w["active"])[0]


def underestimate(w: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """In some row, blanket messages are fewer than their mean."""
    n, gamma = w["users"], F(w["gamma"])
    fewer = sum((comb(n, k) * gamma**k * (1 - gamma) ** (n - k) for k in range(ceil(gamma * n))), F(0))
    return 1 - (1 - fewer) ** w["rows"], F(0)


CHECKS: dict[str, Callable[[dict[str, Any]], tuple[Fraction, Fraction]]] = {
    each.__name__: each
    for each in (composition, bucket, glps, projection, products, constant, thresh, empty_trie, sum_of_rare_prefixes, likely_ratio,
                 fewer_shuffled, underestimate)
}  # fmt: skip


@pytest.mark.parametrize("w", WITNESSES, ids=lambda w: f"{w['claim']}, {w['reading']}".rstrip(", "))
def test_a_witness_refutes_its_claim_in_rationals(w: dict[str, Any]) -> None:
    first, second = CHECKS[w["check"]](w["inputs"])
    assert first >= F(w["first_at_least"])
    assert second <= F(w["second_at_most"])
    low, high = F(w["first_at_least"]), F(w["second_at_most"])
    ratio = exp_bounds(F(w["claimed_epsilon"]))[1] if "claimed_epsilon" in w else F(w["claimed_ratio"])
    assert low - ratio * high > F(w["claimed_delta"])
    assert first < F(w["first_at_least"]) * F("1.01"), "the file's numbers are tight, so that a change of the code is seen"


def test_every_sentence_that_fails_has_a_witness_for_each_reading() -> None:
    failing = {
        (claim.where, claim.reading)
        for stem in literature.stems()
        for claim in claims_of(stem)
        if claim.standing is Standing.FAILS
    }
    assert failing == {(w["claim"], w["reading"]) for w in WITNESSES}


def claims_at(command: str) -> tuple[Printed, ...]:
    """What a witness's command judges."""
    verb, stem, *given = command.split()[1:]
    (setting,) = literature.settings(stem, dict(each.split("=") for each in given))
    assert verb == "claims"
    assert setting in literature.settings(stem), "a refutation that is on record is at an example, so the command ends with 0"
    return printed_at(stem, setting)


def test_a_witness_s_command_prints_the_failure_that_it_is_of() -> None:
    for w in WITNESSES:
        claims = [c for c in claims_at(w["command"]) if (c.where, c.reading) == (w["claim"], w["reading"])]
        assert any(c.standing is Standing.FAILS for c in claims), w["command"]


def test_the_protocols_that_are_played_out_here_use_no_code_of_the_suite() -> None:
    ours = {name for name, value in globals().items() if getattr(value, "__module__", "").startswith("ldpaudit")}
    for check in (thresh, bucket):
        assert not ours & {*check.__code__.co_names}, check.__name__
