"""Claims, verdicts and everything the judge saw: JSON that a stranger can re-check."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError

from ldpaudit.core import strict_json
from ldpaudit.core.records import (
    EnclosureRecord as EnclosureRecord,
    EvidenceRecord as EvidenceRecord,
    ProofRecord as ProofRecord,
    Real,
    Record,
    RiskRecord as RiskRecord,
    WitnessRecord as WitnessRecord,
)
from ldpaudit.core.refusal import refusal
from ldpaudit.display import markup
from ldpaudit.display.digits import show_down, show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.verdict import Outcome

SCHEMA: Literal["ldpaudit.certificate/1"] = "ldpaudit.certificate/1"


def day(text: str) -> str:
    """A date written as 2026-01-31, or no text at all. Raises ValueError for anything else."""
    with suppress(ValueError):
        if not text or str(date.fromisoformat(text)) == text:
            return text
    raise ValueError(f"needs a date such as 2026-01-31, got {text!r:.60}")


class ClaimRecord(Record):
    """One claim, what the judge saw of it, and the verdict."""

    id: str
    sentence: str
    plan: str
    epsilon: str | None
    delta: str
    neighbours: str
    unit: str
    source: str
    expect: Literal["holds", "assumed", "refuted", "undecided"] | None
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
    delta_number: Real
    """The float next to `delta`, which is exact."""
    risk: RiskRecord | None = None
    """What the plan's profile means for one user; None where no profile is certified."""
    assumptions: tuple[str, ...] = ()
    """What nobody shows and the verdict rests on."""
    proof: dict[str, Any] | None = None
    """What verify_certificate.py finds VALID, in the format ldpaudit.proof/1: the claim, the answer, or what refutes it."""
    drawn: EnclosureRecord | None = None
    """Epsilon with the probabilities that the code draws, where the deployment file says which these are."""
    code_differs: bool = False
    """Whether the audited code is not the mechanism that is described, so that no bound, proof or risk of that is stated."""

    @property
    def asked(self) -> bool:
        """Whether nothing is claimed, and the certified value is the answer."""
        return self.epsilon is None

    @property
    def infinite(self) -> bool:
        """Whether it is a question whose answer is that no epsilon is enough."""
        return self.asked and self.enclosure is not None and self.enclosure.low == math.inf

    @property
    def claimed(self) -> str:
        """The claim's epsilon in short, and delta where it is not 0."""
        if self.asked:
            return "?"
        epsilon = f"{float(Fraction(self.epsilon or 0)):.6g}"
        return epsilon if self.delta == "0" else f"{epsilon}, {float(Fraction(self.delta)):.3g}"

    @property
    def certified(self) -> str:
        """The enclosure, rounded outward; a short decimal between its ends needs no rounding."""
        if self.enclosure is None:
            return "-" if self.code_differs else "unsupported"
        low, high = self.enclosure.low, self.enclosure.high
        if self.enclosure.rigour != "EXACT":
            return f"[{show_down(low)}, {show_up(high)}]"
        short = f"{high:.6g}"
        return f"= {short if low <= float(short) <= high else show_up(high)}"

    @property
    def drawn_beside(self) -> tuple[str, str] | None:
        """Epsilon as described, and as drawn, to more digits than differ; None where it is not known what is drawn."""
        if self.drawn is None or self.enclosure is None:
            return None
        one, other = (f"[{show_down(each.low, 12)}, {show_up(each.high, 12)}]" for each in (self.enclosure, self.drawn))
        return one, other

    @property
    def measured(self) -> str:
        """What the samples show."""
        return f">= {show_down(self.evidence.epsilon_lower, 4)}" if self.evidence else "-"

    @property
    def outcome(self) -> str:
        """The verdict, and the record where it differs."""
        if self.infinite:
            return "answered: infinite"
        if self.asked and self.verdict.reached:
            return f"answered, {self.verdict}"
        if self.expect is None:
            return str(self.verdict)
        return str(self.verdict) if self.as_recorded else f"{self.verdict}, on record: {self.expect}"

    @property
    def refuted_by_samples(self) -> bool:
        """Whether samples of the code refute the claim itself, and not only that the code is what is described."""
        return not (self.asked or self.evidence is None) and self.evidence.read().refutes(Fraction(self.epsilon or 0))

    @property
    def as_recorded(self) -> bool:
        """Whether it came out as its file records it; without a record, whether it is not refuted.

        That a claim is refuted is no record of code that is another mechanism, and of which samples do not refute the claim.
        """
        if self.code_differs and not self.refuted_by_samples:
            return False
        return self.verdict.record == self.expect if self.expect else self.verdict is not Outcome.REFUTED


