"""A randomized map with its parameters, and the law of what it shows.

What a *view* is, by model: local, one user's report; shuffled, the multiset of all messages; interactive, one user's
transcript; sampled, what is released; central, what is released of sums. An *input* is, accordingly, a value, a data set, a
stream, a data set, what one user adds to the sums.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import show
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

View: TypeAlias = Any  # one thing the adversary sees: an int, a float, a tuple of ints
Views: TypeAlias = Any  # many of them: an array whose first axis counts views, or a sequence

ENUMERABLE = 1 << 16  # laws with more views than this are not enumerated
LARGEST_VIEW = (1 << 63) - 1  # the largest number that a sampler draws
SHORT = 64  # numbers of a view that are drawn as soon as one is


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution on finitely many views, given by structure: its table is only built where it is small.

    ``probability``: view to its probability, a Fraction; ``views``: no argument to an iterable of all views, each once;
    `Rows`, or a range, where there are too many to be listed; ``size``: how many views there are.
    """

    probability: Callable[[View], Fraction]
    views: Callable[[], Iterable[View]]
    size: int

    def items(self) -> Iterator[tuple[View, Fraction]]:
        """Views with their probabilities.

        Raises Unsupported where there are more than 65,536 views; ImplementationError at the view after the last one
        that `size` allows: there may be no end of them.
        """
        if self.size > ENUMERABLE:
            raise Unsupported(f"a law on {self.size} views", f"only laws on at most {ENUMERABLE} views are enumerated")
        return self._listed()

    def _listed(self) -> Iterator[tuple[View, Fraction]]:
        for number, y in enumerate(self.views()):
            if number == self.size:
                raise ImplementationError(f"a law of size {self.size} needs at most that many views, but has more")
            yield y, self.probability(y)


