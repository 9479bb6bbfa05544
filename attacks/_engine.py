"""Draw, choose the event on one part of the sample, measure on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks import _bound
from ldpaudit.attacks._event import Event, choose_event
from ldpaudit.evidence import Evidence

CHOOSING = 0.15
"""Share of the trials that choose the event."""
UNIT = 1 << 17
"""Views a unit of sampling work, where views are small."""
UNIT_BYTES = 1 << 26
"""Memory that a unit's views may take."""

Draw = Callable[[int, int, np.random.Generator], NDArray[np.float64]]
"""(side, size, rng) to scores: side 0 or 1 of the pair, `size` independent views."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to distinguish: scores of its views on the two inputs of a pair.

    Parameters
    ----------
    pair : tuple
        The inputs.
    event : str
        What is looked for, in words.
    draw : callable
        Scores of fresh views.
    view_bytes : int
        Memory of one view, which sets how many are drawn at a time.
    """

    pair: tuple[Any, Any]
    event: str
    draw: Draw
    view_bytes: int = 8


def units(trials: int, view_bytes: int, seed: np.random.SeedSequence) -> Iterator[tuple[int, np.random.Generator]]:
    """Sizes and generators of the units of work: what each draws depends on nothing but the seed and its place."""
    size = max(1, min(UNIT, UNIT_BYTES // max(view_bytes, 1)))
    count = -(-trials // size)
    for index, child in enumerate(seed.spawn(count)):
        yield min(size, trials - index * size), np.random.default_rng(child)


def play(target: Target, trials: int, seed: np.random.SeedSequence) -> Iterator[tuple[Any, Any]]:
    """Scores on the first and on the second input, unit by unit; a fair coin decides each view's input."""
    for size, rng in units(trials, target.view_bytes, seed):
        first = int(rng.binomial(size, 0.5))
        yield target.draw(0, first, rng), target.draw(1, size - first, rng)


def choose(target: Target, trials: int, seed: np.random.SeedSequence, delta: float, alpha: float) -> Event:
    """Choose the event on fresh samples."""
    drawn = list(play(target, trials, seed))
    first, second = (np.concatenate(side) for side in zip(*drawn, strict=True))
    return choose_event(first, second, delta, alpha)


def measure(target: Target, event: Event, trials: int, seed: np.random.SeedSequence) -> tuple[int, int]:
    """Right and wrong guesses on fresh samples."""
    counts: Sequence[tuple[int, int]] = [event.count(a, b) for a, b in play(target, trials, seed)]
    return sum(right for right, _ in counts), sum(wrong for _, wrong in counts)


def run(
    target: Target,
    *,
    trials: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    epsilon: float | None = None,
) -> Evidence:
    """Evidence on one target at the stated confidence, by the guess game of `_bound`.

    Parameters
    ----------
    target : Target
        What is distinguished.
    trials : int
        Views in all, at least 16.
    confidence : float
        In (0, 1).
    seed : int
        Of all samples.
    delta : float
        In [0, 1).
    epsilon : float or None
        The claimed epsilon, for the p-value and the power.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        Where an argument lies outside its domain.
    """
    _require(trials, confidence, delta, epsilon)
    alpha = 1 - confidence
    choosing, measuring = np.random.SeedSequence(seed).spawn(2)
    event = choose(target, int(trials * CHOOSING), choosing, delta, alpha)
    measured = trials - int(trials * CHOOSING)
    right, wrong = measure(target, event, measured, measuring)
    share = delta if event.directions == 2 else delta / 2
    return Evidence(
        epsilon_lower=float(_bound.epsilon_lower(right, wrong, measured, share, alpha)),
        delta=delta,
        confidence=confidence,
        trials=trials,
        measured=measured,
        guesses=right + wrong,
        right=right,
        pair=target.pair,
        event=target.event,
        directions=event.directions,
        seed=seed,
        claimed=epsilon,
        p_value=None if epsilon is None else _bound.p_value(right, wrong, measured, share, epsilon),
        detectable=None if epsilon is None else _bound.detectable(right + wrong, measured, share, epsilon, alpha),
    )


def _require(trials: int, confidence: float, delta: float, epsilon: float | None) -> None:
    if trials < 16:
        raise ValueError(f"an audit needs trials >= 16, got {trials}")
    if not 0 < confidence < 1:
        raise ValueError(f"an audit needs 0 < confidence < 1, got {confidence}")
    if not 0 <= delta < 1:
        raise ValueError(f"an audit needs 0 <= delta < 1, got {delta}")
    if epsilon is not None and not epsilon >= 0:
        raise ValueError(f"an audit needs epsilon >= 0, got {epsilon}")
