"""The corpus of mistakes: what it says of each is so, and the auditor sees it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.mutants import LEAST, MOST, Mutant, mutants
from ldpaudit import audit
from ldpaudit.mechanisms import stems

CORPUS = mutants()
WRITTEN_OUT = [m for m in CORPUS if m.sample is not None]
TRIALS = 1_000_000


def name(m: Mutant) -> str:
    return f"{m.stem}: {m.mistake}"


def one_a_stem() -> list[Mutant]:
    return list({m.stem: m for m in reversed(CORPUS)}.values())


def test_the_corpus_is_large_and_leaves_out_no_mechanism() -> None:
    assert len(CORPUS) >= 60
    assert {m.stem for m in CORPUS} == set(stems())
    assert len({(m.mistake, str(m.declared)) for m in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("m", CORPUS, ids=name)
def test_a_mutant_is_worse_than_declared_and_not_absurdly(m: Mutant) -> None:
    assert LEAST * m.claimed <= m.truth <= MOST * m.claimed


@pytest.mark.parametrize("m", WRITTEN_OUT, ids=name)
def test_code_that_is_written_out_has_the_law_that_its_epsilon_is_computed_from(m: Mutant) -> None:
    assert m.sample is not None
    rng, size = np.random.default_rng(3), 40_000
    for end in (0, -1):
        x = m.declared.inputs[end]
        made = [np.asarray(m.sample(x, size, rng)), np.asarray(m.runs.sample(m.runs.inputs[end], size, rng))]
        # Coarse cells: of a number its quantiles, of a row its first and last places, of a hash whether it is the input's.
        if made[0].dtype.kind == "f":
            edges = np.quantile(made[1], [0.1, 0.25, 0.5, 0.75, 0.9])
            cells = [np.searchsorted(edges, views) for views in made]
        else:
            cells = [views.reshape(size, -1)[:, [0, -1]] for views in made]
            if m.stem == "local_hashing":
                cells = [m.runs.supports(views, x).astype(int) for views in made]  # type: ignore[attr-defined]
        counts = [Counter(map(tuple, c.reshape(size, -1).tolist())) for c in cells]
        for cell in counts[0] | counts[1]:
            a, b = counts[0][cell], counts[1][cell]
            assert abs(a - b) <= 5 * np.sqrt(a + b) + 5


@pytest.mark.parametrize("m", one_a_stem(), ids=name)
def test_a_mutant_is_refuted_and_its_own_epsilon_is_not(m: Mutant) -> None:
    code, claimed = m.sample or m.runs, m.claimed
    found = audit(
        m.declared, epsilon=claimed, delta=m.delta, implementation=code, trials=TRIALS, confidence=0.999, seed=2
    )
    assert m.claimed < found.epsilon_lower <= m.truth * (1 + 1e-9)
