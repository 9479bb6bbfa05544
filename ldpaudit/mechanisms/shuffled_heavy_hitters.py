r"""Heavy hitters in the shuffled model: an oracle for each length of prefix, and a search from short prefixes to long ones.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Appendix D, over Hadamard
response in place of the sketch. It asks for a threshold T of at least twice the oracles' error; at four times the error
every prefix that is kept has T/4 holders, so that at most 4 n/T of a length are.
"""

from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.partitions import Counts
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import OneElement
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, driven, relayed
from ldpaudit.mechanisms.shared.linear_codes.kernels import random_members_of_few
from ldpaudit.mechanisms.shared.parameters import exact, integer, integers
from ldpaudit.mechanisms.shuffled_hadamard import LARGEST_DOMAIN, ShuffledHadamard, printed_rho
from ldpaudit.profile import Number

Integers: TypeAlias = NDArray[np.int64]
Ask: TypeAlias = Callable[[int, Integers], NDArray[np.float64]]  # estimated numbers of holders of prefixes of a length


@dataclass(frozen=True, slots=True)
class ShuffledHeavyHitters(InParts, OneElement):
    """A Hadamard oracle for each length of prefix, to which everybody sends the prefix of that length of the value.

    Every oracle is an instance of Algorithm 1 with one element and `rho` blanket messages per user, shuffled by itself. The
    server asks for both extensions of each prefix that it has kept, and keeps those that are estimated at half of
    `threshold` or more; the values that it keeps last are named. As they may be any, and are estimated by what chance
    favours, `run` is not unbiased; the oracles are.

    A view counts messages in every oracle: in the kernels of the prefixes of value 0 and of the last value. All other users
    hold the last value, of which every prefix differs from value 0's.

    Parameters
    ----------
    domain : int
        Number of values, from 2 to 2**40; inputs are ``range(domain)``, of as many bits as the last one has.
    threshold : int
        T, from 1 to n: number of holders from which on a value is to be named.

    Examples
    --------
    >>> m = ShuffledHeavyHitters(users=10**4, domain=1 << 20, tau=14, rho=400, threshold=700)
    >>> data = [123_456] * 4000 + [654_321] * 2000 + list(range(4000))
    >>> list(m.run(data, np.random.default_rng(0)))
    [123456, 654321]
    """

    core = "range_queries"
    title = "heavy hitters, shuffled, one Hadamard oracle per prefix length"
    unbiased = False

    users: int
    domain: int
    tau: int
    rho: int
    threshold: int

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 50), domain=(2, LARGEST_DOMAIN), tau=(1, 512), rho=(1, 1 << 40))
        integer(self, "threshold", 1, self.users)

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, users: int, domain: int, beta: Number = Fraction(1, 10)) -> Self:
        """Appendix D over Algorithm 1: epsilon and delta divided by the lengths, tau and rho of Theorem 4.3 rounded up.

        The threshold is twice the error that no estimate exceeds, except with probability `beta`.
        """
        start = cls(users, domain, max(1, (users - 1).bit_length()), 1, 1)
        rho = printed_rho(exact(epsilon) / start.bits, exact(delta) / start.bits, 1)
        off = cls(users, domain, start.tau, rho, 1).error_of_all(beta)
        return cls(users, domain, start.tau, rho, -int(-2 * off // 1))

    @classmethod
    def with_few_kept(cls, users: int, domain: int, tau: int, rho: int, beta: Number = Fraction(1, 10)) -> Self:
        """The least threshold that is four times the error of all estimates that are asked for, except with probability `beta`."""
        failure = exact(beta)

        def is_enough(threshold: int) -> bool:
            return 4 * cls(users, domain, tau, rho, threshold).error_of_asked(failure) <= threshold

        found = 1 + bisect_left(range(1, users), True, key=is_enough)
        if found == users and not is_enough(users):
            raise ValueError(f"{cls.__name__}.with_few_kept needs less noise or more users, got users={users}, rho={rho}")
        return cls(users, domain, tau, rho, found)

    @property
    def bits(self) -> int:
        """Lengths of prefixes: as many as a value has bits."""
        return (self.domain - 1).bit_length()

    @property
    def inputs(self) -> tuple[int, int]:
        """The first and the last value, whose first bits differ; `run` takes all values."""
        return 0, self.domain - 1

    @property
    def oracles(self) -> int:
        """One for each length."""
        return self.bits

    @property
    def most_kept(self) -> int:
        """Most prefixes of a length that are kept where no estimate is off by more than a quarter of the threshold: 4 n/T."""
        return 4 * self.users // self.threshold

    def oracle(self, length: int) -> ShuffledHadamard:
        """The oracle for prefixes of this length."""
        return ShuffledHadamard(self.users, 1 << length, self.tau, self.rho)

    def error_of_all(self, beta: Number) -> float:
        """The error that no estimate of any prefix exceeds, except with probability `beta`, rounded up; in users."""
        return self.error(self.rho + 1, (2 << self.bits) - 2, exact(beta))

    def error_of_asked(self, beta: Number) -> float:
        """The same of the prefixes that are asked for, at most 8 n/T of each length.

        Which these are is decided by shorter prefixes' oracles, of which the noise is independent. As long as it is at most
        T/4, no more are asked for.
        """
        asked = sum(min(1 << length, 2 * self.most_kept) for length in range(1, self.bits + 1))
        return self.error(self.rho + 1, asked, exact(beta))

    def run(self, data: ArrayLike, rng: np.random.Generator) -> Any:
        """The whole system: users' values to a dict of the values that are named, with estimated counts, by falling count.

        With exactly the joint law of the search on all users' messages; of these only what is asked for is drawn. Raises
        Unsupported where more prefixes of a length are kept than `most_kept`.
        """
        values, numbers = self._held(data)
        return self.search(lambda length, asked: self.asked_of(values, numbers, length, asked, rng))

    def search(self, ask: Ask) -> dict[int, float]:
        """The values that are named, with their estimates, by falling count; `ask` estimates prefixes of a length."""
        found: dict[int, float] = driven(self._searched(), lambda question: ask(*question))
        return found

    def _searched(self) -> Generator[tuple[int, Integers], NDArray[np.float64], dict[int, float]]:
        """The search: it asks for prefixes of a length, and is sent their estimates."""
        kept, counts = np.zeros(1, dtype=np.int64), np.zeros(1)
        for length in range(1, self.bits + 1):
            # Both extensions of each prefix, of which some value begins with them.
            both = (kept[:, None] << 1 | np.arange(2)).ravel()
            asked = both[both <= (self.domain - 1) >> (self.bits - length)]
            estimates = yield length, asked
            large = 2 * estimates >= self.threshold
            kept, counts = asked[large], estimates[large]
            if len(kept) > self.most_kept:
                many = f"{len(kept)} prefixes of {length} bits are kept, more than {self.most_kept}"
                raise Unsupported(self, f"{many}: some estimate is off by more than a quarter of the threshold")
        order = np.argsort(-counts, kind="stable")
        return dict(zip(kept[order].tolist(), counts[order].tolist(), strict=True))

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run`, over parts: a question for each length; every part counts what its users' messages say of what is asked for."""
        if sum(users) != self.users:
            raise ValueError(f"{type(self).__name__}.run needs the values of {self.users} users, got {sum(users)}")

        def heard(asked: tuple[int, Integers], counts: Integers) -> NDArray[np.float64]:
            return self.oracle(asked[0]).debias(counts, self.users)

        return relayed(self._searched(), lambda asked: [asked] * len(users), heard)

    def answer(self, question: tuple[int, Integers], part: Counts, rng: np.random.Generator) -> Integers:
        """Messages of a part's users that speak for the prefixes that are asked for."""
        held = part.numbered()
        values, place = np.unique(held.values, return_inverse=True)
        self._require_values(values)
        numbers = np.bincount(place.ravel(), weights=held.holders).astype(np.int64)
        return self._speaking(values.astype(np.int64), numbers, *question, rng)

    def asked_of(
        self, values: Integers, numbers: Integers, length: int, asked: Integers, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Unbiased estimates of the prefixes that are asked for, where this many users hold each of the values, in rising order."""
        return self.oracle(length).debias(self._speaking(values, numbers, length, asked, rng), int(numbers.sum()))

    def _speaking(self, values: Integers, numbers: Integers, length: int, asked: Integers, rng: np.random.Generator) -> Integers:
        """Messages of this many users of each value that speak for the prefixes that are asked for."""
        prefixes = values >> (self.bits - length)
        starts = np.flatnonzero(np.diff(prefixes, prepend=-1))
        held, users = np.add.reduceat(numbers, starts), int(numbers.sum())
        return random_members_of_few(asked + 1, prefixes[starts] + 1, held, users * self.rho, self.tau, rng)

    def _held(self, data: ArrayLike) -> tuple[Integers, Integers]:
        """Values that somebody holds, in rising order, and by how many."""
        values, numbers = np.unique(np.asarray(data), return_counts=True)
        self._require_values(values)
        if numbers.sum() != self.users:
            raise ValueError(f"{type(self).__name__}.run needs the values of {self.users} users, got {numbers.sum()}")
        return values.astype(np.int64), numbers.astype(np.int64)

    def _require_values(self, rising: NDArray[Any]) -> None:
        if not len(rising) or rising.dtype.kind not in "iu" or rising[0] < 0 or rising[-1] >= self.domain:
            raise ValueError(f"{type(self).__name__}.run needs at least one user, and a value in range({self.domain}) of each")

    def truth(self, data: ArrayLike) -> Any:
        """The values that at least `threshold` users hold, with their numbers, by falling count."""
        values, numbers = self._held(data)
        many = [(x, float(c)) for x, c in zip(values.tolist(), numbers.tolist(), strict=True) if c >= self.threshold]
        return dict(sorted(many, key=lambda pair: -pair[1]))

    def randomize(self, x: int, length: int, rng: np.random.Generator) -> Integers:
        """One user's messages to the oracle of a length, as Algorithm 1 prints them."""
        return self.oracle(length).randomize(x >> (self.bits - length), rng)
