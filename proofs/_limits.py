"""Theorems: inequalities that the limits of frequency estimation use, and a shuffled guarantee's linear bound on one message."""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma


def prove() -> tuple[Lemma, ...]:
    """Check the lemmas: the two events' bounds, the double counting, and what a message tells."""
    return _one_event(), _double_counting(), _surprise()


def _one_event() -> Lemma:
    t = Lemma(sentence="an event of a count of messages bounds an event of one message, linearly")
    t.assume("M is the number of the other users' messages in an event E; u = P[M >= k] and b = P[M = k-1]")
    u, b, rest, p = t.positive("u", "b", "rest", "p")
    delta, more, slack = t.nonnegative("delta", "more", "slack")
    ratio = 1 + more
    a = ratio * p + (delta + more * u) / b
    t.equal((1 - a) * u + a * (u + b) - ratio * ((1 - p) * u + p * (u + b)), delta, "at the bound, at least k messages: delta")
    beyond = a + slack
    t.at_most(delta, (1 - beyond) * u + beyond * (u + b) - ratio * (u + p * b), "above it, at least delta")
    low = 1 - (1 - p - (delta + more * rest) / b) / ratio
    t.equal(rest + (1 - p) * b - ratio * (rest + (1 - low) * b), delta, "the other order, at most k messages")
    return t


def _double_counting() -> Lemma:
    t = Lemma(sentence="G(s) <= eta (1 + r/s) + delta, with the mass eta that a value's law and the average law share")
    t.assume("P_v(E) <= r P_u(E) + delta for all values u, v; of independent u and v, E is {r_v >= s, r_u < 1}")
    t.assume("eta is the mean of Q(r_u >= 1) + P_u(r_u < 1), the mass that a value's law shares with the average law Q")
    t.admit("P_u(r_v >= s, r_u < 1) sums over v to at most B P_u(r_u < 1)/s: the ratios r_v sum to B", "Markov's inequality")
    (s,) = t.positive("s")
    more, delta, seldom, often, gap = t.nonnegative("more", "delta", "seldom", "often", "gap")
    ratio, eta = 1 + more, seldom + often  # the means of P_u(r_u < 1) and of Q(r_u >= 1)
    inside = (ratio * seldom / s + delta) / (1 + gap)
    t.at_most(inside, ratio * seldom / s + delta, "r_u < 1: the guarantee, and the sum of ratios")
    t.at_most(often + inside, eta * (1 + ratio / s) + delta, "both cases of u")
    (large,) = t.nonnegative("large")
    least = large / (2 * ratio)  # the most that Q(r_v >= 2 r) can be, where P_v(r_v >= 2 r) = large
    t.equal(ratio * least + delta, large / 2 + delta, "s = 2 r: large <= large/2 + delta, so it is at most 2 delta")
    return t


def _surprise() -> Lemma:
    t = Lemma(sentence="(1+t) ln(1+t) is at most t + t^2, and at most t + t ln(1+t)")
    t.admit("ln(1+t) <= t for t > -1", "ln is concave, and t is its tangent at 0")
    (held,), (gap,) = t.positive("held"), t.nonnegative("gap")
    t.at_most(held * (held - 1 - gap), (held - 1) + (held - 1) ** 2, "t = held - 1 >= -1")
    x, rest = t.nonnegative("x", "rest")
    log = x / (1 + rest)
    t.at_most((1 + x) * log, x + x * log, "t = x >= 0")
    return t
