"""The difference of two Polya numbers, in rationals."""

from fractions import Fraction

F = Fraction


def polya(alpha: Fraction, shape: Fraction, most: int) -> list[Fraction]:
    """P[X = 0], ..., P[X = most] but for their common factor, from the convolution of two negative binomial laws in rationals.

    Terms below ``alpha**(2 * 150)`` are left out.
    """
    p = [F(1)]
    for j in range(most + 150):
        p.append(p[-1] * alpha * (j + shape) / (j + 1))
    return [sum((p[j] * p[j + k] for j in range(150)), F(0)) for k in range(most + 1)]
