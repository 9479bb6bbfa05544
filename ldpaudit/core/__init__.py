"""What every other room may use, and what knows no mechanism: numbers, the words of files, and records.

Read `number` (what a decimal in a file means), `expression` ("log(3)"), `units` and `parameters` (what a constructor takes),
then `records` (what is written and read again) and `working_precision` (the precision of the arithmetic, and nothing else).
`nearest` is for messages; `refusal` says why a name or a file is refused; `streams` and `partitions` walk
through data and data sets; `pace` is how many samples a refutation takes; `remembered` computes a thing once.
The nouns (mechanism, plan, claim, profile, enclosure, evidence, verdict) stand one folder up: users import them.

May import the nouns and `display`. Nothing here imports a mechanism, a theorem or a command.
"""
