"""How many reports a score is learned from: few where they suffice to refute the claim, twice the budget where more would help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ldpaudit.attacks.blackbox.choosing import LUCK, Chosen, Reports, learn
from ldpaudit.attacks.blackbox.encoding import Encoded, join
from ldpaudit.attacks.games.two_inputs import CANDIDATES, Prospect
from ldpaudit.workers.experiment import Experiment

AGAIN = 2
"""A score that still learns gets this many times the reports."""
FEW, GROWTH = 64, 4
"""Where a claim is to be refuted, learning begins with at least 64 reports on each input, and goes on with 4 times as many as
long as what is learned does not promise to refute it."""

Draw = Callable[[Sequence[int], int], list[Encoded]]
"""(positions of inputs, size): fresh reports on each of these inputs."""


@dataclass(frozen=True, slots=True)
class Learning:
    """A score that is learned from fresh reports."""

    draw: Draw  # makes fresh reports
    inputs: int  # how many inputs there are; each has been asked for one report already
    budget: int  # reports on all inputs together
    experiment: Experiment  # what the score is for
    classifier: bool  # whether a classifier is trained too
    tell: Callable[[int], None]  # called with the views drawn so far whenever something was learned from them

    def run(self) -> tuple[Chosen, int]:
        """What was chosen, and how many views that took."""
        enough, sizes = self.experiment.enough, [self.budget // self.inputs]
        while enough is not None and sizes[0] >= GROWTH * FEW:
            sizes.insert(0, sizes[0] // GROWTH)
        reports = Reports([{} for _ in range(self.inputs)], 0)
        for size in sizes:
            reports = self._more(reports, range(self.inputs), size - reports.size)
            drawn = self.inputs * (size + 1)
            found = self._learn(reports, drawn, len(sizes))
            if enough is not None and found.promise > enough:
                return found, drawn
        if not found.rising:
            return found, drawn
        # From as many reports again, on the two inputs alone.
        size = self.budget * (AGAIN - 1) // 2
        drawn += 2 * size
        both = self._more(reports, found.pair, size)
        return replace(self._learn(both, drawn, len(sizes), last=True), pair=found.pair), drawn

    def _more(self, reports: Reports, places: Sequence[int], size: int) -> Reports:
        """Reports on these inputs alone, and this many fresh ones on each."""
        fresh = self.draw(places, size)
        joined = [join(reports.drawn[x], reports.size, new) for x, new in zip(places, fresh, strict=True)]
        return Reports(joined, reports.size + size)

    def _learn(self, reports: Reports, drawn: int, looks: int, last: bool = False) -> Chosen:
        self.tell(drawn)
        e = self.experiment
        prospect = Prospect(e.delta, e.alpha, max(e.trials - drawn, 1), LUCK / CANDIDATES**2 / looks)
        return learn(reports, prospect, e.seed if self.classifier else None, last, e.mode)
