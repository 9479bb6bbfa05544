"""Published bounds of what shuffling buys."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.published.theorem import Published, inverse
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import bisect, crossing
from ldpaudit.accountants.shuffling import theorems as shuffling
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.clones import TOLERANCE, CloneProfile
from ldpaudit.accountants.shuffling.randomizers import of_mechanism
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan, Run

_WIDTH = 1e-9  # relative width to which an epsilon is searched for, each step of which takes a certified sum
_ROUNDED = 1 + 1e-8  # by how much it is rounded up: more than what a certified end is searched to, so that the same number holds

_ANY = "0 < epsilon0, 0 < delta"  # what every theorem of this file needs of a report
_EFMRTT = "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, theorem 7"
_FMT = "Feldman, McMillan, Talwar 2021, theorem 3.1"
_BBGN = "Balle, Bell, Gascon, Nissim 2019"
_DECOMPOSED = "Su, Cheng, Wang 2025: the best decomposition is the blanket of Balle, Bell, Gascon, Nissim 2019, lemma 5.3"
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
    def reached(delta_of: Callable[[float], float]) -> float:
        if not (0 < epsilon0 < math.inf and delta > 0):
            raise ValueError(f"the theorem needs 0 < epsilon0 < infinity and delta > 0, got {epsilon0:g} and {float(delta):g}")
        guess = min(epsilon0, math.exp(epsilon0 / 2) * math.sqrt(-2 * math.log(delta) / users)) / 2
        return crossing(delta_of, delta, guess, 2, _WIDTH)[1]

    if blankets := _blankets(inner, users):

        def decomposed() -> Enclosure:
            found = reached(lambda e: _hidden(blankets, users, e))
            return Enclosure(0.0, found * _ROUNDED, Rigour.INTERVAL, "the blanket")

        needs = f"reports of finitely many views, {_ANY}"
        yield Published("SCW25 optimal decomposition", 2025, _DECOMPOSED, decomposed, needs, Provenance.DERIVED)

    def stronger() -> Enclosure:
        found = reached(lambda e: shuffling.stronger_clone_conjecture(epsilon0, users, e).high)
        return Enclosure(0.0, found, Rigour.FLOAT, "the stronger clone")

    yield Published("FMT22 stronger clones", 2022, _STRONGER, stronger, _ANY, proved=k == 2)


def _blankets(inner: Plan, users: int) -> tuple[Blanket, ...]:
    """Of the pairs of inputs of a report whose views are few; none of another one."""
    if not isinstance(inner, Run):
        return ()
    if isinstance(m := inner.mechanism, KaryRandomizedResponse):
        lie = (1 - m.p) / (m.k - 1)
        return (Blanket.of([(m.p, lie, lie), (lie, m.p, lie), ((m.k - 2) * lie,) * 3]),)
    found = of_mechanism(m, users)
    return found.blankets if isinstance(found, BlanketBound) else ()


def _hidden(blankets: tuple[Blanket, ...], users: int, epsilon: float) -> float:
    """The largest delta of user 1's message in the blanket of the others'."""
    with working_precision(precision(users)):
        e = ball(Fraction(epsilon)).exp()
        return min(1.0, max(round_up(blanket.delta(e, users, TOLERANCE)) for blanket in blankets))

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

