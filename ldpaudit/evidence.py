"""What samples show: a lower confidence bound, never the same type as an enclosure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from math import inf
from typing import Any

from ldpaudit.claim import SLACK, Claim
from ldpaudit.core.pace import views_needed
from ldpaudit.display import markup, pictures
from ldpaudit.display.digits import show_down, show_up

DIFFERENT = 0.9
"""Share of different reports among those that a score was learned from, above which they are nearly all different."""


UNREADABLE = (
    "the reports were nearly all different, as those with floats are, and no event was found that distinguishes the inputs: if a "
    "report names its hash function by a seed, pass its support, which says whether the hash function maps an input to the "
    "reported value (Reading(support=...), or --support MODULE:FUNCTION, called with a report and an input); or else pass the "
    "mechanism, if it is one of ldpaudit's"
)
"""What an audit says that found nothing in reports of which it may not have been able to read any."""
SUPPORTED = "reports beside the inputs that they support, "
"""What the words of an event begin with, where a support was passed: its numbers come first, in the order of the inputs."""
LEARNED_AGAIN = "learned again because the event before it did not fire, "
"""What the words of an event begin with, where the one before it did not fire in what was to judge it, or no longer."""
NOTHING_LEARNED = "nothing: no difference between the reports was learned"
"""What the words of an event end with, where it never fires."""


class Mode(StrEnum):
    """When an audit looks at its counts, which is what its bound must hold for."""

    FIXED = "fixed"
    """Once, when the budget is spent: the sharpest bound for this many views."""
    SEQUENTIAL = "sequential"
    """Again and again: it stops as soon as the claim is refuted, and the bound holds whenever that is."""


class Form(StrEnum):
    """Which form of a function's reports is looked at."""

    RAW = "raw"
    """As returned: types, lengths, order and the last bits of floats included."""
    CANONICAL = "canonical"
    """What often leaves the device: no types, no order of sets and dictionaries, floats rounded to 20 bits."""
    UNORDERED = "unordered"
    """As canonical, where lists and arrays stand for sets: their order is dropped too. Tuples keep theirs."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a sequential audit saw at one of its looks.

    ``trials``: views drawn by then, in all; ``measured``, ``guesses``, ``right``: as `Evidence` says them, then;
    ``epsilon_lower``: the bound of the any-time test, in nats.
    """

    trials: int
    measured: int
    guesses: int
    right: int
    epsilon_lower: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """How a sequential audit's bound came about: some of its looks, each with half as many views again as the one before.

    The test holds at every stopping time: with the audit's confidence all of these bounds are true together, and with them
    that of its evidence. They may fall: the views that came between were worse than those before.

    ``level``: share of the failure probability that all of them may spend together; ``directions``: how many of the
    inputs are ever guessed, where delta is above 0: what the test allows delta for; ``tuning``: what the test bets on,
    fixed before the counted views. The counts and this give the bounds; ``looks``: in their order; the last one is
    where the audit ended.
    """

    level: float
    directions: int
    tuning: tuple[float, ...]
    looks: tuple[Look, ...]

    def after(self, views: int) -> Trajectory:
        """The same, where as many views were drawn before the audit of these."""
        return replace(self, looks=tuple(replace(look, trials=views + look.trials) for look in self.looks))


