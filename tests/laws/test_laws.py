"""Laws that every mechanism of the zoo obeys."""

import inspect
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import inf, log
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, settings, strategies as st

from ldpaudit import Mechanism, Rigour, Unsupported, account, mechanisms, strategies
from ldpaudit.accountants.pld.finite import FiniteProfile, channel_profile
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.certificates.proof import _by_ratio
from ldpaudit.derivation import proofs_of, sum_of_terms
from ldpaudit.mechanism import ENUMERABLE
from ldpaudit.mechanisms import DBitFlip, HeavyThresh, MemoizedBit, PerturbedDBitFlip, ShuffledHadamard, ThreshRepaired
from ldpaudit.mechanisms.memoized_bit import LISTED
from ldpaudit.profile import Number
from ldpaudit.proofs._hypotheses import HYPOTHESES
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.registry import constructors
from tests.helpers import ROOT, raises_a_line, typed
from tests.samples import fits, meet
from tests.zoo import AT_ONE, SMALL, STEMS, delta_of, home_of, zoo

SAMPLE = 20_000
SCORES = {DBitFlip: 1e-5, PerturbedDBitFlip: 1e-5, HeavyThresh: 1e-5, ThreshRepaired: 1e-5, ShuffledHadamard: 1e-12}
"""By how much a score may miss the logarithm: 1e-9, to which scores are rounded, but more where views of one ratio are ordered."""


def enumerable(m: Mechanism) -> bool:
    try:
        return m.law(m.inputs[0]).size <= min(ENUMERABLE, 5_000)
    except Unsupported:
        return False


def by_default(several: list[Mechanism]) -> list[Any]:
    """Of each class the first setting; the others are run nightly."""
    first = {type(m): m for m in reversed(several)}
    return [pytest.param(m, marks=[pytest.mark.slow] * (first[type(m)] is not m)) for m in several]


FINITE = [m for m in SMALL if enumerable(m)]
ALL = by_default([*SMALL, *AT_ONE])


def compared(m: Mechanism) -> int:
    """Probabilities of pairs of inputs that are compared where all of these are enumerated."""
    return len(m.inputs) ** 2 * m.law(m.inputs[0]).size


@pytest.mark.parametrize("stem", STEMS)
def test_a_mechanism_is_four_files_with_one_stem_or_names_its_core_and_stands_in_the_zoo(stem: str) -> None:
    assert len({owner.core or stem for owner in mechanisms.classes(stem).values()}) == 1
    for folder in ("accountants", "attacks", "proofs", "tests/zoo"):
        assert (ROOT / folder / f"{home_of(folder, stem)}.py").is_file(), f"the mechanism {stem} needs the file {folder}/{stem}.py"
    found = {type(m) for m in zoo(stem).at_one}
    broken = Counter(type(b.declared) for b in zoo(stem).broken)
    for owner in mechanisms.classes(stem).values():
        assert owner in found, f"tests/zoo/{stem}.py needs a {owner.__name__} of epsilon 1 in at_one"
        assert broken[owner] >= 2, f"tests/zoo/{stem}.py needs two broken {owner.__name__}, has {broken[owner]}"


@pytest.mark.parametrize("folder", ["accountants", "proofs", "tests/zoo"])
def test_no_file_stands_where_its_mechanism_does_not(folder: str) -> None:
    for file in (ROOT / folder).glob("[!_]*.py"):
        assert file.stem in STEMS, f"{folder}/{file.name} is about no mechanism"


@pytest.mark.parametrize("m", FINITE, ids=str)
def test_a_law_sums_to_one(m: Mechanism) -> None:
    for x in m.inputs[:4]:
        probabilities = [p for _, p in m.law(x).items()]
        assert all(p >= 0 for p in probabilities)
        assert sum(probabilities, Fraction(0)) == 1


@pytest.mark.parametrize("m", [m for m in FINITE if m.summed == "vector"], ids=str)
def test_a_sum_s_range_is_that_of_its_reports(m: Mechanism) -> None:
    views = np.array([np.atleast_1d(view) for x in m.inputs for view, _ in m.law(x).items()])
    assert m.summed_range == (np.ptp(views, axis=0).max(), Fraction(0))


@pytest.mark.parametrize("m", by_default(FINITE), ids=str)
def test_the_sampler_matches_the_law(m: Mechanism) -> None:
    for x in (m.inputs[0], m.inputs[-1]):
        views = np.asarray(m.sample(x, SAMPLE, np.random.default_rng(1)))
        listed = views.tolist()  # rows as lists; what is no array, such as a set, as it is
        assert fits(Counter(map(tuple, listed) if views.ndim > 1 else listed), dict(m.law(x).items()))


enumerated = cache(channel_profile)


