"""What GenProt costs."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod
from typing import TypeAlias

import flint
import numpy as np

from ldpaudit.accountants.numerics.rationals import fraction, rational
from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.genprot import GenProt, GenProtBit
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_MOST_WORK = 1 << 17
"""Choices of the public draws, up to their order and to what both inputs answer alike, times the squared number of draws, for
which all laws are computed: at most a few seconds."""
_MOST_RATIOS = 1 << 19
"""Draws, over all pairs of inputs, whose answers are compared: some seconds."""

Kind: TypeAlias = tuple[Fraction, Fraction]
"""What two inputs answer to a draw: their probabilities of accepting it."""
Kinds: TypeAlias = tuple[tuple[Kind, Fraction], ...]
"""Of two inputs, every kind of draw and its public probability."""


def profile(m: GenProt | GenProtBit, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of either form, with public draws that nobody chose; see `one_of_many` and `one_bit`."""
    return one_of_many(m) if isinstance(m, GenProt) else one_bit(m)


def one_of_many(m: GenProt) -> PrivacyProfile:
    r"""Profile of GenProt, whatever its base is: exact where all draws are listed.

    .. math:: P[g = t \mid y, x] = p_t\, E\Bigl[\frac{1}{1 + S_t}\Bigr] + (1 - p_t) \prod_{s \ne t} (1 - p_s) / T

    where :math:`S_t` counts the other draws that are accepted. The draws are fresh, and seen, as in `GenProt.law`;
    `worst_draws` is for whoever lets somebody choose them. Tight. The law depends on draws by what the two inputs answer to
    them, their kinds, so all multisets of kinds are listed. Where these are too many, the lower end is that of draws which are
    all of one kind but one, and the upper end `box`; at delta = 0 these often meet. Source: Bun, Nelson, Stemmer 2018, whose
    claim is 10 epsilon. Proof: proofs/genprot.py, of `box`.

    ``m``: any. Returns in nats. Rigour EXACT where all kinds are listed or both ends meet, else INTERVAL. Raises
    Unsupported where the base has too many inputs and outputs.
    """
    pairs = kinds_of(m)
    if (laws := _choices(m, pairs)) is None:
        return _between(m, pairs)
    return _fresh((_listed(kinds, m.slots) for kinds in pairs), f"GenProt: {laws} choices of the public draws, listed")


def one_bit(m: GenProtBit) -> FiniteProfile:
    r"""Profile of the one-bit form: exact.

    .. math:: \varepsilon(0) = \max_{y, x, x'} \max\Bigl(\log\frac{p_x(y)}{p_{x'}(y)},\,
              \log\frac{1 - p_x(y)}{1 - p_{x'}(y)}\Bigr)

    Of fresh public draws, as `one_of_many`. Tight. Source: Bassily, Smith 2015. Proof: proofs/genprot.py, of the largest value
    over probabilities in a range.

    ``m``: any. Returns in nats. Rigour EXACT. Raises Unsupported where the base has too many inputs and outputs.
    """
    return _fresh(map(_answers, kinds_of(m)), "GenProt, one bit: all public draws, listed")


def worst_draws(m: GenProt | GenProtBit) -> FiniteProfile:
    """Profile of either form for whoever may choose the public draws: exact, and that of `profile` at delta = 0.

    ``m``: any whose draws `profile` lists. Returns in nats. Rigour EXACT. Raises Unsupported where there are too many draws.
    """
    if isinstance(m, GenProtBit):
        given = [atoms for kinds in kinds_of(m) for _, atoms in _answers(kinds)]
    else:
        pairs = kinds_of(m)
        if _choices(m, pairs) is None:
            raise Unsupported(m, "its public draws are too many to look for the worst")
        given = [atoms for kinds in pairs for _, atoms in _listed(kinds, m.slots)]
    worst = dict.fromkeys(each for atoms in given for each in both_directions(atoms))
    return FiniteProfile(tuple(worst), "GenProt: the worst draws")


def _choices(m: GenProt, pairs: Sequence[Kinds]) -> int | None:
    """How many multisets of kinds there are; None where they are too many to list."""
    laws = sum(comb(m.slots + len(kinds) - 1, m.slots) for kinds in pairs)
    return None if laws * m.slots**2 > _MOST_WORK else laws


def _fresh(pairs: Iterable[Iterable[tuple[Fraction, list[Atom]]]], source: str) -> FiniteProfile:
    """Of every pair of inputs: the draws' public probabilities, and what is sent on them."""
    laws = ([(drawn * p, drawn * q) for drawn, given in listed for p, q in given] for listed in pairs)
    return FiniteProfile(tuple(each for atoms in laws for each in both_directions(atoms)), source, all_pairs=True)


def _answers(kinds: Kinds) -> Iterator[tuple[Fraction, list[Atom]]]:
    """For every kind: its public probability, and the bit on the two inputs."""
    return ((drawn, [(p, q), (1 - p, 1 - q)]) for (p, q), drawn in kinds)


