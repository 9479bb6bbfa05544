"""Theorem: THRESH costs log(p/(1-p)) for each vote in which two streams differ, and log(q/(1-q)) for each estimate.

A vote is a bit, published as it is with probability p, or else flipped. An estimate is a bit of mean x, the share of
ones, published alike with q; a user without budget publishes as if x were 0. Two streams differ in at most twice as
many votes as either may cast, less those that both cast in the same epoch whatever the streams; but they send their
estimates in the same epochs. HEAVYTHRESH and the repaired forms, whose counters never exceed epsilon/4, cost as much for theirs.

With coins that are rounded toward 1/2, a vote costs a at most and an estimate b. Where a and b are positive, counters stop a user
once they have reached epsilon/4, so they end below epsilon/4 + a and epsilon/4 + b: THRESH is (3/4 epsilon + 2a + b)-LDP. This
is what is left of the paper's Theorem 4.1; it gives epsilon only where 2a + b <= epsilon/4, of which Assumption 4.2 (a < epsilon)
says nothing. A repaired one is 3/4 epsilon-LDP: the votes of two streams cost epsilon/2, their estimates epsilon/4.
"""

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._parameters import transcript


def prove() -> tuple[Theorem, ...]:
    """Check THRESH's theorem. Raises ProofError naming the step, were one false, as does `thresh_repaired`."""
    return (transcript("Thresh", "THRESH"),)


def thresh_repaired() -> tuple[Theorem, ...]:
    """Check the theorem of the repaired one."""
    return (transcript("ThreshRepaired", "the repaired THRESH", shared=False),)
