"""Theorem: Laplace noise of scale b is epsilon-LDP exactly for epsilon >= (high - low)/b on one number in [low, high].

On the indicator of a value it is epsilon-LDP exactly for epsilon >= 2/b for replace-one, and >= 1/b for add-remove.
The loss at a view y is (|y - x'| - |y - x|)/b; it is bounded wherever y lies, by the triangle inequality case by case.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Proof


def prove() -> tuple[Proof, ...]:
    """Check the theorem.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return number(), histogram("replace-one", 2), histogram("add-remove", 1)


def losses(t: Proof, distance: Expr, b: Expr) -> dict[str, Expr]:
    """Where y may lie with respect to the lesser input x and the greater x', and what it then costs.

    Beyond the two, y is `beyond` away from the nearer; between, at the part 1/(1 + part) of the distance from x.
    """
    beyond, part = t.nonnegative("beyond", "part")
    from_x = distance / (1 + part)
    cases = {
        "y <= x": ((beyond + distance) - beyond) / b,
        "x < y <= x'": ((distance - from_x) - from_x) / b,
        "y > x'": (beyond - (beyond + distance)) / b,
    }
    return cases | {f"{where}, the inputs exchanged": -cost for where, cost in cases.items()}


def number() -> Proof:
    """One number."""
    t = Proof("Laplace", "Laplace noise of scale b on a number in [low, high] is (high - low)/b-LDP, and no less")
    t.assume("the densities at y have the log-ratio (|y - x'| - |y - x|)/b; the release is a real number")
    (b, width), (nearer,) = t.positive("b", "width"), t.nonnegative("nearer")
    t.parametrize({"scale": b, "sensitivity": width}, {b: t.parameter("scale"), width: t.parameter("sensitivity")})
    distance = width / (1 + nearer)
    t.at_most(distance, width, "two inputs in [low, high]")
    t.costs(width / b, losses(t, distance, b), nats=True)
    t.equal(losses(t, width, b)["y <= x"], width / b, "attained at y <= low, so epsilon cannot be smaller")
    return t


def histogram(relation: str, coordinates: int) -> Proof:
    """An indicator, of which `coordinates` differ by 1."""
    statement = f"Laplace noise of scale b on a histogram is {coordinates}/b-LDP, and no less"
    t = Proof("LaplaceHistogram", statement, relation)
    t.assume("the densities at y have the log-ratio (|y - x'| - |y - x|)/b; the release is a row of real numbers")
    t.assume(f"neighbouring indicators differ in {coordinates} of their coordinates, by 1; the noises are independent")
    (b,) = t.positive("b")
    t.parametrize({"scale": b}, {b: t.parameter("scale")})
    cases = losses(t, 1 + 0 * b, b)
    t.costs(1 / b, cases, times=coordinates, nats=True)
    t.equal(cases["y <= x"], 1 / b, "attained by all coordinates at once, so epsilon cannot be smaller")
    return t
