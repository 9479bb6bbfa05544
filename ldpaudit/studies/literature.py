"""What the sources print of each mechanism: every claim at given parameters, judged; and errors, simulated."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ldpaudit.accountants.claims import STEMS
from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed, Standing
from ldpaudit.accountants.numerics.binomial import clopper_pearson
from ldpaudit.core.nearest import one_of
from ldpaudit.mechanism import Mechanism
from ldpaudit.registry import construct, find

_NUMBER = re.compile(r"(?<![A-Za-z\d/.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:/\d+)?")


PAPERS = tuple(STEMS)  # the sources, as the rows name them


def stems(paper: str | None = None) -> list[str]:
    """Stems whose source prints claims: those with a file in the claims room that judges them.

    ``paper``: only those of this source, one of `PAPERS`. Raises ValueError where it is no source of ours.
    """
    if paper is not None and paper not in PAPERS:
        raise ValueError(f"claims --paper: {one_of(PAPERS, paper, 'ldpaudit claims')}")
    return sorted({stem for source, several in STEMS.items() if paper in (None, source) for stem in several})


def _claims(stem: str) -> Any:
    return import_module(f"ldpaudit.accountants.claims.{stem}")


def settings(stem: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """Settings of a stem: the one with these parameters, or without any, its examples.

    ``stem``: one of `stems`; ``parameters``: of the mechanism, or where the source states its claims in others, of
    those. Returns mechanisms, or settings with a `mechanism`. Raises ValueError where nothing is on record for the
    stem; ParameterError where the parameters do not fit.
    """
    if stem not in stems():
        raise ValueError(f"stem: {one_of(stems(), stem, 'ldpaudit claims')}")
    known = _claims(stem)
    if not parameters:
        return tuple(known.EXAMPLES)
    return (construct(getattr(known, "Setting", None) or find(stem), parameters),)


def simulated(stem: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """Settings whose errors are simulated: as `settings`, but by default those that take seconds."""
    chosen = settings(stem, parameters)
    return chosen if parameters else tuple(getattr(_claims(stem), "SIMULATED", chosen))


def command(stem: str, setting: Any, verb: str = "claims") -> str:
    """The command that reproduces what is said of a setting; only what differs from the defaults."""
    values = ((field, getattr(setting, field.name)) for field in dataclasses.fields(setting))
    given = (f"{field.name}={value}" for field, value in values if value != field.default)
    return f"ldpaudit {verb} {stem} {' '.join(given)}"


def printed(stem: str, setting: Any) -> tuple[Printed, ...]:
    """Every claim on record of a stem at a setting, judged."""
    found: tuple[Printed, ...] = _claims(stem).printed(setting)
    return found


def claims(stem: str) -> list[Printed]:
    """Every claim on record of a stem at its examples, judged."""
    return [claim for setting in settings(stem) for claim in printed(stem, setting)]


def not_on_record(failed: Iterable[str], recorded: Iterable[str]) -> list[str]:
    """What differs between the places whose claims FAIL and those that are on record for it, in sentences."""
    found, known = set(failed), set(recorded)
    news = [f"{place} FAILS, which is not on record for these parameters" for place in sorted(found - known)]
    return news + [f"{place} is on record as FAILS, and does not fail here" for place in sorted(known - found)]


def accuracy(stem: str, setting: Any) -> tuple[Accuracy, ...]:
    """The printed errors that a simulation can be held against, at a setting; none where their conditions are not met."""
    of: Callable[[Any], Iterable[Accuracy]] = getattr(_claims(stem), "accuracy", lambda _: ())
    return tuple(of(setting))


@dataclass(frozen=True, slots=True)
class Measured:
    """Runs of a mechanism held against a printed error."""

    claim: Accuracy  # the sentence
    runs: int  # how many runs, and in how many the error exceeded alpha
    failures: int
    low: float  # interval for the probability of failure (Clopper and Pearson 1934)
    high: float
    confidence: float  # its confidence
    median: float  # median error, and its quantile at 1 - beta
    upper: float

    @property
    def holds(self) -> bool | None:
        """Whether the claim is true, with the stated confidence; None where the runs do not tell."""
        if self.low > self.claim.beta:
            return False
        return True if self.high <= self.claim.beta else None

    @property
    def standing(self) -> Standing:
        """The same in a word."""
        return Standing.of(self.holds)

    @property
    def looseness(self) -> float:
        """Printed over measured error, at the printed probability."""
        return self.claim.alpha / self.upper if self.upper else float("inf") if self.claim.alpha else 1.0


def measure(setting: Any, claim: Accuracy, runs: int, seed: int, confidence: float = 0.95) -> Measured:
    """Run a mechanism on fresh data, and count in how many runs its error exceeds the printed one.

    ``setting``: what is run: its `run`, or `run_in_law` where it has one, which is faster and of the same law; or
    what the claim names; ``claim``: what is printed; ``runs``: at least 1; ``seed``: of all randomness; run i has its
    own child; ``confidence``: in (0, 1). Returns errors in the claim's units.
    """
    if runs < 1:
        raise ValueError(f"accuracy needs at least one run, got {runs}")
    m: Mechanism = setting if isinstance(setting, Mechanism) else setting.mechanism
    run: Callable[..., Any] = getattr(m, "run_in_law", m.run) if claim.run is None else claim.run
    errors = []
    for child in np.random.SeedSequence(seed).spawn(runs):
        rng = np.random.default_rng(child)
        data = claim.data(rng)
        errors.append(claim.error(data, run(data, rng)))
    failures = sum(e > claim.alpha for e in errors)
    low, high = clopper_pearson(failures, runs, confidence)
    median, upper = np.quantile(errors, [0.5, 1 - claim.beta], method="higher")
    return Measured(claim, runs, failures, low, high, confidence, float(median), float(upper))


TRUTH = {True: "true", False: "false", None: "open"}  # of a variant, which is nobody's claim: words that accuse nobody
_ORDER = (*(each.value for each in Standing), *TRUTH.values())


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence over several settings, "..." where their numbers differ."""

    where: str  # source and number; what it says; of which mechanism
    sentence: str
    stem: str
    provenance: str  # see `Printed`
    reading: str
    variant: str
    standings: tuple[Standing, ...]  # at each setting
    # whether the sentence is true at each setting, whether or not the source claims it there
    outcomes: tuple[bool | None, ...]
    # claimed over found, at the settings where that is decided and every hypothesis that the source states is met
    looseness: tuple[float, ...]
    failing: str = ""  # the sentence at the settings where the source's claim fails; empty where it fails at none
    # where the failure begins, where the proof breaks, and what holds instead; None where the source's claim fails at
    # none
    failure: Failure | None = None

    @property
    def fails(self) -> bool:
        """Whether the source's claim fails at some setting."""
        return Standing.FAILS in self.standings

    @property
    def rests_on(self) -> str:
        """The statement with which this one falls; empty where it fails on its own, or does not fail."""
        return self.failure.rests_on if self.failure else ""

    @property
    def sentence_of_any_reading(self) -> tuple[str, str]:
        """Source, number and sentence but for its numbers: the same for every reading."""
        return self.where, _NUMBER.sub("...", self.sentence)

    @property
    def opened(self) -> bool:
        """Whether it is open at some setting, and fails at none."""
        return Standing.OPEN in self.standings and not self.fails

    @property
    def outside(self) -> bool:
        """Whether a hypothesis is not met at any setting."""
        return set(self.standings) == {Standing.OUTSIDE}

    @property
    def verdict(self) -> str:
        """Of all settings together; of a variant, whether it is true, which says nothing of the source."""
        words = [TRUTH[each] for each in self.outcomes] if self.variant else [each.value for each in self.standings]
        several = [(word, words.count(word)) for word in dict.fromkeys((*_ORDER, *words)) if word in words]
        return several[0][0] if len(several) == 1 else ", ".join(f"{word} {n}x" for word, n in several)


