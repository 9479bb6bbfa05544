"""The noise that GGKPV's theorems ask for, the noise that is certified to be enough, and from how many users on there is either.

    python -m benchmarks.theorem_noise

Where a paper prints no constant the one of its source or proof stands, as in `ldpaudit.studies.counting_protocols`.
Enough is the least noise found whose certified delta is at most the promised one; where a bound of it is a chain of
replaced elements, less may do.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from benchmarks.experiment import say
from benchmarks.needed_noise import least
from ldpaudit.accountants import range_queries, shuffled_heavy_hitters
from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shuffled_count_min import printed_gamma
from ldpaudit.mechanisms.shuffled_hadamard import printed_rho
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.report.printer import markdown_of
from ldpaudit.studies.counting_protocols import COUNT_MIN, DRAWS, HADAMARD, VECTORS, Protocol, Setting
from ldpaudit.studies.design import Goal, design

SETTINGS = (
    Setting.of(10**6, 10**4, Fraction(1), Fraction(1, 10**9)),
    Setting.of(10**8, 10**6, Fraction(1), Fraction(1, 10**10)),
    Setting.of(10**5, 10**3, Fraction(1, 2), Fraction(1, 10**8)),
)
"""Of the paper's tables."""
USERS, GOAL, BETA = 10**6, Goal(Fraction(1), Fraction(1, 10**9)), Fraction(1, 10)  # of the systems over an oracle


Row: TypeAlias = tuple[str, ...]


def row(theorem: str, setting: str, noise: str, claimed: float, enough: float, exists: str = "any") -> Row:
    """A theorem's noise at a setting; the number of users from which on it exists, where it does not for any."""
    found = (f"{enough:.6g}", f"{claimed / enough:.3g}") if math.isfinite(enough) else ("more than 1/2", "-")
    return theorem, setting, noise, f"{claimed:.6g}", *found, exists


def counts(s: Setting) -> Iterator[Row]:
    """Of Theorems 3.4, 4.3 and 4.7."""
    at = f"n = {s.users:.0e}, B = {s.values:.0e}, {s.goal}".replace("e+0", "e")
    goal = (s.goal.epsilon, s.goal.delta)
    closed, ours = (_system(each, s) for each in VECTORS)
    yield row("3.4 (15), RAPPOR", at, "q", float(closed.q), float(ours.q), _from(VECTORS[0], s))
    draws = float(max(14 * math.log(2 / goal[1]) / goal[0], Fraction(27)) * s.values / ((s.users - 1) * goal[0]))
    yield row("3.4 (16), randomized response", at, "gamma", draws, s.values * float(_system(DRAWS[1], s).lie), _from(DRAWS[0], s))
    yield row("4.3, Hadamard", at, "rho", printed_rho(*goal, 1), _system(HADAMARD[1], s).rho)
    sketch = _system(COUNT_MIN[1], s)
    printed = float(printed_gamma(*goal, s.users, sketch.rows, 1))
    yield row("4.7, count-min", at, "gamma", printed, float(sketch.gamma), _from(COUNT_MIN[0], s))


def _system(protocol: Protocol, s: Setting) -> Any:
    found = protocol.system(s)
    if found is None:
        raise ValueError(f"{protocol.name} is infeasible at {s.named}")
    return found.mechanism


def _from(protocol: Protocol, s: Setting) -> str:
    return f"{protocol.least_users(s):,}"


def ranges(side: int, dimensions: int) -> Iterator[Row]:
    """Of Theorems 5.9 and 5.10, with as many nodes replaced as there are."""
    grid, tau = Grid(side, dimensions), (USERS - 1).bit_length()
    at, k, goal = f"n = 1e6, B0 = {side}, d = {dimensions}, {GOAL}", grid.most_nodes, (GOAL.epsilon, GOAL.delta)
    given = {"users": USERS, "side": side, "dimensions": dimensions, "tau": tau}
    printed = printed_rho(*goal, k)
    yield row("5.9, one Hadamard oracle", at, "rho", printed, int(design("range_queries:hadamard", given, GOAL).value))
    each = range_queries.for_privacy(*goal, USERS, side, dimensions)
    divided = each.oracles * printed_rho(GOAL.epsilon / each.oracles, GOAL.delta / each.oracles, 1)
    yield row(f"{each.oracles} oracles, budget divided", at, "rho, of all", divided, each.oracles * each.rho)
    rows = (math.ceil(2 * grid.cells / BETA) - 1).bit_length()
    gamma = printed_gamma(*goal, USERS, rows, k)
    yield row("5.10, one count-min sketch", at, "gamma", float(gamma), _sketch(grid, rows), f"{math.ceil(2 * gamma * USERS):,}")


def _sketch(grid: Grid, rows: int) -> float:
    """The gamma that is enough whatever the hash functions are; infinite where 1/2 is not."""

    def keeps(gamma: Fraction) -> bool:
        return worst_replaced(USERS, gamma, grid.most_replaced, rows).delta(GOAL.epsilon).high <= GOAL.delta

    half = Fraction(1, 2)
    return float(least(keeps, Fraction(1, USERS), half)) if keeps(half) else math.inf


def hitters(bits: int) -> Row:
    """Of Appendix D: epsilon and delta divided by the lengths of prefixes."""
    printed = ShuffledHeavyHitters.as_printed(GOAL.epsilon, GOAL.delta, USERS, 1 << bits)
    ours = shuffled_heavy_hitters.for_privacy(GOAL.epsilon, GOAL.delta, USERS, 1 << bits)
    return row("appendix D, heavy hitters", f"n = 1e6, {bits} bits, {GOAL}", "rho, of a length", printed.rho, ours.rho)


def queries(k: int) -> Row:
    """Of Appendix B: k queries of a user, one oracle."""
    given = {"users": USERS, "queries": 1 << 10, "k": k, "changed": k, "tau": (USERS - 1).bit_length()}
    enough = int(design("sparse_statistical_queries", given, GOAL).value)
    where = f"n = 1e6, 1024 queries, k = {k}, {GOAL}"
    return row("B.1, sparse queries", where, "rho", printed_rho(GOAL.epsilon, GOAL.delta, k), enough)


def rows() -> Iterator[Row]:
    """Of all theorems."""
    for s in SETTINGS:
        yield from counts(s)
    for side, dimensions in ((1024, 1), (64, 2)):
        yield from ranges(side, dimensions)
    yield from (hitters(20), hitters(40), queries(4))


def page() -> Iterator[str]:
    """The table."""
    head = ("theorem", "setting", "noise", "claimed", "enough", "ratio", "claimed exists from n =")
    yield markdown_of(head, rows())


if __name__ == "__main__":
    say(page())
