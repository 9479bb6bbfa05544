"""Theorem behind the accountant of selection by labelled binary sums.

Nothing is private here without a delta: a count of 0, or of all coins and one more, tells the user's answer. So this theorem
is about ratios, and no epsilon of the mechanism follows from it alone. N is the number of fair coins in a count. A question with m
yeses less than the best is named with probability at most P[Bin(2N, 1/2) >= N + m]: X and N - X have one law for X ~ Bin(N, 1/2).
"""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Steps("of a replaced user only the number of questions that are answered differently matters")
    t.assume("P[X = y - 1] / P[X = y] = y / (N - y + 1) for X ~ Bin(N, 1/2), and P[X = y] = P[X = N - y]")
    t.assume("the counts are independent; where the two answers are alike a count has one law")
    y, silent = t.nonnegative("y", "silent")
    coins, count = y + 2 + silent, y + 1
    yes, mirrored = count / (coins - count + 1), coins + 1 - count
    t.equal(yes * mirrored / (coins - mirrored + 1), 1, "its mirror image is as likely after a no as a count after a yes")
    t.at_most(yes, (count + 1) / (coins - count), "a yes makes a count the likelier, the larger it is")
    return (t,)
