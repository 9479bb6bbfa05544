"""A certificate as one HTML page, and one page over all of a run: nothing is loaded, all is derived from the record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from ldpaudit.certificates.certificate import Certificate, ClaimRecord
from ldpaudit.core.number import show
from ldpaudit.display import pictures
from ldpaudit.display.markup import escape as escape, table
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import LdpauditError
from ldpaudit.files.deployment import cited, table_of
from ldpaudit.report.sheet import COLUMNS, layers
from ldpaudit.report.style import STYLE
from ldpaudit.report.text import SIGNS, VERDICTS, overall, plain, relation, sentence, sight, summary
from ldpaudit.verdict import Outcome

if TYPE_CHECKING:
    from ldpaudit.certificates.exhibits import Exhibit

NOTHING: Mapping[str, Exhibit] = MappingProxyType({})
INDEX = "index"  # the name of the page over all deployments of a run
_OF_A_CLAIM = (
    ("verdict", "verdict"), ("claim", "claimed"), ("certified epsilon", "certified"), ("measured epsilon", "measured"),
    ("plan", "plan"), ("relation", "neighbours"),
)  # fmt: skip
_OF_THE_RUN = (
    ("the seed", "seed"), ("the number of views", "trials"), ("the confidence", "confidence"), ("the issuer", "issuer"),
)  # fmt: skip
"""What may change between two certificates, in words, and the fields that say it."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser is told, should anything ask for more than the page itself."""


def chances(text: str) -> str:
    """Text of ours with chances in it: no number is parted from its unit."""
    return escape(text).replace(" %", "\N{NO-BREAK SPACE}%")


def page(certificate: Certificate, exhibits: Mapping[str, Exhibit] = NOTHING, before: Certificate | None = None) -> str:
    """The page of one deployment.

    ``certificate``: what it is about; ``exhibits``: by the claims' ids; left out where there is none; ``before``: the
    certificate before this one.
    """
    return whole(
        certificate.title,
        "".join((
            _head(certificate),
            *(_claim(claim, exhibits.get(claim.id)) for claim in certificate.claims),
            _trust(certificate, exhibits),
            _risks(certificate, exhibits),
            _sheet(certificate, exhibits),
            "" if before is None else _since(before, certificate),
            _meanings(certificate),
            _again(certificate),
        )),
    )  # fmt: skip


def whole(title: str, body: str) -> str:
    """A page of a title and a body, with its style and nothing that is loaded."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title><style>{STYLE}</style></head><body>
{body}</body></html>
"""


def pdf(page: str) -> bytes:
    """A page as it is printed, all verdicts on the first sheet. Raises LdpauditError where WeasyPrint, or its Pango, is missing."""
    try:
        from weasyprint import HTML
    except (ImportError, OSError) as error:
        raise LdpauditError(f"a PDF needs the package weasyprint: install ldpaudit[pdf] ({error})") from None
    return bytes(HTML(string=page).write_pdf())


def badge(verdict: Outcome, text: str) -> str:
    """A verdict that is read without its colour."""
    return f'<span class="verdict {verdict}">{SIGNS[verdict]} {escape(text)}</span>'


def issued(certificate: Certificate) -> str:
    """By whom, and when; as far as it is said."""
    said = [f"issued by {certificate.issuer}"] * bool(certificate.issuer) + [certificate.date] * bool(certificate.date)
    return escape(", ".join(said))


def _head(certificate: Certificate) -> str:
    verdict = certificate.verdict
    about = " &middot; ".join(filter(None, (escape(certificate.id), issued(certificate))))
    known, status = cited(certificate.deployment)
    said = []
    for each in certificate.sources:  # what it says, and of what
        source = known.get(each)
        quote = f": <q>{escape(source.quote)}</q>" if source and source.quote else ""
        via = f", as quoted at {escape(source.via)}" if source and source.via else ""
        on = f" (on: {escape(', '.join(source.supports) or 'the whole')})" if source else ""
        said.append(f"{escape(each)}{quote}{via}{on}")
    sources = f'<p class="small">Sources: {"<br>".join(said)}</p>' if said else ""
    state = f"<p>{escape(str(status))}</p>" if status is not None else ""
    note = f"<p>{escape(certificate.note)}</p>" if certificate.note else ""
    every = [(c.id, c.unit, c.claimed, c.certified, c.measured, f"{SIGNS[c.verdict]} {c.outcome}") for c in certificate.claims]
    first = f'<div class="first">{table(("claim", "per", "claimed", "certified", "measured", "verdict"), every)}</div>'
    return f"""<header><h1>{escape(certificate.title)}</h1><p class="id">{about}</p>
<div class="overall {verdict}"><p class="word {verdict}">{SIGNS[verdict]} {verdict}</p>
<p>{overall(verdict, certificate.claims)}</p></div>{first}{state}{sources}{note}</header><main>
"""


