"""The inverse questions: which parameter keeps a promise, certified at the answer and refused next to it.

What is left out of a mechanism's parameters is what is asked for; where nothing is, it is how many users must shuffle.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from ldpaudit import mechanisms
from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.search import crossing, first
from ldpaudit.core.number import show
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Aggregate, Guarantee, Plan, Repeat, Run, Shuffle, as_plan, names_users
from ldpaudit.profile import PrivacyProfile
from ldpaudit.registry import CONSTRUCTOR, ParameterError, build, constructors, find, parameters_of

GUARANTEE, NOISE = "guarantee", "binomial_noise"
"""What may be designed besides mechanisms: any randomizer of which the epsilon is known; binomial noise on a count."""
SEARCHED = {"epsilon": "largest", "batch": "largest", "scale": "smallest", "gamma": "smallest", "rho": "smallest"}
"""Parameters that may be left out, and which value of each is the best that is private."""
DIGITS = 6  # significant digits of an answer that is no integer: it is certified as it is printed
MOST_USERS, MOST_EPSILON = 10**12, 64  # where the search ends: beyond these nobody deploys anything
_FARTHEST = 1e9  # how many times less may be said than where the search starts, before it is given up
_LEAST_EPSILON = 1e-6  # where a search starts for a goal whose epsilon is smaller
_MOST_STEPS = 100  # units of the last digit by which an answer may be off after the search in floats

Value = Decimal | int  # an answer, exactly as it is printed
_account: Callable[[Any], PrivacyProfile] = account


@dataclass(frozen=True, slots=True)
class Goal:
    """What must be kept: (epsilon, delta)-differential privacy."""

    epsilon: Fraction  # in nats, at least 0
    delta: Fraction = Fraction(0)  # in [0, 1)

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and 0 <= self.delta < 1):
            found = f"epsilon={show(self.epsilon)} and delta={show(self.delta)}"
            raise ValueError(f"a goal needs epsilon >= 0 and 0 <= delta < 1, got {found}")

    def __str__(self) -> str:
        return f"({float(self.epsilon):g}, {float(self.delta):g})"


@dataclass(frozen=True, slots=True)
class Answer:
    """The best value found of a parameter, with what is certified at it and next to it."""

    goal: Goal  # what is kept
    parameter: str  # what was asked for
    value: Value  # the answer
    best: str  # ``largest`` or ``smallest``
    plan: str  # what is deployed with it
    certified: Enclosure  # of delta at the goal's epsilon; its upper end is at most the goal's delta
    refused: Value | None  # the next value, by one unit of the last digit; None where there is none
    # of delta there; its upper end exceeds the goal's delta. None where the parameters allow no such mechanism
    beyond: Enclosure | None

    @property
    def is_tight(self) -> bool:
        """Whether the next value is certified not to keep the goal, rather than not shown to."""
        return self.beyond is not None and self.beyond.low > self.goal.delta


@dataclass(frozen=True, slots=True)
class _Question:
    """A parameter, what is deployed with each of its values, and where to look first."""

    goal: Goal
    parameter: str
    best: str
    plan: Callable[[Any], Any]
    guess: float
    least: int = 1
    most: float = math.inf
    profile: Callable[[Any], PrivacyProfile] = account
    digits: int = DIGITS
    seen: dict[Value, Enclosure | None] = field(default_factory=dict)

    def delta(self, value: Value) -> Enclosure | None:
        """Of what is deployed, at the goal's epsilon; None where the parameters allow no such mechanism."""
        if value not in self.seen:
            try:
                plan = self.plan(_exact(value))
            except ParameterError:
                self.seen[value] = None
            else:
                self.seen[value] = self.profile(plan).delta(self.goal.epsilon)
        return self.seen[value]

    def cost(self, value: Value) -> float:
        """What the search makes small: delta, or where the goal is pure, epsilon, for which no curve is needed."""
        if self.goal.delta:
            found = self.delta(value)
            return math.inf if found is None else found.high
        try:
            return self.profile(self.plan(_exact(value))).epsilon(0).high
        except ParameterError:
            return math.inf

    def holds(self, value: Value) -> bool:
        found = self.delta(value)
        return found is not None and found.high <= self.goal.delta

    def answer(self, value: Value, refused: Value | None) -> Answer:
        certified = self.delta(value)
        if certified is None or certified.high > self.goal.delta:
            raise ValueError(f"{self.goal} is out of reach: {self.parameter} = {value} does not keep it")
        beyond = None if refused is None else self.delta(refused)
        return Answer(self.goal, self.parameter, value, self.best, str(self.plan(_exact(value))), certified, refused, beyond)

    def smallest_integer(self) -> Answer:
        """By doubling from the guess, then by halves."""
        found = first(self.holds, max(self.least, int(self.guess)), self.least, int(self.most))
        return self.answer(found, found - 1 if found > self.least else None)

    def real(self) -> Answer:
        """By a search in floats, then in units of the last digit."""
        largest = self.best == "largest"

        def cost(x: float) -> float:
            if x > _FARTHEST * start:
                raise ValueError(f"{self.goal} is out of reach: no {self.parameter} was found that keeps it")
            value = 1 / x if largest else x
            if largest and value > self.most:
                return math.inf  # too large an epsilon is not asked about
            return self.cost(Decimal(min(value, self.most)))

        if not largest and math.isfinite(self.most) and not self.holds(_decimal(self.most, ROUND_FLOOR, self.digits)):
            raise ValueError(f"{self.goal} is out of reach: {self.parameter} = {self.most:g} does not keep it")
        start = 1 / self.guess if largest else self.guess
        near = crossing(cost, self.goal.delta or self.goal.epsilon, start, 1.1, 10.0**-self.digits / 4)[1]
        value = _decimal(1 / near if largest else near, ROUND_FLOOR if largest else ROUND_CEILING, self.digits)
        worse = 1 if largest else -1
        for _ in range(_MOST_STEPS):
            if self.holds(value):
                break
            value = _next(value, -worse, self.digits)
        for _ in range(_MOST_STEPS):
            beyond = _next(value, worse, self.digits)
            if not self.holds(beyond):
                return self.answer(value, beyond)
            value = beyond
        raise ValueError(f"{self.goal}: the search found no boundary near {self.parameter} = {value}")


