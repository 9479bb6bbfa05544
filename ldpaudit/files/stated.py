"""A deployment file as a whole, and its tables of what is stated besides: sources, status, who sees what, and what is assumed."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ldpaudit.core.refusal import Id
from ldpaudit.files.tables import (
    AggregateTable,
    ClaimTable,
    ContributionTable,
    EpochsTable,
    ImplementationTable,
    MechanismTable,
    NoiseTable,
    PartTable,
    ShuffleTable,
    Table,
)

SCHEMA: Literal["ldpaudit.deployment/2"] = "ldpaudit.deployment/2"
FIRST: Literal["ldpaudit.deployment/1"] = "ldpaudit.deployment/1"
"""The first edition, in which sources are texts and nothing has to be supported."""
MOST_QUOTED = 25  # words that a quotation may have
ABOUT = ("mechanism", "sampler", "status")  # what a source may support besides claims


def _quoted(text: str) -> str:
    """A few words of somebody's, as they stand there: nothing is left out in the middle."""
    if "..." in text or "\u2026" in text:
        raise ValueError(f"needs words that follow each other in the source, got {text!r:.60}; another quotation is another source")
    if len(text.split()) > MOST_QUOTED:
        raise ValueError(f"needs at most {MOST_QUOTED} words, got {len(text.split())}")
    return text


_URL = r"^https?://[^\s\"<>]+$"
_DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$"


class SourceTable(Table):
    """Where something is published."""

    id: Id = Field(description="Name of the source, unique in the file.")
    title: str = Field(min_length=1, description="Title of the publication, and which part of it.")
    url: str = Field(pattern=_URL, description="Its address; one inside a company will do.")
    commit: str | None = Field(None, pattern="^[0-9a-f]{7,64}$", description="Commit that was read, of a repository.")
    date: str | None = Field(None, pattern=_DATE, description="Date of what was read, such as `2023-09-18`, `2023-09` or `2023`.")
    accessed: str = Field(pattern=_DATE, description="When it was read, such as `2026-11-23`, in quotes.")
    quote: Annotated[str, AfterValidator(_quoted)] = Field(
        "", description=f"What it says, verbatim, in at most {MOST_QUOTED} words; nothing is left out in the middle."
    )
    supports: list[str] = Field([], description="Ids of the claims that it supports; `mechanism`; `sampler`; `status`.")
    via: str | None = Field(None, pattern=_URL, description="Where the quotation was seen, if not in the source itself.")

    def __str__(self) -> str:
        read = [f"at {self.commit}"] * bool(self.commit) + [f"of {self.date}"] * bool(self.date)
        return ", ".join([self.title, self.url, " ".join(read)] if read else [self.title, self.url])


class AdversaryTable(Table):
    """Who sees what, as far as the deployer says."""

    sees: Literal["report", "device-log", "shuffled", "aggregate", "one-aggregator"] | None = Field(
        None, description="What whoever is not trusted sees."
    )
    links: Literal["account", "device", "nothing"] | None = Field(None, description="What links two reports of one user.")
    retention: str | None = Field(None, min_length=1, description="How long reports and logs are kept, and who reads them.")


class AggregatorTable(Table):
    """Who adds up reports, as far as the deployer says."""

    parties: int | None = Field(None, ge=1, description="Number of aggregators, each of which holds a share of every report.")
    colluding: int | None = Field(None, ge=0, description="Number of them that may share what they know.")
    noise: Literal["none", "each", "once"] | None = Field(
        None, description="Whether no aggregator adds noise, `each` adds all of it, or they add it `once` together."
    )
    minimum_batch: int | None = Field(None, ge=1, description="Least number of reports whose sum is released.")

    @property
    def sentences(self) -> list[str]:
        """What is said, and that the rest is not."""
        unknown, added = "not stated", {"none": "none", "each": "all of it by each of them", "once": "once, by all together"}
        collude = unknown if self.colluding is None else self.colluding
        return [
            f"Aggregators: {self.parties or unknown}; of these may collude: {collude}.",
            f"Noise by aggregators: {added[self.noise] if self.noise else unknown}.",
            f"Least batch that is summed: {self.minimum_batch or unknown}.",
        ]


