"""From a stem and named parameters to a mechanism: what deployment files and the command line share."""

import inspect
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any, Self, TypeAlias, TypeVar, get_args

from ldpaudit import mechanisms
from ldpaudit.core.expression import parse
from ldpaudit.core.nearest import one_of, or_rather
from ldpaudit.core.number import brief, exact
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.files import File
from ldpaudit.mechanisms.shared.matrices import Given

T = TypeVar("T")

CONSTRUCTOR = "constructor"
"""The key that names a constructor, where the parameters' names alone do not tell which is meant."""
LISTING = "ldpaudit mechanisms"  # the command that lists what there is
INTEGERS = tuple[int, ...]  # the annotation of a parameter that is a list of integers, in text such as ``[1, -1]``


Opener: TypeAlias = Callable[[str], File]  # from the name of a file, as parameters give it, to the file


class ParameterError(ValueError):
    """Parameters do not fit; `keys` names the one at fault, where it is one."""

    def __init__(self, message: str, *keys: str) -> None:
        self.keys = keys
        super().__init__(message)


def find(kind: str, variant: str = "") -> type[Mechanism]:
    """The class of a stem and variant. Raises ParameterError where there is none."""
    if kind not in mechanisms.names():
        raise ParameterError(one_of(mechanisms.names(), kind, LISTING), "kind")
    variants = mechanisms.classes(kind)
    if variant not in variants:
        named = list(filter(None, variants))
        needs = f"needs no variant, or {one_of(named, variant, LISTING).removeprefix('needs ')}"
        raise ParameterError(needs if named else f"{kind} has no variants, got {variant!r:.60}", "variant")
    return variants[variant]


def build(kind: str, variant: str, parameters: Mapping[str, Any], files: Opener = File.read) -> Mechanism:
    """The mechanism of a stem, by whichever constructor takes these parameters; `files` opens those that they name.

    Raises ParameterError where none does, or a value lies outside its domain.
    """
    return construct(find(kind, variant), parameters, files)


def constructors(owner: type[T]) -> dict[str, Callable[..., T]]:
    """The class itself and its public class methods that make one."""
    made: dict[str, Callable[..., T]] = {owner.__name__: owner}
    for name, method in inspect.getmembers(owner, inspect.ismethod):
        if not name.startswith("_"):
            returned = inspect.signature(method, eval_str=True).return_annotation
            if returned is Self or (isinstance(returned, type) and issubclass(owner, returned)):
                made[name] = method
    return made