def _claim(claim: ClaimRecord, exhibit: Exhibit | None) -> str:
    """One claim: in words, in pictures, why, and what it rests on."""
    risk = exhibit.risk.sentence(exhibit.seen) if exhibit and exhibit.risk else ""
    if risk and claim.assumptions:
        risk = f"If the assumption is true, {risk[0].lower()}{risk[1:]}"
    meaning = f"<p>{chances(risk)}</p>" if risk else ""
    pictures = f"{curve(claim, exhibit.curve) if exhibit else ''}{tightening(claim)}"
    return f"""<section class="claim"><h2>{escape(claim.id)} {badge(claim.verdict, claim.outcome)}</h2>
<p>{escape(plain(claim))}</p>{meaning}{epsilon_line(claim)}
<h3>Why</h3><p>{escape(sentence(claim.reason))}{escape(sight(claim))}</p>{_instead(exhibit)}<div class="pictures">{pictures}</div>
<h3>What it rests on</h3><dl>{"".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in _facts(claim))}</dl></section>
"""


def _facts(claim: ClaimRecord) -> Iterable[tuple[str, str]]:
    yield "claimed", escape(claim.claimed)
    yield "certified", escape(claim.certified)
    if claim.drawn_beside is not None:
        described, as_drawn = claim.drawn_beside
        yield "as described", escape(described)
        yield "as drawn", f"{escape(as_drawn)}, with the probabilities that the code draws"
    yield "measured", escape(claim.measured)
    if claim.evidence:
        first, second = claim.evidence.pair
        yield "event", f"{escape(claim.evidence.event)}, between the inputs {escape(first)} and {escape(second)}"
    if claim.witness:
        one, other = map(escape, claim.witness.data_sets)
        yield "data sets", f"{one},<br>against {other}:<br>{escape(claim.witness.event)}"
    if claim.source:
        yield "source", escape(claim.source)
    yield "plan", f"<code>{escape(claim.plan)}</code>"
    if claim.enclosure:
        yield "bound by", f"{escape(claim.enclosure.source)} ({claim.enclosure.rigour})"
    if claim.proof:
        number = f"({', '.join(show(Fraction(claim.proof[name])) for name in ('epsilon', 'delta'))})"
        relation = claim.proof["relation"]
        private = "differentially private" if claim.proof["says"] == "private" else "not differentially private"
        found = "found VALID by <code>verify_certificate.py</code>"
        yield "proof", f"{escape(number)}: {private} for {escape(relation)} neighbours, {found}"
    for proof in claim.proofs:
        about = " about one run" if claim.plan.startswith(("Repeat(", "Compose(", "Shuffle(", "Aggregate(", "Subsample(")) else ""
        yield f"theorem{about}", f"{escape(proof.theorem)} ({proof.steps} steps, checked by a machine)"
        yield from (("assumes", escape(each)) for each in proof.assumes)
        yield from (("admits", f"{escape(each)} (admitted, not machine-checked)") for each in proof.admissions)
    yield from (("assumed", f"{escape(each)} (assumed, not shown)") for each in claim.assumptions)
    yield from (("unsupported", escape(each)) for each in claim.unsupported)


def _instead(exhibit: Exhibit | None) -> str:
    """What would hold, and how to find parameters that keep the claim."""
    if exhibit is None or exhibit.repair is None or not exhibit.repair.sentences:
        return ""
    said = "".join(f"<li>{escape(sentence(each))}</li>" for each in exhibit.repair.sentences)
    command = exhibit.repair.command
    found = f"<p>{escape(sentence(exhibit.repair.answer))} This finds it:</p><pre>{escape(command)}</pre>" if command else ""
    return f"<h3>What would hold instead</h3><ul>{said}</ul>{found}"


