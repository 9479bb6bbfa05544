"""Published bounds of sampling: a threshold on sampled counts, and plans that run on some of the users."""

import math
from collections.abc import Iterator
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.published.theorem import Published, inverse
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.accountants.sampling import theorems
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Subsample


def trie(m: TrieHeavyHitter, delta: Fraction, relation: Neighbours) -> Iterator[Published]:
    """TrieHH's own theorems, and what a coin for every user would give."""

    def stated(name: str, epsilon: Enclosure, needed: Fraction) -> Enclosure:
        if m.words > 1:
            raise ValueError(f"{name} needs one word per user, got words={m.words}")
        if relation != ADD_REMOVE:
            raise ValueError(f"{name} needs one user more or less, got {relation} neighbours")
        if needed > delta:
            raise ValueError(f"{name} needs delta >= {float(needed):.3g}, got delta={float(delta):.3g}")
        return epsilon

    def theorem_1() -> Enclosure:
        epsilon, _ = theorems.triehh_theorem_1(m.users, m.batch, m.threshold, m.levels)
        return stated("TrieHH, Theorem 1", epsilon, theorems.triehh_delta(m.threshold))

    def corollary_1() -> Enclosure:
        name, (threshold, epsilon, _) = "TrieHH, Corollary 1", theorems.triehh_corollary_1(m.users, m.levels)
        batch = math.isqrt(m.users)
        if (m.threshold, m.batch) != (threshold, batch):
            raise ValueError(f"{name} needs threshold = {threshold} and batch = {batch}, got {m.threshold} and {m.batch}")
        return stated(name, epsilon, theorems.corollary_1_delta(m.users))

    def coins() -> Enclosure:
        formula = _sampled(Fraction(m.batch, m.users), m.threshold, delta)
        raise ValueError(
            f"sample-and-threshold needs a coin for every user and one round, got a batch and {m.levels} round(s) "
            f"(a coin of {m.batch / m.users:.3g} and one round: {formula.high:.4g})"
        )

    source, one = "Zhu, Kairouz, McMahan, Sun, Li 2019", "one word per user, one user more or less, delta as printed"
    met = f"4 <= theta <= sqrt(n) <= m <= n / (theta + 1), {one}"
    parameters = f"n >= 10000, theta = log10(n) + 6 and m = sqrt(n), {one}"
    yield Published("TrieHH Theorem 1", 2019, f"{source}, Theorem 1", theorem_1, met, Provenance.RESTORED)
    yield Published("TrieHH Corollary 1", 2019, f"{source}, Corollary 1", corollary_1, parameters, Provenance.RESTORED)
    yield Published("BC22 sample-and-threshold", 2022, _COINS, coins, _COINS_NEED)


_COINS = "Bharadwaj, Cormode 2022"
_COINS_NEED = "a coin s for every user, one round, s <= 1 - exp(-epsilon), s^tau < delta"


def sampled_by_coins(profile: ThresholdProfile, delta: Fraction) -> Iterator[Published]:
    """Sample-and-threshold, as its paper has it."""

    def coins() -> Enclosure:
        name = "sample-and-threshold"
        if profile.neighbours != ADD_REMOVE or profile.rounds > 1:
            found = f"{profile.neighbours} and {profile.rounds} rounds"
            raise ValueError(f"{name} needs one user more or less and one round, got {found}")
        coin = profile.sampling.rate
        if coin**profile.threshold >= delta:
            raise ValueError(f"{name} needs s^tau < delta, got s={coin}, tau={profile.threshold} and delta={float(delta):.3g}")
        return _sampled(coin, profile.threshold, delta)

    yield Published("BC22 sample-and-threshold", 2022, _COINS, coins, _COINS_NEED)


def subsampled(plan: Subsample, delta: Fraction) -> Iterator[Published]:
    """Amplification by subsampling, from the plan's guarantee at its share of delta, and from its pure one."""
    rate, inner = Fraction(plan.batch, plan.users), account(plan.plan, REPLACE_ONE)

    def share() -> Enclosure:
        if not delta < rate:
            raise ValueError(f"subsampling needs delta < q, got delta={float(delta):g} and q={float(rate):g}")
        return theorems.without_replacement(inner.epsilon(delta / rate).high, delta / rate, rate)[0]

    def pure() -> Enclosure:
        if not math.isfinite(epsilon := inner.epsilon(0).high):
            raise ValueError("subsampling needs a plan of finite epsilon at delta = 0, got an infinite one")
        return theorems.without_replacement(epsilon, 0, rate)[0]

    source, one = "Balle, Barthe, Gaboardi 2018, theorem 9", "m of n users without replacement, one user replaced"
    yield Published("BBG18 subsampling, at delta/q", 2018, source, share, f"{one}, delta < q")
    yield Published("BBG18 subsampling, at delta = 0", 2018, source, pure, f"{one}, a finite epsilon at delta = 0")


def _sampled(coin: Fraction, threshold: int, delta: Fraction) -> Enclosure:
    """The epsilon at which sample-and-threshold reaches delta."""
    nothing = Enclosure(1.0, 1.0, Rigour.INTERVAL, "no bound")

    def delta_of(epsilon: float) -> Enclosure:
        if math.exp(-epsilon) > 1 - coin:  # the formula asks for more; next to it, its own check decides
            return nothing
        try:
            return theorems.sample_and_threshold(coin, epsilon, threshold)
        except ValueError:
            return nothing

    return inverse(delta_of, math.inf, delta)
