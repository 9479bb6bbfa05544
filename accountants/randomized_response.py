"""What randomized response costs."""

from fractions import Fraction

from ldpaudit.accountants.aggregation.exchanged import Exchanged, OneOf, Step
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.binary_bound import BinaryBound
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.calibrate import enough_noise, likely_hits
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Shuffle
from ldpaudit.profile import Number, PrivacyProfile


def profile(m: KaryRandomizedResponse, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of k-ary randomized response.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon q\bigr)_+, \qquad q = \frac{1-p}{k-1},
              \qquad \varepsilon(0) = \log \frac{p\,(k-1)}{1-p}

    Tight: attained on the event {y = x}. Source: Warner 1965; Kairouz, Oh, Viswanath 2014.
    Proof: proofs/randomized_response.py.

    ``m``: ``k >= 2`` and ``1/k <= p < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats.
    Rigour EXACT at every epsilon.
    """
    # The k - 2 views that are a lie on both inputs have likelihood ratio 1 and never count.
    atoms = [(m.p, m.lie), (m.lie, m.p)]
    return FiniteProfile(both_directions(atoms), "k-ary randomized response: log(p(k-1)/(1-p)), attained at y = x")


def shuffled(m: KaryRandomizedResponse, users: int) -> Bound:
    """Two values are binary randomized response; more are matched laws, whose base is a uniform draw from k values."""
    if m.k == 2 and m.p > Fraction(1, 2):
        return BinaryBound(m.p, users)
    size = min(m.k, 3)
    patterns = {tuple(int(i == j) for j in range(size)): Fraction(1, m.k) for i in range(size)}
    patterns[(0,) * size] = Fraction(m.k - size, m.k)
    return MatchedLaws.of(m.inputs, patterns, {1: m.k * m.p, 0: m.k * m.lie}, choices=()).bound(users)


def summands(m: KaryRandomizedResponse, neighbours: Neighbours) -> Exchanged:
    """One of the two counts, or neither."""
    none = Fraction(0)
    third = Step(m.lie, m.lie, none) if m.k > 2 else None
    return Exchanged(Step(m.p, m.lie, none), third, one_of=OneOf(m.k, m.p, m.lie))


def for_privacy(epsilon: Number, delta: Number, users: int, k: int) -> KaryRandomizedResponse:
    """The most accurate one found whose shuffled reports are certified to be (epsilon, delta)-private.

    The least share of uniform draws, to a relative 1e-6 (`shuffling.calibrate.enough_noise`); it is about 1/4 of what
    `KaryRandomizedResponse.shuffled_as_printed` draws.

    Raises ValueError where no share below 1 keeps the goal, and where a parameter lies outside its domain.
    """
    made, guess = KaryRandomizedResponse.with_uniform_draw, likely_hits(epsilon, delta) * k / users
    return made(enough_noise(lambda gamma: Shuffle(made(gamma, k), users), epsilon, delta, guess, 1.0), k)


def errors(m: KaryRandomizedResponse, users: int) -> Frequencies:
    """Errors of the estimates from the reports of this many users."""
    return Frequencies(users, m.k, m.p, m.lie)
