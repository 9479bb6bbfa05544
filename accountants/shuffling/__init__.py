r"""Amplification by shuffling: n users run one randomizer each, and the multiset of their reports is seen.

With R the randomizer, b a density that is part of every input's law (the *privacy blanket*) and
:math:`w(y) = (R_1(y) - e^\varepsilon R_2(y))/b(y)`,

.. math:: \delta(\varepsilon) \le \frac1n\, E\Bigl[\Bigl(\sum_{i \le n} w(Y_i)\Bigr)_+\Bigr], \qquad Y_i \sim b

with equality where b is the law of all other users' reports: so data sets give lower bounds by the same formula.

Theorems: Balle, Bell, Gascon, Nissim 2019, Lemma 5.3 (blanket); Feldman, McMillan, Talwar 2021, Theorem 3.1 (clones).

Reading order: `plan`, `bounds`, `blanket`, `two_answers`, `estimate`, `randomizers`, `bloom`, `clones`; binary randomized
response is exact: `binary`, `binary_data_set`, `binary_sieve`; `few_users`; many messages: `hidden_message`,
`several_messages`; then `theorems` (what papers print) and `calibrate` (the inverse problems).
"""
