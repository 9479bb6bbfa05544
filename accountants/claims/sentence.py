"""What a paper prints, at some parameters, beside what is found."""

from __future__ import annotations

from dataclasses import dataclass

from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour


@dataclass(frozen=True, slots=True)
class Printed:
    """A sentence "some quantity is at most so much", and the quantity.

    Parameters
    ----------
    where : str
        Source and number.
    sentence : str
        What it says, at these parameters.
    claimed : float
        The "so much".
    found : Enclosure
        Of the quantity, or of an upper bound of it (`attained` is False).
    hypotheses : tuple of Hypothesis
        Its own, and those it forgets.
    attained : bool
        Whether `found` is the quantity itself, so that exceeding the claim refutes it.
    """

    where: str
    sentence: str
    claimed: float
    found: Enclosure
    hypotheses: tuple[Hypothesis, ...] = ()
    attained: bool = True

    @property
    def holds(self) -> bool | None:
        """Whether it is true at these parameters; None where that is not decided."""
        if self.found.rigour is Rigour.FLOAT:
            return None
        if self.found.high <= self.claimed:
            return True
        return False if self.attained and self.found.low > self.claimed else None

    @property
    def looseness(self) -> float:
        """Claimed over found: 1 where it is tight, below 1 where it is false."""
        return self.claimed / self.found.high if self.found.high else float("inf")

    def __str__(self) -> str:
        verdict = {True: "HOLDS", False: "FAILS", None: "OPEN"}[self.holds]
        missing = "".join(f"; not met: {h.sentence}" for h in self.hypotheses if not h.holds)
        return f"{verdict}  {self.where}: {self.sentence}: claimed {self.claimed:.6g}, found {self.found}{missing}"
