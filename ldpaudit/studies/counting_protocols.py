"""Protocols that count values, in four models: each with the noise of a closed form, and with the least that is certified.

All keep the same promise for the same users and values. The closed forms are those of Ghazi, Golowich, Kumar, Pagh, Velingker
2019, with constants that are their sources', restored from proofs, or for RAPPOR ours: their theorems print none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import (
    randomized_response,
    shuffled_binary_sums,
    shuffled_count_min,
    shuffled_hadamard,
    sign_oracle,
    unary_encoding,
)
from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.accountants.limits.central import laplace_error
from ldpaudit.accountants.numerics.search import first
from ldpaudit.core.expression import parse
from ldpaudit.core.number import brief
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.laplace import LaplaceHistogram
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.profile import Number
from ldpaudit.registry import build, constructors, find
from ldpaudit.studies.design import Goal, design

MOST_USERS, MOST_VALUES = 1 << 40, 1 << 24  # beyond, limits are not computed, and not all counts are simulated
BETA = Fraction(1, 10)
"""Probability with which the error of a protocol whose expected error has no bound here may be exceeded."""


class Model(StrEnum):
    """Who sees what."""

    local = "local"
    one_message = "one message"
    many_messages = "many messages"
    central = "central"


class Origin(StrEnum):
    """Where a protocol's noise comes from."""

    closed = "closed form"
    certified = "certified"


@dataclass(frozen=True, slots=True)
class Setting:
    """A promise, and the users and values for which it is made."""

    users: int  # n, from 2 to 2**40, and B, from 2 to 2**24
    values: int
    goal: Goal  # epsilon in (0, 1], as in the theorems, and delta in (0, 1)

    def __post_init__(self) -> None:
        inside = 2 <= self.users <= MOST_USERS and 2 <= self.values <= MOST_VALUES
        if not (inside and 0 < self.goal.epsilon <= 1 and self.goal.delta > 0):
            found = f"n={brief(self.users)}, B={brief(self.values)} and {self.goal}"
            raise ValueError(f"needs 2 <= n <= 2**40, 2 <= B <= 2**24, 0 < epsilon <= 1 and 0 < delta < 1, got {found}")

    @classmethod
    def of(cls, n: int, B: int, epsilon: Number, delta: Number) -> Self:
        """By the paper's names. Raises ValueError where one lies outside its domain."""
        return cls(n, B, Goal(Fraction(epsilon), Fraction(delta)))

    @property
    def named(self) -> str:
        """As words of a command, by the paper's names."""
        return words({"n": self.users, "B": self.values, "epsilon": self.goal.epsilon, "delta": self.goal.delta})

    @property
    def promise(self) -> dict[str, Any]:
        """As parameters of a constructor."""
        return {"epsilon": self.goal.epsilon, "delta": self.goal.delta}


@dataclass(frozen=True, slots=True)
class System:
    """A protocol with its noise."""

    mechanism: Mechanism  # what a user runs, or the whole shuffled system
    noise: str  # the parameter that decides about privacy, and its value
    error: Enclosure  # from 0 to a bound of the largest error over all values, for any data; in users
    messages: Fraction  # of a user, on average
    bits: int  # of a message
    reads: Fraction  # numbers that the server reads to answer for one value
    command: str  # what certifies the noise
    # with which probability it may be exceeded; 0 where the bound is one of the expected error
    exceeded: Fraction = Fraction(0)

    @property
    def bits_a_user(self) -> Fraction:
        """Of all messages."""
        return self.messages * self.bits


@dataclass(frozen=True, slots=True)
class Protocol:
    """A way of counting values, for any setting."""

    model: Model  # who sees what
    name: str  # of the protocol
    origin: Origin  # of its noise
    make: Callable[[Setting], System]  # the system at a setting; a ValueError where there is none
    needs: str = ""  # what is not fulfilled there
    # whether there is one at a setting, where that is told sooner than by `make`
    check: Callable[[Setting], bool] | None = None

    def system(self, s: Setting) -> System | None:
        """The system, or None where there is none."""
        try:
            return self.make(s)
        except ValueError:  # every parameter is in its domain, so it is out of reach
            return None

    def least_users(self, s: Setting) -> int:
        """From how many users on there is a system; 2**40 where fewer are not enough."""
        check = self.check or (lambda at: self.system(at) is not None)
        return first(lambda n: check(replace(s, users=n)), s.users, 2, MOST_USERS)