def _exact(value: Value) -> Fraction | int:
    return value if isinstance(value, int) else Fraction(value)


def _decimal(value: float, rounding: str, digits: int) -> Decimal:
    found = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    return found.quantize(Decimal(1).scaleb(found.adjusted() - digits + 1))  # a round number shows how far it was searched


def _next(value: Decimal, direction: int, digits: int) -> Decimal:
    """The neighbour by one unit of the last digit."""
    return value + direction * Decimal(1).scaleb(value.adjusted() - digits + 1)


def design(
    name: str,
    parameters: Mapping[str, Any],
    goal: Goal,
    users: int | None = None,
    repeat: int | None = None,
    summed: bool = False,
) -> Answer:
    """The best value of the parameter that is left out, at which a plan keeps a goal.

    ``name``: STEM or STEM:VARIANT of a mechanism; ``guarantee``, any randomizer that is `epsilon`-LDP;
    ``binomial_noise``, a count of sensitivity `k` plus Bin(`n`, gamma); ``parameters``: all but the one that is asked
    for. Where none is missing, the number of users who must shuffle is asked for; ``goal``: what must be kept;
    ``users``: number of users whose views are shuffled, or `summed`; ``repeat``: number of repetitions. Returns certified at the
    value itself. The next one is refused; that no value farther off would do is not claimed where privacy is not
    monotone in the parameter. Raises ValueError where the parameters do not leave one question, or no value keeps the
    goal; Unsupported where no certified bound is known.

    Examples
    --------
    >>> answer = design("laplace", {"low": 0, "high": 1}, Goal(Fraction(1, 2)))
    >>> answer.parameter, answer.value, answer.refused
    ('scale', Decimal('2.00000'), Decimal('1.99999'))
    """
    if name == NOISE:
        return _binomial_noise(parameters, goal)

    def plan(m: Mechanism | Plan) -> Plan:
        seen = as_plan(m) if users is None else (Aggregate if summed else Shuffle)(m, users)
        return seen if repeat is None else Repeat(seen, repeat)

    if name == GUARANTEE:
        if "epsilon" in parameters:
            return _users(Guarantee(**_checked(name, parameters, "epsilon")), goal, users, repeat)
        _checked(name, parameters)
        return _epsilon(lambda epsilon: plan(Guarantee(epsilon)), goal, users, repeat)
    kind, variant = mechanisms.named(name)
    asked = _left_out(find(kind, variant), parameters)
    if asked is None:
        return _users(Run(build(kind, variant, parameters)), goal, users, repeat)

    def made(value: Any) -> Mechanism:
        return build(kind, variant, {**parameters, asked: value})

    if asked == "epsilon":
        return _epsilon(lambda epsilon: plan(made(epsilon)), goal, users, repeat)
    if users is not None or repeat is not None:
        raise ValueError(f"design of {name} for {asked} needs no --shuffle, --aggregate or --repeat: it is the whole system")
    return _ANSWERS[asked](made, goal)