class AssumptionTable(Table):
    """Something that nobody shows."""

    what: str = Field(
        min_length=1, description="What is assumed, in words that go on after `assuming that`: `the limit is of one device`."
    )
    source: str | None = Field(None, description="Id of the source that says so, if one does.")


class SamplerTable(Table):
    """What the shipped code draws."""

    law: Literal["exact", "grid", "float", "unknown"] = Field(
        description="`exact`: the law that is described; `grid`: probabilities are multiples of 1/2**bits; `float`: noise is "
        "computed with floats, so that continuous noise is assumed, not shown, to be what is described; `unknown`."
    )
    bits: int | None = Field(None, ge=1, le=1024, description="Bits of the integers that are drawn, of a `grid`.")
    drawn: dict[str, Annotated[int, Field(ge=0)]] = Field(
        {},
        description="Of a `grid`: parameters of the mechanism that are probabilities, each as the number of integers below 2**bits "
        "for which the code says yes. Claims are certified as described, and as drawn beside it.",
    )

    @property
    def probabilities(self) -> dict[str, str]:
        """The parameters as drawn, as expressions."""
        return {key: f"{count}/2**{self.bits}" for key, count in self.drawn.items()}


STATES = {
    "active": "The system is in use{on}.",
    "experiment": "The system is an experiment{on}.",
    "announced-retirement": "The end of the system was announced{on}.",
    "retired": "The file described a system that ended{on}.",
    "never-activated": "The file describes a system that was never in use.",
    "library": "The file describes a library; whoever uses it may choose otherwise.",
    "draft": "The file describes a draft.",
    "example": "An example: its claims are its own, and nobody else's.",
    "unknown": "Whether the system is in use is not known.",
}


class StatusTable(Table):
    """Whether the system is in use."""

    state: Literal[
        "active", "experiment", "announced-retirement", "retired", "never-activated", "library", "draft", "example", "unknown"
    ] = Field(description="State of the system.")
    date: str | None = Field(
        None, pattern=_DATE, description="Date on which a retired system ended; else that of the statement. Left out if unknown."
    )
    source: str | None = Field(None, description="Id of the source that says so; required unless `example` or `unknown`.")

    def __str__(self) -> str:
        return STATES[self.state].format(on=f" on {self.date}" if self.date else "")


_PRODUCT = Literal["Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"]


class RegistryTable(Table):
    """What a record of the public registry says and no certificate can."""

    name: str | None = Field(None, min_length=1, description="Name of the data product.")
    data_curators: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None, min_length=1, description="Who publishes the data product."
    )
    data_curator_types: list[Literal["Government", "Industry", "Nonprofit"]] | None = Field(
        None, min_length=1, description="Kind of each of them, in their order, which the later edition of records needs."
    )
    description: str | None = Field(None, min_length=1, description="Brief description of the data product.")
    intended_use: str | None = Field(None, min_length=1, description="What it is for.")
    data_product_type: _PRODUCT | None = Field(None, description="Type of the data product.")
    data_product_region: str | None = Field(None, min_length=1, description="Region that the data describe, in words.")
    publication_date: str | None = Field(
        None, pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="First publication, such as `2026-01-31`; an unknown day is `01`."
    )
    registry_authors: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None, min_length=1, description="Who fills in the record."
    )
    data_product_sector: Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | None = Field(
        None, description="Sector."
    )
    release_type: Literal["One release", "Many releases"] | None = Field(None, description="Whether it is published once.")
    release_type_details: str | None = Field(None, description="How often, and how privacy loss is managed over time.")
    data_source_type: Literal["Static", "Dynamic"] | None = Field(None, description="Whether new data come in.")
    access_type: Literal["Interactive", "Non-interactive"] | None = Field(None, description="Whether analysts ask queries.")
    data_domain: str | None = Field(None, description="Data sets that are protected.")
    unprotected_quantities: str | None = Field(None, description="What is published without noise, besides parameters and numbers.")
    actors: str | None = Field(None, description="Who sees what, and whom one trusts.")
    mechanisms: str | None = Field(None, description="What there is to say of the implementation besides the mechanism.")
    preprocessing_and_hyperparameter_tuning: str | None = Field(None, description="What is done before, and on which data.")
    post_processing: str | None = Field(None, description="What is done to results afterwards.")
    justification: str | None = Field(None, description="Why these parameters.")
    notes: str | None = Field(None, description="Anything else.")


