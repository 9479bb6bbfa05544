"""Data that evolve: prints docs/evolving.md, and draws docs/evolving.svg.

    python -m benchmarks.evolving [--picture FILE] > docs/evolving.md

Some five minutes on one core, most of them the run of 100,000 users under HEAVYTHRESH. Needs matplotlib for the picture.
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldpaudit import account
from ldpaudit.accountants.claims import heavy_thresh as heavy_claims
from ldpaudit.accountants.claims import thresh as claims
from ldpaudit.accountants.claims.votes_per_change import most_votes
from ldpaudit.accountants.composition.users import UserOdometers
from ldpaudit.accountants.memoized_bit import kept as kept_copy
from ldpaudit.accountants.memoized_bit import same_pattern
from ldpaudit.mechanisms._evolving import Spending
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.memoized_bit import MemoizedBit
from ldpaudit.mechanisms.memoized_response import MemoizedDBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import SAME_PATTERN
from ldpaudit.plan import Repeat
from ldpaudit.streams import Stream, piecewise

USERS, EPOCHS, ROUNDS, EPSILON, DELTA = 20_000, 1_000, 2_000, Fraction(4), Fraction(1, 20)
CHANGES = (0, 1, 10, 100)
HEAD = """\
# Data that evolve

Printed by `python -m benchmarks.evolving`: what a mean costs that is asked for in each of 1,000 epochs, under the systems that a
team would choose among; what each user has spent; and where the error that Joseph, Roth, Ullman and Waggoner 2018 promise says
anything.

## The systems, side by side
"""
TABLE = """\
{users:,} users, {epochs:,} epochs of {rounds:,} rounds. In each epoch a user's rounds are bits of the epoch's mean, which jumps
between 3/10 and 7/10 at random epochs. THRESH and HEAVYTHRESH (of the two words 0 and 1) hold them all, and claim
epsilon = {claim}; peers randomize one bit, drawn per epoch where the response is fresh, and once for each mean where it is kept.
Errors of one run are of estimates cut to [0, 1], against the epoch's mean: the mean and the largest one of an epoch. *Same
pattern*: epsilon between streams that change in the same epochs; *any*: against any other stream. Both are certified, over the
lifetime, at delta = 0. *Odometers*: what users' own odometers read at the end, the mean over users and the most: what a user's own
draws can show against streams that draw in the same epochs. A reading is itself private.

![Mean error by changes](evolving.svg)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one stream: errors of an epoch, lifetime epsilons, and what users' odometers read."""

    name: str
    changes: int
    errors: NDArray[np.float64]
    same: float
    any: float
    spent: NDArray[np.float64]

    def cells(self) -> list[str]:
        """Of the table."""
        numbers = [f"{self.errors.mean():.4f}", f"{self.errors.max():.4f}", _rounded_up(self.same), _rounded_up(self.any)]
        return [self.name, str(self.changes), *numbers, f"{self.spent.mean():.3f}, {_rounded_up(float(self.spent.max()))}"]


def _rounded_up(value: float) -> str:
    return "infinite" if value == inf else f"{math.ceil(value * 1000 - 1e-6) / 1000:g}"


