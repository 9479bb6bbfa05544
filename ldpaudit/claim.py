"""One sentence about a plan."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.core.number import brief, show
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Guarantee, Plan

SLACK = Fraction(1, 10**9)
"""Relative slack to which a claimed epsilon is read, so that a rounded parameter is not a scandal."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A condition of the theorem behind a claim.

    ``sentence``: what is required; ``holds``: whether it is met at these parameters; None where that can be neither
    seen nor derived; ``stated``: False for a condition that the theorem needs and does not state: where it is not met,
    the theorem may fail, and the failure is the theorem's.
    """

    sentence: str
    holds: bool | None
    stated: bool = True


def require(theorem: str, hypotheses: Iterable[Hypothesis], found: str) -> None:
    """Raise ValueError where a hypothesis of a theorem does not hold: it names the first, and what was found."""
    for each in hypotheses:
        if each.holds is False:
            raise ValueError(f"{theorem} needs {each.sentence}, got {found}")


LARGEST = 10**18  # nats, above which no claim says anything; floats end at 2**1024


@dataclass(frozen=True, slots=True)
class Claim:
    """A plan is (epsilon, delta)-differentially private for a neighbouring relation.

    Parameters
    ----------
    id : str
        Unique within the deployment; seeds derive from it.
    plan : Plan
        What is claimed to be private.
    epsilon : Fraction or None
        In nats; None asks for the certified value instead of claiming one.
    delta : Fraction
        In [0, 1).
    neighbours : Neighbours
        The relation.
    unit : str
        What epsilon counts: ``report``, ``event``, ``source``, ``round``, ``relay-day``, ``user-period``, ``user-day``,
        ``window`` or ``lifetime``.
    source : str
        Who claims it, where.
    hypotheses : tuple of Hypothesis
        Of the theorem that it rests on.
    expect : str or None
        The outcome on record: ``holds``, ``assumed``, ``refuted`` or ``undecided``.
    taken : str
        Which of the plan's parameters are computed from the claimed epsilon itself, in a clause; empty where none are.
    sampled : str
        What is assumed of the code's sampler, in a clause; empty where nothing is.
    drawn : Plan or None
        The plan with the probabilities that the code draws, where these are known.
    assumed : tuple of str
        What the deployer assumes besides, in clauses.
    """

    id: str
    plan: Plan
    epsilon: Fraction | None
    delta: Fraction
    neighbours: Neighbours
    unit: str = "report"
    source: str = ""
    hypotheses: tuple[Hypothesis, ...] = ()
    expect: str | None = None
    taken: str = ""
    sampled: str = ""
    drawn: Plan | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon is not None and not self.epsilon >= 0:
            raise ValueError(f"Claim needs epsilon >= 0, got epsilon={brief(self.epsilon)}")
        if self.epsilon is not None and self.epsilon > LARGEST:
            raise ValueError(f"Claim needs epsilon <= 1e18, got epsilon={brief(self.epsilon)}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"Claim needs 0 <= delta < 1, got delta={self.delta}")

    @property
    def ceiling(self) -> Fraction | None:
        """The largest epsilon that the claim, read to its slack, still allows."""
        return None if self.epsilon is None else self.epsilon * (1 + SLACK)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What nobody shows here and the claim's verdict rests on, in clauses."""
        return (*self.axioms, *filter(None, [self.taken, self.sampled, *self.assumed]))

    @property
    def axioms(self) -> tuple[str, ...]:
        """What nobody shows of the plan's parts, in clauses; every bound of the plan rests on it."""
        known: dict[str, None] = {}
        for g in (leaf for leaf in self.plan.leaves() if isinstance(leaf, Guarantee)):
            said = _private(g.epsilon, g.delta)
            if g.rho is not None:
                said = f"{show(g.rho)}-zero-concentrated differentially private"
            elif g.mu is not None:
                said = f"{show(g.mu)}-Gaussian differentially private"
            known[f"a part is {said}"] = None
        return tuple(known)

    @property
    def restates(self) -> bool:
        """Whether the claim says what is assumed, and no more."""
        return bool(self.taken) or self.plan == Guarantee(self.epsilon or Fraction(0), self.delta)

    def __str__(self) -> str:
        return f"one {self.unit} is {_private(self.epsilon, self.delta)} for {self.neighbours} neighbours"


def _private(epsilon: Fraction | None, delta: Fraction) -> str:
    """What is claimed or assumed, without of whom."""
    shown = "?" if epsilon is None else f"{float(epsilon):.6g}"
    return f"{f'({shown}, {float(delta):.3g})' if delta else shown}-differentially private"
