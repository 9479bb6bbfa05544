"""TrieHH: prefixes grow by one symbol per round, and stay where enough sampled users vote for them.

Read `one_round` (votes, and noise on them), then `rounds` (data sets, and rounds in sequence).
"""
