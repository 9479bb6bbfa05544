"""What unary encoding costs."""

import math

from ldpaudit.accountants.aggregation.envelope import Bits, Move, coin
from ldpaudit.accountants.composition.product import product_profile
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.calibrate import enough_noise, likely_hits
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, independent
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Shuffle
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: UnaryEncoding, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of unary encoding.

    .. math:: \varepsilon(0) = \log \frac{p\,(1-q)}{q\,(1-p)} \quad\text{(replace-one)}, \qquad
              \varepsilon(0) = \log \max\Bigl(\frac{p}{q}, \frac{1-q}{1-p}\Bigr) \quad\text{(add-remove)}

    Two values' vectors differ in two bits, a value's and an absent user's in one; all other bits have the same law, and
    by symmetry every pair costs the same. Tight: attained on the event {bit x = 1, bit x' = 0}, and on one value of
    bit x. Source: Wang, Blocki, Li, Jha 2017. Proof: proofs/unary_encoding.py.

    ``m``: ``0 < q < p < 1``, as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats.
    Rigour EXACT at every epsilon.
    """
    one = [(m.p, m.q), (1 - m.p, 1 - m.q)]
    if neighbours == ADD_REMOVE:
        return FiniteProfile(both_directions(one), "unary encoding, one bit: log max(p/q, (1-q)/(1-p)), attained at it")
    zero = [(q, p) for p, q in one]
    # Exchanging the two bits maps one order of the pair onto the other.
    return product_profile([[(one, 1), (zero, 1)]], "unary encoding: log(p(1-q)/(q(1-p))), attained at bits 1 and 0")


def shuffled(m: UnaryEncoding, users: int) -> Bound:
    """Matched laws: under the base all bits are those of nobody, and a report matches x where bit x is 1."""
    patterns = independent((1 - m.q, m.q), min(m.k, 3))
    return MatchedLaws.of(m.inputs, patterns, {1: m.p / m.q, 0: (1 - m.p) / (1 - m.q)}, choices=()).bound(users)


def summands(m: UnaryEncoding, neighbours: Neighbours) -> Bits:
    """Two values' vectors differ in one bit each way, a value's and an absent user's in one."""
    is_replaced = neighbours == REPLACE_ONE
    values: dict[Move, tuple[int | None, int | None]] = {(1, 1): (0, 1)} if is_replaced else {(1, 0): (0, None), (0, 1): (None, 0)}
    moves, other = frozenset(values), 1 + is_replaced
    return Bits(coin(m.p), coin(m.q), moves, moves, other < m.k, values, other, m.k, 1)


def for_privacy(epsilon: Number, delta: Number, users: int, k: int) -> UnaryEncoding:
    """The symmetric one with the fewest flips found whose shuffled reports are certified to be (epsilon, delta)-private.

    To a relative 1e-6 (`shuffling.calibrate.enough_noise`); q**2 / (1 - q) is about 1/11 to 1/19 of that of
    `UnaryEncoding.shuffled_in_closed_form`.

    Raises ValueError where no q below 1/2 keeps the goal, and where a parameter lies outside its domain.
    """
    guess = math.sqrt(likely_hits(epsilon, delta) / users)
    return UnaryEncoding.flips(enough_noise(lambda q: Shuffle(UnaryEncoding.flips(q, k), users), epsilon, delta, guess, 0.5), k)


def errors(m: UnaryEncoding, users: int) -> Frequencies:
    """Errors of the estimates from the reports of this many users."""
    return Frequencies(users, m.k, m.p, m.q)
