"""Noise as the papers print it, noise that is enough by the exact accountants, and the two relations side by side.

    python -m benchmarks.needed_noise

Each row is a setting: the promise, the printed parameter and the one that suffices for it, their ratio (above 1 where the
paper uses more noise than it needs, below 1 where it uses less), and what the printed parameter costs for replace-one and for
add-remove neighbours. The last bits of "suffices" are rounded to the safe side.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from benchmarks.experiment import show
from ldpaudit import Mechanism, Neighbours, Unsupported, account
from ldpaudit.accountants.claims import bucket_heavy_hitter, glps_heavy_hitter, jl_heavy_hitter, shuffled_hadamard
from ldpaudit.accountants.claims.trie_heavy_hitter import claimed_epsilon, room
from ldpaudit.mechanisms import Hashtogram, ShuffledCountMin, SignOracle, Thresh, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE

F = Fraction
NONE = F(0)
PROMISES = ((F(1, 2), F(1, 10**6)), (F(9, 10), F(1, 10**9)), (F(1, 10), F(1, 10**6)))
_GRAIN = Fraction(1, 1000)  # relative precision of a sufficient noise that is searched for here


Row: TypeAlias = tuple[str | float, ...]
"""System, promise, noise; the printed and the sufficient one, and their ratio; costs for replaced users, and for absent ones."""


def row(system: str, kept: str, noise: str, printed: float, suffices: float, *costs: str) -> Row:
    """One setting of one system."""
    return system, kept, noise, printed, suffices, printed / suffices, *costs


def cost(m: Mechanism, delta: Fraction, relation: Neighbours) -> str:
    """Epsilon at delta, or that the relation is none of the mechanism's."""
    try:
        found = account(m, relation).epsilon(delta)
    except Unsupported:
        return "-"
    return f"{found.high:.4g}" if found.relative_width < 1e-3 or found.low == found.high else f"{found.low:.4g}..{found.high:.4g}"


def both(m: Mechanism, delta: Fraction) -> tuple[str, str]:
    """For replaced users, and for users who come or go."""
    return cost(m, delta, REPLACE_ONE), cost(m, delta, ADD_REMOVE)


