"""The inequalities of the limits of frequency estimation: checked, and rejected where they are changed."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from ldpaudit.accountants.limits.local_view import LocalView
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import ProofError
from ldpaudit.proofs import _limits
from ldpaudit.proofs._kernel import Lemma
from ldpaudit.working_precision import working_precision

F = Fraction


def test_every_lemma_says_what_it_checked() -> None:
    lemmas = _limits.prove()
    assert [bool(each.statement) and len(each.steps) >= 2 for each in lemmas] == [True] * 3
    assert [len(each.admissions) for each in lemmas] == [0, 1, 1]


@pytest.mark.parametrize(("left", "right"), [("1+x", "1"), ("ratio*eta/s", "eta/s")])
def test_a_false_inequality_is_rejected(left: str, right: str) -> None:
    t = Lemma(sentence="false")
    symbols = dict(zip(("x", "ratio", "eta", "s"), t.positive("x", "ratio", "eta", "s"), strict=True))
    with pytest.raises(ProofError):
        t.at_most(eval(left, {}, symbols), eval(right, {}, symbols), "false")


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_of_one_event_is_the_one_of_the_proof(k: int) -> None:
    n, p, delta = 5, F(1, 3), F(1, 50)
    law = [comb(n - 1, j) * p**j * (1 - p) ** (n - 1 - j) for j in range(n)]
    with working_precision(96):
        found = Enclosure.of(LocalView(n, F(0), delta).at_least(p, k), source="the accountant")
        low = Enclosure.of(LocalView(n, F(0), delta).at_most(p, k), source="the accountant")
    assert p + delta / law[k - 1] in found
    assert p + delta / law[k] in low
