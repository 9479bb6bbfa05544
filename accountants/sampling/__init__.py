r"""Sampling: who is drawn is hidden, by subsampling and by thresholds on the votes of a sample.

A prefix that w others hold is released with probability g(w), with one holder more g'(w); what one prefix costs is
:math:`\max_w g'(w) - e^\varepsilon g(w)`, whose worst w is known in closed form.

Theorems: Balle, Barthe, Gaboardi 2018, Theorems 2 and 9 (subsampling without replacement); Zhu, Kairouz, McMahan, Sun, Li
2020, Theorem 1 and its corollaries (TrieHH), as printed in `theorems`.

Reading order: `subsample`; `thresholded` (one prefix), `prefix_inverse`, `other_prefixes`, `largest_slope`,
`other_prefixes_low`, `removal`, `rounds`, `trie` (all together), `theorems`.
"""
