r"""How many reports a score is learned from, and the tests that begin to bet while it is learned.

Without a claim to refute a score is learned from a share of the budget, and from as many again where more would help. With
a claim in a sequential audit, what is learned from counts too: a score is learned again whenever the reports have doubled,
and the reports that come in between are guessed by what was learned before them.

Level: an audit is a gambler who begins with one unit. Now and then a part of what has not been staked is set aside for a new
test (`Wager`), and from then on that part is multiplied by the factors of `ldpaudit.attacks.bounds.e_process`, one for each
view that the test counts. When a test begins, what it is given and what it bets on, whether it counts a view, and the pair, the
score and the rule by which the view is guessed are functions of earlier views alone; which of the pair's inputs makes the view
is a fair coin that nothing else depends on. So each factor has mean at most 1 under the claim, given all that came before, and the
gambler's wealth, which is the unstaked part plus the sum over the tests of share times e-process, is a nonnegative
supermartingale that begins at 1. A test of share s refutes where its e-process reaches :math:`1/(s\alpha)`; there the wealth is
at least :math:`1/\alpha`, which by Ville's inequality happens with probability at most alpha, however many tests have begun, at
whatever times and on whatever pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ldpaudit.attacks.blackbox.choosing import LUCK, Chosen, Reports, learn
from ldpaudit.attacks.blackbox.encoding import Encoded, between, join
from ldpaudit.attacks.blackbox.scores import NOTHING
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import level_test
from ldpaudit.attacks.engine.play import CERTAIN, FINAL, LEAST, STEP, bets, multiples, surely_above
from ldpaudit.attacks.games.game import Wager
from ldpaudit.attacks.games.two_inputs import CANDIDATES, NEVER, Choice, Prospect, ThresholdRule
from ldpaudit.core import pace
from ldpaudit.evidence import Mode
from ldpaudit.workers.experiment import Experiment

AGAIN = 2  # a score that still learns gets this many times the reports
FIRST, GROWTH, GROWTH_LONG = 8, 2, 4
"""Where a claim is to be refuted, a score is learned from 8 reports on each input, and again whenever there are twice as many; or
four times, if reports are long and learning takes longer than drawing them."""
EARLY, SOONER = 0.2, 0.5
"""What is set aside for a bet on the first thing that is learned, however little speaks for it; and of the rest, for one on what is
likely to refute the claim. All that is left is for what surely does, or for the last thing that is learned; a part of it for
rarer reports, where these promise more."""
BOLD = 512  # views after which the first bet, too, is only on what is likely to refute the claim

GUESSED = ThresholdRule(1.0, -1.0)  # what the engine counts of guesses, which are scores of 1, -1 and 0

LEADERS = 8
"""Inputs of many that are looked at more closely; of these half are left whenever each has twice the reports."""

UNKNOWN = Chosen((0, 1), NOTHING, NEVER, 0.0)  # what is guessed by before anything is learned

Draw = Callable[[Sequence[int], int], list[Encoded]]
"""(positions of inputs, size): fresh reports on each of these inputs."""
Toss = Callable[[tuple[int, int], int], list[tuple[Encoded, int]]]
"""(positions of two inputs, size): fresh reports, each on either input by a fair coin; for each input they and their number."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was chosen, how many views that took, the tests that have begun, and whether one of them has refuted the claim."""

    found: Chosen
    drawn: int
    wagers: tuple[Wager, ...] = ()
    refuted: bool = False


@dataclass(slots=True)
class _Stock:
    """Reports on one input, as they come."""

    parts: list[tuple[Encoded, int]] = field(default_factory=list)
    size: int = 0

    def add(self, encoded: Encoded, size: int) -> None:
        """Put more reports to those that are there."""
        self.parts.append((encoded, size))
        self.size += size

    def first(self, size: int) -> Encoded:
        """The first of them."""
        self.parts = [(join(self.parts), self.size)]
        return between(self.parts[0][0], 0, size)


@dataclass(frozen=True, slots=True)
class _Bet:
    """A test that has begun, and what it guesses by."""

    wager: Wager
    played: Chosen
    plays: bool = True  # whether it counts the views that come
    bold: bool = False  # whether it guesses by whatever was learned, and not only by what is likely to refute the claim
    sure: bool = False  # whether only what surely refutes the claim may replace what it guesses by


