"""Laws that random plans must obey, nested up to depth four: which are broken, what ends in an error, and what is slow.

    python -m benchmarks.plans [--plans 1000] [--seed 1] [--patience 10]

A plan is one of the zoo's mechanisms under nouns that are drawn; each is asked for epsilon and delta, and held against plans
beside it: once by other nouns, by halves, without its crowd, among more users, its own parts. Two enclosures break a law
where they leave it no room, so that no law is a matter of width. A refusal (`Unsupported`) is an answer. Each plan is asked in a
process of its own, which is stopped after ten times the patience.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random

from benchmarks.contract import load_everything
from benchmarks.experiment import apart, options, timed
from ldpaudit import Aggregate, Compose, Guarantee, Mechanism, Plan, Repeat, Run, Shuffle, Subsample, account
from ldpaudit.errors import Unsupported
from ldpaudit.plan import Poisson, PostProcess
from tests.zoo import ONE_EACH

MEMORY = 6 << 30  # bytes of addresses of a process
_ROUNDING = 1e-9  # relative


def drawn(rng: Random, depth: int) -> Plan:
    """A plan of at most this depth."""
    m = rng.choice(ONE_EACH)
    inner: Plan = Run(m)
    for _ in range(rng.randint(0, depth)):
        inner = _around(rng, inner, m)
    return inner


def _around(rng: Random, plan: Plan, m: Mechanism) -> Plan:
    match rng.choice(("repeat", "repeat", "compose", "shuffle", "shuffle", "subsample", "poisson", "sum", "post-process")):
        case "repeat":
            return Repeat(plan, rng.choice((1, 2, 3, 10, 100)))
        case "compose":
            return Compose([plan, rng.choice((Guarantee(Fraction(1, 2)), Run(m), Run(rng.choice(ONE_EACH))))])
        case "shuffle":
            return Shuffle(plan, rng.choice((1, 2, 3, 10, 100, 10**4, 10**6)))
        case "subsample":
            users = rng.choice((2, 10, 1000, 10**6))
            return Subsample(plan, users, rng.choice((1, max(1, users // 10), users)))
        case "poisson":
            return Poisson(plan, Fraction(rng.choice((1, 10, 50, 100)), 100))
        case "sum":
            return Aggregate(plan, rng.choice((1, 2, 10, 1000, 10**5)))
        case _:
            return PostProcess(plan, "rounding")


def broken(plan: Plan, rng: Random) -> Iterator[str]:
    """The laws that a plan breaks, in words."""
    profile = account(plan)
    small, large = sorted(rng.choice((1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3)) for _ in range(2))
    one, two = profile.epsilon(small), profile.epsilon(large)
    for name, e in (("epsilon", one), ("epsilon", two), ("epsilon at 0", profile.epsilon(0))):
        if not 0 <= e.low <= e.high:
            yield f"{name} is {e}"
    if two.low > one.high:
        yield f"epsilon rises with delta: {one} at {small}, {two} at {large}"
    if math.isfinite(one.high) and profile.delta(one.high).low > small:
        yield f"epsilon = {one.high} is not enough for {small}"
    if 0 < one.low < math.inf and profile.delta(one.low * (1 - 1e-6)).high < small:
        yield f"epsilon = {one.low} is more than enough for {small}"
    for form in (Repeat(plan, 1), Compose([plan])):
        if (found := account(form).epsilon(small)) != one:
            yield f"{form} has {found}, not {one}"
    for name, other, cost in _beside(plan):
        try:
            e = account(other).epsilon(small)
        except Unsupported:
            continue
        if cost <= 0 and one.low > e.high * (1 + _ROUNDING):
            yield f"{name}: {one} is above {e} of {other}"
        if cost >= 0 and e.low > one.high * (1 + _ROUNDING):
            yield f"{name}: {one} is below {e} of {other}"


def _beside(plan: Plan) -> Iterator[tuple[str, Plan, int]]:
    """Plans beside one, and whether it costs less than they do, -1, as much, 0, or more."""
    match plan:
        case Repeat(inner, times) if times > 1:
            yield "a part costs no more", inner, 1
            yield "halves compose", Compose([Repeat(inner, times // 2), Repeat(inner, times - times // 2)]), 0
        case Compose(parts):
            yield from (("a part costs no more", part, 1) for part in parts)
        case Shuffle(inner, users):
            yield "shuffling never hurts", inner, -1
            yield "more users never hurt", Shuffle(inner, 2 * users), 1
        case Subsample(inner, users, batch):
            yield "sampling never hurts", inner, -1
            yield "a larger population never hurts", Subsample(inner, 2 * users, batch), 1
        case Poisson(inner):
            yield "to take part always hurts", inner, -1
        case PostProcess(inner):
            yield "post-processing never hurts", inner, -1


def judged(seed: int, at: int) -> tuple[float, list[str]] | None:
    """The seconds that a first question took, and what is wrong with a plan; none where it is refused."""
    rng = Random(f"{seed} laws {at}")
    plan = numbered(seed, at)
    try:
        _, seconds = timed(lambda: account(plan).epsilon(1e-6))
        return seconds, list(broken(plan, rng))
    except Unsupported:
        return None
    except Exception as error:  # whatever it is, users see it
        return 0.0, [f"{type(error).__name__}: {error}"]


def numbered(seed: int, at: int) -> Plan:
    """A plan whose numbers fit together."""
    rng = Random(f"{seed} plan {at}")
    while True:
        try:
            return drawn(rng, 4)
        except ValueError:
            continue


if __name__ == "__main__":
    given = options(__doc__, plans=1000, seed=1, patience=10)
    load_everything()
    counts: Counter[str] = Counter()
    for at in range(given.plans):
        found = apart(lambda at=at: judged(given.seed, at) or "refused", 10 * given.patience, MEMORY)
        seconds, faults = (0.0, []) if found == "refused" else found or (math.inf, [])
        slow = [f"took {seconds:.1f} s"] if seconds > given.patience else []
        counts += Counter({"refused" if found == "refused" else "plans": 1, "slow": len(slow), "broken": bool(faults)})
        for fault in (*faults, *slow):
            print(f"{at}: {numbered(given.seed, at)!r}\n    {fault}", flush=True)
    print(", ".join(f"{name}: {counts[name]}" for name in ("plans", "refused", "broken", "slow")))
