r"""Amplification by shuffling: n users run one randomizer R each, and the multiset of their reports is seen.

User 1 holds x1 or x2. Let b be a sub-density of every other user's report, :math:`b(y) \le R_x(y)` for every x, and
:math:`w(y) = (R_{x_1}(y) - e^\varepsilon R_{x_2}(y))/b(y)`. Then (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3)

.. math:: \delta(\varepsilon) \le \frac1n\, E\Bigl[\Bigl(\sum_{i \le n} w(Y_i)\Bigr)_+\Bigr], \qquad Y_i \sim b

where w counts as 0 with the probability that b lacks to 1; with equality where b is the law of all other users' reports.
So one formula gives upper bounds, with the *blanket* :math:`b = \min_x R_x` or with the *clones* :math:`b =
e^{-\varepsilon_0}(R_{x_1} + R_{x_2})/2` (Feldman, McMillan, Talwar 2021, Theorem 3.1), and lower bounds, with explicit
data sets: the witnesses that an attack plays. For k-ary response the two nearly meet, since the law of a third value
differs from the blanket on one view only. For most other mechanisms they meet among many users by `replaced`: a bound with
the law of what the others hold in place of b, in which some :math:`1/\gamma` users are lost instead.

Reading order, for k-ary response with n = 10**6: ``accountants/randomized_response.py`` (`shuffled`: its laws), `plan` (which
bound), `shuffled` (the search for epsilon), `bounds` (both ends), `randomizers` (laws to bounds), `blanket` (the bound itself, and
floats that guide), and below them, in ``numerics``, `positive_part`, `saddle`, `trapezoid`, `certified_search`. Then `replaced`
(with `unnamed_pairs`, `float_laws`, `largest_positive_part`, `transforms`, `quotient_laws`, `quotient_integrals`, `phases`),
`clones`, `bloom` (RAPPOR), `laplace_noise` (numbers), `laplace_vectors`, `vector_laws`, `few_users`, `products` and `spreads`
(bundles of reports);
binary response, where the worst data set is found: `binary_bound`, `binary`, `binary_data_set`; many messages per user:
`hidden_message`; what papers print: `theorems`; the inverse problems: `calibrate`; what privacy leaves of the estimates:
`frequencies`.
"""
