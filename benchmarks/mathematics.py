"""The pictures of docs/mathematics.md.

    python -m benchmarks.mathematics [docs/pictures]

They illustrate: their numbers are floats, computed here from the laws themselves, but for the certified curves of the second.
"""

import math
import sys
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

import ldpaudit as ldp
from benchmarks.experiment import picture
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.accountants.shuffling.theorems import stronger_clone_conjecture
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.e_process import EProcess
from ldpaudit.attacks.bounds.nuisance import NuisanceTest

LOW, HIGH, GREY, MARK = "#1f6f8b", "#c8553d", "#9aa0a6", "#f2d492"


def hockey_stick(axes: Any) -> None:
    """Two Laplace laws, and the area that delta is."""
    y, epsilon = np.linspace(-4, 5, 600), 0.5
    p, q = (np.exp(-np.abs(y - centre)) / 2 for centre in (0, 1))
    axes.plot(y, p, color=LOW, label="P, on input x")
    axes.plot(y, math.exp(epsilon) * q, color=HIGH, label=r"$e^\varepsilon Q$, on input x'")
    axes.fill_between(y, p, math.exp(epsilon) * q, where=p > math.exp(epsilon) * q, color=MARK, label=r"$\delta(\varepsilon)$")
    axes.set(xlabel="view y", ylabel="density", title="The hockey-stick divergence is an area")


def dominating(axes: Any) -> None:
    """Two certified curves, one above the other."""
    m = ldp.mechanisms.KaryRandomizedResponse.for_epsilon(1.0, k=10)
    epsilons = np.linspace(0, 1.1, 23)
    guarantee = ldp.account(ldp.Guarantee(epsilon=1))
    for profile, name, color in ((guarantee, "any mechanism with epsilon = 1", HIGH), (ldp.account(m), "10-ary response", LOW)):
        axes.plot(epsilons, [profile.delta(float(e)).high for e in epsilons], color=color, label=name)
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta(\varepsilon)$", title="One pair dominates another: its curve is above")


def blanket(axes: Any) -> None:
    """What the report of every input has in common."""
    k, p = 5, 0.5
    law = np.full((k, k), (1 - p) / (k - 1))
    np.fill_diagonal(law, p)
    axes.bar(np.arange(k), law[1], color=LOW, width=0.6, label="report of a user who holds 1")
    axes.bar(np.arange(k), law.min(axis=0), color=MARK, width=0.6, label="blanket: the same for every input")
    axes.set(xlabel="report y", ylabel="probability", title=f"The blanket of {k}-ary response, total {law.min(axis=0).sum():.3g}")


def replacement(axes: Any) -> None:
    """Certified ratios of epsilon over users, at an epsilon0 of nearly 1."""
    _over_attained(axes, [10**k for k in range(2, 9)], lambda n: (Fraction(27, 100), n))
    axes.set(xscale="log", xlabel="users", ylim=(0.9, 2.5))
    axes.set_title(r"Shuffled optimized unary encoding, $\varepsilon_0 = 1$, $\delta = 10^{-6}$")


def replacement_by_report(axes: Any) -> None:
    """The same over epsilon0, of a million users."""
    _over_attained(axes, [0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8], lambda e: (Fraction(1 / (1 + math.exp(e))), 10**6))
    axes.set(xlabel=r"$\varepsilon_0$", ylim=(0.9, 2.5))
    axes.set_title(r"The same of a million users, over $\varepsilon_0$")


def _over_attained(axes: Any, points: list[Any], setting: Callable[[Any], tuple[Fraction, int]]) -> None:
    """Four theorems and a conjecture over what a data set attains; a setting is a rate of flipped zeros, and the users."""
    curves: dict[str, list[float]] = {"clones": [], "stronger clones (a conjecture)": [], "blanket": [], "replacement": []}
    for point in points:
        q, n = setting(point)
        m = ldp.mechanisms.UnaryEncoding(k=16, p=Fraction(1, 2), q=q)
        epsilon0, shuffled = ldp.account(m).epsilon(0).high, ldp.account(ldp.Shuffle(m, n))
        bound = shuffled.bound
        ends = [replace(shuffled, bound=each).epsilon(1e-6) for each in (replace(bound, replaced=None), bound)]
        clones = CloneProfile(Fraction(epsilon0), n).epsilon(1e-6).high
        stronger = brentq(_above_millionth, 0, epsilon0, (epsilon0, n), xtol=1e-6 * clones)
        for name, high in zip(curves, (clones, stronger, ends[0].high, ends[1].high), strict=True):
            curves[name].append(high / ends[1].low)
    for (name, ratios), color in zip(curves.items(), (GREY, MARK, HIGH, LOW), strict=True):
        axes.plot(points, ratios, "o-", color=color, label=name)
    axes.set(ylabel=r"bound of $\varepsilon$ / what a data set attains")


def _above_millionth(epsilon: float, epsilon0: float, users: int) -> float:
    return stronger_clone_conjecture(epsilon0, users, epsilon).high - 1e-6


def worst_data_set(axes: Any) -> None:
    """Delta by how many other users hold what user 1 holds."""
    n, p = 60, 0.75
    for epsilon, color in ((0.1, LOW), (0.3, HIGH)):
        deltas = [_divergence(n, t, p, epsilon) for t in range(n)]
        worst = int(np.argmax(deltas))
        axes.plot(range(n), np.array(deltas) / max(deltas), color=color, label=rf"$\varepsilon$ = {epsilon}, worst at t = {worst}")
        axes.plot([worst], [1], "o", color=color)
    axes.set(xlabel=f"t of the {n - 1} others hold what user 1 holds", ylabel=r"$\delta$ / largest $\delta$")
    axes.set_title("The worst data set of shuffled binary response")


