"""TrieHH: prefixes grow by one symbol per round, and stay where enough sampled users vote for them.

Read `one_round`, `rounds` (data sets, and rounds in sequence) and `noisy_votes`.
"""