class UnitRecord(Record):
    """What one unit costs, whether anything is claimed of it or not."""

    unit: str
    plan: str
    neighbours: str
    delta: str
    enclosure: EnclosureRecord | None = None
    """Epsilon; None where no bound is known, or of a shuffle or sum that no claim is about."""
    assumptions: tuple[str, ...] = ()
    """What nobody shows and the bound rests on."""

    @property
    def is_part(self) -> bool:
        """Whether it is one part of a composition, by itself."""
        return self.unit.startswith("part ")


def exit_code(certificates: Iterable[Certificate], require_decision: bool) -> int:
    """How a command ends that made these: 1 where a claim is not as recorded, 3 where a decision is missing that is required."""
    claims = [claim for certificate in certificates for claim in certificate.claims]
    if not all(claim.as_recorded for claim in claims):
        return 1
    undecided = any(claim.verdict.record == "undecided" and not claim.expect for claim in claims)
    return 3 if require_decision and undecided else 0


class Certificate(Record):
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
    units: tuple[UnitRecord, ...] = ()
    """Every unit whose reports the file bounds; of code that is another mechanism nothing is known."""
    files: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """The files that the deployment file names, whole, in base64."""

    @property
    def verdict(self) -> Outcome:
        """The worst of its claims' verdicts."""
        order = list(Outcome)
        return min((claim.verdict for claim in self.claims), key=order.index)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of all fields; `verdict` follows from them, and is compared by itself."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the digest included."""
        data = self.model_dump(mode="json")
        return {"schema": data.pop("schema_"), **data, "verdict": str(self.verdict), "digest": self.digest}

    def _repr_html_(self) -> str:
        """For notebooks: each claim with its verdict; `report.html.page` makes the whole page."""
        cells = ((c.id, c.unit, c.claimed, c.certified, c.measured, c.outcome, c.reason) for c in self.claims)
        head = ("claim", "per", "claimed", "certified", "measured", "verdict", "why")
        made = f"seed {self.seed}, {self.trials:,} views per claim, confidence {self.confidence:g}"
        facts = (("verdict", str(self.verdict)), ("id", self.id), ("made with", made), ("SHA-256", self.digest))
        return markup.card(self.title, facts, markup.table(head, cells))

    def to_json(self) -> str:
        """JSON, two spaces deep, ending in a newline."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "certificate") -> Self:
        """Read a certificate; the digest and the verdict beside it are checked.

        Raises DeploymentError where it is not a certificate, or was changed after it was written.
        """
        try:
            if not isinstance(data := strict_json.parse(text), dict):
                raise ValueError(f"needs an object with keys, got {type(data).__name__}")
            digest, verdict, schema = (data.pop(key) for key in ("digest", "verdict", "schema"))
            if "schema_" in data:
                raise ValueError("needs no key 'schema_'")
            certificate = cls.model_validate_json(json.dumps({**data, "schema_": schema}))
        except ValidationError as error:
            says, path = refusal(error, cls)
            key = strict_json.shown(".".join(map(str, path)), 60)
            raise DeploymentError(f"needs a certificate of schema {SCHEMA}: {strict_json.shown(says)}", name, None, key) from None
        except KeyError as error:
            raise DeploymentError(f"needs a certificate in JSON: the key {error} is missing", name) from None
        except (ValueError, AttributeError, TypeError) as error:
            written = ", as `ldpaudit certify --output FOLDER` writes it" if isinstance(error, json.JSONDecodeError) else ""
            raise DeploymentError(f"needs a certificate in JSON{written}: {error}", name) from None
        if certificate.digest != digest:
            found = f"needs the digest {certificate.digest[:16]}..., got {str(digest)[:16]}..."
            raise DeploymentError(f"was changed after it was written: {found}", name)
        if certificate.verdict != verdict:
            raise DeploymentError(f"needs the verdict of its claims, {certificate.verdict}, got {verdict!r:.20}", name)
        return certificate

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a certificate from a file; see `from_json`."""
        return cls.from_json(strict_json.decode(strict_json.read_bytes(path), str(path)), str(path))