@pytest.mark.parametrize("m", by_default(sorted(FINITE, key=compared)), ids=str)
@given(epsilon=st.floats(0, 4), delta=st.fractions(0, 1, max_denominator=10**6).filter(lambda d: d < 1))
def test_the_accountant_agrees_with_enumeration(m: Mechanism, epsilon: float, delta: Fraction) -> None:
    profile, oracle = account(m), enumerated(m)
    for ours, truth in ((profile.delta(epsilon), oracle.delta(epsilon)), (profile.epsilon(delta), oracle.epsilon(delta))):
        if isinstance(m, MemoizedBit) and m.epochs > LISTED:  # not all streams are inputs
            assert truth.low <= ours.high
        else:
            assert meet(ours, truth), (ours, truth)
        if ours.rigour is Rigour.EXACT:
            assert ours.low == ours.high or ours.high - ours.low <= 1e-9 * ours.high  # both may be infinite


@pytest.mark.parametrize("m", ALL, ids=str)
@settings(max_examples=settings().max_examples // 2)
@given(a=st.floats(0, 8), b=st.floats(0, 8))
def test_delta_never_increases_with_epsilon(m: Mechanism, a: float, b: float) -> None:
    profile = account(m)
    assert profile.delta(max(a, b)).low <= profile.delta(min(a, b)).high


@pytest.mark.parametrize("m", ALL, ids=str)
@settings(max_examples=settings().max_examples // 2)
@given(delta=st.one_of(st.just(0.0), st.floats(0, 0.999), st.floats(-300, -1).map(lambda e: 10.0**e)))
def test_delta_of_epsilon_of_delta_is_at_most_delta(m: Mechanism, delta: float) -> None:
    profile = account(m)
    epsilon = profile.epsilon(delta)
    assert 0 <= epsilon.low <= epsilon.high
    assert epsilon.high == inf or profile.delta(epsilon.high).low <= delta


FAR: tuple[Number, ...] = (0, 5e-324, 1, 1e3, 1e100, 1e300, Fraction(10**400))
RARE: tuple[Number, ...] = (0, Fraction(1, 10**4000), Fraction(1, 10**400), 1e-300, 0.5, Fraction(2**60 - 1, 2**60))


@pytest.mark.parametrize("m", ALL, ids=str)
def test_however_large_or_small_epsilon_and_delta_are_there_are_enclosures_and_no_two_of_them_disagree(m: Mechanism) -> None:
    for relation in m.relations:
        profile = account(m, relation)
        for found, top in (([profile.delta(e) for e in FAR], 1), ([profile.epsilon(d) for d in RARE], inf)):
            assert all(0 <= e.low <= e.high <= top for e in found)
            assert all(later.low <= earlier.high for earlier, later in combinations(found, 2))
            wide = [e for e in found if e.high - e.low > max(1e-9 * e.high, 1e-15)]
            assert all(e.rigour is not Rigour.EXACT for e in wide)


@pytest.mark.parametrize("m", AT_ONE, ids=str)
def test_its_epsilon_is_one(m: Mechanism) -> None:
    assert account(m).epsilon(delta_of(m)).high == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("m", by_default([m for m in [*SMALL, *AT_ONE] if m.unbiased]), ids=str)
def test_an_estimate_is_unbiased(m: Mechanism) -> None:
    rng = np.random.default_rng(3)
    x, other = m.inputs[0], m.inputs[-1]
    data = [x] * 300 + [other] * 100
    estimates = np.array([np.ravel(m.run(data, rng)) for _ in range(40)])
    error = estimates.mean(axis=0) - np.ravel(m.truth(data))
    spread = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    assert np.all(np.abs(error) <= 6 * spread + 1e-9)


@pytest.mark.parametrize("m", by_default([*SMALL, *AT_ONE]), ids=str)
def test_a_proof_bounds_no_less_than_the_accountant(m: Mechanism) -> None:
    proofs = proofs_of(mechanisms.stem(m))
    assert all(p.steps for p in proofs)
    for relation in m.relations:
        terms = [t for t in (p.at(m) for p in proofs if p.relation == relation.kind) if t is not None]
        found = account(m, relation).epsilon(0)
        assert bool(terms) == (found.low < inf), "no proof covers it, or there is a proof of what is false"
        if terms:
            proved = min(sum_of_terms(term).high for term in terms)
            assert proved >= found.low * (1 - 1e-12)
            first = relation is m.relations[0]  # of which it is tight at random points, below
            assert first or type(m) in zoo(mechanisms.stem(m)).loose or proved <= found.high * (1 + 1e-12)


MIXED = {HYPOTHESES[name][0] for name in ("public", "steps", "positions", "draws", "one pattern")}
"""Hypotheses by which a view is a mixture of those that a theorem lists, or one of several, or of no listed parts."""


def listed(theorem: Theorem, m: Mechanism) -> set[Any]:
    """The whole views on two inputs that a theorem is about: of each part one of its laws, or none that differs."""
    values = {named(name): sympy.Rational(str(Fraction(getattr(m, name)))) for name in theorem.fields}
    at = {symbol: sympy.sympify(value).subs(values) for symbol, value in theorem.recover.items()}
    choices = []
    for part in theorem.parts:
        assert isinstance(part, Part)
        laws = [[(Fraction(1), Fraction(1))]]
        for law in part.laws:
            cells = [cell if len(cell) == 3 else (1, *cell) for cell in law.values()]
            masses = [[sympy.cancel(sympy.sympify(views * p).subs(at)) for p in ends] for views, *ends in cells]
            laws.append([(Fraction(str(p)), Fraction(str(q))) for p, q in masses])
        choices.append(combinations_with_replacement(laws, int(sympy.sympify(part.times).subs(values))))
    found = set()
    for choice in product(*choices):
        whole = [(Fraction(1), Fraction(1))]
        for each in (law for several in choice for law in several):
            whole = [(p * a, q * b) for p, q in whole for a, b in each if a or b]
        found |= {_by_ratio((1, p, q) for p, q in whole), _by_ratio((1, q, p) for p, q in whole)}
    return found


@pytest.mark.parametrize("m", FINITE, ids=str)
def test_every_ordered_pair_of_inputs_is_one_that_the_theorem_is_about(m: Mechanism) -> None:
    theorems = [t for t in proofs_of(mechanisms.stem(m)) if isinstance(t, Theorem) and t.relation == "replace-one" and t.at(m)]
    exact = [t for t in theorems if t.tight is not None and not t.worst and not MIXED & set(t.assumes)]
    for t in exact:
        known = listed(t, m)
        for x, other in list(permutations(m.inputs, 2))[:40]:
            first, second = dict(m.law(x).items()), dict(m.law(other).items())
            views = [(1, Fraction(first.get(y, 0)), Fraction(second.get(y, 0))) for y in {*first, *second}]
            assert _by_ratio(views) in known, (t.statement, x, other)


@pytest.mark.parametrize("stem", [stem for stem in STEMS if not zoo(stem).delta])
def test_a_proof_s_symbols_are_the_code_s_numbers_at_random_rational_points(stem: str) -> None:
    seen = {"covered": 0, "tight": 0}
    drawn, loose = zoo(stem).anywhere, zoo(stem).loose

    @settings(suppress_health_check=list(HealthCheck))
    @given(strategies.mechanisms(stem) if drawn is None else drawn)
    def holds(m: Mechanism) -> None:
        terms = [t for t in (p.at(m) for p in proofs_of(stem) if p.relation == m.relations[0].kind) if t is not None]
        if not terms:
            return
        proved, found = min(sum_of_terms(term).high for term in terms), account(m).epsilon(0)
        assert proved >= found.low * (1 - 1e-12)
        seen["covered"] += 1
        # Where a sketch hashes all values alike, they have one law, and no proof for other hashes is tight.
        seen["tight"] += proved <= found.high * (1 + 1e-12) or found.high == 0

    holds()
    for m in zoo(stem).small if loose else ():  # where a proof is loose at some parameters, one at which it is tight has to be met
        holds.hypothesis.inner_test(m)  # type: ignore[attr-defined]
    assert seen["covered"] >= 5
    assert seen["tight"] > 0 if loose else seen["tight"] == seen["covered"]


@pytest.mark.parametrize("owner", [c for stem in STEMS for c in mechanisms.classes(stem).values()])
def test_parameters_outside_their_domain_are_an_error_of_the_right_class(owner: type[Mechanism]) -> None:
    makers = [(make, inspect.signature(make, eval_str=True).parameters.values()) for make in constructors(owner).values()]
    whole, any_number = st.integers(-2, 9), st.fractions(-1, 2, max_denominator=8)

    @given(st.data())
    def holds(data: st.DataObject) -> None:
        make, wanted = data.draw(st.sampled_from(makers))
        values = {p.name: data.draw(whole if p.annotation is int else any_number) for p in wanted}
        said = "one line"
        try:
            made: object = make(**values)
        except (ValueError, TypeError) as error:
            made, said = owner, str(error)
        assert made is owner or isinstance(made, owner)
        assert len(said.splitlines()) == 1

    holds()


@pytest.mark.parametrize("m", FINITE, ids=str)
def test_an_attack_scores_a_view_by_its_log_likelihood_ratio(m: Mechanism) -> None:
    for relation in m.relations:
        found, slack = attack_on(m, relation), SCORES.get(type(m), 1e-9)
        here, there = (dict(m.law(x).items()) for x in found.pair)
        views = [y for y in here | there if here.get(y) or there.get(y)]
        scores = found.score(views if isinstance(views[0], frozenset) else np.array(views))
        for view, score in zip(views, scores, strict=True):
            p, q = here.get(view), there.get(view)
            expected = log(p / q) if p and q else inf if p else -inf
            assert score == pytest.approx(expected, abs=slack, rel=0)


@pytest.mark.parametrize(("says", "call"), [pytest.param(*r, id=f"{s} {i}") for s in STEMS for i, r in enumerate(zoo(s).refused)])
def test_what_a_mechanism_refuses_is_an_error_of_one_line(says: str, call: Callable[[], object]) -> None:
    raises_a_line(ValueError, says, call)


def test_finite_profiles_of_enumeration_are_symmetric_in_the_pair() -> None:
    m = FINITE[0]
    a, b = (channel_profile(m, list(inputs)) for inputs in permutations(m.inputs[:2]))
    assert typed(FiniteProfile, a).epsilon(0) == b.epsilon(0)
