"""Which test belongs to an audit, the bound that it gives again, and what it would have detected."""

from __future__ import annotations

import math

from scipy import special

from ldpaudit.attacks.bounds import binomial, e_process, nuisance
from ldpaudit.attacks.bounds.counts import Counts, LevelTest, logit_share
from ldpaudit.evidence import Evidence, Mode

POWER = 0.95
"""Power at which the detectable epsilon is stated."""


def level_test(
    mode: Mode, inputs: int, delta: float, directions: int, alpha: float, tuning: tuple[float, ...]
) -> LevelTest:
    """The test that belongs to a mode, a game and a delta."""
    share = delta * directions / inputs
    if mode is Mode.SEQUENTIAL:
        return e_process.Wealth(inputs, share, alpha, tuning)
    return binomial.Binomial(inputs, alpha) if share == 0 else nuisance.Worst(inputs, share, alpha)


def bound_of(evidence: Evidence) -> float:
    """The bound that an evidence's counts give: what it must say, whatever it says."""
    counts = Counts(evidence.right, evidence.guesses - evidence.right, evidence.measured)
    e, alpha = evidence, evidence.level * (1 - evidence.confidence)
    return level_test(e.mode, e.inputs, e.delta, e.directions, alpha, e.tuning).epsilon_lower(counts)


def detectable(test: LevelTest, counts: Counts, inputs: int, share: float, epsilon: float) -> float | None:
    """An epsilon that so many guesses tell from the claimed one with 95 % power, nearly the smallest; None where none is.

    Of a sequential test it is what the last look alone would detect: the earlier ones add to the power.
    """
    guesses = counts.right + counts.wrong
    if not guesses or not test.refutes(Counts(guesses, 0, counts.trials), epsilon):
        return None
    # Fewer right guesses than the claim allows on average refute nothing.
    null = float(special.expit(logit_share(epsilon, inputs)))
    few, enough = int(guesses * null), guesses
    step = int(2 * math.sqrt(guesses * null * (1 - null))) + 1
    while few + step < enough:
        if test.refutes(Counts(few + step, guesses - few - step, counts.trials), epsilon):
            enough = few + step
            break
        few, step = few + step, 2 * step
    while enough - few > max(1, step // 32):
        middle = (few + enough) // 2
        if test.refutes(Counts(middle, guesses - middle, counts.trials), epsilon):
            enough = middle
        else:
            few = middle
    odds = float(special.betaincinv(enough, guesses - enough + 1, POWER))
    explained = share * counts.trials / guesses  # of the right guesses, delta explains this share
    if odds <= explained or odds >= 1:
        return None
    return math.log((odds - explained) / (1 - odds)) + math.log(inputs - 1)
