"""A certificate as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from math import isfinite

from ldpaudit.certificate import Certificate, ClaimRecord
from ldpaudit.enclosure import show_down, show_up
from ldpaudit.report.text import certified, claimed, measured, outcome, sight
from ldpaudit.report.visible import visible

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; max-width: 46rem; margin: 2.5rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem }
.id, .small, footer { color: #5c6670; font-size: .85rem } footer { border-top: 1px solid #d8dde3; margin-top: 3rem }
.verdict { font-weight: 700; padding: .1rem .5rem; border-radius: .3rem; color: #fff; font-size: .85rem }
.REFUTED { background: #b3261e } .UNDECIDED { background: #8a6100 } .BOUNDED, .PROVED { background: #1b6e3c }
dl { display: grid; grid-template-columns: 7.5rem 1fr; gap: .1rem 1rem; margin: .6rem 0 }
dt { color: #5c6670 } dd { margin: 0 }
svg { width: 100%; height: auto; margin: .5rem 0 } svg text { font: 12px system-ui, sans-serif }
pre { background: #f4f6f8; padding: 1rem; overflow-x: auto; font-size: .8rem; border-radius: .3rem }
code { overflow-wrap: anywhere }
"""


def escape(text: str) -> str:
    """The text as it is, lines kept, in a page."""
    return html.escape(visible(text, kept="\n\t"))


def page(certificate: Certificate) -> str:
    """The page: each claim with its verdict, a picture of what is known of epsilon, and the reason."""
    sources = "; ".join(map(escape, certificate.sources))
    note = f"<p>{escape(certificate.note)}</p>" if certificate.note else ""
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(certificate.title)}</title><style>{STYLE}</style></head><body>
<h1>{escape(certificate.title)}</h1>
<p class="id">{escape(certificate.id)} &middot; {sources}</p>{note}
{"".join(map(_claim, certificate.claims))}
<h2>The deployment file</h2><pre>{escape(certificate.deployment)}</pre>
<footer><p>seed {certificate.seed}, {certificate.trials} views a claim, confidence {certificate.confidence:g};
{escape(versions)}</p><p>SHA-256 <code>{certificate.digest}</code>; <code>ldpaudit verify</code> re-checks the JSON
beside this page.</p></footer></body></html>
"""


def _claim(claim: ClaimRecord) -> str:
    proofs = "".join(f"<dt>proof</dt><dd>{escape(p.theorem)} ({p.steps} steps)</dd>" for p in claim.proofs)
    assumed = "".join(f"<dt>assumes</dt><dd>{escape(a)}</dd>" for p in claim.proofs for a in p.assumes)
    admitted = "".join(f"<dt>admits</dt><dd>{escape(a)}</dd>" for p in claim.proofs for a in p.admissions)
    limits = "".join(f"<dt>unsupported</dt><dd>{escape(u)}</dd>" for u in claim.unsupported)
    source = f"<dt>source</dt><dd>{escape(claim.source)}</dd>" if claim.source else ""
    badge = f'<span class="verdict {claim.verdict}">{escape(outcome(claim))}</span>'
    return f"""<section><h2>{escape(claim.id)} {badge}</h2>
<p>{escape(claim.sentence)}.</p>{_picture(claim)}
<p>{escape(claim.reason)}.{escape(sight(claim))}</p>
<dl><dt>claimed</dt><dd>{escape(claimed(claim))}</dd><dt>certified</dt><dd>{escape(certified(claim))}</dd>
<dt>measured</dt><dd>{escape(measured(claim))}</dd>{_witness(claim)}{source}<dt>plan</dt><dd><code>{escape(claim.plan)}</code></dd>
{proofs}{assumed}{admitted}{limits}</dl></section>"""


def _witness(claim: ClaimRecord) -> str:
    """The two data sets that show the certified lower end, and the event."""
    if claim.witness is None:
        return ""
    first, second = map(escape, claim.witness.data_sets)
    return f"<dt>witness</dt><dd>{first},<br>against {second}:<br>{escape(claim.witness.event)}</dd>"


def _picture(claim: ClaimRecord) -> str:
    """The line of epsilon: certified values as a bar, the samples' bound as an arrow, the claim as a tick."""
    known = [claim.enclosure.low, claim.enclosure.high] if claim.enclosure else []
    seen = [claim.evidence.epsilon_lower] if claim.evidence else []
    asked = [float(claimed(claim).split(",")[0])] if not claim.asked else []
    largest = max([x for x in (*known, *seen, *asked) if isfinite(x)], default=0.0)
    if largest <= 0:
        return ""

    def at(epsilon: float) -> float:
        return 20 + 600 * min(epsilon / (1.15 * largest), 1.0)

    marks = ['<line x1="20" x2="620" y1="52" y2="52" stroke="#9aa4ae"/><text x="20" y="86">0</text>']
    if known:
        low, high = at(known[0]), at(known[1])
        marks.append(f'<rect x="{low - 2:.1f}" y="44" width="{high - low + 4:.1f}" height="16" fill="#1d5fa8"/>')
        marks.append(_label(high, 86, f"certified {show_up(known[1], 4)}", "#1d5fa8"))
    if seen:
        x = at(seen[0])
        marks.append(f'<path d="M {x:.1f} 40 v 24 l 12 -12 z" fill="#d08700"/>')
        marks.append(_label(x, 104, f"measured at least {show_down(seen[0], 4)}", "#8f5d00"))
    if asked:
        x = at(asked[0])
        marks.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="66" stroke="#1c2430" stroke-width="2"/>')
        marks.append(_label(x, 18, f"claimed {asked[0]:.6g}"))
    return f'<svg viewBox="0 0 640 110" role="img" aria-label="epsilon">{"".join(marks)}</svg>'


def _label(x: float, y: float, text: str, colour: str = "#1c2430") -> str:
    anchor = "start" if x < 120 else "end" if x > 520 else "middle"
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
