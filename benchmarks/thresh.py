"""THRESH and HEAVYTHRESH: exact epsilon over the one that is claimed, for noise levels a and b as shares of the claim.

    python -m benchmarks.thresh [--heavy] [--plot FILE.png]

The table for both readings of what users compare with before the first update, then violations that the attack shows on
transcripts, and how long a run takes; or the table as a picture (needs matplotlib, extra 'plot'). HEAVYTHRESH's b is a reading
of ours, 2 artanh(A / (log(T) s')), and its map is about that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.experiment import options, picture, timed
from ldpaudit import account, audit
from ldpaudit.accountants.claims.thresh import assumption
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired

USERS, EPOCHS, DELTA = 10**6, 1024, Fraction(1, 20)
Instance = Callable[[float, float, int], Thresh | HeavyThresh]
"""From shares of epsilon, and what users compare with before the first update."""
A_SHARES = (1 / 16, 0.12, 0.13, 0.2, 0.249, 0.26, 0.35, 0.49, 0.55, 0.75, 0.99)
B_SHARES = (1 / 16, 0.12, 0.13, 0.2, 0.249, 0.26, 0.35, 0.49, 0.55, 0.75, 0.99, 1.5, 4.0)


def instance(a_share: float, b_share: float, start: int, kind: type[Thresh] = Thresh) -> Thresh:
    """Printed parameters whose noise levels are these shares of epsilon, but for rounding the number of rounds."""
    a = Thresh(USERS, EPOCHS, 1_000, Fraction(1), DELTA, USERS).a
    epsilon = a / Fraction(a_share)
    noise = math.sqrt(math.log(12 * EPOCHS / DELTA) / (2 * USERS))
    spread = (noise + math.sqrt(2) * noise / (b_share * float(epsilon))) / math.log2(EPOCHS)
    rounds = round(math.log(12 * USERS * EPOCHS / DELTA) / (2 * spread**2))
    return kind(USERS, EPOCHS, max(rounds, 1), epsilon, DELTA, USERS, start=start)


def heavy(a_share: float, b_share: float, start: int, kind: type[HeavyThresh] = HeavyThresh) -> HeavyThresh:
    """The same of HEAVYTHRESH with three words and few rows, which suffice for both costs in one epoch; more cost no more."""

    def made(rounds: int, epsilon: Fraction) -> HeavyThresh:
        return kind(USERS, EPOCHS, rounds, epsilon, DELTA, USERS, domain=3, start=start, rows=64)

    epsilon = made(1_000, Fraction(1)).a / Fraction(a_share)
    sizes = made(1_000, Fraction(1)).sizes
    noise = math.sqrt(2 * math.log(16 * sizes.domain * EPOCHS / DELTA) / USERS)
    step = noise / (math.log2(EPOCHS) * math.tanh(b_share * float(epsilon) / 2))
    return made(max(1, round(2 * math.log(16 * sizes.rows * USERS * EPOCHS / DELTA) / step**2)), epsilon)


def ratio(m: Thresh | HeavyThresh) -> Enclosure:
    """Exact over claimed epsilon."""
    found = account(m).epsilon(0)
    low, high = (Fraction(end) / m.epsilon for end in (found.low, found.high))
    return Enclosure.of(low, high, rigour=found.rigour, source=found.source)


def table(start: int, make: Instance, title: str) -> None:
    """Rows a/epsilon, columns b/epsilon; Assumption 4.2 is a/epsilon < 1 and holds in every row."""
    print(f"\n{title}, compared with {start} before the first update: exact / claimed epsilon, from below")
    print("a/eps  b/eps:" + "".join(f"{share:8.3g}" for share in B_SHARES))
    for a_share in A_SHARES:
        cells = []
        for b_share in B_SHARES:
            found = ratio(make(a_share, b_share, start))
            flag = "~" if found.rigour < Rigour.EXACT else "*" if found.low > 1 else " "
            cells.append(f"{math.floor(found.low * 1000) / 1000:7.3f}{flag}")
        print(f"{a_share:12.3g} " + "".join(cells))
    print("* the claim is false; ~ enclosed, not exact")


def violations() -> None:
    """At 10,000 users, 64 epochs, one subgroup, and delta = 1/20: what the attack measures."""
    print("\n  rounds  start  claimed      a         b     assumption   exact     attack  of exact    views to refute")
    for rounds, start, claimed in (
        (1_000, -1, Fraction(1, 5)),
        (1_000, -1, Fraction(1, 4)),
        (23_500, -1, Fraction(1, 4)),
        (23_500, 0, Fraction(1, 4)),
        (100_000, -1, Fraction(1, 4)),
    ):
        m = Thresh(10_000, 64, rounds, claimed, DELTA, 10_000, start=start)
        exact = account(m).epsilon(0)
        seen = audit(m, epsilon=float(claimed), trials=10**6, seed=1, mode=Mode.FIXED)
        quick = audit(m, epsilon=float(claimed), seed=1)
        print(
            f"{rounds:8} {start:6} {float(claimed):8.3g} {float(m.a):9.4f} {float(m.b):9.4f} "
            f"{assumption(m).holds!s:>11} {exact.low:9.4f} {seen.epsilon_lower:10.4f} {seen.epsilon_lower / exact.low:8.1%}"
            f" {quick.trials if quick.epsilon_lower > claimed else '-':>16}"
        )


def timing() -> None:
    """A whole run: 100,000 users and 1,000 epochs."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 1_001, (100_000, 1_000), dtype=np.int16)
    m = Thresh(100_000, 1_000, 1_000, Fraction(1), DELTA, 100_000)
    print(f"\nrun of 100,000 users and 1,000 epochs: {timed(lambda: m.run(data, rng))[1]:.1f} s")


def plot(path: Path, make: Instance, title: str, points: int = 32) -> None:
    """Both readings side by side; white where exact is claimed."""
    from matplotlib.colors import TwoSlopeNorm

    a_shares, b_shares = np.linspace(0.04, 0.995, points), np.geomspace(0.04, 4, points)
    with picture(path, (11, 4.6), "thresh") as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, start in zip(axes, (-1, 0), strict=True):
            cells = [[math.log2(ratio(make(a, b, start)).low) for a in a_shares] for b in b_shares]
            norm = TwoSlopeNorm(0, vmin=-2, vmax=2)
            image = axis.pcolormesh(a_shares, b_shares, cells, cmap="RdBu_r", norm=norm, shading="nearest")
            axis.contour(a_shares, b_shares, cells, levels=[0], colors="black", linewidths=1)
            axis.set(xlabel="a / epsilon", yscale="log", title=f"before the first update, users compare with {start}")
        axes[0].set_ylabel("b / epsilon")
        bar = figure.colorbar(image, ax=axes, label="exact / claimed epsilon", extend="both")
        bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
        figure.suptitle(f"{title}; Assumption 4.2 (a < epsilon) holds everywhere here, red: epsilon-LDP does not")


def main() -> None:
    """Print the tables, or draw the first two."""
    given = options(__doc__, plot=Path, heavy=False)
    printed, repaired, title = (
        (heavy, partial(heavy, kind=HeavyThreshRepaired), HeavyThresh.title)
        if given.heavy
        else (instance, partial(instance, kind=ThreshRepaired), Thresh.title)
    )
    if given.plot is not None:
        plot(given.plot, printed, title)
        return
    table(-1, printed, title)
    table(0, printed, title)
    table(-1, repaired, f"{title}, repaired")
    if not given.heavy:
        violations()
        timing()


if __name__ == "__main__":
    main()
