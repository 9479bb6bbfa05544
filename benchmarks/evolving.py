"""A mean that evolves for 1,000 epochs: error and lifetime epsilon of THRESH and of what a team would deploy in its place.

    python -m benchmarks.evolving [--plot FILE.png]

Each user holds rounds of bits of the epoch's mean, which jumps between 3/10 and 7/10 at random epochs; peers randomize one of
these bits, drawn per epoch where the response is fresh, and once for each of the two means where it is kept. "same pattern" is
epsilon between streams that change in the same epochs, "any" against any other stream. Needs matplotlib for the picture.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpaudit import account
from ldpaudit.accountants.memoized_bit import same_pattern
from ldpaudit.accountants.one_bit import memoized_values
from ldpaudit.mechanisms.memoized_bit import MemoizedBit
from ldpaudit.mechanisms.one_bit import DBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.plan import Repeat
from ldpaudit.streams import Stream, piecewise

USERS, EPOCHS, ROUNDS, EPSILON, DELTA = 20_000, 1_000, 2_000, Fraction(4), Fraction(1, 20)
CHANGES = (0, 1, 10, 100)


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one stream: the mean and the largest error of an epoch, and lifetime epsilons."""

    name: str
    changes: int
    mean: float
    largest: float
    same: float
    any: float


def row(name: str, stream: Stream, found: NDArray[np.float64], same: float, any_pattern: float) -> Row:
    """Errors are those of estimates cut to [0, 1]: before a first update there is none, and 0 stands for it."""
    errors = np.abs(np.clip(found, 0, 1) - stream.average)
    return Row(name, stream.changes, float(errors.mean()), float(errors.max()), same, any_pattern)


def rows(changes: int, rng: np.random.Generator) -> list[Row]:
    """All systems on one stream with so many changes."""
    stream = piecewise(EPOCHS, changes, 0.4, rng)
    data, found = stream.counts(USERS, ROUNDS, rng), []
    for kind in (Thresh, ThreshRepaired):
        m = kind(USERS, EPOCHS, ROUNDS, EPSILON, DELTA, USERS)
        high = account(m).epsilon(0).high
        found.append(row(m.title, stream, m.run(data, rng), high, high))
    fresh = KaryRandomizedResponse.for_epsilon(EPSILON / EPOCHS, k=2)
    bits = rng.random(data.shape) * ROUNDS < data
    estimates = np.array([fresh.run(column.astype(np.int64), rng)[1] for column in bits.T]) / USERS
    total = account(Repeat(fresh, EPOCHS)).epsilon(0).high
    return [*found, row("fresh randomized response", stream, estimates, total, total), *kept(stream, rng)]


def kept(stream: Stream, rng: np.random.Generator) -> list[Row]:
    """Memoized RAPPOR and dBitFlip of two buckets: one kept value for each of the two means."""
    means, held = np.unique(stream.average, return_inverse=True)
    values = 2 * np.arange(len(means)) + (rng.random((USERS, len(means))) < means)
    rappor = MemoizedBit(EPOCHS, Fraction(1, 2), Fraction(1, 2), Fraction(3, 4))
    same = same_pattern(rappor, np.bincount(held).tolist()).epsilon(0).high
    flip = DBitFlip.for_epsilon(EPSILON / 2, k=2, d=1)
    reports = [flip.run(column % 2, rng)[1] / USERS for column in values.T]
    return [
        row("memoized RAPPOR, f=1/2, p=1/2, q=3/4", stream, rappor.run(values[:, held], rng) / USERS, same,
            account(rappor).epsilon(0).high),
        row("memoized dBitFlip, k=2, d=1", stream, np.array(reports)[held], memoized_values(flip, len(means)).high, inf),
    ]  # fmt: skip


def table(found: list[Row]) -> None:
    """One line per system and number of changes."""
    print(f"{USERS:,} users, {EPOCHS:,} epochs of {ROUNDS:,} rounds")
    print(f"{'':38} changes  mean error  largest  epsilon: same pattern   any")
    for r in found:
        print(f"{r.name:38} {r.changes:7} {r.mean:11.4f} {r.largest:8.4f} {r.same:22.4g} {r.any:5.4g}")


def plot(found: list[Row], path: Path) -> None:
    """Mean error by changes, a line per system, its lifetime epsilon in the legend."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for name in dict.fromkeys(r.name for r in found):
        own = [r for r in found if r.name == name]
        label = f"{name}: epsilon {max(r.any for r in own):.3g}".replace("inf", "infinite")
        axis.plot([r.changes for r in own], [r.mean for r in own], marker="o", label=label)
    axis.set_xscale("symlog", linthresh=1)
    axis.set(xlabel="changes in 1,000 epochs", ylabel="mean error of an epoch", yscale="log", xticks=CHANGES,
             xticklabels=[str(c) for c in CHANGES])  # fmt: skip
    axis.legend(title="against any other stream", fontsize="small")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the table to this file too")
    chosen = parser.parse_args().plot
    results = [r for number, changes in enumerate(CHANGES) for r in rows(changes, np.random.default_rng(number))]
    table(sorted(results, key=lambda r: r.name))
    if chosen is not None:
        plot(results, chosen)
