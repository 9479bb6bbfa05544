r"""What JL-HH costs, in three readings of its pseudocode.

Below, m is the number of rows, b the scale of the noise, :math:`\delta_{D, s}` the profile of D Laplace coordinates shifted by s
scales each (`composition.laplace_vector`), and H the number of rows in which the columns of two values differ, by
:math:`2/\sqrt m`. An absent user's column is 0, so that they differ by :math:`1/\sqrt m` in every row from anybody.
"""

import numpy as np

from ldpaudit.accountants.composition.laplace_products import ProductsProfile, Shifts, sorted_shifts
from ldpaudit.accountants.composition.laplace_vector import coordinates, step_between
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling import laplace_vectors
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import weigh
from ldpaudit.mechanisms.shared.projections.random_projection import Projected
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_ALL_ROWS = 1 << 12
"""Rows up to which a shuffled report's coordinates are counted."""
_ALL_PAIRS = 10
"""Bits of a value up to which the products of all pairs of values are compared."""


def profile(m: JLHeavyHitter | FreshProjections | FreshProducts, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of any reading; see `projection`, `projections` and `products`."""
    if isinstance(m, FreshProducts):
        return products(m, neighbours)
    return projections(m, neighbours) if isinstance(m, FreshProjections) else projection(m, neighbours)


def projection(m: JLHeavyHitter, neighbours: Neighbours) -> PrivacyProfile:
    r"""Exact profile of one noisy projection, its public matrix known.

    .. math:: \delta_{replace} = \delta_{H,\, 2/(b \sqrt m)}, \quad \delta_{add} = \delta_{m,\, 1/(b \sqrt m)}, \qquad
              \varepsilon_{replace}(0) = \frac{2H}{b \sqrt m}

    with the largest H of any two values. Tight for real numbers. Where a value has more than 22 bits, or the matrix more than
    2**22 rows, the replace-one profile lies between that of the largest H found (in the first 2**22 rows) and that of H = m,
    the worst public matrix's. Source: Hsu, Khanna, Roth 2012, Lemma 3.1, for an upper bound with add-remove's sensitivity.
    Proof: proofs/jl_heavy_hitter.py, of epsilon(0).

    ``m``: ``scale > 0``, as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats.
    Rigour EXACT where m is a square and H known; else INTERVAL, and as narrow where H is known.
    """
    return _replicated(m, 1, neighbours)


def projections(m: FreshProjections, neighbours: Neighbours) -> PrivacyProfile:
    r"""Exact profile of N noisy projections of the same column: :math:`\delta_{N H,\, 2/(b \sqrt m)}`, or
    :math:`\delta_{N m,\, 1/(b \sqrt m)}` for add-remove.

    N times as many coordinates as in `projection`, with the same noise: what that says of tightness and rigour holds here.
    Source: the pseudocode of Hsu, Khanna, Roth 2012, Algorithm 1. Proof: proofs/jl_heavy_hitter.py, of epsilon(0).

    ``m``: ``scale > 0``, as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats. As
    for `projection`.
    """
    return _replicated(m, m.domain, neighbours)


def products(m: FreshProducts, neighbours: Neighbours) -> PrivacyProfile:
    r"""Bounds of the profile of N products, each with a noise that is a sum of m Laplace noises of scale :math:`b/\sqrt m`.

    For two values x, x' product p is shifted by :math:`d_p = \langle A e_p, A(e_x - e_{x'}) \rangle`, for an absent user by
    :math:`\langle A e_p, A e_x \rangle`. Not tight but at delta = 0, where :math:`\varepsilon(0) = \max \sum_p |d_p| \sqrt m/b`
    is approached by events far out; `composition.laplace_products` has the bounds at other deltas, which are a factor of about
    the square root of 2 apart. With one row a product shows its projection, and the profile is that of `projections`. Source: the
    pseudocode of Hsu, Khanna, Roth 2012, Algorithm 1. Proof: proofs/jl_heavy_hitter.py, of an upper bound of epsilon(0).

    ``m``: ``scale > 0``, as its constructor ensures; at most 2**10 values; ``neighbours``: replace-one or add-remove.
    Returns in nats. Rigour INTERVAL. Raises Unsupported for more values.
    """
    if m.rows == 1:
        return _replicated(m, m.domain, neighbours)
    if m.bits > _ALL_PAIRS:
        raise Unsupported(m, f"the products of all pairs are compared for up to {1 << _ALL_PAIRS} values")
    pair, most = _shifts(m, neighbours)
    return ProductsProfile(pair, most)


def _replicated(m: Projected, copies: int, neighbours: Neighbours) -> PrivacyProfile:
    """`copies` independent noises on the same column."""
    if neighbours == ADD_REMOVE:
        return coordinates(copies * m.rows, 1, m.rows, m.scale, "an absent user differs in every row")
    *_, weight, known = m.apart()
    found = coordinates(copies * weight, 2, m.rows, m.scale, f"{weight} of {m.rows} rows differ")
    worst = coordinates(copies * m.rows, 2, m.rows, m.scale, "all rows differ")
    return found if known else Bracket(found, worst)


def _shifts(m: FreshProducts, neighbours: Neighbours) -> tuple[Shifts, Shifts]:
    """Those of a pair of inputs that occurs, and shifts that are, in descending order, at least those of every pair."""
    found = sorted_shifts(m.sums, m.domain, absent=neighbours == ADD_REMOVE)
    pair, most = (Shifts(tuple(each), m.rows, m.scale) for each in found)
    return pair, most


def shuffled(m: JLHeavyHitter | FreshProjections | FreshProducts, users: int) -> Bound | None:
    """Values are words of a linear code, once or once for each value: see `laplace_vectors`. None of products, but of one row."""
    if m.rows > (1 if isinstance(m, FreshProducts) else _ALL_ROWS):
        return None
    first, second, weight, known = m.apart()
    varying, copies = int(np.count_nonzero(m.vectors)), 1 if isinstance(m, JLHeavyHitter) else m.domain
    weight, steps = weight if known else varying, step_between(2, m.rows, m.scale)
    code = LaplaceVectors.of_code(steps, weigh(m.vectors, m.bits), m.domain, varying, (first, second), weight, copies)
    return laplace_vectors.bound(code, users)
