"""Public questions that are answered by a sign, by two, or by a hash: the sign oracle, and the stems that name it their core."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import Bitstogram, ExpanderSketch, Hashtogram, SignOracle, SplitBitstogram, SplitExpanderSketch
from ldpaudit.mechanisms.prefix_extending import PrefixExtending, SignPrefixExtending
from ldpaudit.mechanisms.shared.parameters import odds
from ldpaudit.mechanisms.tree_histogram import HashedAnswers, HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, fair_lie, mutant, no_data, refusals, rounded_up, two_bits
from tests.zoo.local_hashing import the_function_is_chosen_so_that_it_names_the_value

MANY = 1 << 20
NO_DATA = [np.array(data, dtype=np.int64) for data in ([], [0, 5], [-1], [0] * 9)]
SIGNS = SignOracle.for_epsilon(1.0, MANY, domain=100)
QUARTER = SignOracle.for_epsilon(Fraction(1, 4), MANY, domain=1 << 40)
TABLE = Hashtogram.for_epsilon(1.0, MANY, domain=1 << 40)
TREE = TreeHistogram.for_epsilon(1.0, MANY, domain=1 << 64)
SPLIT_TREE = SplitTreeHistogram.for_epsilon(1.0, MANY, domain=1 << 64)
HASHED_TREE = HashedTreeHistogram.for_epsilon(1.0, MANY, domain=1 << 30)
SPELLED = Bitstogram.for_epsilon(1.0, MANY, domain=1 << 64)
SPLIT_SPELLED = SplitBitstogram.for_epsilon(1.0, MANY, domain=1 << 64)
SKETCHED = ExpanderSketch.for_epsilon(1.0, MANY, domain=1 << 64)
SPLIT_SKETCHED = SplitExpanderSketch.for_epsilon(1.0, MANY, domain=1 << 64)


CHOSEN = "the function is chosen so that it names the value"


def the_lie_is_a_fair_sign(m: Any) -> Broken:
    def sample(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        views: NDArray[np.int64] = m.sample(x, size, rng)
        lies = rng.random(size) >= float(m.p)
        views[:, 1] = np.where(lies, 2 * rng.integers(0, 2, size) - 1, m.signs([x], views[:, 0]))
        return views

    return Broken("the lie is a fair sign", m, sample)


def what_is_asked_depends_on_the_value(m: Any, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # In place of on a public coin alone: who holds 0 is asked what the coin says, and others what comes later.
    asked = m.groups(np.arange(MANY >> 8))
    index = int(np.argmax(asked == (int(asked[0]) + x) % (len(m.questions) + 1)))
    views: NDArray[np.int64] = replace(m, index=index).sample(x, size, rng)
    return views


def mistakes_with_two_signs(m: Any) -> tuple[Broken, Broken]:
    def without_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        views: NDArray[np.int64] = m.sample(x, size, rng)
        views[:, 2] = m.signs([x], views[:, 0])[:, 1]
        return views

    return (
        Broken("the last question is answered without a coin", m, without_a_coin),
        broken("each of the two signs spends epsilon", m, p=odds(1), q=odds(1)),
    )


def mutants_of_questions(one: Any, split: Any) -> Iterator[Mutant]:
    yield mutant("the final estimate spends epsilon again", one, p=odds(2))
    yield from (fair_lie(one), rounded_up(one))
    yield mutant("the last question spends epsilon, not its share", split, q=odds(1))
    yield mutant("both coins have two bits", split, p=Fraction(3, 4), q=Fraction(3, 4))


def bits_in_place_of_signs_are_multiplied(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # The noise is a factor, and a 0 stays 0.
    views = SIGNS.sample(x, size, rng)
    views[:, 1] = np.where(SIGNS.signs(x, views[:, 0]) > 0, views[:, 1], -1)
    return views


ZOO = Zoo(
    small=(SignOracle.warm_up(Fraction(1, 4), MANY), SignOracle.for_epsilon(2.5, MANY, domain=7),
           SignOracle(MANY, 12, Fraction(3, 5), seed=4, index=77)),
    at_one=(SIGNS,),
    broken=(
        Broken("1/2 + epsilon is taken for epsilon", QUARTER,  # as the talk's slides read
               SignOracle.with_bias(Fraction(1, 4), MANY, QUARTER.domain).sample),
        the_lie_is_a_fair_sign(SIGNS),
        Broken("bits in place of signs are multiplied", SIGNS, bits_in_place_of_signs_are_multiplied),
    ),
    refused=(
        *refusals("needs", SignOracle(10, 8, Fraction(3, 4)),
                  users=[0], domain=[1, 2**62 + 1], p=[Fraction(1, 2), 1], index=[10], seed=[-1]),
        *no_data("needs", SignOracle(8, 5, Fraction(3, 4)), *NO_DATA),
    ),
    mutants=(
        mutant("1/2 + epsilon/2 for e**epsilon / (1 + e**epsilon)", replace(QUARTER, domain=100), p=Fraction(5, 8)),
        two_bits(SIGNS), fair_lie(SIGNS), rounded_up(SIGNS),
    ),
)  # fmt: skip


def the_coin_moves_to_another_column(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # In place of flipping the sign; what is told there is the truth.
    moved = rng.random(size) >= float(TABLE.p)
    index = np.where(moved, rng.integers(0, MANY, size), TABLE.index)
    return np.stack([index, TABLE.signs(x, index)], axis=-1)


hashtogram = Zoo(
    small=(Hashtogram(MANY, 2, 2, 1, Fraction(3, 4)), Hashtogram(MANY, 23, 4, 3, Fraction(2, 3), seed=5, index=9),
           Hashtogram.for_epsilon(2.5, MANY, domain=16)),
    at_one=(TABLE,),
    broken=(
        broken("the coin has two bits", TABLE, p=Fraction(3, 4)),
        the_lie_is_a_fair_sign(TABLE),
        Broken("the coin moves to another column", TABLE, the_coin_moves_to_another_column),
    ),
    refused=(
        *refusals("needs",
                  Hashtogram(10, 8, 4, 2, Fraction(3, 4)), users=[0], domain=[1, 2**62 + 1], p=[Fraction(1, 2), 1], index=[10],
                  seed=[-1], cells=[3, 1, 16], groups=[0]),
        *no_data("needs", Hashtogram(8, 5, 4, 2, Fraction(3, 4)), *NO_DATA),
    ),
    mutants=(
        two_bits(TABLE), fair_lie(TABLE), rounded_up(TABLE),
        mutant("epsilon is spent on each of two transforms", TABLE, p=odds(2)),
    ),
)  # fmt: skip


def the_lie_may_be_the_truth(m: HashedAnswers, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = m.sample(x, size, rng)
    truth = m.oracle.hash(views[:, 1], views[:, 2], m.cells([x], views[:, 0]))
    views[:, 3] = np.where(rng.random(size) >= float(m.p), rng.integers(0, m.g, size), truth)
    return views


tree_histogram = Zoo(
    small=(TreeHistogram(MANY, 2, 1, Fraction(3, 4)), TreeHistogram(MANY, 23, 2, Fraction(2, 3), seed=5, index=9),
           TreeHistogram.for_epsilon(2.5, MANY, domain=16, width=3, share=Fraction(1, 5)),
           SplitTreeHistogram(MANY, 2, 1, Fraction(3, 4), Fraction(2, 3)),
           SplitTreeHistogram(MANY, 23, 2, Fraction(2, 3), Fraction(3, 5), seed=5, index=9),
           SplitTreeHistogram.for_epsilon(2.5, MANY, domain=16, width=3, share=Fraction(1, 5)),
           HashedTreeHistogram(MANY, 23, 2, 3, Fraction(1, 2), seed=5, index=9)),
    at_one=(TREE, SPLIT_TREE, HASHED_TREE),
    broken=(
        the_lie_is_a_fair_sign(TREE),
        Broken("the level depends on the value", TREE, partial(what_is_asked_depends_on_the_value, TREE)),
        *mistakes_with_two_signs(SPLIT_TREE),
        Broken("the lie may be the truth", HASHED_TREE, partial(the_lie_may_be_the_truth, HASHED_TREE)),
        Broken(CHOSEN, HASHED_TREE, partial(the_function_is_chosen_so_that_it_names_the_value, HASHED_TREE)),
    ),
    refused=(
        *refusals("TreeHistogram needs", TreeHistogram(10, 8, 4, Fraction(3, 4)),
                  width=[0, 25], beta=[0, 1], share=[1], p=[Fraction(1, 2)]),
        *(Refusal("share", partial(kind.for_epsilon, 1, users=10, domain=9, share=share))
          for kind in (TreeHistogram, SplitTreeHistogram) for share in (0, 1, -1, Fraction(3, 2))),
    ),
    mutants=(
        *mutants_of_questions(TREE, SPLIT_TREE),
        mutant("four hash values with the probability for two", HASHED_TREE, p=TREE.p),
    ),
)  # fmt: skip


PEM = PrefixExtending.for_epsilon(1.0, users=MANY, domain=1 << 16, top=16, width=4)
SIGN_PEM = SignPrefixExtending.for_epsilon(1.0, users=MANY, domain=1 << 16, top=16, width=4)
prefix_extending = Zoo(
    small=(PrefixExtending(MANY, 23, 3, 1, 3, Fraction(1, 2), seed=5, index=9), SignPrefixExtending(MANY, 4, 1, 1, Fraction(3, 4)),
           SignPrefixExtending(MANY, 23, 3, 2, Fraction(2, 3), seed=5, index=9)),
    at_one=(PEM, SIGN_PEM),
    broken=(
        Broken("the lie may be the truth", PEM, partial(the_lie_may_be_the_truth, PEM)),
        Broken(CHOSEN, PEM, partial(the_function_is_chosen_so_that_it_names_the_value, PEM)),
        the_lie_is_a_fair_sign(SIGN_PEM),
        Broken("the length depends on the value", SIGN_PEM, partial(what_is_asked_depends_on_the_value, SIGN_PEM)),
    ),
    refused=(
        *refusals("1 <= top", PEM, top=[0]), *refusals("1 <= width", PEM, width=[0, 25]), *refusals("1/4 < p < 1", PEM, p=[1]),
        *refusals("got 16 bits", PEM, top=[1 << 12, 1 << 16]), *refusals("1/2 < p < 1", SIGN_PEM, p=[Fraction(1, 2)]),
    ),
    mutants=(
        fair_lie(SIGN_PEM), mutant("the coin has two bits", SIGN_PEM, p=Fraction(3, 4)),
        mutant("four hash values with the probability for two", PEM, p=SIGN_PEM.p),
    ),
)  # fmt: skip


def coins(draw: st.DrawFn) -> Iterator[Fraction]:
    return (draw(st.fractions(Fraction(9, 16), Fraction(15, 16), max_denominator=16)) for _ in range(2))


@st.composite
def spelled(draw: st.DrawFn) -> Mechanism:
    """Random parameters hardly ever leave a value enough bits for a hash and a symbol."""
    bits, seed = draw(st.integers(5, 9)), draw(st.integers(0, 9))
    sizes = MANY, (1 << bits) - draw(st.integers(0, 3)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 4])), 1
    p, q = coins(draw)
    return draw(st.sampled_from([Bitstogram(*sizes, p, seed=seed), SplitBitstogram(*sizes, p, q, seed=seed)]))


bitstogram = Zoo(
    small=(Bitstogram(MANY, 2, 1, 1, 1, Fraction(3, 4)), Bitstogram(MANY, 250, 2, 4, 2, Fraction(2, 3), seed=5, index=9),
           SplitBitstogram(MANY, 2, 1, 1, 1, Fraction(3, 4), Fraction(2, 3)),
           SplitBitstogram(MANY, 250, 2, 4, 2, Fraction(2, 3), Fraction(3, 5), seed=5, index=9)),
    at_one=(SPELLED, SPLIT_SPELLED),
    broken=(
        the_lie_is_a_fair_sign(SPELLED),
        Broken("the position depends on the value", SPELLED, partial(what_is_asked_depends_on_the_value, SPELLED)),
        *mistakes_with_two_signs(SPLIT_SPELLED),
    ),
    refused=(
        *refusals("Bitstogram needs", Bitstogram(10, 1 << 40, 3, 8, 8, Fraction(3, 4)),
                  rows=[0], cells=[3, 0, 1 << 18], width=[0, 25], beta=[1], share=[0]),
        Refusal("hashes and symbols of fewer bits than a value, got cells=.* with 12 bits",
                lambda: Bitstogram.for_epsilon(1, users=10**6, domain=1 << 12)),
    ),
    mutants=tuple(mutants_of_questions(SPELLED, SPLIT_SPELLED)),
    anywhere=spelled(),
)  # fmt: skip


@st.composite
def sketched(draw: st.DrawFn) -> Mechanism:
    """Random parameters hardly ever leave a value enough bits for a symbol and names."""
    domain, name, seed = draw(st.integers(1 << 22, 1 << 64)), draw(st.integers(0, 4)), draw(st.integers(0, 9))
    p, q = coins(draw)
    coordinates = draw(st.integers(9, 20))
    one = ExpanderSketch(MANY, domain, coordinates, p, name=name, seed=seed)
    return draw(st.sampled_from([one, SplitExpanderSketch(MANY, domain, coordinates, p, q, name=name, seed=seed)]))


expander_sketch = Zoo(
    small=(ExpanderSketch(MANY, 129, 7, Fraction(3, 4), name=0),
           ExpanderSketch(MANY, 130, 9, Fraction(2, 3), name=0, seed=5, index=9),
           SplitExpanderSketch(MANY, 129, 7, Fraction(3, 4), Fraction(2, 3), name=0, seed=5, index=9)),
    at_one=(SKETCHED, SPLIT_SKETCHED),
    broken=(
        the_lie_is_a_fair_sign(SKETCHED),
        Broken("the coordinate depends on the value", SKETCHED, partial(what_is_asked_depends_on_the_value, SKETCHED)),
        *mistakes_with_two_signs(SPLIT_SKETCHED),
    ),
    refused=(
        Refusal("needs domain > 524288 for names of 4 bits, got domain=524288",
                lambda: ExpanderSketch(MANY, 1 << 19, 12, Fraction(3, 4))),
    ),
    mutants=tuple(mutants_of_questions(SKETCHED, SPLIT_SKETCHED)),
    anywhere=sketched(),
)  # fmt: skip