def _trust(certificate: Certificate, exhibits: Mapping[str, Exhibit]) -> str:
    """Where reports are summed: what each claim asks a user to believe of others."""
    held = [(claim, exhibits[claim.id].trusts) for claim in certificate.claims if claim.id in exhibits]
    if not any(trusts for _, trusts in held):
        return ""
    rows = (
        (claim.id, *(trusts or ("the user alone", "none")), claim.neighbours, claim.claimed, claim.certified, str(claim.verdict))
        for claim, trusts in held
    )
    head = ("claim", "honest users", "honest aggregators' noise", "neighbours", "claimed", "certified", "verdict")
    return f"""<section><h2>Whom a user trusts</h2>
<p>Each claim holds if these users' reports and this noise stay unknown to the adversary, whatever all others do.</p>
<div class="wide" tabindex="0">{table(head, rows, escape)}</div></section>
"""


def _risks(certificate: Certificate, exhibits: Mapping[str, Exhibit]) -> str:
    """The best that an adversary can do, a column for everything that claims are about."""
    from ldpaudit.certificates.risk import percent

    columns: dict[tuple[str, str, str], tuple[ClaimRecord, Exhibit]] = {}
    for claim in certificate.claims:
        found = exhibits.get(claim.id)
        if found is not None and found.risk is not None:
            columns.setdefault((claim.unit, claim.plan, claim.neighbours), (claim, found))
    if not columns:
        return ""
    names = [f"{exhibit.seen} ({claim.id}{', as assumed' * bool(claim.assumptions)})" for claim, exhibit in columns.values()]
    by_chance = zip(*(each.risk.rows for _, each in columns.values() if each.risk), strict=True)
    rows = ((row[0][0], *(percent(chance) for _, chance in row)) for row in by_chance)
    lifetime = any(claim.unit == "lifetime" for claim, _ in columns.values())
    missing = "" if lifetime else " No claim here is about a user's lifetime."
    return f"""<section><h2>What the numbers mean for a user</h2>
<p>The most that an adversary can achieve who sees what the column names, knows all other inputs, and has unlimited time. The
numbers are certified from the privacy profile, and rounded outward.{missing}</p>
<div class="wide" tabindex="0">{table(("chance", *names), rows, chances)}</div></section>
"""


_KINDS = ("sure", "said", "left")
"""The classes of the sheet's columns, each with a colour."""


def _sheet(certificate: Certificate, exhibits: Mapping[str, Exhibit]) -> str:
    """What an evaluation must cover, and who answers for it."""
    found = layers(certificate, exhibits)
    if not found:
        return ""
    parts = []
    for layer in found:
        cells = zip(_KINDS, COLUMNS, (layer.certified, layer.stated, layer.open), strict=True)
        shown = "".join(
            f'<div class="{kind}"><p class="kind">{name}</p>{"".join(f"<p>{chances(line)}</p>" for line in lines)}</div>'
            for kind, name, lines in cells
        )
        parts.append(f'<h3>{escape(layer.name)}</h3><div class="layer">{shown}</div>')
    return f"""<section class="sheet"><h2>Evaluation sheet</h2>
<p>What an evaluation of differential privacy must cover, after the layers of NIST SP 800-226
(doi 10.6028/NIST.SP.800-226), from the numbers down to what is collected. Each layer rests on those below it; what nobody
states is said to be not stated.</p>{"".join(parts)}</section>
"""


def _since(before: Certificate, now: Certificate) -> str:
    """What changed since the previous certificate."""
    found = changes(before, now)
    said = "".join(f"<li>{escape(sentence(line))}</li>" for line in found)
    lines = deployment_lines(before, now)
    file = f"<p>The deployment file changed:</p><pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    dated = f" of {escape(before.date)}" if before.date else ""
    body = f"<ul>{said}</ul>" if said else "" if file else "<p>Nothing.</p>"
    return f"""<section><h2>What changed since the previous certificate{dated}</h2>{body}{file}
<p class="small">Its digest is <code>{before.digest}</code>.</p></section>
"""