@dataclass(frozen=True, slots=True)
class Rows:
    """Views that are rows of whole numbers, each in the range of its column; of these all, or those that `where` keeps.

    ``columns``: None is empty; ``where``: a matrix of such rows to which of them are views, shape ``(rows,)``;
    ``listed``: no argument to all views, where `where` leaves out some.
    """

    columns: tuple[range, ...]
    where: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None
    listed: Callable[[], Iterable[View]] | None = None

    def __iter__(self) -> Iterator[View]:
        return iter(product(*self.columns) if self.listed is None else self.listed())

    def have(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which rows of a matrix of integers are among these views."""
        found = self.within(rows)
        return found if self.where is None else found & self.where(rows)

    def within(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Of which rows each number is in its column's range."""
        ends = ((min(r[0], r[-1]), min(max(r[0], r[-1]), LARGEST_VIEW), abs(r.step)) for r in self.columns)
        least, most, step = np.array(list(ends), dtype=np.int64).T
        found: NDArray[np.bool_] = ((rows >= least) & (rows <= most)).all(axis=1)
        if (step != 1).any():
            found &= ((rows - least) % step == 0).all(axis=1)
        return found


def all_views(laws: Iterable[Mapping[View, Fraction]]) -> list[View]:
    """The views that any of these laws has, each once.

    Raises ValueError where Python takes two of them for equal that people tell apart: 1 and True, 0.0 and -0.0.
    """
    known: dict[View, View] = {}
    for y in (y for law in laws for y in law):
        if not look_alike(known.setdefault(y, y), y):
            raise ValueError(f"views that Python can distinguish, got {y!r:.60} and an equal one that looks different")
    return list(known)


def look_alike(a: View, b: View) -> bool:
    """Whether two equal views are of one type, and floats in them of the same bits; a number of numpy's is like Python's."""
    a, b = (y.item() if isinstance(y, np.generic) else y for y in (a, b))
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return all(map(look_alike, a, b))
    if isinstance(a, frozenset):
        return all(look_alike(x, {y: y for y in b}[x]) for x in a)
    return not isinstance(a, float | complex) or repr(a) == repr(b)


def plain(view: View) -> View:
    """A view as a law may name it: rows are tuples, numbers are Python's."""
    if isinstance(view, np.ndarray | np.generic):
        view = view.tolist()
    return tuple(map(plain, view)) if isinstance(view, list | tuple) else view


def is_ours(mechanism: Mechanism) -> bool:
    """Whether a mechanism's class comes with ldpaudit: it is frozen, and makes each view anew."""
    return type(mechanism).__module__.startswith("ldpaudit.")


class Mechanism(ABC):
    """A randomized map; subclasses are frozen dataclasses whose fields are the parameters.

    A parameter outside its domain is a ValueError. The other parameters are those of constructors, where these say nothing else.

    Other Parameters
    ----------------
    epsilon : Number
        The epsilon that the constructor aims at, in nats, above 0, at most 10000.
    delta : Number
        The delta that goes with it, in (0, 1).
    beta : Number
        Probability with which the guarantee of accuracy may fail, in (0, 1).
    users : int
        Number of users, at least 1.
    """

    core: ClassVar[str] = ""
    """Stem of this package whose accountant, attack or proof covers it too, where it has no such file of its own."""
    variant: ClassVar[str] = ""
    """Name within the stem, where a stem holds several mechanisms; the first class of a file has none."""
    title: ClassVar[str]
    """The field's name for it."""
    model: ClassVar[str] = "local"
    """Whose data a view holds: ``local``, one user's; the others', several users' or rounds: see this file's docstring."""
    relations: ClassVar[tuple[Neighbours, ...]] = (REPLACE_ONE,)
    """Neighbouring relations that its inputs have, the usual one first."""
    names_values: ClassVar[bool] = False
    """Whether the system itself names the values that many hold, of a domain that is never listed."""
    shows_users: ClassVar[bool] = False
    """Whether every user sends the same number of messages: that of all messages tells whether one is absent, and delta is 1."""
    calibrated: ClassVar[tuple[str, ...]] = ("for_epsilon",)
    """Constructors that compute the parameters from the epsilon that is wanted: a claim of that epsilon only restates it."""
    names_user: ClassVar[bool] = False
    """Whether a report, or the public part that decoding it needs, names the user who sent it: a shuffler then hides nobody."""
    summed: ClassVar[str] = ""
    """How a view enters a sum of views: as the ``vector`` or number that it is, by its ``one-hot`` vector, or as a ``matrix`` that
    is 0 but for what the view names; empty where not."""
    needs_delta: ClassVar[bool] = False
    """Whether no epsilon is enough at delta = 0, whatever the parameters are, of one report."""
    continuous: ClassVar[bool] = False
    """Whether its noise is a real number: no floats have its law."""
    unbiased: ClassVar[bool] = True
    """Whether `run` estimates `truth` without bias; else it is accurate in another sense, which `estimate` states."""

    counts_users: ClassVar[bool] = False
    """Whether an estimate with a `truth` of its own is of numbers of users, of whom something holds or does not."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A class with a `run` of its own inherits nobody's `run_on_counts`: that has the law of another run."""
        super().__init_subclass__(**options)
        if "run" in vars(cls) and "run_on_counts" not in vars(cls):
            cls.run_on_counts = _no_run_on_counts  # type: ignore[method-assign]

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Any]:
        """All inputs, or where these are a continuum or a universe of strings, the ones that matter for privacy.

        Where more are taken than a sequence other than a range lists, `require_input` is redefined.
        """

    @property
    def view_length(self) -> int:
        """Numbers in a view, where the parameters may make them more than 64; else 1. Of long ones an audit draws fewer."""
        return 1

    @property
    def summed_range(self) -> tuple[int, Fraction]:
        """How far apart two views may bring a number of a sum, and the variance of noise without bounds that they add besides."""
        return 1, Fraction(0)

    @abstractmethod
    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        """`size` independent views on input `x`."""

    def law(self, x: Any) -> Law:
        """Exact distribution of one view on input `x`, where the view space is finite."""
        raise Unsupported(self, "it has infinitely many views, so it has no law table")

    @abstractmethod
    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased estimate from one view a user; of each input's count, or of the sum of the inputs."""

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """As `estimate`, from the sum of this many users' views, as `summed` adds them, with noise or without; linear in both.

        Raises Unsupported where the views have no sum, or no unbiased estimate is linear in it.
        """
        why = "no unbiased estimate is linear in their sum" if self.summed else "they have no sum"
        raise Unsupported(self, f"the reports of this mechanism are not estimated from a sum: {why}")

    def added(self) -> tuple[Mapping[Fraction, Fraction], Mapping[Fraction, Fraction]]:
        """Laws of what one report adds to the estimate of how many hold something: a holder's, and another user's.

        Raises Unsupported where it is not one law for all other users, or was never written down.
        """
        raise Unsupported(self, "the law of what a report adds to an estimate was never written down")

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: one input and one view per user, to what `estimate` returns, in an order that users do not decide."""
        return self.estimate(self._views_of(counted(data), rng))

    def run_on_counts(self, counts: Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`, and of the same law, from how many users hold each input; where only sums of views matter, these are drawn.

        Raises Unsupported where a class has a `run` of its own, and does not say what that is on counts.
        """
        return self.estimate(self._views_of(counts, rng))

    def _views_of(self, counts: Mapping[Any, int], rng: np.random.Generator) -> Views:
        parts = [self.sample(x, count, rng) for x, count in counts.items() if count]
        if not parts:
            raise ValueError(f"{type(self).__name__}.run needs at least one user, got none")
        return np.concatenate(parts)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """What `run` estimates: by default each input's count, in the order of `inputs`."""
        values = np.asarray(data).tolist()
        return np.array([values.count(x) for x in self.inputs], dtype=np.float64)

    def require_input(self, x: Any) -> None:
        """Raise ValueError where `x` is no input; None is one where a user may be absent."""
        absent = x is None and any(relation.kind == "add-remove" for relation in self.relations)
        if not absent and not _among(x, self.inputs):
            raise ValueError(f"{type(self).__name__} needs an input among {describe(self.inputs)}, got {x!r}")

    def __str__(self) -> str:
        fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={show(value)}' for name, value in fields)})"