@dataclass(frozen=True, slots=True)
class Learning:
    """A score that is learned from fresh reports."""

    draw: Draw  # makes fresh reports
    inputs: int  # how many inputs there are; each has been asked for one report already
    budget: int  # reports on all inputs together
    experiment: Experiment  # what the score is for
    classifier: bool  # whether a classifier is trained too
    tell: Callable[[int], None]  # called with the views drawn so far whenever something was learned from them
    toss: Toss  # makes fresh reports by which bets are won
    growth: int = GROWTH  # how many times the reports there are when a score is learned again
    share: float = 1.0  # of the level
    wagers: tuple[Wager, ...] = ()  # tests that began while another event was looked for, and go on

    def run(self) -> Learned:
        """What was chosen, with all that was counted meanwhile."""
        if self.experiment.enough is not None:
            return self._betting()
        size = self.budget // self.inputs
        reports = Reports(self.draw(range(self.inputs), size), size)
        drawn = self.inputs * (size + 1)
        found = self._learn(reports, drawn)
        if not found.rising():
            return Learned(found, drawn)
        # From as many reports again, on the two inputs alone.
        more = self.budget * (AGAIN - 1) // 2
        fresh = self.draw(found.pair, more)
        both = [join([(reports.drawn[x], size), (new, more)]) for x, new in zip(found.pair, fresh, strict=True)]
        drawn += 2 * more
        return Learned(replace(self._learn(Reports(both, size + more), drawn, last=True), pair=found.pair), drawn)

    def _learn(self, reports: Reports, drawn: int, last: bool = False) -> Chosen:
        self.tell(drawn)
        e, betting = self.experiment, self.experiment.enough is not None
        looks = 1 + max(self.budget // (pace.LEAST * self.inputs), 1).bit_length() * betting
        prospect = Prospect(e.delta, e.alpha, max(e.trials - drawn, 1), LUCK / CANDIDATES**2 / looks)
        return learn(reports, prospect, e.seed if self.classifier else None, last, e.mode, betting)

    def _betting(self) -> Learned:
        """Learn and bet in turn: on the two inputs, or of many on the pair that leads, until another one does."""
        stocks, drawn, size, unstaked = [_Stock() for _ in range(self.inputs)], self.inputs, FIRST, 1.0
        unstaked -= sum(each.share for each in self.wagers)
        drawn += self._stocked(stocks, range(self.inputs), size)
        wagers = self.wagers
        if self.inputs == 2:
            return self._on_pair(stocks, (0, 1), drawn, self.budget, unstaked, wagers)[0]
        while True:
            found, most = self._known(stocks, range(self.inputs), drawn), size
            leading = found.leading[:LEADERS]
            while len(leading) > 2:
                most *= GROWTH
                drawn += self._stocked(stocks, leading, max(most - min(stocks[x].size for x in leading), 0))
                found = self._known(stocks, leading, drawn)
                leading = found.leading[: len(leading) // GROWTH]
            last = max(drawn, GROWTH * size * self.inputs) >= self.budget
            pair = (min(leading), max(leading)) if len(leading) == 2 else found.pair
            until = max(drawn, self.budget) if last else min(drawn + drawn // GROWTH, self.budget)
            made, unstaked = self._on_pair(stocks, pair, drawn, until, unstaked, wagers)
            if last or made.refuted or made.drawn >= self.budget:
                return made
            wagers = made.wagers
            drawn = made.drawn + self._stocked(stocks, range(self.inputs), (GROWTH - 1) * size)
            size *= GROWTH

    def _stocked(self, stocks: Sequence[_Stock], places: Sequence[int], size: int) -> int:
        """Fresh reports on these inputs, as many on each; their number. None are drawn where the stocks hold enough already."""
        if size:
            for x, fresh in zip(places, self.draw(places, size), strict=True):
                stocks[x].add(fresh, size)
        return size * len(places)

    def _known(self, stocks: Sequence[_Stock], places: Sequence[int], drawn: int, last: bool = False) -> Chosen:
        """What is learned from the reports on these inputs."""
        size = min(stocks[x].size for x in places)
        found = self._learn(Reports([stocks[x].first(size) for x in places], size), drawn, last)
        likely = found.likely
        if likely is not None:
            likely = replace(likely, pair=(places[likely.pair[0]], places[likely.pair[1]]), distinct=found.distinct)
        pair, leading = (places[found.pair[0]], places[found.pair[1]]), tuple(places[x] for x in found.leading)
        return replace(found, pair=pair, leading=leading, likely=likely)

    def _promises(self, found: Chosen | None) -> bool:
        """Whether it would refute the claim, if it is what it looks like."""
        return found is not None and found.promise > (self.experiment.enough or 0.0)

    def _on_pair(
        self,
        stocks: Sequence[_Stock],
        pair: tuple[int, int],
        drawn: int,
        until: int,
        unstaked: float,
        wagers: Sequence[Wager],
    ) -> tuple[Learned, float]:
        """Learn and bet on two inputs, until a test refutes the claim or `until` views are drawn; with what is left unstaked.

        What surely refutes the claim has the whole budget. Where another pair follows, the tests that began on this one end
        with it; those that were given, `wagers`, go on as they stand.
        """
        made, most = [_Bet(each, UNKNOWN) for each in wagers], drawn * GROWTH
        while True:
            found = self._known(stocks, pair, drawn, until >= AGAIN * self.budget)
            made, unstaked = self._staked(made, found, unstaked)
            if any(each.sure for each in made) or (made and not unstaked):
                until = max(until, self.budget)
            elif self._promises(found.likely):
                until = max(until, min(most, self.budget))
            if drawn >= until:
                if until < self.budget:
                    return Learned(found, drawn, tuple(each.wager for each in made[: len(wagers)])), unstaked
                if not found.rising() or until >= AGAIN * self.budget:
                    return self._ended(made, found, unstaked, drawn), 0.0
                until = AGAIN * self.budget
            seen = sum(stocks[x].size for x in pair)
            goal = min(drawn + (self.growth - 1) * seen, until)
            while drawn < goal:
                size = min(max(LEAST, seen // STEP), goal - drawn)
                seen += size
                sides = self.toss(pair, size)
                for x, (reports, often) in zip(pair, sides, strict=True):
                    stocks[x].add(reports, often)
                drawn += size
                made = [_counted(each, sides) for each in made]
                self.tell(drawn)
                for each in made:
                    if self._refutes(each.wager):
                        return Learned(each.played, drawn, tuple(other.wager for other in made), True), unstaked

    def _staked(self, made: list[_Bet], found: Chosen, unstaked: float) -> tuple[list[_Bet], float]:
        """The tests with what they guess by from now on, and those that begin; and what is left unstaked."""
        likely, goes_on = found.likely or found, list[_Bet]()
        for each in made:
            if each.sure:
                goes_on.append(replace(each, played=found) if self._promises(found) else each)
            else:
                bold = each.bold and each.wager.counts.trials < BOLD
                goes_on.append(replace(each, played=likely, plays=bold or self._promises(likely)))
        if not made and unstaked and (self.inputs == 2 or self._promises(likely)):
            goes_on.append(_Bet(self._wager(likely, EARLY * unstaked), likely, bold=True))
            unstaked *= 1 - EARLY
        if unstaked and all(each.bold for each in goes_on) and self._promises(likely):
            goes_on.append(_Bet(self._wager(likely, SOONER * unstaked), likely))
            unstaked *= 1 - SOONER
        if unstaked and self._promises(found):
            goes_on.append(_Bet(self._wager(found, unstaked), found, sure=True))
            unstaked = 0.0
        return goes_on, unstaked

    def _wager(self, found: Chosen, share: float) -> Wager:
        """A test that begins; it bets on what the judging reports showed."""
        seen, asked = max(found.judged.trials, 1), self.experiment
        choice = Choice(GUESSED, found.promise, found.judged.right / seen, found.judged.wrong / seen, believed=False)
        return Wager(share, GUESSED.directions, bets(asked, 2, choice, seen, learned=True))

    def _refutes(self, wager: Wager) -> bool:
        e = self.experiment
        alpha = (1 - FINAL) * self.share * wager.share * e.alpha
        test = level_test(Mode.SEQUENTIAL, 2, e.delta, wager.directions, alpha, wager.tuning)
        return bool(wager.counts.right) and test.refutes(wager.counts, surely_above(e.enough or 0.0))

    def _ended(self, made: list[_Bet], found: Chosen, unstaked: float, drawn: int) -> Learned:
        """What the engine goes on with: a test of what was learned last, and those that began before."""
        best = found.likely if found.likely and self._promises(found.likely) and not self._promises(found) else found
        # Where rarer reports promise more, the tests that began before guess by the first rule for them.
        place = int(bool(best.rarer().narrower))
        wagers = [each.wager if each.sure else replace(each.wager, place=place) for each in made]
        if place and unstaked:
            known = multiples(self.experiment.enough or 0.0)
            tuning = () if self.experiment.delta else (min(best.rarer().promise, CERTAIN), *known)
            wagers.append(Wager(SOONER * unstaked, GUESSED.directions, tuning, place=place))
            unstaked *= 1 - SOONER
        if unstaked and best.promise > 0:
            wagers.append(self._wager(best, unstaked))
        return Learned(best, drawn, tuple(wagers))


def _counted(bet: _Bet, sides: Sequence[tuple[Encoded, int]]) -> _Bet:
    """The bet after these reports."""
    if not bet.plays:
        return bet
    right, wrong = bet.played.rule.count(*(bet.played.score(reports, often) for reports, often in sides))
    counts = bet.wager.counts + Counts(right, wrong, sum(often for _, often in sides))
    return replace(bet, wager=replace(bet.wager, counts=counts))
