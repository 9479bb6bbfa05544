"""Questions across mechanisms: which parameters, which mechanism, which paper is right.

Read `design` (the parameter at which a goal is kept), `comparison` (mechanisms at one goal), `literature` (what papers claim,
judged) with `tables` and `ggkpv_tables` (printed tables beside certified values), `counting_protocols` and `frequencies` (error and
cost of protocols), `calibration` (how often the auditor is right), and `estimation` (what users' reports say) with `intervals` and
`postprocessing`.

May import the nouns, `core`, `mechanisms`, `accountants`, `attacks`, `files`, `workers`.
"""
