"""Ways by which honest people could get a certificate that is not true, on every mechanism of the zoo: none may end well.

    python -m benchmarks.hostile [stem ...] [--trials 4000]

A cell says what came of it: *refuted* by samples, an *error* of the audited code, *refused*, *undecided*, *alike* where two runs
agree, or n/a. A GREEN one is a certificate that holds of code that leaks, or a number that is not the law's; with one the exit
code is 1.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.experiment import options, show
from ldpaudit import Certificate, Claim, Mechanism, Run, Shuffle, Unsupported, account, audit, certify
from ldpaudit.errors import ImplementationError
from ldpaudit.files.deployment import Deployment
from ldpaudit.mechanism import ENUMERABLE
from ldpaudit.mechanisms import stem
from ldpaudit.verdict import Outcome
from tests.zoo import AT_ONE, STEMS, delta_of

TRIALS, FEW, CANDIDATES, USERS, RUNS, APART = 4000, 16, 200, 300, 8, 8
"""Views an audit, and too few of them; views among which the most telling one is sought; users and runs of a whole system; standard
errors that two of its means may be apart."""
Code = Callable[..., Any]
LEAKS: Code | None = None  # the audited code of the cell at hand: a deployment names code by its module


def answers(x: Any, size: int, rng: np.random.Generator) -> Any:
    """What a deployment names as its implementation."""
    return LEAKS(x, size, rng)  # type: ignore[misc]


def in_the_clear(m: Mechanism, pair: tuple[Any, Any]) -> Callable[[Any], Any]:
    """For either input the one view that speaks most for it, or of real numbers their mean."""
    drawn = [m.sample(x, CANDIDATES, np.random.default_rng(1)) for x in pair]
    if np.asarray(drawn[0]).dtype.kind == "f":
        telling = [views.mean(axis=0) for views in drawn]
    else:
        both = [y for views in drawn for y in views]
        as_keys = [y if isinstance(y, frozenset) else y.item() if y.ndim == 0 else tuple(y.tolist()) for y in both]
        chances = [[law(y) for y in as_keys] for law in _laws(m, pair, drawn)]
        telling = [both[max(range(len(both)), key=lambda i: _odds(mine[i], other[i]))] for mine, other in (chances, chances[::-1])]
    return lambda x: telling[0 if x == pair[0] else 1]


def _laws(m: Mechanism, pair: tuple[Any, Any], drawn: list[Any]) -> list[Callable[[Any], Fraction]]:
    """Probabilities of views; of sets how often they were drawn; of endless or very many counts, how they lean."""
    if drawn[0].dtype == object:
        return [lambda y, often=Counter(views): Fraction(often[y]) for views in drawn]  # type: ignore[misc]
    try:
        laws = [m.law(x) for x in pair]
        if m.model == "local" or laws[0].size <= ENUMERABLE:
            return [law.probability for law in laws]
    except Unsupported:
        pass
    leaning, middle = np.sign(np.mean(drawn[0], axis=0) - np.mean(drawn[1], axis=0)), np.mean(np.concatenate(drawn), axis=0)

    def leans(y: Any, sign: int) -> Fraction:
        return Fraction(float(np.exp2(np.clip(sign * np.sum(leaning * (np.asarray(y) - middle)), -500, 500))))

    return [partial(leans, sign=1), partial(leans, sign=-1)]


def _odds(mine: Fraction, other: Fraction) -> tuple[bool, Fraction]:
    return (mine > 0, mine / other) if other else (mine > 0, Fraction(10**9) * mine)


def repeated(view: Any, size: int) -> Any:
    """The same view again and again."""
    if isinstance(view, frozenset):
        views = np.empty(size, dtype=object)
        views[:] = [view] * size
        return views
    return np.repeat(np.asarray(view)[None], size, axis=0)


def ways(m: Mechanism, pair: tuple[Any, Any]) -> dict[str, Code]:
    """Code that leaks, each in a way of its own."""
    clear = in_the_clear(m, pair)

    def shown(change: Callable[[Any, Any], Any]) -> Code:
        return lambda x, size, rng: change(repeated(clear(x), size), x)

    def by_type(other: type) -> Code:
        return lambda x, size, rng: m.sample(x, size, rng).astype(other if x == pair[0] else np.int64)

    found = {"clear": shown(lambda views, x: views), "numpy": lambda x, size, rng: [clear(x)] * size,
             "text": shown(lambda views, x: views.astype(str)),
             "NaN": shown(lambda views, x: np.full(views.shape, np.nan if x == pair[0] else np.inf))}  # fmt: skip
    if isinstance(clear(pair[0]), frozenset):
        found["from 1"] = shown(lambda views, x: [{1 + (x == pair[0])} for _ in views])
        return found
    found["from 1"] = shown(lambda views, x: views.astype(np.float64 if views.dtype.kind == "f" else np.int64) + 1)
    found["scaled"] = shown(lambda views, x: 1000 * (views.astype(np.float64 if views.dtype.kind == "f" else np.int64) + 1))
    if np.asarray(m.sample(pair[0], 1, np.random.default_rng(0))).dtype.kind != "f":
        found["float"] = lambda x, size, rng: m.sample(x, size, rng) + 1e-9 * (x == pair[0])
        found["bool"] = by_type(np.bool_)
    return found


def certified(m: Mechanism, claimed: float, delta: float, trials: int, code: Code) -> str:
    """What the certificate of a deployment of this code says."""
    global LEAKS
    LEAKS = code
    claim = Claim("one", Run(m), Fraction(claimed), Fraction(delta), m.relations[0])
    deployment = Deployment("hostile", "hostile", "", (), Run(m), (claim,), f"{__name__}:answers", "")
    try:
        found: Certificate = certify(deployment, trials=trials, seed=1)
    except ImplementationError:
        return "error"
    except (Unsupported, ValueError):
        return "refused"
    verdict = found.verdict
    return verdict.value.lower() if verdict in (Outcome.REFUTED, Outcome.UNDECIDED) else "GREEN"


def names_user(m: Mechanism, delta: float) -> str:
    """Whether a shuffler is said to help reports that say whose they are."""
    if not getattr(m, "names_user", hasattr(m, "index")):
        return "n/a"
    try:
        shuffled = account(Shuffle(m, 1000)).epsilon(delta or 1e-6).high
    except (Unsupported, ValueError):
        return "refused"
    return "GREEN" if shuffled < 0.99 * account(m).epsilon(delta or 1e-6).low else "alike"


def by_counts(m: Mechanism) -> Iterator[str]:
    """Whether whole systems that are run by counts, or through a shuffler, say what the system itself does."""
    users, few = min(getattr(m, "users", USERS), USERS), list(islice(m.inputs, 2))
    data, counts = [few[0]] * (users - users // 4) + [few[-1]] * (users // 4), {few[0]: users - users // 4, few[-1]: users // 4}
    for run in (lambda rng: Shuffle(m, users).run(np.asarray(data), rng), lambda rng: m.run_on_counts(counts, rng)):
        try:
            expected = _runs(lambda rng: m.run(np.asarray(data), rng))
        except Exception:  # this mechanism's data is of another form, or of another number of users
            yield "n/a"
            continue
        try:
            found = _runs(run)
        except (Unsupported, ValueError, TypeError):
            yield "refused"
            continue
        yield "alike" if expected.shape == found.shape and _near(expected, found) else "GREEN"


def _near(expected: Any, found: Any) -> bool:
    error = np.sqrt((expected.var(axis=0) + found.var(axis=0)) / RUNS)
    return bool(np.all(np.abs(expected.mean(axis=0) - found.mean(axis=0)) <= APART * error + 1e-9))


def _runs(run: Callable[[np.random.Generator], Any]) -> Any:
    return np.array([np.asarray(run(np.random.default_rng(seed)), dtype=np.float64) for seed in range(RUNS)])


def row(m: Mechanism, trials: int) -> Mapping[str, str]:
    """All cells of a mechanism."""
    delta = float(delta_of(m))
    claimed = account(m).epsilon(delta).high
    code = ways(m, audit(m, delta=delta, trials=200, epsilon=claimed).pair)
    cells = {name: certified(m, claimed, delta, trials, each) for name, each in code.items()}
    shuffled, counted = by_counts(m)
    return {**cells, "too few": certified(m, claimed, delta, FEW, code["clear"]), "names user": names_user(m, delta),
            "run": shuffled, "counts": counted}  # fmt: skip


COLUMNS = ("clear", "numpy", "from 1", "scaled", "text", "float", "bool", "NaN", "too few", "names user", "run", "counts")


def main() -> int:
    """Print the matrix; 1 where a cell is green."""
    given, green = options(__doc__, STEMS, trials=TRIALS), list[str]()
    one_of_each = {type(m): m for m in reversed(AT_ONE) if not given.names or stem(m) in given.names}

    def rows() -> Iterator[tuple[str, ...]]:
        for m in reversed(one_of_each.values()):
            cells = row(m, given.trials)
            green.extend(f"{type(m).__name__}: {name}" for name in COLUMNS if cells.get(name) == "GREEN")
            yield type(m).__name__, *(cells.get(name, "n/a") for name in COLUMNS)

    show("{:28}" + "".join(f"{{{name}:>13}}" for name in COLUMNS), rows())
    print(f"{len(green)} green" + "".join(f"\n  {cell}" for cell in green))
    return bool(green)


if __name__ == "__main__":
    sys.exit(main())
