"""What a certified profile means for one user: the best that an adversary can do, and nothing that the profile does not imply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ldpaudit.accountants import account
from ldpaudit.accountants.pld.trade_off import TradeOff, guess_between_two, posterior
from ldpaudit.core.records import EnclosureRecord, PosteriorRecord, RiskRecord, TruePositiveRecord
from ldpaudit.core.remembered import remembered
from ldpaudit.display import markup
from ldpaudit.enclosure import Enclosure, show_down, show_up
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan
from ldpaudit.profile import PrivacyProfile

RATES = (Fraction(1, 100), Fraction(1, 1000))  # false-positive rates at which an adversary's test is judged
PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""Probabilities that an adversary gives an input before anything is seen."""
DIGITS = 5  # significant digits of a chance that is shown
_SHORT, _NEARLY_SURE = 3, 0.99
"""Significant digits of the complement, and the chance above which it is that which is rounded."""
_MEETING = 1e-12  # relative width below which the ends of an enclosure are one number to a reader
_SMALL = Decimal("1e-6")  # chances below are shown with an exponent


@dataclass(frozen=True, slots=True)
class Risk:
    """The best that anybody can do who sees the views, knows all other inputs, and has unlimited time."""

    guess: Enclosure  # chance of the right guess between two neighbouring inputs that are equally likely
    # chance that a test finds an input, for each chance that it raises a false alarm
    true_positive: tuple[tuple[Fraction, Enclosure], ...]
    # largest probability of an input after the views, for each probability before
    posterior: tuple[tuple[Fraction, Enclosure], ...]

    @property
    def rows(self) -> Iterator[tuple[str, Enclosure]]:
        """Each chance with what it is a chance of."""
        yield "right guess between two inputs", self.guess
        for rate, found in self.true_positive:
            yield f"power of tests of level {percent_exactly(rate)}", found
        for prior, found in self.posterior:
            yield f"posterior, of a prior of {percent_exactly(prior)}", found

    def _repr_html_(self) -> str:
        """For notebooks."""
        return markup.card("The best that an adversary can do", ((name, percent(chance)) for name, chance in self.rows))

    @property
    def record(self) -> RiskRecord:
        """As a certificate says it."""
        tests = (
            TruePositiveRecord(**ends(found), false_positive=str(rate), false_positive_number=float(rate))
            for rate, found in self.true_positive
        )
        beliefs = (PosteriorRecord(**ends(e), prior=str(p), prior_number=float(p)) for p, e in self.posterior)
        return RiskRecord(guess=EnclosureRecord.of(self.guess), true_positive=tuple(tests), posterior=tuple(beliefs))

    @classmethod
    def of(cls, record: RiskRecord) -> Risk:
        """Read back from a certificate."""
        return cls(
            record.guess.read(),
            tuple((Fraction(each.false_positive), each.read()) for each in record.true_positive),
            tuple((Fraction(each.prior), each.read()) for each in record.posterior),
        )

    def sentence(self, seen: str) -> str:
        """What it means for a user, in a plain sentence; every chance is rounded up."""
        prior, sure = self.posterior[-1]
        most = percent_up(sure)
        belief = "may become certain" if most == "100 %" else f"is never more than {most} sure"
        return (
            f"An adversary who sees {seen} and knows everything else guesses which of two inputs it was with a chance of at most "
            f"{percent_up(self.guess)} (a coin has 50 %), and {belief} of an input that "
            f"was held {percent_exactly(prior)} likely before."
        )


def risk(profile: PrivacyProfile) -> Risk:
    """The best that an adversary can do against one user, from a certified profile.

    ``profile``: of one run of a plan. Returns enclosed probabilities, at the false-positive rates `RATES` and the
    prior probabilities `PRIORS`.

    Examples
    --------
    >>> from ldpaudit.accountants import account
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> found = risk(account(KaryRandomizedResponse(k=2, p=Fraction(3, 4))))
    >>> percent(found.guess), percent(found.true_positive[0][1])
    ('75 %', '3 %')
    """
    tests = TradeOff(profile)
    return Risk(
        guess=guess_between_two(profile),
        true_positive=tuple((rate, tests.at(rate)) for rate in RATES),
        posterior=tuple((prior, posterior(profile, prior)) for prior in PRIORS),
    )


@remembered
def of_plan(plan: Plan, neighbours: Neighbours) -> Risk:
    """What the certified profile of a plan implies; derived once for as many claims as are about it.

    Raises Unsupported where no profile is certified.
    """
    return risk(account(plan, neighbours))


def ends(chance: Enclosure) -> dict[str, Any]:
    """As plain data."""
    return {**asdict(chance), "rigour": chance.rigour.name}


def percent(chance: Enclosure) -> str:
    """Both ends in percent, rounded outward; one number where a short one lies between ends that nearly meet."""
    short = _between(chance)
    if short is not None:
        return _shown(short)
    low = chance.low
    down = 1 - Decimal(show_up(1 - low, _SHORT)) if low > _NEARLY_SURE else Decimal(show_down(low, DIGITS))
    return f"{_shown(down)[:-2]} to {_shown(_up(chance.high))}"


def percent_up(chance: Enclosure) -> str:
    """The upper end in percent, rounded up; a short number between ends that nearly meet needs no rounding."""
    short = _between(chance)
    return _shown(_up(chance.high) if short is None else short)


def percent_exactly(probability: Fraction) -> str:
    """A probability of few decimals in percent."""
    return _shown(Decimal(probability.numerator) / probability.denominator)


def _between(chance: Enclosure) -> Decimal | None:
    """The short decimal that is as good as the chance itself, where there is one."""
    short = Decimal(f"{chance.high:.{DIGITS}g}")
    return short if chance.relative_width < _MEETING and chance.low <= short <= chance.high else None


def _up(chance: float) -> Decimal:
    """Rounded up; next to 1 it is the complement that is short, or nearly everything would be 100 %."""
    # A float's complement is exact from 1/2 on.
    return 1 - Decimal(show_down(1 - chance, _SHORT)) if chance > _NEARLY_SURE else Decimal(show_up(chance, DIGITS))


def _shown(short: Decimal) -> str:
    return f"{(100 * short).normalize():{'f' if short == 0 or short > _SMALL else 'e'}} %"