def kinds_of(m: GenProt | GenProtBit) -> tuple[Kinds, ...]:
    """Kinds of draws, for every pair of inputs; pairs to which draws are alike are one.

    Raises Unsupported where there are too many to compare.
    """
    table = m.table
    inputs = list(table.accepted)
    if len(inputs) ** 2 * len(table.outputs) > _MOST_RATIOS:
        found = f"{len(inputs)} inputs and {len(table.outputs)} outputs"
        raise Unsupported(m, f"its base has {found}, and {_MOST_RATIOS} answers are compared")
    pairs: dict[frozenset[tuple[Kind, Fraction]], None] = {}
    for x, other in combinations(inputs, 2):
        there: dict[Kind, Fraction] = {}
        for q, kind in zip(table.public, zip(table.accepted[x], table.accepted[other], strict=True), strict=True):
            there[kind] = there.get(kind, Fraction(0)) + q
        pairs[frozenset(there.items())] = None
    return tuple(tuple(sorted(pair)) for pair in pairs)


def _listed(kinds: Kinds, slots: int) -> Iterator[tuple[Fraction, list[Atom]]]:
    """For every multiset of kinds: its public probability, and what each kind in it sends on the two inputs."""
    for drawn in combinations_with_replacement(range(len(kinds)), slots):
        counts = {i: drawn.count(i) for i in dict.fromkeys(drawn)}
        orders = Fraction(factorial(slots), prod(map(factorial, counts.values())))
        atoms = []
        for i, times in counts.items():
            others = [(kinds[j][0], n - (j == i)) for j, n in counts.items()]
            p, q = (position(kinds[i][0][side], [(each[side], n) for each, n in others]) for side in (0, 1))
            atoms.append((times * p, times * q))
        yield orders * prod((kinds[i][1] ** n for i, n in counts.items()), start=Fraction(1)), atoms


def position(own: Fraction, others: Sequence[tuple[Fraction, int]]) -> Fraction:
    r"""Exact probability that a position is sent, of its draw's probability to be accepted and those of the others, with numbers.

    .. math:: E\Bigl[\frac{1}{1 + S}\Bigr] = \int_0^1 \prod_s (1 - p_s + p_s z)\, dz
    """
    generating = flint.fmpq_poly([1])
    for p, times in others:
        generating *= flint.fmpq_poly([rational(1 - p), rational(p)]) ** times
    slots = 1 + sum(times for _, times in others)
    found = rational(own) * generating.integral()(1) + rational(1 - own) * generating(0) / slots
    return fraction(found)


def box(low: Fraction, high: Fraction, slots: int) -> Fraction:
    r"""Largest ratio of any position's probabilities, where all draws are accepted with probabilities from `low` to `high`.

    .. math:: \frac{s + (1 - s) r}{l + (1 - l) / r}, \qquad r = \frac{high}{low}, \quad s = (1 - low)^{T-1},
              \quad l = (1 - high)^{T-1}

    The probability of a position increases with that of its own draw and decreases with every other, so the largest has
    (high; low, ..., low) and the smallest (low; high, ..., high). Tight where draws of the kinds (high, low) and (low, high)
    occur. It rises with T to r squared. Proof: proofs/genprot.py.
    """
    ratio, silent = high / low, (1 - low) ** (slots - 1)
    loud = (1 - high) ** (slots - 1)
    return (silent + (1 - silent) * ratio) / (loud + (1 - loud) / ratio)


def _between(m: GenProt, pairs: Sequence[Kinds]) -> Bracket:
    """From draws of one kind but for one, all other views taken together, to all probabilities in the range that occurs."""
    views = [_one_kind(*_farthest(kinds, m.slots), m.slots) for kinds in pairs]
    shown = [pair for p, q in views for pair in both_directions([(p, q), (1 - p, 1 - q)])]
    ratio = box(m.lowest, m.highest, m.slots)
    most = both_directions([(ratio / (1 + ratio), 1 / (1 + ratio)), (1 / (1 + ratio), ratio / (1 + ratio))])
    meet = ratio == max(max(p / q, q / p) for p, q in views)
    source = "GenProt: all probabilities in the range that occurs"
    low = FiniteProfile(tuple(shown), source if meet else "GenProt: draws of one kind but for one")
    return Bracket(low, FiniteProfile(most, source, Rigour.EXACT if meet else Rigour.INTERVAL))


def _farthest(kinds: Kinds, slots: int) -> tuple[tuple[Kind, Fraction], tuple[Kind, Fraction]]:
    """The kind of one draw, and that of all others, which floats find to differ most: any two are a lower bound."""
    answers = np.array([[float(p) for p in kind] for kind, _ in kinds])
    own, rest = answers[:, None, :], answers[None, :, :]
    silent = (1 - rest) ** (slots - 1)
    chance = own * (1 - (1 - rest) * silent) / rest + (1 - own) * silent
    i, j = np.unravel_index(np.abs(np.log(chance[..., 0] / chance[..., 1])).argmax(), (len(kinds), len(kinds)))
    return kinds[int(i)], kinds[int(j)]


def _one_kind(own: tuple[Kind, Fraction], rest: tuple[Kind, Fraction], slots: int) -> Atom:
    """The view whose first draw is of one kind and sent, and whose others are all of another kind, on the two inputs."""
    drawn = own[1] * rest[1] ** (slots - 1)
    p, q = (beside_equals(own[0][side], rest[0][side], slots) for side in (0, 1))
    return drawn * p, drawn * q


def beside_equals(own: Fraction, rest: Fraction, slots: int) -> Fraction:
    r"""As `position`, where all others are accepted with the same probability: :math:`E[1/(1+S)] = (1 - (1-p)^T)/(T p)`."""
    silent = (1 - rest) ** (slots - 1)
    return (own * (1 - (1 - rest) * silent) / rest + (1 - own) * silent) / slots
