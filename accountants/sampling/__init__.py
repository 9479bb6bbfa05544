r"""Sampling: amplification by subsampling, and by thresholds on the votes of a secret sample.

A prefix that w other users hold is released with probability g(w), and with one more holder with probability g'(w). One
prefix alone costs :math:`D(\varepsilon) = \max_w g'(w) - e^\varepsilon g(w)`, whose worst w is known in closed form; a fixed
batch also reveals a user by other users' prefixes, because the user takes another user's place in it.

Theorems: Balle, Barthe, Gaboardi 2018, Theorems 2 and 9 (subsampling without replacement); Zhu, Kairouz, McMahan, Sun, Li
2019, Theorem 1 and its corollaries (TrieHH), and sample-and-threshold, as printed, in `theorems`.

Reading order: `subsample`; then, for thresholds, `thresholded` (one prefix, one round, and its epsilon in floats);
`other_prefixes` (upper bound of what they reveal, and the remove direction) and `other_prefixes_low` (data
sets); `crowd` and `hidden_votes` (several rounds, own votes hidden), `rounds` (own votes shown);
`trie` (the profile: all together); `noisy_votes` (upper bound where votes are noisy) with
`noisy_holders` (data sets); `discovery` (how often a value is found, and votes that get lost).
"""