def _checked(name: str, parameters: Mapping[str, Any], *known: str) -> dict[str, Fraction]:
    if set(parameters) - set(known):
        raise ParameterError(f"{name} needs no parameter but epsilon, got ({', '.join(parameters)})")
    return {key: Fraction(value) for key, value in parameters.items()}


def _left_out(owner: type[Mechanism], parameters: Mapping[str, Any]) -> str | None:
    """The parameter that is missing; None where none is.

    Raises ParameterError where no constructor lacks just one of those that can be searched for.
    """
    given, asked = set(parameters) - {CONSTRUCTOR}, []
    for name, make in constructors(owner).items():
        every = parameters_of(make)
        if "delta" in every and name != owner.__name__:
            continue  # parameters as a paper prints them for a promise: what is true is asked here
        needed = {p.name for p in every.values() if p.default is p.empty}
        if not given <= set(every):
            continue
        if needed <= given:
            return None
        missing = needed - given
        if len(missing) == 1 and (found := missing.pop()) in SEARCHED and (found == "epsilon") == (name != owner.__name__):
            asked.append((found, name))
    if asked:
        makers = [name for found, name in asked if found == asked[0][0]]
        if len(makers) > 1 and CONSTRUCTOR not in parameters:
            raise ParameterError(f"needs {CONSTRUCTOR} = one of {', '.join(makers)}: ({', '.join(parameters)}) fit them all")
        return asked[0][0]
    wanted = " or ".join(f"({', '.join(parameters_of(make))})" for make in constructors(owner).values())
    raise ParameterError(
        f"needs all of {wanted}, or all but one that is to be found ({', '.join(SEARCHED)}), got ({', '.join(parameters)})"
    )


def _epsilon(plan: Callable[[Fraction], Plan], goal: Goal, users: int | None, repeat: int | None) -> Answer:
    """The largest epsilon of one report."""
    from ldpaudit.accountants.shuffling.calibrate import largest_local_epsilon

    share = max(float(goal.epsilon), _LEAST_EPSILON) / (repeat or 1)
    guess = share if users is None else largest_local_epsilon(users, Fraction(share), goal.delta)
    return largest_epsilon(plan, goal, guess)


def largest_epsilon(
    plan: Callable[[Fraction], Mechanism | Plan], goal: Goal, guess: float, most: float = MOST_EPSILON, digits: int = DIGITS
) -> Answer:
    """The largest epsilon that a constructor takes at which what it makes is certified to keep a goal.

    ``plan``: a constructor's epsilon to what is deployed; a `ParameterError` where it allows none; ``goal``: what
    must be kept; ``guess``, ``most``: where the search starts, and the largest value that is tried; in nats;
    ``digits``: significant ones of the answer. Raises ValueError where no value keeps the goal; Unsupported where no
    certified bound is known.
    """
    return _Question(goal, "epsilon", "largest", plan, guess, most=most, digits=digits).real()


def _users(plan: Plan, goal: Goal, users: int | None, repeat: int | None) -> Answer:
    """The smallest number of users who must shuffle."""
    if users is not None or repeat is not None:
        raise ValueError(f"design needs one parameter left out with --shuffle, --aggregate or --repeat, got all of {plan}")
    epsilon0 = account(plan).epsilon(0)
    if not math.isfinite(epsilon0.high):
        raise Unsupported(plan, "its epsilon at delta = 0 is infinite, and shuffling theorems need it finite")
    if goal.delta == 0 and epsilon0.high > goal.epsilon:
        raise ValueError(f"{goal} is out of reach: at delta = 0 more users give no more privacy than one")
    if names_users(Shuffle(plan, 1)) and account(plan).epsilon(goal.delta).high > goal.epsilon:
        raise ValueError(f"{goal} is out of reach: reports name their users, and no number of users hides one")
    from ldpaudit.accountants.shuffling.calibrate import users_needed

    guess = users_needed(Fraction(epsilon0.high), goal.epsilon, goal.delta)
    question = _Question(goal, "users", "smallest", lambda n: Shuffle(plan, n) if n > 1 else plan, guess, most=MOST_USERS)
    return question.smallest_integer()