def _divergence(n: int, t: int, p: float, epsilon: float) -> float:
    """Of the number of ones among n shuffled reports: user 1 holds 1 or 0, t of the others hold 1."""
    others = np.convolve(stats.binom.pmf(np.arange(t + 1), t, p), stats.binom.pmf(np.arange(n - t), n - 1 - t, 1 - p))
    first, second = (np.convolve(others, [1 - share, share]) for share in (p, 1 - p))
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def lattice(axes: Any) -> None:
    """What it costs to move a loss to two lattice points."""
    epsilon = 0.7
    y = np.linspace(0, 1.1, 400)
    points, moved = np.exp([-1.35, -0.9, -0.45]), math.exp(-0.65)

    def added(y: Any) -> Any:
        return np.maximum(1 - math.exp(epsilon) * y, 0)

    axes.plot(y, added(y), color=LOW, label=r"what a loss adds to $\delta$: $(1 - e^{\varepsilon - L})_+$")
    axes.plot(points, added(points), "o-", color=HIGH, label="lattice points, and the chords between them")
    chord = float(np.interp(moved, points, added(points)))
    axes.plot([moved, moved], [added(moved), chord], color=GREY, linewidth=4, label="what moving one loss adds")
    axes.set(xlabel=r"$e^{-L}$", title="Connect the dots: a convex function lies below its chords")


def rounds(axes: Any) -> None:
    """How much one vote more tells of a release."""
    rate, threshold = 0.01, 18
    w = np.arange(0, 4000, 5)
    without, with_user = _released(w, rate, threshold), _released(w + 1, rate, threshold)
    axes.semilogy(w, with_user, color=GREY, label="g'(w): released, with the user")
    for epsilon, color in ((0.0, LOW), (0.01, HIGH)):
        gap = np.maximum(with_user - math.exp(epsilon) * without, 1e-300)
        axes.semilogy(w, gap, color=color, label=rf"$g' - e^{{{epsilon:g}}} g$, largest at w = {w[int(np.argmax(gap))]}")
    axes.set(xlabel="w other holders of a prefix", ylim=(1e-12, 2), title=f"A vote of a {rate:.0%} sample, threshold {threshold}")


def _released(holders: Any, rate: float, threshold: int) -> Any:
    return stats.binom.sf(threshold - 1, holders, rate)


def e_process(axes: Any) -> None:
    """Bets that win where the claim is false, and lose where it is true."""
    rng, views, alpha, claim = np.random.default_rng(5), 3000, 0.001, 1.0
    steps = np.arange(10, views + 1, 25)
    test = EProcess(inputs=2, share=0.0, alpha=alpha, bets=(1.2,))
    for true, color, paths in ((1.0, LOW, 12), (1.25, HIGH, 6)):
        for path in range(paths):
            right = np.cumsum(rng.random(views) < special.expit(true))[steps - 1]
            wealth = test.log_value(right, steps - right, steps, claim) / math.log(10)
            label = f"epsilon is {true}, {'the claim' if true == claim else 'above the claim'}" if path == 0 else None
            axes.plot(steps, wealth, color=color, linewidth=0.8, label=label)
    axes.axhline(-math.log10(alpha), color=GREY, linestyle="--", label="refuted, at confidence 0.999")
    axes.set(xlabel="views", ylabel="log10 of the e-process", title="Bets against the claim that epsilon is 1", ylim=(-6, 8))


def nuisance(axes: Any) -> None:
    """The counts from which the exact test refutes."""
    n, epsilon, delta, alpha = 10_000, 1.0, 0.01, 0.001
    test = NuisanceTest(inputs=2, share=delta / 2, alpha=alpha)
    wrong = np.arange(0, 1201, 60)
    allowed = n * delta / 2 + math.exp(epsilon) * wrong
    refuted = [
        bisect_left(range(n), True, lo=int(most), key=lambda right, w=w: test.refutes(Counts(right, int(w), n), epsilon))
        for w, most in zip(wrong, allowed, strict=True)
    ]
    axes.plot(wrong, allowed, color=LOW, label=r"the most that the claim allows: $R = e^\varepsilon W + \delta'$")
    axes.plot(wrong, refuted, color=HIGH, label="counts from which the claim is refuted")
    axes.set(xlabel="wrong guesses", ylabel="right guesses", title=f"{n:,} views, epsilon = 1, delta = {delta}, confidence 0.999")


PICTURES: dict[str, Callable[[Any], None]] = {
    "hockey-stick": hockey_stick, "dominating": dominating, "blanket": blanket, "replacement": replacement,
    "replacement-report": replacement_by_report, "worst-data-set": worst_data_set,
    "lattice": lattice, "rounds": rounds, "e-process": e_process, "nuisance": nuisance,
}  # fmt: skip


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures")
    mpl.rcParams.update({"font.size": 8, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False})
    for name, draw in PICTURES.items():
        with picture(folder / f"mathematics-{name}.svg", (6, 3), "mathematics") as figure:
            axes = figure.add_subplot()
            draw(axes)
            axes.legend(frameon=False, fontsize=7)
