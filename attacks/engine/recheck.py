"""Evidence, re-checked without sampling: what it says that no audit of this plan could have said.

What is drawn is the counts, the game among those of the plan, the directions of its rule and the first bet. All else follows
from these and from the audit that is asked for, and is derived again; the drawn values are held to their ranges.
"""

from collections.abc import Iterator
from itertools import pairwise

from ldpaudit.attacks.bounds.level import bound_of, bounds_of, detectable_of, p_value_of, refutes
from ldpaudit.attacks.engine.play import FINAL, is_kept, may_be_bet, surely_above, uncounted
from ldpaudit.attacks.engine.run import seen_once
from ldpaudit.attacks.games.game import Game
from ldpaudit.attacks.games.sources import Planned, games
from ldpaudit.evidence import Evidence, Look, Mode, Trajectory
from ldpaudit.workers.experiment import Experiment

LOOKS = {Mode.SEQUENTIAL: ((Mode.SEQUENTIAL, 1 - FINAL), (Mode.FIXED, FINAL)), Mode.FIXED: ((Mode.FIXED, 1.0),)}
"""For each mode of an audit, the looks at its counts: their mode, and their share of the level."""


def differences(evidence: Evidence | None, source: Planned, asked: Experiment) -> list[str]:
    """What is not as this audit would have said it, in sentences.

    ``evidence``: the inputs of its pair may be text; ``source``: what was sampled; ``asked``: a claim, the budget,
    the confidence and the mode. Raises Unsupported where no attack on the plan is known, so that there can be no
    evidence.
    """
    played = games(source)
    if evidence is None:
        return ["it needs evidence, since an attack on its plan is known"]
    for check in (_of_the_audit, _out_of_range, _of_no_game, _not_of_the_counts, _of_the_looks, _not_of_their_counts):
        # Each relies on what the one before it has found in order.
        if found := [f"its evidence needs {line}" for line in check(evidence, played, asked)]:
            return found
    return []


