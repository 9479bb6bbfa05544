"""A deployment file, and the claims about plans that it means: the only parser."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from ldpaudit import registry
from ldpaudit.claim import SLACK, Claim
from ldpaudit.core.nearest import or_rather
from ldpaudit.core.number import show
from ldpaudit.core.refusal import refusal
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files import bundled
from ldpaudit.files.contradictions import contradiction
from ldpaudit.files.stated import FIRST, DeploymentTable, SourceTable, StatusTable
from ldpaudit.files.tables import DAY, AggregateTable, ClaimTable, EpochsTable, MechanismTable, NoiseTable, PartTable, ShuffleTable
from ldpaudit.files.toml import line_of, parse as parse_toml, read_text
from ldpaudit.mechanism import Mechanism, is_ours
from ldpaudit.mechanisms.memoized_response import over_epochs
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.shared.files import File
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Aggregate, Compose, Guarantee, Plan, Poisson, Repeat, Run, Shuffle

_FAR = 46
"""Standard deviations beyond which log-concave noise lies with probability below 2**-64 (Lovasz, Vempala 2007, Lemma 5.17)."""
ONE_REPORT = ("report", "event", "source", "round", "relay-day")  # units that mean a single run of the mechanism


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is deployed, and what is claimed of it."""

    id: str  # as the file says
    title: str
    note: str
    sources: tuple[str, ...]  # where the parameters are published
    plan: Plan  # one report
    claims: tuple[Claim, ...]  # each about a plan of its own: one report, a day's, a lifetime's, shuffled or not
    implementation: str | None  # ``module:callable`` of the code that is sampled in place of the mechanism
    text: str  # the file, whole
    files: tuple[File, ...] = ()  # those that its parameters name, by their names in the deployment file
    cited: tuple[SourceTable, ...] = ()  # the sources, whole; none of a file of the first edition
    status: StatusTable | None = None  # whether the system is in use
    units: tuple[Claim, ...] = ()  # a question of each unit whose reports the file bounds, at the largest delta of a claim
    parts: tuple[Claim, ...] = ()  # a question of each part of a composition, at the same delta
    added: Fraction = Fraction(0)  # variance of the noise that all who add up put on each count, or clients together

    @property
    def runs_code(self) -> bool:
        """Whether to judge it runs code that does not come with ldpaudit: an implementation, or another package's mechanism."""
        foreign = any(isinstance(leaf, Run) and not is_ours(leaf.mechanism) for leaf in self.plan.leaves())
        return foreign or self.implementation is not None


def load(path: str | Path) -> Deployment:
    """Read a deployment file, or a bundled one by its id.

    Parameters
    ----------
    path : str or Path
        A TOML file of at most 1 MiB; where there is none of this name, a bundled id, as `ldpaudit deployments` lists them.

    Returns
    -------
    Deployment
        What is deployed, and the claims; nothing that the file names is run.

    Raises
    ------
    DeploymentError
        Where it cannot be read, or says anything that a deployment file may not: with file, line and key.
    """
    file = bundled.found(path)
    return loads(read_text(file), str(file), partial(_beside, file.parent))


def _beside(folder: Path, name: str) -> File:
    """A file in a deployment's folder, or below it: a deployment of somebody else's may not read what lies elsewhere."""
    path = (folder / name).resolve()
    if Path(name).is_absolute() or not path.is_relative_to(folder.resolve()):
        raise ValueError(f"needs a file in the deployment's folder, got {name!r:.200}")
    return File(name, File.read(path).content)


def among(files: Sequence[File]) -> registry.Opener:
    """Opens these files, by their names, and no others."""
    known = {file.name: file for file in files}

    def opened(name: str) -> File:
        if name not in known:
            raise ValueError(f"needs the file {name!r:.200}, which is not available when only the deployment's text is read")
        return known[name]

    return opened


_NONE = among(())
_Fail: TypeAlias = Callable[[str, Sequence[str | int]], DeploymentError]  # an error, from what it says and the key


