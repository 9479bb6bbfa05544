"""What one sampled answer costs, and how many users name a question by it."""

import math
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import first
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.calibrate import enough_noise, likely_hits
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Shuffle
from ldpaudit.profile import Number, PrivacyProfile

_ATTEMPTS = 16
"""Numbers of users that are tried; each asks for less than a thousandth more than the last one."""
_MOST_USERS = 1 << 50


def profile(m: SampledAnswer, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one message.

    .. math:: \delta(\varepsilon) = \Bigl(1 - \frac\gamma2 - e^\varepsilon \frac\gamma2\Bigr)_+, \qquad
              \varepsilon(0) = \log \frac{2 - \gamma}{\gamma}

    The question is drawn whatever the input is, and where two users answer it alike its bit has one law. So the more
    answers differ, the more is seen. Tight: attained by no to all and yes to all, on the event {the bit is 0}. Source:
    Warner 1965 for one question; Ghazi, Golowich, Kumar, Pagh, Velingker 2019, section 3.4, for the inputs.
    Proof: proofs/sampled_answer.py.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at every epsilon.
    """
    bit = [(m.truthful, 1 - m.truthful), (1 - m.truthful, m.truthful)]
    return FiniteProfile(both_directions(bit), "one sampled answer: log((2 - gamma)/gamma), attained where all answers differ")


def shuffled(m: SampledAnswer, users: int) -> Bound:
    r"""Matched laws, whose base is a uniform question with a uniform bit; a message matches x where it is the answer of x.

    The pair is no to all and yes to all: for other answers the mean of the blanket's terms, :math:`1 - e^\varepsilon`, is
    the same, and where two users agree its two terms are nearer to each other, so that a convex function of a sum
    of them has a smaller mean. Among others who answer at will each question is one of three inputs' matches: user 1's answers are
    apart, or alike, and another user's is one of them or not. The lower bound is that of binary randomized response, for users who
    answer all alike.
    """
    half = Fraction(1, 2)
    ratio = {1: 2 * m.truthful, 0: 2 * (1 - m.truthful)}
    alike: list[dict[Pattern, Fraction]] = [{(0, 0, other): half, (1, 1, 1 - other): half} for other in (0, 1)]
    return MatchedLaws.of(m.inputs, {(1, 0): half, (0, 1): half}, ratio, alike).bound(users)


def for_privacy(epsilon: Number, delta: Number, users: int, questions: int) -> SampledAnswer:
    """The one with about the fewest fair coins whose shuffled messages are certified to be (epsilon, delta)-private.

    To a relative 1e-6 (`shuffling.calibrate.enough_noise`); the coins do not depend on the number of questions.

    Raises ValueError where no gamma below 1 keeps the goal, and where a parameter lies outside its domain.
    """
    guess = 2 * likely_hits(epsilon, delta) / users
    gamma = enough_noise(lambda gamma: Shuffle(SampledAnswer(questions, gamma), users), epsilon, delta, guess, 1.0)
    return SampledAnswer(questions, gamma)


def failure(m: SampledAnswer, users: int, error: Fraction) -> Enclosure:
    r"""From 0 to a bound of the probability that `select` names a question with fewer yeses than the most, less alpha n.

    .. math:: (B - 1) \Bigl(1 - \frac2B \bigl(1 - \sqrt{1 - a^2}\bigr)\Bigr)^n, \qquad a = \alpha (1 - \gamma)

    Chernoff's bound, for each question against the best one: a message moves the difference of their estimates by plus or
    minus one step with probability 2/B. Whatever users answer; the mean of the logarithms of their moments is at most the
    logarithm of the mean. Not tight. Source: derived. Proof: proofs/sampled_answer.py.

    ``m``: any; ``users``: n, at least 1; ``error``: alpha, in (0, 1): a share of the users. Returns INTERVAL.
    """

    def bound() -> flint.arb:
        reach = ball(error * (1 - m.gamma))
        kept = 1 - (1 - (1 - reach**2).sqrt()) * 2 / m.questions
        return (m.questions - 1) * kept**users

    high = narrow(bound, "Chernoff's bound", Rigour.INTERVAL).high
    return Enclosure(0.0, min(1.0, high), Rigour.INTERVAL, "Chernoff's bound, for each question against the best one")


def sufficient_users(questions: int, epsilon: Number, delta: Number, beta: Fraction, error: Fraction) -> tuple[int, SampledAnswer]:
    """Users among whom the messages are certified to be (epsilon, delta)-private, and `failure` is at most `beta`.

    Returns about as few as this is shown of, and what each of them runs.
    """
    users = _enough(SampledAnswer(questions, Fraction(1, 1 << 60)), beta, error)
    users = max(users, math.ceil(2 * likely_hits(epsilon, delta)) + 1)
    for _ in range(_ATTEMPTS):
        m = for_privacy(epsilon, delta, users, questions)
        if failure(m, users, error).high <= beta:
            return users, m
        users = _enough(m, beta, error)
    raise ValueError(f"sufficient_users found no number of users for {questions} questions")


def _enough(m: SampledAnswer, beta: Fraction, error: Fraction) -> int:
    """The least number of users whose failure is at most beta with these coins."""
    return first(lambda users: failure(m, users, error).high <= beta, 1 << 10, 1, _MOST_USERS)
