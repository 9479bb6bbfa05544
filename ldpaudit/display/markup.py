"""Cards and tables in HTML for notebooks: nothing is loaded, nothing is run, and text of strangers is text."""

import html
from collections.abc import Callable, Iterable, Sequence

from ldpaudit.display.visible import visible

_DARK = "--line: #3b454f; --muted: #a9b4bf; --certified: #7db4f0; --band: #2a4a6d; --measured: #f0b64a"
STYLE = f"""
.ldpaudit {{ --line: #ccd3da; --muted: #515c68; --certified: #1d5fa8; --band: #bcd4ee; --measured: #8a5a00; max-width: 44rem }}
@media (prefers-color-scheme: dark) {{ .ldpaudit {{ {_DARK} }} }}
[data-jp-theme-light="false"] .ldpaudit, .vscode-dark .ldpaudit, html[theme="dark"] .ldpaudit {{ {_DARK} }}
[data-jp-theme-light="true"] .ldpaudit, .vscode-light .ldpaudit {{ --line: #ccd3da; --muted: #515c68; --certified: #1d5fa8;
  --band: #bcd4ee; --measured: #8a5a00 }}
.ldpaudit dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .4rem 0 }}
.ldpaudit dt {{ color: var(--muted); font-weight: normal }} .ldpaudit dd {{ margin: 0; overflow-wrap: anywhere }}
.ldpaudit table {{ border-collapse: collapse }} .ldpaudit th, .ldpaudit td {{ text-align: left; padding: .2rem .8rem .2rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; background: none }}
.ldpaudit figure {{ margin: .6rem 0; max-width: 30rem }} .ldpaudit figcaption {{ color: var(--muted); font-size: .85em }}
.ldpaudit svg {{ width: 100%; height: auto; display: block }} .ldpaudit svg text {{ font: 11px system-ui, sans-serif;
  fill: currentColor }}
.ldpaudit svg .axis {{ stroke: var(--muted); fill: none }} .ldpaudit svg .grid {{ stroke: var(--line); fill: none }}
.ldpaudit svg .certified {{ stroke: var(--certified); fill: none; stroke-width: 2 }} .ldpaudit svg .bar {{ fill: var(--certified) }}
.ldpaudit svg .band {{ fill: var(--band) }} .ldpaudit svg .measured {{ fill: var(--measured) }}
.ldpaudit svg .tightening {{ stroke: var(--measured); fill: none; stroke-width: 1.5 }}
.ldpaudit svg .claim {{ stroke: currentColor; stroke-width: 2; fill: none }} .ldpaudit svg text.quiet {{ fill: var(--muted) }}
.ldpaudit svg text.blue {{ fill: var(--certified) }} .ldpaudit svg text.amber {{ fill: var(--measured) }}
"""
"""Light and dark, by the notebook's theme where it says one, else by the reader's."""


def escape(text: str) -> str:
    """The text as it is, lines kept, in HTML."""
    return html.escape(visible(text, kept="\n\t"))


def card(title: str, facts: Iterable[tuple[str, str]], inside: str = "") -> str:
    """A title and what is known, in text; and HTML that stands below."""
    listed = "".join(f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in facts)
    return f'<div class="ldpaudit"><style>{STYLE}</style><strong>{escape(title)}</strong><dl>{listed}</dl>{inside}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], shown: Callable[[str], str] = escape) -> str:
    """Cells of text, the first of each row its heading; `shown` writes the others."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{shown(cell)}</td>" for cell in row[1:])}</tr>' for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
