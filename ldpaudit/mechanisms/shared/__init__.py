"""What several mechanisms share, by subject and not by who uses it.

`coins` draws exact coins and `parameters` checks and rounds what constructors take; `hashing`, `files` and `matrices` are public
tables; `independent_bits` and `yes_no_answers` are reports of several bits; `values` are mechanisms of numbered values;
`in_parts` runs a system over data that does not fit into memory; `approximate_randomizers` are what GenProt makes pure;
`plugins` finds the mechanisms of other packages. The folders are the subjects that need more than one file.
"""
