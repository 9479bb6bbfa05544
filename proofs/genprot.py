"""Theorem: GenProt is epsilon-LDP for epsilon = log((s + (1 - s) r) / (l + (1 - l) / r)), whatever its base is.

Here draws are accepted with probabilities between lo and hi, r = hi/lo, s = (1 - lo)^(T-1) and l = (1 - hi)^(T-1). Every draw
enters the probability of a position linearly: its own one raises it, and every other one lowers it. So it is the largest
where its own draw has hi and all others lo, and the least the other way round. No epsilon is smaller where draws of both
kinds occur on two inputs; at every T it is below 2 log(r), which is 8 epsilon for the clip interval. One draw and one bit cost
the larger of log(hi/lo) and log((1 - lo)/(1 - hi)).
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Lemma, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _one_of_many(), _own_draw(), _other_draw(), _never_more(), _accepted(), _refused()


def _one_of_many() -> Theorem:
    t = Theorem(mechanism="GenProt", sentence="GenProt, its draws accepted with probabilities in a range,")
    t.assume("the law of a position depends on the input through the probabilities of its draws to be accepted only")
    t.assume("a function that is monotone in each of its arguments is largest at a corner; see the lemmas on own and other draws")
    t.assume("silent_lowest = (1 - lowest)^(slots - 1), silent_highest = (1 - highest)^(slots - 1)")
    excess, heard_low, heard_high, room = t.nonnegative("excess", "heard_low", "heard_high", "room")
    (low,) = t.positive("low")
    fields = [t.parameter(name) for name in ("slots", "lowest", "highest", "silent_lowest", "silent_highest")]
    s, loud, ratio = 1 / (1 + heard_low), 1 / (1 + heard_high), 1 + excess
    most, least = s + (1 - s) * ratio, loud + (1 - loud) / ratio  # times T
    slots = most + least + room
    t.parametrize(
        {"slots": slots, "lowest": low, "highest": low * ratio, "silent_lowest": s, "silent_highest": loud},
        {low: fields[1], excess: fields[2] / fields[1] - 1, heard_low: 1 / fields[3] - 1, heard_high: 1 / fields[4] - 1,
         room: fields[0] - _most(fields) - _least(fields)},
    )  # fmt: skip
    others = slots - 1
    own = {
        "g = t, draws (hi; lo, ..., lo) against (lo; hi, ..., hi)": (1, most / slots, least / slots),
        "g is another": (others, (slots - most) / (slots * others), (slots - least) / (slots * others)),
    }
    t.costs(_most(fields) / _least(fields), own)
    t.attained("at g = t", "where draws of the kinds (highest, lowest) and (lowest, highest) occur on two inputs")
    return t


def _most(fields: list[Expr]) -> Expr:
    _, low, high, silent, _ = fields
    return silent + (1 - silent) * high / low


def _least(fields: list[Expr]) -> Expr:
    _, low, high, _, silent = fields
    return silent + (1 - silent) * low / high


def _own_draw() -> Lemma:
    t = Lemma(sentence="a position's probability is linear in that with which its own draw is accepted, and increases with it")
    (p,), (silent, heard, others) = t.share("p"), t.nonnegative("silent", "heard", "others")
    t.assume("E[1/(1+S)] is P[S = 0] and what the other values of S add")
    shared, none = silent + heard, silent / (1 + others)
    t.equal(p * shared + (1 - p) * none, none + p * (shared - none), "linear in p")
    t.at_most(none, shared, "its value at 0 and at 1")
    return t


def _other_draw() -> Lemma:
    t = Lemma(sentence="a position's probability is linear in that with which any other draw is accepted, and decreases with it")
    p, own, part = t.share("p", "own", "part")
    shared, none = t.nonnegative("shared", "none")
    t.assume("E[1/(2+S)] is at most E[1/(1+S)]: `part` of it")
    with_one = shared * part
    chance = own * ((1 - p) * shared + p * with_one) + (1 - own) * (1 - p) * none
    at_zero, at_one = own * shared + (1 - own) * none, own * with_one
    t.equal(chance, (1 - p) * at_zero + p * at_one, "linear in p, between its values at 0 and at 1")
    t.at_most(at_one, at_zero, "its value at 1 and at 0")
    return t


def _never_more() -> Lemma:
    t = Lemma(sentence="GenProt never costs more than 2 log(highest/lowest), at any number of slots")
    silent, loud = t.share("silent", "loud")
    (excess,) = t.nonnegative("excess")
    ratio = 1 + excess
    t.at_most(silent + (1 - silent) * ratio, ratio, "the largest probability of a position, times T")
    t.at_most(1 / ratio, loud + (1 - loud) / ratio, "the least")
    return t


def _one_bit(which: str) -> tuple[Theorem, Expr, Expr, Expr, Expr]:
    t = Theorem(mechanism="GenProtBit", sentence=f"GenProt's one-bit form, {which},")
    t.assume("an answer is 'yes' with a probability between lowest and highest, whatever the draw and the input are")
    excess, room = t.nonnegative("excess", "room")
    return t, excess, room, t.parameter("lowest"), t.parameter("highest")


def _accepted() -> Theorem:
    t, excess, room, low, high = _one_bit("its draws accepted with probabilities of sum at most 1")
    whole = 2 + excess + room
    lowest, highest = 1 / whole, (1 + excess) / whole
    t.parametrize({"lowest": lowest, "highest": highest}, {excess: high / low - 1, room: (1 - low - high) / low})
    t.costs(high / low, {"yes": (highest, lowest), "no": (1 - highest, 1 - lowest)})
    t.attained("at 'yes'", "where one draw has both probabilities, on two inputs")
    return t


def _refused() -> Theorem:
    t, excess, room, low, high = _one_bit("its draws accepted with probabilities of sum above 1")
    whole = 2 + excess + room
    lowest, highest = 1 - (1 + excess) / whole, 1 - 1 / whole
    t.parametrize({"lowest": lowest, "highest": highest}, {excess: (1 - low) / (1 - high) - 1, room: (low + high - 1) / (1 - high)})
    t.costs((1 - low) / (1 - high), {"no": (1 - lowest, 1 - highest), "yes": (lowest, highest)})
    t.attained("at 'no'", "where one draw has both probabilities, on two inputs")
    return t
