r"""Privacy loss distributions: a pair of laws in, hockey-stick divergence out.

For a pair (P, Q) the privacy loss is :math:`L = \log P(y)/Q(y)` for y drawn from P, and

.. math:: \delta(\varepsilon) = E_P\bigl[(1 - e^{\varepsilon - L})_+\bigr]

is the hockey-stick divergence. Mass of P where Q has none is the *infinite-loss mass*. A pair *dominates* another where its
divergence is at least the other's at every epsilon, and composition keeps that (Zhu, Dong, Wang 2022).

Theorems: composition adds losses; connect-the-dots discretization dominates (Doroshenko et al. 2022), here with a bound of
second order on what it adds.

Reading order: `finite` (exact pairs), `distribution` (the loss of a pair, dominating pairs), `product`, `lattice`, `points`,
`tilt`, `total`, `hockey_stick`, `curve`, `chords`.
"""
