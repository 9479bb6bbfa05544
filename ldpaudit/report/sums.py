"""Ways of adding noise to sums, for people and programs: a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ldpaudit.enclosure import show_up
from ldpaudit.report.claims import text_of

if TYPE_CHECKING:
    from ldpaudit.studies.design import Goal
    from ldpaudit.studies.sums import Noisy

HEAD = ("error at most", "users", "added by", "certified")
_NOTE = """\
error at most: largest standard deviation of an estimated count, whatever the data; in users.
Noise of aggregators: each adds it, one is trusted, and the error is that of all together."""


def write(goal: Goal, values: int, found: Sequence[Noisy]) -> str:
    """As text."""
    title = f"{values:,} values counted by a sum, each way with the least noise found that keeps {goal}"
    return "\n".join([title, *text_of([HEAD, *map(_cells, found)]), _NOTE])


def _cells(each: Noisy) -> tuple[str, ...]:
    who = f"each of {each.parties} aggregators" if each.parties else "clients"
    return show_up(each.error.high, 4), f"{each.users:,}", who, str(each.plan)


def as_data(goal: Goal, values: int, found: Iterable[Noisy]) -> dict[str, Any]:
    """For JSON."""
    promise = {"epsilon": float(goal.epsilon), "delta": float(goal.delta)}
    return {**promise, "values": values, "ways": [_row(each) for each in found]}


def _row(each: Noisy) -> dict[str, Any]:
    error = {"high": each.error.high, "rigour": each.error.rigour.name, "source": each.error.source}
    return {"plan": str(each.plan), "users": each.users, "aggregators": each.parties, "error": error}
