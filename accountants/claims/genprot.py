r"""What Stemmer's talk says of GenProt, with the constants of Bun, Nelson, Stemmer 2018 as remembered, and what is found.

.. math:: \text{pure } 10\varepsilon\text{-LDP for } \varepsilon \le \tfrac14,\ T \ge 5\ln\tfrac1\varepsilon, \qquad
          \text{off by } n\Bigl(\bigl(\tfrac12 + \varepsilon\bigr)^T
          + \frac{6 T \delta e^\varepsilon}{1 - e^{-\varepsilon}}\Bigr) \text{ at most}

The base is :math:`(\varepsilon, \delta)`-LDP; its delta is what is certified of it at this epsilon.
"""

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, derived, remembered
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.claim import Hypothesis
from ldpaudit.core.number import brief, exact, whole
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.genprot import GenProt, GenProtBit
from ldpaudit.profile import Number

_WHERE = "STEMMER, GenProt"
_ANOTHER = "the form with one bit is of another paper, and loses half of the users"
_NO_BOTTOM = -1


@dataclass(frozen=True)
class Setting:
    """GenProt on one of three randomizers, named by numbers: k-ary randomized response, the same with a leak, or a binomial count.

    Raises ValueError where it names none of them, or two.
    """

    epsilon: Fraction  # of the base and of the clip interval
    slots: int  # T, at least 2
    k: int = 0  # values of randomized response; 0 for the binomial count
    trials: int = 0  # coins of the binomial count; 0 for randomized response
    leak: Fraction = Fraction(0)  # probability with which randomized response shows the value in the clear
    bottom: int = _NO_BOTTOM  # input whose law is public; -1 for the average of all

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, "epsilon"))
        object.__setattr__(self, "leak", exact(self.leak, "leak"))
        if (self.k == 0) == (self.trials == 0) or (self.trials and self.leak):
            found = f"k={brief(self.k)}, trials={brief(self.trials)} and leak={brief(self.leak)}"
            raise ValueError(f"genprot's Setting needs k, with a leak or without, or trials, got {found}")
        if whole(self.slots) is None:
            raise TypeError(f"genprot's Setting needs an integer slots, got {brief(self.slots)}")

    @property
    def mechanism(self) -> GenProt:
        """GenProt on that base."""
        bottom = None if self.bottom == _NO_BOTTOM else self.bottom
        if self.trials:
            return GenProt.of_binomial(self.epsilon, self.trials, self.slots, bottom)
        return GenProt.of_response(self.epsilon, self.k, self.slots, self.leak, bottom)


@narrowed("GenProt, any base: all probabilities in the clip interval", Rigour.INTERVAL)
def box_of_any(epsilon: Number, slots: int) -> flint.arb:
    r"""Epsilon of GenProt on any base: the largest ratio of a position's probabilities over all answers in the clip interval.

    .. math:: \log\frac{s + (1 - s) r}{l + (1 - l) / r}, \qquad r = e^{4\varepsilon}, \quad
              s = \bigl(1 - e^{-2\varepsilon}/2\bigr)^{T-1}, \quad l = \bigl(1 - e^{2\varepsilon}/2\bigr)^{T-1}

    Tight where both ends are answers to one draw. It rises with T to 8 epsilon. Proof: proofs/genprot.py.
    """
    e = Fraction(epsilon)
    low, high = ((sign * 2 * ball(e)).exp() / 2 for sign in (-1, 1))
    silent, loud = (1 - low) ** (slots - 1), (1 - high) ** (slots - 1)
    ratio = (4 * ball(e)).exp()
    return ((silent + (1 - silent) * ratio) / (loud + (1 - loud) / ratio)).log()


@narrowed("GenProt, one bit, any base: all probabilities in the clip interval", Rigour.INTERVAL)
def bit_of_any(epsilon: Number) -> flint.arb:
    """Epsilon of the one-bit form on any base: of a refusal, ``(1 - low) / (1 - high)`` at the ends of the clip interval.

    Their sum is ``cosh(2 epsilon)``, above 1, so that an acceptance costs less.
    """
    e = Fraction(epsilon)
    low, high = ((sign * 2 * ball(e)).exp() / 2 for sign in (-1, 1))
    return ((1 - low) / (1 - high)).log()


