"""Theorem: Laplace noise of scale b is epsilon-LDP exactly for epsilon >= (high - low)/b on one number in [low, high].

On the indicator of a value it is epsilon-LDP exactly for epsilon >= 2/b for replace-one, and >= 1/b for add-remove.
The loss at a view y is ``(|y - x'| - |y - x|)/b``; it is bounded wherever y lies, by the triangle inequality case by case.
"""

from __future__ import annotations

from typing import Any

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    return number(), histogram("replace-one", 2), histogram("add-remove", 1)


def number() -> Theorem:
    """One number."""
    t = Theorem(mechanism="Laplace", sentence="Laplace noise of scale b on a number in [low, high]")
    t.assume("the densities at y have the log-ratio (|y - x'| - |y - x|)/b; the release is a real number")
    (b, width), (part,) = t.positive("b", "width"), t.share("apart")
    b_field, width_field = t.parameter("scale"), t.parameter("sensitivity")
    t.parametrize({"scale": b, "sensitivity": width}, {b: b_field, width: width_field})
    distance = part * width
    t.at_most(distance, width, "two inputs in [low, high]")
    t.loses(width_field / b_field, b, 0, distance, at={part: 1})
    t.attained("at y <= low, by the inputs low and high")
    return t


def histogram(relation: str, coordinates: int) -> Theorem:
    """An indicator, of which `coordinates` differ by 1."""
    t = Theorem(mechanism="LaplaceHistogram", sentence="Laplace noise of scale b on a histogram", relation=relation)
    t.assume("the densities at y have the log-ratio (|y - x'| - |y - x|)/b; the release is a row of real numbers")
    t.assume(f"neighbouring indicators differ in {coordinates} of their coordinates, by 1; the noises are independent")
    (b,), b_field = t.positive("b"), t.parameter("scale")
    t.parametrize({"scale": b}, {b: b_field})
    t.loses(1 / b_field, b, 0, 1, times=coordinates)
    t.attained("by all coordinates at once")
    return t


def gaussian_report() -> tuple[Lemma, ...]:
    """Of Gaussian noise on one number, which has no epsilon at delta = 0."""
    t = Lemma(sentence="under Gaussian noise on a number, the loss of two inputs is linear in the distance from their middle")
    t.assume("the log-likelihood of a noise z is -z**2/(2 s) and a constant; the release is a real number")
    (s, width), (y, low) = t.positive("s", "width"), t.nonnegative("y", "low")
    high = low + width
    t.equal(((y - high) ** 2 - (y - low) ** 2) / (2 * s), -width / s * (y - (low + high) / 2), "two squares")
    return (t,)


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as: a number that differs by `change` scales, or two, where a value is replaced.

    None of Gaussian noise.
    """
    if type(m).__name__ == "GaussianReport":
        return None
    if not m.variant:
        return {"word": "laplace", "change": str(m.sensitivity / m.scale)} if relation == "replace-one" else None
    one = {"word": "laplace", "change": str(1 / m.scale)}
    return {"word": "compose", "of": [one, one]} if relation == "replace-one" else one
