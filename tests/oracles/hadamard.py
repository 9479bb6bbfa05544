"""Shuffled Hadamard response, line by line: all multisets of messages, for data sets of a few users."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import compositions
from tests.oracles.shuffle import law_of

Multiset = tuple[int, ...]
"""How many messages there are of each tuple of indices."""


class Oracle:
    """All laws at once: messages are tuples of `tau` indices below ``2 * domain``; element e is row e of the matrix."""

    def __init__(self, domain: int, tau: int) -> None:
        self.tuples = list(product(range(2 * domain), repeat=tau))
        self.codewords = {
            e: [i for i, t in enumerate(self.tuples) if all((z & e).bit_count() % 2 == 0 for z in t)]
            for e in range(1, 2 * domain)
        }

    def blanket(self, number: int) -> dict[Multiset, Fraction]:
        total = len(self.tuples) ** number
        return {
            counts: Fraction(math.factorial(number), math.prod(map(math.factorial, counts)) * total)
            for counts in compositions(number, len(self.tuples))
        }

    def plus(self, law: dict[Multiset, Fraction], element: int) -> dict[Multiset, Fraction]:
        codeword = self.codewords[element]
        every = ((counts, i, weight / len(codeword)) for counts, weight in law.items() for i in codeword)
        return law_of(((*counts[:i], counts[i] + 1, *counts[i + 1 :]), p) for counts, i, p in every)

    def pair(self, number: int, others: Sequence[int], first: Sequence[int], second: Sequence[int]) -> FiniteProfile:
        """Profile of two data sets: so many blanket messages, the others' elements, and user 1's."""
        law = self.blanket(number)
        for e in others:
            law = self.plus(law, e)
        laws = []
        for own in (first, second):
            found = law
            for e in own:
                found = self.plus(found, e)
            laws.append(found)
        views = set(laws[0]) | set(laws[1])
        atoms = [(laws[0].get(v, Fraction(0)), laws[1].get(v, Fraction(0))) for v in views]
        return FiniteProfile((ExactPLD.of(atoms), ExactPLD.of((q, p) for p, q in atoms)), "all multisets")
