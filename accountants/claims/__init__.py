"""What papers print about a mechanism, beside what is true: one file per stem whose paper prints claims.

`sentence` is the type of a printed quantity beside its certified value, `accuracy` that of a printed error which a
simulation is held against, `tables` the papers' bound tables, `published` the field's bounds of a plan. The other files
are named like their stems.
"""
