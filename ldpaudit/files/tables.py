"""The tables of a deployment file: what each may say, with the description that the schema prints."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ldpaudit.core.expression import LONGEST, parse
from ldpaudit.core.number import brief, exact
from ldpaudit.core.refusal import CALLABLE, Id
from ldpaudit.neighbours import Neighbours

SCHEMA: Literal["ldpaudit.deployment/2"] = "ldpaudit.deployment/2"
FIRST: Literal["ldpaudit.deployment/1"] = "ldpaudit.deployment/1"
"""The first edition, in which sources are texts and nothing has to be supported."""
MOST_QUOTED = 25  # words that a quotation may have
ABOUT = ("mechanism", "sampler", "status")  # what a source may support besides claims


def exact_number(value: object) -> Fraction:
    """A number, or an expression in quotes, as the rational that it is."""
    if isinstance(value, str):
        return parse(value)
    try:
        return exact(value, "it")
    except TypeError:
        raise ValueError(f"needs a number or an expression in quotes, got {brief(value)}") from None


def _relation(value: object) -> Neighbours:
    if not isinstance(value, str):
        raise ValueError(f"needs a relation in quotes, such as \"replace-one\", got {brief(value)}")
    return Neighbours.named(value)


EXPRESSION = {"type": "string", "minLength": 1, "maxLength": LONGEST}
NUMBER = {"anyOf": [{"type": "number"}, EXPRESSION]}  # a number, or an exact expression in quotes, in a JSON Schema
RELATION = {"type": "string", "pattern": "^(replace-one|add-remove|user-level|same-pattern|group-of-[0-9]{1,39})$"}
ExactNumber = Annotated[Fraction, BeforeValidator(exact_number), WithJsonSchema(NUMBER)]


class Table(BaseModel):
    """A table that may say nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class MechanismTable(Table):
    """A mechanism, and the parameters of one of its constructors."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    kind: str = Field(
        description="Name of a mechanism, as `ldpaudit mechanisms` lists them; or `guarantee`, if only an epsilon is known."
    )
    variant: str = Field("", description="Which mechanism, if several have this name.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What the table holds besides."""
        return dict(self.model_extra or {})


_DURATION = re.compile(r"P(?=.)(?:(\d{1,9})W|(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?)", re.ASCII)
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
DAY = "P1D"


def duration(text: str) -> int:
    """Seconds of an ISO 8601 duration such as PT10M. Raises ValueError for anything else, and for none at all."""
    found = _DURATION.fullmatch(text)
    seconds = sum(int(n or 0) * each for n, each in zip(found.groups(), _SECONDS.values(), strict=True)) if found else 0
    if not seconds:
        raise ValueError(f"needs a duration such as PT10M, PT24H, P1D or P1W, got {text!r:.60}")
    return seconds


def spoken(text: str) -> str:
    """A duration in words, such as 10 minutes."""
    seconds = duration(text)
    unit, size = next((unit, size) for unit, size in _SECONDS.items() if seconds % size == 0)
    return f"{seconds // size} {unit}{'s' * (seconds > size)}"


def _duration(text: str) -> str:
    duration(text)
    return text