def off(stream: Stream, found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors of estimates cut to [0, 1]: before a first update there is none, and 0 stands for it."""
    return np.abs(np.clip(found, 0, 1) - stream.average)


def read(m: Thresh | HeavyThresh, done: Spending) -> NDArray[np.float64]:
    """Odometers of the users of a run: a for each vote of their own, b for each estimate."""
    meters = UserOdometers.fresh(m.users, [(m.a, 0), (m.b, 0)])
    return meters.epoch({0: done.votes, 1: np.full(m.users, done.estimates)}).epsilon


def rows(changes: int, rng: np.random.Generator) -> Iterator[Row]:
    """All systems on one stream with so many changes."""
    stream = piecewise(EPOCHS, changes, 0.4, rng)
    data = stream.counts(USERS, ROUNDS, rng)
    for kind in (Thresh, ThreshRepaired):
        m = kind(USERS, EPOCHS, ROUNDS, EPSILON, DELTA, USERS)
        done, high = m.run_and_spend(data, rng), account(m).epsilon(0).high
        yield Row(m.title, changes, off(stream, done.published), high, high, read(m, done))
    for many in (HeavyThresh, HeavyThreshRepaired):
        words = many(USERS, EPOCHS, ROUNDS, EPSILON, DELTA, USERS, domain=2)
        done = words.run_and_spend((np.stack([ROUNDS - column, column], axis=1) for column in data.T), rng)
        high = account(words).epsilon(0).high
        yield Row(words.title, changes, off(stream, done.published[:, 1]), high, high, read(words, done))
    yield fresh(stream, rng.random(data.shape) * ROUNDS < data, rng)
    yield from kept(stream, rng)


def fresh(stream: Stream, bits: NDArray[np.bool_], rng: np.random.Generator) -> Row:
    """A response drawn anew in each epoch, all together at the claimed epsilon."""
    m = KaryRandomizedResponse.for_epsilon(EPSILON / EPOCHS, k=2)
    found = np.array([m.run(column.astype(np.int64), rng)[1] for column in bits.T]) / USERS
    total = account(Repeat(m, EPOCHS)).epsilon(0).high
    return Row("fresh randomized response", stream.changes, off(stream, found), total, total, np.full(USERS, total))


def kept(stream: Stream, rng: np.random.Generator) -> Iterator[Row]:
    """Memoized RAPPOR and dBitFlip of two buckets: one kept value for each of the two means."""
    means, held = np.unique(stream.average, return_inverse=True)
    values = rng.random((USERS, len(means))) < means
    rappor = MemoizedBit(EPOCHS, Fraction(1, 2), Fraction(1, 2), Fraction(3, 4))
    found = rappor.run((2 * np.arange(len(means)) + values)[:, held], rng) / USERS
    same = same_pattern(rappor, np.bincount(held).tolist()).epsilon(0).high
    drawn = np.full(USERS, len(means))
    spent = UserOdometers.fresh(USERS, [(Fraction(kept_copy(rappor).high), 0)]).epoch({0: drawn}).epsilon
    yield Row("memoized RAPPOR, f=1/2, p=1/2, q=3/4", stream.changes, off(stream, found), same,
              account(rappor).epsilon(0).high, spent)  # fmt: skip
    flip = MemoizedDBitFlip.for_epsilon(EPSILON / 2, k=2, d=1, epochs=EPOCHS, values=len(means))
    reports = np.array([flip.report.run(column.astype(np.int64), rng)[1] for column in values.T]) / USERS
    one = Fraction(account(flip.report).epsilon(0).high)
    spent = UserOdometers.fresh(USERS, [(one, 0)]).epoch({0: drawn}).epsilon
    yield Row("memoized dBitFlip, k=2, d=1", stream.changes, off(stream, reports[held]),
              account(flip, SAME_PATTERN).epsilon(0).high, account(flip).epsilon(0).high, spent)  # fmt: skip


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines)) + "\n"


def plot(found: list[Row], path: Path) -> None:
    """Mean error by changes, a line per system, its lifetime epsilon in the legend."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "evolving"
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8.5, 6), layout="constrained")
    for name, marker in zip(dict.fromkeys(r.name for r in found), "os^vDPX", strict=True):
        own = [r for r in found if r.name == name]
        label = f"{name}: epsilon {_rounded_up(max(r.any for r in own))}"
        axis.plot([r.changes for r in own], [r.errors.mean() for r in own], marker=marker, alpha=0.8, label=label)
    axis.set_xscale("symlog", linthresh=1)
    axis.set(xlabel="changes in 1,000 epochs", ylabel="mean error of an epoch", yscale="log", xticks=CHANGES,
             xticklabels=[str(c) for c in CHANGES])  # fmt: skip
    figure.legend(title="lifetime epsilon against any other stream", fontsize="small", loc="outside lower center", ncols=2)
    figure.savefig(path, metadata={"Date": None})


