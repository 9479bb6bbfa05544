r"""Binomial noise on counters: the privacy of one user's messages in counts with Bin(n, gamma) added.

Notation: n users each add one to a counter with probability gamma; one user's messages *shift* a counter by k. P is the
law of the counts with the user's messages, Q the law without them or with another input. The likelihood ratio P/Q of
one counter grows with the count, so the best event is a tail. On several counters the losses add, on the lattice of
`pld`.

Theorems: the best event at a given size is a set of largest likelihood ratios (Neyman, Pearson; `binomial_noise`);
connect-the-dots discretization of a counter dominates (Doroshenko et al. 2022; `counter`); Bernstein's inequality
bounds what a total of many counters leaves out (`counter`); smooth noise (Ghazi, Golowich, Kumar, Pagh, Velingker 2019,
"GGKPV", Definition 4.2 and Lemmas 4.11 and 4.12; `theorems`); the binomial mechanism (Agarwal, Suresh, Yu, Kumar, McMahan
2018, Theorem 1; `theorems`).

Reading order: `binomial_noise` (one counter, exactly), `counter` (its cells, as a privacy loss distribution),
`compose` (many counters), `count_min` (tables of counters and the worst hash functions), `hits` (replaced messages as
counters, in several shuffles), `dependent_rows`, `one_shuffle` (in one), `theorems`.
"""
