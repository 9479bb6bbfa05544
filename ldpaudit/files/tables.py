"""The tables of a deployment file that make its plan and its claims: what each may say, as the schema prints it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ldpaudit.core.expression import LONGEST, parse
from ldpaudit.core.number import brief, exact
from ldpaudit.core.refusal import CALLABLE, Id
from ldpaudit.neighbours import Neighbours


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


def _rate(value: object) -> Fraction:
    if not 0 < (found := exact_number(value)) <= 1:
        raise ValueError(f"needs a probability above 0, got {brief(value)}")
    return found


Rate = Annotated[Fraction, BeforeValidator(_rate), WithJsonSchema(NUMBER)]


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
        DAY, description="Period of that number of reports, as an ISO 8601 duration such as `PT10M`."
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
    rate: Rate | None = Field(
        None, description="Probability with which each report is sent, by a coin of the user's own; by default 1."
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


class PartTable(Table):
    """One part of a composition."""

    mechanism: MechanismTable | None = Field(None, description="The part's mechanism; or else `compose`.")
    compose: list[PartTable] = Field([], description="The parts of a part.")
    times: int = Field(1, ge=1, description="How often the part is run, each time on an input of its own.")
    rate: Rate | None = Field(
        None, description="Probability with which a user takes part in a run, by a coin of their own; by default 1."
    )
    shuffle: ShuffleTable | None = Field(
        None, description="The part's own shuffler: of users' `bundle`s of its runs, or of every `report` in a round of its own."
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

    callable: str = Field(pattern=CALLABLE, description="`module:callable` of the code that is sampled instead of the mechanism.")


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