def words(parameters: Mapping[str, Any]) -> str:
    """As words of a command."""
    return " ".join(f"{key}={_exactly(value)}" for key, value in parameters.items())


def _exactly(value: Any) -> str:
    """A decimal that is the number, or else the fraction."""
    if not isinstance(value, Fraction):
        return str(value)
    short = f"{float(value):g}"
    return short if parse(short) == value else str(value)


_Noisy = Callable[[Setting], tuple[Any, str]]
"""A mechanism with its noise, and the command that tells of it."""


def _designed(stem: str, parameters: Mapping[str, Any], s: Setting, *, shuffled: bool = False) -> tuple[Any, str]:
    """The mechanism with the least noise, and the command that finds it."""
    answer = design(stem, parameters, s.goal, s.users if shuffled else None)
    goal = f"--epsilon {_exactly(s.goal.epsilon)} --delta {_exactly(s.goal.delta)}"
    command = f"ldpaudit design {stem} {words(parameters)} {goal}{f' --shuffle {s.users}' if shuffled else ''}"
    exact = answer.value if isinstance(answer.value, int) else Fraction(answer.value)
    return build(stem, "", {**parameters, answer.parameter: exact}), command


def _closed(stem: str, constructor: str, parameters: Mapping[str, Any], s: Setting, *, shuffled: bool = False) -> tuple[Any, str]:
    """The mechanism with the noise of a closed form, and the command that tells what it costs."""
    given = {**s.promise, **parameters}
    asked = f"{f' --shuffle {s.users}' if shuffled else ''} --delta {_exactly(s.goal.delta)}"
    command = f"ldpaudit account {stem} {words({'constructor': constructor, **given})}{asked}"
    return constructors(find(stem))[constructor](**given), command


def _sign_oracle(s: Setting) -> System:
    m = SignOracle.for_epsilon(s.goal.epsilon, s.users, s.values)
    given = words({"epsilon": s.goal.epsilon, "users": s.users, "domain": s.values})
    command = f"ldpaudit account sign_oracle constructor=for_epsilon {given}"
    return System(m, f"p = {float(m.p):.6g}", sign_oracle.expected_error_bound(m), Fraction(1), 1, Fraction(s.users), command)


def _of_vectors(m: UnaryEncoding, command: str, s: Setting) -> System:
    error, noise = unary_encoding.errors(m, s.users).expected_error(), f"q = {float(m.q):.6g}"
    return System(m, noise, error, Fraction(1), s.values, Fraction(s.users), command)


def _of_draws(m: KaryRandomizedResponse, command: str, s: Setting) -> System:
    error, noise = randomized_response.errors(m, s.users).expected_error(), f"gamma = {float(s.values * m.lie):.6g}"
    return System(m, noise, error, Fraction(1), _label(s), Fraction(s.users), command)


def _label(s: Setting) -> int:
    """Bits of a value."""
    return (s.values - 1).bit_length()


def _of_hadamard(m: ShuffledHadamard, command: str, s: Setting) -> System:
    sent = Fraction(m.k + m.rho)
    error = shuffled_hadamard.expected_error_bound(m, s.values)
    return System(m, f"rho = {m.rho}", error, sent, m.message_bits, s.users * sent * m.tau, command)


def _sums(s: Setting) -> System:
    m, command = _designed("shuffled_binary_sums", {"users": s.users, "values": s.values}, s)
    error, noise = shuffled_binary_sums.expected_error_bound(m), f"gamma = {float(m.gamma):.6g}"
    return System(m, noise, error, m.expected_messages, m.message_bits, Fraction(1), command)


def _sums_exist(s: Setting) -> bool:
    half = ShuffledBinarySums(s.users, s.values, Fraction(1, 2))
    return shuffled_binary_sums.profile(half).delta(s.goal.epsilon).high <= s.goal.delta


def _count_min_sizes(s: Setting) -> dict[str, Any]:
    """Rows and buckets of Theorem 4.7."""
    return {"users": s.users, "domain": s.values, "rows": (2 * s.values - 1).bit_length(), "buckets": 2 * s.users}


def _count_min_exists(s: Setting) -> bool:
    rows = _count_min_sizes(s)["rows"]
    return worst_replaced(s.users, Fraction(1, 2), 1, rows).delta(s.goal.epsilon).high <= s.goal.delta