def loads(text: str, name: str = "deployment", files: registry.Opener = _NONE) -> Deployment:
    """Read a deployment from text.

    ``text``: in TOML; ``name``: stands for the file in errors; ``files``: from the name of a file that a parameter
    names to the file. Raises DeploymentError as `load`.
    """
    opened: list[File] = []

    def noted(file: str) -> File:
        opened.append(files(file))
        return opened[-1]

    tree = parse_toml(text, name)

    def fail(message: str, key: Sequence[str | int]) -> DeploymentError:
        return DeploymentError(message, name, line_of(text, key), ".".join(map(str, key)))

    try:
        file = DeploymentTable.model_validate(tree)
    except ValidationError as error:
        raise fail(*refusal(error, DeploymentTable)) from None
    if (fault := contradiction(file)) is not None:
        raise fail(*fault)
    plan = _described(file, noted, fail)
    noise: list[tuple[CountNoise, NoiseTable]] = []
    for index, each in enumerate(file.noise):
        try:
            added = registry.build(each.kind, each.variant, each.parameters, noted)
        except registry.ParameterError as error:
            raise fail(str(error), ["noise", index, *(error.keys or _named(error, each.parameters))]) from None
        if not isinstance(added, CountNoise):
            raise fail(f"needs noise on counts, such as discrete_laplace, got {each.kind}", ["noise", index, "kind"])
        if each.by == "client" and file.aggregate is not None:
            if each.parties < (users := file.aggregate.users):
                needs = f"needs parties >= the users of [aggregate], {users}: each of them adds a share, got {each.parties}"
                raise fail(needs, ["noise", index, "parties"])
            try:
                added.of_shares(users, each.parties)
            except ValueError as error:
                raise fail(str(error), ["noise", index]) from None
        noise.append((added, each))
    try:
        drawn = _drawn(file, noted)
    except ValueError as error:
        raise fail(str(error), ["sampler"]) from None
    try:  # what is said of a client that keeps answers is said of a mechanism that does, whatever is claimed
        if file.contribution.memoized and file.epochs is not None:
            _over_epochs(file, file.epochs, plan, "window")
        elif file.contribution.memoized:
            _memoized(plan, "user-day", file.contribution.daily)
    except ValueError as error:
        raise fail(str(error), ["contribution", "memoized"]) from None
    if (misfit := _require_one_view(file, plan, noise)) is not None:
        raise fail(*misfit)
    return Deployment(
        id=file.id,
        title=file.title or file.id,
        note=file.note,
        sources=tuple(each.title if file.schema_ == FIRST else str(each) for each in file.sources),
        plan=plan,
        claims=_claims(file, plan, drawn, noise, fail),
        implementation=file.implementation.callable if file.implementation else None,
        text=text,
        files=tuple(opened),
        cited=() if file.schema_ == FIRST else tuple(file.sources),
        status=file.status,
        units=_units(file, plan, noise),
        parts=_parts(file, plan),
        added=sum((m.variance * (each.parties if each.by == "aggregator" else 1) for m, each in noise), Fraction(0)),
    )


def _described(part: DeploymentTable | PartTable, opened: registry.Opener, fail: _Fail, where: Sequence[str | int] = ()) -> Plan:
    """What is sent once: a view of a mechanism, or of each part of a composition; of a guarantee, what it promises."""
    if (table := part.mechanism) is None:
        return Compose([_part(each, opened, fail, [*where, "compose", index]) for index, each in enumerate(part.compose)])
    try:
        if table.kind == "guarantee":
            return registry.construct(Guarantee, table.parameters)
        return Run(registry.build(table.kind, table.variant, table.parameters, opened))
    except registry.ParameterError as error:
        raise fail(str(error), [*where, "mechanism", *(error.keys or _named(error, table.parameters))]) from None


def _part(part: PartTable, opened: registry.Opener, fail: _Fail, where: Sequence[str | int]) -> Plan:
    """A part of a composition, run as often as it says, behind a shuffler of its own if it has one."""
    once = _sent(_described(part, opened, fail, where), part.rate)
    plan = Repeat(once, part.times) if part.times > 1 else once
    return plan if part.shuffle is None else _shuffled(part.shuffle, plan)


def _sent(once: Plan, rate: Fraction | None) -> Plan:
    """What is sent with this probability, and else nothing."""
    return once if rate is None else Poisson(once, rate)


def _shuffled(shuffle: ShuffleTable, plan: Plan) -> Plan:
    """The bundles of all users, or each of their reports in a round of its own."""
    if shuffle.per == "bundle" or not isinstance(plan, Repeat):
        return Shuffle(plan, shuffle.users)
    return Repeat(Shuffle(plan.plan, shuffle.users), plan.times)