class ContributionTable(Table):
    """How often a user reports, and whether answers are kept."""

    reports: int = Field(1, ge=1, description="Number of reports per user and period, a day by default.")
    period: Annotated[str, AfterValidator(_duration)] = Field(
        DAY, description="Period in which a user may send so many reports, as an ISO 8601 duration such as `PT10M`."
    )
    per_day: int | None = Field(
        None, ge=1, description="Maximum number of reports per user and day, if it is less than that of all periods of a day."
    )
    memoized: bool = Field(
        False,
        description="Whether a client keeps its first answer for a value, and derives every report of that value from it. With "
        "`[epochs]` the value may change; without it, all reports of a day or a lifetime are of one value. A claim per `report` "
        "is about one report in either case.",
    )


    @property
    def daily(self) -> int:
        """Most reports of a user and day; of a longer period all may be sent on one day."""
        periods = -(-_SECONDS["day"] // duration(self.period))
        return min(self.reports * periods, self.per_day or self.reports * periods)


class EpochsTable(Table):
    """Repeated collection."""

    count: int = Field(ge=1, description="Number of epochs.")
    window: int = Field(ge=1, description="Number of consecutive epochs in a window.")
    window_answers: int = Field(ge=1, description="Maximum number of answers per user in any window.")
    lifetime_answers: int = Field(ge=1, description="Maximum number of answers per user in all epochs.")
    values: int | None = Field(
        None, ge=1, description="If memoized, maximum number of values for which a client keeps an answer; by default all values."
    )

    def answers(self, unit: str) -> int:
        """Most answers of one user in any window of consecutive epochs, or in all epochs; when they come does not matter."""
        if unit == "window":
            return min(self.window, self.window_answers, self.lifetime_answers, self.count)
        whole, rest = divmod(self.count, self.window)
        most = min(self.window, self.window_answers)
        return min(self.lifetime_answers, whole * most + min(rest, most))


class ShuffleTable(Table):
    """The shuffler."""

    users: int = Field(
        ge=1, description="Number of users whose views are shuffled; per user-day, window or lifetime, one bundle per user."
    )
    per: Literal["bundle", "report"] = Field(
        "bundle",
        description="What the shuffler separates: a user's `bundle` of all reports that the claim counts, or every `report`, "
        "where each report of a user is shuffled with those of all users in a round of its own.",
    )


class AggregateTable(Table):
    """The secure aggregation."""

    users: int = Field(
        ge=1, description="Honest users in the smallest batch whose sum is released; drop-outs and colluders are not counted."
    )
    modulus: ExactNumber | None = Field(
        None, description="Modulus of the sum, if it has one; it must exceed the range of sums and noise, or estimates wrap around."
    )
    fresh_coins: Literal[True] = Field(
        True,
        description="Every report that is summed has coins of its own: a report in two sums can be told from their difference.",
    )
    most_ones: int | None = Field(
        None, ge=1, description="Aggregators leave out reports of more ones than that, and tell how many they have accepted."
    )


class NoiseTable(MechanismTable):
    """Noise on a sum."""

    kind: str = Field(description="Noise on counts, as `ldpaudit mechanisms` lists it, beside its parameters without `change`.")
    by: Literal["aggregator", "client"] = Field(
        "aggregator",
        description="Who adds it to every coordinate: each of several aggregators all of it, or every client a share of it.",
    )
    parties: int = Field(
        1,
        ge=1,
        description="Number of aggregators that add it, each with coins of its own; or number of clients whose shares add up to "
        "it, including corrupt ones: at least the users of `[aggregate]`. Only shares of honest clients are counted.",
    )


class ImplementationTable(Table):
    """The deployed code."""

    callable: str = Field(
        pattern=CALLABLE, description="`module:callable` of the code that is sampled instead of the mechanism."
    )


class ClaimTable(Table):
    """One claim."""

    id: Id = Field(description="Name of the claim, unique in the file.")
    epsilon: Annotated[
        Fraction | None, BeforeValidator(lambda x: None if x == "?" else exact_number(x)), WithJsonSchema(NUMBER)
    ] = Field(description='Claimed epsilon, in nats; or "?" for no claim: the certificate reports the computed epsilon.')
    delta: ExactNumber = Field(Fraction(0), description="Delta of the claim, in [0, 1).")
    neighbours: Annotated[Neighbours | None, BeforeValidator(_relation), WithJsonSchema(RELATION)] = Field(
        None,
        description="`replace-one`, `add-remove`, `user-level`, `same-pattern`, `group-of-K`; by default the mechanism's own.",
    )
    unit: Literal["report", "event", "source", "round", "relay-day", "user-period", "user-day", "window", "lifetime"] = Field(
        "report",
        description="What the claim covers: one run (a relay's day is one), a user's period of `[contribution]`, day or window of "
        "epochs, or all reports of a user.",
    )
    view: Literal["local", "shuffled"] | None = Field(
        None, description="`local` for the reports before shuffling, if the file has a shuffler; by default the shuffled reports."
    )
    sees: Literal["report", "aggregate", "share"] | None = Field(
        None,
        description="With a table [aggregate], what the adversary sees: every user's `report` with its noise, the `aggregate`, or "
        "also the shares that aggregators hold, each uniform modulo the modulus; by default the aggregate.",
    )
    honest_clients: int | None = Field(
        None,
        ge=1,
        description="Number of users whose reports, and shares of noise, the adversary does not know; by default the whole batch.",
    )
    honest_aggregators: int | None = Field(
        None, ge=0, description="Number of aggregators whose noise the adversary does not know; by default one of each `[[noise]]`."
    )
    source: str = Field("", description="Who claims it, and where.")
    expect: Literal["holds", "assumed", "refuted", "undecided"] | None = Field(
        None, description="The expected verdict. The run fails if the claim comes out differently."
    )


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
    mechanism: MechanismTable = Field(description="The mechanism, and the parameters of one of its constructors.")
    contribution: ContributionTable = Field(ContributionTable.model_validate({}), description="Number of reports per user.")
    epochs: EpochsTable | None = Field(None, description="For repeated collection: number of epochs, user limits.")
    shuffle: ShuffleTable | None = Field(None, description="The shuffler, if there is one.")
    aggregate: AggregateTable | None = Field(None, description="The secure aggregation, if only a sum of the reports is released.")
    noise: list[NoiseTable] = Field([], description="Noise that is added to the aggregate.")
    adversary: AdversaryTable | None = Field(None, description="Who sees what, for the evaluation sheet of the certificate.")
    sampler: SamplerTable | None = Field(None, description="What the shipped code draws, beside what is described.")
    implementation: ImplementationTable | None = Field(None, description="The deployed code, if it is to be audited.")
    claims: list[ClaimTable] = Field(min_length=1, description="The claims; each gets a verdict.")