def _batch(made: Callable[[Any], Mechanism], goal: Goal) -> Answer:
    """The largest batch of TrieHH."""
    from ldpaudit.accountants.sampling.trie import largest_batch

    one: Any = made(1)
    found = largest_batch(one.users, one.threshold, one.levels, goal.epsilon, goal.delta)
    question = _Question(goal, "batch", "largest", made, found)
    best = next((n for n in range(found, max(found - _MOST_STEPS, 0), -1) if question.holds(n)), None)
    if best is None:
        raise ValueError(f"{goal} is out of reach: no batch of {one.users} users was found that keeps it")
    return question.answer(best, best + 1 if best < one.users else None)


def _rho(made: Callable[[Any], Mechanism], goal: Goal) -> Answer:
    """The smallest number of blanket messages per user of the shuffled Hadamard response, and of what is made of it."""
    from ldpaudit.mechanisms.shuffled_hadamard import printed_rho

    guess = printed_rho(goal.epsilon, goal.delta, getattr(made(1), "k", 1))
    return _Question(goal, "rho", "smallest", made, guess, most=2**40).smallest_integer()


def _scale(made: Callable[[Any], Mechanism], goal: Goal) -> Answer:
    """The smallest scale of Laplace noise; of Bucket's, whatever the public vectors."""
    one, profile = made(1), _account
    if mechanisms.stem(one) == "bucket_heavy_hitter":
        from ldpaudit.accountants.claims.bucket_heavy_hitter import whatever_the_vectors

        profile = whatever_the_vectors
    guess = account(one).epsilon(0).high / max(float(goal.epsilon), _LEAST_EPSILON)
    return _Question(goal, "scale", "smallest", made, guess, profile=profile).real()


def _gamma(made: Callable[[Any], Mechanism], goal: Goal) -> Answer:
    """The smallest share of noise: of the shuffled count-min sketch, whatever the hash functions; of labelled binary sums."""
    half: Any = made(Fraction(1, 2))
    profile = _account
    match mechanisms.stem(half):
        case "shuffled_count_min":
            from ldpaudit.accountants.claims.shuffled_count_min import sufficient_gamma
            from ldpaudit.accountants.counting.count_min import worst_replaced

            profile = lambda m: worst_replaced(m.users, m.gamma, m.held, m.rows)  # noqa: E731
            guess = float(sufficient_gamma(half, goal.epsilon, goal.delta))
        case "shuffled_binary_sums":
            from ldpaudit.accountants.shuffled_binary_sums import likely_gamma

            guess = likely_gamma(goal.epsilon, goal.delta, half.users)
        case _:
            raise Unsupported(half, "its gamma is not a noise level that can be searched for")
    return _Question(goal, "gamma", "smallest", made, guess, most=0.5, profile=profile).real()


_ANSWERS = {"batch": _batch, "rho": _rho, "scale": _scale, "gamma": _gamma}


@dataclass(frozen=True, slots=True)
class _Noise:
    """A count of some sensitivity plus binomial noise."""

    n: int
    k: int
    gamma: Fraction

    def __str__(self) -> str:
        return f"a count of sensitivity {self.k} plus Bin({self.n}, {float(self.gamma):g})"


def _binomial_noise(parameters: Mapping[str, Any], goal: Goal) -> Answer:
    if set(parameters) != {"n", "k"}:
        raise ParameterError(f"{NOISE} needs (n, k), got ({', '.join(parameters)})")
    from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
    from ldpaudit.accountants.counting.theorems import smallest_gamma

    n, k = (int(Fraction(parameters[key])) for key in ("n", "k"))
    guess = float(smallest_gamma(n, k, goal.epsilon, goal.delta))

    def profile(noise: _Noise) -> PrivacyProfile:
        return ShiftProfile(noise.n, noise.gamma, noise.k)

    return _Question(goal, "gamma", "smallest", lambda g: _Noise(n, k, g), guess, most=0.5, profile=profile).real()