def _of_count_min(m: ShuffledCountMin, command: str, s: Setting) -> System:
    sent, bits = m.rows + m.rows * m.buckets * m.gamma, (m.rows * m.buckets - 1).bit_length()
    exceeded = min(Fraction(1), BETA + shuffled_count_min.missed(m))
    error, noise = shuffled_count_min.error(m, BETA), f"gamma = {float(m.gamma):.6g}"
    return System(m, noise, error, sent, bits, Fraction(m.rows), command, exceeded)


def _laplace(s: Setting) -> System:
    m = LaplaceHistogram.for_epsilon(s.goal.epsilon, s.values)
    command = f"ldpaudit account laplace:histogram {words({'k': s.values, 'scale': m.scale})}"
    error = laplace_error(s.values, s.goal.epsilon)
    return System(m, f"scale = {float(m.scale):g}", error, Fraction(1), _label(s), Fraction(1), command)


def _protocols(
    model: Model, name: str, of: Callable[[Any, str, Setting], System], closed: _Noisy, certified: _Noisy, *more: Any
) -> tuple[Protocol, Protocol]:
    """With the noise of a closed form, and with the least that is certified."""
    return (
        Protocol(model, name, Origin.closed, lambda s: of(*closed(s), s), *more[:1]),
        Protocol(model, name, Origin.certified, lambda s: of(*certified(s), s), *more),
    )


_THIN = "gamma <= 1/2"
SIGNS = Protocol(Model.local, "sign oracle", Origin.certified, _sign_oracle)
VECTORS = _protocols(
    Model.one_message, "RAPPOR", _of_vectors,
    lambda s: _closed("unary_encoding", "shuffled_in_closed_form", {"users": s.users, "k": s.values}, s, shuffled=True),
    lambda s: _designed("unary_encoding", {"k": s.values, "constructor": "symmetric"}, s, shuffled=True), "q < 1/2",
)  # fmt: skip
DRAWS = _protocols(
    Model.one_message, "randomized response", _of_draws,
    lambda s: _closed("randomized_response", "shuffled_as_printed", {"users": s.users, "k": s.values}, s, shuffled=True),
    lambda s: _designed("randomized_response", {"k": s.values}, s, shuffled=True), "gamma < 1",
)  # fmt: skip
SUMS = Protocol(Model.many_messages, "labelled binary sums", Origin.certified, _sums, _THIN, _sums_exist)
HADAMARD = _protocols(
    Model.many_messages, "Hadamard response", _of_hadamard,
    lambda s: _closed("shuffled_hadamard", "as_printed", {"users": s.users, "domain": 1 << _label(s)}, s),
    # The least domain that holds the values, and tau of Theorem 4.3, which has but powers of two in mind.
    lambda s: _designed("shuffled_hadamard", {"users": s.users, "domain": 1 << _label(s), "tau": (s.users - 1).bit_length()}, s),
)  # fmt: skip
COUNT_MIN = _protocols(
    Model.many_messages, "count-min", _of_count_min,
    lambda s: _closed("shuffled_count_min", "as_printed", {"users": s.users, "domain": s.values}, s),
    lambda s: _designed("shuffled_count_min", _count_min_sizes(s), s), _THIN, _count_min_exists,
)  # fmt: skip
LAPLACE = Protocol(Model.central, "Laplace noise", Origin.certified, _laplace)


def largest_error(m: Mechanism, s: Setting, rng: np.random.Generator) -> float:
    """The largest error over all values in one run, where all users hold one value; in users."""
    found = _estimates(m, s, rng)
    found[0] -= s.users
    return float(np.abs(found[: s.values]).max())


def _estimates(m: Mechanism, s: Setting, rng: np.random.Generator) -> NDArray[np.float64]:
    match m:
        case SignOracle():
            return m.run_with_random_columns({0: s.users}, rng)
        case ShuffledHadamard():
            held = np.zeros(2 * m.domain, dtype=np.int64)
            held[m.elements(0)[0]] = s.users
            return m.from_counts(held, s.users, rng)
        case ShuffledCountMin():
            return m.from_counts(np.array([0]), np.array([s.users]), np.arange(s.values), rng)
        case LaplaceHistogram():
            found = m.estimate(m.sample(0, 1, rng))
            found[0] += s.users - 1  # a curator adds the noise once
            return found
        case UnaryEncoding() | KaryRandomizedResponse() | ShuffledBinarySums():
            return m.run_on_counts({0: s.users}, rng)
    raise ValueError(f"a simulation needs a protocol of these tables, got {m.title}")
