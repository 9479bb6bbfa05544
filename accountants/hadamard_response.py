"""What Hadamard response costs."""

from fractions import Fraction

from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, Pattern, independent
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: HadamardResponse, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of Hadamard response.

    .. math:: \delta(\varepsilon) = \tfrac12 \bigl(p - e^\varepsilon (1-p)\bigr)_+,
              \qquad \varepsilon(0) = \log \frac{p}{1-p}

    Tight, for every pair of inputs: attained on the event {row x + 1 is +1 at y, row x' + 1 is -1}. Two rows of the
    matrix that are not constant agree on half of the columns, so that half of either law is common to both.
    Source: Acharya, Sun, Zhang 2019. Proof: proofs/hadamard_response.py.

    ``m``: ``k >= 2`` and ``1/2 <= p < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats.
    Rigour EXACT at every epsilon.
    """
    # The half of the columns on which the two rows agree has likelihood ratio 1 and never counts.
    atoms = [(m.p / 2, (1 - m.p) / 2), ((1 - m.p) / 2, m.p / 2)]
    return FiniteProfile(both_directions(atoms), "Hadamard response: log(p/(1-p)), attained where the two rows differ")


def shuffled(m: HadamardResponse, users: int) -> Bound:
    """Matched laws: the base is a uniform column of the matrix, which matches x where row x + 1 is +1.

    Rows 1 and 2 are independent, and row 3 is their product: of all third values, the one that hides least. Any other third row is
    independent of both.
    """
    pairs, triples = (independent((Fraction(1, 2), Fraction(1, 2)), size) for size in (2, 3))
    related: dict[Pattern, Fraction] = {(a, b, int(a == b)): w for (a, b), w in pairs.items()}
    patterns, choices = (pairs, ()) if m.k == 2 else (related, (triples,))
    return MatchedLaws.of(m.inputs, patterns, {1: 2 * m.p, 0: 2 * (1 - m.p)}, choices).bound(users)
