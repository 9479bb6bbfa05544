r"""Binomial noise on counters: what a count plus Bin(n, gamma) tells of one user.

The likelihood ratio of a binomial law and its shift grows with the count, so the best event on one counter is a tail
(Neyman, Pearson). On several counters the losses add, and go through the lattice of `pld`.

Theorems: Ghazi, Golowich, Kumar, Pagh, Velingker 2021, Definition 4.2 and Lemmas 4.11 and 4.12 (smooth noise).

Reading order: `binomial_noise` (one counter, exactly), `counter` (its cells), `totals`, `compose` (many counters),
`count_min`, `smoothness`.
"""
