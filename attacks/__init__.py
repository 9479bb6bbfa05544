"""The attacks: samples of real code in, evidence out.

Reading order: a stem (`randomized_response`) and the noun that it makes (`attack`); then `bounds`, `games`, `engine`, and
`blackbox` for code that nothing is known of.
"""

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ldpaudit.adapters.outputs import WEAKER, Outputs
from ldpaudit.errors import Unsupported
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.groups import of_one_user
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import is_stranger
from ldpaudit.mechanisms.shared.sums import in_rounds
from ldpaudit.neighbours import REPLACE_ONE, Neighbours, require_relation
from ldpaudit.plan import Plan, Run, as_plan
from ldpaudit.profile import Witness
from ldpaudit.workers.experiment import AS_RETURNED, HERE, Execution, Experiment, Reading

TRIALS = 10**6  # default budget, in views
_MOST_INPUTS = 8
"""Inputs of a mechanism without a law, of which nothing says which two to compare: they share the views that it learns from."""
CONFIDENCE = 0.95  # default confidence


def audit(
    target: Plan | Mechanism | Callable[..., Any],
    *,
    inputs: Sequence[Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    neighbours: Neighbours | None = None,
    implementation: Mechanism | Callable[..., Any] | None = None,
    witness: Witness | None = None,
    mode: Mode = Mode.SEQUENTIAL,
    reading: Reading = AS_RETURNED,
    execution: Execution = HERE,
) -> Evidence:
    """Play the adversary on samples, and bound epsilon from below.

    Parameters
    ----------
    target : Plan, Mechanism, callable or object
        A mechanism or plan of ours is attacked by its stem's optimal score; one of yours by its finite law, or without a
        law as a callable. Of a callable ``x -> report``, or of an
        object that has a method ``privatise`` or ``randomise``, nothing is known: the score is learned, from samples
        of its own. Of a whole system's `ldpaudit.adapters.outputs.Outputs`, only what its `run` returns is seen.
    inputs : sequence or None
        For a callable: at least two inputs, among which the audit finds two that it tells apart; for outputs the two data sets
        that they name.
    epsilon : float or None
        The claimed epsilon in nats: gives the p-value and what the audit could have detected.
    delta : float
        In [0, 1).
    trials : int
        Budget of views; a sequential audit draws fewer where it has refuted the claim.
    confidence : float
        Of the bound.
    seed : int
        Of all samples; it does not reproduce those of a callable that draws from a source of its own.
    neighbours : Neighbours or None
        The relation; by default the mechanism's usual one. Of a group of users, a view is the reports of all of them.
    implementation : Mechanism or callable or None
        Code that is sampled in place of the mechanism, whose parameters still guide the attack.
    witness : Witness or None
        Of a shuffled plan or a sum: the two data sets to tell apart. Without it, some on the values of the mechanism's attack are
        tried. The bound is the samples' alone in either case.
    mode : Mode
        ``sequential``, the default: the bound holds at every stopping time, and the audit stops as soon as the claim is
        refuted. ``fixed``: the whole budget, and the sharpest bound that it gives.
    reading : Reading
        How a callable's reports are read: raw or canonical, of one user or of two, with a classifier or without.
    execution : Execution
        Who samples, where the state is kept, and who is told. The evidence does not depend on it.

    Returns
    -------
    Evidence
        Its `epsilon_lower` is a lower confidence bound of epsilon at `delta`, in nats.

    Raises
    ------
    ImplementationError
        Where the audited code raises, hangs or returns what it never may, such as a view that the declared law does not have.
    Unsupported
        Where no attack on the plan is known, or scikit-learn is asked for and missing.
    TypeError
        Where an argument is not of its type; where other processes are to sample code that draws from a source of its own, or
        that does not pickle; or where an audit of such code is to go on from a checkpoint.
    ValueError
        Where an argument lies outside its domain, or all inputs are one.

    Examples
    --------
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> m = KaryRandomizedResponse.for_epsilon(1.0, k=2)
    >>> 0.95 < audit(m, epsilon=1.0, trials=100_000, seed=7).epsilon_lower < 1
    True
    """
    asked = Experiment(trials, confidence, seed, delta, epsilon, mode)
    for name, value, kind in (("reading", reading, Reading), ("execution", execution, Execution)):
        if not isinstance(value, kind):
            raise TypeError(f"an audit needs {name} to be a value of {kind.__name__}, got {value!r:.60}")
    if isinstance(target, Plan | Mechanism):
        if reading != AS_RETURNED:
            raise ValueError(f"reading is for callables, because the score of a mechanism is known; got {reading}")
        target, neighbours = _of_one_user(target, neighbours)
        m = target.mechanism if isinstance(target, Run) else target
        if isinstance(m, Mechanism) and is_stranger(m) and witness is None:  # run once, and nothing is known but its samples
            if (relation := neighbours or m.relations[0]) != REPLACE_ONE:
                why = f"without a law, any two inputs of a mechanism are compared, but {relation} relates only some of them"
                raise Unsupported(m, why)
            several = list(islice(m.inputs, _MOST_INPUTS)) if inputs is None else list(inputs)
            return _of_callable(implementation or m.sample, several, asked, reading, execution)
        if inputs:
            raise ValueError(f"an audit of a mechanism or plan chooses its inputs itself, got {list(inputs)!r:.60}")
        asked = _drawable(target, witness, implementation, asked)
        return _of_plan(target, neighbours, implementation, witness, asked, execution)
    if witness is not None:
        raise ValueError("a witness needs a shuffled plan or a sum: nothing is known about a callable")
    if isinstance(target, Outputs):
        found = _of_callable(target, target.inputs if inputs is None else inputs, asked, reading, execution)
        return replace(found, event=f"{WEAKER}{found.event}")
    return _of_callable(target, inputs, asked, reading, execution)


def _of_plan(
    plan: Plan | Mechanism,
    neighbours: Neighbours | None,
    implementation: Mechanism | Callable[..., Any] | None,
    witness: Witness | None,
    asked: Experiment,
    execution: Execution,
) -> Evidence:
    from ldpaudit.attacks.engine import reproducible, run
    from ldpaudit.attacks.games.sources import Planned, require_possible

    source = Planned(plan, neighbours, implementation, asked.delta, witness)
    code = plan if implementation is None else implementation
    digest = reproducible.require(code, reproducible.as_planned(source), asked.trials, execution)
    found = run.run(source, asked, execution, digest)
    if implementation is None:
        return found
    if asked.epsilon is None or not found.refutes(asked.epsilon):
        require_possible(source, asked.seed, not reproducible.in_one_process(execution.executor))
    return found if reproducible.takes_rng(implementation) else replace(found, seed=None)


def recheck(
    evidence: Evidence | None,
    target: Plan,
    *,
    epsilon: float,
    delta: float,
    trials: int,
    confidence: float,
    neighbours: Neighbours,
    implementation: Callable[..., Any] | None = None,
    witness: Witness | None = None,
) -> list[str]:
    """What an evidence says that no such `audit` of a plan would have said, in sentences; nothing is sampled.

    ``evidence``: what is said to come from it; the inputs of the pair may be text; ``implementation``: anything of the form of
    the audited code, ``(x, size, rng) -> reports`` or ``x -> report``; it is not called; for the others see `audit`. Raises
    Unsupported where the audit would have raised it.
    """
    from ldpaudit.attacks.engine import recheck as engine
    from ldpaudit.attacks.games.sources import Planned

    asked = Experiment(trials, confidence, delta=delta, epsilon=epsilon)
    played, relation = _of_one_user(target, neighbours)
    asked = _drawable(played, witness, implementation, asked)
    return engine.differences(evidence, Planned(played, relation, implementation, delta, witness), asked)


def _of_one_user(target: Plan | Mechanism, neighbours: Neighbours | None) -> tuple[Plan | Mechanism, Neighbours | None]:
    """What is sampled: for a group of users a plan of as many runs, else the target itself; and the one relation of its parts."""
    require_relation(neighbours)
    is_group = neighbours is not None and neighbours.kind == "group"
    if not (is_group or isinstance(target, Plan)):
        return target, neighbours
    plan, relation = of_one_user(as_plan(target), neighbours)
    return in_rounds(plan), relation


def _of_callable(
    target: object, inputs: Sequence[Any] | None, asked: Experiment, reading: Reading, execution: Execution
) -> Evidence:
    from ldpaudit.adapters.hashes import support_of
    from ldpaudit.adapters.objects import as_callable
    from ldpaudit.attacks.blackbox import late
    from ldpaudit.attacks.engine import reproducible

    if not isinstance(inputs, Iterable | None):
        raise TypeError(f"an audit needs a list of inputs such as [0, 1], got {inputs!r:.60}")
    given, function = None if inputs is None else list(inputs), as_callable(target)
    _require_different(given)
    if reading.support is None and (support := support_of(target)) is not None:
        reading = replace(reading, support=support)
    digest = reproducible.require(target, reproducible.on_inputs(given or []), asked.trials, execution)
    found = late.audit(function, given, asked, reading, execution, digest)
    return found if reproducible.takes_rng(function) else replace(found, seed=None)


def _drawable(target: Plan | Mechanism, witness: Any, implementation: Any, asked: Experiment) -> Experiment:
    """With as many views as can be drawn."""
    if witness is not None and not (isinstance(witness, Witness) and witness.plan == target):
        raise ValueError(f"an audit needs a witness of {target!s:.60}, got {witness!s:.60}")
    from ldpaudit.attacks.games import sources

    return replace(asked, trials=sources.views_within(as_plan(target), implementation, asked.trials))


def _require_different(inputs: list[Any] | None) -> None:
    """Nobody can tell an input from itself: an audit that tries would pass whatever the code does."""
    if inputs is None or len(inputs) < 2:
        return  # an error that the callable's target raises
    try:
        kinds = {pickle.dumps(x) for x in inputs}
    except Exception:  # whatever an input raises when it is pickled
        return
    if len(kinds) == 1:
        raise ValueError(f"an audit needs two different inputs, got {len(inputs)} times {inputs[0]!r:.60}")


__all__ = ["Execution", "Reading", "audit", "recheck"]
