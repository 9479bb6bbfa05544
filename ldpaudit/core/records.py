"""What the judge saw, as a certificate writes it down."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, SerializerFunctionWrapHandler, model_serializer

from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.evidence import Evidence, Look, Mode, Trajectory
from ldpaudit.profile import DataSet, Witness


def _real(value: Any) -> float:
    """A number, or an infinity in the words in which JSON is told of it."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number and value not in ("inf", "-inf"):
        raise ValueError(f"needs a number, got {value!r:.60}")
    return float(value)


Real = Annotated[
    float,
    BeforeValidator(_real),
    # JSON has no infinities; Python's shortest decimal that reads back as the same float is exact.
    PlainSerializer(lambda x: x if abs(x) < float("inf") else str(x), when_used="json"),
]


class Record(BaseModel):
    """Frozen; what it does not know is an error, and no value stands for another. What may be absent, and is, is not written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True)

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = write(self)
        values = {name: getattr(self, name) for name, field in type(self).model_fields.items() if not field.is_required()}
        absent = {name for name, value in values.items() if not value and value == type(self).model_fields[name].default}
        return {name: value for name, value in data.items() if name not in absent}


class EnclosureRecord(Record):
    """An `Enclosure`, as written."""

    low: Real
    high: Real
    rigour: Literal["FLOAT", "INTERVAL", "EXACT"]
    source: str

    @classmethod
    def of(cls, e: Enclosure) -> Self:
        """Write down."""
        return cls(low=e.low, high=e.high, rigour=e.rigour.name, source=e.source)  # type: ignore[arg-type]

    def read(self) -> Enclosure:
        """Read back."""
        return Enclosure(self.low, self.high, Rigour[self.rigour], self.source)


class LookRecord(Record):
    """A `Look`, as written."""

    trials: int
    measured: int
    guesses: int
    right: int
    epsilon_lower: Real


class TrajectoryRecord(Record):
    """A `Trajectory`, as written: the bound of a sequential audit as it tightened."""

    level: Real
    directions: int
    tuning: tuple[Real, ...]
    looks: tuple[LookRecord, ...]

    @classmethod
    def of(cls, t: Trajectory) -> Self:
        """Write down."""
        return cls.model_validate(asdict(t))

    def read(self) -> Trajectory:
        """Read back."""
        looks = tuple(Look(**dict(look)) for look in self.looks)
        return Trajectory(self.level, self.directions, self.tuning, looks)


class EvidenceRecord(Record):
    """An `Evidence`, as written; the inputs of the pair as text."""

    epsilon_lower: Real
    delta: Real
    confidence: Real
    trials: int
    measured: int
    guesses: int
    right: int
    pair: tuple[str, str]
    event: str
    directions: int
    seed: int | None
    claimed: Real | None
    p_value: Real | None
    detectable: Real | None
    inputs: int
    mode: Mode
    level: Real
    tuning: tuple[Real, ...]
    distinct: Real | None = None
    limited: str | None = None
    resolution: str
    """For whoever reads the JSON; `read` makes the sentence again."""
    trajectory: TrajectoryRecord | None = None
    """The bound as it tightened; None in fixed mode."""

    @classmethod
    def of(cls, e: Evidence) -> Self:
        """Write down."""
        values = {name: getattr(e, name) for name in cls.model_fields}
        looks = None if e.trajectory is None else TrajectoryRecord.of(e.trajectory)
        return cls(**{**values, "pair": tuple(map(str, e.pair)), "trajectory": looks})

    def read(self) -> Evidence:
        """Read back."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name != "resolution"}
        return Evidence(**{**values, "trajectory": self.trajectory and self.trajectory.read()})


class WitnessRecord(Record):
    """A `Witness`, as written: the two data sets as values, in text, and how many users hold each."""

    first: tuple[tuple[str, int], ...]
    second: tuple[tuple[str, int], ...]
    event: str
    epsilon: Real | None

    @classmethod
    def of(cls, w: Witness) -> Self:
        """Write down."""
        first, second = (tuple((str(x), count) for x, count in data.counts) for data in w.pair)
        return cls(first=first, second=second, event=w.event, epsilon=None if w.epsilon is None else float(w.epsilon))

    @property
    def data_sets(self) -> tuple[str, str]:
        """Both in words."""
        return str(DataSet(self.first)), str(DataSet(self.second))


class ProofRecord(Record):
    """A checked proof, what it gives at these parameters, and what no machine checked."""

    theorem: str
    epsilon: Real
    steps: int
    assumes: tuple[str, ...]
    admissions: tuple[str, ...]


class TruePositiveRecord(EnclosureRecord):
    """Chance that the best test finds an input, at a false-positive rate."""

    false_positive: str
    false_positive_number: Real
    """The float next to `false_positive`, which is exact."""


class PosteriorRecord(EnclosureRecord):
    """Largest probability of an input after the views, where it has this one before."""

    prior: str
    prior_number: Real
    """The float next to `prior`, which is exact."""


class RiskRecord(Record):
    """The best that an adversary can do, as written: what the privacy profile of the claim's plan implies."""

    guess: EnclosureRecord
    """Chance of the right guess between two neighbours that are equally likely."""
    true_positive: tuple[TruePositiveRecord, ...]
    posterior: tuple[PosteriorRecord, ...]
