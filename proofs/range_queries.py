"""Theorems on range queries in the shuffled model: the nodes, what replacing a user changes, and what that costs.

1. A value lies in at most one node of each width, and a prefix is a sum of disjoint nodes.
2. One replaced message is told by two independent counters, so that several oracles are as many pairs of counters.
3. Where the others hold the second element, the loss is hidden by a share (1 - p) in each oracle, and no more.

A replaced user changes at most D elements: one for each combination of widths, but for the node of all values, which is
everybody's. What D replaced messages of one oracle cost one by one is proved in proofs/shuffled_hadamard.py. A box is off by at
most the number of its nodes times the error of one, as coefficients are -1, 0 or 1.

No epsilon is enough at delta = 0, so none of these is a bound there: the accountant says which (epsilon, delta) hold.
"""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _nodes(), _counters(), _hidden()


def _nodes() -> Steps:
    t = Steps("a value lies in at most one node of each width, and the nodes of a prefix are disjoint and fill it")
    t.assume("node i holds the values above i - low(i) up to i, and low(i) is its width w: i = w (2j + 1)")
    (w,), (j,) = t.positive("w"), t.nonnegative("j")
    node = w * (2 * j + 1)
    t.equal(node - w, 2 * w * j, "a node begins at a multiple of twice its width, so nodes of one width do not overlap")
    t.equal(node + w, 2 * w * (j + 1), "the next node of a column is a multiple of twice the width")
    t.equal((node + w) - 2 * w, node - w, "and one of just that width begins where this one does: it holds the same values")
    t.at_most(2 * w, 2 * w * (j + 1), "so every width occurs once, and the column ends after at most log2(B) + 1 nodes")
    return t


def _counters() -> Steps:
    t = Steps("one replaced message is told by two independent counters, one the other's reverse")
    t.assume(
        "under u the density of (N, N') to two independent Bin(M+1, p) is N/((M+1)p), under v N'/((M+1)p), as is checked in "
        "proofs/shuffled_hadamard.py"
    )
    longer, M, a, b = t.nonnegative("longer", "M", "a", "b")
    p, first, second = 1 / (2 + longer), 1 + a, 1 + b  # counts above 0
    density = first / ((M + 1) * p)
    t.equal(
        density / (second / ((M + 1) * p)), first / second,
        "under u only N has another law, under v only N': the loss is that of N less that of N', ln N - ln N'",
    )  # fmt: skip
    silent = (M + 1) - first  # messages that do not speak for u: Bin(M, 1-p) under u, Bin(M+1, 1-p) under v
    t.equal(
        p * (M + 1) / ((M + 1) - silent), 1 / density, "a counter of M + 1 coins of 1 - p against one of M: the ratio, reversed"
    )
    t.equal(first / (M + 1) / p, density, "as C(M, N-1)/C(M+1, N) = N/(M+1), and one factor p is left over")
    return t


def _hidden() -> Steps:
    t = Steps("others who hold the second element hide at most a share 1 - (1-p)^L of the first's probability")
    t.assume("the adversary sees how many messages are in the kernel of v, and of u alone, and tosses coins of p for the former")
    t.assume("an event that rises with every N and falls with every N' is likelier where user 1's message is in u's kernel alone")
    longer, alone, less = t.nonnegative("longer", "alone", "less")
    p = 1 / (2 + longer)
    both = alone / (1 + less)  # no likelier than alone
    t.at_most((1 - p) * alone + p * both, alone, "so the event is no likelier under u than where u's kernel alone has the message")
    seen, known = (1 - p) * alone, (1 - p) * alone + p * both
    t.at_most((1 - p) * known, seen, "of which the adversary's own coins keep the law: a share of 1 - p, in each oracle by itself")
    (ratio,), (extra,) = t.positive("ratio"), t.nonnegative("extra")
    share = 1 / (1 + extra)
    t.equal(share * known - ratio * seen, share * (known - ratio / share * seen), "s P - e^eps Q = s (P - e^(eps - ln s) Q)")
    return t
