r"""How many real words TrieHH finds: prints docs/discovery.md, and draws docs/discovery.svg.

    python -m benchmarks.discovery [--users N] [--most N] [--words FILE] [--runs 10] [--picture FILE] > docs/discovery.md

Users are those of the tables by frequency, K and unit size, most those of the last table.

Needs the extra `examples` (the package wordfreq), or a file with a word and its frequency a line. The paper's own tweets
(Sentiment140, which is public) are not downloaded.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import discovery_systems as systems
from benchmarks.discovery_systems import Found, Lexicon, People, Trie, certified, coins, people, printed
from benchmarks.experiment import options, picture
from benchmarks.words import corpus
from ldpaudit.accountants.sampling.discovery import discovery_rate, least_holders

EPSILONS, UNITS = (1, 2, 4, 8), (1, 2, 3, 4)
TOPS = (10, 25, 50, 100, 150, 250, 350, 500)
SHARES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)  # word frequencies of the curves
POPULATIONS = (10**4, 10**5, 10**6, 10**7)
HELD = 5  # words of a user of Algorithm 3
TWEETERS, SINGLE_DIGIT, NEAR = 658_769, 9, 0.95
"""Users of the paper's tweets, the largest epsilon of one digit, and a recall that is near 1."""
SAID = ((6, 1, 250), (8, HELD, 350))
"""Figures, words a user, and how many words the paper's text says are recalled at a rate near 1, at an epsilon of one digit."""
SEVERAL, LARGE = 3, 10**6
"""Runs of what takes long: of the trees below this many users, from where on they are run once, and of the others above."""

Run: TypeAlias = Callable[[People, np.random.Generator], Found]
Curves: TypeAlias = dict[str, NDArray[np.float64]]  # a system's recall for every run, in rows, and every K
Rows: TypeAlias = Iterable[tuple[str, Iterable[Any]]]

HEAD = """\
# How many words TrieHH finds

`python -m benchmarks.discovery` prints this page: simulations of figures 2 to 9 of the TrieHH paper ([Zhu, Kairouz, McMahan,
Sun, Li 2019](bibliography.md#the-five-sources)). The paper's tweets are Sentiment140 (Go, Bhayani, Huang 2009: 1.6 million
tweets of 658,769 users), which are public; this repository does not contain them, and nothing here was run on them. Here, each
user's words are drawn independently from English words by their frequency (the package wordfreq). In tweets a user's words
are dependent, and the paper's single word is the one that a user writes most. The paper's lists of n and epsilon are
illegible in our text, so the lists here are our own. Delta is 1/n**2 throughout, and theta is the least threshold at which
the delta of the paper's Theorem 1 is at most that. Ten rounds find words of at most nine letters. Three systems trust a curator,
and have the same (epsilon, delta) for add-remove neighbours:

- *printed*: TrieHH with the batch of the paper's Corollary 2;
- *certified*: TrieHH with the largest batch found that is certified for the same epsilon, delta and theta. If the paper's batch
  is only a few times theta, it is not certified, and the certified batch may be too small to find anything;
- *coins*: sample-and-threshold in a single round of whole words, with the largest certified sampling probability at its best
  threshold.

Prefix trees that trust only a shuffler, or nobody, have the same epsilon:

- *shuffled*: a shuffled Hadamard oracle for each length of prefix, with about the least certified noise at the same delta (one
  user replaced);
- *TreeHist*: one sign per user, and *TreeHist, hashed*: one answer of local hashing per user; both are local, at delta 0.

These systems count a word as found if they find its first letters (8, 12 and 6), which favours them. Figures 2 to 4 and *worst
case* are computed by Proposition 1's formula, and rounded. Everything else is a mean over runs; after +- is half the width of
its 95 % interval, if there are several runs. For a million users or more, trees are run once; for ten million users, the
curator's systems are run three times.

![Recall of the most frequent words, by how many are looked for and by users](discovery.svg)
"""

WHY = """\
If our recall differs, the paper is not refuted, because the words are different. With the printed batch, recall is near 1 only if
the last of these words is about as frequent as the word that is found 9 times of 10. The words drawn here are not, and we did not
measure those of the tweets. Nor can these simulations show whether several words per user do much better than one, as the paper
observes on its tweets: words that are drawn independently are equally frequent in both cases.
"""


