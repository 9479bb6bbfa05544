"""What shuffled count-min costs."""

from fractions import Fraction
from itertools import combinations

import flint

from ldpaudit.accountants.counting.count_min import added, largest, replaced, worst_added, worst_replaced
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import bernstein
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: ShuffledCountMin, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of shuffled count-min with its public hash functions.

    The adversary knows what the other users hold and subtracts it; what is left of a count is its blanket, Bin(n, gamma),
    and the user's own messages. Where the user's set is replaced, the loss is a sum over the cells in which the sets differ,

    .. math:: L = \sum_{c} \ln R_{d_c}(Y_c), \qquad
              R_d(y) = \Bigl(\frac{1-\gamma}{\gamma}\Bigr)^{d} \prod_{i=0}^{d-1} \frac{y-i}{n-y+1+i}

    with the number d_c of messages that the first set sends more (for a negative d_c, count the silent users). A single
    value moves one count of each row up and one down; the two values are those whose hashes differ in most rows. Of
    two sets of up to k values no hash functions make more than `worst_replaced`.

    Where a user is added or removed, so is the user's blanket, and all ``rows * buckets`` counts differ in law:
    Bin(n, gamma) against Bin(n - 1, gamma), plus the user's messages in the cells of the user's values.

    Tight: the pairs occur. The estimates cost nothing more. Source: Algorithm 2 of Ghazi, Golowich, Kumar, Pagh,
    Velingker 2019; their Lemma 4.10 is an upper bound. Proof: proofs/shuffled_count_min.py, of what worst_replaced
    rests on.

    ``m``: as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats. Infinite at delta =
    0. EXACT where the joint outcomes are few; else INTERVAL, within about 3e-4 where a user holds one value or all
    sets are listed; for larger sets up to what the worst hash functions cost.
    """
    counts = m.rows * m.buckets
    if neighbours == ADD_REMOVE:
        first, _ = m.apart.pair
        found = largest(m.users, m.gamma, added(m.users, m.gamma, m.shifts(first, None), counts))
        return found if m.held == 1 else Bracket(found, worst_added(m.users, m.gamma, m.held, m.rows, counts))
    if m.held > 1 and m.apart.certain:
        shifts = (m.shifts(x, y) for x, y in combinations(m.inputs, 2))
        return largest(m.users, m.gamma, (pair for each in shifts for pair in replaced(m.users, m.gamma, each)))
    found = largest(m.users, m.gamma, replaced(m.users, m.gamma, m.shifts(*m.apart.pair)))
    return found if m.apart.certain else Bracket(found, worst_replaced(m.users, m.gamma, m.held, m.rows))


def error(m: ShuffledCountMin, beta: Fraction) -> Enclosure:
    r"""From 0 to an error that no cell's blanket exceeds, except with probability beta; in users, INTERVAL.

    .. math:: t = \frac L3 + \sqrt{\frac{L^2}{9} + 2 n \gamma (1 - \gamma) L}, \qquad L = \ln\frac{2 \tau s}{\beta}

    Then no estimate is below its count by more than t, and none above it by more but where a value shares all of its cells
    with others (`missed`). Not tight: an estimate is a minimum. Source: Bernstein; the Chernoff bound of Lemma 4.8 of Ghazi,
    Golowich, Kumar, Pagh, Velingker 2019 has :math:`\sqrt{3 n \gamma L}`.

    Raises ValueError where beta lies outside (0, 1).
    """
    if not 0 < beta < 1:
        raise ValueError(f"an error needs 0 < beta < 1, got beta={beta}")

    def bound() -> flint.arb:
        variance = ball(m.users * m.gamma * (1 - m.gamma))
        return bernstein(variance, ball(2 * m.rows * m.buckets / Fraction(beta)).log())

    return Enclosure(0.0, narrow(bound, "").high, Rigour.INTERVAL, "Bernstein's inequality for each cell and side")


def missed(m: ShuffledCountMin) -> Fraction:
    r"""Upper bound of the probability that some value shares all of its cells with other users' values.

    .. math:: \min\Bigl(1, B\,\Bigl(\frac{k n}{s}\Bigr)^\tau\Bigr)

    for pairwise independent hash functions. Source: Lemma 4.8 there.
    """
    return min(Fraction(1), m.domain * min(Fraction(1), Fraction(m.held * m.users, m.buckets)) ** m.rows)
