"""One page over all deployments of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ldpaudit.certificates.certificate import Certificate
from ldpaudit.report.changes import changes
from ldpaudit.report.html import badge, escape, issued, whole
from ldpaudit.report.text import summary
from ldpaudit.report.words import OVERALL, SIGNS, VERDICTS, overall, plain
from ldpaudit.verdict import Outcome


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
<div class="overall {worst}"><p class="word {worst}">{SIGNS[worst]} {worst}</p><p>{OVERALL[worst]} {overall(claims)}</p></div>{said}
</header><main>{"".join(_deployment(each, before) for each in ordered)}
<section><h2>What the words mean</h2><dl>{words}</dl></section></main>
""",
    )


def _deployment(certificate: Certificate, before: Mapping[str, Certificate] | None) -> str:
    rows = "".join(
        f"<li>{badge(claim.verdict, str(claim.verdict))} {escape(claim.id)}: {escape(plain(claim))}</li>"
        for claim in certificate.claims
    )
    since = "" if before is None else f'<p class="small">{escape(_since(certificate, before))}</p>'
    name = escape(certificate.id)
    return f"""<section><h2><a href="{name}.html">{escape(certificate.title)}</a></h2>
<ul class="plain">{rows}</ul>{since}</section>
"""


def _since(certificate: Certificate, before: Mapping[str, Certificate]) -> str:
    if certificate.id not in before:
        return "There is no previous certificate."
    found = changes(before[certificate.id], certificate)
    return f"Since the previous certificate: {'; '.join(found)}." if found else "Nothing changed since the previous certificate."
