"""An audit as values: what is tested and at what cost, how reports are read, and who does the work."""

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ldpaudit.evidence import SUPPORTED, Form, Mode

LEAST, MOST = 16, 10**12
"""Trials of an audit, at least: a sequential audit chooses its first event from a 16th of the budget, which is one view; and at
most: of what costs a microsecond, these take eleven days."""

Progress = Callable[[int, float], None]  # (views drawn so far, bound as it stands)


@dataclass(frozen=True, slots=True)
class Experiment:
    """The claim that is tested, the sample that tests it, and when to stop: all that the bound depends on but the code.

    Raises TypeError, ValueError where a value is no number, or lies outside its domain; with its name.
    """

    trials: int  # budget of views, from 16 to 1e12; 1e6 is an integer too
    confidence: float = 0.95  # of the bound, in (0, 1)
    seed: int = 0  # of all samples, at least 0
    delta: float = 0.0  # in [0, 1)
    # the claimed epsilon, in nats: gives the p-value and the power, and a sequential audit stops when it is refuted
    epsilon: float | None = None
    mode: Mode = Mode.SEQUENTIAL  # when the counts are looked at

    def __post_init__(self) -> None:
        _require_number("trials", self.trials, Real, "an integer")
        if not (math.isfinite(self.trials) and self.trials == int(self.trials)):
            raise ValueError(f"an audit needs a whole number of trials, got {self.trials!r:.60}")
        object.__setattr__(self, "trials", int(self.trials))
        if self.mode not in list(Mode):
            raise ValueError(f"an audit needs mode to be {' or '.join(Mode)}, got {self.mode!r:.60}")
        object.__setattr__(self, "mode", Mode(self.mode))
        _require_number("seed", self.seed, Integral, "an integer")
        numbers = {"confidence": self.confidence, "delta": self.delta, "epsilon": 0 if self.epsilon is None else self.epsilon}
        for name, value in numbers.items():
            _require_number(name, value, Real, "a number")
        if self.trials < LEAST:
            raise ValueError(f"an audit needs trials >= {LEAST}, got {self.trials}")
        if self.trials > MOST:
            raise ValueError(f"an audit needs trials <= {MOST:.0e}, got {self.trials:.3g}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"an audit needs 0 < confidence < 1, got {self.confidence}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"an audit needs 0 <= delta < 1, got {self.delta}")
        if self.epsilon is not None and not self.epsilon >= 0:
            raise ValueError(f"an audit needs epsilon >= 0, got {self.epsilon}")
        if self.seed < 0:
            raise ValueError(f"an audit needs seed >= 0, got {self.seed}")

    @property
    def alpha(self) -> float:
        """Failure probability of the bound."""
        return 1 - self.confidence

    @property
    def enough(self) -> float | None:
        """The epsilon above which a better bound is not wanted: the claimed one, where the audit stops at it."""
        return self.epsilon if self.mode is Mode.SEQUENTIAL else None

    def __str__(self) -> str:
        return str((self.trials, self.confidence, self.seed, self.delta, self.epsilon, str(self.mode)))


@dataclass(frozen=True, slots=True)
class Reading:
    """How the reports of a callable are read. Raises ValueError where the form is none, or the users are not 1 or 2."""

    # ``raw``; ``canonical``, without types, the order of sets and the low bits of floats; or ``unordered``, without the
    # order of lists and arrays too, for reports whose lists stand for sets. Where only the raw form is refuted, the
    # leak is in what the other drops
    form: Form = Form.RAW
    # 1, or 2: a callable serves two users by consecutive calls, one of whom has another value. Finds a seed that is
    # fixed or shared, where one report alone shows nothing
    users: int = 1
    learned: bool = False  # whether a classifier of scikit-learn's (extra ``ml``) is trained too
    # (report, input): whether the report supports the input, such as whether its hash function maps the input to the
    # reported value. Each report is read beside the inputs that it supports
    support: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", Form(self.form))
        if self.users not in (1, 2):
            raise ValueError(f"an audit needs users to be 1 or 2, got {self.users}")
        if self.support is not None and not callable(self.support):
            raise TypeError(f"an audit needs support to be a function of a report and an input, got {self.support!r:.60}")

    @property
    def words(self) -> str:
        """What the words of an event begin with."""
        users = "two users' reports, " if self.users == 2 else ""
        return f"{users}{SUPPORTED if self.support else ''}{f'{self.form} ' if self.form is not Form.RAW else ''}"


AS_RETURNED = Reading()  # raw reports, of one user at a time, and no classifier


@dataclass(frozen=True, slots=True)
class Execution:
    """Who samples, where the state is kept, and who is told; the evidence depends on none of these.

    ``executor``: a thread or process pool, a Dask client's ``get_executor()``; None for this process; ``checkpoint``: a
    file that is written as the audit goes; where it exists, the same audit goes on from it; ``progress``: called with
    the views drawn so far and the bound as it stands: 0 while a score is learned, and in fixed mode a bound at the end
    only; ``patience``: seconds that the first report on each input may take, three times as long the first of all; None
    for 20. Raises TypeError where the executor has no `submit`, or progress cannot be called; ValueError where the
    patience is not above 0.
    """

    executor: Executor | None = None
    checkpoint: str | Path | None = None
    progress: Progress | None = None
    patience: float | None = None

    def __post_init__(self) -> None:
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"an audit needs an executor of concurrent.futures, got {self.executor!r:.60}")
        if self.progress is not None and not callable(self.progress):
            raise TypeError(f"an audit needs progress to be callable, got {self.progress!r:.60}")
        if self.patience is not None and not self.patience > 0:
            raise ValueError(f"an audit needs patience > 0, got {self.patience}")


HERE = Execution()  # in this process; nothing is kept, and nobody is told


def _require_number(name: str, value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"an audit needs {name} to be {what}, got {value!r:.60}")
