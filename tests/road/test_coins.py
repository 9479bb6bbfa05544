"""Coins of a secret: what numpy makes of blocks of bytes, each used once, and of the law that numpy's own generators have."""

import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import count, product, repeat
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import samplers
from ldpaudit import mechanisms
from ldpaudit.coins import BLOCK, CryptographicGenerator, Secret, Seeded
from ldpaudit.mechanisms.shared.coins import bernoulli
from tests.helpers import ROOT, raises
from tests.samples import LEVEL, fits

DRAWS = 40_000
"""What a test of a law looks at."""
KEY = Secret(bytes(range(32)))


def numbered(size: int = 4) -> CryptographicGenerator:
    """Of which the words are 0, 1, 2, ..., in the high half, so that they are told apart by their first 32 bits."""
    blocks = (np.arange(i * size, (i + 1) * size, dtype=np.uint64) << np.uint64(32) for i in count())
    return CryptographicGenerator(map(np.ndarray.tobytes, blocks))


def test_no_word_of_a_block_is_used_twice_whoever_asks() -> None:
    rng, seen = numbered(size=64), list[int]()
    for size in (100, 1, 33, 5, 64, 40, 2, 500):
        seen += [int(word) >> 32 for word in rng.integers(0, 1 << 64, size, dtype=np.uint64)]
        seen.append(int(rng.integers(0, 1 << 64, dtype=np.uint64)) >> 32)
        seen += [round(real * 2**32) for real in rng.random(50).tolist()]
        seen.append(round(rng.random() * 2**32))
    assert len(set(seen)) == len(seen)
    assert max(seen) < len(seen) + 3 * 64  # what is left of the last blocks


def test_numbers_are_those_of_the_blocks() -> None:
    content = os.urandom(8 * 600)
    words = np.frombuffer(content, dtype=np.uint64)
    drawn: list[tuple[Callable[[Any], Any], list[Any]]] = [
        (lambda rng: rng.integers(0, 1 << 64, 600, dtype=np.uint64), words.tolist()),
        (lambda rng: [int(rng.integers(0, 1 << 64, dtype=np.uint64)) for _ in range(600)], words.tolist()),
        (lambda rng: rng.integers(0, 1 << 5, 600), [word >> 59 for word in words.tolist()]),
        (lambda rng: rng.random(600), [(word >> 11) / 2**53 for word in words.tolist()]),
        (lambda rng: [rng.random() for _ in range(600)], [(word >> 11) / 2**53 for word in words.tolist()]),
        (lambda rng: rng.integers(0, 1, 600), [0] * 600),
    ]
    for draw, wanted in drawn:
        assert list(draw(CryptographicGenerator(iter([content] * 2)))) == wanted
    # Three quarters of a range of powers of two: what is too large is drawn again, from the words that follow.
    kept = [word >> 62 for word in words.tolist()]
    again = iter(word >> 62 for word in words.tolist()[40:])
    wanted = [each if each < 3 else next(number for number in again if number < 3) for each in kept[:40]]
    found = CryptographicGenerator(iter([content])).integers(0, 3, 40).tolist()
    assert sorted(found) == sorted(wanted)
    assert [x for x, y in zip(found, kept, strict=False) if y < 3] == [y for y in kept[:40] if y < 3]