def table_of(text: str) -> DeploymentTable | None:
    """What a deployment's text says, table by table; None where it is no deployment's."""
    try:
        return DeploymentTable.model_validate(parse_toml(text, "deployment"))
    except (DeploymentError, ValidationError):
        return None


def cited(text: str) -> tuple[dict[str, SourceTable], StatusTable | None]:
    """The sources that a deployment's text has, by the words that a certificate has of them, and the status."""
    if (file := table_of(text)) is None:
        return {}, None
    return {str(each): each for each in file.sources if each.id}, file.status


UNITS = ("report", "user-period", "user-day", "window", "lifetime")
"""From the narrowest to the widest; the others of a claim are one report under another name."""


def _units(file: DeploymentTable, plan: Plan, noise: Sequence[tuple[CountNoise, NoiseTable]]) -> tuple[Claim, ...]:
    """Each unit whose reports the file bounds; how many a user sends a day is not known where no table says so."""
    found = []
    claimed, delta = {each.unit for each in file.claims}, max(each.delta for each in file.claims)
    for unit in UNITS:
        stated = {"user-day": file.model_fields_set >= {"contribution"}, "user-period": file.contribution.period != DAY}
        if not (stated.get(unit, True) or unit in claimed):
            continue
        table = ClaimTable.model_validate({"id": unit, "epsilon": "?", "unit": unit})
        with suppress(ValueError):
            whole = _claimed_plan(file, plan, noise, table)
            relation = usual(whole if _stream(file, unit) else plan)
            found.append(Claim(unit, whole, None, delta, relation, unit, sampled=_sampled(file, whole), assumed=_assumed(file)))
    return tuple(found)


def _parts(file: DeploymentTable, plan: Plan) -> tuple[Claim, ...]:
    """Each part of a composition by itself."""
    delta, parts = max(each.delta for each in file.claims), plan.parts if file.compose else ()
    named = [(f"part {number}", part) for number, part in enumerate(parts, 1)]
    return tuple(Claim(name, part, None, delta, usual(plan), "report", assumed=_assumed(file)) for name, part in named)


def _stream(file: DeploymentTable, unit: str) -> bool:
    """Whether a unit is a stream of kept answers, of which the inputs are not those of one report."""
    return file.epochs is not None and file.contribution.memoized and unit in ("window", "lifetime")


def _named(error: ValueError, keys: Iterable[str]) -> list[str]:
    """The key whose value an error quotes, if it does."""
    return [key for key in keys if f"got {key}=" in str(error)][:1]


_AS_REALS = "floats draw continuous noise as real numbers would"


def _drawn(file: DeploymentTable, files: registry.Opener) -> Plan | None:
    """One report as the code draws it, where that is known."""
    if (sampler := file.sampler) is None:
        return None
    if (sampler.bits is not None or sampler.drawn) and sampler.law != "grid":
        raise ValueError(f'needs law = "grid" for bits, got {sampler.law!r}')
    if not sampler.drawn or file.mechanism is None:
        return None
    table, bits = file.mechanism, sampler.bits
    if bits is None:
        raise ValueError("needs bits, of which the drawn integers are")
    for key, count in sampler.drawn.items():
        if key not in table.parameters:
            raise ValueError(f"drawn: needs a parameter of [mechanism], got {key!r:.60}{or_rather(key, [*table.parameters])}")
        if count > 1 << bits:
            raise ValueError(f"drawn: needs {key} <= 2**{bits}, got {count}")
    return Run(registry.build(table.kind, table.variant, {**table.parameters, **sampler.probabilities}, files))


def _claims(
    file: DeploymentTable,
    plan: Plan,
    drawn: Plan | None,
    noise: Sequence[tuple[CountNoise, NoiseTable]],
    fail: _Fail,
) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    for index, table in enumerate(file.claims):
        if table.id in {claim.id for claim in claims}:
            raise fail(f"needs a unique id, got {table.id!r} twice", ["claims", index, "id"])
        if table.view == "shuffled" and file.shuffle is None:
            raise fail("needs a table [shuffle] for the view 'shuffled'", ["claims", index, "view"])
        try:
            claimed = _claimed_plan(file, plan, noise, table)
            relation = table.neighbours or usual(claimed if _stream(file, table.unit) else plan)
            claim = Claim(
                id=table.id,
                plan=claimed,
                epsilon=table.epsilon,
                delta=table.delta,
                neighbours=relation,
                unit=table.unit,
                source=table.source,
                expect=table.expect,
                taken=_taken(file.mechanism, plan, claimed, relation, table.epsilon),
                sampled=_sampled(file, claimed),
                drawn=None if drawn is None else _claimed_plan(file, drawn, noise, table),
                assumed=_assumed(file),
            )
        except ValueError as error:
            key = _named(error, ("epsilon", "delta"))
            raise fail(str(error).removeprefix("Claim "), ["claims", index, *key]) from None
        claims.append(claim)
    return tuple(claims)