def summary(stem: str, claims: Iterable[Printed]) -> list[Row]:
    """A row for each sentence among claims about a stem, at whatever settings."""
    rows: dict[tuple[str, ...], list[Printed]] = {}
    for claim in claims:
        said, read = (_NUMBER.sub("#", text) for text in (claim.sentence, claim.reading))
        rows.setdefault((claim.where, said, read, claim.variant), []).append(claim)
    return [_row(stem, found) for found in rows.values()]


def _row(stem: str, found: list[Printed]) -> Row:
    one = found[0]
    return Row(
        one.where,
        _common([c.sentence for c in found]),
        stem,
        one.provenance.value,
        _common([c.reading for c in found]),
        one.variant,
        tuple(c.standing for c in found),
        tuple(c.holds for c in found),
        tuple(c.looseness for c in found if c.holds is not None and c.standing is not Standing.OUTSIDE),
        _common([c.sentence for c in found if c.standing is Standing.FAILS]),
        next((c.failure for c in found if c.standing is Standing.FAILS), None),
    )


def _common(sentences: list[str]) -> str:
    """The sentence that they all are, but for numbers."""
    if not sentences:
        return ""
    numbers = [set(column) for column in zip(*(_NUMBER.findall(each) for each in sentences), strict=True)]
    same = iter([column.pop() if len(column) == 1 else "..." for column in numbers])
    return _NUMBER.sub(lambda _: next(same), sentences[0])
