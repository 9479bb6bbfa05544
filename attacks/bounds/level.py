"""Which test an audit takes, the bound that its counts give, and what it would have detected."""

import math

from scipy import special

from ldpaudit.attacks.bounds import binomial, e_process, nuisance, one_run
from ldpaudit.attacks.bounds.counts import Counts, LevelTest, logit_share
from ldpaudit.evidence import Evidence, Mode, Trajectory

POWER = 0.95  # power at which the detectable epsilon is stated


def level_test(mode: Mode, inputs: int, delta: float, directions: int, alpha: float, tuning: tuple[float, ...]) -> LevelTest:
    """The test for a mode, a game on k inputs, and a delta; the rule guesses `directions` of the inputs."""
    share = delta * directions / inputs
    if mode is Mode.SEQUENTIAL:
        return e_process.EProcess(inputs, share, alpha, tuning)
    return binomial.BinomialTest(inputs, alpha) if share == 0 else nuisance.NuisanceTest(inputs, share, alpha)


def bound_of(evidence: Evidence) -> float:
    """The bound computed again from the counts of an evidence, whatever bound it states."""
    return _test_of(evidence).epsilon_lower(_counts_of(evidence))


def bounds_of(trajectory: Trajectory, inputs: int, delta: float, confidence: float) -> list[float]:
    """The bounds of a trajectory computed again from its counts, whatever bounds it states."""
    share, alpha = delta * trajectory.directions / inputs, trajectory.level * (1 - confidence)
    test = e_process.EProcess(inputs, share, alpha, trajectory.tuning)
    return test.bounds([Counts(look.right, look.guesses - look.right, look.measured) for look in trajectory.looks])


def p_value_of(evidence: Evidence) -> float | None:
    """The p-value that the counts and the bound of an evidence give; None where nothing is claimed."""
    e = evidence
    if e.claimed is None:
        return None
    found = min(1.0, _test_of(e).p_value(_counts_of(e), e.claimed) / e.level)
    # Some are upper bounds, a few percent too large: that of an audit that refutes the claim is at most its alpha.
    return min(found, 1 - e.confidence) if e.epsilon_lower > e.claimed else found


def detectable_of(evidence: Evidence) -> float | None:
    """See `detectable`; None where nothing is claimed too."""
    e = evidence
    share = e.delta * e.directions / e.inputs
    return None if e.claimed is None else detectable(_test_of(e), _counts_of(e), e.inputs, share, e.claimed)


def refutes(evidence: Evidence, epsilon: float) -> bool:
    """Whether the counts of an evidence refute this epsilon at its own look."""
    return _test_of(evidence).refutes(_counts_of(evidence), epsilon)


def _counts_of(evidence: Evidence) -> Counts:
    return Counts(evidence.right, evidence.guesses - evidence.right, evidence.measured)


def _test_of(evidence: Evidence) -> LevelTest:
    e, alpha = evidence, evidence.level * (1 - evidence.confidence)
    if e.one_run:
        return one_run.OneRunTest(e.delta * e.directions / e.inputs, alpha, *e.tuning)
    return level_test(e.mode, e.inputs, e.delta, e.directions, alpha, e.tuning)


def detectable(test: LevelTest, counts: Counts, inputs: int, share: float, epsilon: float) -> float | None:
    """Nearly the smallest epsilon that this many guesses tell from the claimed one with 95 % power; None where there is none.

    For a sequential test it is what the last look alone would detect; the earlier looks add to the power.
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
