"""Code that is sampled in place of a mechanism: its views are held to the mechanism's law as they come, and none is cast.

A view that the law does not have says that the code is not what is described. No score could read it, and what a score passes
over may hold anything: the input in the clear, too. So it is an error, whatever the other views say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import as_sampler, call, in_order, one_by_one
from ldpaudit.errors import ImplementationError, Unsupported, shown
from ldpaudit.mechanism import Mechanism, Rows, Views, is_ours, look_alike, plain

LISTED, COMPARED = 1 << 20, 64
"""Views of a law that are listed at most, where it does not say their columns; and those that are compared all at once."""
_ALLOWED = {"b": ("bool", "int"), "i": ("int", "bool"), "u": ("int", "bool"), "f": ("float", "int")}
"""For each kind of the mechanism's own views, what the code may return throughout."""
_DTYPES = {"bool": np.bool_, "int": np.int64, "float": np.float64}
_NUMBERS = {"bool": "booleans", "int": "whole numbers", "float": "floats"}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Code, and the mechanism that it is said to be."""

    m: Mechanism  # what is declared
    code: Mechanism | Callable[..., Any]  # what is sampled
    # those that are played. A view that the law has on another of them than its own is read: it is evidence
    inputs: Sequence[Any]
    # the first view of which each number may be one of a view, but not all of them together, or not on this input.
    # Scores read such views: they are evidence, and where it refutes nothing, an error
    odd: list[ImplementationError] = field(init=False, repr=False, default_factory=list)
    _laws: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)
    _own: Any = field(init=False, repr=False)
    _first: list[tuple[str, Any]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own", self.m.sample(self.inputs[0], 1, np.random.default_rng(0)))

    @property
    def one_by_one(self) -> bool:
        """Whether it is asked for one view after the other."""
        return not isinstance(self.code, Mechanism) and one_by_one(self.code)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        """Views, as the mechanism's own sampler would return them; see `held`."""
        if isinstance(self.code, Mechanism) or not self.one_by_one or hasattr(self.code, "in_order"):
            return self.held(as_sampler(self.code)(x, size, rng), size, x)
        return self.held([call(self.code, x) for _ in range(size)], size, x)

    def in_order(self, xs: Sequence[Any], order: Sequence[int]) -> list[Views]:
        """One view after the other, on the inputs at these places; put together for each input, an empty list where none is."""
        made = in_order(self.code, xs, order)  # type: ignore[arg-type]
        return [self.held(each, len(each), x) if each else [] for x, each in zip(xs, made, strict=True)]

    def held(self, views: Any, size: int, x: Any) -> Views:
        """These views of one input, all of them possible under the declared law.

        Raises ImplementationError where there are not as many, or one is of another type, or of another length, or
        not a view of the law.
        """
        form = np.asarray(self._own) if is_of_numbers(self._own) else None
        if form is None:
            return views if is_ours(self.m) else self._looked_up(views, size, x)
        array = _as_array(views, self._kind(views, form, x), x)
        if array.shape != (size, *form.shape[1:]):
            wanted = (size, *form.shape[1:])
            raise ImplementationError(f"needs {size} views of the declared mechanism, of shape {wanted}, got {array.shape}", x)
        if not (possible := self._possible(array, self.inputs, whole=False)).all():
            raise self._error(array[~possible][0].tolist(), x)
        if not self.odd and not (possible := self._possible(array, [x], whole=True)).all():
            self.odd.append(self._error(array[~possible][0].tolist(), x))
        return array.astype(form.dtype, copy=False)

    def _kind(self, views: Any, form: NDArray[Any], x: Any) -> str:
        """What all numbers are: where some are of another type, or those of another input, the type alone may tell it."""
        kinds = sorted(_kinds(views, x))
        allowed = _ALLOWED[form.dtype.kind]
        if len(kinds) != 1 or kinds[0] not in allowed:
            wanted = f"needs views of {_NUMBERS[allowed[0]]}, as the declared law has"
            raise ImplementationError(f"{wanted}, got {' and '.join(kinds)}: {_in_a_line(views)}", x)
        self._first.append((kinds[0], x))
        del self._first[1:]
        before, other = self._first[0]
        if kinds[0] != before:
            raise ImplementationError(f"needs views of one type, got {kinds[0]}, and {before} on input {shown(other, 80)}", x)
        return kinds[0]

    def _possible(self, array: NDArray[Any], inputs: Sequence[Any], whole: bool) -> NDArray[np.bool_]:
        """Which views the law has on one of the inputs; of a law on infinitely many, which are numbers."""
        rows = array.reshape(len(array), -1)
        if array.dtype.kind == "f" and not np.isfinite(rows).all():
            return np.asarray(np.isfinite(rows).all(axis=1))
        found = np.zeros(len(rows), dtype=np.bool_)
        for x in inputs:
            if (views := self._views_on(x)) is None:
                return np.ones(len(rows), dtype=np.bool_)
            found[~found] = _among(views, rows[~found], whole)
            if found.all():
                break
        return found

    def _looked_up(self, views: Any, size: int, x: Any) -> Views:
        """Views that are not all numbers, by the law's own words: equal, and of the same types."""
        if len(views) != size:
            raise ImplementationError(f"needs {size} views of the declared mechanism, got {len(views)}", x)
        laws = [self._views_on(each) for each in self.inputs]
        known = {y: y for law in laws for y in (law or ())}
        for view in views if all(law is not None for law in laws) else ():
            try:
                found = known.get(plain(view), known)
            except TypeError:  # it is no key
                raise self._error(view, x) from None
            if not look_alike(found, plain(view)):
                raise self._error(view, x)
        return views

    def _error(self, view: Any, x: Any) -> ImplementationError:
        law = self._views_on(x)
        has = "finite numbers" if law is None else _in_words(law)
        return ImplementationError(f"needs views that the declared law has, {has}, got {shown(view, 80)}", x)

    def _views_on(self, x: Any) -> Any:
        """The views of the law, where there is one and they can be told."""
        if x not in self._laws:
            self._laws[x] = _views_of(self.m, x)
        return self._laws[x]