LAWS: dict[str, tuple[Callable[[np.random.Generator], Any], Any]] = {
    "whole numbers": (lambda rng: rng.integers(0, 7, DRAWS), stats.randint(0, 7)),
    "one by one": (lambda rng: [rng.integers(0, 7) for _ in range(DRAWS // 10)], stats.randint(0, 7)),
    "from above 0": (lambda rng: rng.integers(3, 10, DRAWS), stats.randint(3, 10)),
    "few bits": (lambda rng: rng.integers(0, 9, DRAWS, dtype=np.uint8), stats.randint(0, 9)),
    "coins": (lambda rng: bernoulli(Fraction(1, 3), DRAWS, rng), stats.bernoulli(1 / 3)),
    "binomial": (lambda rng: rng.binomial(10, 0.3, DRAWS), stats.binom(10, 0.3)),
    "large binomial": (lambda rng: rng.binomial(100, 0.4, DRAWS), stats.binom(100, 0.4)),
    "multinomial": (lambda rng: rng.multinomial(9, [0.2, 0.3, 0.5], DRAWS)[:, 1], stats.binom(9, 0.3)),
    "hypergeometric": (lambda rng: rng.hypergeometric(9, 11, 6, DRAWS), stats.hypergeom(20, 9, 6)),
    "choice": (lambda rng: rng.choice(20, (DRAWS,), p=[1 / 20] * 20), stats.randint(0, 20)),
}


@pytest.mark.parametrize("name", LAWS)
def test_counts_have_the_law_that_they_have_with_numpy_s_own_generators(name: str) -> None:
    draw, law = LAWS[name]
    drawn = np.asarray(draw(KEY.generator())).astype(int).tolist()
    assert fits(Counter(drawn), {z: law.pmf(z) for z in range(max(drawn) + 1)})


def test_reals_have_their_law_too() -> None:
    rng = KEY.generator()
    for drawn, law in ((rng.random(DRAWS), stats.uniform), (rng.laplace(size=DRAWS), stats.laplace),
                       (rng.standard_gamma(2, DRAWS), stats.gamma(2))):  # fmt: skip
        assert stats.kstest(drawn, law.cdf).pvalue > LEVEL


class Scripted:
    """A generator whose draws are these bytes."""

    def __init__(self, *draws: Iterable[int]) -> None:
        self.draws = iter(draws)

    def integers(self, low: int, high: int, size: int, dtype: Any) -> Any:
        drawn = bytes(next(self.draws))
        return np.frombuffer(drawn.ljust(8 * size, bytes(1)), dtype=dtype)


@pytest.mark.parametrize("digits", [(3, 7, 200), (85, 0, 1), (0, 255, 255)])
def test_a_coin_is_compared_with_its_probability_digit_by_digit(digits: tuple[int, int, int]) -> None:
    p, (first, second, third) = Fraction(int.from_bytes(bytes(digits), "big"), 1 << 24), digits
    for rest in product({0, second, min(second + 1, 255), 255}, {0, max(third - 1, 0), third, 255}):
        rng: Any = Scripted(range(256), *([each] for each in rest))
        assert np.count_nonzero(bernoulli(p, 256, rng)) == first + (rest < (second, third))


def test_a_secret_gives_the_same_coins_again_and_other_ones_at_each_other_place() -> None:
    places: list[Any] = [KEY, KEY.at(0), KEY.at(1), KEY.at(1, 0), KEY.at(1).at(0), KEY.at(10), Secret.fresh(), Secret.fresh()]
    drawn = [tuple(each.generator().integers(0, 1 << 63, 64).tolist()) for each in places]
    assert len(set(drawn)) == len(places)
    assert drawn[0] == tuple(Secret(KEY.key).generator().integers(0, 1 << 63, 64).tolist())
    many = Secret.fresh().generator().integers(0, 1 << 63, 3 * BLOCK // 8)
    assert len(set(many.tolist())) == len(many), "each block is another"


def test_a_place_s_key_says_nothing_of_the_run_s_and_numpy_s_seeds_and_refusals_are_kept() -> None:
    assert KEY.key not in pickle.dumps(KEY.at(1, 2, 3))
    assert "key" not in repr(KEY)
    raises(ValueError, "a secret needs 32 bytes, got 3", Secret, b"abc")
    expected = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(1, 2))).random(5)
    assert Seeded(7).at(1).at(2).generator().random(5).tolist() == expected.tolist()
    for low, high, kind in ((0, 0, np.int64), (0, (1 << 63) + 1, np.int64), (0, -3, np.int64), (5, 5, np.int64)):
        raises(ValueError, r"low|high", KEY.generator().integers, low, high, 100, dtype=kind)


@pytest.mark.few(1)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("rng", [Secret.fresh().generator(), CryptographicGenerator(map(os.urandom, repeat(64)))],
                         ids=["a secret's", "the system's"])  # fmt: skip
def test_a_signal_in_the_middle_of_a_draw_spoils_no_number(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped, fired = list[Any](), list[int]()
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)

    def handler(*_: Any) -> None:
        fired.append(1)
        raise KeyboardInterrupt

    def drawn() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        rng.standard_normal(3 * 10**5)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(10):
            raises(KeyboardInterrupt, "", drawn)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(fired) == 10
    assert not dropped


table = cache(samplers.page)


def test_the_page_on_security_says_what_each_mechanism_draws() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    assert "\n".join(table()) in page, "python -m benchmarks.samplers prints the table"
    shown = " ".join(table())
    for stem in mechanisms.stems():
        for kind in mechanisms.classes(stem).values():
            assert f"`{kind.__name__}`" in shown, kind


def test_a_way_to_run_that_draws_a_float_is_not_called_exact() -> None:
    assert samplers.drawn(lambda rng: rng.integers(0, 5, 3)) == samplers.drawn(lambda rng: rng.choice(5, 2)) == "exact"
    assert samplers.drawn(lambda rng: (rng.integers(5), rng.choice(2, p=[0.5, 0.5]))) == "random"
    assert samplers.drawn(lambda rng: rng.laplace()) == "laplace"
    raises(ValueError, "whole or float, got standard_normal", samplers.drawn, lambda rng: rng.standard_normal())