def _no_run_on_counts(self: Mechanism, counts: Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """In place of `Mechanism.run_on_counts`, where a class does not say what its own `run` is on counts."""
    raise Unsupported(self, "it has its own run, but no run_on_counts: pass every user's input to run")


def counted(data: ArrayLike) -> dict[Any, int]:
    """How many users hold each input, in the inputs' order."""
    values, counts = np.unique(np.asarray(data), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _among(x: Any, inputs: Sequence[Any]) -> bool:
    """Whether `x` is in `inputs`; a range would compare what is no int with each of its numbers, of which there may be 2**64."""
    if not isinstance(inputs, range) or type(x) is int or not inputs[ENUMERABLE:]:
        return x in inputs
    return isinstance(x, Real) and x == x // 1 and floor(x) in inputs


def require_counts(mechanism: Mechanism, counts: Mapping[Any, int]) -> int:
    """The number of users who hold these inputs. Raises ValueError where there is none, or for what is no input."""
    for x in counts:
        mechanism.require_input(x)
    if (users := sum(counts.values())) < 1:
        raise ValueError(f"{type(mechanism).__name__}.run needs at least one user, got none")
    return users


def number_of(inputs: Sequence[Any]) -> int:
    """How many inputs there are; a range has no len beyond 2**63 numbers."""
    return inputs.index(inputs[-1]) + 1 if isinstance(inputs, range) and inputs else len(inputs)


def describe(inputs: Sequence[Any]) -> str:
    """A few inputs, for an error message."""
    if number_of(inputs) <= 6:
        return f"{{{', '.join(map(str, inputs))}}}"
    return f"{{{inputs[0]}, {inputs[1]}, ..., {inputs[-1]}}}"
