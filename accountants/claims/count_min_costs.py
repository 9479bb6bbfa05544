"""What Ghazi, Golowich, Kumar, Pagh and Velingker print of Algorithm 2's costs, and what is found: messages, bits, cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import flint

from ldpaudit.accountants.claims.sentence import Printed, derived
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.profile import Number

NO_CONSTANT = "the paper prints no constants of its costs; these are ours"
FLOATS = 600.0
"""Claims whose probability is below e**-600 are left out: a float ends at e**-745."""
_CUBES = 300
"""For Theorem 4.2's messages: above the 180 of Theorem 4.7's proof, as log2(2 B) is above log2(B)."""


def costs(m: ShuffledCountMin, epsilon: Enclosure, delta: Number) -> tuple[Printed, ...]:
    """Theorems 4.7 and 4.2 and Lemma 4.9, of costs.

    ``m``: Algorithm 2; ``epsilon``: that Lemma 4.10 promises at its gamma; ``delta``: at which it does. Returns
    messages, bits, cells, and probabilities.
    """
    return *_lemma_4_9(m, epsilon, delta), *_theorem_4_2(m, Fraction(epsilon.low), delta)


def is_theorem(m: ShuffledCountMin) -> bool:
    """Whether rows and buckets are those of Theorem 4.7."""
    return m.rows == (2 * m.domain - 1).bit_length() and m.buckets == 2 * m.held * m.users


def _lemma_4_9(m: ShuffledCountMin, epsilon: Enclosure, delta: Number) -> Iterator[Printed]:
    """How many messages users send on average, by Theorem 4.7, and (1) at most; bits of a message and (2) of the table, (3) cells
    that a query reads.
    """
    where, cells, own = "GGKPV Lemma 4.9", m.rows * m.buckets, m.held * m.rows
    mean, most = m.gamma * cells, m.users * (m.held + 1)  # a cell may take all of a user's values and a blanket message

    def theorem() -> flint.arb:
        lines = ball(2 * own / Fraction(delta)).log()
        return own + 180 * m.held * flint.arb(own) ** 2 * m.rows * lines / ball(Fraction(epsilon.low)) ** 2

    yield derived("GGKPV Theorem 4.7", "messages a user sends on average", narrow(theorem, "Theorem 4.7").high,
                  Enclosure.of(own + mean, source="k tau + gamma tau s"),
                  (Hypothesis("s = 2 k n", m.buckets == 2 * m.held * m.users),))  # fmt: skip
    if mean / 3 < FLOATS:
        chernoff = narrow(lambda: m.users * (-ball(mean / 3)).exp(), "Chernoff, for each user")
        above = math.floor(2 * mean) + 1
        found = narrow(lambda: -(m.users * (-binomial_upper(cells, m.gamma, above)).log1p()).expm1(), "a binomial tail")
        yield derived(where, "P[some user sends more than tau k + 2 gamma tau s messages]", min(1.0, chernoff.high), found)
    bits = (m.rows - 1).bit_length() + (m.buckets - 1).bit_length()
    space = narrow(lambda: 2 * cells * _log2(m.users), "2 tau s log2(n)").low
    table = Enclosure.of(cells * most.bit_length(), source=f"{cells} counts of at most {most}")
    yield derived(where, "(1) bits of a message: ceil(log2 tau) + ceil(log2 s)", float(bits), message_bits(m))
    yield derived(where, "(2) bits of the table: 2 tau s log2(n)", space, table, variant=NO_CONSTANT)
    yield derived(where, "(3) cells that a query reads: tau", float(m.rows), cells_read(m))


def message_bits(m: ShuffledCountMin) -> Enclosure:
    """Bits that tell all cells apart."""
    return Enclosure.of((m.rows * m.buckets - 1).bit_length(), source=f"{m.rows * m.buckets} cells")


def cells_read(m: ShuffledCountMin) -> Enclosure:
    """Cells that a query for a value reads."""
    return Enclosure.of(len(m.cells(0)), source="the value's cell in each row")


def _log2(value: int) -> flint.arb:
    return flint.arb(value).log() / flint.arb(2).log()


def _theorem_4_2(m: ShuffledCountMin, epsilon: Fraction, delta: Number) -> tuple[Printed, ...]:
    r"""For k = 1 and the parameters of Theorem 4.7, with constants of our own.

    .. math:: O\bigl(\log^3 B\, \ln(\log B/\delta)/\varepsilon^2\bigr) \text{ messages of } O(\log n + \log\log B)
              \text{ bits, and queries in time } O(\log B)
    """
    if m.held > 1 or m.domain < 4 or not is_theorem(m):
        return ()
    log = partial(_log2, m.domain)
    bounds = (
        (f"messages a user sends on average: {_CUBES} log(B)^3 ln(log(B)/delta)/eps^2",
         lambda: _CUBES * log() ** 3 * (log() / ball(Fraction(delta))).log() / ball(epsilon) ** 2,
         Enclosure.of(m.rows + m.gamma * m.rows * m.buckets, source="tau + gamma tau s")),
        ("bits of a message: 2 (log n + log log B)",
         lambda: 2 * (_log2(m.users) + log().log() / flint.arb(2).log()), message_bits(m)),
        ("cells that a query reads: 2 log B", lambda: 2 * log(), cells_read(m)),
    )  # fmt: skip
    where = "GGKPV Theorem 4.2"
    return tuple(
        derived(where, said, narrow(bound, where).low, found, variant=NO_CONSTANT) for said, bound, found in bounds
    )
