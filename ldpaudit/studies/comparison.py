"""Which system to choose: every oracle and every heavy-hitter system on the same users' values, at the same certified cost.

Contenders are found among the mechanisms: every constructor that takes an epsilon, and whose other parameters follow from the
data or have a usual size. The epsilon that is put into the constructor is searched, until what is made is certified to cost what
is asked, in its own model. Oracles are asked about a dictionary of frequent values; systems that name values know none.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from inspect import Parameter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit import mechanisms
from ldpaudit.accountants import account
from ldpaudit.accountants.shuffling.calibrate import largest_local_epsilon
from ldpaudit.core.number import brief
from ldpaudit.errors import Unsupported
from ldpaudit.files.user_data import BITS, Held
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Plan, Shuffle, as_plan
from ldpaudit.registry import ParameterError, constructors, parameters_of
from ldpaudit.studies.design import MOST_EPSILON, Goal, largest_epsilon
from ldpaudit.studies.estimation import Estimates

USUAL: Mapping[str, Any] = {
    "width": 1024, "hashes": 64, "beta": Fraction(1, 20),
}  # fmt: skip
"""Sizes of sketches, where a constructor asks for them."""
DRAWN = 64  # bits of a report of dBitFlip, or as many as there are values
DICTIONARY = 1_000  # values that oracles are asked about, and one that stands for all others
TOP = 100  # values that ought to be recovered
LEAST_EPSILON, LEAST_DELTA = Fraction(1, 10**6), Fraction(1, 10**300)
"""Nats, and the least delta above 0, that can be asked: below, errors and costs are no floats."""
CLOSE = Fraction(19, 20)  # part of the asked epsilon that a calibrated contender is certified to cost at least
_EXACT = Fraction(999, 1000)  # the same of one whose epsilon is not searched
_DIGITS = 4  # significant ones of an epsilon that is searched
_FORMULA = 1e6  # the largest epsilon that is put into a constructor which computes noise for several users' messages
_SUMMED = 100  # the sum of a coordinate's noises counts as this many drawn numbers
_WORK = 4 * 10**9
"""Numbers that all users' reports may have together: a contender that sends more is left out, and it is said."""


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared."""

    # what every contender may be certified to cost: epsilon from 1e-6 to 64, delta 0 or from 1e-300 to 1
    epsilon: Fraction
    delta: Fraction
    dictionary: int = DICTIONARY  # values that oracles are asked about
    top: int = TOP  # values that ought to be recovered
    seed: int = 0  # of all randomness
    post: str = "none"  # how oracles that estimate all counts process them: one of `postprocessing.WAYS`

    def __post_init__(self) -> None:
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise ValueError(f"a comparison needs 1e-6 <= epsilon <= {MOST_EPSILON}, got {brief(self.epsilon)}")
        if self.delta and not LEAST_DELTA <= self.delta < 1:
            raise ValueError(f"a comparison needs delta = 0 or 1e-300 <= delta < 1, got {brief(self.delta)}")
        if not 1 <= self.top <= self.dictionary:
            raise ValueError(f"a comparison needs 1 <= top <= dictionary, got top={self.top}, dictionary={self.dictionary}")


@dataclass(frozen=True, slots=True)
class Contender:
    """A mechanism's constructor."""

    stem: str  # where it stands
    variant: str
    constructor: str
    shuffled: bool = False  # whether all users' reports are shuffled
    for_ever: bool = False  # whether what users keep is certified, rather than one report of it

    def __str__(self) -> str:
        made = "" if self.constructor == "for_epsilon" else f" {self.constructor}"
        sent = ", shuffled" * self.shuffled + ", for ever" * self.for_ever
        return f"{self.stem}{f':{self.variant}' if self.variant else ''}{made}{sent}"

    @property
    def owner(self) -> type[Mechanism]:
        """The class."""
        return mechanisms.classes(self.stem)[self.variant]

    @property
    def names_values(self) -> bool:
        """Whether it names values by itself, rather than answering for some."""
        return self.owner.names_values

    @property
    def model(self) -> str:
        """Who sees what: ``local`` or ``shuffled``."""
        return "shuffled" if self.shuffled else self.owner.model

    def plan(self, m: Any, users: int) -> Plan:
        """What is deployed."""
        return Shuffle(m, users) if self.shuffled else as_plan(m.lifetime() if self.for_ever else m)

    def made(self, contest: Contest, users: int, values: int) -> Mechanism:
        """For this many users and values, with the contest's epsilon in the constructor."""
        return self._made({**_sizes(contest, users, values), **USUAL})

    def _made(self, known: Mapping[str, Any]) -> Mechanism:
        make = constructors(self.owner)[self.constructor]
        wanted = (name for name, each in parameters_of(make).items() if _is_asked(name, each))
        return make(**{name: known[name] for name in wanted})

    def calibrated(self, contest: Contest, users: int, values: int) -> Mechanism:
        """For this many users and values, certified to cost at most what is asked, and about as much where it can.

        Raises ValueError where nothing that it makes is certified to keep what is asked.
        """
        known = {**_sizes(contest, users, values), **USUAL}

        def made(epsilon: Fraction) -> Mechanism:
            try:
                return self._made({**known, "epsilon": epsilon})
            except ValueError as error:
                raise ParameterError(str(error)) from None

        asked, refused, cost = contest.epsilon, None, float(contest.epsilon)
        try:
            m = made(asked)
        except ParameterError as error:
            refused = error  # less noise than it allows; it may allow more
        else:
            cost = self.certified(m, contest, users)
            if _EXACT * asked <= cost <= asked:
                return m
        guess, most = min(max(float(asked) ** 2 / cost, float(asked) / 1e3), _FORMULA), _FORMULA
        if self.shuffled:
            guess, most = largest_local_epsilon(users, asked, contest.delta), MOST_EPSILON
        try:
            answer = largest_epsilon(lambda e: self.plan(made(e), users), Goal(asked, contest.delta), guess, most, _DIGITS)
        except ValueError as error:
            raise refused or error from None
        return made(Fraction(answer.value))

    def certified(self, m: Mechanism, contest: Contest, users: int) -> float:
        """The upper end of epsilon at the contest's delta, in its own model."""
        profile = account(self.plan(m, users))
        found = profile.epsilon(contest.delta).high
        # Between two points of a curve epsilon may be enclosed less closely than delta is at the asked point.
        kept = found > contest.epsilon and profile.delta(contest.epsilon).high <= contest.delta
        return float(contest.epsilon) if kept else found