def _meanings(certificate: Certificate) -> str:
    """The verdict words, and the relations that the claims name."""
    words = "".join(f"<dt>{SIGNS[o]} {o}</dt><dd>{said}</dd>" for o, said in VERDICTS.items())
    named = dict.fromkeys(claim.neighbours for claim in certificate.claims)
    relations = "".join(f"<dt>{escape(name)}</dt><dd>{relation(name)}</dd>" for name in named)
    return f"""<section><h2>What the words mean</h2><dl>{words}</dl>
<h3>Neighbours: inputs that must be hard to distinguish</h3><dl>{relations}</dl>
<p>A claim of (epsilon, delta) says: the probabilities of any event under two neighbours differ by at most the factor e^epsilon,
plus delta. A verdict is about the parameters that the deployment file states. Samples of code can refute a claim, but never prove
it.</p></section>
"""


def _again(certificate: Certificate) -> str:
    """How to reproduce it, and with which versions."""
    name = escape(certificate.id)
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    settings = f"--seed {certificate.seed} --trials {certificate.trials} --confidence {certificate.confidence!r}"
    return f"""<section><h2>How to reproduce it</h2>
<p>Save the deployment file below as <code>{name}.toml</code>, with the versions named at the end of this page:</p>
<pre>ldpaudit certify {name}.toml {settings} --output again
ldpaudit verify {name}.json --deployment {name}.toml
ldpaudit verify {name}.json --resample</pre>
<p>The first command makes the certificate again; the second recomputes everything except the samples; the third also draws the
samples again, and runs the code that the file names, if any.</p>{_without_us(certificate)}
<h3>The deployment file</h3><pre>{escape(certificate.deployment)}</pre></section></main>
<footer><p>seed {certificate.seed}, {certificate.trials} views per claim, confidence {certificate.confidence:g};
{escape(versions)}</p><p>SHA-256 of its fields <code>{certificate.digest}</code>; <code>ldpaudit verify</code> re-checks the JSON
beside this page. Only the JSON counts: anybody can edit a page.</p></footer>"""


def _without_us(certificate: Certificate) -> str:
    """How to check the proofs with Python alone; nothing where there are none."""
    if not any(claim.proof for claim in certificate.claims):
        return ""
    from ldpaudit.certificates.proof import program

    content = program()
    return f"""<h3>Without ldpaudit</h3>
<p>The proofs inside the JSON are checked by <code>verify_certificate.py</code>, which stands beside it, needs nothing but Python,
and shares no line with what made them:</p><pre>python -I -S verify_certificate.py {escape(certificate.id)}.json</pre>
<p class="small">Its SHA-256 is <code>{hashlib.sha256(content).hexdigest()}</code>, {content.count(10)} lines.</p>"""


def changes(before: Certificate, now: Certificate) -> list[str]:
    """What changed since the previous certificate, each in a sentence; nothing where both say the same."""
    old, new = ({claim.id: claim for claim in each.claims} for each in (before, now))
    found = [f"{name} is no longer claimed" for name in old if name not in new]
    found += [f"{name} is new: {claim.verdict}" for name, claim in new.items() if name not in old]
    for name in (name for name in new if name in old):
        for what, field in _OF_A_CLAIM:
            if (was := getattr(old[name], field)) != (is_ := getattr(new[name], field)):
                found.append(f"{name}: its {what} was {was} and is {is_}")
    settings = [(what, getattr(before, field), getattr(now, field)) for what, field in _OF_THE_RUN]
    settings += [(f"the version of {name}", before.versions.get(name), version) for name, version in now.versions.items()]
    for what, *both in settings:
        was, is_ = ("none" if value in (None, "") else str(value) for value in both)
        if both[0] != both[1]:
            found.append(f"{what} was {was} and is {is_}")
    return found


