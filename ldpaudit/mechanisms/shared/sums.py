"""Sums of reports: of which mechanism a plan sums the reports, and whether their sum tells as much as their multiset."""

from collections import Counter
from dataclasses import replace

import flint
import numpy as np

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Aggregate, Plan, Repeat, Run, flat

_VIEWS = 256
"""Most reports whose vectors are looked at for a dependence; more of them than coordinates have one in any case."""


def summed(plan: Aggregate) -> tuple[Mechanism, int]:
    """The one mechanism whose reports are summed, and in how many rounds.

    Raises Unsupported where there is none, or its reports have no sum.
    """
    found = _repeated(plan.plan)
    if found is None or not isinstance(inner := found[0], Run):
        raise Unsupported(plan.plan, "a sum needs the reports of one mechanism, run once or repeated")
    m = inner.mechanism
    if m.model != "local":
        raise Unsupported(inner, f"a sum needs a mechanism for one user, but this one is {m.model}")
    if not m.summed:
        raise Unsupported(inner, "the reports of this mechanism have no sum")
    return m, found[1]


def in_rounds(plan: Plan) -> Plan:
    """The same views as one sum, where sums are repeated: each round is summed by itself, and has noise of its own."""
    match _repeated(plan):
        case Aggregate(inner) as one, times if one is not plan:
            once, each = _repeated(inner) or (inner, 1)
            return one if times == 1 else replace(one, plan=Repeat(once, each * times))
    return plan


def _repeated(plan: Plan) -> tuple[Plan, int] | None:
    """The one plan that a plan repeats, and how often; None where it composes several."""
    leaves: Counter[Plan] = Counter()
    for leaf, times in flat(plan):
        leaves[leaf] += times
    return next(iter(leaves.items())) if len(leaves) == 1 else None


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
