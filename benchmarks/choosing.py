"""Which system to choose, on real words: prints docs/systems.md, and draws docs/systems.svg.

    python -m benchmarks.choosing [system ...] [--users 1000000] [--words FILE] [--epsilons 1 2 4] [--picture FILE] > FILE

Needs the extra `examples` (the package wordfreq, with 300,000 English words and their frequencies), or a file with a word and
its frequency a line. Every user holds one word, drawn by frequency. Half an hour on one core.
"""

import sys
from collections.abc import Collection, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.experiment import options, say
from benchmarks.words import corpus
from ldpaudit.accountants.limits.hsu import frequency_failure, le_cam_failure
from ldpaudit.errors import LdpauditError
from ldpaudit.files.user_data import Held
from ldpaudit.report.comparison import Leaderboard, draw, write
from ldpaudit.report.printer import TableFormat
from ldpaudit.studies import comparison
from ldpaudit.workers.worker_processes import Crew, Task

DELTA = Fraction(1, 10**9)
HEAD = """\
# Which system to choose

`python -m benchmarks.choosing` prints this page in half an hour. It runs every frequency oracle and heavy-hitter system whose
parameters follow from an epsilon, a number of users and values, and usual sizes, on the same English words. `ldpaudit compare
--data FILE --epsilon 1` prints the same table for your own data, and `--plot` draws it.

Every row has the same privacy: the accountants certify (epsilon, 1e-9) for replace-one neighbours, in the system's own
*model* (column *epsilon*, rounded up). In the local model nobody is trusted, and each report alone is private. In the
shuffled model users trust a shuffler to hide who sent what, and a single report may reveal much more. If a constructor's
own formula adds more or less noise than necessary (*as_printed*, *for_users*), the benchmark searches the epsilon that it passes
to the constructor: the sizes are then those of the formula, but the noise is not. A row whose epsilon cannot be brought to within
5 % of the requested one has no *rank*.

Oracles are asked about a dictionary of the most frequent words; their *recall* is the share of the top 100 that are among
their 100 largest counts. Systems that name values do not know the dictionary, unless the text below the table says so: they
encode a word by its first 12 letters, five bits each. *Finds from* is the count from which on they are proved or designed to name
a value. *Bits* counts a user's messages, including seeds of hash functions. *Seconds* and *MB* are for all users and the server
together in one process, on a machine that did other work, too, so compare only orders of magnitude. Each system is run once, so
differences of a tenth mean nothing.

![Errors, recall and bits at epsilon 2](systems.svg)
"""


def held(users: int, file: Path | None) -> Held:
    """Everybody's word, of a file or of wordfreq."""
    known = corpus(users, file, np.random.default_rng(1))
    return Held.of([known.words[i] for i in known.data.tolist()])


def board(contest: comparison.Contest, values: Held, names: Collection[str]) -> tuple[Leaderboard, list[str]]:
    """How all of these do at one epsilon, and who was left out."""
    rows, left = [], []
    with Crew() as crew:
        for each in (each for each in comparison.contenders() if str(each) in names):
            try:
                rows.append((each, crew.do(Task(str(each), comparison.score, (each, contest, values), 7200.0, pickled=True))))
            except LdpauditError as error:
                left.append(str(error))
            print(each, file=sys.stderr, flush=True)
    return Leaderboard(contest, values.users, len(values.values), tuple(rows)), left


def limits(users: int, epsilon: Fraction) -> Iterator[str]:
    """What no local protocol can beat."""
    for error in (round(users**0.5 / part) for part in (16, 8, 4)):
        count = 1 - frequency_failure(users, error, epsilon).low
        hitter = 1 - le_cam_failure(users, error, epsilon).low
        yield f"- No {float(epsilon):g}-LDP protocol counts one bit to within {error:,} users with probability above {count:.3f}"
        yield f"  on all data, nor finds the heavier of two values to within {error:,} users with probability above {hitter:.3f}."


if __name__ == "__main__":
    known = [*map(str, comparison.contenders())]
    given = options(__doc__, known, users=10**6, words=Path, epsilons=[Fraction(1), Fraction(2), Fraction(4)], picture=Path)
    values = held(given.users, given.words)
    print(HEAD)
    for epsilon in given.epsilons:
        table, left = board(comparison.Contest(epsilon, DELTA), values, given.names or known)
        print(f"## Epsilon {float(epsilon):g}\n\n{write(table, TableFormat.markdown)}\n")
        say(limits(values.users, epsilon))
        print()
        if left:
            print("Left out:\n\n" + "\n".join(f"- {line}" for line in left), end="\n\n", flush=True)
        if given.picture and epsilon == given.epsilons[len(given.epsilons) // 2]:
            draw(table, given.picture)
