"""Answers that are kept: certified numbers of one plan that several stages ask for, and several claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

from ldpaudit.mechanism import is_ours
from ldpaudit.plan import Plan, Run

_Arguments = TypeVarTuple("_Arguments")
_Answer = TypeVar("_Answer")

MOST = 64  # answers that each function keeps: those of a deployment, and of the next ones


def remembered(function: Callable[[*_Arguments], _Answer]) -> Callable[[*_Arguments], _Answer]:
    """The same function of frozen values, that is asked once for the last answers; what it raises is not kept.

    Where an argument has no hash, as a mechanism of somebody's with an array among its fields, it is asked each time; and so
    is a plan of mechanisms that are not ours, for these may change.
    """
    known = lru_cache(maxsize=MOST)(function)

    @wraps(function)
    def ask(*args: *_Arguments) -> _Answer:
        try:
            hash(args)
        except TypeError:
            return function(*args)
        return known(*args) if all(map(_is_frozen, args)) else function(*args)

    return ask


def _is_frozen(argument: object) -> bool:
    """Whether it is no plan, or one of mechanisms that come with ldpaudit."""
    leaves = argument.leaves() if isinstance(argument, Plan) else ()
    return all(is_ours(leaf.mechanism) for leaf in leaves if isinstance(leaf, Run))
