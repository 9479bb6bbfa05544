"""Theorem: one sampled answer is epsilon-LDP exactly for epsilon >= log((2 - gamma)/gamma).

With r = (2 - gamma)/gamma, the ratio of the truth's probability to that of the lie, a view's likelihood ratio is r or 1/r
where two users answer the question differently, and 1 where they answer it alike.
"""

from ldpaudit.proofs._algebra import nonnegative
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem | Steps, ...]:
    """Check the theorem, and what the shuffled messages of many users need. Raises ProofError naming the step, were one false."""
    return _local(), _alike(), _failure()


def _local() -> Theorem:
    (excess, more), gamma = nonnegative("excess", "more"), named("gamma")
    questions, r = 2 + more, 1 + excess
    truth, lie = r / (r + 1) / questions, 1 / (r + 1) / questions
    ratio = (2 - gamma) / gamma
    law = {"the bit is 0": (questions, truth, lie), "the bit is 1": (questions, lie, truth)}  # of no to all, and yes to all
    return Theorem(
        mechanism="SampledAnswer",
        sentence="one sampled answer",
        fields={"questions": questions, "gamma": 2 / (r + 1)},
        recover={excess: ratio - 1, more: named("questions") - 2},
        parts=[Part(ratio, [law])],
        tight="",
        assumes=("public",),
    )


def _alike() -> Steps:
    t = Steps("where two users answer alike, the terms of the blanket divergence have the same mean, and are nearer")
    t.assume("a message's term is R(x)/U - e^epsilon R(x')/U under the uniform law U of a question and a bit")
    t.assume("of two laws on two equally likely values with one mean, the nearer has the smaller mean of every convex function")
    excess, nats = t.nonnegative("excess", "nats")
    r, e = 1 + excess, 1 + nats  # e stands for e^epsilon
    truth, lie = 2 * r / (r + 1), 2 / (r + 1)
    differ, alike = (truth - e * lie, lie - e * truth), (truth - e * truth, lie - e * lie)
    t.equal(sum(differ), sum(alike), "both bits are equally likely under U: one mean, 1 - e^epsilon")
    t.equal(differ[0] - differ[1], (1 + e) * (truth - lie), "the distance where they differ")
    t.equal(alike[1] - alike[0], (e - 1) * (truth - lie), "and where they are alike")
    t.at_most(alike[1] - alike[0], differ[0] - differ[1], "which is no larger")
    return t


def _failure() -> Steps:
    t = Steps("a question that a share alpha fewer users want is named with at most the probability of Chernoff's bound")
    t.admit("P[sum >= 0] <= the product of the moments E exp(s V), for s >= 0", "Chernoff's bound")
    t.admit("the mean of the logarithms of positive numbers is at most the logarithm of their mean", "Jensen's inequality")
    t.assume("a message for the worse question or against the better one counts +1, one the other way -1, any other 0")
    (questions,), (excess, kept, more) = t.positive("questions"), t.nonnegative("excess", "kept", "more")
    r, z = 1 + excess, 1 + kept  # z stands for e^s
    truth, lie = r / (r + 1), 1 / (r + 1)
    t.equal((2 * truth - 2 * lie) / questions, 2 * (truth - lie) / questions, "the mean of who prefers the better one")
    t.equal((2 * truth + 2 * lie) / questions, 2 / questions, "whoever answers how, a message counts with probability 2/B")
    a = (z * z - 1) / (z * z + 1)  # alpha (1 - gamma), where s is the best one
    root = 2 * z / (z * z + 1)
    t.equal(root * root, 1 - a * a, "the root of 1 - a^2")
    moved = (1 - a) * z + (1 + a) / z
    t.equal(moved, 2 * root, "the moment of the mean user, B times and less that of a message that does not count")
    t.equal(1 - 2 / questions + moved / questions, 1 - (1 - root) * 2 / questions, "all of it")
    t.at_most((1 - a - more) * z + (1 + a + more) / z, moved, "and a question that is worse by more is named less often")
    return t