def distance(m: GenProt) -> Enclosure:
    r"""Largest total variation distance between the law of :math:`y_g` and the base's, over inputs: of one user, exact.

    Where nothing is clipped it is :math:`2^{1-T}` times the distance of the base's law from the public one.
    """
    zero = Fraction(0)

    def variation(p: dict[object, Fraction], q: dict[object, Fraction]) -> Fraction:
        return sum((abs(p.get(y, zero) - q.get(y, zero)) for y in {*p, *q}), zero) / 2

    most = max(variation(m.reported(x), dict(m.base.law(x).items())) for x in m.inputs)
    return Enclosure.of(most, source="the law of y_g, in rationals")


def nothing_accepted(m: GenProt) -> Enclosure:
    """Largest probability, over inputs, that a user accepts none of the fresh public draws: exact."""
    return Enclosure.of(max((1 - m.acceptance(x)) ** m.slots for x in m.inputs), source="(1 - a)^T, in rationals")


@narrowed("as remembered", Rigour.INTERVAL)
def printed_distance(epsilon: Number, delta: Number, slots: int) -> flint.arb:
    """The distance of one user's report as remembered; see the module."""
    e, d = Fraction(epsilon), Fraction(delta)
    none = (ball(e) + flint.arb(1) / 2) ** slots
    return none + 6 * slots * ball(d) * ball(e).exp() / -(-ball(e)).expm1()


def printed(s: Setting) -> tuple[Printed, ...]:
    """The privacy of this system and of any, its distance, failures and communication; and the form that sends one bit."""
    m, e = s.mechanism, s.epsilon
    delta = account(m.base).delta(e).high
    base, bit = f"{m.base}, T = {s.slots}", GenProtBit(m.base, m.epsilon, m.bottom)
    enough = narrow(lambda: -5 * ball(s.epsilon).log(), "5 ln(1/epsilon)")
    met = (
        Hypothesis("epsilon <= 1/4", e <= Fraction(1, 4)),
        Hypothesis(f"T >= 5 ln(1/epsilon) = {enough.high:.4g}", s.slots >= enough.high),
        Hypothesis(f"the base is (epsilon, delta)-LDP, delta = {delta:.3g}", delta < 1),
    )
    told_apart = next(bits for bits in range(m.slots) if 2**bits >= m.slots)
    one_bit = "10 epsilon of the form that sends one bit"
    return (
        remembered(_WHERE, f"10 epsilon of {base}, delta = {delta:.3g}", 10 * e, account(m).epsilon(0), met),
        remembered(_WHERE, f"10 epsilon of any base, T = {s.slots}", 10 * e, box_of_any(e, s.slots), met, attained=False),
        remembered(_WHERE, f"distance of one user's report, {base}", printed_distance(e, delta, s.slots).high, distance(m), met),
        remembered(_WHERE, f"probability that nothing is accepted, {base}", (Fraction(1, 2) + e) ** s.slots, nothing_accepted(m),
                   met),
        derived(_WHERE, "bits that a user sends, log2(T) rounded up", m.bits,
                Enclosure.of(told_apart, source=f"{m.slots} positions")),
        remembered(_WHERE, f"{one_bit}, {m.base}", 10 * e, account(bit).epsilon(0), variant=_ANOTHER),
        remembered(_WHERE, f"{one_bit}, any base", 10 * e, bit_of_any(e), attained=False, variant=_ANOTHER),
    )  # fmt: skip


_QUARTER, _LEAST = Fraction(1, 4), 7
EXAMPLES = (
    Setting(_QUARTER, _LEAST, k=2),
    Setting(_QUARTER, 20, k=2, bottom=0),
    Setting(_QUARTER, _LEAST, k=4, leak=Fraction(1, 10**6)),
    Setting(_QUARTER, _LEAST, trials=8, bottom=0),
    Setting(_QUARTER, _LEAST, trials=1000),
)
"""Three randomizers at epsilon = 1/4, the largest that the theorem allows, with the fewest draws that it asks for; and more."""
