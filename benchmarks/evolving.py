"""Data that evolve: prints docs/evolving.md, and draws docs/evolving.svg.

    python -m benchmarks.evolving [--runs 5] [--picture FILE] > docs/evolving.md

At least two runs. Some ten minutes on one core. Needs matplotlib for the picture.
"""

import math
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.experiment import options, picture
from ldpaudit import Repeat, account
from ldpaudit.accountants.claims import heavy_thresh as heavy_claims, thresh as claims
from ldpaudit.accountants.claims.heavy_thresh import most_votes
from ldpaudit.accountants.composition.users import UserOdometers
from ldpaudit.accountants.memoized_bit import kept as kept_copy, same_pattern
from ldpaudit.core.streams import Stream, piecewise
from ldpaudit.mechanisms import KaryRandomizedResponse, MemoizedBit, MemoizedDBitFlip, Thresh, ThreshRepaired
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.shared.voting.thresh import Spending
from ldpaudit.neighbours import SAME_PATTERN
from ldpaudit.report.printer import markdown_of

USERS, EPOCHS, ROUNDS, EPSILON, DELTA = 20_000, 1_000, 2_000, Fraction(4), Fraction(1, 20)
CHANGES, RUNS = (0, 1, 10, 100), 5
CONSTANT = "always 1/2"
HEAD = """\
# Data that evolve

`python -m benchmarks.evolving` prints this page. It compares systems that collect a mean in each of 1,000 epochs: their errors,
their privacy loss, how much each user has spent, and at which parameters the error bounds of Joseph, Roth, Ullman and Waggoner
2018 ([JRUW18](bibliography.md#the-five-sources)), who propose THRESH and HEAVYTHRESH, are nontrivial.

## The systems, side by side
"""
TABLE = """\
There are {users:,} users, and {epochs:,} epochs of {rounds:,} rounds. In each epoch a user has a bit for each round, drawn with
the epoch's mean, which jumps between 3/10 and 7/10 at random epochs. THRESH and HEAVYTHRESH (with the two words 0 and 1) use all
bits, and claim epsilon = {claim}; the other systems randomize one bit, drawn anew per epoch for fresh responses, and once per
mean for memoized ones. *Always 1/2* collects no data. Errors are the distance of estimates, clipped to [0, 1], from the epoch's
mean, over {runs} runs, each on its own stream. *Mean error* is the mean over epochs and runs, with half the width of its 95 %
interval (Student's t over the runs' means); *largest* is the largest error of an epoch in any run. *Same pattern* is the epsilon
between streams that change in the same epochs, *any* that between any streams. Both are certified, over the lifetime, at delta =
0; the table has the largest of the runs. *Odometers* are the final readings of the users' own [odometers](adaptive.md), mean and
maximum over users. A reading bounds the privacy loss of a user's own draws between streams that draw in the same epochs; the
readings themselves must be kept private.

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


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one system under one number of changes."""

    name: str  # of the system
    changes: int  # of each stream
    runs: tuple[Row, ...]

    @property
    def interval(self) -> tuple[float, float]:
        """Mean error, and half the width of its 95 % interval over the runs."""
        means = np.array([run.errors.mean() for run in self.runs])
        half = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
        return float(means.mean()), float(half)

    @property
    def any(self) -> float:
        """Lifetime epsilon against any stream."""
        return max(run.any for run in self.runs)

    def cells(self) -> tuple[str, ...]:
        """Of the table."""
        mean, half = self.interval
        largest, same = max(run.errors.max() for run in self.runs), max(run.same for run in self.runs)
        spent = np.concatenate([run.spent for run in self.runs])
        numbers = [f"{mean:.4f} +-{half:.4f}", f"{largest:.4f}", _rounded_up(same), _rounded_up(self.any)]
        return self.name, str(self.changes), *numbers, f"{spent.mean():.3f}, {_rounded_up(float(spent.max()))}"


def lines(rows: Sequence[Row]) -> list[Line]:
    """Rows by system and number of changes."""
    keys = sorted({(row.name, row.changes) for row in rows}, key=lambda key: (key[0] != CONSTANT, *key))
    return [Line(*key, tuple(row for row in rows if (row.name, row.changes) == key)) for key in keys]


