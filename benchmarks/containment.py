"""Containment: random queries over the whole domain, each held against an oracle in 60-digit arithmetic.

    python -m benchmarks.containment [--queries 100000] [--seed 1] [--family NAME...]

The oracles are sums as the definitions write them, of terms that share no code with the accountants; they are slow, so
their n are small, except for the tails, which are summed term by term from the far end. A query asks a profile for delta
at a random epsilon, or for epsilon at a random delta; a *miss* is an enclosure that does not contain the truth. The script
fails if there is one.
"""

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
from mpmath import mpf

from benchmarks.experiment import options, show, timed
from benchmarks.queries import DIGITS, ROUNDING, Tally, a_delta, ask, fraction, mp, one_more, positive
from ldpaudit import Compose, Enclosure, Mechanism, Neighbours, Repeat, Run, Shuffle, account
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.numerics import binomial, hypergeometric
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import HadamardResponse, KaryRandomizedResponse, SubsetSelection, UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.oracles.shuffle import law_of
from tests.oracles.trie import partitions

_DEEP = 420  # digits where the complement of a tail is summed


def thresholds(rng: random.Random, tally: Tally) -> None:
    """Samples with a threshold."""
    rng.choice((_few, _few, _few, _many))(rng, tally)


def _few(rng: random.Random, tally: Tally) -> None:
    """Every data set of a few users; with coins also hundreds, who share one prefix."""
    users = rng.choice((1, 2, rng.randint(3, 8)))
    relation = rng.choice((ADD_REMOVE, REPLACE_ONE)) if users > 1 else ADD_REMOVE
    sampling: FixedBatch | PoissonBatch
    if rng.random() < 0.4:
        sampling = FixedBatch(users, rng.randint(1, users))
        threshold = rng.randint(1, sampling.batch)
    else:
        coin = fraction(rng, 0, 1, rng.choice((1, 4)))
        if not 0 < coin < 1:
            return
        users = rng.choice((users, rng.randint(9, 300)))
        relation = ADD_REMOVE if users > 8 else relation
        sampling, threshold = PoissonBatch(users, coin), rng.randint(1, min(users, 12))
    pairs = _alone(sampling, threshold) if users > 8 else list(_sharings(sampling, threshold, relation))

    def truth(epsilon: Any) -> Any:
        return max((max(positive(iter(p), epsilon), positive(((b, a) for a, b in p), epsilon)) for p in pairs), default=mpf(0))

    profile = ThresholdProfile(sampling, threshold, 1, relation)
    ask(rng, tally, f"{sampling} {threshold} {relation}", profile, truth, 2.0)


def _alone(sampling: PoissonBatch | FixedBatch, threshold: int) -> list[list[tuple[Any, Any]]]:
    """Whether a prefix of w others is released, with the user and without him, for every w."""
    coin, law, beside = mp(sampling.rate), [mpf(1)], []
    for _ in range(sampling.users + 1):
        more = one_more(law, coin)
        there, before = mpmath.fsum(more[threshold:]), mpmath.fsum(law[threshold:])
        beside.append([(there, before), (mpmath.fsum(more[:threshold]), mpmath.fsum(law[:threshold]))])
        law = more
    return beside


def _sharings(sampling: PoissonBatch | FixedBatch, threshold: int, relation: Neighbours) -> Iterator[list[tuple[Any, Any]]]:
    """Both laws of the released prefixes, for every pair of neighbours but for their names."""
    for sizes in partitions(sampling.users - (relation == REPLACE_ONE)):
        groups = (*sizes, 0, 0)
        joined = [tuple(s + (i == j) for j, s in enumerate(groups)) for i in range(len(sizes) + 2)]
        for one in joined[:-1]:
            for other in [groups] if relation == ADD_REMOVE else joined:
                laws = _released(one, sampling, threshold), _released(other, sampling, threshold)
                yield [(laws[0].get(view, mpf(0)), laws[1].get(view, mpf(0))) for view in laws[0].keys() | laws[1].keys()]


