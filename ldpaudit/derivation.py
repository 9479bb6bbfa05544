"""Checked proofs, put together along a plan: what they imply for its epsilon.

Nothing here is shared with the accountants but the turn at the precision, the arithmetic of the last sum included: a proof
and a bound that agree are two testimonies only where no line of code produced both.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import flint

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import LdpauditError, ProofError, Unsupported
from ldpaudit.mechanism import Mechanism, all_views, number_of
from ldpaudit.mechanisms import has_own_law, homes, part_of, stem
from ldpaudit.mechanisms.shared.parameters import ball
from ldpaudit.plan import Aggregate, Compose, Plan, PostProcess, Repeat, Run, Shuffle
from ldpaudit.proofs._exhaustive import Checked, Exhaustive, prove_tables
from ldpaudit.verdict import Derivation as Derivation

PRECISION = 512  # bits of the sum of the proved terms: ten times those of the floats to which it is rounded

_MOST_INPUTS, _MOST_ENTRIES = 1 << 12, 1 << 20  # of a law that is proved entry by entry: some seconds

Term: TypeAlias = tuple[Fraction, Fraction, bool]
"""(times, value, nats): ``times * value`` where nats is set, otherwise ``times * log(value)``."""


def derive(plan: Plan, relation: str) -> Derivation:
    """Check the proofs that bear on a plan, and put them together.

    ``plan``: what is deployed; ``relation``: the kind of neighbours, such as ``replace-one``. Raises Unsupported where
    no theorem covers a node at its parameters, or a proof fails.
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
            total += ball(times) * (ball(value) if nats else ball(value).log())
        return Enclosure.of(total, rigour=Rigour.INTERVAL, source="the sum of the parts")


def _terms(plan: Plan, relation: str) -> tuple[list[Term], list[Any]]:
    """The proved terms of a plan, and the proofs that they come from."""
    composed, post_processed = _checked("_composition")
    match plan:
        case Run(mechanism):
            proof, found = _of_mechanism(mechanism, relation)
            return found, [proof]
        case Repeat(inner, times):
            terms, used = _terms(inner, relation)
            return [(times * n, value, nats) for n, value, nats in terms], [*used, composed]
        case Compose(parts):
            several = [_terms(part, relation) for part in parts]
            return [t for terms, _ in several for t in terms], [*(p for _, used in several for p in used), composed]
        case PostProcess(inner) | Shuffle(inner) | Aggregate(inner):
            terms, used = _terms(inner, relation)
            return terms, [*used, post_processed]
    raise Unsupported(plan, f"no theorem covers {type(plan).__name__}")


def _of_mechanism(mechanism: Mechanism, relation: str) -> tuple[Any, list[Term]]:
    """The theorem that covers a mechanism, and its terms: its stem's, or of one that states its own law the table of that."""
    if has_own_law(mechanism) or (":" in stem(mechanism) and part_of(stem(mechanism), "proof") is None):
        of_law = _of_its_law(mechanism, relation)
        return of_law, of_law.at(mechanism)
    for each in _checked(stem(mechanism)):
        if each.relation == relation:
            proof = each.of(mechanism) if isinstance(each, Exhaustive) else each
            if proof is not None and (found := proof.at(mechanism)) is not None:
                return proof, found
    raise Unsupported(mechanism, f"no theorem of proofs/{stem(mechanism)}.py covers {relation} neighbours here")


def _of_its_law(m: Mechanism, relation: str) -> Checked:
    """The exhaustive proof of a mechanism's finite law, on the inputs that it lists."""
    if number_of(m.inputs) > _MOST_INPUTS or relation not in ("replace-one", "add-remove"):
        raise Unsupported(m, f"its law is proved on at most {_MOST_INPUTS} inputs, for replace-one or add-remove, not {relation}")
    # Inputs any two of which are neighbours, group by group.
    groups = [list(m.inputs)] if relation == "replace-one" else [[x, None] for x in m.inputs]
    tables = [_table(m, group) for group in groups]
    sentence = f"the law that {type(m).__name__} states"
    assumed = f"the views of {type(m).__name__} have the law that it states, and its inputs are those that it lists"
    try:
        found = prove_tables(sentence, tables, relation, assumed)
    except ProofError as error:
        raise Unsupported(m, f"the proof of its law fails: {error}") from error
    if found is None:
        raise Unsupported(m, "one input has a view that is impossible on another: no finite epsilon holds at delta = 0")
    return found


def _table(m: Mechanism, inputs: Sequence[Any]) -> list[list[Fraction]]:
    """The laws of these inputs on all views that any of them has."""
    try:
        laws = [{y: Fraction(p) for y, p in m.law(x).items()} for x in inputs]
        views = all_views(laws)
    except LdpauditError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise Unsupported(m, f"its law raised {type(error).__name__}: {error}") from error
    if len(views) * len(laws) > _MOST_ENTRIES:
        raise Unsupported(m, f"its law has {len(views)} views on {len(laws)} inputs, and {_MOST_ENTRIES} entries are checked")
    return [[law.get(y, Fraction(0)) for y in views] for law in laws]


# To check proofs is to run them, and once per process is enough.
_run = cache(lambda home, function: tuple(getattr(import_module(f"ldpaudit.proofs.{home}"), function)()))


def proofs_of(name: str) -> tuple[Any, ...]:
    """Run the proofs of a stem or plugin; of a stem without a file of proofs, the function of its name in its core's file.

    Raises ProofError naming the step, were one false; Unsupported where there is no file.
    """
    if (theirs := part_of(name, "proof")) is not None:
        return tuple(theirs.prove())
    home = next((each for each in homes(name) if find_spec(f"ldpaudit.proofs.{each}") is not None), None)
    if home is None:
        raise Unsupported(name, f"there is no file proofs/{name}.py")
    return _run(home, "prove" if home == name else name)


@cache
def _checked(name: str) -> tuple[Any, ...]:
    """The proofs of a stem, each of which concludes something."""
    try:
        proofs = proofs_of(name)
        for proof in proofs:
            _ = proof.statement  # a `ProofError` where nothing is concluded
    except ProofError as error:
        raise Unsupported(name, f"its proof fails: {error}") from error
    return proofs
