"""How loose the field's formulas are, and how much noise papers print, as pictures: writes docs/pictures.

    python -m benchmarks.looseness docs/pictures

Needs matplotlib (extra 'plot'). `section` is the part of docs/literature.md that shows them, below the ledger.
"""

import io
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.needed_noise import sufficient_count_min
from ldpaudit import Plan, Repeat, Shuffle, account
from ldpaudit.accountants.claims.ledger import ledger
from ldpaudit.accountants.claims.published import published
from ldpaudit.accountants.claims.trie_heavy_hitter import room
from ldpaudit.files.whole import write_whole
from ldpaudit.mechanisms import KaryRandomizedResponse, ShuffledCountMin, TrieHeavyHitter
from ldpaudit.report import tables as report

MILLIONTH = Fraction(1, 10**6)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's, which people with any colour vision tell apart."""
MARKERS = "osD^vP"


@dataclass(frozen=True)
class Line:
    """One formula: its value over what is certified, where its hypotheses are met."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Picture:
    """A picture: its file's name, what it shows, the axes' labels, what stands at 1, and the lines for values of x."""

    name: str
    caption: str
    across: str
    up: str
    one: str
    grid: tuple[float, ...]
    lines: Callable[[Iterable[float]], list[Line]]


def looseness(plans: Iterable[tuple[float, Plan]], names: Sequence[str]) -> list[Line]:
    """Formulas of these names over the certified epsilon at delta = 1e-6; no point where one does not apply."""
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for x, plan in plans:
        for row in published(plan, MILLIONTH, account(plan).epsilon(MILLIONTH)):
            if row.name in points and row.printed is not None:
                points[row.name].append((x, row.printed.looseness))
    return [Line(name, tuple(found)) for name, found in points.items()]


SHUFFLING = (
    "EFMRTT19 closed form", "FMT21 closed form", "BBGN19 Bennett, any report", "BBGN19 Hoeffding, any report",
    "BBGN19 Bennett, 3-ary RR", "FMT21 clones, computed",
)  # fmt: skip
COMPOSITION = (
    "DKMMN06 basic composition", "DRV10 advanced composition", "HKR12 composition", "KOV15 closed form", "BS16 zCDP",
    "M17 Renyi, with CKS20",
)  # fmt: skip


def noise(grid: Iterable[float]) -> list[Line]:
    """Printed over sufficient noise; for TrieHH, whose noise is what its batch leaves out, sufficient over printed batch."""
    users = [round(n) for n in grid]
    return [
        Line("GGKPV count-min, (1, 1e-6)", tuple(_sketch(n) for n in users if _printable(n))),
        *(Line(f"TrieHH, {said}", tuple(_trie(n, levels) for n in users)) for levels, said in ((1, "1 level"), (10, "10 levels"))),
    ]


def _as_printed(users: int) -> ShuffledCountMin:
    return ShuffledCountMin.as_printed(1, MILLIONTH, users, 1 << 10, 1)


def _printable(users: int) -> bool:
    """Whether the printed gamma is a probability up to 1/2."""
    try:
        return _as_printed(users).gamma <= Fraction(1, 2)
    except ValueError:
        return False


def _sketch(users: int) -> tuple[float, float]:
    m = _as_printed(users)
    return users, float(m.gamma / sufficient_count_min(m, Fraction(1), MILLIONTH).gamma)


def _trie(users: int, levels: int) -> tuple[float, float]:
    threshold = len(str(users - 1)) + 6
    batch, largest = room(TrieHeavyHitter(users, math.isqrt(users), threshold, levels), Fraction(1, 300 * users))
    return users, largest / batch


def powers(low: float, high: float, per_decade: int) -> tuple[float, ...]:
    """Powers of ten, and a given number of points from each to the next."""
    return tuple(10 ** (i / per_decade) for i in range(round(low * per_decade), round(high * per_decade) + 1))


LOOSE = "formula's epsilon / certified epsilon (ratio)"
HALF, HUNDREDTH = KaryRandomizedResponse.for_epsilon(Fraction(1, 2), 3), KaryRandomizedResponse.for_epsilon(Fraction(1, 100), 2)
PICTURES = (
    Picture("shuffling-users", "Shuffled three-ary reports of epsilon 1/2, at delta = 1e-6.",
            "users n", LOOSE, "certified", powers(3, 8, 2),
            lambda grid: looseness(((n, Shuffle(HALF, n)) for n in map(round, grid)), SHUFFLING)),
    Picture("shuffling-epsilon", "A million shuffled three-ary reports, at delta = 1e-6; EFMRTT19 ends at its epsilon of 1/2.",
            "epsilon of one report (nats)", LOOSE, "certified", powers(-1.25, 0.75, 8),
            lambda grid: looseness(((e, Shuffle(KaryRandomizedResponse.for_epsilon(e, 3), 10**6)) for e in grid), SHUFFLING)),
    Picture("composition-runs", "T binary reports of epsilon 1/100, at delta = 1e-6; HKR12 ends where its total epsilon is 1.",
            "runs T", LOOSE, "certified", powers(0, 6, 2),
            lambda grid: looseness(((t, Repeat(HUNDREDTH, t)) for t in map(round, grid)), COMPOSITION)),
    Picture("noise-users", "Noise as printed over noise that suffices for the printed promise; for TrieHH, the largest batch that "
            "keeps it over the printed one.",
            "users n", "printed noise / noise that suffices (ratio)", "suffices", powers(4, 10, 1), noise),
)  # fmt: skip


def draw(picture: Picture) -> bytes:
    """A PNG, the same bytes for the same data and matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for line, colour, marker in zip(picture.lines(picture.grid), COLOURS, MARKERS, strict=False):
        xs, ys = zip(*line.points, strict=True)
        axes.plot(xs, ys, color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=line.name)
    axes.axhline(1, color="black", linewidth=1, linestyle="--", label=picture.one)
    axes.set(xlabel=picture.across, ylabel=picture.up, xscale="log", yscale="log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.grid(alpha=0.25, which="both")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


SECTION = """\
## The field's formulas

`ldpaudit table field` prints the same tables. They have the formulas that people usually cite, at three settings each: what the
formula needs, whether it holds (*outside* if a hypothesis is not met, with that hypothesis), and its epsilon over the certified
one. *Known how* is as *source* above: *restored* formulas are those of public implementations, or of an IETF draft for cpSGD.
*Edge* is a setting where hypotheses end, or where a formula is loosest. The accountant itself uses BBG18 at delta/q for a
subsampled plan, hence 1 x."""
SHOWN = """\
### Pictures

`python -m benchmarks.looseness docs/pictures` draws these pictures. The height is a formula's epsilon over the certified one."""


def section() -> str:
    """The ledger and the pictures, for docs/literature.md."""
    shown = [f"![{each.caption}](pictures/{each.name}.png)\n\n{each.caption}" for each in PICTURES]
    return "\n\n".join([SECTION, report.markdown(ledger()), SHOWN, *shown])


if __name__ == "__main__":
    for each in PICTURES:
        write_whole(Path(sys.argv[1], f"{each.name}.png"), draw(each))