def _of_the_audit(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    for name, wanted in (("delta", asked.delta), ("confidence", asked.confidence), ("claimed", asked.epsilon)):
        if (found := getattr(e, name)) != wanted:
            yield f"{name} {wanted}, got {found}"
    if e.distinct is not None:  # it is of code that nothing is known of, and of such code there is no plan
        yield f"distinct None, got {e.distinct}"
    if e.limited is not None:
        yield f"limited None, got {e.limited!r:.60}"
    if (e.mode, e.level) not in LOOKS[asked.mode]:
        looks = " or ".join(f"mode {mode} at level {level}" for mode, level in LOOKS[asked.mode])
        yield f"{looks}, got mode {e.mode} at level {e.level}"


def _out_of_range(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    if not 0 <= e.right <= e.guesses <= e.measured <= e.trials <= asked.trials:
        found = f"right={e.right}, guesses={e.guesses}, measured={e.measured}, trials={e.trials}"
        yield f"0 <= right <= guesses <= measured <= trials <= {asked.trials}, got {found}"
    if not bool(e.guesses) <= e.directions <= e.inputs:
        yield f"directions that are guessed, {e.inputs} at most, got {e.directions}"
    elif asked.mode is Mode.SEQUENTIAL:
        chosen_from = uncounted(asked, played) * len(played)
        if e.measured + chosen_from > e.trials:
            yield f"measured <= trials - {chosen_from}, from which the first rule was chosen, got measured={e.measured}"
        if not may_be_bet(e.tuning, 0 if e.mode is Mode.FIXED else e.directions, e.inputs, asked):
            yield f"what an audit of this claim bets on, got tuning={e.tuning}"


def _of_no_game(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    if not any(_may_be_of(e, game) for game in played):
        known = " or ".join(dict.fromkeys(f"{' against '.join(_pair(game))} by {game.event}" for game in played))
        yield f"{known}, got {' against '.join(map(str, e.pair))} by {e.event}"


def _pair(game: Game) -> tuple[str, ...]:
    return tuple(map(str, game.pair))


def _may_be_of(e: Evidence, game: Game) -> bool:
    events = {game.event}
    if e.right and e.right == e.guesses:
        events.add(seen_once(game.event, e.right))
    known = game.chosen is None or game.chosen.directions == e.directions
    return known and e.inputs == game.inputs and tuple(map(str, e.pair)) == _pair(game) and e.event in events


def _not_of_the_counts(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    if (bound := bound_of(e)) != e.epsilon_lower:
        yield f"the bound that its counts give, epsilon >= {bound}, not {e.epsilon_lower}"
        return
    for name, found in (("p_value", p_value_of(e)), ("detectable", detectable_of(e))):
        if found != getattr(e, name):
            yield f"the {name} that its counts give, {found}, not {getattr(e, name)}"
    # Only a refuted claim stops a sequential audit before its budget is spent.
    sequential = e.mode is Mode.SEQUENTIAL and e.claimed is not None
    if e.trials < asked.trials and not (sequential and refutes(e, surely_above(e.claimed or 0.0))):
        yield f"all {asked.trials} trials, since they refute nothing, got {e.trials}"


def _of_the_looks(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    """What a trajectory says that no audit of this evidence has seen."""
    t, sequential = e.trajectory, asked.mode is Mode.SEQUENTIAL
    if (t is not None) != sequential:
        yield f"{'the' if sequential else 'no'} looks before the last, since its mode is {asked.mode}"
    if t is None or not sequential:
        return
    possible = 0 <= t.directions <= e.inputs and may_be_bet(t.tuning, t.directions, e.inputs, asked)
    if t.level != 1 - FINAL or not possible:
        found = f"level {t.level}, {t.directions} directions and bets {t.tuning}"
        yield f"looks at level {1 - FINAL}, of directions and with bets of this audit, got {found}"
    if e.mode is Mode.SEQUENTIAL and t.tuning != e.tuning:
        yield f"looks with its own bets {e.tuning}, got {t.tuning}"
    yield from _out_of_order(e, t)


def _out_of_order(e: Evidence, t: Trajectory) -> Iterator[str]:
    """Looks whose counts do not grow, or are not those that are kept, or do not end with the evidence's."""
    ended = e.trials, e.measured, e.guesses, e.right
    for before, after in pairwise([Look(0, 0, 0, 0, 0.0), *t.looks]):
        drawn, measured, guesses, right = (a - b for a, b in zip(_counted(after), _counted(before), strict=True))
        if not 0 <= right <= guesses <= measured <= drawn or not drawn:
            yield f"looks whose counts grow, got {before} and then {after}"
    if any(not is_kept(after.trials, [before.trials]) for before, after in pairwise(t.looks[:-1])):
        yield f"looks with half as many views again, got {', '.join(str(look.trials) for look in t.looks)}"
    last = _counted(t.looks[-1]) if t.looks else (0, 0, 0, 0)
    of_all = last == ended if e.mode is Mode.SEQUENTIAL else all(a <= b for a, b in zip(ended, last, strict=True))
    if last[0] != e.trials or not of_all:
        yield f"a last look at all that it counts, {ended}, got {last}"


def _counted(look: Look) -> tuple[int, int, int, int]:
    return look.trials, look.measured, look.guesses, look.right


def _not_of_their_counts(e: Evidence, played: tuple[Game, ...], asked: Experiment) -> Iterator[str]:
    if e.trajectory is None:
        return
    for look, bound in zip(e.trajectory.looks, bounds_of(e.trajectory, e.inputs, e.delta, e.confidence), strict=True):
        if look.epsilon_lower != bound:
            yield f"the bound that a look's counts give, epsilon >= {bound}, not {look.epsilon_lower}"
    if any(e.claimed is not None and look.epsilon_lower > surely_above(e.claimed) for look in e.trajectory.looks[:-1]):
        yield "no look that refutes the claim before the last one, which ends an audit"
