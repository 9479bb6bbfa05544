"""What the tables of a deployment file say of each other that cannot be, or of somebody without a source."""

from ldpaudit.core.nearest import or_rather
from ldpaudit.core.refusal import repeated
from ldpaudit.files.stated import ABOUT, FIRST, DeploymentTable
from ldpaudit.files.tables import PartTable

Fault = tuple[str, list[str | int]]  # what is needed and was found, and the keys that lead to where


def contradiction(file: DeploymentTable) -> Fault | None:
    """The first thing that cannot be, if there is one."""
    return _unsupported(file) or _of_aggregators(file) or _of_parts(file)


def _unsupported(file: DeploymentTable) -> Fault | None:
    """What is said without a source, or with one that does not say it, and where; an example speaks for itself."""
    texts = [index for index, each in enumerate(file.sources) if not each.id]
    if file.schema_ == FIRST:
        if len(texts) < len(file.sources):
            return 'a table of a source needs schema = "ldpaudit.deployment/2"', ["sources"]
        later = [key for key in ("status", "registry", "adversary", "aggregator", "assumes", "sampler") if getattr(file, key)]
        return ('needs schema = "ldpaudit.deployment/2"', [later[0]]) if later else None
    if texts:
        return f"needs a table [[sources]], got {file.sources[texts[0]].title!r:.60}", ["sources"]
    if twice := repeated(each.id for each in file.sources):
        return f"needs sources of unique ids, got {twice!r} twice", ["sources"]
    known = (*(claim.id for claim in file.claims), *ABOUT)
    for index, source in enumerate(file.sources):
        for each in source.supports:
            if each not in known:
                needs = f"needs the id of a claim, {' or '.join(ABOUT)}, got {each!r:.60}{or_rather(each, known)}"
                return needs, ["sources", index, "supports"]
    state, named = (file.status.state, file.status.source) if file.status else ("unknown", None)
    of_it = [each.id for each in file.sources if "status" in each.supports]
    if named not in of_it and (named is not None or state not in ("example", "unknown")):
        return f"{state!r} needs the id of a source that supports 'status', got {named!r:.60}", ["status", "source"]
    ids = [each.id for each in file.sources]
    for index, assumption in enumerate(file.assumes):
        if assumption.source not in (None, *ids):
            return f"needs the id of a source, got {assumption.source!r:.60}", ["assumes", index, "source"]
    if state == "example":
        return None
    if file.sampler and file.sampler.law != "unknown" and not any("sampler" in each.supports for each in file.sources):
        return 'needs a source with supports = ["sampler"]; without one, law = "unknown"', ["sampler"]
    for index, claim in enumerate(file.claims):
        found = [each for each in file.sources if claim.id in each.supports and claim.id not in ABOUT]
        if claim.epsilon is not None and not found:
            needs = f"needs a table in [[sources]] with supports = [\"{claim.id}\"]; without a source, set epsilon = \"?\""
            return f"{claim.id!r} {needs}", ["claims", index]
        if claim.expect == "refuted" and not any(each.quote.strip() for each in found):
            needs = f"{claim.id!r} needs a source with a quotation that supports it: nobody is refuted for what they did not say"
            return needs, ["claims", index, "expect"]
    return None


LEVELS = 4  # of parts in parts


def _of_parts(file: DeploymentTable) -> Fault | None:
    """What is said of a composition that is none, or of what has one mechanism alone, and where."""
    for key in ("sampler", "implementation", "aggregate"):
        if file.compose and getattr(file, key):
            return f"needs a table [mechanism]: [[compose]] has several, and [{key}] is about one", [key]
    if file.contribution.rate is not None and (file.contribution.memoized or file.aggregate is not None):
        other = "answers that are not kept" if file.contribution.memoized else "reports that are not summed"
        return f"a user who may send nothing needs {other}", ["contribution", "rate"]
    return _of_part(file, [], shuffled=file.shuffle is not None)


def _of_part(part: DeploymentTable | PartTable, where: list[str | int], shuffled: bool) -> Fault | None:
    if (part.mechanism is None) == (not part.compose):
        found = "both" if part.compose else "none"
        return f"needs a table [mechanism], or [[compose]] with the parts of a composition, got {found}", [*where, "mechanism"]
    if where and shuffled and part.shuffle is not None:
        return "needs one shuffler: whatever this part is a part of is shuffled already", [*where, "shuffle"]
    rate = part.rate if isinstance(part, PartTable) else part.contribution.rate
    if rate is not None and any(_is_shuffled(each) for each in part.compose):
        return "users take part before reports are shuffled: needs a rate for each shuffled part", [*where, "compose"]
    if part.compose and len(where) >= 2 * LEVELS:
        return f"needs at most {LEVELS} levels of parts in parts", [*where, "compose"]
    for index, each in enumerate(part.compose):
        below = _of_part(each, [*where, "compose", index], shuffled or (bool(where) and part.shuffle is not None))
        if below is not None:
            return below
    return None


def _is_shuffled(part: PartTable) -> bool:
    return part.shuffle is not None or any(map(_is_shuffled, part.compose))


def _of_aggregators(file: DeploymentTable) -> Fault | None:
    """What is said of aggregators and contradicts itself, or the tables of the sum and its noise, and where."""
    if (told := file.aggregator) is None:
        return None
    if told.parties and told.colluding and told.colluding > told.parties:
        return f"needs colluding <= parties, {told.parties}, got {told.colluding}", ["aggregator", "colluding"]
    if (whole := file.aggregate) is not None:
        if told.minimum_batch and told.minimum_batch < whole.users:
            needs = f"needs minimum_batch >= the users of [aggregate], {whole.users}, got {told.minimum_batch}"
            return needs, ["aggregator", "minimum_batch"]
        adding = [each.parties for each in file.noise if each.by == "aggregator"]
        if told.noise and (told.noise == "none") == bool(adding):
            return f'needs {"no " * bool(adding)}[[noise]] by aggregators for noise = "{told.noise}"', ["aggregator", "noise"]
        for parties in adding:
            if (told.noise == "once" and parties > 1) or (told.noise == "each" and told.parties not in (None, parties)):
                return f"{told.noise!r} does not fit a table [[noise]] of {parties} parties", ["aggregator", "noise"]
    return None