def least(keeps: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """The least noise that keeps a promise, to a thousandth, from above; it is kept at `high`."""
    while high / low > 1 + _GRAIN:
        middle = (low + high) / 2 if high < 2 * low else Fraction(float(low * high) ** 0.5)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def sufficient_count_min(m: ShuffledCountMin, epsilon: Fraction, delta: Fraction) -> ShuffledCountMin:
    """The same sketch with the least gamma up to 1/2 that keeps the promise."""

    def keeps(gamma: Fraction) -> bool:
        return account(replace(m, gamma=gamma)).delta(epsilon).high <= delta

    if not keeps(Fraction(1, 2)):
        raise ValueError(f"no gamma up to 1/2 makes {m} ({float(epsilon):g}, {float(delta):g})-private")
    return replace(m, gamma=least(keeps, Fraction(1, m.users), Fraction(1, 2)))


def bucket() -> Iterator[Row]:
    """Scale of the Laplace noise."""
    for (epsilon, delta), domain in zip(PROMISES, (1 << 20, 1 << 16, 1 << 10), strict=True):
        s = bucket_heavy_hitter.Setting(epsilon, delta, F(1, 20), domain, 10**6)
        m, enough = s.mechanism, bucket_heavy_hitter.sufficient_scale(s).high
        yield row("bucket_heavy_hitter", promise(epsilon, delta), "scale b", float(m.scale), enough, *both(m, delta))


def glps() -> Iterator[Row]:
    """Scale of the Laplace noise: for our matrix whatever its seed."""
    promises = (*PROMISES[:2], (F(9, 10), F(1, 10**6)))
    for (epsilon, delta), domain in zip(promises, (1 << 20, 1 << 16, 1 << 32), strict=True):
        m = glps_heavy_hitter.Setting(epsilon, delta, F(1, 20), domain, 10**6).mechanism
        for relation, name in ((REPLACE_ONE, "replaced"), (ADD_REMOVE, "absent")):
            enough = glps_heavy_hitter.sufficient_scale(epsilon, delta, m.touched, relation).high
            yield row("glps_heavy_hitter", promise(epsilon, delta), f"b, {name}", float(m.scale), enough, *both(m, delta))


def jl() -> Iterator[Row]:
    """Scale of the Laplace noise on one projection, whatever the public matrix: for replaced users, and for absent ones."""
    for epsilon, delta in PROMISES:
        s = jl_heavy_hitter.Setting(epsilon, delta, F(1, 20), 1000, 10**6)
        costs = [f"{jl_heavy_hitter.whatever_the_matrix(s, s.scale, relation).epsilon(delta).high:.4g}"
                 for relation in (REPLACE_ONE, ADD_REMOVE)]  # fmt: skip
        for enough, of in zip(s.sufficient, ("replaced", "absent"), strict=True):
            yield row("jl_heavy_hitter", promise(epsilon, delta), f"scale b, {of}", float(s.scale), enough.high, *costs)


def stemmer() -> Iterator[Row]:
    """Probability of a lie."""
    for epsilon in (F(1, 10), F(1, 4), F(2, 5)):
        talk, enough = SignOracle.with_bias(epsilon, 10_000, 1_000), SignOracle.for_epsilon(epsilon, 10_000, 1_000)
        yield row("sign_oracle", promise(epsilon), "P[lie]", float(1 - talk.p), float(1 - enough.p), *both(talk, F(0)))
    for epsilon in (F(1, 10), F(1, 4), F(2, 5)):
        private = Hashtogram.for_epsilon(epsilon, 10_000, 1 << 20)
        talk_too = replace(private, p=F(1, 2) + epsilon)
        yield row("hashtogram", promise(epsilon), "P[lie]", float(1 - talk_too.p), float(1 - private.p), *both(talk_too, F(0)))


def hadamard() -> Iterator[Row]:
    """Blanket messages a user."""
    for s in shuffled_hadamard.EXAMPLES[:3]:
        m, enough = s.mechanism, shuffled_hadamard.sufficient_rho(s)
        yield row("shuffled_hadamard", promise(s.epsilon, s.delta), f"rho, k={s.k}", float(m.rho), enough.high, *both(m, s.delta))


def count_min() -> Iterator[Row]:
    """Probability of a cell in a user's blanket."""
    for users, domain, held in ((10**6, 1 << 10, 1), (10**7, 1 << 20, 1), (10**6, 1 << 6, 2)):
        delta = F(1, 10**6)
        m = ShuffledCountMin.as_printed(1, delta, users, domain, held)
        enough = float(sufficient_count_min(m, F(1), delta).gamma)
        yield row("shuffled_count_min", promise(F(1), delta), f"gamma, k={held}", float(m.gamma), enough, *both(m, delta))


def thresh() -> Iterator[Row]:
    """The transcript's epsilon in place of a noise: printed over exact."""
    for m in (
        Thresh(10**6, 1000, 30_000, F(1), F(1, 20), 10**6),
        Thresh(10**6, 100, 30_000, F(1, 2), F(1, 20), 10**6),
        Thresh(2_140, 6, 190, F(9, 10), F(402, 8045), 2_140),
    ):
        exact = account(m).epsilon(0)
        yield row("thresh", promise(m.epsilon), "epsilon itself", float(m.epsilon), exact.high, f"user-level {exact.high:.4g}", "-")


def trie() -> Iterator[Row]:
    """The batch that Table 1 prints: here more is less private, so the ratio is sufficient over printed."""
    for users, theta in ((10**4, 10), (10**6, 12), (10**8, 14), (10**10, 16)):
        for levels in (1, 10):
            m, delta = TrieHeavyHitter(users, math.isqrt(users), theta, levels), F(1, 300 * users)
            batch, largest = room(m, delta)
            kept = promise(F(claimed_epsilon(m).high), delta)
            yield row("trie_heavy_hitter", kept, f"1/batch, L={levels}", 1 / batch, 1 / largest, *both(m, delta))


def promise(epsilon: Fraction, delta: Fraction = NONE) -> str:
    """Short."""
    return f"({float(epsilon):.3g}, {float(delta):.1g})" if delta else f"{float(epsilon):.3g}"


SYSTEMS = (bucket, jl, glps, stemmer, hadamard, count_min, thresh, trie)


COLUMNS = ("{system:>20}  {promise:17}{noise:16}{printed:11.4g}{suffices:11.4g}{ratio:8.3g}  {replace-one:22}{add-remove}")


if __name__ == "__main__":
    show(COLUMNS, (each for system in SYSTEMS for each in system()))
