"""Protocols that count values, for people and programs: a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ldpaudit.enclosure import show_up
from ldpaudit.report.claims import text_of

if TYPE_CHECKING:
    from ldpaudit.studies.design import Goal
    from ldpaudit.studies.frequencies import Protocol

HEAD = ("error at most", "messages", "bits a message", "deployed")
_NOTE = "error at most: bound of the expected largest error of all values, for any data; in users. messages: per user, on average."


def write(goal: Goal, users: int, values: int, found: Sequence[Protocol]) -> str:
    """As text, the protocol with the least bound of its error first."""
    title = f"{values:,} values counted among {users:,} users, each protocol with the least noise found that keeps {goal}"
    return "\n".join([title, *text_of([HEAD, *map(_cells, found)]), _NOTE])


def _cells(each: Protocol) -> tuple[str, ...]:
    return show_up(each.error.high, 4), f"{float(each.messages):.4g}", f"{each.bits:,}", str(each.plan)


def as_data(goal: Goal, users: int, values: int, found: Iterable[Protocol]) -> dict[str, Any]:
    """For JSON."""
    promise = {"epsilon": float(goal.epsilon), "delta": float(goal.delta)}
    return {**promise, "users": users, "values": values, "protocols": [_row(each) for each in found]}


def _row(each: Protocol) -> dict[str, Any]:
    error = {"high": each.error.high, "rigour": each.error.rigour.name, "source": each.error.source}
    return {"plan": str(each.plan), "messages": float(each.messages), "bits a message": each.bits, "error": error}