def advice(found: Sequence[Line]) -> str:
    """What the table says to do: which systems are better than no question at all, and what they cost."""
    beats: dict[str, list[bool]] = {}
    base = {line.changes: line.interval[0] for line in found if line.name == CONSTANT}
    for line in found:
        if line.name != CONSTANT:
            mean, half = line.interval
            beats.setdefault(line.name, []).append(mean + half < base[line.changes])
    said = {
        "Nearer than 1/2, with the whole interval, under all numbers of changes": [name for name in beats if all(beats[name])],
        "Under some": [f"{name} ({sum(each)} of {len(each)})" for name, each in beats.items() if any(each) and not all(each)],
        "Under none": [name for name, each in beats.items() if not any(each)],
    }
    counted = "\n".join(f"- {what}: {'; '.join(who)}." for what, who in said.items() if who)
    always = [line for line in found if all(beats.get(line.name, [False]))]
    shown = {line.name for line in always if line.any > EPSILON}
    private = sorted({line.name for line in always} - shown)
    open_times = [line.interval[0] for line in always if line.name in shown]
    if private or not open_times:
        return f"{counted}\n\n{ADVICE_PRIVATE.format(names='; '.join(private) or 'nothing', epsilon=EPSILON)}"
    return f"{counted}\n\n{ADVICE.format(least=min(open_times), most=max(open_times), base=min(base.values()), epsilon=EPSILON)}"


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
    """All systems on one stream with this many changes."""
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
    yield Row(CONSTANT, changes, np.abs(stream.average - 0.5), 0.0, 0.0, np.zeros(USERS))
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


def plot(found: Sequence[Line], path: Path) -> None:
    """Mean error by changes with its interval, a line per system, its lifetime epsilon in the legend."""
    with picture(path, (8.5, 6), "evolving") as figure:
        axis = figure.subplots()
        for name, marker in zip(dict.fromkeys(line.name for line in found), "_os^vDPX", strict=True):
            own = [line for line in found if line.name == name]
            label = f"{name}: epsilon {_rounded_up(max(line.any for line in own))}"
            means, halves = zip(*(line.interval for line in own), strict=True)
            lower = [min(half, 0.9 * mean) for mean, half in zip(means, halves, strict=True)]
            changes = [line.changes for line in own]
            axis.errorbar(changes, means, (lower, halves), marker=marker, alpha=0.8, capsize=3, label=label)
        axis.set_xscale("symlog", linthresh=1)
        axis.set(xlabel="changes in 1,000 epochs", ylabel="mean error of an epoch", yscale="log", xticks=CHANGES,
                 xticklabels=[str(c) for c in CHANGES])  # fmt: skip
        figure.legend(title="lifetime epsilon against any other stream", fontsize="small", loc="outside lower center", ncols=2)


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
        f"In {epochs} epochs, each of {users:,} users spends epsilon 1/4 per change, at a rate of changes of its own. Median, 90\n"
        f"% and 99 % quantile and maximum of the spending are {', '.join(shares)}. This took {took:.1f} s of one core, with a\n"
        f"checkpoint of {size / 1e6:.1f} MB written and read half way; a table has 8 bytes per user and kind of\n"
        f"draw, and the process never used more than {peak} MiB.\n"
    )


def votes() -> str:
    """What one change can cost a user, printed and found."""
    lines = []
    for epochs in (16, 64, 100, 1000):
        worst = most_votes(epochs)
        at, size = ", ".join(map(str, worst.votes)), f"{float(worst.change):g}"
        lines.append((str(epochs), "2", str(len(worst.votes)), at, size, str(worst.at)))
    return markdown_of(("epochs", "votes, as the sketch says", "found", "at epochs", "change, in steps", "at epoch"), lines)


THRESHES = ((10**5, 64, 10**4), (10**6, 16, 10**5), (10**8, 16, 10**6), (10**9, 16, 10**6), (10**9, 1000, 10**7))
"""Users, epochs and rounds, from those of a study to those of a platform."""
HEAVIES = ((20_000, 16, 150_000, 4), (10**6, 100, 10**5, 1), (10**6, 16, 10**6, 4), (5 * 10**7, 16, 10**7, 4))
"""The same, and epsilon."""


def bounds() -> Iterator[tuple[str, ...]]:
    """What Theorems 4.3 and 5.2 promise."""
    for users, epochs, rounds in THRESHES:
        m = Thresh(users, epochs, rounds, Fraction(1), DELTA, users)
        allowed = math.ceil(claims.allowed_changes(m)) - 1
        yield "4.3", *_sizes(m), *_promise(m, claims.error_bound(m), allowed)
    for users, epochs, rounds, epsilon in HEAVIES:
        words = HeavyThresh(users, epochs, rounds, Fraction(epsilon), DELTA, users, domain=8)
        promised = _promise(words, heavy_claims.printed_error(words).high, heavy_claims.derived_changes(words))
        yield "5.2, restored", *_sizes(words), *promised


