r"""Privacy loss distributions: a pair of laws in, hockey-stick divergence out.

For a pair (P, Q) the privacy loss is :math:`L = \log P(y)/Q(y)` for y drawn from P, and

.. math:: \delta(\varepsilon) = E_P\bigl[(1 - e^{\varepsilon - L})_+\bigr]

is the hockey-stick divergence. Mass of P where Q has none is the *infinite-loss mass*. A pair *dominates* another if
its divergence is at least the other's at every epsilon. The *reversed pair* is (Q, P). A *tilt* lambda gives a loss L
the weight :math:`e^{\lambda L}`, so that rare losses become likely ones.

Theorems: composition adds losses, and composed dominating pairs dominate the composition (Zhu, Dong, Wang 2022, Theorem
10); several pairs have a dominating pair (their Proposition 8); connect-the-dots discretization dominates (Doroshenko,
Ghazi, Kamath, Kumar, Manurangsi 2022), here with a bound of second order on what it adds (`hockey_stick`).

Reading order: `distribution` (the privacy loss distribution and its three forms), `exact` (in rationals, and
dominating pairs), `finite` (profiles of exact pairs); `lattice`, `tilt`, `total` and `hockey_stick` (sums of many
losses); `curve` (from a profile back to a pair), `profiles` (profiles made of profiles), `sampled` (of plans on some
of the users), `searched` (profiles whose epsilon is searched for, as that of two normal laws); `all_pairs` (many
laws, any two of which are neighbours), `several_pairs` (their runs, in each of which another two may be told apart),
`own_law` (mechanisms that users write); what a curve says in other terms: `trade_off` (the best test between two
neighbours), `renyi` (Renyi divergences, rho and mu).
"""
