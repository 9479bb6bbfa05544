"""Scores that several stems share: `memoized_bits` (RAPPOR, one bit, sketches), `counters` (count-min, range queries over it),
`noisy_votes` (TrieHH), `odds` (ratios of probabilities as losses, and the attack on views that support an input or do not)."""
