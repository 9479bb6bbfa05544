"""Theorem: GenProt is epsilon-LDP for epsilon = log((s + (1 - s) r) / (l + (1 - l) / r)), whatever its base is.

Here draws are accepted with probabilities between lo and hi, r = hi/lo, s = (1 - lo)^(T-1) and l = (1 - hi)^(T-1). Every draw
enters the probability of a position linearly: its own one raises it, and every other one lowers it. So it is the largest
where its own draw has hi and all others lo, and the least the other way round. No epsilon is smaller where draws of both
kinds occur on two inputs; at every T it is below 2 log(r), which is 8 epsilon for the clip interval. One draw and one bit cost
the larger of log(hi/lo) and log((1 - lo)/(1 - hi)).
"""

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import bit, larger
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem | Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _one_of_many(), _own_draw(), _other_draw(), _never_more(), _one_bit(by_ones=True), _one_bit(by_ones=False)


def _one_of_many() -> Theorem:
    (excess, heard_low, heard_high, room), (low,) = nonnegative("excess", "heard_low", "heard_high", "room"), positive("low")
    names = ("slots", "lowest", "highest", "silent_lowest", "silent_highest")
    slots_field, low_field, high_field, silent_low, silent_high = map(named, names)
    most_field, least_field = _weight(silent_low, high_field / low_field), _weight(silent_high, low_field / high_field)
    s, loud, ratio = 1 / (1 + heard_low), 1 / (1 + heard_high), 1 + excess
    most, least = s + (1 - s) * ratio, loud + (1 - loud) / ratio  # times the number of slots
    slots = most + least + room
    others = slots - 1
    own = {
        "g = t, draws (hi; lo, ..., lo) against (lo; hi, ..., hi)": (1, most / slots, least / slots),
        "g is another": (others, (slots - most) / (slots * others), (slots - least) / (slots * others)),
    }
    return Theorem(
        mechanism="GenProt",
        sentence="GenProt, its draws accepted with probabilities in a range,",
        fields=dict(zip(names, (slots, low, low * ratio, s, loud), strict=True)),
        recover={low: low_field, excess: high_field / low_field - 1, heard_low: 1 / silent_low - 1,
                 heard_high: 1 / silent_high - 1, room: slots_field - most_field - least_field},
        parts=[Part(most_field / least_field, [own])],
        tight="where draws of the kinds (highest, lowest) and (lowest, highest) occur on two inputs",
        assumes=("positions",),
    )  # fmt: skip


def _weight(silent: Expr, ratio: Expr) -> Expr:
    """A position's probability, times the number of slots, of its draw's probability over that of all others."""
    return silent + (1 - silent) * ratio


def _one_bit(*, by_ones: bool) -> Theorem:
    (excess, room), low, high = nonnegative("excess", "room"), named("lowest"), named("highest")
    least, most = 1 / (2 + excess + room), (1 + excess) / (2 + excess + room)
    if not by_ones:
        least, most = 1 - most, 1 - least
    rest = (1 - low - high) / low if by_ones else (low + high - 1) / (1 - high)
    return Theorem(
        mechanism="GenProtBit",
        sentence=f"GenProt's one-bit form, its draws accepted with probabilities of sum {'at most' if by_ones else 'above'} 1,",
        fields={"lowest": least, "highest": most},
        recover={excess: larger(by_ones, low, high) - 1, room: rest},
        parts=[Part(larger(by_ones, low, high), [bit(*((most, least) if by_ones else (least, most)), "'yes'", "'no'")])],
        tight="where one draw has both probabilities, on two inputs",
        assumes=("draws",),
    )


def _own_draw() -> Steps:
    t = Steps("a position's probability is linear in that with which its own draw is accepted, and increases with it")
    (p,), (silent, heard, others) = t.share("p"), t.nonnegative("silent", "heard", "others")
    t.assume("E[1/(1+S)] is P[S = 0] and what the other values of S add")
    shared, none = silent + heard, silent / (1 + others)
    t.equal(p * shared + (1 - p) * none, none + p * (shared - none), "linear in p")
    t.at_most(none, shared, "its value at 0 and at 1")
    return t


def _other_draw() -> Steps:
    t = Steps("a position's probability is linear in that with which any other draw is accepted, and decreases with it")
    p, own, part = t.share("p", "own", "part")
    shared, none = t.nonnegative("shared", "none")
    t.assume("E[1/(2+S)] is at most E[1/(1+S)]: `part` of it")
    with_one = shared * part
    chance = own * ((1 - p) * shared + p * with_one) + (1 - own) * (1 - p) * none
    at_zero, at_one = own * shared + (1 - own) * none, own * with_one
    t.equal(chance, (1 - p) * at_zero + p * at_one, "linear in p, between its values at 0 and at 1")
    t.at_most(at_one, at_zero, "its value at 1 and at 0")
    return t


def _never_more() -> Steps:
    t = Steps("GenProt never costs more than 2 log(highest/lowest), at any number of slots")
    silent, loud = t.share("silent", "loud")
    (excess,) = t.nonnegative("excess")
    ratio = 1 + excess
    t.at_most(silent + (1 - silent) * ratio, ratio, "the largest probability of a position, times T")
    t.at_most(1 / ratio, loud + (1 - loud) / ratio, "the least")
    return t
