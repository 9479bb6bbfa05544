"""Which runs of one user cost what the given relation does of a plan: where a group of users is replaced, as many runs."""

from collections.abc import Iterator
from fractions import Fraction

import flint

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.errors import Unsupported
from ldpaudit.neighbours import REPLACE_ONE, USER_LEVEL, Neighbours, require_relation
from ldpaudit.plan import Aggregate, Compose, Guarantee, Plan, Poisson, PostProcess, Repeat, Run, Shuffle, Subsample, nodes

_BITS = 192  # bits of a group's delta: far more than the float to which it is rounded up


def of_one_user(plan: Plan, neighbours: Neighbours | None) -> tuple[Plan, Neighbours | None]:
    """A plan and relation of one user that cost what the given ones do: where a group of k users is replaced, k runs.

    Users of a local mechanism draw their coins alone. So k reports, each of whose inputs is replaced, are k independent runs of
    the plan, each on an input of its own; the reports of all other users are the same on both sides. A `Guarantee` may be of a
    map of all users' data, and what holds of any such map is group privacy: one user after the other is replaced.

    ``plan``: what one user runs; ``neighbours``: any relation; all but a group are returned as they are. By default the
    usual one of all parts, which they need to share; at user level, where one part is, a part's input is replaced with
    the user's stream. Raises Unsupported for a group, where one view holds several users' data, or depends on more than
    one user's; and where nothing follows from a guarantee for so large a group. Without a relation, where the parts
    have different usual ones.
    """
    require_relation(neighbours)
    if neighbours is None:
        return plan, _usual(plan)
    if neighbours.kind != "group":
        return plan, neighbours
    for node, reason in mixing(plan):
        raise Unsupported(node, f"a group of users is as many runs only where reports are independent; {reason}")
    return _of_group(plan, neighbours.users), REPLACE_ONE


def mixing(plan: Plan) -> Iterator[tuple[Plan, str]]:
    """What of a plan is no user's own report, and why."""
    return ((node, reason) for node in nodes(plan) if (reason := _not_alone(node)) is not None)


def _usual(plan: Plan) -> Neighbours | None:
    """The one relation that all parts usually have; None where only guarantees are composed, which hold for any."""
    found = set(_usual_relations(plan))
    if found == {USER_LEVEL, REPLACE_ONE}:
        return USER_LEVEL
    if len(found) > 1:
        names = " and ".join(sorted(map(str, found)))
        raise Unsupported(plan, f"its parts have different default neighbours, {names}; name one relation for the whole")
    return found.pop() if found else None


def _usual_relations(plan: Plan) -> Iterator[Neighbours]:
    match plan:
        case Run(mechanism):
            yield mechanism.relations[0]
        case Shuffle() | Subsample() | Aggregate():
            yield REPLACE_ONE
        case _:
            for part in plan.parts:
                yield from _usual_relations(part)


def _of_group(plan: Plan, users: int) -> Plan:
    """The plan of one user that costs what a group of them does."""
    if users == 1 or not any(isinstance(leaf, Guarantee) for leaf in plan.leaves()):
        return plan if users == 1 else Repeat(plan, users)
    match plan:
        case Repeat(inner, times):
            return Repeat(_of_group(inner, users), times)
        case PostProcess(inner, name):
            return PostProcess(_of_group(inner, users), name)
        case Poisson():
            return Repeat(plan, users)
        case Guarantee():
            return _replaced_one_by_one(plan, users)
    return Compose(_of_group(part, users) for part in plan.parts)


def _replaced_one_by_one(one: Guarantee, users: int) -> Guarantee:
    """k epsilon, and the sum of ``e**(i epsilon) delta`` for i < k, rounded up; k**2 rho; k mu.

    Sources: Bun, Steinke 2016, Proposition 1.9; Dong, Roth, Su 2022, Theorem 2.14.
    """
    if one.rho is not None:
        return Guarantee(rho=one.rho * users**2)
    if one.mu is not None:
        return Guarantee(mu=one.mu * users)
    if not one.delta:
        return Guarantee(one.epsilon * users)
    with working_precision(_BITS):
        step = flint.arb(flint.fmpq(one.epsilon.numerator, one.epsilon.denominator))
        terms = (step * users).expm1() / step.expm1() if one.epsilon else flint.arb(users)
        delta = round_up(terms * flint.arb(flint.fmpq(one.delta.numerator, one.delta.denominator)))
    if not delta < 1:
        raise Unsupported(one, f"it guarantees nothing for a group of {users} users: its delta, summed over them, is 1 or more")
    return Guarantee(one.epsilon * users, Fraction(delta))


def _not_alone(node: Plan) -> str | None:
    """Why a node's view is not one user's own report; None where it is."""
    match node:
        case Run(mechanism) if mechanism.model != "local":
            return f"this mechanism is {mechanism.model}"
        case Run(mechanism) if REPLACE_ONE not in mechanism.relations:
            return f"the inputs of this one have the relations {', '.join(map(str, mechanism.relations))}, not {REPLACE_ONE}"
        case Shuffle() | Subsample() | Aggregate():
            name = type(node).__name__
            return f"{'an' if name.startswith('A') else 'a'} {name} mixes them"
    return None
