"""The law of what a client draws from bytes is the law that is certified, exactly."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO
from itertools import product
from typing import Any

import pytest

from ldpaudit import Unsupported, mechanisms
from ldpaudit.clients.randomness import Randomness
from ldpaudit.clients.samplers import SAMPLERS, report
from ldpaudit.mechanism import Mechanism, View
from ldpaudit.mechanisms import HadamardResponse, LocalHashing, Loloha, LongitudinalUnary, PermanentRappor, Rappor, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.one_bit import DBitFlip, PerturbedDBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.helpers import raises

P, Q = Fraction(5, 7), Fraction(2, 9)
SMALL = (
    KaryRandomizedResponse(2, P),
    KaryRandomizedResponse(5, P),
    UnaryEncoding(4, P, Q),
    Rappor(4, 2, Fraction(1, 3), Q, P, domain=9),
    Rappor(3, 2, Fraction(1, 3), Q, P, reports=2, domain=5),
    PermanentRappor(4, 2, Fraction(0), domain=9),
    PermanentRappor(4, 2, Fraction(1, 3), domain=9),
    LongitudinalUnary(2, P, Q, Fraction(3, 4), Fraction(1, 5), reports=2),
    LongitudinalUnary.optimized(1, 3),
    LocalHashing(2, P, domain=3, prime=3),
    LocalHashing(4, P, domain=4, prime=5),
    Loloha(3, P, Fraction(3, 4), domain=3, prime=3, reports=2),
    HadamardResponse(2, P),
    HadamardResponse(6, P),
    CountMeanSketch(3, 2, P, domain=5),
    HadamardCountMeanSketch(4, 3, P, domain=5),
    DBitFlip(4, 1, P),
    DBitFlip(4, 3, P),
    DBitFlip(3, 3, P),
    PerturbedDBitFlip(3, 2, P, Q, reports=2),
)


class Branch(Randomness):
    """Follows the choices that it is given, and the first ones after them; notes the probability, and what else there was."""

    def __init__(self, choices: tuple[int, ...]) -> None:
        self.left, self.chance = list(choices), Fraction(1)
        self.taken: tuple[int, ...] = ()
        self.others: list[tuple[int, ...]] = []

    def choose(self, chances: list[Fraction]) -> int:
        if self.left:
            chosen = self.left.pop(0)
        else:
            chosen = 0
            self.others += [(*self.taken, other) for other in range(1, len(chances))]
        self.taken = (*self.taken, chosen)
        self.chance *= chances[chosen]
        return chosen

    def uniform(self, n: int) -> int:
        return self.choose([Fraction(1, n)] * n)

    def coin(self, p: Fraction) -> bool:
        return self.choose([1 - p, p]) == 1


def law(m: Mechanism, x: Any) -> dict[View, Fraction]:
    """The law of the reports on an input, by every branch of the decision tree."""
    found: dict[View, Fraction] = {}
    left: list[tuple[int, ...]] = [()]
    while left:
        branch = Branch(left.pop())
        view = report(m, x, branch)
        found[view] = found.get(view, Fraction(0)) + branch.chance
        left += branch.others
    return {view: chance for view, chance in found.items() if chance}


def inputs(m: Mechanism) -> Iterator[Any]:
    yield from m.inputs
    if any(relation.kind == "add-remove" for relation in m.relations):
        yield None


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_a_clients_law_is_exactly_the_certified_one(m: Mechanism) -> None:
    for x in inputs(m):
        assert law(m, x) == {view: chance for view, chance in m.law(x).items() if chance}


def test_a_mechanism_without_a_client_and_what_is_no_input_are_refused() -> None:
    assert {type(m) for m in SMALL} == set(SAMPLERS)
    with pytest.raises(Unsupported, match="no test vectors; there are such of k-ary randomized response, unary encoding"):
        report(mechanisms.DiscreteLaplace(Fraction(1, 2), (1,)), (0,), Randomness())
    raises(ValueError, "needs an input among", report, KaryRandomizedResponse(2, P), 2, Randomness())


def drawn(number: int, draw: Any) -> list[tuple[Any, int]]:
    """What all sequences of this many bytes give, and how many of them each takes; those that are too short are left out."""
    found = []
    for given in product(range(256), repeat=number):
        left = list(given)
        try:
            value = draw(Randomness(lambda n, left=left: bytes(left.pop(0) for _ in range(n))))  # type: ignore[misc]
        except IndexError:
            continue
        found.append((value, number - len(left)))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 5, 200, 256])
def test_numbers_from_all_bytes_are_uniform_and_those_that_are_too_large_are_drawn_again(n: int) -> None:
    found = drawn(1, lambda source: source.uniform(n))
    each = 256 >> (n - 1).bit_length() if n > 1 else 256
    assert Counter(value for value, _ in found) == dict.fromkeys(range(n), each)
    assert {taken for _, taken in found} == {int(n > 1)}


def test_what_is_certain_takes_no_byte_a_large_number_several_and_the_system_s_are_the_default() -> None:
    assert Randomness(BytesIO(b"\xfd\x2b").read).uniform(300) == 0x12B
    assert Randomness(lambda n: b"\xff" * n).uniform(1 << 64) == (1 << 64) - 1
    none = Randomness(lambda n: b"")
    assert (none.coin(Fraction(1)), none.coin(Fraction(0)), none.uniform(1)) == (True, False, 0)
    assert drawn(1, lambda source: source.coin(Fraction(1, 2))) == [(byte < 128, 1) for byte in range(256)]
    m = KaryRandomizedResponse(1 << 64, Fraction(1, 1 << 64))
    assert report(m, 0, Randomness()) != report(m, 0, Randomness())


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(255, 256), Fraction(1, 65536), Fraction(3, 7)])
def test_the_coins_of_all_pairs_of_bytes_that_decide_are_as_likely_as_the_probability(p: Fraction) -> None:
    found = drawn(2, lambda source: source.coin(p))
    heads = sum(value for value, _ in found)
    assert heads == int(p * 256**2), "all pairs of bytes below the probability, and no other"
    undecided = 256**2 - len(found)
    assert undecided == (0 if (p * 256**2).denominator == 1 else 1), "the one pair that equals its digits"
