"""What samples show: a lower confidence bound, never the same type as an enclosure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldpaudit.claim import Claim


@dataclass(frozen=True, slots=True)
class Evidence:
    """With the stated confidence, the audited code is not (epsilon, delta)-private for any epsilon below the bound.

    Parameters
    ----------
    epsilon_lower : float
        Lower confidence bound, in nats; 0 where nothing was seen, infinity where a view betrays its input.
    delta : float
        The delta that it is for.
    confidence : float
        Probability, over the samples, that the bound is true; at least.
    trials : int
        Views drawn in all, those that chose the event included.
    measured : int
        Views that the bound rests on.
    guesses, right : int
        How often the event fired among these, and how often its guess of the input was right.
    pair : tuple
        The two inputs.
    event : str
        What was looked for.
    directions : int
        1 where only one of the inputs is ever guessed, else 2.
    seed : int or None
        Seed that reproduces the samples; None where the audited code draws from its own source.
    claimed : float or None
        The epsilon that was tested.
    p_value : float or None
        Probability of samples like these if the claim were true; at most.
    detectable : float or None
        Smallest epsilon that an audit with this many guesses would have told from the claim with 95 % power.
    """

    epsilon_lower: float
    delta: float
    confidence: float
    trials: int
    measured: int
    guesses: int
    right: int
    pair: tuple[Any, Any]
    event: str
    directions: int
    seed: int | None
    claimed: float | None = None
    p_value: float | None = None
    detectable: float | None = None

    def refutes(self, claim: Claim) -> bool:
        """Whether the bound exceeds the claim, read to its slack."""
        return claim.ceiling is not None and claim.delta <= self.delta and self.epsilon_lower > claim.ceiling
