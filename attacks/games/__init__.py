"""Games: fresh views in, guesses out.

Reading order: `two_inputs` (which thresholds on a score to guess by), `k_inputs` (which of k inputs to guess), `game` (what the
engine plays), `plans` (from a plan to scores that add), `shuffled` (two data sets through a shuffler), `coordinates` (what is seen
of one coordinate of a sum), `summed` (two data sets through a sum), `own_law` (the attack that a finite law allows), `sources`
(where games come from). `stems` alone looks up: it finds the attack of a mechanism's stem.
"""
