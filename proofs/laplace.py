"""Theorem: Laplace noise of scale b is epsilon-LDP exactly for epsilon >= (high - low)/b on one number in [low, high].

On the indicator of a value it is epsilon-LDP exactly for epsilon >= 2/b for replace-one, and >= 1/b for add-remove.
The loss at a view y is ``(|y - x'| - |y - x|)/b``; it is bounded wherever y lies, by the triangle inequality case by case.
"""

from typing import Any

from ldpaudit.proofs._algebra import positive, share
from ldpaudit.proofs._kernel import Noise, Theorem, named
from ldpaudit.proofs._parameters import plain
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    return number(), histogram("replace-one", 2), histogram("add-remove", 1)


def number() -> Theorem:
    """One number: two inputs in [low, high] are apart by a part of its width."""
    (b, width), (part,) = positive("b", "width"), share("apart")
    return Theorem(
        mechanism="Laplace",
        sentence="Laplace noise of scale b on a number in [low, high]",
        **plain({"scale": b, "sensitivity": width}),
        parts=[Noise(named("sensitivity") / named("scale"), part * width / b)],
        worst={part: 1},
        tight="",
        assumes=("Laplace noise",),
    )


def histogram(relation: str, coordinates: int) -> Theorem:
    """An indicator, of which `coordinates` differ by 1."""
    (b,) = positive("b")
    return Theorem(
        mechanism="LaplaceHistogram",
        sentence="Laplace noise of scale b on a histogram",
        relation=relation,
        **plain({"scale": b}),
        parts=[Noise(1 / named("scale"), 1 / b, coordinates)],
        tight="",
        assumes=("Laplace noise",),
    )


def gaussian_report() -> tuple[Steps, ...]:
    """Of Gaussian noise on one number, which has no epsilon at delta = 0."""
    t = Steps("under Gaussian noise on a number, the loss of two inputs is linear in the distance from their middle")
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