def _released(sizes: tuple[int, ...], sampling: PoissonBatch | FixedBatch, threshold: int) -> dict[frozenset[int], Any]:
    """Law of the set of groups with enough votes."""
    ways: dict[tuple[frozenset[int], int], Any] = {(frozenset(), 0): mpf(1)}
    coin = mp(sampling.rate) if isinstance(sampling, PoissonBatch) else mpf(1) / 2  # samples of one size are alike
    for group, size in enumerate(sizes):
        chances = [math.comb(size, votes) * coin**votes * (1 - coin) ** (size - votes) for votes in range(size + 1)]
        ways = law_of(
            ((out | {group} if votes >= threshold else out, drawn + votes), p * chance)
            for (out, drawn), p in ways.items() for votes, chance in enumerate(chances)
        )  # fmt: skip
    law = law_of((out, p) for (out, drawn), p in ways.items() if isinstance(sampling, PoissonBatch) or drawn == sampling.batch)
    total = mpmath.fsum(law.values())
    return {out: p / total for out, p in law.items()}


def _many(rng: random.Random, tally: Tally) -> None:
    """Up to 1e12 users, of whom one prefix is known to tell."""
    n = int(10 ** rng.uniform(3, 12))
    m = max(2, int(n ** rng.uniform(0.2, 0.9)))
    threshold, q = rng.randint(2, min(m, 30)), mpf(m) / (n + 1)

    def tail(users: int, holders: int) -> Any:
        """From below, with enough digits that 60 are left."""
        term, total = mpmath.binomial(users - holders, m) / mpmath.binomial(users, m), mpf(0)
        for j in range(threshold):
            total += term
            term *= mpf(holders - j) * (m - j) / (mpf(j + 1) * (users - holders - m + j + 1))
        return 1 - total

    def cost(epsilon: float) -> Any:
        c = mpmath.exp(mpf(epsilon))
        w = min(n, max(threshold - 1, int(mpmath.ceil(threshold - 2 + (threshold - 1) * (1 - q) / (c - 1 + q)))))
        near = (x for x in (w - 1, w, w + 1) if threshold - 1 <= x <= n - m)
        return max((tail(n + 1, x + 1) - c * tail(n, x) for x in near), default=mpf(0))

    profile, name = ThresholdProfile(FixedBatch(n, m), threshold), f"{m} of {n}, theta {threshold}"
    epsilon, delta = float(q) * 10 ** rng.uniform(-2, 3), a_delta(rng)
    with mpmath.workdps(_DEEP):
        if rng.random() < 0.5 and epsilon < 40:
            found, least = profile.delta(epsilon), cost(epsilon)
            holds = least * (1 - ROUNDING) <= found.high and found.low >= least * (1 - mpf(10) ** -9) - mpf(10) ** -320
            tally.add(found, holds, f"{name}: delta({epsilon!r}) is at least {mpmath.nstr(least, 20)}, not in {found!r}")
            return
        found = profile.epsilon(delta)
        holds = math.isinf(found.high) or cost(found.high) <= delta
        # What one prefix costs is reached, so just above the lower end it is not more than delta.
        holds = holds and (math.isinf(found.low) or cost(found.low * (1 + 1e-9) + 1e-300) <= delta)
        tally.add(found, holds, f"{name}: epsilon({delta!r}) is not in {found!r}")


def coins(rng: random.Random, tally: Tally) -> None:
    """T equal binary randomized responses."""
    p, times = (fraction(rng, 0.5, 1, rng.choice((2, 6))), rng.choice((1, 2, 3, rng.randint(4, 60), rng.randint(60, 400))))
    if not Fraction(1, 2) < p < 1:
        return
    a, b = mp(p), mp(1 - p)
    ways = [math.comb(times, i) for i in range(times + 1)]
    laws = [(ways[i] * a**i * b ** (times - i), ways[i] * b**i * a ** (times - i)) for i in range(times + 1)]
    scale = times * math.log(p / (1 - p))
    name = f"{times} responses with p={p}"
    profile = account(Repeat(Run(KaryRandomizedResponse(2, p)), times))
    ask(rng, tally, name, profile, lambda e: positive(iter(laws), e), scale)


def mixtures(rng: random.Random, tally: Tally) -> None:
    """Binary randomized responses of several kinds."""
    parts = []
    for _ in range(rng.randint(2, 4)):
        p = fraction(rng, 0.5, 1, rng.choice((1, 2, 5)))
        if Fraction(1, 2) < p < 1:
            parts.append((p, rng.randint(1, 3)))
    if len(parts) < 2:
        return
    each = [p for p, times in parts for _ in range(times)]
    laws = [
        (mpmath.fprod(mp(p if heads else 1 - p) for p, heads in zip(each, view, strict=True)),
         mpmath.fprod(mp(1 - p if heads else p) for p, heads in zip(each, view, strict=True)))
        for view in product((True, False), repeat=len(each))
    ]  # fmt: skip
    plan = Compose(tuple(Repeat(Run(KaryRandomizedResponse(2, p)), times) for p, times in parts))
    scale = sum(math.log(p / (1 - p)) for p in each)
    ask(rng, tally, str(parts), account(plan), lambda e: positive(iter(laws), e), scale)


