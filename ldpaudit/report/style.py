"""How pages look: light, dark, printed, and on a telephone. Nothing is loaded from anywhere."""

STYLE = """
:root { color-scheme: light dark; --text: #1c2430; --muted: #515c68; --line: #ccd3da; --page: #fff; --panel: #f4f6f8;
  --certified: #1d5fa8; --band: #bcd4ee; --measured: #8a5a00; --bad: #a3211a; --open: #7a5600; --good: #17633a }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaee; --muted: #a9b4bf; --line: #3b454f; --page: #14181d;
  --panel: #1e242b; --certified: #7db4f0; --band: #2a4a6d; --measured: #f0b64a; --bad: #ff9c94; --open: #f0c75a; --good: #7fd6a2 } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 47rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: break-word }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem } h2 { font-size: 1.2rem; margin: 2.4rem 0 .4rem }
h3 { font-size: 1rem; margin: 1.3rem 0 .2rem } p { margin: .4rem 0 } a { color: var(--certified) }
.id, .small, footer { color: var(--muted); font-size: .875rem } footer { border-top: 1px solid var(--line); margin-top: 3rem }
.overall { border: 2px solid currentColor; border-radius: .4rem; padding: .7rem 1rem; margin: 1rem 0 }
.overall p { color: var(--text) } .overall .word { font-size: 1.25rem; font-weight: 700; color: inherit }
.verdict { font-weight: 700; font-size: .875rem; border: 1.5px solid currentColor; border-radius: .3rem; padding: .05rem .45rem;
  white-space: nowrap }
.REFUTED { color: var(--bad) }
.UNDECIDED { color: var(--open) } .ASSUMED { color: var(--muted) } .BOUNDED, .PROVED { color: var(--good) }
dl { display: grid; grid-template-columns: 7.5rem 1fr; gap: .15rem 1rem; margin: .6rem 0 }
dt { color: var(--muted) } dd { margin: 0; min-width: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0; width: 100% }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
caption { text-align: left; color: var(--muted); font-size: .875rem }
ul.plain { list-style: none; padding: 0 } ul.plain li { margin: .35rem 0 }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 0 1.5rem }
figure { margin: .8rem 0; max-width: 30rem } figcaption { color: var(--muted); font-size: .875rem }
svg { width: 100%; height: auto; display: block } svg text { font: 11px system-ui, sans-serif; fill: var(--text);
  paint-order: stroke; stroke: var(--page); stroke-width: 3px }
svg .axis { stroke: var(--muted); fill: none } svg .grid { stroke: var(--line); fill: none }
svg .certified { stroke: var(--certified); fill: none; stroke-width: 2 } svg .bar { fill: var(--certified) }
svg .band { fill: var(--band) } svg .measured { fill: var(--measured) }
svg .tightening { stroke: var(--measured); fill: none; stroke-width: 1.5 }
svg .claim { stroke: var(--text); stroke-width: 2; fill: none } svg text.quiet { fill: var(--muted) }
svg text.blue { fill: var(--certified) } svg text.amber { fill: var(--measured) }
.layer { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem 1rem; font-size: .875rem; padding-bottom: .6rem;
  border-bottom: 1px solid var(--line) } .layer > div { border-left: 4px solid var(--ground); padding-left: .6rem; min-width: 0;
  overflow-wrap: anywhere } .layer p { margin: .15rem 0 } .layer .kind { color: var(--ground); font-weight: 700 }
.sure { --ground: var(--certified) } .said { --ground: var(--measured) } .left { --ground: var(--muted) }
pre { background: var(--panel); padding: .8rem; overflow-x: auto; font-size: .8rem; border-radius: .3rem; white-space: pre-wrap;
  overflow-wrap: anywhere }
code { overflow-wrap: anywhere; font-size: .875em }
.first { display: none }
@media (max-width: 40rem) { .layer { grid-template-columns: 1fr } }
@media (max-width: 30rem) { body { margin-top: 1rem } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .35rem } }
@media print { :root { color-scheme: light; --text: #000; --muted: #333; --line: #999; --page: #fff; --panel: #fff;
  --certified: #000; --band: #ccc; --measured: #444; --bad: #000; --open: #000; --good: #000 }
  body { max-width: none; margin: 0; font-size: 10.5pt } section, figure, table, .overall { break-inside: avoid-page }
  section.claim, section.sheet { break-inside: auto } .first { display: block } header { break-after: page }
  .layer { break-inside: avoid-page } h2, h3 { break-after: avoid } a { text-decoration: none } }
"""
