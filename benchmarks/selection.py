"""Users that selection takes: of B yes-or-no questions, name one with nearly as many yeses as any.

    python -m benchmarks.selection [B...]

For each number of questions, at epsilon = 1 and delta = 1e-9: users below which no protocol of one message per user names
the question of Theorem 3.22's hard data and its bit with probability 1/3, half of the success that is asked for; users with which
one sampled answer each, shuffled, names a question within a tenth of the users of the best with probability 2/3, whatever they
answer; and users with which labelled binary sums do. Privacy is certified, and so is the probability, from above.
The limit is on protocols of one message, not on sums: from 64 questions to 4096 it grows 41-fold, the users of sums 12-fold.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from benchmarks.experiment import markdown, say
from ldpaudit.accountants import sampled_answer, shuffled_selection
from ldpaudit.accountants.limits.selection import selection_users, sharpened_users

EPSILON, DELTA = 1, Fraction(1, 10**9)
BETA, ERROR = Fraction(1, 3), Fraction(1, 10)
QUESTIONS = (64, 256, 1024, 4096, 10_000)
HEAD = ("B", "at least, printed", "at least, sharper", "one answer", "its gamma", "binary sums", "coins", "messages")


def row(questions: int) -> list[str]:
    """Limits, users and costs for this number of questions."""
    named = (1 - BETA) / 2
    one, answer = sampled_answer.sufficient_users(questions, EPSILON, DELTA, BETA, ERROR)
    many, sums = shuffled_selection.sufficient_users(questions, EPSILON, DELTA, BETA, ERROR)
    limits = selection_users(questions, named, EPSILON, DELTA, 1), sharpened_users(questions, named, EPSILON, DELTA)
    cells = questions, *limits, one, float(answer.gamma), many, sums.coins, float(sums.expected_messages)
    return [f"{cell:.7g}" for cell in cells]


if __name__ == "__main__":
    say(markdown(HEAD, map(row, map(int, sys.argv[1:] or QUESTIONS))))
