"""The zoo's mutants: what it says of each is so, and the auditor sees it."""

from collections import Counter

import numpy as np
import pytest

from ldpaudit import audit
from tests.zoo import MUTANTS, STEMS, Mutant, zoo

LEAST, MOST = 1.05, 3.0
"""True epsilon over the claimed one: a mistake that is seen in a minute, and that nobody would see by eye."""
WRITTEN_OUT = [m for m in MUTANTS if m.sample is not None]
TRIALS = 1_000_000


def name(m: Mutant) -> str:
    return f"{m.stem}: {m.mistake}"


@pytest.mark.parametrize("stem", STEMS)
def test_every_mechanism_has_mutants_of_its_own(stem: str) -> None:
    found = zoo(stem).mutants
    assert found, f"tests/zoo/{stem}.py needs at least one mutant"
    assert {m.stem for m in found} == {stem}


def test_no_two_mutants_are_the_same_mistake() -> None:
    assert len({(m.mistake, str(m.declared)) for m in MUTANTS}) == len(MUTANTS) >= 60


FIRST = [zoo(stem).mutants[0] for stem in STEMS]
LONG = [m for m in MUTANTS if m.declared.model == "shuffled" and m not in FIRST]


@pytest.mark.parametrize("m", [pytest.param(m, marks=[pytest.mark.slow] * (m in LONG)) for m in MUTANTS], ids=name)
def test_a_mutant_is_worse_than_declared_and_not_absurdly(m: Mutant) -> None:
    assert LEAST * m.claimed <= m.truth <= MOST * m.claimed


@pytest.mark.parametrize("m", WRITTEN_OUT, ids=name)
def test_code_that_is_written_out_has_the_law_that_its_epsilon_is_computed_from(m: Mutant) -> None:
    assert m.sample is not None
    rng, size = np.random.default_rng(3), 40_000
    for end in (0, -1):
        x = m.declared.inputs[end]
        made = [np.asarray(m.sample(x, size, rng)), np.asarray(m.runs.sample(m.runs.inputs[end], size, rng))]
        # Coarse cells: what the mutant names, else of a number its quantiles, of a row its first and last places.
        if m.shown is not None:
            cells = [np.asarray(m.shown(views, x)).astype(int) for views in made]
        elif made[0].dtype.kind == "f":
            edges = np.quantile(made[1], [0.1, 0.25, 0.5, 0.75, 0.9])
            cells = [np.searchsorted(edges, views) for views in made]
        else:
            cells = [views.reshape(size, -1)[:, [0, -1]] for views in made]
        counts = [Counter(map(tuple, c.reshape(size, -1).tolist())) for c in cells]
        for cell in counts[0] | counts[1]:
            a, b = counts[0][cell], counts[1][cell]
            assert abs(a - b) <= 5 * np.sqrt(a + b) + 5


@pytest.mark.parametrize("m", FIRST, ids=name)
def test_a_mutant_is_refuted_and_its_own_epsilon_is_not(m: Mutant) -> None:
    code, claimed = m.sample or m.runs, m.claimed
    found = audit(m.declared, epsilon=claimed, delta=m.delta, implementation=code, trials=TRIALS, confidence=0.999, seed=2)
    assert m.claimed < found.epsilon_lower <= m.truth * (1 + 1e-9)