@dataclass(frozen=True, slots=True)
class Score:
    """How a contender did."""

    mechanism: str  # with its parameters
    epsilon: float  # certified at the contest's delta, in its own model
    bits: float  # that a user sends
    # root mean square and largest error of the counts of the values that ought to be recovered; in users. Of a system
    # that names values, of those that it named; NaN where it named none
    error: float
    largest_error: float
    # share of the values that ought to be recovered that are among as many of the largest counts, or named; share of
    # what is named that is among as many of the most frequent values
    recall: float
    precision: float
    missed: int  # users of the most frequent value that is not recovered
    found_from: float  # the count from which on a system that names values is built to name one; NaN of an oracle
    seconds: float  # of users and server together, in one process
    megabytes: float
    model: str = "local"  # who sees what: ``local`` or ``shuffled``
    # whether `epsilon` is about what was asked; else its errors are not those of the same privacy as the others'
    is_calibrated: bool = True
    knows_dictionary: bool = True  # whether it was run on places in the dictionary, rather than on values


def contenders() -> Iterator[Contender]:
    """All that an epsilon, users, values and usual sizes suffice to make, and what has a formula for shuffled users, shuffled too.

    Where a local constructor has its noise searched, what a formula would add is only another way to the same noise. A size that a
    mechanism knows the best one of is not given. What keeps answers contends by one report, and by all that it may ever send.
    """
    for stem in mechanisms.stems():
        for variant, owner in mechanisms.classes(stem).items():
            makers = [name for name, make in constructors(owner).items() if name != owner.__name__ and _suffices(make)]
            local = [name for name in makers if not name.startswith("shuffled")]
            if "optimal" in local:
                local = [name for name in local if name != "for_epsilon"]
            yield from (Contender(stem, variant, name) for name in local)
            if hasattr(owner, "lifetime"):
                yield from (Contender(stem, variant, name, for_ever=True) for name in local)
            if len(local) < len(makers):
                yield from (Contender(stem, variant, name, shuffled=True) for name in local)


