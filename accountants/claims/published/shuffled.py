"""Published bounds of what shuffling buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.published.theorem import Published, inverse
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.accountants.numerics.search import bisect, crossing
from ldpaudit.accountants.shuffling import theorems as shuffling
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan, Run

_WIDTH = 1e-9  # relative width to which a conjectured epsilon is searched for, each step of which takes a certified sum


_ANY = "0 < epsilon0, 0 < delta"  # what every theorem of this file needs of a report
_EFMRTT = "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, theorem 7"
_FMT = "Feldman, McMillan, Talwar 2021, theorem 3.1"
_BBGN = "Balle, Bell, Gascon, Nissim 2019"
_STRONGER = "Feldman, McMillan, Talwar 2022, theorem 3.2 (erratum)"


def shuffled(inner: Plan, users: int, delta: Fraction, neighbours: Neighbours | None) -> Iterator[Published]:
    """Theorems of shuffling, from the epsilon of one report at delta = 0."""
    epsilon0 = account(inner, neighbours).epsilon(0).high
    k = inner.mechanism.k if isinstance(inner, Run) and isinstance(inner.mechanism, KaryRandomizedResponse) else None
    yield Published("EFMRTT19 closed form", 2019, _EFMRTT, lambda: shuffling.efmrtt19(epsilon0, users, delta),
                    "0 < epsilon0 <= 1/2, n >= 1000, 0 < delta <= 1/100", Provenance.RESTORED)  # fmt: skip
    yield Published("FMT21 closed form", 2021, _FMT, lambda: shuffling.fmt21(epsilon0, users, delta),
                    "0 < epsilon0 <= log(n / (16 log(2/delta))), 0 < delta", Provenance.RESTORED)  # fmt: skip

    def clones() -> Enclosure:
        if not (0 < epsilon0 < math.inf and users >= 2):
            raise ValueError(f"the theorem needs 0 < epsilon0 < infinity and n >= 2, got epsilon0={epsilon0:g}, n={users}")
        return CloneProfile(Fraction(epsilon0), users, tolerance=1e-6).epsilon(delta)

    yield Published("FMT21 clones, computed", 2021, _FMT, clones, f"{_ANY}, n >= 2")

    def at_delta(theorem: Callable[..., Enclosure], k: int | None) -> Callable[[], Enclosure]:
        return lambda: inverse(lambda e: theorem(epsilon0, users, e, k), epsilon0, delta)

    # Two public implementations of Bennett's bound differ by a factor of e**epsilon - 1; ours is derived, see its docstring.
    for name, theorem, number, known in (
        ("Hoeffding", shuffling.bbgn19_hoeffding, "theorem 5.3", Provenance.RESTORED),
        ("Bennett", shuffling.bbgn19_bennett, "theorem 5.4", Provenance.MEMORY),
    ):
        source, any_report = f"{_BBGN}, {number}", at_delta(theorem, None)
        yield Published(f"BBGN19 {name}, any report", 2019, source, any_report, _ANY, known)
        if k is not None:
            needs = f"k-ary randomized response, {_ANY}"
            yield Published(f"BBGN19 {name}, {k}-ary RR", 2019, source, at_delta(theorem, k), needs, known)
    if k is not None:
        uniform = Fraction(k * (1 - inner.mechanism.p), k - 1)  # type: ignore[attr-defined]
        yield Published(f"BBGN19 closed form, {k}-ary RR", 2019, f"{_BBGN}, theorem 3.1",
                        lambda: _uniform(k, users, uniform, delta),
                        "k-ary randomized response, 0 < epsilon <= 1, 0 < delta, n >= 2")  # fmt: skip
    yield Published("FMT22 stronger clones", 2022, _STRONGER, lambda: _stronger(epsilon0, users, delta), _ANY, proved=k == 2)


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