def _sizes(m: Thresh | HeavyThresh) -> list[str]:
    return [f"{m.users:,}", str(m.epochs), f"{m.rounds:,}", str(m.epsilon)]


def _promise(m: Thresh | HeavyThresh, bound: float, changes: int) -> list[str]:
    said = f"something of means that move by {2 * bound:.2g}"
    if bound >= 0.5:
        said = "nothing: above 1" if bound >= 1 else "nothing: 1/2 is as near"
    return [f"{bound:.3g}", str(min(changes, m.epochs - 1)) if changes >= 0 else "none, not even without changes", said]


def accuracy(runs: int = 20) -> Iterator[tuple[str, ...]]:
    """The errors of runs, where the bound is below that of a constant."""
    from ldpaudit.studies.literature import measure

    stated = [(m, claim) for m in claims.SIMULATED for claim in claims.accuracy(m)]
    words = [(m, claim) for m in heavy_claims.SIMULATED for claim in heavy_claims.accuracy(m)]
    for m, claim in (*stated, *words):
        if "vacuous" not in claim.sentence:
            found = measure(m, claim, runs, seed=1)
            said = claim.sentence.removeprefix("estimates of ").removeprefix("frequencies of ")
            numbers = [f"{claim.alpha:.3g}", f"{found.median:.2g}", f"{found.failures} of {runs}"]
            yield claim.where.removeprefix("JRUW18 Theorem "), said, *numbers


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


ADVICE = """\
Nothing that is private against every other stream within epsilon {epsilon} is nearer than 1/2 under every number of changes, and
to answer always 1/2 costs no privacy and needs no data. So there are two choices. You can memoize: a memoized response is drawn
once for each value that a user has had, and its mean error is {least:.3f} to {most:.3f}, while that of 1/2 is {base:.1f}. But then
the *times* of a user's changes are not private (*any*: hundreds of nats, or infinite), and you must tell your users so. If these
times must be private, ask one question in the whole time with all of the epsilon, or none, but do not ask in each epoch. With
many more users and fewer, longer epochs THRESH is nearer than 1/2, as the last tables show.
"""
ADVICE_PRIVATE = """\
Private against every other stream within epsilon {epsilon}, and nearer than 1/2 under every number of changes: {names}.
"""
VOTES = """\
## What one change costs in votes

The proof sketches of Theorems 4.3 and 5.2 count two votes of a user for one change. But even on the event that all users' samples
are accurate, a user may vote four times before the last user of its group does; HEAVYTHRESH votes like THRESH, so its numbers are
the same. This is a gap of the sketches, and refutes neither theorem.
"""
BOUNDS = """\
## Where the error bounds are nontrivial

*Error* is the bound that holds except with probability 1/20, for at most *changes* changes. The constant answer 1/2 has an error of
at most 1/2, so a larger bound says nothing.
"""
MEASURED = """\
Where a bound says something, these runs make as many changes as it allows. For means, only the number of users in each state
is simulated, which has the same law, so 1,000,000,000 users take milliseconds; words are drawn for each user. In *repaired*, a
variant of ours, a user votes or sends an estimate only if the counter then stays within epsilon/4.
"""
MAPS = """\
## Maps

`python -m benchmarks.thresh` and `python -m benchmarks.thresh --heavy` print the exact epsilon divided by the claimed one, for
THRESH and HEAVYTHRESH, at each pair of noise levels a / epsilon and b / epsilon. They do so for both readings of the value with
which users compare their data before the first update."""


if __name__ == "__main__":
    given = options(__doc__, picture=Path, runs=RUNS)
    counted = meters()
    every = [row for number, changes in enumerate(CHANGES) for run in range(given.runs)
             for row in rows(changes, np.random.default_rng([number, run]))]  # fmt: skip
    found = lines(every)
    if given.picture is not None:
        plot(found, given.picture)
    print(HEAD)
    print(TABLE.format(users=USERS, epochs=EPOCHS, rounds=ROUNDS, claim=EPSILON, runs=given.runs))
    heads: tuple[str, ...] = ("system", "changes", "mean error", "largest", "same pattern", "any", "odometers")
    print(markdown_of(heads, [line.cells() for line in found]), end="\n\n")
    print("### What to do\n")
    print(advice(found))
    print(timing())
    print("## What each user has spent\n")
    print(counted)
    print(VOTES, votes(), "", sep="\n")
    heads = ("theorem", "users", "epochs", "rounds", "epsilon", "error", "changes", "says")
    print(BOUNDS, markdown_of(heads, bounds()), "", sep="\n")
    print(MEASURED, markdown_of(("theorem", "data", "promised", "median found", "exceeded"), accuracy()), "", sep="\n")
    print(MAPS)
