"""Games: fresh views in, guesses out.

`two_inputs` is the game on a pair of inputs, with a score and the thresholds that are chosen on it; `k_inputs` that on k
inputs; `game` what the engine plays; `plans` how a plan becomes a game.
"""
