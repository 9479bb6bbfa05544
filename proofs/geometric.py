"""Theorem: two-sided geometric noise on an integer in [0, B] is epsilon-LDP exactly for epsilon >= B log(1/alpha).

So is its truncated form. One step of the input moves every view by one step nearer or farther, which costs log(1/alpha);
two inputs are at most B steps apart, and what the steps cost adds up.
"""

from typing import Any

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._parameters import step


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    several = {"Geometric": "two-sided geometric noise", "TruncatedGeometric": "truncated geometric noise"}
    assumes = ("steps", "geometric noise")
    return tuple(step(m, f"{name} on an integer in [0, bound]", "bound", assumes=assumes) for m, name in several.items())


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; the truncated form is compared as the channel that it is."""
    if relation != "replace-one" or m.variant:
        return None
    return {"word": "discrete_laplace", "alpha": str(m.alpha), "change": m.bound}