def _sampled(file: DeploymentTable, plan: Plan) -> str:
    """What is assumed of the code's sampler, in a clause: where floats draw what no float is."""
    if file.sampler is None or file.sampler.law != "float":
        return ""
    mechanisms = [leaf.mechanism for leaf in plan.leaves() if isinstance(leaf, Run)]
    noise = plan.noise if isinstance(plan, Aggregate) else ()
    return _AS_REALS if any(each.continuous for each in (*mechanisms, *noise)) else ""


def _assumed(file: DeploymentTable) -> tuple[str, ...]:
    """What the file assumes besides, in clauses with the title of the source."""
    titles = {each.id: f" ({each.title})" for each in file.sources}
    return tuple(f"{each.what}{titles[each.source] if each.source else ''}" for each in file.assumes)


def _taken(table: MechanismTable | None, plan: Plan, claimed: Plan, relation: Neighbours, epsilon: Fraction | None) -> str:
    """Which parameters are computed from the claimed epsilon, over all runs of those who differ, in a clause; else empty."""
    if table is None or not isinstance(plan, Run) or epsilon is None:
        return ""
    aimed = registry.aimed(type(plan.mechanism), table.parameters)
    counts = {runs * max(relation.users, 1) for runs in _runs(claimed)}
    if aimed is None or not any(abs(aimed[1] * runs - epsilon) <= SLACK * epsilon for runs in counts):
        return ""
    return f"the parameters in use are those that {aimed[0]}(epsilon={show(aimed[1])}) computes from what is claimed"


def _runs(claimed: Plan) -> set[int]:
    """How many answers a claimed plan has of one user; where answers are kept, one, or one for each value. A shuffler adds none."""
    if isinstance(claimed, Shuffle | Aggregate | Poisson):
        return _runs(claimed.plan)
    if isinstance(claimed, Repeat):
        return {claimed.times * runs for runs in _runs(claimed.plan)}
    mechanism = claimed.mechanism if isinstance(claimed, Run) else None
    return {1, getattr(mechanism, "values", 1) or getattr(mechanism, "epochs", 1)}


def usual(plan: Plan) -> Neighbours:
    """The relation that the mechanism's source has in mind; of several mechanisms, if it is the same."""
    found = {leaf.mechanism.relations[0] if isinstance(leaf, Run) else REPLACE_ONE for leaf in plan.leaves()}
    return found.pop() if len(found) == 1 else REPLACE_ONE


def _claimed_plan(file: DeploymentTable, plan: Plan, noise: Sequence[tuple[CountNoise, NoiseTable]], table: ClaimTable) -> Plan:
    """What the claim's unit counts: one report, a day's reports, a window's, everything that a client ever sends."""
    epochs, memoized, plan = file.epochs, file.contribution.memoized, _sent(plan, file.contribution.rate)
    if epochs is not None and epochs.values is not None and not memoized:
        raise ValueError("the key `values` needs memoized = true: fresh answers are not kept")
    if table.unit == "user-period" and file.contribution.period == DAY:
        raise ValueError("a claim per user-period needs a period in [contribution], such as PT10M")
    if table.unit == "window" and epochs is None:
        raise ValueError("a claim per window needs a table [epochs]")
    if table.unit not in ONE_REPORT:
        if epochs is not None and table.unit in ("window", "lifetime"):
            plan = _over_epochs(file, epochs, plan, table.unit)
        else:
            # A day's reports, or of one value that is held for ever, all that a client which memoizes ever sends.
            reports = file.contribution.reports if table.unit == "user-period" else file.contribution.daily
            if memoized:
                plan = Run(_memoized(plan, table.unit, reports))
            elif table.unit == "lifetime":
                raise ValueError("a claim per lifetime needs a table [epochs] with the number of epochs, or memoized = true")
            elif reports > 1:
                plan = Repeat(plan, reports)
    if file.aggregate is not None:
        return _summed(file.aggregate, noise, plan, table)
    if file.shuffle is None or table.view == "local":
        return plan
    if file.shuffle.per == "report" and file.contribution.memoized:
        raise ValueError("answers that are kept are told across rounds: `per = \"report\"` needs fresh answers, without memoized")
    return _shuffled(file.shuffle, plan)


