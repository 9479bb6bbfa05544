"""A function of unknown make: a score is learned from reports of its own, then handed to the engine as any other.

The bound never sees a report that the score, the pair or the event was chosen by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import call, in_order, one_by_one, positional, probe
from ldpaudit.attacks.blackbox.canonical import canonicalized
from ldpaudit.attacks.blackbox.choosing import LUCK, Found, Reports, learn
from ldpaudit.attacks.blackbox.encoding import Encoded, Skeleton, encode, join, require_alike
from ldpaudit.attacks.blackbox.scores import Candidate
from ldpaudit.attacks.blackbox.two_users import neighbouring, together
from ldpaudit.attacks.engine.work import Progress
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.two_inputs import CANDIDATES, Event, Prospect
from ldpaudit.evidence import Form
from ldpaudit.pace import LEARNING, LEAST, least_trials

LEARNING_MORE = 2
"""So many times more are learned from where the score still learns."""
FEW, GROWTH = 64, 4
"""Where a claim is to be refuted, learning begins with so many reports on each input, at least, and goes on with so many times
more as long as what is learned does not promise to refute it."""
MOST_NUMBERS = 2 * 10**7
"""Numbers in the reports that are learned from, all together: memory."""


@dataclass(frozen=True, slots=True)
class Look:
    """How an audit looks at a function of unknown make.

    Parameters
    ----------
    form : Form
        Of the reports.
    users : int
        1, or 2: two users' reports by consecutive calls, one of whom has another value.
    learned : bool
        Whether a classifier is trained too.
    """

    form: Form = Form.RAW
    users: int = 1
    learned: bool = False

    def __post_init__(self) -> None:
        if self.users not in (1, 2):
            raise ValueError(f"an audit needs users to be 1 or 2, got {self.users}")

    @property
    def words(self) -> str:
        """What the words of an event begin with."""
        return ("two users' reports, " if self.users == 2 else "") + (f"{self.form} " if self.form is not Form.RAW else "")


RAW = Look()


@dataclass(frozen=True, slots=True)
class BlackBox:
    """A target with a learned score, and the trials that learning has left."""

    target: Target
    remaining: int


def target(
    function: Callable[..., Any],
    inputs: Sequence[Any] | None,
    delta: float,
    trials: int,
    alpha: float,
    seed: int,
    look: Look = RAW,
    claimed: float | None = None,
    progress: Progress | None = None,
) -> BlackBox:
    """Learn what tells two inputs of a function apart.

    Parameters
    ----------
    function : callable
        ``x -> report``, or ``(x, size, rng) -> reports``.
    inputs : sequence
        At least two.
    delta : float
        In [0, 1).
    trials : int
        Views in all, learning included.
    alpha : float
        Failure probability of the bound that candidates are compared by.
    seed : int
        Of the generator that a function of the second form is given.
    look : Look
        What is looked at, and whether a classifier helps.
    claimed : float or None
        An epsilon at which learning may stop: what promises to refute it is learned no better. None where the best bound
        is wanted.
    progress : callable or None
        Called with the reports drawn so far, and 0, whenever something was learned from them.

    Returns
    -------
    BlackBox

    Raises
    ------
    ImplementationError
        Where the function raises, returns None, hangs, or returns what cannot be compared.
    ValueError
        Where there are fewer than two inputs, or too few trials to learn from.
    """
    given = [] if inputs is None else list(inputs)
    if len(given) < 2:
        raise ValueError(f"an audit of a callable needs at least two inputs, got {len(given)}")
    if look.users == 2:
        function, given = together(function), list(neighbouring(given))
    if look.form is Form.CANONICAL:
        function = canonicalized(function)
    # The engine spawns the children 0 and 1 of this seed: its views are none of these.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1 << 31,)))
    draw = _Sampler(function, positional(function) >= 3)
    first = [draw(x, 1, rng, probe) for x in given]
    width = max(sum(len(group.leaves) for group in one.values()) for one in first)
    budget = int(min(trials * LEARNING, MOST_NUMBERS / max(width, 1)))
    if trials < (needed := least_trials(len(given))):
        raise ValueError(f"an audit of a callable on {len(given)} inputs needs trials >= {needed}, got {trials}")
    if budget < LEAST * len(given):
        fewer = MOST_NUMBERS // (LEAST * len(given))
        raise ValueError(f"an audit of a callable on {len(given)} inputs needs reports of <= {fewer} numbers, got {width}")
    prospect = Prospect(delta, alpha, trials - len(given), LUCK / CANDIDATES**2)
    classifier = seed if look.learned else None

    def fresh(places: Sequence[int], size: int) -> list[Encoded]:
        made = draw.each([given[i] for i in places], size, rng)
        return [require_alike(one, first[i], given[i]) for i, one in zip(places, made, strict=True)]

    def learned_from(spent: int) -> None:
        if progress is not None:
            progress(len(given) + spent, 0.0)

    found, spent = _learned(fresh, len(given), budget, prospect, classifier, claimed, learned_from)
    (a, b), score, event = found.pair, found.score, found.event
    chosen = (given[a], given[b])
    # What promises nothing yet is chosen again, by the engine, on more views.
    sure = Event(1.0, -1.0) if found.promise > 0 else None
    words = f"{look.words}extremes of a learned score: {score.name}"
    guesses = _Guesses(draw, chosen, (tuple(first[a]), tuple(first[b])), score, event)
    mixed = guesses.mixed if draw.alone else None
    return BlackBox(Target(chosen, words, guesses, 64 * width, chosen=sure, mixed=mixed), trials - len(given) - spent)


def _learned(
    draw: Callable[[Sequence[int], int], list[Encoded]],
    inputs: int,
    budget: int,
    prospect: Prospect,
    seed: int | None,
    claimed: float | None,
    tell: Callable[[int], None],
) -> tuple[Found, int]:
    """What was chosen, from a budget of reports, or twice that where the score still learns; and how many reports that took."""
    sizes = [budget // inputs]
    while claimed is not None and sizes[0] >= GROWTH * FEW:
        sizes.insert(0, sizes[0] // GROWTH)
    prospect = replace(prospect, luck=prospect.luck / len(sizes))

    def seen(reports: Reports, spent: int, last: bool = False) -> Found:
        tell(spent)
        return learn(reports, replace(prospect, horizon=max(prospect.horizon - spent, 1)), seed, last)

    reports = Reports([{} for _ in range(inputs)], 0)
    for size in sizes:
        more = draw(range(inputs), size - reports.size)
        reports = Reports([join(part, reports.size, new) for part, new in zip(reports.drawn, more, strict=True)], size)
        found, spent = seen(reports, inputs * size), inputs * size
        if claimed is not None and found.promise > claimed:
            return found, spent
    if not found.rising:
        return found, spent
    # Only the two inputs, and as many reports again.
    again = budget * (LEARNING_MORE - 1) // 2
    more = draw(found.pair, again)
    both = [join(reports.drawn[x], reports.size, new) for x, new in zip(found.pair, more, strict=True)]
    spent += 2 * again
    return replace(seen(Reports(both, reports.size + again), spent, last=True), pair=found.pair), spent


@dataclass(frozen=True, slots=True)
class _Sampler:
    """``(x, size, rng) -> encoded reports``, by `call` or, for one report that must come in time, by `probe`."""

    function: Callable[..., Any]
    many: bool
    """Whether it is ``(x, size, rng) -> reports``."""

    def __call__(self, x: Any, size: int, rng: np.random.Generator, ask: Callable[..., Any] = call) -> Encoded:
        if size == 0:
            return {}
        if self.many:
            return encode(ask(lambda value: self.function(value, size, rng), x), size, x)
        return encode([ask(self.function, x) for _ in range(size)], size, x)

    @property
    def alone(self) -> bool:
        """Whether it makes one report after the other."""
        return one_by_one(self.function)

    def mixed(self, xs: Sequence[Any], order: NDArray[np.int64]) -> list[Encoded]:
        """One report after the other, on these of the inputs; encoded for each input."""
        return [encode(made, len(made), x) for x, made in zip(xs, in_order(self.function, xs, order.tolist()), strict=True)]

    def each(self, xs: Sequence[Any], size: int, rng: np.random.Generator) -> list[Encoded]:
        """So many reports on each input, one after the other in any order where that is up to us."""
        if self.alone:
            return self.mixed(xs, rng.permutation(np.repeat(np.arange(len(xs)), size)))
        return [self(x, size, rng) for x in xs]


@dataclass(frozen=True, slots=True)
class _Guesses:
    """Fresh reports on one of two inputs as 1, -1 or 0: which of the scores are extreme is learned too.

    Of the engine's fine thresholds the luckiest would win.
    """

    draw: _Sampler
    pair: tuple[Any, Any]
    forms: tuple[tuple[Skeleton, ...], tuple[Skeleton, ...]]
    """The skeleton of one report on either input."""
    score: Candidate
    event: Event

    def __call__(self, side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        x = self.pair[side]
        return self._of(require_alike(self.draw(x, size, rng), self.forms[side], x), size)

    def mixed(self, sides: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See `ldpaudit.attacks.games.game.Target`."""
        sizes = np.bincount(sides, minlength=2).tolist()
        first, second = map(self._of, self.draw.mixed(self.pair, sides), sizes)
        return first, second

    def _of(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        scores = self.score(encoded, size)
        return (scores >= self.event.upper).astype(np.float64) - (scores <= self.event.lower)
