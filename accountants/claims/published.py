r"""The field's published bounds of a plan, beside the certified value: what people would otherwise cite.

A plan is matched by its shape: `Shuffle` to the theorems of shuffling, `Repeat` and `Compose` to those of composition, TrieHH
and the shuffled count-min sketch to those of their papers. Every theorem is applied to what is certified of the parts, rounded
toward what the theorem allows; one whose hypotheses are not met is a row that says which.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, Standing
from ldpaudit.accountants.composition import divergences, theorems
from ldpaudit.accountants.counting.smoothness import smooth_noise_guarantee, smoothness_of_binomial
from ldpaudit.accountants.numerics.search import bisect, crossing
from ldpaudit.accountants.sampling.theorems import (
    corollary_1_delta,
    sample_and_threshold,
    triehh_corollary_1,
    triehh_delta,
    triehh_theorem_1,
)
from ldpaudit.accountants.shuffling import theorems as shuffling
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Compose, Guarantee, Plan, Repeat, Run, Shuffle
from ldpaudit.profile import bracket, require_delta

_WIDTH = 1e-9
"""Relative width to which a conjectured epsilon is searched for, each step of which takes a certified sum."""


@dataclass(frozen=True, slots=True)
class Published:
    """One published bound on the epsilon of a plan.

    Parameters
    ----------
    name : str
        Short, with the initials that the field cites.
    year : int
        Of publication.
    source : str
        The authors and the theorem.
    printed : Printed or None
        The bound beside the certified value; None where a hypothesis is not met.
    unmet : str
        The hypothesis that is not met, and what was found; else empty.
    proved : bool
        False for a conjecture.
    """

    name: str
    year: int
    source: str
    printed: Printed | None
    unmet: str = ""
    proved: bool = True

    @property
    def standing(self) -> Standing:
        """What may be said of it here; a conjecture that a certified lower end exceeds fails."""
        if self.printed is None:
            return Standing.OUTSIDE
        if self.printed.holds is False:
            return Standing.FAILS
        if not self.proved:
            return Standing.CONJECTURE
        return self.printed.standing


@dataclass(frozen=True, slots=True)
class _Theorem:
    """A theorem, and its epsilon at the delta asked for: a ValueError where a hypothesis is not met."""

    name: str
    year: int
    source: str
    epsilon: Callable[[], Enclosure]
    proved: bool = True

    def beside(self, certified: Enclosure, sentence: str) -> Published:
        try:
            value = self.epsilon()
        except ValueError as error:  # "<theorem> needs <hypothesis>, got <values>"
            _, _, unmet = str(error).partition(" needs ")
            return Published(self.name, self.year, self.source, None, unmet or str(error), self.proved)
        printed = Printed(self.source, sentence, value.high, certified)
        return Published(self.name, self.year, self.source, printed, "", self.proved)


def published(
    plan: Plan, delta: Fraction, certified: Enclosure, neighbours: Neighbours | None = None
) -> tuple[Published, ...]:
    """The published bounds on a plan's epsilon at delta, beside what is certified of it.

    Parameters
    ----------
    plan : Plan
        What is deployed.
    delta : Fraction
        In [0, 1).
    certified : Enclosure
        Of epsilon at delta.
    neighbours : Neighbours or None
        The relation of `certified`; by default each mechanism's usual one.

    Returns
    -------
    tuple of Published
        The smallest bound first, those whose hypotheses are not met last; empty where none is on record for this plan.
    """
    require_delta(delta)
    sentence = f"epsilon at delta={float(delta):g}"
    found = [each.beside(certified, sentence) for each in _theorems(plan, delta, neighbours)]
    return tuple(sorted(found, key=lambda p: math.inf if p.printed is None else p.printed.claimed))


def _theorems(plan: Plan, delta: Fraction, neighbours: Neighbours | None) -> Iterator[_Theorem]:
    match plan:
        case Shuffle(inner, users):
            yield from _shuffled(inner, users, delta, neighbours)
        case Repeat() | Compose():
            yield from _composed(plan, delta, neighbours)
        case Run(TrieHeavyHitter(counts=0) as m):
            yield from _trie(m, delta, neighbours or ADD_REMOVE)
        case Run(m) if type(m) is ShuffledCountMin:
            yield from _count_min(m, delta, neighbours or REPLACE_ONE)


def _shuffled(inner: Plan, users: int, delta: Fraction, neighbours: Neighbours | None) -> Iterator[_Theorem]:
    """Theorems of shuffling, from the epsilon of one report at delta = 0."""
    epsilon0 = account(inner, neighbours).epsilon(0).high
    k = inner.mechanism.k if isinstance(inner, Run) and isinstance(inner.mechanism, KaryRandomizedResponse) else None

    def at_delta(theorem: Callable[..., Enclosure], k: int | None) -> Callable[[], Enclosure]:
        return lambda: _inverse(lambda e: theorem(epsilon0, users, e, k), epsilon0, delta)

    efmrtt = "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, theorem 7"
    fmt, bbgn = "Feldman, McMillan, Talwar 2021, theorem 3.1", "Balle, Bell, Gascon, Nissim 2019"
    yield _Theorem("EFMRTT19 closed form", 2019, efmrtt, lambda: shuffling.efmrtt19(epsilon0, users, delta))
    yield _Theorem("FMT21 closed form", 2021, fmt, lambda: shuffling.fmt21(epsilon0, users, delta))
    yield _Theorem("FMT21 clones, computed", 2021, fmt, lambda: _clones(epsilon0, users, delta))
    for name, theorem, number in (
        ("Hoeffding", shuffling.bbgn19_hoeffding, "theorem 5.3"),
        ("Bennett", shuffling.bbgn19_bennett, "theorem 5.4"),
    ):
        yield _Theorem(f"BBGN19 {name}, any report", 2019, f"{bbgn}, {number}", at_delta(theorem, None))
        if k is not None:
            yield _Theorem(f"BBGN19 {name}, {k}-ary RR", 2019, f"{bbgn}, {number}", at_delta(theorem, k))
    if k is not None:
        uniform = Fraction(k * (1 - inner.mechanism.p), k - 1)  # type: ignore[attr-defined]
        closed = f"{bbgn}, theorem 3.1"
        yield _Theorem(f"BBGN19 closed form, {k}-ary RR", 2019, closed, lambda: _uniform(k, users, uniform, delta))
    yield _Theorem(
        "FMT22 stronger clones", 2022, "Feldman, McMillan, Talwar 2022, theorem 3.2 (erratum)",
        lambda: _stronger(epsilon0, users, delta), proved=k == 2,
    )  # fmt: skip


def _inverse(delta_of: Callable[[float], Enclosure], epsilon0: float, delta: Fraction) -> Enclosure:
    """The epsilon at which a formula for delta reaches it; no more than that of one report, where delta is 0."""
    if not delta > 0:
        raise ValueError(f"the theorem needs delta > 0, got delta={delta}")
    nothing = Enclosure(0.0, 0.0, Rigour.INTERVAL, "shuffling is post-processing")
    return shuffling.epsilon_of(lambda e: nothing if e >= epsilon0 else delta_of(e), delta)


def _clones(epsilon0: float, users: int, delta: Fraction) -> Enclosure:
    if not (0 < epsilon0 < math.inf and users >= 2):
        raise ValueError(f"the theorem needs 0 < epsilon0 < infinity and n >= 2, got epsilon0={epsilon0:g}, n={users}")
    return account(Shuffle(Guarantee(Fraction(epsilon0)), users)).epsilon(delta)


def _uniform(k: int, users: int, gamma: Fraction, delta: Fraction) -> Enclosure:
    """The epsilon at which the theorem's share of uniform draws is what the mechanism has.

    Its formula falls as epsilon grows, up to 1, where the theorem ends.
    """

    def lacking(epsilon: float) -> bool:
        try:
            return shuffling.bbgn19_gamma(k, users, epsilon, delta).high > gamma
        except ValueError:  # below the theorem's least epsilon its gamma exceeds 1
            return True

    source = "Balle et al. 2019, theorem 3.1"
    needed = shuffling.bbgn19_gamma(k, users, 1, delta)
    if needed.high > gamma:
        raise ValueError(f"{source} needs gamma >= {needed.high:.3g} for epsilon <= 1, got gamma={float(gamma):.3g}")
    return Enclosure(0.0, bisect(lacking, 0.0, 1.0), Rigour.INTERVAL, source)


def _stronger(epsilon0: float, users: int, delta: Fraction) -> Enclosure:
    if not (0 < epsilon0 < math.inf and delta > 0):
        raise ValueError(f"the theorem needs 0 < epsilon0 < infinity and delta > 0, got {epsilon0:g} and {float(delta):g}")
    guess = min(epsilon0, math.exp(epsilon0 / 2) * math.sqrt(-2 * math.log(delta) / users)) / 2
    found = crossing(lambda e: shuffling.stronger_clone_conjecture(epsilon0, users, e).high, delta, guess, 2, _WIDTH)
    return Enclosure(0.0, found[1], Rigour.FLOAT, "the stronger clone")


@dataclass(frozen=True, slots=True)
class _Part:
    """A leaf of a composition: how often it runs, and the guarantee that stands for it."""

    times: int
    epsilon: Fraction
    delta: Fraction


def _composed(plan: Plan, delta: Fraction, neighbours: Neighbours | None) -> Iterator[_Theorem]:
    """Theorems of composition, from guarantees of the parts."""
    of = _Composition.of(plan, delta, neighbours)
    yield _Theorem("DKMMN06 basic composition", 2006, "Dwork, Kenthapadi, McSherry, Mironov, Naor 2006", of.basic)
    yield _Theorem("DRV10 advanced composition", 2010, "Dwork, Rothblum, Vadhan 2010, theorem III.3", of.drv10)
    yield _Theorem("HKR12 composition", 2012, "Hsu, Khanna, Roth 2012, theorem 2.5", of.hkr12)
    yield _Theorem("KOV15 closed form", 2015, "Kairouz, Oh, Viswanath 2015, theorems 3.4 and 3.5", of.kov15)
    yield _Theorem("BS16 zCDP", 2016, "Bun, Steinke 2016, propositions 1.3 and 1.4", of.zcdp)
    yield _Theorem("M17 Renyi, with CKS20", 2020, "Mironov 2017; Canonne, Kamath, Steinke 2020, proposition 12", of.renyi)


@dataclass(frozen=True, slots=True)
class _Composition:
    """What the theorems of composition say of these parts; each raises a ValueError where a hypothesis is not met.

    A part's guarantee is its certified epsilon at delta = 0. For a part that shuffles or subsamples, or whose epsilon is
    infinite there, it is that at an equal share of half of delta in `parts`, of all of delta in `whole`.
    """

    parts: tuple[_Part, ...]
    whole: tuple[_Part, ...]
    delta: Fraction

    @classmethod
    def of(cls, plan: Plan, delta: Fraction, neighbours: Neighbours | None) -> _Composition:
        leaves = _leaves(plan)
        halves, shares = (
            tuple(_part(leaf, times, share, neighbours) for leaf, times in leaves.items())
            for share in (delta / (2 * leaves.total()), delta / leaves.total())
        )
        return cls(halves, shares, delta)

    def basic(self) -> Enclosure:
        if (spent := _lost(self.whole)) > self.delta:
            raise ValueError(f"basic composition needs delta >= {float(spent):g}, got {float(self.delta):g}")
        return theorems.basic([(part.times * part.epsilon, part.times * part.delta) for part in self.whole])[0]

    def drv10(self) -> Enclosure:
        part = self._equal("DRV10")
        return theorems.drv10(part.times, part.epsilon, part.delta, self._slack("DRV10"))[0]

    def hkr12(self) -> Enclosure:
        ((times, epsilon),) = self._pure("HKR12", (self._equal("HKR12"),))
        return theorems.hkr12(times, epsilon, self._slack("HKR12"))

    def kov15(self) -> Enclosure:
        return theorems.kov([(part.times, part.epsilon, part.delta) for part in self.parts], self._slack("KOV15"))[0]

    def zcdp(self) -> Enclosure:
        return divergences.concentrated(self._pure("zCDP", self.parts), self._slack("zCDP"))

    def renyi(self) -> Enclosure:
        return divergences.renyi(self._pure("Renyi", self.parts), self._slack("Renyi"))

    def _equal(self, name: str) -> _Part:
        if len(self.parts) != 1:
            raise ValueError(f"{name} needs equal parts, got {len(self.parts)} different ones")
        return self.parts[0]

    def _pure(self, name: str, parts: tuple[_Part, ...]) -> list[tuple[int, Fraction]]:
        if lost := _lost(parts):
            raise ValueError(f"{name} needs parts with delta = 0, got parts whose deltas sum to {float(lost):g}")
        return [(part.times, part.epsilon) for part in parts]

    def _slack(self, name: str) -> Fraction:
        lost = _lost(self.parts)
        if not 0 < self.delta - lost < 1:
            raise ValueError(
                f"{name} needs delta > {float(lost):g}, the sum of the parts' deltas, got {float(self.delta):g}"
            )
        return self.delta - lost


def _lost(parts: tuple[_Part, ...]) -> Fraction:
    return sum((part.times * part.delta for part in parts), Fraction(0))


def _leaves(plan: Plan) -> Counter[Plan]:
    """What runs, and how often."""
    match plan:
        case Repeat(inner, times):
            return Counter({leaf: n * times for leaf, n in _leaves(inner).items()})
        case Compose(parts):
            return sum((_leaves(part) for part in parts), Counter())
    return Counter([plan])


def _part(leaf: Plan, times: int, share: Fraction, neighbours: Neighbours | None) -> _Part:
    if isinstance(leaf, Guarantee):
        return _Part(times, leaf.epsilon, leaf.delta)
    profile = account(leaf, neighbours)
    if isinstance(leaf, Run) and math.isfinite(pure := profile.epsilon(0).high):
        return _Part(times, Fraction(pure), Fraction(0))
    epsilon = profile.epsilon(share).high
    if not math.isfinite(epsilon):
        raise ValueError(f"{leaf} needs a larger delta: its epsilon at {float(share):g} is infinite")
    return _Part(times, Fraction(epsilon), share)


def _trie(m: TrieHeavyHitter, delta: Fraction, relation: Neighbours) -> Iterator[_Theorem]:
    def stated(name: str, epsilon: Enclosure, needed: Fraction) -> Enclosure:
        if m.words > 1:
            raise ValueError(f"{name} needs one word per user, got words={m.words}")
        if relation != ADD_REMOVE:
            raise ValueError(f"{name} needs one user more or less, got {relation} neighbours")
        if needed > delta:
            raise ValueError(f"{name} needs delta >= {float(needed):.3g}, got delta={float(delta):.3g}")
        return epsilon

    def theorem_1() -> Enclosure:
        epsilon, _ = triehh_theorem_1(m.users, m.batch, m.threshold, m.levels)
        return stated("TrieHH, Theorem 1", epsilon, triehh_delta(m.threshold))

    def corollary_1() -> Enclosure:
        name, (threshold, epsilon, _) = "TrieHH, Corollary 1", triehh_corollary_1(m.users, m.levels)
        batch = math.isqrt(m.users)
        if (m.threshold, m.batch) != (threshold, batch):
            raise ValueError(
                f"{name} needs threshold = {threshold} and batch = {batch}, got {m.threshold} and {m.batch}"
            )
        return stated(name, epsilon, corollary_1_delta(m.users))

    def coins() -> Enclosure:
        formula = _inverse(lambda e: _sampled(Fraction(m.batch, m.users), e, m.threshold), math.inf, delta)
        raise ValueError(
            f"sample-and-threshold needs a coin for every user and one round, got a batch and {m.levels} round(s) "
            f"(a coin of {m.batch / m.users:.3g} and one round: {formula.high:.4g})"
        )

    source = "Zhu, Kairouz, McMahan, Sun, Li 2019"
    yield _Theorem("TrieHH Theorem 1", 2019, f"{source}, Theorem 1", theorem_1)
    yield _Theorem("TrieHH Corollary 1", 2019, f"{source}, Corollary 1", corollary_1)
    yield _Theorem("BC22 sample-and-threshold", 2022, "Bharadwaj, Cormode 2022", coins)


def _sampled(coin: Fraction, epsilon: float, threshold: int) -> Enclosure:
    if math.exp(-epsilon) > 1 - coin:  # the formula asks for more; next to it, its own check decides
        return Enclosure(1.0, 1.0, Rigour.INTERVAL, "no bound")
    try:
        return sample_and_threshold(coin, epsilon, threshold)
    except ValueError:
        return Enclosure(1.0, 1.0, Rigour.INTERVAL, "no bound")


def _count_min(m: ShuffledCountMin, delta: Fraction, relation: Neighbours) -> Iterator[_Theorem]:
    """GGKPV Lemma 4.12 at the smallest alpha whose delta suffices for Lemma 4.11."""
    sensitivity = m.held * m.rows * (1 if relation == ADD_REMOVE else 2)

    def promise(alpha: Fraction) -> tuple[Enclosure, Enclosure]:
        smooth = smoothness_of_binomial(m.users, m.gamma, m.held, alpha)
        return smooth_noise_guarantee(*smooth, sensitivity, m.held, m.held)

    def kept(odds: float) -> bool:
        alpha = Fraction(odds) / (1 + Fraction(odds))
        return m.held <= alpha * m.gamma * m.users / 2 and promise(alpha)[1].high <= delta

    def lemmas() -> Enclosure:
        largest = Fraction(999, 1000)
        if (least := promise(largest)[1].high) > delta:
            raise ValueError(f"GGKPV Lemma 4.12 needs delta >= {least:.3g} at alpha <= 0.999, got {float(delta):.3g}")
        odds = Fraction(bracket(kept)[1])
        return promise(odds / (1 + odds))[0]

    source = "Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 4.11 and 4.12"
    yield _Theorem("GGKPV19 smooth noise", 2019, source, lemmas)