def _summed(aggregate: AggregateTable, noise: Sequence[tuple[CountNoise, NoiseTable]], plan: Plan, table: ClaimTable) -> Plan:
    """What an adversary sees of the users' reports, who trusts all or some of the others: each round is summed by itself."""
    if table.sees == "report":
        own = [mechanism.of_shares(1, each.parties) for mechanism, each in noise if each.by == "client"]
        return Aggregate(plan, 1, own) if own else plan
    if table.sees == "share" and aggregate.modulus is None:
        raise ValueError("shares hide what they are uniform over: `sees = \"share\"` needs a modulus in [aggregate]")
    honest = table.honest_clients or aggregate.users
    if honest > aggregate.users:
        raise ValueError(f"needs honest_clients <= the users of [aggregate], {aggregate.users}, got {honest}")
    added: list[Mechanism] = []
    for mechanism, each in noise:
        if each.by == "client":
            added.append(mechanism.of_shares(honest, each.parties))
            continue
        aggregators = 1 if table.honest_aggregators is None else table.honest_aggregators
        if aggregators > each.parties:
            raise ValueError(f"needs honest_aggregators <= the parties of [[noise]], {each.parties}, got {aggregators}")
        added += [mechanism] * aggregators
    return Aggregate(plan, honest, added, aggregate.most_ones)


def _require_one_view(
    file: DeploymentTable, plan: Plan, noise: Sequence[tuple[CountNoise, NoiseTable]]
) -> tuple[str, list[str | int]] | None:
    """What does not fit together in what is said of shufflers and sums, and where."""
    if file.aggregate is None:
        for index, table in enumerate(file.claims):
            if table.sees or table.honest_clients or table.honest_aggregators is not None:
                return "`sees`, `honest_clients` and `honest_aggregators` need a table [aggregate]", ["claims", index]
        return ("needs a table [aggregate], to whose sum it is added", ["noise"]) if file.noise else None
    if file.shuffle is not None:
        return "reports are shuffled or summed: needs one of the tables [shuffle] and [aggregate]", ["aggregate"]
    apart, own = plan.mechanism.summed_range if isinstance(plan, Run) else (1, Fraction(0))
    largest = file.aggregate.users * apart
    # Clients' shares are one noise.
    noises = [(added.variance, table.parties if table.by == "aggregator" else 1) for added, table in noise]
    noises += [(file.aggregate.users * own, 1)] if own else []
    spread = sum(2 * _FAR * (math.isqrt(math.ceil(variance)) + 1) * each for variance, each in noises)
    if file.aggregate.modulus is not None and file.aggregate.modulus <= largest + spread:
        beside = f", and noise that spreads over {spread}" if spread else ""
        needs = f"needs a modulus above {largest + spread}: the largest sum less the least, {largest}{beside}"
        return f"{needs}; where sums wrap around, estimates are wrong, though they are as private", ["aggregate", "modulus"]
    return None


def _over_epochs(file: DeploymentTable, epochs: EpochsTable, plan: Plan, unit: str) -> Plan:
    """All answers that the budgets admit: fresh ones, or a stream of kept ones."""
    answers = file.contribution.reports * epochs.answers(unit)
    if not file.contribution.memoized:
        return Repeat(plan, answers) if answers > 1 else plan
    if not isinstance(plan, Run):
        raise ValueError(f"memoized = true needs a mechanism that memoizes, got {plan}")
    try:
        return Run(over_epochs(plan.mechanism, answers, epochs.values))
    except Unsupported as error:
        raise ValueError(f"memoized = true beside [epochs]: {error}") from None


def _memoized(plan: Plan, unit: str, reports: int) -> Mechanism:
    mechanism = plan.mechanism if isinstance(plan, Run) else None
    lifetime = getattr(mechanism, "lifetime", None)
    if mechanism is None or lifetime is None or not hasattr(mechanism, "reports"):
        raise ValueError(f"memoized = true needs a mechanism that memoizes, or a table [epochs], got {plan}")
    if unit == "lifetime":
        whole: Mechanism = lifetime()
        return whole
    return dataclasses.replace(mechanism, reports=reports)  # type: ignore[type-var]
