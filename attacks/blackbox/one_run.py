"""Whole systems in one run: many canaries, each with a coin of its own, are guessed from what the system returns.

One run of a shuffler, a server or a federated system may take seconds, and an audit of independent runs needs thousands. Here
one run has many users whose coins are independent: the theorem (`ldpaudit.attacks.bounds.one_run`) needs no more. Scores of the
canaries, and how many of them are guessed, come from runs before it with coins of their own, or from the caller.

What one run cannot see: a leak about one user or value that is no canary; a leak that is rarer than once in as many users as
there are canaries; what canaries hide of each other, for each is noise to the others, and a release with little room, such as
one number, tells few coins. The bound of a system that treats its users independently, as reports of the local model in their
order, is as good as that of as many runs; of others it is below what two chosen data sets would show.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.adapters.callables import call, positional
from ldpaudit.attacks.blackbox.canaries import ABSENT, Canary, Floats, LearnedScore, learned, table
from ldpaudit.attacks.bounds import level, one_run
from ldpaudit.errors import Unsupported
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Aggregate, Shuffle
from ldpaudit.workers.experiment import LEAST, Experiment

_SIZES = 48  # numbers of guesses at each end, from one to all canaries, among which a learning run chooses

Held = NDArray[np.bool_]  # the coins: which canaries are in, or hold the first of their values
Scores = Callable[[Any, Sequence[Any]], ArrayLike]


def audit_one_run(
    system: Any,
    canaries: Iterable[Any],
    others: Iterable[Any] = (),
    *,
    neighbours: Neighbours | str = ADD_REMOVE,
    epsilon: float | None = None,
    delta: float = 0.0,
    scores: Scores | None = None,
    guesses: tuple[int, int] | int | None = None,
    learning: int = 1,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evidence:
    """Bound epsilon of a whole system from below, by one run of it and, where something is to be learned, a run before.

    Parameters
    ----------
    system : callable, or object with a method ``run``
        ``system(users)`` or ``system(users, rng)`` returns whatever the adversary sees; ``users`` is a list of what each user
        holds: the canaries in their order, then the others.
    canaries : iterable
        What each canary holds: one value that is in or out by a fair coin; for ``replace-one`` a pair of values of which the
        coin chooses one. Values that nobody else holds are seen best.
    others : iterable
        What all other users hold.
    neighbours : Neighbours or str
        ``add-remove`` or ``replace-one``: the relation of the claim.
    epsilon, delta : float
        The claim; without an epsilon, only the bound is found.
    scores : callable or None
        ``scores(output, canaries)``: a number for each canary, larger where it seems to be in, or to hold its first value.
        By default it is learned: how often the output has the value, the number beside it, its longest prefix, its inner product
        with the output, the user's own report.
    guesses : int, pair of int or None
        How many canaries with the largest and with the smallest scores are guessed; a single number is halved. By default it
        is learned.
    learning : int
        Runs to learn from; none take place where scores and guesses are given.
    confidence : float
        Of the bound.
    seed : int
        Of the coins and of the generator that the system is given.

    Returns
    -------
    Evidence
        Its `epsilon_lower` is a lower confidence bound of epsilon at `delta`, in nats.

    Raises
    ------
    ImplementationError
        Where the system raises, or returns None.
    Unsupported
        Where nothing is known to look for in what it returns, and no scores are given.
    TypeError, ValueError
        Where an argument lies outside its domain.

    Examples
    --------
    >>> def released(users, rng):  # the words of two or more users; a claim with any delta below .2 is false
    ...     return {word for word in set(users) if rng.random() < 0.2 or users.count(word) > 1}
    >>> words = [f"word {i}" for i in range(500)]
    >>> audit_one_run(released, words, epsilon=1.0, delta=1e-5).refutes(1.0)
    True
    """
    asked = Experiment(LEAST, confidence, seed, delta, epsilon, Mode.FIXED)
    given, rest = list(canaries), list(others)
    relation = Neighbours.named(neighbours) if isinstance(neighbours, str) else neighbours
    pairs = _pairs(given, relation)
    if not (isinstance(learning, int) and learning >= 1):
        raise ValueError(f"an audit of one run needs learning >= 1, got {learning!r:.60}")
    sizes = None if guesses is None else _sizes(guesses, len(pairs))
    coins, own = (np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(2))
    run = getattr(system, "run", system)
    if not callable(run):
        raise TypeError(f"an audit needs a system that can be called, or one with a method run, got {type(system).__name__}")
    takes_rng = positional(run) >= 2
    by_counts = isinstance(system, Shuffle | Aggregate)

    def returned() -> tuple[Any, Held]:
        held = coins.integers(0, 2, len(pairs)).astype(np.bool_)
        chosen = (first if coin else second for (first, second), coin in zip(pairs, held.tolist(), strict=True))
        users: Any = [*(each for each in chosen if each is not ABSENT), *rest]
        users = Counter(users) if by_counts else users
        return call(lambda data: run(data, own) if takes_rng else run(data), users), held

    def read(output: Any) -> dict[str, Floats]:
        return table(output, pairs, rest) if scores is None else {"score": _scores(scores(output, given), len(pairs))}

    before = [returned() for _ in range(learning if scores is None or sizes is None else 0)]
    looks = [(read(output), held) for output, held in before]
    if scores is not None:
        candidates = [LearnedScore("the scores given", {"score": 1.0})]
    elif not (candidates := learned(looks)):
        if len(looks[0][0]) < 2:
            raise Unsupported(type(before[0][0]).__name__, "no measure of a canary is known for this output: scores are needed")
        candidates = [LearnedScore("no score, since no measure differed", {})]
    score, above, below = candidates[0], math.inf, -math.inf
    if looks and (sizes is None or len(candidates) > 1):
        tried = [(_best([(each(found, len(pairs)), held) for found, held in looks], asked), each) for each in candidates]
        (_, above, below), score = max(tried, key=lambda each: each[0][0])
    sides = ("in", "out") if relation == ADD_REMOVE else ("the first value", "the second value")
    output, held = returned()
    numbers = score(read(output), len(pairs))
    if sizes is None:
        ends = math.isfinite(above), math.isfinite(below)
        guessed = (ends[0] & (numbers >= above)) * 1 - (ends[1] & (numbers <= below))
        directions, spent = sum(ends), (one_run.SPENT_ON_DELTA,) if delta else ()
        told = [f"at least {above:.6g} means {sides[0]}"] * ends[0] + [f"at most {below:.6g} means {sides[1]}"] * ends[1]
        event = f"{score.name} of {len(pairs)} canaries: {', '.join(told)}"
    else:
        guessed, directions, spent = _ranked(numbers, sizes, coins), sum(n > 0 for n in sizes), ()
        event = f"the {sizes[0]} first and the {sizes[1]} last canaries by {score.name}"
    found = _evidence(guessed, held, asked, directions, spent, sides, event)
    return replace(found, trials=len(pairs) * (1 + len(before)), seed=seed if takes_rng else None)


def audit_scores(
    scores: ArrayLike,
    held: ArrayLike,
    guesses: tuple[int, int] | int,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evidence:
    """The same from the scores and the coins of a run that was made elsewhere.

    Parameters
    ----------
    scores : array_like, shape (canaries,)
        Larger where the canary seems to be in, or to hold its first value; from the output alone.
    held : array_like of bool, shape (canaries,)
        The coins, which were fair and independent.
    guesses : int or pair of int
        How many with the largest and with the smallest scores are guessed. It, and how scores are made, must have been fixed
        before these coins were looked at.
    epsilon, delta, confidence
        See `audit_one_run`.
    seed : int
        Breaks ties.

    Raises
    ------
    ValueError
        Where an argument lies outside its domain.

    Examples
    --------
    >>> found = audit_scores(range(10), [False] * 5 + [True] * 5, 10)
    >>> found.right, round(found.epsilon_lower, 3)
    (10, 1.052)
    """
    asked = Experiment(LEAST, confidence, seed, delta, epsilon, Mode.FIXED)
    coins = np.asarray(held)
    if coins.ndim != 1 or not np.isin(coins, (0, 1)).all():
        raise ValueError(f"an audit of scores needs held to be a list of True and False, got {held!r:.60}")
    sizes, numbers = _sizes(guesses, len(coins)), _scores(scores, len(coins))
    event = f"the {sizes[0]} first and the {sizes[1]} last canaries by the scores given"
    guessed = _ranked(numbers, sizes, np.random.default_rng(seed))
    return _evidence(guessed, coins.astype(np.bool_), asked, sum(n > 0 for n in sizes), (), ("in", "out"), event)


def _evidence(
    guessed: NDArray[np.int64],
    held: Held,
    asked: Experiment,
    directions: int,
    spent: tuple[float, ...],
    pair: tuple[str, str],
    event: str,
) -> Evidence:
    """What guesses show, of which 1 and -1 are for the two sides of a coin and 0 is none."""
    m, guesses, right = len(held), int(np.count_nonzero(guessed)), int(np.sum(guessed == np.where(held, 1, -1)))
    counted = (0.0, asked.delta, asked.confidence, m, m, guesses, right, pair, event, directions, asked.seed, asked.epsilon)
    found = Evidence(*counted, tuning=spent, one_run=True)
    found = replace(found, epsilon_lower=level.bound_of(found))
    return replace(found, p_value=level.p_value_of(found), detectable=level.detectable_of(found))


def _pairs(given: list[Any], relation: Neighbours) -> list[Canary]:
    """What each canary holds by its coin."""
    if not 1 <= len(given) <= one_run.MOST:
        raise ValueError(f"an audit of one run needs 1 to {one_run.MOST} canaries, got {len(given)}")
    if relation == ADD_REMOVE:
        return [(each, ABSENT) for each in given]
    if relation != REPLACE_ONE:
        raise ValueError(f"an audit of one run needs neighbours to be add-remove or replace-one, got {relation}")
    for each in given:
        if not (isinstance(each, list | tuple) and len(each) == 2):
            raise ValueError(f"an audit of one run needs pairs of values as canaries that are replaced, got {each!r:.60}")
    return [(first, second) for first, second in given]


def _sizes(guesses: tuple[int, int] | int, canaries: int) -> tuple[int, int]:
    """How many are guessed at each end."""
    pair = (guesses - guesses // 2, guesses // 2) if isinstance(guesses, int) else tuple(guesses)
    if not (len(pair) == 2 and all(isinstance(n, int) and n >= 0 for n in pair) and 1 <= sum(pair) <= canaries):
        raise ValueError(f"an audit of one run needs 1 to {canaries} guesses, in all or as a pair, got {guesses!r:.60}")
    return pair[0], pair[1]


def _scores(scores: ArrayLike, canaries: int) -> Floats:
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (canaries,) or np.isnan(found).any():
        raise ValueError(f"an audit of one run needs {canaries} scores that are numbers, got {found!r:.60}")
    return found


def _ranked(scores: Floats, sizes: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Guesses of as many canaries with the largest and with the smallest scores; ties are broken by coins."""
    guessed, order = np.zeros(len(scores), dtype=np.int64), np.lexsort((rng.random(len(scores)), scores))
    guessed[order[len(scores) - sizes[0] :]], guessed[order[: sizes[1]]] = 1, -1
    return guessed


