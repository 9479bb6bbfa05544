"""Scores that several stems share: `memoized_bits` (RAPPOR, one bit, sketches), `counters` (count-min, range
queries over it), `noisy_votes` (TrieHH), `odds` (a ratio of probabilities as a loss)."""
