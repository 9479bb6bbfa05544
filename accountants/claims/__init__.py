"""What papers print about a mechanism, beside what is true: one file for each stem whose paper prints claims.

A file named like a stem has `printed(setting)`, every statement at some parameters with what is found, `EXAMPLES`,
the settings of docs/literature.md, and where errors can be simulated `accuracy(setting)`; where a paper states its
claims in other parameters than the mechanism's, a `Setting` holds them. `ldpaudit.studies.literature` finds these
files by the stem, and `STEMS` says whose claims they judge. The formulas with their hypotheses stand in the theory
rooms. Reading order: `sentence` (a printed bound beside what is found, and the words for how they stand to each
other; a printed error that a simulation is held against; what is promised for which parameters), the stems, with
`heavy_hitters` of two of them, `statements` (all numbered statements, and why some have no row), `tables` (the papers'
bound tables), `published` (the field's bounds of a plan, beside the certified value), `ledger` (each of these at three
settings).
"""

STEMS = {
    "HKR12": ("bucket_heavy_hitter", "glps_heavy_hitter", "jl_heavy_hitter", "laplace"),
    "STEMMER": ("bitstogram", "genprot", "hashtogram", "sign_oracle", "tree_histogram"),
    "GGKPV": (
        "randomized_response", "range_queries", "shuffled_count_min", "shuffled_hadamard", "shuffled_heavy_hitters",
        "shuffled_quantiles", "sparse_statistical_queries", "subset_selection", "unary_encoding",
    ),
    "JRUW18": ("bassily_smith", "heavy_thresh", "thresh"),
    "TRIEHH": ("trie_heavy_hitter",),
    "DKY17": ("one_bit",),
    "WBLJ17": ("unary_encoding",),
    "WLJ18": ("prefix_extending",),
    "ACBX22": ("longitudinal_unary",),
    "LOLOHA": ("loloha",),
}  # fmt: skip
"""The mechanisms of which each source prints claims; the sources as the rows name them."""
