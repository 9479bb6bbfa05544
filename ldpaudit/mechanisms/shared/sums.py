"""Sums of reports: of which mechanism a plan sums the reports, and whether their sum tells as much as their multiset."""

from __future__ import annotations

from dataclasses import replace

import flint
import numpy as np

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Aggregate, Plan, Repeat, Run

_VIEWS = 256
"""Most reports whose vectors are looked at for a dependence; more of them than coordinates have one in any case."""


def summed(plan: Aggregate) -> tuple[Mechanism, int]:
    """The one mechanism whose reports are summed, and in how many rounds.

    Raises Unsupported where there is none, or its reports have no sum.
    """
    inner, rounds = (plan.plan.plan, plan.plan.times) if isinstance(plan.plan, Repeat) else (plan.plan, 1)
    if not isinstance(inner, Run):
        raise Unsupported(plan.plan, "a sum needs the reports of one mechanism, run once or repeated")
    m = inner.mechanism
    if m.model != "local":
        raise Unsupported(inner, f"a sum needs a mechanism for one user, but this one is {m.model}")
    if not m.summed:
        raise Unsupported(inner, "the reports of this mechanism have no sum")
    return m, rounds


def in_rounds(plan: Plan) -> Plan:
    """The same views as one sum, where sums are repeated: each round is summed by itself, and has noise of its own."""
    match plan:
        case Repeat(Aggregate(inner) as one, times):
            once, each = (inner.plan, inner.times) if isinstance(inner, Repeat) else (inner, 1)
            return replace(one, plan=Repeat(once, each * times))
    return plan


def tells_the_multiset(m: Mechanism) -> bool:
    """Whether a sum of reports comes from one multiset only: else the difference of two is an affine dependence of the reports."""
    if m.summed == "one-hot":
        return True
    if m.summed == "matrix":  # two bits, or two signs in different cells, are dependent
        return False
    if m.view_length > _VIEWS:  # the law of a million bits takes seconds to state
        return False
    try:
        law = m.law(m.inputs[0])
    except Unsupported:
        return False
    if law.size > _VIEWS:
        return False
    rows = [(1, *np.atleast_1d(np.asarray(view, dtype=int)).tolist()) for view, _ in law.items()]
    return flint.fmpq_mat(flint.fmpz_mat(rows)).rank() == len(rows)