def local(rng: random.Random, tally: Tally) -> None:
    """One report of a mechanism with a small law, every pair of inputs."""
    k = rng.randint(2, 5)
    m: Mechanism
    match rng.randrange(4):
        case 0:
            m = KaryRandomizedResponse(k, fraction(rng, 1 / k + 1e-3, 0.999))
        case 1:
            m = UnaryEncoding(k, fraction(rng, 0.5, 0.999), fraction(rng, 0.001, 0.499))
        case 2:
            m = HadamardResponse(k, fraction(rng, 0.501, 0.999))
        case _:
            d = rng.randint(1, k - 1)
            m = SubsetSelection(k, d, fraction(rng, d / k + 1e-3, 0.999))
    laws = [dict(m.law(x).items()) for x in m.inputs]
    pairs = [[(mp(p), mp(there.get(y, Fraction(0)))) for y, p in here.items()] for here in laws for there in laws]
    most = account(m).epsilon(0).high
    ask(rng, tally, str(m), account(m), lambda e: max(positive(iter(pair), e) for pair in pairs), float(most))


def shuffled(rng: random.Random, tally: Tally) -> None:
    """Shuffled binary randomized response, every number of ones."""
    p, users = fraction(rng, 0.5, 1, rng.choice((2, 5))), rng.choice((2, 3, rng.randint(4, 12), rng.randint(13, 45)))
    if not Fraction(1, 2) < p < 1:
        return
    heads, tails = [[mpf(1)]], [[mpf(1)]]
    for each, chance in ((heads, mp(p)), (tails, mp(1 - p))):
        for _ in range(users - 1):
            each.append(one_more(each[-1], chance))
    laws = []
    for t in range(users):
        others = [mpf(0)] * users
        for i, a in enumerate(heads[t]):
            for j, b in enumerate(tails[users - 1 - t]):
                others[i + j] += a * b
        laws.append((one_more(others, mp(p)), one_more(others, mp(1 - p))))

    def truth(epsilon: Any) -> Any:
        ways = [(one, zero) for law in laws for one, zero in (law, law[::-1])]
        return max(positive(zip(one, zero, strict=True), epsilon) for one, zero in ways)

    profile = account(Shuffle(KaryRandomizedResponse(2, p), users))
    ask(rng, tally, f"{users} shuffled, p={p}", profile, truth, math.log(p / (1 - p)))


def clones(rng: random.Random, tally: Tally) -> None:
    """The clones' pair of counts, term by term."""
    epsilon0, users = fraction(rng, 0.01, 6, 3), rng.choice((1, 2, 3, rng.randint(4, 24)))
    if not epsilon0:
        return
    e0 = mpmath.exp(mp(epsilon0))
    laws: dict[tuple[int, int], list[Any]] = {}
    for c in range(users):
        chance = math.comb(users - 1, c) * (1 / e0) ** c * (1 - 1 / e0) ** (users - 1 - c)
        for a in range(c + 1):
            weight = chance * math.comb(c, a) / mpf(2) ** c
            for d, p in ((1, e0 / (1 + e0)), (0, 1 / (1 + e0))):
                laws.setdefault((a + d, c - a + 1 - d), [mpf(0), mpf(0)])[0] += weight * p
                laws.setdefault((c - a + 1 - d, a + d), [mpf(0), mpf(0)])[1] += weight * p
    pairs = [(p, q) for p, q in laws.values()]
    profile = CloneProfile(epsilon0, users)
    ask(rng, tally, f"clones {epsilon0} {users}", profile, lambda e: positive(iter(pairs), e), float(epsilon0))