@dataclass(frozen=True, slots=True)
class Evidence:
    """With the stated confidence, the audited code is not (epsilon, delta)-private for any epsilon below the bound.

    Parameters
    ----------
    epsilon_lower : float
        Lower confidence bound, in nats; 0 where nothing was seen. Finite, since so are the samples: of a view that was
        seen on one input only, `event` says so.
    delta : float
        The delta that it is for.
    confidence : float
        The bound is true with at least this probability over the samples.
    trials : int
        Views drawn in all, those that chose the event included.
    measured : int
        Views that the bound rests on.
    guesses, right : int
        How often the event fired among these, and how often its guess of the input was right.
    pair : tuple
        The two inputs; the first and the last, where the game draws from more.
    event : str
        What was looked for.
    directions : int
        How many of the inputs are ever guessed.
    seed : int or None
        Seed that reproduces the samples; None where the audited code draws from its own source.
    claimed : float or None
        The epsilon that was tested.
    p_value : float or None
        Upper bound of the probability of samples like these if the claim were true.
    detectable : float or None
        An epsilon that an audit with this many guesses would have told apart from the claimed one with 95 % power.
    inputs : int
        How many inputs the game draws from.
    mode : Mode
        When these counts were looked at. A sequential audit that spends its budget ends with a look at a fixed sample.
    level : float
        Share of the failure probability that this look may spend; the others had the rest.
    tuning : tuple of float
        What a sequential look bets on, fixed before the measured views: epsilons, or stakes where delta is above 0. The
        counts and this give the bound. In one run the share of the level that pays for delta, where the output decides how many
        are guessed.
    distinct : float or None
        How many of the reports that the event was learned from were different, as a share; None where the event was not
        learned, since the mechanism is known.
    limited : str or None
        What of the reports was not looked at one by one while the event was learned, in a clause; None where all was.
    clue : str or None
        What betrayed the inputs, in the report's own terms: what of it tells most, how often the reports that were learned from
        showed it, which anybody can count again, and reports on which the event fired. None where no event was learned that
        did. Whether two evidences are equal does not depend on it, since the reports are those that this process drew last.
    trajectory : Trajectory or None
        The bound as it tightened. None in fixed mode: there the bounds of earlier looks would not hold together.
    one_run : bool
        Whether the measured views are canaries in a single run, which are not independent of each other.
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
    inputs: int = 2
    mode: Mode = Mode.FIXED
    level: float = 1.0
    tuning: tuple[float, ...] = ()
    distinct: float | None = None
    limited: str | None = None
    clue: str | None = field(default=None, compare=False)
    trajectory: Trajectory | None = field(default=None, repr=False)
    one_run: bool = False

    def lacks(self, epsilon: float) -> float:
        """How many times the views would have to be more for the audit to refute an epsilon of any code; 1 or less: none.

        What an event was learned from, an input that is never guessed, and the other looks' share of the level refute nothing;
        and who looks all the time needs up to twice as many. Where no event was found to guess by, all views were to find one.
        """
        nothing = self.event.endswith(NOTHING_LEARNED)
        confidence = 1 - (1 if nothing else self.level) * (1 - self.confidence)
        counted = (0 if nothing else self.measured * self.directions / self.inputs) or self.trials
        needed = views_needed(self.inputs, epsilon, self.delta, confidence)
        return needed * (1 + (self.mode is Mode.SEQUENTIAL)) / counted if counted else inf

    @property
    def resolution(self) -> str:
        """How far the audit could see, in a sentence without its full stop: of the event that it looked for, never of the code.

        A bound of 0 on an event that was learned means that learning has found nothing.
        """
        return self._saw if self.limited is None else f"{self._saw}; {self.limited}"

    @property
    def _saw(self) -> str:
        if self.distinct is not None and self.epsilon_lower == 0:
            if self.distinct >= DIFFERENT and SUPPORTED not in self.event:
                return UNREADABLE
            before = ", and what was learned before did not fire" if LEARNED_AGAIN in self.event else ""
            found = f"no event was found that distinguishes the inputs{before}"
            if self.directions and not self.event.endswith(NOTHING_LEARNED) and not self.guesses:
                found = f"the event that was learned never fired in the {self.measured:,} views that were to judge it"
            return f"{found}, so this says nothing about the code beyond these {self.trials:,} views"
        if self.claimed is None:
            return "nothing was claimed, so the bound is all that this audit says"
        if self.detectable is None:
            if self.guesses == 1:
                return "on this event, 1 guess is too few to refute the claim, even if it is right"
            return f"on this event, {self.guesses:,} guesses are too few to refute the claim, even if all of them are right"
        told = f"on this event alone, an epsilon of {show_up(self.detectable, 4)} or more would have been detected"
        return f"{told} with 95 % power; this audit says nothing about other events"

    @property
    def tightened(self) -> str:
        """What the bounds of the trajectory mean, in sentences; nothing where there is none."""
        if self.trajectory is None:
            return ""
        together = f"All of these bounds hold together, with confidence {self.confidence:g}."
        bound = show_down(self.epsilon_lower, 4)
        if self.mode is Mode.SEQUENTIAL:
            return f"{together} The last one is the measured bound, {bound}."
        return f"{together} What was measured, {bound}, comes from a last look with its own share of the level."

    def _repr_html_(self) -> str:
        """For notebooks: the bound, what it rests on, and how it tightened."""
        looks = [(look.trials, look.epsilon_lower) for look in self.trajectory.looks] if self.trajectory else []
        picture = pictures.tightening(looks, self.claimed, "Bound of the samples as it tightened", self.tightened)
        return markup.card(f"epsilon is at least {show_down(self.epsilon_lower)}", self._facts(), picture)

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.claimed is not None:
            yield "claimed", f"{self.claimed:.6g}: {'refuted' if self.refutes(self.claimed) else 'not refuted'}"
        yield "at delta", f"{self.delta:g}"
        yield "confidence", f"{self.confidence:g}"
        yield "guesses", f"{self.right:,} of {self.guesses:,} right, on {self.measured:,} of {self.trials:,} views"
        yield "inputs", " against ".join(map(str, self.pair))
        yield "event", self.event
        if self.clue is not None:
            yield "betrayed by", self.clue
        if self.claimed is None or not self.refutes(self.claimed):
            yield "sight", self.resolution

    def refutes(self, claim: Claim | Fraction | float) -> bool:
        """Whether the bound exceeds that of a claim, or an epsilon that is claimed at the evidence's delta or a smaller one."""
        if isinstance(claim, Claim):
            return claim.ceiling is not None and claim.delta <= self.delta and self.epsilon_lower > claim.ceiling
        return self.epsilon_lower > claim * (1 + SLACK)
