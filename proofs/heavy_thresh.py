"""Theorem: HEAVYTHRESH costs log(p/(1-p)) for each vote in which two streams differ, and log(q/(1-q)) for each report.

A report is a row, uniform whatever the user holds, and a sign: in a row in which the user's column has the entry 2 x - 1, a
sign of that mean, told with probability q or else its opposite; a user without budget tells a fair sign, as if x were 1/2. So its
theorem is that of THRESH, with signs for estimates.

Where the noise levels are positive, counters end below epsilon/4 + a and epsilon/4 + b, which gives 3/4 epsilon + 2a + b. Where
the first vote is yes whatever the stream, that vote of both counts no more, which gives 3/4 epsilon + b: epsilon, where b is at
most epsilon/4. The repaired one, whose counters stay within epsilon/4, is 3/4 epsilon-LDP.
"""

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._parameters import transcript


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return transcript("HeavyThresh", "HEAVYTHRESH"), transcript("HeavyThreshRepaired", "the repaired HEAVYTHRESH")