def noise(rng: random.Random, tally: Tally) -> None:
    """Bin(n, gamma) against itself shifted by k, both ways round."""
    n, gamma = rng.choice((1, 2, rng.randint(3, 40), rng.randint(41, 800))), fraction(rng, 0, 1, rng.choice((1, 3)))
    if not 0 < gamma < 1:
        return
    k, g = rng.randint(1, min(n, 5)), mp(gamma)
    law = [math.comb(n, i) * g**i * (1 - g) ** (n - i) for i in range(n + 1)] + [mpf(0)] * k
    pairs = [(law[i], law[i - k] if i >= k else mpf(0)) for i in range(n + k + 1)]

    def truth(epsilon: Any) -> Any:
        return max(positive(iter(pairs), epsilon), positive(((q, p) for p, q in pairs), epsilon))

    scale = 10 * k / math.sqrt(n * float(gamma * (1 - gamma)))
    ask(rng, tally, f"Bin({n}, {gamma}) + {k}", ShiftProfile(n, gamma, k), truth, scale)


def tails(rng: random.Random, tally: Tally) -> None:
    """Binomial and hypergeometric tails, n up to 1e12, summed from where they begin."""
    n = int(10 ** rng.uniform(0.5, 12))
    if rng.random() < 0.5:
        p = Fraction(rng.randint(1, 999), 10 ** rng.randint(3, 6))
        center, spread = n * float(p), math.sqrt(n * float(p * (1 - p))) + 1
        k = min(n, max(0, int(center + rng.uniform(3, 30) * spread)))
        term = mpmath.binomial(n, k) * mp(p) ** k * mp(1 - p) ** (n - k)
        odds, name = mp(p / (1 - p)), f"P[Bin({n}, {p}) >= {k}]"

        def ratio(j: int) -> Any:
            return mpf(n - j) / (j + 1) * odds

        with working_precision(128):
            found = Enclosure.of(binomial.binomial_upper(n, p, k), source="tail")
    else:
        marked, draws = int(10 ** rng.uniform(0, math.log10(n))), int(10 ** rng.uniform(0, math.log10(n)))
        center = marked * draws / n
        k = max(0, marked + draws - n, min(marked, draws, int(center + rng.uniform(3, 30) * (math.sqrt(center) + 1))))
        ways = mpmath.binomial(n - marked, draws - k) / mpmath.binomial(n, draws)
        term, name = mpmath.binomial(marked, k) * ways, f"P[Hyp({n}, {marked}, {draws}) >= {k}]"

        def ratio(j: int) -> Any:
            return mpf(marked - j) * (draws - j) / (mpf(j + 1) * (n - marked - draws + j + 1))

        with working_precision(128):
            found = Enclosure.of(hypergeometric.hypergeometric_upper(n, marked, draws, k), source="tail")
    total, j = mpf(0), k
    while term > total * mpf(10) ** -(DIGITS - 5):
        total += term
        term *= ratio(j)
        j += 1
        if j - k > 4_000:
            return  # too close to the middle to be summed here
    # The binomial coefficients of 1e12 lose a dozen of the digits.
    off = mpf(10) ** -30
    holds = found.low <= total * (1 + off) and total * (1 - off) <= found.high
    tally.add(found, holds, f"{name} is {mpmath.nstr(total, 25)}, not in {found!r}")


FAMILIES: dict[str, tuple[Callable[[random.Random, Tally], None], float]] = {
    "tails": (tails, 0.30),
    "coins": (coins, 0.20),
    "noise": (noise, 0.20),
    "local": (local, 0.12),
    "clones": (clones, 0.08),
    "shuffled": (shuffled, 0.06),
    "mixtures": (mixtures, 0.02),
    "thresholds": (thresholds, 0.02),
}
"""Each with its share of the queries."""


def run(family: str, queries: int, seed: int) -> Tally:
    """So many queries of one family; the same for the same seed."""
    rng, tally = random.Random(f"{family} {seed}"), Tally()
    with mpmath.workdps(DIGITS):
        while tally.queries < queries:
            FAMILIES[family][0](rng, tally)
    return tally


COLUMNS = "{family:>10} {queries:8d} {misses:7d} {exact:7d} {widest exact:13.1e} {seconds:8.0f}"


def main() -> None:
    """Print a line a family, and every miss."""
    given, missed = options(__doc__, queries=100_000, seed=1, family=[*FAMILIES]), list[str]()

    def rows() -> Iterator[tuple[str | float, ...]]:
        for family in given.family:
            found, seconds = timed(lambda: run(family, round(given.queries * FAMILIES[family][1]), given.seed))  # noqa: B023
            missed.extend(found.misses)
            yield family, found.queries, len(found.misses), found.exact, found.widest, seconds

    show(COLUMNS, rows())
    for miss in missed:
        print("MISS", miss)
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
