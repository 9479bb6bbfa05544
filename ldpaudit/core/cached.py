"""Properties that are computed once, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801 - it reads as a decorator
    """A property that is computed at the first call, as `functools.cached_property` of Python 3.12.

    That of Python 3.11 holds a lock while it computes. A thread that computes one, and waits for its turn at the working
    precision, would wait forever for a thread whose turn it is and who asks for the same property. Two threads may compute
    one twice here; they find the same.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
