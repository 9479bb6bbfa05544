"""The leaderboard of systems, for people, pages and programs."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpaudit.display.digits import show_up
from ldpaudit.report.plot import new_figure, save
from ldpaudit.report.printer import Cells, TableFormat
from ldpaudit.studies.comparison import CLOSE

if TYPE_CHECKING:
    from ldpaudit.studies.comparison import Contender, Contest, Score

HEAD = ("system", "rank", "model", "epsilon", "bits a user", "recall", "precision", "largest missed", "finds from", "rms error",
        "largest error", "seconds", "MB")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """What was compared, and how all did."""

    contest: Contest  # what was asked
    users: int  # of the data
    values: int
    rows: tuple[tuple[Contender, Score], ...]  # in any order

    @property
    def ranked(self) -> list[tuple[Contender, Score]]:
        """Oracles by error, then systems that name values by recall; of either kind those that are not calibrated last."""
        def rank(row: tuple[Contender, Score]) -> tuple[float, ...]:
            names, s = row[0].names_values, row[1]
            return names, not s.is_calibrated, *((-s.recall, s.missed) if names else (s.error, s.largest_error))

        return sorted(self.rows, key=rank)

    @property
    def places(self) -> list[int | None]:
        """Of the rows as they are ranked, their places among those of their kind; None of those that are not calibrated."""
        met = Counter[bool]()
        places: list[int | None] = []
        for contender, score in self.ranked:
            met[contender.names_values] += score.is_calibrated
            places.append(met[contender.names_values] if score.is_calibrated else None)
        return places

    @property
    def title(self) -> str:
        """In a line."""
        values = min(self.contest.dictionary, self.values)
        asked = f"({float(self.contest.epsilon):g}, {float(self.contest.delta):g}), oracles asked about {values:,} values"
        post = "" if self.contest.post == "none" else f" after {self.contest.post} where all counts are estimated"
        wanted = f"the top {self.contest.top} to be recovered"
        return f"{self.users:,} users, {self.values:,} values, {asked}, {wanted}; errors in users{post}"

    @property
    def remarks(self) -> list[str]:
        """On the rows without a place, and on systems that name values and were given the dictionary."""
        apart = ", ".join(str(contender) for contender, score in self.ranked if not score.is_calibrated)
        told = ", ".join(str(c) for c, score in self.ranked if c.names_values and score.knows_dictionary)
        near = f"{float(CLOSE * self.contest.epsilon):g} to {float(self.contest.epsilon):g}"
        said = {f"not calibrated, hence not ranked: no epsilon from {near} was certified": apart,
                "given the dictionary, because it cannot be made for more values": told}  # fmt: skip
        return [f"{what}: {who}" for what, who in said.items() if who]


def write(table: Leaderboard, form: TableFormat) -> str:
    """As text, Markdown, CSV or LaTeX."""
    written = form.written(HEAD, [_cells(place, *row) for place, row in zip(table.places, table.ranked, strict=True)], left=1)
    apart = {TableFormat.text: "\n", TableFormat.markdown: "\n\n"}.get(form)
    return written if apart is None else apart.join([table.title, written, *table.remarks])


def _cells(place: int | None, contender: Contender, score: Score) -> Cells:
    def number(value: float, digits: int = 0) -> str:
        return "-" if math.isnan(value) else f"{value:.{digits}f}"

    s = score
    named = str(contender), "-" if place is None else str(place), s.model, show_up(s.epsilon, 4), number(s.bits)
    found = number(s.recall, 2), number(s.precision, 2), str(s.missed), number(s.found_from)
    return *named, *found, number(s.error), number(s.largest_error), number(s.seconds, 2), number(s.megabytes)


def as_data(table: Leaderboard, left: Sequence[str]) -> dict[str, Any]:
    """For JSON: numbers that are not there are null."""
    rows = []
    for place, (contender, score) in zip(table.places, table.ranked, strict=True):
        found = {key: None if value != value else value for key, value in dataclasses.asdict(score).items()}
        rows.append({"system": str(contender), "rank": place, "names values": contender.names_values, **found})
    contest = table.contest
    asked = {"epsilon": float(contest.epsilon), "delta": float(contest.delta), "dictionary": contest.dictionary}
    data = {"users": table.users, "values": table.values, **asked, "top": contest.top, "seed": contest.seed, "post": contest.post}
    return {**data, "rows": rows, "left out": list(left)}


def draw(table: Leaderboard, path: Path) -> None:
    """Errors and recall as bars.

    Raises LdpauditError where matplotlib is missing; DeploymentError where the path has another ending or cannot be
    written.
    """
    rows = table.ranked[::-1]
    names = [str(contender) + ("" if score.is_calibrated else " (not calibrated)") for contender, score in rows]
    colours = ["tab:orange" if contender.names_values else "tab:blue" for contender, _ in rows]
    figure = new_figure(path, 11, 1.2 + 0.3 * len(rows))
    errors, recall, sent = figure.subplots(1, 3, sharey=True)
    errors.barh(names, [score.error for _, score in rows], color=colours)
    errors.set_xscale("log")
    errors.set_xlabel("root mean square error, in users")
    recall.barh(names, [score.recall for _, score in rows], color=colours)
    recall.set_xlabel(f"share of the top {table.contest.top} recovered")
    recall.set_xlim(0, 1)
    sent.barh(names, [max(score.bits, 1) for _, score in rows], color=colours)
    sent.set_xscale("log")
    sent.set_xlabel("bits a user")
    figure.suptitle(f"{table.title}\nblue: oracles, asked; orange: systems that name values", fontsize="medium")
    save(figure, path)
