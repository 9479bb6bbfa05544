"""A published bound of a plan's epsilon, and how it stands beside the certified value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ldpaudit.accountants.claims.sentence import Printed, Provenance, Standing
from ldpaudit.accountants.shuffling import theorems as shuffling
from ldpaudit.enclosure import Enclosure, Rigour


@dataclass(frozen=True, slots=True)
class Published:
    """A published bound on the epsilon of a plan; `beside` a certified value, how it stands to that."""

    name: str  # short, with the initials that the field cites
    year: int  # of publication
    source: str  # the authors and the theorem
    # the theorem's epsilon at the delta asked for: a ValueError "<theorem> needs <hypothesis>, got <values>" where one is not met
    epsilon: Callable[[], Enclosure] = field(repr=False, compare=False)
    needs: str  # all hypotheses of the theorem, met or not
    provenance: Provenance = Provenance.MEMORY  # how the formula is known
    proved: bool = True  # False for a conjecture
    printed: Printed | None = None  # the bound beside the certified value; None where a hypothesis is not met
    unmet: str = ""  # the hypothesis that is not met, and what was found; else empty

    def beside(self, certified: Enclosure, sentence: str) -> Published:
        """The theorem's bound beside what is certified, or which hypothesis is not met."""
        try:
            value = self.epsilon()
        except ValueError as error:
            _, _, unmet = str(error).partition(" needs ")
            return replace(self, unmet=unmet or str(error))
        return replace(self, printed=Printed(self.source, sentence, value.high, certified, provenance=self.provenance))

    @property
    def standing(self) -> Standing:
        """What may be said of it here; a conjecture that a certified lower end exceeds fails."""
        if self.printed is None:
            return Standing.OUTSIDE
        if self.printed.holds is False:
            return Standing.FAILS
        return self.printed.standing if self.proved else Standing.CONJECTURE


def inverse(delta_of: Callable[[float], Enclosure], epsilon0: float, delta: Fraction) -> Enclosure:
    """The epsilon at which a formula for delta reaches it; no more than epsilon0, from which on delta is 0."""
    if not delta > 0:
        raise ValueError(f"the theorem needs delta > 0, got delta={delta}")
    nothing = Enclosure(0.0, 0.0, Rigour.INTERVAL, "delta is 0 from the epsilon of the parts on")
    return shuffling.epsilon_of(lambda e: nothing if e >= epsilon0 else delta_of(e), delta)