def _suffices(make: Callable[..., Any]) -> bool:
    """Whether what is known suffices for a constructor that takes an epsilon."""
    parameters = parameters_of(make)
    required = {key for key, each in parameters.items() if _is_asked(key, each)}
    return "epsilon" in parameters and bool({"k", "domain"} & set(parameters)) and required <= _KNOWN


_KNOWN = {"epsilon", "delta", "users", "k", "domain", "d", *USUAL}


def _is_asked(name: str, parameter: Parameter) -> bool:
    """Required, or about the data."""
    return parameter.default is Parameter.empty or name in ("users", "domain")


def _sizes(contest: Contest, users: int, values: int) -> dict[str, Any]:
    sizes = {"users": users, "k": values, "domain": values, "d": min(DRAWN, values)}
    return {"epsilon": contest.epsilon, "delta": contest.delta, **sizes}


def score(contender: Contender, contest: Contest, held: Held) -> Score:
    """Run a contender on everybody's value.

    Raises Unsupported where it sends more than can be drawn; ValueError where it is not made for this many users or
    values.
    """
    if contender.names_values:
        return _named(contender, contest, held)
    values = min(contest.dictionary, len(held.values))
    m = _for_dictionary(contender, contest, held.users, values + 1)
    data = held.frequent(values)
    _require_few(m, held.users)
    start = time.perf_counter()
    ranked, counts = _counts(m, data, np.arange(values), np.random.default_rng(contest.seed), contest.post)
    seconds = time.perf_counter() - start
    truth = np.bincount(data, minlength=values)[:values]
    top = min(contest.top, values)
    # Post-processing keeps the order, but makes many counts 0 alike: these would be ranked as they are in truth.
    found = set(np.argsort(-ranked, kind="stable")[:top].tolist())
    off = np.abs(counts - truth)[:top]
    recall = len(found & set(range(top))) / top
    missed = next((int(truth[i]) for i in range(values) if i not in found), 0)
    return _scored(m, contender, contest, held.users, off, recall, recall, missed, seconds)


def _for_dictionary(contender: Contender, contest: Contest, users: int, values: int) -> Mechanism:
    """Calibrated for this many values, or where it wants a power of two, for as many as that."""
    try:
        return contender.calibrated(contest, users, values)
    except ValueError:
        return contender.calibrated(contest, users, 1 << (values - 1).bit_length())


