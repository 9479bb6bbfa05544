"""Checked proofs, put together along a plan: what they imply for its epsilon.

Nothing here is shared with the accountants but the turn at the precision, the arithmetic of the last sum included: a proof
and a bound that agree are two testimonies only where no line of code produced both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import flint

from ldpaudit.claim import Claim
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import ProofError, Unsupported
from ldpaudit.mechanisms import stem
from ldpaudit.plan import Compose, Plan, PostProcess, Repeat, Run, Shuffle
from ldpaudit.working_precision import working_precision

PRECISION = 512
"""Bits of the sum of the proved terms: ten times those of the floats to which it is rounded."""

Term: TypeAlias = tuple[Fraction, Fraction, bool]
"""(times, value, nats): ``times * value`` where nats is set, otherwise ``times * log(value)``."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """Checked proofs, put together along a plan.

    Parameters
    ----------
    theorem : str
        The statements that were used.
    epsilon : Enclosure
        What they imply for the plan, in nats.
    steps : int
        Number of steps that a machine checked.
    assumes, admissions : tuple of str
        What the theorems assume of the mechanism, and the steps that no machine checked.
    tight : bool
        Whether no smaller epsilon holds at delta = 0 either.
    """

    theorem: str
    epsilon: Enclosure
    steps: int
    assumes: tuple[str, ...]
    admissions: tuple[str, ...]
    tight: bool = False

    def covers(self, claim: Claim) -> bool:
        """Whether the proved epsilon is within the claim; a pure bound implies every delta's."""
        return claim.ceiling is not None and self.epsilon.high <= claim.ceiling


def derive(plan: Plan, relation: str) -> Derivation:
    """Check the proofs that bear on a plan, and put them together.

    Parameters
    ----------
    plan : Plan
        What is deployed.
    relation : str
        The kind of neighbours, such as ``replace-one``.

    Returns
    -------
    Derivation

    Raises
    ------
    Unsupported
        Where no theorem covers a node at its parameters, or a proof fails.
    """
    terms, used = _terms(plan, relation)
    alone = isinstance(plan, Run) and used[0].tight == ""
    return Derivation(
        theorem=" and ".join(dict.fromkeys(p.statement for p in used)),
        epsilon=sum_of_terms(terms),
        steps=sum(len(p.steps) for p in used),
        assumes=tuple(dict.fromkeys(a for p in used for a in p.assumes)),
        admissions=tuple(dict.fromkeys(a for p in used for a in p.admissions)),
        tight=alone,
    )


def sum_of_terms(terms: Iterable[Term]) -> Enclosure:
    """Enclosure of the sum of proved terms, in nats. Rigour INTERVAL: a theorem need not be tight."""
    with working_precision(PRECISION):
        total = flint.arb(0)
        for times, value, nats in terms:
            total += _ball(times) * (_ball(value) if nats else _ball(value).log())
        return Enclosure.of(total, rigour=Rigour.INTERVAL, source="the sum of the parts")


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _terms(plan: Plan, relation: str) -> tuple[list[Term], list[Any]]:
    """The proved terms of a plan, and the proofs that they come from."""
    composed, post_processed = _checked("_composition")
    match plan:
        case Run(mechanism):
            for proof in _checked(stem(mechanism)):
                if proof.relation == relation and (found := proof.at(mechanism)) is not None:
                    return found, [proof]
            raise Unsupported(plan, f"no theorem of proofs/{stem(mechanism)}.py covers {relation} neighbours here")
        case Repeat(inner, times):
            terms, used = _terms(inner, relation)
            return [(times * n, value, nats) for n, value, nats in terms], [*used, composed]
        case Compose(parts):
            several = [_terms(part, relation) for part in parts]
            return [t for terms, _ in several for t in terms], [*(p for _, used in several for p in used), composed]
        case PostProcess(inner) | Shuffle(inner):
            terms, used = _terms(inner, relation)
            return terms, [*used, post_processed]
    raise Unsupported(plan, f"no theorem covers {type(plan).__name__}")


@cache
def _checked(name: str) -> tuple[Any, ...]:
    """The proofs of a stem; to check them is to run them, and once per process is enough."""
    if find_spec(f"ldpaudit.proofs.{name}") is None:
        raise Unsupported(name, f"there is no file proofs/{name}.py")
    try:
        proofs: tuple[Any, ...] = import_module(f"ldpaudit.proofs.{name}").prove()
        for proof in proofs:
            _ = proof.statement  # a `ProofError` where nothing is concluded
    except ProofError as error:
        raise Unsupported(name, f"its proof fails: {error}") from error
    return proofs