SYSTEMS: dict[str, Callable[[int, int], Run | None]] = {
    "printed": printed, "certified": certified, "coins": coins, "shuffled": systems.shuffled,
    "TreeHist": systems.signs, "TreeHist, hashed": systems.hashed,
}  # fmt: skip
QUICK = ("printed", "certified", "coins")  # those that are run as often as asked
STYLES = {
    "printed": ("tab:blue", "o", 1.5), "certified": ("tab:orange", "s", 3.0), "coins": ("#a6d8a8", "^", 5.0),
    "shuffled": ("tab:red", "D", 1.2), "TreeHist": ("tab:purple", "v", 1.2), "TreeHist, hashed": ("tab:brown", "x", 1.2),
}  # fmt: skip
"""Colour, marker and width of a system's curves."""


def recalls(crowd: People, system: Run, tops: Sequence[int], runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """For every run and K, the part of the K most frequent words that is found."""
    order = np.argsort(-crowd.shares, kind="stable")
    found = [system(crowd, rng)[order] for _ in range(runs)]
    return np.array([[each[:top].mean() for top in tops] for each in found])


def with_error(values: NDArray[np.float64]) -> list[str]:
    """The mean over runs, and half the width of its 95 % interval where there are several."""
    runs, means = len(values), values.mean(axis=0)
    if runs == 1:
        return [f"{mean:.2f}" for mean in means]
    halves = stats.t.ppf(0.975, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return [f"{mean:.2f} +-{half:.2f}" for mean, half in zip(means, halves, strict=True)]


def table(title: str, heads: Iterable[Any], rows: Rows) -> None:
    """Print one table."""
    head = [*map(str, heads)]
    print(f"\n## {title}\n\n| | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
    for name, values in rows:
        print(f"| {name} | {' | '.join(map(str, values))} |", flush=True)


def formulas(users: int) -> None:
    """Figures 2 to 4: Proposition 1's worst case, of the paper's batch and of the certified one."""

    def rate(n: int, share: float, m: Trie) -> str:
        return f"{discovery_rate(n, round(share * n), m.batch, m.threshold, m.levels).low:.4f}"

    batches = [(f"{make.__name__}, epsilon {e}", make, e) for e in EPSILONS for make in (printed, certified)]
    table(f"Figure 2: worst-case discovery by frequency, n = {users:,}", SHARES,
          ((name, [rate(users, share, make(users, e)) for share in SHARES]) for name, make, e in batches))  # fmt: skip
    heads = [f"n = {n:,}" for n in POPULATIONS]
    table("Figure 3: worst-case discovery of a word of 1 %", heads,
          ((name, [rate(n, 0.01, make(n, e)) for n in POPULATIONS]) for name, make, e in batches))  # fmt: skip
    table("Figure 4: fewest holders with worst-case discovery 0.9", heads,
          ((name, [_fewest(n, make(n, e)) for n in POPULATIONS]) for name, make, e in batches))  # fmt: skip


def _fewest(users: int, m: Trie) -> str:
    found = least_holders(users, m.batch, m.threshold, m.levels, 0.9)
    return "none" if found is None else f"{found:,}"


def by_frequency(crowd: People, figure: int, runs: int, rng: np.random.Generator) -> None:
    """Figures 5 and 7: discovery of words by their frequency; with one word a user beside the formula."""
    at = [int(np.argmin(abs(crowd.shares - share))) for share in SHARES]
    held = [round(crowd.shares[i] * crowd.users) for i in at]

    def rows() -> Iterator[tuple[str, Iterable[str]]]:
        yield "frequency", [f"{crowd.shares[i]:.5f}" for i in at]
        for e in EPSILONS:
            for make in (printed, certified):
                m = make(crowd.users, e)
                found = np.array([m(crowd, rng)[at] for _ in range(runs)])
                yield f"{make.__name__}, epsilon {e}", with_error(found.astype(np.float64))
                if figure == 5:
                    worst = (discovery_rate(crowd.users, w, m.batch, m.threshold, m.levels).low for w in held)
                    yield "worst case", [f"{each:.2f}" for each in worst]

    words = f"{crowd.held.shape[1]} word{'s' * (crowd.held.shape[1] > 1)} a user"
    table(f"Figure {figure}: discovery by frequency, {words}, n = {crowd.users:,}, {runs} runs",
          [crowd.lexicon.words[i] for i in at], rows())  # fmt: skip


def recalled(crowd: People, names: Iterable[str], tops: Sequence[int], runs: int, rng: np.random.Generator) -> Curves:
    """Recall by all systems that are made for this many users, at every epsilon."""
    lines = {f"{name}, epsilon {e}": (name, SYSTEMS[name](crowd.users, e)) for e in EPSILONS for name in names}
    return {
        line: recalls(crowd, system, tops, often(name, crowd.users, runs), rng)
        for line, (name, system) in lines.items() if system is not None
    }  # fmt: skip


def often(name: str, users: int, runs: int) -> int:
    """Runs of a system."""
    if name in QUICK:
        return runs if users <= LARGE else min(runs, SEVERAL)
    return min(runs, SEVERAL) if users < LARGE else 1


def by_top(crowd: People, title: str, names: Iterable[str], runs: int, rng: np.random.Generator) -> Curves:
    """Figures 6 and 8: recall of the K most frequent words."""
    found = recalled(crowd, names, TOPS, runs, rng)
    table(title, [f"K = {top}" for top in TOPS], ((line, with_error(values)) for line, values in found.items()))
    return found


def as_said(lexicon: Lexicon, shares: NDArray[np.float64], runs: int, rng: np.random.Generator) -> None:
    """The two numbers that the paper's text gives of figures 6 and 8, beside ours, for as many users."""
    epsilons = (*EPSILONS, SINGLE_DIGIT)
    lines: dict[str, list[str]] = {"paper, on its tweets": ["near 1 at an epsilon of one digit"] * len(SAID)}
    lines |= {f"{make.__name__}, epsilon {e}": [] for e in epsilons for make in (printed, certified)}
    lines["frequency of the last of these words"] = []
    verdicts = []
    for figure, held, top in SAID:
        crowd, best = people(lexicon, shares, TWEETERS, held, rng), dict[str, float]()
        for e in epsilons:
            for make in (printed, certified):
                found = recalls(crowd, make(TWEETERS, e), [top], runs, rng)
                lines[f"{make.__name__}, epsilon {e}"] += with_error(found)
                best[make.__name__] = max(best.get(make.__name__, 0.0), float(found.mean()))
        lines["frequency of the last of these words"].append(f"{np.sort(crowd.shares)[-top]:.5f}")
        said = (f"{name} {'agrees' if most >= NEAR else 'differs'} (at most {most:.2f})" for name, most in best.items())
        verdicts.append(f"- Figure {figure}, the top {top}: {', '.join(said)}.")
    heads = [f"figure {figure}: top {top}, {held} word{'s' * (held > 1)} a user" for figure, held, top in SAID]
    table(f"What the text says of figures 6 and 8, n = {TWEETERS:,}, {runs} runs", heads, lines.items())
    m = printed(TWEETERS, SINGLE_DIGIT)
    fewest = least_holders(TWEETERS, m.batch, m.threshold, m.levels, 0.9) or TWEETERS
    word = f"a word of frequency {fewest / TWEETERS:.5f} is found 9 times of 10 in the worst case"
    print("", *verdicts, f"- With the printed batch at epsilon {SINGLE_DIGIT} {word}.", "", WHY, sep="\n", end="")


def by_unit(crowd: People, epsilon: int, runs: int, rng: np.random.Generator) -> None:
    """Figure 9: recall by unit size."""
    lines = [(f"{make.__name__}, unit {unit}", make(crowd.users, epsilon, unit)) for unit in UNITS for make in (printed, certified)]
    table(f"Figure 9: recall by unit size, epsilon {epsilon}, {HELD} words a user", [f"K = {top}" for top in TOPS],
          ((name, with_error(recalls(crowd, system, TOPS, runs, rng))) for name, system in lines))  # fmt: skip


def by_users(columns: dict[int, Curves]) -> None:
    """Recall of the 100 most frequent words, from that of the K most frequent ones at every number of users."""
    lines = [f"{name}, epsilon {e}" for e in EPSILONS for name in SYSTEMS]

    def shown(found: Curves, line: str) -> str:
        return with_error(found[line][:, [TOPS.index(100)]])[0] if line in found else "-"

    table("Recall of the 100 most frequent words by users, one word a user", [f"n = {n:,}" for n in columns],
          ((line, [shown(found, line) for found in columns.values()]) for line in lines))  # fmt: skip


def sizes(users: int) -> None:
    """What the systems of the curator are made with."""
    table(f"Batches and coins, n = {users:,}", [f"epsilon {e}" for e in EPSILONS],
          [(make.__name__, [f"{make(users, e).batch:,} of theta {make(users, e).threshold}" for e in EPSILONS])
           for make in (printed, certified)]
          + [("coins", [f"{float(coins(users, e).coin):.4f} of theta {coins(users, e).threshold}" for e in EPSILONS])])  # fmt: skip


def plot(path: Path, users: int, columns: dict[int, Curves]) -> None:
    """Recall over K, and over users: one column of panels per epsilon."""
    with picture(path, (12, 6.2), "discovery") as figure:
        panels = figure.subplots(2, len(EPSILONS), sharey=True)
        for epsilon, upper, lower in zip(EPSILONS, *panels, strict=True):
            for name, (colour, marker, width) in STYLES.items():
                line = f"{name}, epsilon {epsilon}"
                # Curves that meet at the top are seen behind each other.
                style: dict[str, Any] = {"color": colour, "marker": marker, "linewidth": width, "markersize": 2.5 + width}
                style |= {"label": name, "zorder": 5 - width, "clip_on": False}
                if line in columns[users]:
                    upper.plot(TOPS, columns[users][line].mean(axis=0), **style)
                crowds = [n for n in columns if line in columns[n]]
                lower.plot(crowds, [columns[n][line][:, TOPS.index(100)].mean() for n in crowds], **style)
            upper.set(title=f"epsilon = {epsilon}", xlabel=f"K, n = {users:,}", ylim=(0, 1.03), xscale="log")
            upper.set_xticks(TOPS[::2], labels=map(str, TOPS[::2]))
            upper.minorticks_off()
            lower.set(xlabel="users n, K = 100", ylim=(0, 1.03), xscale="log")
            for panel in (upper, lower):
                panel.grid(alpha=0.3)
                panel.spines[["top", "right"]].set_visible(False)
        panels[0][0].set_ylabel("recall of the top K")
        panels[1][0].set_ylabel("recall of the top K")
        figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES), frameon=False)


if __name__ == "__main__":
    given = options(__doc__, users=10**6, most=10**7, runs=10, words=Path, picture=Path)
    start, rng, n, runs = time.perf_counter(), np.random.default_rng(1), given.users, given.runs
    known = corpus(1, given.words, rng)
    lexicon, shares = Lexicon(known.words), known.shares
    single, several = (people(lexicon, shares, n, held, rng) for held in (1, HELD))
    print(HEAD, end="")
    as_said(lexicon, shares, runs, np.random.default_rng(TWEETERS))
    sizes(n)
    formulas(n)
    by_frequency(single, 5, 5 * runs, rng)
    columns = {n: by_top(single, f"Figure 6: recall, one word a user, n = {n:,}, {runs} runs", SYSTEMS, runs, rng)}
    by_frequency(several, 7, 5 * runs, rng)
    by_top(several, f"Figure 8: recall, {HELD} words a user, n = {n:,}, {runs} runs", ["printed", "certified"], runs, rng)
    by_unit(several, 4, runs, rng)
    for other in (each for each in POPULATIONS if each <= given.most and each != n):
        columns[other] = recalled(people(lexicon, shares, other, 1, rng), SYSTEMS, TOPS, runs, rng)
    columns = dict(sorted(columns.items()))
    by_users(columns)
    if given.picture:
        plot(given.picture, n, columns)
    print(f"{time.perf_counter() - start:.0f} seconds", file=sys.stderr)