def is_of_numbers(views: Any) -> bool:
    """Whether views are numbers of one type, or rows of such."""
    try:
        kinds = _kinds(views, None)
    except ImplementationError:
        return False
    return len(kinds) == 1 and kinds <= set(_DTYPES)


def _kinds(views: Any, x: Any) -> set[str]:
    """The types of all numbers, however deep; numpy's are like Python's."""
    if isinstance(views, np.ndarray) and views.dtype != object:
        return {_name(views.dtype.type)}
    if not isinstance(views, list | tuple | np.ndarray):
        return {_name(type(views))}
    types = {type(part) for part in views}
    deep = [part for part in views if isinstance(part, list | tuple | np.ndarray)] if types & {list, tuple, np.ndarray} else []
    try:
        return {_name(each) for each in types - {list, tuple, np.ndarray}}.union(*(_kinds(part, x) for part in deep))
    except RecursionError as error:
        raise ImplementationError(f"needs rows of numbers, got {_in_a_line(views)}", x) from error


def _name(kind: type) -> str:
    if issubclass(kind, bool | np.bool_):
        return "bool"
    if issubclass(kind, int | np.integer):
        return "int"
    # One of more bits than a float is no float.
    is_float = issubclass(kind, float) or (issubclass(kind, np.floating) and np.dtype(kind).itemsize <= 8)
    return "float" if is_float else kind.__name__


def _as_array(views: Any, kind: str, x: Any) -> NDArray[Any]:
    """The same numbers, exactly."""
    plain_array = isinstance(views, np.ndarray) and views.dtype.kind in "bif"
    try:
        array = views if plain_array else np.array(views, dtype=object if kind == "int" else _DTYPES[kind])
        if not plain_array and kind == "int":
            array = array.astype(np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ImplementationError(f"needs rows of one length, of numbers below 2**63, got {_in_a_line(views)}", x) from error
    return np.asarray(array)


def _views_of(m: Mechanism, x: Any) -> Any:
    try:
        law = m.law(x)
    except Unsupported:
        return None
    views = law.views()
    if isinstance(views, range):
        return Rows((views,))
    return views if isinstance(views, Rows) else list(views) if law.size <= LISTED else None


def _among(views: Any, rows: NDArray[Any], whole: bool) -> NDArray[np.bool_]:
    """Which rows are views; or else, where a law says its columns, of which each number may be one of a view."""
    if isinstance(views, Rows):
        return views.have(rows) if whole else views.within(rows)
    each = [np.ravel(y).tolist() for y in views]
    if len(each) <= COMPARED:
        return np.asarray((rows[:, None, :] == np.array(each)).all(axis=2).any(axis=1))
    known = set(map(tuple, each))
    return np.array([tuple(row) in known for row in rows.tolist()], dtype=np.bool_)


def _in_words(law: Any) -> str:
    """The views of a law, or the ranges of their columns."""
    if not isinstance(law, Rows):
        return shown(law, 80)
    more = [f"{len(law.columns) - 4} more"] if len(law.columns) > 4 else []
    return " by ".join([*(f"{column[0]} to {column[-1]}" for column in law.columns[:4]), *more])


def _in_a_line(views: Any) -> str:
    """The first of them, as Python's own."""
    return shown(views[:3].tolist() if isinstance(views, np.ndarray) else views, 80)
