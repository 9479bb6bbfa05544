"""Claims, verdicts and everything the judge saw: JSON that a stranger can re-check."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from ldpaudit import strict_json
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import DeploymentError
from ldpaudit.evidence import Evidence, Look, Mode, Trajectory
from ldpaudit.profile import DataSet, Witness
from ldpaudit.verdict import Outcome

SCHEMA: Literal["ldpaudit.certificate/1"] = "ldpaudit.certificate/1"


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


def day(text: str) -> str:
    """A date written as 2026-01-31, or no text at all.

    Raises
    ------
    ValueError
        For anything else.
    """
    with suppress(ValueError):
        if not text or str(date.fromisoformat(text)) == text:
            return text
    raise ValueError(f"needs a date such as 2026-01-31, got {text!r:.60}")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True)


class EnclosureRecord(_Record):
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


LATER_OF_EVIDENCE = ("distinct", "resolution", "trajectory")
"""Fields of evidence that certificates of before do not have."""


class LookRecord(_Record):
    """A `Look`, as written."""

    trials: int
    measured: int
    guesses: int
    right: int
    epsilon_lower: Real


class TrajectoryRecord(_Record):
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


class EvidenceRecord(_Record):
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
    resolution: str = ""
    """For whoever reads the JSON; `read` makes the sentence again."""
    trajectory: TrajectoryRecord | None = None
    """The bound as it tightened; None in fixed mode."""

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Certificates that were written before there were these fields keep their digest.
        absent = [name for name in LATER_OF_EVIDENCE if getattr(self, name) in (None, "")]
        data: dict[str, Any] = write(self)
        return {name: value for name, value in data.items() if name not in absent}

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


class WitnessRecord(_Record):
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


class ProofRecord(_Record):
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


class RiskRecord(_Record):
    """The best that an adversary can do, as written: what the privacy profile of the claim's plan implies."""

    guess: EnclosureRecord
    """Chance of the right guess between two neighbours that are equally likely."""
    true_positive: tuple[TruePositiveRecord, ...]
    posterior: tuple[PosteriorRecord, ...]


NUMBERS = ("epsilon_number", "delta_number")
"""Fields of a claim that say again as a number what another says exactly."""
LATER = ("witness", *NUMBERS, "risk")
"""Fields of a claim that certificates of before do not have."""


class ClaimRecord(_Record):
    """One claim, what the judge saw of it, and the verdict."""

    id: str
    sentence: str
    plan: str
    epsilon: str | None
    delta: str
    neighbours: str
    unit: str
    source: str
    expect: Literal["holds", "refuted", "undecided"] | None
    verdict: Outcome
    reason: str
    enclosure: EnclosureRecord | None
    evidence: EvidenceRecord | None
    proofs: tuple[ProofRecord, ...]
    unsupported: tuple[str, ...]
    witness: WitnessRecord | None = None
    """What attains the enclosure's lower end, where the accountant names it; the evidence is of these data sets."""
    epsilon_number: Real | None = None
    """The float next to `epsilon`, which is exact; None where nothing is claimed."""
    delta_number: Real | None = None
    """The float next to `delta`, which is exact."""
    risk: RiskRecord | None = None
    """What the plan's profile means for one user; None where no profile is certified."""

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Certificates that were written before there were these fields keep their digest.
        data: dict[str, Any] = write(self)
        return {name: value for name, value in data.items() if name not in LATER or getattr(self, name) is not None}

    @property
    def asked(self) -> bool:
        """Whether nothing is claimed, and the certified value is the answer."""
        return self.epsilon is None

    @property
    def as_recorded(self) -> bool:
        """Whether it came out as its file records it; without a record, whether it is not refuted."""
        return self.verdict.record == self.expect if self.expect else self.verdict is not Outcome.REFUTED


class Certificate(_Record):
    """What `certify` returns; docs/security.md says how a stranger re-checks it, and what that promises."""

    schema_: Literal["ldpaudit.certificate/1"] = SCHEMA
    id: str
    title: str
    note: str
    sources: tuple[str, ...]
    deployment: str
    """The deployment file, whole: everything else can be derived from it again, and from the files that it names."""
    versions: dict[str, str]
    seed: int
    trials: int
    confidence: Real
    date: Annotated[str, AfterValidator(day)] = ""
    """The day on which its issuer says that it was made; empty where nobody says so. Never a clock's."""
    issuer: str = ""
    """Who says that they made it; a signature shows it."""
    claims: Annotated[tuple[ClaimRecord, ...], Field(min_length=1)]
    files: dict[str, str] = {}
    """The files that the deployment file names, whole, in base64."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Certificates of before keep their digest.
        data: dict[str, Any] = write(self)
        return {name: value for name, value in data.items() if name not in ("date", "issuer", "files") or value}

    @property
    def verdict(self) -> Outcome:
        """The worst of its claims' verdicts."""
        order = list(Outcome)
        return min((claim.verdict for claim in self.claims), key=order.index)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of everything above."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the digest included."""
        data = self.model_dump(mode="json")
        return {"schema": data.pop("schema_"), **data, "verdict": str(self.verdict), "digest": self.digest}

    def to_json(self) -> str:
        """JSON, two spaces deep, ending in a newline."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "certificate") -> Self:
        """Read a certificate; the digest and the verdict beside it are checked.

        Raises
        ------
        DeploymentError
            Where it is not a certificate, or was changed after it was written.
        """
        try:
            data = strict_json.parse(text)
            digest, verdict, schema = (data.pop(key) for key in ("digest", "verdict", "schema"))
            certificate = cls.model_validate_json(json.dumps({**data, "schema_": schema}))
        except ValidationError as error:
            first = error.errors(include_context=False)[0]
            key = strict_json.shown(".".join(map(str, first["loc"])), 60)
            raise DeploymentError(f"needs a certificate of schema {SCHEMA}: {first['msg']}", name, None, key) from None
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DeploymentError(f"needs a certificate in JSON: {error}", name) from None
        if certificate.digest != digest:
            raise DeploymentError(f"needs the digest {certificate.digest[:16]}..., got {str(digest)[:16]}...", name)
        if certificate.verdict != verdict:
            raise DeploymentError(f"needs the verdict of its claims, {certificate.verdict}, got {verdict!r:.20}", name)
        return certificate

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a certificate from a file; see `from_json`."""
        return cls.from_json(strict_json.decode(strict_json.read_bytes(path), str(path)), str(path))
