"""Callables that a user might hand over by mistake."""

import os
import sys
import threading
import time
from typing import Any

import numpy as np

from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

_RNG = np.random.default_rng(1)


def fair(x: int) -> int:
    """Randomized response at epsilon = log 3, as plain code."""
    return x if _RNG.random() < 0.75 else 1 - x


def plain_noise(x: float, size: int, rng: np.random.Generator) -> Any:
    """Laplace noise of epsilon 1 on a number from 0 to 1, as floats have it."""
    return x + rng.laplace(size=size)


def hashed(x: int) -> tuple[int, int]:
    """A seed, and a report of epsilon log 3 that only who hashes the seed can read."""
    seed = int(_RNG.integers(1 << 40))
    return seed, fair(x) ^ (seed * 0x9E3779B97F4A7C15 >> 60) % 2


def raises(x: int) -> int:
    raise RuntimeError("the disk is\nfull")


def chatty(x: int) -> int:
    print("debug", x)
    return fair(x)


def ends(x: int) -> int:
    sys.exit(0)


def exits(x: int) -> int:
    os._exit(0)


def sleeps(x: int, size: int, rng: np.random.Generator) -> Any:
    time.sleep(600)


def returns_nothing(x: int) -> None:
    return None


def hangs(x: int) -> int:
    threading.Event().wait()
    return x


def wrong_type(x: int) -> Any:
    return object()


def identity(x: int) -> int:
    return x


def constant(x: int) -> int:
    return 0


def one_hot(x: int) -> list[int]:
    """A bit for each value, without noise."""
    return [int(x == i) for i in range(2)]


class Sum:
    """A system that counts ones, with coins of this many users."""

    def __init__(self, coins: int) -> None:
        self.coins = coins

    def run(self, data: list[int], rng: np.random.Generator) -> Any:
        """The number of ones."""
        return np.array([sum(data) + rng.binomial(self.coins, 0.5) - self.coins / 2])


silent_sum, noisy_sum = Sum(0), Sum(1000)


REPORT = KaryRandomizedResponse.for_epsilon(1, k=4)
"""A mechanism, for what takes callables."""


class Client:
    """As other libraries have them; without any noise."""

    def privatise(self, x: int) -> int:
        return x


CLIENT = Client()


def everybody(users: list[Any]) -> list[Any]:
    """A system that tells what everybody holds."""
    return users