def parameters_of(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Parameters of a constructor or function by name, their annotations as types."""
    return dict(inspect.signature(make, eval_str=True).parameters)


def construct(owner: type[T], parameters: Mapping[str, Any], files: Opener = File.read) -> T:
    """An instance, by the constructor whose parameters these are; `files` opens those that they name.

    Raises ParameterError where no constructor takes exactly these, or a value lies outside its domain.
    """
    _, make, given = _fitting(owner, parameters)
    values = {key: _value(key, value, parameters_of(make)[key], files) for key, value in given.items()}
    try:
        return make(**values)
    except (ValueError, TypeError) as error:
        raise ParameterError(str(error)) from None


def aimed(owner: type[Mechanism], parameters: Mapping[str, Any]) -> tuple[str, Fraction] | None:
    """The constructor and the epsilon that it computes the parameters from; None where the parameters are stated."""
    way, make, given = _fitting(owner, parameters)
    if way not in owner.calibrated or "epsilon" not in given:
        return None
    return way, _value("epsilon", given["epsilon"], parameters_of(make)["epsilon"], File.read)


def _fitting(owner: type[T], parameters: Mapping[str, Any]) -> tuple[str, Callable[..., T], dict[str, Any]]:
    """The constructor whose parameters these are, by its name, and they without it."""
    ways = constructors(owner)
    given = dict(parameters)
    if (named := given.pop(CONSTRUCTOR, None)) is not None:
        if named not in ways:
            raise ParameterError(one_of(ways, named, f"{LISTING} STEM"), CONSTRUCTOR)
        ways = {named: ways[named]}
    wanted = {name: parameters_of(make) for name, make in ways.items()}
    fitting = [name for name, parts in wanted.items() if _required(parts) <= set(given) <= set(parts)]
    if len(fitting) > 1:
        raise ParameterError(f"needs {CONSTRUCTOR} = one of {', '.join(fitting)}: ({', '.join(given)}) fit them all")
    if fitting:
        return fitting[0], ways[fitting[0]], given
    raise _misfit(wanted.values(), given)


def _misfit(wanted: Collection[Mapping[str, inspect.Parameter]], given: Collection[str]) -> ParameterError:
    """For parameters that fit none of several ways: what is needed, what was given, and what to change."""
    known = {name for parts in wanted for name in parts}
    choices = " or ".join(f"({', '.join(parts)})" for parts in wanted)
    says = f"needs {choices}, got ({', '.join(given)})"
    if stray := sorted(set(given) - known):
        return ParameterError(f"{says}{or_rather(stray[0], known) or f'; {stray[0]} is none of these'}", stray[0])
    missing = [[name for name in parts if name in _required(parts) - {*given}] for parts in wanted if {*given} <= {*parts}]
    needless = [[name for name in given if name not in parts] for parts in wanted if _required(parts) <= {*given}]
    if missing and (given or len(wanted) == 1):
        return ParameterError(f"{says}; add {_shortest(missing)}")
    return ParameterError(f"{says}; leave out {_shortest(needless)}" if needless else says)


def _shortest(several: list[list[str]]) -> str:
    fewest = min(map(len, several))
    return " or ".join(dict.fromkeys(", ".join(each) for each in several if len(each) == fewest))


def call(function: Callable[..., T], parameters: Mapping[str, Any]) -> T:
    """The function's value at named parameters.

    Raises ParameterError where these are not its parameters, or a value lies outside its domain.
    """
    wanted = parameters_of(function)
    if not _required(wanted) <= set(parameters) <= set(wanted):
        raise _misfit([wanted], parameters)
    values = {key: _value(key, value, wanted[key], File.read) for key, value in parameters.items()}
    try:
        return function(**values)
    except (ValueError, TypeError) as error:
        raise ParameterError(str(error)) from None


def _required(parameters: Mapping[str, inspect.Parameter]) -> set[str]:
    return {p.name for p in parameters.values() if p.default is inspect.Parameter.empty}


def _value(key: str, value: Any, parameter: inspect.Parameter, files: Opener) -> Any:
    """A matrix as it is given, a file by its name, integers where these are wanted, else an exact number."""
    if parameter.annotation == Given:
        return value  # its constructor says what is wrong with which row
    if File in get_args(parameter.annotation):
        if not isinstance(value, str):
            raise ParameterError(f"needs the name of a file in quotes, got {brief(value)}", key)
        try:
            return files(value)
        except ValueError as error:
            raise ParameterError(str(error), key) from None
    if parameter.annotation == INTEGERS:
        listed = value.strip().removeprefix("[").removesuffix("]").split(",") if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            raise ParameterError(f"needs a list of integers such as [1, -1], got {brief(value)}", key)
        return tuple(_integer(key, each) for each in listed)
    return _integer(key, value) if parameter.annotation is int else _number(key, value)


def _number(key: str, value: Any) -> Fraction:
    try:
        return parse(value) if isinstance(value, str) else exact(value, "")
    except TypeError:
        raise ParameterError(f"needs a number or an expression in quotes, got {brief(value)}", key) from None
    except ValueError as error:
        raise ParameterError(str(error).strip(), key) from None


def _integer(key: str, value: Any) -> int:
    is_word = isinstance(value, str) and value.strip().isidentifier()  # of which no expression is made
    if is_word or (number := _number(key, value)).denominator != 1:
        raise ParameterError(f"needs an integer, got {brief(value)}", key)
    return int(number)