def _counts(
    m: Mechanism, data: NDArray[np.int64], asked: ArrayLike, rng: np.random.Generator, post: str = "none"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimated counts of values, and these post-processed; a sketch is queried, an oracle that lists all counts has them."""
    result = _run(m, data, rng)
    if np.shape(result) != (len(m.inputs),):
        if (query := getattr(m, "query", None)) is None:
            raise Unsupported(m, "it neither lists counts of values nor answers queries for them")
        return (found := np.asarray(query(result, asked), dtype=np.float64)), found
    processed = found = np.asarray(result, dtype=np.float64)
    if type(m).truth is Mechanism.truth:
        processed = Estimates(m, len(data), (), found).processed(post)
    return found[np.asarray(asked)], processed[np.asarray(asked)]


def _named(contender: Contender, contest: Contest, held: Held) -> Score:
    """Of a system that names values: of numbers as long as it takes, or else of the places in the dictionary."""
    data, knows = held.numbered(), False
    try:
        m = contender.calibrated(contest, held.users, 1 << BITS)
    except ValueError:
        knows, values = True, min(contest.dictionary, len(held.values))
        data = held.frequent(values)
        m = _for_dictionary(contender, contest, held.users, values + 1)
    _require_few(m, held.users)
    rng = np.random.default_rng(contest.seed)
    start = time.perf_counter()
    result = _run(m, data, rng)
    named: dict[int, float] = result if isinstance(result, dict) else {}
    if not isinstance(result, dict):  # it names one value, without a count
        naming: Any = m
        takes_users = "users" in parameters_of(naming.heavy_hitter)
        one = naming.heavy_hitter(result, held.users) if takes_users else naming.heavy_hitter(result)
        named = {} if one is None else {int(one): math.nan}
    seconds = time.perf_counter() - start
    different, often = np.unique(data, return_counts=True)
    order = different[np.argsort(-often, kind="stable")].tolist()
    truth = dict(zip(different.tolist(), often.tolist(), strict=True))
    wanted, first = set(order[: contest.top]), set(order[: len(named)])
    off = np.array([abs(f - truth.get(x, 0)) for x, f in named.items()])
    missed = next((truth[x] for x in order if x not in named), 0)
    precision = len(first & set(named)) / len(named) if named else math.nan
    found = _scored(m, contender, contest, held.users, off, len(wanted & set(named)) / len(wanted), precision, missed, seconds)
    return replace(found, found_from=_found_from(contender.stem, m, held.users), knows_dictionary=knows)


def _found_from(stem: str, m: Any, users: int) -> float:
    """The count from which on it names values, where the mechanism or its claims know it."""
    if hasattr(m, "found_from"):
        return float(m.found_from(users))
    try:
        claims = import_module(f"ldpaudit.accountants.claims.{stem}")
    except ModuleNotFoundError:
        return math.nan
    return float(claims.found_from(m, users)) if hasattr(claims, "found_from") else math.nan


def _scored(
    m: Mechanism, contender: Contender, contest: Contest, users: int,
    off: NDArray[np.float64], recall: float, precision: float, missed: int, seconds: float,
) -> Score:  # fmt: skip
    error, largest = (math.sqrt(float(np.mean(off**2))), float(off.max())) if len(off) else (math.nan, math.nan)
    cost, held = contender.certified(m, contest, users), math.nan
    with suppress(ImportError):  # where the system does not tell the most that this process has held
        import resource

        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    close = CLOSE * contest.epsilon <= cost <= contest.epsilon
    return Score(str(m), cost, bits(m), error, largest, recall, precision, missed, math.nan, seconds, held, contender.model, close)


def bits(m: Mechanism) -> float:
    """That one user's report takes: as it says, or the logarithm of the number of views, or 64 for every float of one."""
    if (said := getattr(m, "bits_a_user", None)) is not None:
        return float(said)
    try:
        return math.log2(m.law(m.inputs[0]).size)
    except Unsupported:
        floats = getattr(m, "coordinates", None) or getattr(m, "measurements", None)
        return 64.0 * (floats or np.size(np.asarray(m.sample(m.inputs[0], 1, np.random.default_rng(0)))))


def _run(m: Mechanism, data: NDArray[np.int64], rng: np.random.Generator) -> Any:
    """The whole system; where it has a shorter way to results of the same law, by that."""
    return getattr(m, "run_in_law", m.run)(data, rng)


def _require_few(m: Mechanism, users: int) -> None:
    """Refuse what draws more numbers than can be drawn: not what draws the sums of all reports, or the counts of messages."""
    if hasattr(m, "bits_a_user"):
        return
    drawn = _SUMMED if hasattr(m, "run_in_law") else users
    if (numbers := drawn * bits(m) / 64) > _WORK / 8:
        raise Unsupported(m, f"its reports are {numbers:.2g} words of 64 bits, but at most {_WORK / 8:.2g} are drawn")
