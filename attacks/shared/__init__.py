"""Scores that several stems share: `odds` (losses of ratios of probabilities, of views that support an input or do not, of memoized
bits), `counters` (count-min, range queries over it), `polya` (sums of two-sided geometric noise), `noisy_votes` (TrieHH)."""
