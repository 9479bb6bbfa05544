"""Scores that several stems share: `odds` (losses of ratios of probabilities, of views that support an input or do not, of memoized
bits), `counters` (count-min, range queries over it), `noisy_votes` (TrieHH)."""
