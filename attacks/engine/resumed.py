"""What a checkpoint must say before an audit goes on from it.

Views are drawn by their place in the schedule: a number of units that does not fit the number of views would draw the same
views twice, and the bound would be wrong. What fits may still have been invented: a checkpoint is trusted like the code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, pairwise

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.engine.play import Job, first_views, is_kept, last_learning, may_be_bet, unit_sizes
from ldpaudit.attacks.engine.work import State
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.k_inputs import SubsetRule
from ldpaudit.attacks.games.sources import games
from ldpaudit.attacks.games.two_inputs import ThresholdRule
from ldpaudit.evidence import Mode


def problem(job: Job, state: State) -> str | None:
    """What of a state cannot be of this audit, in words; None where nothing is."""
    played = games(job.source)
    if state.game >= len(played):
        return f"a game below {len(played)}, got {state.game}"
    if (wrong := _rule_problem(job, state)) or (wrong := _counts_problem(job, state) or _looks_problem(state)):
        return wrong
    if job.experiment.mode is Mode.FIXED:
        return f"no bets in an audit of a fixed sample, got {len(state.tuning)}" if state.tuning else None
    if not may_be_bet(state.tuning, state.directions, played[state.game].inputs, job.experiment):
        return f"what an audit of this claim bets on, got {state.tuning!s:.60}"
    return None


def _rule_problem(job: Job, state: State) -> str | None:
    game, rule = games(job.source)[state.game], state.rule
    if isinstance(game, Target) is not isinstance(rule, ThresholdRule):
        return f"the rule of a game on {game.inputs} inputs, got {rule}"
    if isinstance(rule, SubsetRule) and (list(rule.at) != sorted(set(rule.at)) or not set(rule.at) <= {*range(game.inputs)}):
        return f"a rule on some of {game.inputs} inputs in their order, got {rule!s:.60}"
    if isinstance(rule, ThresholdRule) and (math.isnan(rule.upper) or math.isnan(rule.lower) or rule.upper <= rule.lower):
        return f"an upper threshold above the lower one, got {rule}"
    most = rule.directions if job.experiment.mode is Mode.FIXED else game.inputs
    if not rule.directions <= state.directions <= most:
        return f"{rule.directions} to {most} directions, got {state.directions}"
    return None


def _counts_problem(job: Job, state: State) -> str | None:
    counts, since = state.counts, state.since
    if min(since.right, since.wrong, since.trials) < 0 or counts.right + counts.wrong > counts.trials:
        return f"at most a guess a view, got {counts}"
    later = counts - since
    if min(later.right, later.wrong, later.trials) < 0 or later.right + later.wrong > later.trials:
        return f"since to be a part of the counts, got {since} of {counts}"
    narrower = len(games(job.source)[state.game].narrower)
    if len(state.narrower) not in {narrower, 0 if not counts.trials else narrower}:
        return f"the counts of {narrower} narrower rules, got {len(state.narrower)}"
    # Views are counted for the narrower rules even where the rule itself guesses on nothing yet.
    if any(not counts.trials <= each.trials <= state.drawn or each.right + each.wrong > each.trials for each in state.narrower):
        return f"at most a guess of a narrower rule per view that was counted, got {state.narrower}"
    if since != Counts() and job.experiment.mode is Mode.FIXED:
        return f"nothing in since in an audit of a fixed sample, got {since}"
    counted_from, looks = state.drawn - counts.trials, [drawn for drawn, _ in state.looks]
    for walk in _walks(job):
        known = set(walk)
        on_it = state.units < len(walk) and walk[state.units] == state.drawn
        if on_it and {counted_from, counted_from + since.trials} <= known and _kept(job, walk[1 : state.units + 1]) == looks:
            return None
    found = f"{state.drawn} views in {state.units} units, {counts}, and looks at {looks!s:.60}"
    return f"views, units, counts and looks of one schedule, got {found}"


def _kept(job: Job, walk: list[int]) -> list[int]:
    """The views after which a look is kept."""
    found: list[int] = []
    for drawn in walk if job.sequential else ():
        if is_kept(drawn, found):
            found.append(drawn)
    return found


def _looks_problem(state: State) -> str | None:
    known = [Counts(), *(counts for _, counts in state.looks), state.counts]
    for before, after in pairwise(known):
        more = after - before
        if min(more.right, more.wrong, more.trials) < 0 or more.right + more.wrong > more.trials:
            return f"counts that grow from look to look, got {before} and then {after}"
    return None


def _walks(job: Job) -> Iterator[list[int]]:
    """Views drawn after each number of units, on each schedule that this audit can have."""
    trials, count = job.experiment.trials, len(games(job.source))
    for views in first_views(job):
        start = views * count
        yield list(accumulate(unit_sizes(job, start, trials), initial=start))
        late = last_learning(job)
        if job.experiment.mode is Mode.SEQUENTIAL and start < late:
            yield list(accumulate([*unit_sizes(job, start, late), *unit_sizes(job, late, trials)], initial=start))
