"""What Hadamard response costs in the shuffled model."""

from fractions import Fraction

from ldpaudit.accountants.counting.hits import ComposedHits, HiddenHits, MergedHits
from ldpaudit.accountants.counting.one_shuffle import OneShuffle
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import expected_largest
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.finite import revealed
from ldpaudit.accountants.pld.profiles import Bracket, LargestProfile, SmallestBound, WithLosses
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import HadamardViews
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_POINTS = 32
"""Of the curve of several elements that is composed; with 256 ten runs are .2 % better known, and take four times as long."""


def profile(m: ShuffledHadamard, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of the shuffled messages of all users, in the worst case over what they hold.

    With :math:`M = \rho n` blanket messages and :math:`p = 2^{-\tau}`, one element replaced by another costs at most

    .. math:: \delta_1(\varepsilon) = \frac{1}{(M+1)\,p}\, E\bigl[(N - e^\varepsilon N')_+\bigr], \qquad
              N, N' \sim \mathrm{Bin}(M+1, p) \text{ independent,}

    and k elements at most :math:`\frac{e^\varepsilon - 1}{e^{\varepsilon/k} - 1}\, \delta_1(\varepsilon/k)`, one by one, and
    little more than k independent shuffles of one element each: about the root of k times one's epsilon, where
    :math:`4 k^2 p` is not far above 1 (`counting.one_shuffle`). Their rows may depend on each other, as any sum of rows is a row;
    that changes hardly more than the third moments of the numbers of messages, whose sizes are about (p/M)**.5.

    From above: the multiset of all messages is a function of the blanket with the replaced message, and of all other
    messages, which are independent of these and whose law does not change; so the others' messages may be given away,
    whatever they hold. One user alone has nothing to give away: there the two ends are one.

    From below: two pairs of data sets. User 1 holds value 0 or 1. Either every other user holds value 2 (nothing, where
    there are but two values), which is row 3, the sum of the rows of 0 and 1: a message that speaks for it speaks for
    both of these or for neither, so that the numbers of messages that speak for one and not for the other are only
    blanket and user 1's. Or all others hold value 1 as well: of the messages that speak for it, n - 1 are theirs, and of
    those that speak for 0 and not for 1, none. What the others hide is in either case only which of the messages that
    speak for both are theirs, and these are a share of 2**-tau; which pair is the worse depends on epsilon. For a few
    users, all data sets have been tried, and one of these was the worst. With k > 1 the elements that fill up are like a
    blanket, which is less than k in rho of it; and a third pair holds d different values at once, with 2d independent rows
    (d of k, where the domain has that many). The numbers of messages that speak for these are independent, so that what
    they tell is what d independent shuffles tell (`counting.hits`). And where all others hold nothing, and user 1 k values or
    nothing, all k elements are told together, next to the upper bound where rho is large (`counting.hits`). Open: how much the
    others' own messages hide where rho is not far above k, and from above what k elements cost where p is larger. Of k = 3,
    tau = 5, rho = 3 and 1000 users the ends at delta = 1e-6 are 1.014 and 1.095, and three independent shuffles have 1.073.

    Neither input explains every view of the other: epsilon is infinite at delta = 0. Under add-remove the number of
    messages reveals that a user is absent: delta is 1 at every epsilon. The paper's relation is replace-one.
    Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 4.4. Proof: proofs/shuffled_hadamard.py.

    ``m``: any; ``neighbours``: replace-one or add-remove. Returns in nats. INTERVAL; for one user with one element,
    and for add-remove, EXACT.
    """
    if neighbours == ADD_REMOVE:
        return revealed("the number of messages reveals that a user is absent")
    if m.users == m.k == 1:
        return known_others(m)
    like = m.messages(0)[0]
    low: list[PrivacyProfile] = [
        HiddenTuple(like, m.hit, Seen.EITHER, f"two data sets, seen: {Seen.EITHER.value}"),
        hidden_element(like, m.hit, f"two data sets, seen: {Seen.SECOND.value}"),
    ]
    if (together := min(m.k, (m.bits - 1) // 2)) > 1:
        low.append(ComposedHits(m.users * (m.rho + m.k) - 1, m.hit, together))
    if m.k > 1:
        low.append(MergedHits(m.users, m.users * m.rho, m.hit, m.k, 0))
    return Bracket(LargestProfile(tuple(low)), known_others(m))


def known_others(m: ShuffledHadamard) -> PrivacyProfile:
    """Profile where the adversary is also given the others' messages of their own elements, for replace-one.

    EXACT for k = 1; else an upper bound.
    """
    return replaced_elements(m, m.k)


def replaced_elements(m: ShuffledHadamard | HadamardViews, number: int) -> PrivacyProfile:
    """A number of one user's elements replaced by others in one oracle, where the adversary knows all messages but these.

    EXACT for one element; else the smaller of two upper bounds: replaced one by one (`Chain`), and together (`OneShuffle`).
    """
    blanket = m.users * m.rho
    like = f"{blanket} blanket messages, 2**-{m.tau} of them like the user's"
    if number == 1:
        return known_element(blanket, m.hit, like)
    single = HiddenTuple(blanket, m.hit, Seen.ALL, like)
    one_by_one = Chain(single, number, f"{number} messages replaced one by one among {like}")
    return SmallestBound((one_by_one, OneShuffle(blanket, m.hit, number)), _POINTS)


def known_element(messages: int, hit: Fraction, source: str) -> PrivacyProfile:
    """One element replaced by another among `messages` messages, where the adversary knows all others."""
    return WithLosses(HiddenTuple(messages, hit, Seen.ALL, source), ComposedHits(messages, hit, 1))


def hidden_element(messages: int, hit: Fraction, source: str) -> PrivacyProfile:
    """The same where all others send the second element, and who does is not known; repeated, a lower bound of that."""
    return WithLosses(HiddenTuple(messages, hit, Seen.SECOND, source), HiddenHits(ComposedHits(messages, hit, 1)))


def expected_error_bound(m: ShuffledHadamard, values: int) -> Enclosure:
    r"""From 0 to a bound of the expected largest error over this many values, for any data; in users, INTERVAL.

    Of the messages that speak for a value all but its holders' are independent coins, so their variance is at most
    :math:`(\rho + k)\,n\,p\,(1-p)`, and `numerics.deviations.expected_largest` applies, divided by 1 - p as estimates are.
    """
    p = m.hit
    variance = (m.rho + m.k) * m.users * p * (1 - p)
    bound = narrow(lambda: expected_largest(variance, values) / ball(1 - p), "")
    return Enclosure(0.0, bound.high, Rigour.INTERVAL, "Bennett's bound of the exponential moments, and Jensen's inequality")
