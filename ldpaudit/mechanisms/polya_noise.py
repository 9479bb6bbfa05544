r"""Polya noise on counts: what the shares of discrete Laplace noise add up to, of all who were to add one or of some of them.

Goryczka, Xiong 2015; Ghazi, Kumar, Manurangsi, Pagh 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.shared.parameters import probability

_SHAPE = 1 << 20  # largest shape; with it, and the least 1 - alpha, a noise is about 2**60 and fits 64 bits


@dataclass(frozen=True, slots=True)
class PolyaNoise(CountNoise):
    r"""Counts plus the difference of two independent Polya (negative binomial) numbers.

    Each of the two is j with probability :math:`(1-\alpha)^r \alpha^j\, r (r+1) \cdots (r+j-1) / j!`, r the shape. Sums of such
    noises of one alpha are again of this law, and their shapes add up; shape 1 is discrete Laplace noise. So n clients who each
    add noise of shape 1/n add discrete Laplace noise together, and h of them noise of shape h/n. Numbers are drawn by numpy,
    from floats: the law is right to about 2**-53 of each probability that is not tiny.

    Parameters
    ----------
    alpha : Fraction
        Ratio of the discrete Laplace noise of which these are shares, ``0 < alpha < 1 - 2**-40``.
    shape : Fraction
        The part of that noise that is added: above 0 and at most 2**20; 1 is all of it.

    Examples
    --------
    >>> PolyaNoise(Fraction(1, 2), Fraction(90, 100)).shape
    Fraction(9, 10)
    >>> PolyaNoise(Fraction(1, 2)).of_shares(1, 1000).shape
    Fraction(1, 1000)
    """

    core = "discrete_laplace"
    title = "Polya noise on counts"
    size = ("shape", _SHAPE)

    alpha: Fraction
    shape: Fraction = Fraction(1)
    change: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        probability(self, "alpha", high=1 - Fraction(1, 1 << 40))
        CountNoise.__post_init__(self)

    @property
    def variance(self) -> Fraction:
        return self.shape * 2 * self.alpha / (1 - self.alpha) ** 2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return differences(self.alpha, self.shape, size, rng)

    def of_shares(self, honest: int, designed: int) -> PolyaNoise:
        """The same with the part ``honest / designed`` of the shape."""
        return replace(self, shape=self.shape * honest / designed)


def differences(alpha: Fraction, shape: Fraction | int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Of two independent negative binomial numbers of this shape, shape ``(size,)``."""
    one, other = rng.negative_binomial(float(shape), float(1 - alpha), (2, size))
    return np.asarray(one - other, dtype=np.int64)