def _best(runs: list[tuple[Floats, Held]], asked: Experiment) -> tuple[tuple[float, float], float, float]:
    """How good a score was in the runs that are learned from, and from which thresholds on.

    Thresholds are compared by bounds at a hundredth of the failure probability, and of delta with it: many are tried, and few
    guesses may be luck.
    """
    pooled, canaries = np.sort(np.concatenate([scores for scores, _ in runs])), len(runs[0][1])
    numbers = np.unique(np.geomspace(1, len(pooled), _SIZES).astype(np.int64))
    tops, bottoms = np.append(np.unique(pooled[-numbers]), np.inf), np.append(np.unique(pooled[numbers - 1]), -np.inf)
    right, guesses = np.zeros((2, len(tops), len(bottoms)))
    for scores, held in runs:
        is_top, is_bottom = scores >= tops[:, None], scores <= bottoms[:, None]
        right += np.add.outer((is_top & held).sum(axis=1), (is_bottom & ~held).sum(axis=1)) / len(runs)
        guesses += np.add.outer(is_top.sum(axis=1), is_bottom.sum(axis=1)) / len(runs)
    sides = np.add.outer(np.isfinite(tops).astype(np.int64), np.isfinite(bottoms).astype(np.int64))
    spent, share = (one_run.SPENT_ON_DELTA if asked.delta else 0.0), asked.delta * sides / 200
    fit = np.greater.outer(tops, bottoms) & (guesses > 0)
    counts = right[fit], (guesses - right)[fit], canaries, share[fit]
    bounds = one_run.epsilon_lower(*counts, asked.alpha / 100, spent)
    chances = one_run.p_values(*counts, 0.0, spent)
    best = int(np.lexsort((-chances, bounds))[-1])
    i, j = np.argwhere(fit)[best].tolist()
    return (float(bounds[best]), -float(chances[best])), float(tops[i]), float(bottoms[j])