def _source(value: object) -> object:
    """A text is a source of which the title is known, and nothing else."""
    if isinstance(value, str):
        return SourceTable.model_construct(None, title=value, id="", url="", accessed="")
    return value


class DeploymentTable(Table):
    """What a deployment file may say."""

    schema_: Literal["ldpaudit.deployment/1", "ldpaudit.deployment/2"] = Field(
        alias="schema", description="Kind and edition of the file; in `/1`, the first edition, claims need no supporting source."
    )
    id: Id = Field(description="Name of the deployment, and of the certificate's files.")
    title: str = Field("", description="Title for people; by default the id.")
    sources: list[Annotated[SourceTable, BeforeValidator(_source)]] = Field(
        [],
        description="Publications that state the parameters and claims. Every claim with an epsilon needs a source that "
        "supports it, and every claim that is expected to be refuted needs a quotation, except in an example. In `/1`, texts.",
    )
    status: StatusTable | None = Field(None, description="Whether the system is in use.")
    registry: RegistryTable | None = Field(
        None, description="What a record of the public registry of deployments needs besides, for `ldpaudit registry export`."
    )
    note: str = Field("", description="Printed on the certificate.")
    mechanism: MechanismTable | None = Field(None, description="The mechanism, and the parameters of one of its constructors.")
    compose: list[PartTable] = Field(
        [], description="In place of a mechanism: the parts of one report, each run as often as it says. All are accounted for "
        "together, under one relation; parts may have parts, on four levels at most.",
    )
    contribution: ContributionTable = Field(ContributionTable.model_validate({}), description="Number of reports per user.")
    epochs: EpochsTable | None = Field(None, description="For repeated collection: number of epochs, user limits.")
    shuffle: ShuffleTable | None = Field(None, description="The shuffler, if there is one.")
    aggregate: AggregateTable | None = Field(None, description="The secure aggregation, if only a sum of the reports is released.")
    noise: list[NoiseTable] = Field([], description="Noise that is added to the aggregate.")
    adversary: AdversaryTable | None = Field(None, description="Who sees what, for the evaluation sheet of the certificate.")
    aggregator: AggregatorTable | None = Field(None, description="Who adds up the reports, for the evaluation sheet.")
    assumes: list[AssumptionTable] = Field(
        [], description="What all claims rest on besides, so that none is more than assumed; a `guarantee` is assumed anyway."
    )
    sampler: SamplerTable | None = Field(None, description="What the shipped code draws, beside what is described.")
    implementation: ImplementationTable | None = Field(None, description="The deployed code, if it is to be audited.")
    claims: list[ClaimTable] = Field(min_length=1, description="The claims; each gets a verdict.")

    @property
    def described(self) -> list[MechanismTable]:
        """The mechanisms of one report: one, or those of all parts."""
        return [self.mechanism] if self.mechanism else [each for part in self.compose for each in _within(part)]


def _within(part: PartTable) -> Iterator[MechanismTable]:
    """The mechanisms of a part, in order."""
    if part.mechanism is not None:
        yield part.mechanism
    for each in part.compose:
        yield from _within(each)