def deployment_lines(before: Certificate, now: Certificate) -> list[str]:
    """The lines of the deployment file that went (-) and that came (+)."""
    lines = unified_diff(before.deployment.splitlines(), now.deployment.splitlines(), lineterm="", n=0)
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def index(certificates: Sequence[Certificate], before: Mapping[str, Certificate] | None = None) -> str:
    """The overall verdict first, then each deployment with its own, worst first.

    ``certificates``: of one run; at least one; ``before``: certificates before, by id; None where none are compared
    with.
    """
    worst = min((c.verdict for c in certificates), key=list(Outcome).index)
    claims = [claim for certificate in certificates for claim in certificate.claims]
    said = "".join(f"<p>{escape(line)}</p>" for line in summary(certificates)[1:])
    ordered = sorted(certificates, key=lambda c: list(Outcome).index(c.verdict))
    words = "".join(f"<dt>{SIGNS[o]} {o}</dt><dd>{meaning}</dd>" for o, meaning in VERDICTS.items())
    several = f"Privacy certificates of {len(certificates)} deployments"
    title = several if len(certificates) > 1 else "Privacy certificate of one deployment"
    return whole(
        title,
        f"""<header><h1>{title}</h1>
<p class="id">{" &middot; ".join(dict.fromkeys(filter(None, map(issued, certificates))))}</p>
<div class="overall {worst}"><p class="word {worst}">{SIGNS[worst]} {worst}</p><p>{overall(worst, claims)}</p></div>{said}
{_reports(certificates)}</header><main>{"".join(_deployment(each, before) for each in ordered)}
<section><h2>What the words mean</h2><dl>{words}</dl></section></main>
""",
    )


def _reports(certificates: Sequence[Certificate]) -> str:
    """How many of the reports that users send are in deployments of each verdict; a file may be of one report, or of a thousand."""
    reports: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
    unsaid = 0
    for each in certificates:
        file = table_of(each.deployment)
        stated = file is not None and "contribution" in file.model_fields_set
        reports[each.verdict] += file.contribution.daily if file is not None and stated else 1
        unsaid += not stated
    total = sum(reports.values())
    shares = [f"{count:,} ({count / total:.0%}) in {outcome}" for outcome, count in reports.items() if count]
    counted = f"; {unsaid} of {len(certificates)} files do not state it, and count as one" if unsaid else ""
    lines = f"Reports of a user and day, by the worst verdict of their deployment: {', '.join(shares)}, of {total:,}{counted}."
    return f"<p>{chances(lines)}</p>"


def _deployment(certificate: Certificate, before: Mapping[str, Certificate] | None) -> str:
    rows = "".join(
        f"<li>{badge(claim.verdict, str(claim.verdict))} {escape(claim.id)}: {escape(plain(claim))}</li>"
        for claim in certificate.claims
    )
    since = ""
    if before is not None:
        found = changes(before[certificate.id], certificate) if certificate.id in before else []
        said = f"Since the previous certificate: {'; '.join(found)}." if found else (
            "Nothing changed since the previous certificate." if certificate.id in before else "There is no previous certificate."
        )  # fmt: skip
        since = f'<p class="small">{escape(said)}</p>'
    name = escape(certificate.id)
    return f"""<section><h2><a href="{name}.html">{escape(certificate.title)}</a></h2>
<ul class="plain">{rows}</ul>{since}</section>
"""


def epsilon_line(claim: ClaimRecord) -> str:
    """What is certified, measured and claimed, on the line of epsilon."""
    known = (claim.enclosure.low, claim.enclosure.high) if claim.enclosure else None
    how = "assumed" if claim.assumptions else "certified"
    return pictures.line(known, claim.evidence.epsilon_lower if claim.evidence else None, _claimed(claim), how)


def curve(claim: ClaimRecord, points: Sequence[tuple[float, Enclosure]]) -> str:
    """The privacy profile, and the claim."""
    epsilon, delta = _claimed(claim), claim.delta_number or 0.0
    ends = [(at, found.low, found.high) for at, found in points]
    return pictures.curve(ends, None if epsilon is None else (epsilon, delta), f"Privacy profile of {claim.id}", delta)


def tightening(claim: ClaimRecord) -> str:
    """The samples' bound at the looks of a sequential audit."""
    evidence = claim.evidence.read() if claim.evidence else None
    if evidence is None or evidence.trajectory is None:
        return ""
    looks = [(look.trials, look.epsilon_lower) for look in evidence.trajectory.looks]
    return pictures.tightening(looks, _claimed(claim), f"Bound of the samples of {claim.id} as it tightened", evidence.tightened)


def _claimed(claim: ClaimRecord) -> float | None:
    return None if claim.epsilon is None else float(Fraction(claim.epsilon))
