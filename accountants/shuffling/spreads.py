r"""Types of a run that need not be looked at in a bundle: those of which mixtures of other types are spreads.

Let u and v be the ratios of user 1's two laws to another user's, under the latter. If other types, drawn with some weights, have
ratios :math:`(u', v')` with :math:`E[(u', v') \mid (u, v)] = (u, v)`, then whatever the other runs of a bundle are, by whose ratios
these are multiplied, convex functions of :math:`a u - b v` have no larger means than they have, on average, for the other types. So
the largest divergence is one without that type.

Where that holds is a linear program, in the weights and the joint probabilities. Floats find a vertex; that it is a solution is
checked in rationals, so that a type which is left out is known to need no look.

Source: Jensen's inequality; that nothing else makes all such means larger is Strassen 1965, Theorem 8.
"""

from functools import lru_cache
from itertools import chain

import flint
import numpy as np

from ldpaudit.accountants.numerics.rationals import fraction, rational
from ldpaudit.accountants.shuffling.blanket import Blanket, Kind

_NONE = 1e-11  # probability that is taken for 0


@lru_cache(maxsize=64)
def without_spreads(types: tuple[Blanket, ...], most: int) -> tuple[Blanket, ...]:
    """Those of which no mixture of those that stay is a spread; all where laws are not rational, or have more kinds of reports."""
    if sum(len(each.cells) for each in types) > most or any(isinstance(p, flint.arb) for each in types for p in chain(*each.cells)):
        return types
    exact = ([tuple(map(rational, cell)) for cell in each.cells if cell[2]] for each in types)  # type: ignore[arg-type]
    laws = [[(r1 / b, r2 / b, b) for r1, r2, b in each] for each in exact]
    stay: list[int] = []
    # By those that are spread most, and then by all that stay.
    for i in sorted(range(len(types)), key=lambda i: -sum(float(fraction(b * (u * u + v * v))) for u, v, b in laws[i])):
        if not (stay and _is_spread(laws[i], [laws[j] for j in stay])):
            stay.append(i)
    for i in reversed(stay.copy()):
        if len(stay) > 1 and _is_spread(laws[i], [laws[j] for j in stay if j != i]):
            stay.remove(i)
    return tuple(types[i] for i in sorted(stay))


def _is_spread(law: list[Kind], others: list[list[Kind]]) -> bool:
    """Whether some mixture of the others is known to be a spread of the law."""
    from scipy.optimize import linprog  # here: it takes a while to import

    kinds, size = [kind for other in others for kind in other], len(law)
    ours, theirs = (np.array([[float(fraction(each)) for each in kind] for kind in some]).T for some in (law, kinds))
    # Of each of the law's kinds the probability, and the means; of each other kind the probability; and the weights add up to 1.
    sums = np.vstack([np.kron(np.eye(size), each) for each in (np.ones(len(kinds)), *theirs[:2])])
    weights = np.repeat(np.eye(len(others)), list(map(len, others)), axis=0) * -theirs[2][:, None]
    left = np.block([
        [sums, np.zeros((len(sums), len(others)))],
        [np.kron(np.ones(size), np.eye(len(kinds))), weights],
        [np.zeros(size * len(kinds)), np.ones(len(others))],
    ])  # fmt: skip
    right = np.concatenate([ours[2], ours[2] * ours[0], ours[2] * ours[1], np.zeros(len(kinds)), [1.0]])
    found = linprog(np.zeros(left.shape[1]), A_eq=left, b_eq=right, method="highs-ds")
    return bool(found.success) and _holds(law, others, np.flatnonzero(found.x > _NONE).tolist())


def _holds(law: list[Kind], others: list[list[Kind]], seen: list[int]) -> bool:
    """Whether there is a solution of the program with these of its unknowns above 0, or not below: in rationals."""
    kinds = [(o, *kind) for o, other in enumerate(others) for kind in other]
    columns: list[dict[tuple[str, int], flint.fmpq | int]] = []
    for place in seen:
        i, j = divmod(place, len(kinds))
        if i < len(law):
            columns.append({("mass", i): 1, ("first", i): kinds[j][1], ("second", i): kinds[j][2], ("kind", j): 1})
        else:
            columns.append({("kind", k): -p for k, (o, *_, p) in enumerate(kinds) if o == j} | {("weights", 0): 1})
    columns.append({("weights", 0): 1})
    for i, (u, v, p) in enumerate(law):
        columns[-1] |= {("mass", i): p, ("first", i): p * u, ("second", i): p * v}
    rows = list(dict.fromkeys(row for column in columns for row in column))
    solved, rank = flint.fmpq_mat(len(rows), len(columns), [column.get(row, 0) for row in rows for column in columns]).rref()
    found = [[solved[row, column] for column in range(len(columns))] for row in range(rank)]
    return any(found[-1][:-1]) and all(row[-1] >= 0 for row in found)
