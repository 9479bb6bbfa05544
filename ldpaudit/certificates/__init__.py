"""From a deployment to a certificate, and back.

Read `certify` (each claim: an accountant's enclosure, samples, a proof, and one verdict), `certificate` (what is written),
`verification` (everything is derived again and compared), then `risk` (what an epsilon means for a person), `exhibits` (what a page
shows beside a verdict, and what would hold instead), `signature`, `source_control` (which commit) and `parallel` (several
deployments at once).

May import everything but `gate`, `report` and `commands`.
"""
