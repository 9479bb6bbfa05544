"""What the Bucket mechanism costs."""

from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling import laplace_vectors
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors
from ldpaudit.core.number import brief
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import weigh
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: BucketHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's view of the Bucket mechanism, its public vectors known.

    .. math:: \delta(\varepsilon) = \delta_{D, 1/b}(\varepsilon), \qquad \varepsilon(0) = \frac Db, \qquad
              D = \max_{d \ne 0} \#\{k : \langle r_k, d \rangle = 1\}

    with the profile :math:`\delta_{D, s}` of D Laplace coordinates shifted by s scales each (`composition.laplace_vector`).
    Two values' bits differ, by 1, where those of x xor x' are 1, so that replace-one has sensitivity 1 a coordinate, as
    has add-remove, where d runs over the values themselves. Where N is a power of two the two relations cost the same:
    an absent user looks like the value 0. D is the largest weight of a linear code: with up to 22 bits a value all
    words are weighed; beyond, D lies between the heaviest found and all ``trials * rows`` coordinates, which is what
    the worst public vectors cost. Tight for real numbers. Source: Hsu, Khanna, Roth 2012, Theorem 4.3,
    for an upper bound. Proof: proofs/bucket_heavy_hitter.py, of epsilon(0) <= rows * trials / b.

    ``m``: ``scale > 0``, as its constructor ensures; ``neighbours``: replace-one or add-remove. Returns in nats.
    Rigour EXACT where ``domain <= 2**22``, else INTERVAL.
    """
    *_, weight, known = m.apart(present=neighbours == ADD_REMOVE)
    source = f"{{}} Laplace coordinates shifted by 1/{brief(m.scale)} scales each"
    if known:
        return LaplaceCoordinates(weight, 1 / m.scale, source.format(weight))
    return Bracket(
        LaplaceCoordinates(weight, 1 / m.scale, source.format(weight), Rigour.INTERVAL),
        LaplaceCoordinates(m.coordinates, 1 / m.scale, source.format(m.coordinates), Rigour.INTERVAL),
    )


def shuffled(m: BucketHeavyHitter, users: int) -> Bound | None:
    """Values are words of a linear code: see `laplace_vectors`."""
    first, second, weight, known = m.apart()
    pair, weight = (first, second or 0), weight if known else m.coordinates
    code = LaplaceVectors.of_code((1 / m.scale,) * 2, weigh(m.vectors, m.bits), m.domain, m.coordinates, pair, weight)
    return laplace_vectors.bound(code, users)
