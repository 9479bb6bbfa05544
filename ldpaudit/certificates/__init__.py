"""From a deployment to a certificate, and back.

Read `certify` (each claim: an accountant's enclosure, samples, a proof, and one verdict), `certificate` (what is written),
`verification` (everything is derived again and compared), then `risk` (what an epsilon means for a person), `exhibits` (what a page
shows beside a verdict, and what would hold instead), `signature` and `parallel` (several deployments at once, and of which day).

May import everything but `gate`, `report` and `commands`.
"""