def meters(users: int = 10**6, epochs: int = 100) -> str:
    """Users who change each at a rate of their own, through a table of odometers that is saved and read again on the way."""
    rng, start = np.random.default_rng(1), time.process_time()
    rates = rng.beta(0.5, 20, users)
    table = UserOdometers.fresh(users, [(Fraction(1, 4), 0)]).epoch({0: np.ones(users, dtype=np.bool_)})
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(1, epochs):
            table = table.epoch({0: rng.random(users) < rates})
            if epoch == epochs // 2:
                table.save(Path(folder, "meters"))
                size, table = Path(folder, "meters").stat().st_size, UserOdometers.load(Path(folder, "meters"))
    spent, took = table.epsilon, time.process_time() - start
    shares = [f"{np.quantile(spent, share):g}" for share in (0.5, 0.9, 0.99, 1)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return (
        f"{users:,} users, {epochs} epochs, one draw of epsilon 1/4 per change, each user with a rate of changes of its own:\n"
        f"median, 90 %, 99 % and most of what users have spent are {', '.join(shares)}. It took {took:.1f} s of one core, with a\n"
        f"checkpoint of {size / 1e6:.1f} MB written and read half way; a table holds 8 bytes per user and kind of\n"
        f"draw, and the process never held more than {peak} MiB.\n"
    )


def votes() -> str:
    """What one change can cost a user, printed and found."""
    lines = []
    for epochs in (16, 64, 100, 1000):
        worst = most_votes(epochs)
        at, size = ", ".join(map(str, worst.votes)), f"{float(worst.change):g}"
        lines.append([str(epochs), "2", str(len(worst.votes)), at, size, str(worst.at)])
    return markdown(["epochs", "votes, as the sketch says", "found", "at epochs", "change, in steps", "at epoch"], lines)


THRESHES = ((10**5, 64, 10**4), (10**6, 16, 10**5), (10**8, 16, 10**6), (10**9, 16, 10**6), (10**9, 1000, 10**7))
"""Users, epochs and rounds, from those of a study to those of a platform."""
HEAVIES = ((20_000, 16, 150_000, 4), (10**6, 100, 10**5, 1), (10**6, 16, 10**6, 4), (5 * 10**7, 16, 10**7, 4))
"""The same, and epsilon."""


def bounds() -> Iterator[list[str]]:
    """What Theorems 4.3 and 5.2 promise."""
    for users, epochs, rounds in THRESHES:
        m = Thresh(users, epochs, rounds, Fraction(1), DELTA, users)
        allowed = math.ceil(claims.allowed_changes(m)) - 1
        yield ["4.3", *_sizes(m), *_promise(m, claims.error_bound(m), allowed)]
    for users, epochs, rounds, epsilon in HEAVIES:
        words = HeavyThresh(users, epochs, rounds, Fraction(epsilon), DELTA, users, domain=8)
        yield ["5.2, restored", *_sizes(words),
               *_promise(words, heavy_claims.printed_error(words).high, heavy_claims.derived_changes(words))]  # fmt: skip


def _sizes(m: Thresh | HeavyThresh) -> list[str]:
    return [f"{m.users:,}", str(m.epochs), f"{m.rounds:,}", str(m.epsilon)]


def _promise(m: Thresh | HeavyThresh, bound: float, changes: int) -> list[str]:
    said = f"something of means that move by {2 * bound:.2g}"
    if bound >= 0.5:
        said = "nothing: above 1" if bound >= 1 else "nothing: 1/2 is as near"
    return [f"{bound:.3g}", str(min(changes, m.epochs - 1)) if changes >= 0 else "none, not even without changes", said]


def accuracy(runs: int = 20) -> Iterator[list[str]]:
    """The errors of runs, where the bound is below that of a constant."""
    from ldpaudit.literature import measure

    stated = [(m, claim) for m in claims.simulated() for claim in claims.accuracy(m)]
    words = [(m, claim) for m in heavy_claims.simulated() for claim in heavy_claims.accuracy(m)]
    for m, claim in (*stated, *words):
        if "vacuous" not in claim.sentence:
            found = measure(m, claim, runs, seed=1)
            said = claim.sentence.removeprefix("estimates of ").removeprefix("frequencies of ")
            numbers = [f"{claim.alpha:.3g}", f"{found.median:.2g}", f"{found.failures} of {runs}"]
            yield [claim.where.removeprefix("JRUW18 Theorem "), said, *numbers]


def timing() -> str:
    """A whole run of HEAVYTHRESH: 100,000 users, 1,000 epochs, eight words."""
    m, rng = HeavyThresh(10**5, EPOCHS, ROUNDS, EPSILON, DELTA, 10**5, domain=8), np.random.default_rng(1)
    stream, start = piecewise(EPOCHS, 10, 0.4, rng).mixtures(), time.process_time()
    drawing = 0.0

    def data() -> Iterator[NDArray[np.int64]]:
        nonlocal drawing
        for each in stream.average:
            before = time.process_time()
            drawn = rng.multinomial(m.rounds, each, m.users)
            drawing += time.process_time() - before
            yield drawn

    m.run(data(), rng)
    whole = time.process_time() - start
    return (
        f"A run of HEAVYTHRESH on {m.users:,} users, {m.epochs:,} epochs and eight words takes {whole:.0f} s of one core;\n"
        f"{drawing:.0f} s of them draw the data.\n"
    )


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the first table to this file")
    chosen = parser.parse_args().picture
    counted = meters()
    found = [r for number, changes in enumerate(CHANGES) for r in rows(changes, np.random.default_rng(number))]
    if chosen is not None:
        plot(found, chosen)
    print(HEAD)
    print(TABLE.format(users=USERS, epochs=EPOCHS, rounds=ROUNDS, claim=EPSILON))
    heads = ["system", "changes", "mean error", "largest", "same pattern", "any", "odometers"]
    print(markdown(heads, [r.cells() for r in sorted(found, key=lambda r: r.name)]))
    print(timing())
    print("## What each user has spent\n")
    print(counted)
    print(VOTES, votes(), sep="\n")
    heads = ["theorem", "users", "epochs", "rounds", "epsilon", "error", "changes", "says"]
    print(BOUNDS, markdown(heads, list(bounds())), sep="\n")
    print(MEASURED, markdown(["theorem", "data", "promised", "median found", "exceeded"], list(accuracy())), sep="\n")
    print(MAPS)


VOTES = """\
## What one change costs in votes

The proof sketches of Theorems 4.3 and 5.2 count two votes of a user for one change. HEAVYTHRESH shares the votes of THRESH, and so
the numbers: on the event that all users' samples are accurate, a user may vote four times before the last one of its group does.
That event's other side is unlikely, so this is a gap of the sketches and refutes neither theorem.
"""
BOUNDS = """\
## Where the promised errors say something

The error that holds except with probability 1/20, and up to how many changes. A bound of 1/2 is kept by always answering 1/2.
"""
MEASURED = """\
Where a bound says something, these runs make as many changes as it allows. For means, only the number of users in each state
is simulated, which is exact in law, so 1,000,000,000 users take milliseconds; words are drawn for each user. *Repaired*, a
variant of ours: a user votes or sends an estimate only if the counter then stays within epsilon/4.
"""
MAPS = """\
## Maps

`python -m benchmarks.thresh` and `python -m benchmarks.thresh --heavy` print the exact epsilon over the one that is claimed, by the
noise levels a / epsilon and b / epsilon, for THRESH and HEAVYTHRESH, in both readings of what users compare with before the first
update."""

if __name__ == "__main__":
    main()
