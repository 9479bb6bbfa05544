"""What a page shows beyond a certificate's record, derived from its deployment: a curve, a risk, what would hold instead."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpaudit.accountants import account
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.risk import Risk
from ldpaudit.certificates.verification import deployment_of
from ldpaudit.claim import SLACK, Claim
from ldpaudit.core.expression import parse
from ldpaudit.core.number import show
from ldpaudit.core.remembered import remembered
from ldpaudit.enclosure import Enclosure, show_down, show_up
from ldpaudit.errors import LdpauditError, Unsupported
from ldpaudit.files import toml
from ldpaudit.files.deployment import Deployment, usual
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Aggregate, Guarantee, Plan, Repeat, Run, Shuffle
from ldpaudit.profile import PrivacyProfile
from ldpaudit.registry import CONSTRUCTOR, constructors, find, parameters_of
from ldpaudit.studies.design import GUARANTEE, SEARCHED, Goal, design

_FARTHER = (2, 10, 100, 1000)
"""How many times the smallest delta at which any epsilon holds is asked about, until one is finite."""
_DIGITS = 6  # significant digits of what is said to hold; rounded up, so that it holds as printed


@dataclass(frozen=True, slots=True)
class Repair:
    """What to say and what to do where a claim is not shown to hold."""

    # why no epsilon holds, where that is so; then the nearest claims that hold, certified as they are printed
    sentences: tuple[str, ...]
    command: str = ""  # that finds parameters which keep the claim; empty where there is none
    answer: str = ""  # what the command answers

    @property
    def lines(self) -> tuple[str, ...]:
        """Each in a line, for a screen."""
        return (*self.sentences, *([f"{self.answer}: {self.command}"] if self.command else []))


def repairs(certificate: Certificate) -> dict[str, Repair]:
    """Of every claim of a certificate that is refuted or undecided, by its id; nothing where the code is another mechanism."""
    whole = deployment_of(certificate)
    shown = (claim for claim in certificate.claims if not claim.code_differs)
    lacking = {claim.id for claim in shown if not claim.verdict.reached or claim.infinite}
    return {claim.id: repair(whole, claim) for claim in whole.claims if claim.id in lacking}


def repair(whole: Deployment, claim: Claim) -> Repair:
    """What would hold in place of one claim of a deployment."""
    try:
        profile = account(claim.plan, claim.neighbours)
        epsilon = profile.epsilon(claim.delta)
        if claim.ceiling is not None and epsilon.high <= claim.ceiling:  # it is the code that is at fault
            return Repair(())
        given = f"assuming that {'; and that '.join(claim.axioms)}, " if claim.axioms else ""
        sentences = tuple(given + each for each in (*_infinite(profile, epsilon), *_nearest(profile, claim, epsilon)))
    except Unsupported:
        return Repair(())
    return Repair(sentences, *_designed(whole, claim))


def _infinite(profile: PrivacyProfile, epsilon: Enclosure) -> Iterator[str]:
    """Why epsilon is infinite at the claim's delta, and from where on it is not."""
    if math.isfinite(epsilon.high):
        return
    lost = profile.delta(math.inf)
    if lost.low > 0:
        yield (
            f"below delta = {show_down(lost.low, _DIGITS)} no epsilon holds, however large: with that probability "
            "a view shows something that is impossible on another input"
        )
    for times in _FARTHER:
        delta = Fraction(show_up(min(lost.high * times, 1.0), 2))
        if 0 < delta < 1 and math.isfinite(finite := profile.epsilon(delta).high):
            yield f"at delta = {float(delta):g}, epsilon is at most {show_up(finite, _DIGITS)}"
            return


def _nearest(profile: PrivacyProfile, claim: Claim, epsilon: Enclosure) -> Iterator[str]:
    """The smallest epsilon that is certified at the claim's delta, and the smallest delta at its epsilon."""
    if math.isfinite(epsilon.high):
        short = f"{epsilon.high:.{_DIGITS}g}"
        as_judged = Fraction(short) * (1 + SLACK) >= epsilon.high  # to the slack to which the judge reads a claim
        yield f"at this delta an epsilon of {short if as_judged else show_up(epsilon.high, _DIGITS)} holds"
    if claim.epsilon is not None and (delta := profile.delta(claim.epsilon).high) < 1:
        yield f"at this epsilon a delta of {show_up(delta, _DIGITS)} holds"


def _designed(whole: Deployment, claim: Claim) -> tuple[str, str]:
    """The command and its answer; both empty where no parameter can be asked for."""
    shape = _shape(claim.plan)
    if claim.epsilon is None or shape is None or shape[0] != whole.plan or claim.neighbours != usual(whole.plan):
        return "", ""
    _, users, repeat = shape
    goal = Goal(claim.epsilon, claim.delta)
    for name, given in _questions(toml.parse(whole.text, whole.id)["mechanism"]):
        try:
            answer = design(name, {key: _number(value) for key, value in given.items()}, goal, users, repeat)
        except (ValueError, ArithmeticError, LdpauditError):
            continue
        found = f"{answer.parameter} = {answer.value} is the {answer.best} found that keeps the claim"
        texts = ((key, str(value).replace(" ", "")) for key, value in given.items())
        texts = ((key, f"'{text}'" if set("()*'") & set(text) else text) for key, text in texts)
        words = ["ldpaudit design", name, *(f"{key}={text}" for key, text in texts)]
        words += [f"--epsilon {goal.epsilon}", *([f"--delta {show(goal.delta)}"] if goal.delta else [])]
        words += [f"--shuffle {users}"] * (users is not None) + [f"--repeat {repeat}"] * (repeat is not None)
        return " ".join(words), found
    return "", ""


def _shape(plan: Plan) -> tuple[Plan, int | None, int | None] | None:
    """What one user runs, how many users are shuffled, and how often: as `design` is asked; None for other plans."""
    if any(isinstance(leaf, Guarantee) and leaf.delta == 1 for leaf in plan.leaves()):
        return None  # by rho or mu, of which `design` knows nothing
    match plan:
        case Run() | Guarantee():
            return plan, None, None
        case Shuffle(Run() | Guarantee() as inner, users):
            return inner, users, None
        case Repeat(Run() | Guarantee() | Shuffle() as once, times) if (found := _shape(once)) is not None:
            return found[0], found[1], times
    return None


def _questions(table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mechanism, and its parameters but one, in every way in which one may be asked for."""
    kind, variant = table["kind"], table.get("variant", "")
    given = {key: value for key, value in table.items() if key not in ("kind", "variant", CONSTRUCTOR)}
    if kind == GUARANTEE:
        yield kind, {}
        return
    owner: type[Mechanism] = find(kind, variant)
    name = f"{kind}:{variant}" if variant else kind
    for maker, make in constructors(owner).items():
        wanted = parameters_of(make)
        for asked in SEARCHED:
            needed = {key for key, p in wanted.items() if p.default is p.empty} - {asked}
            if asked in wanted and needed <= set(given):
                rest = {key: value for key, value in given.items() if key in wanted and key != asked}
                yield name, rest
                yield name, {**rest, CONSTRUCTOR: maker}


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError:
        return value  # the name of a constructor


POINTS = 41  # values of epsilon at which the curve is certified, besides those where it is asked about
SMALLEST = 1e-9  # the smallest delta of the curve, where the claim names none that is smaller
_BEYOND = 1.1  # how far beyond the claim and the certified epsilon the curve goes


_SEEN = {
    "user-period": "all that a user sends in one period",
    "user-day": "all that a user sends in a day",
    "relay-day": "what a relay publishes of a day",
    "lifetime": "all that a user ever sends",
}
"""What an adversary sees where a claim's unit is not its name."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Of one claim."""

    seen: str  # what an adversary sees, in words
    curve: tuple[tuple[float, Enclosure], ...] = ()  # delta at values of epsilon; empty where no profile is certified
    risk: Risk | None = None  # what the profile means; None where none is certified
    repair: Repair | None = None  # what would hold instead; None where the claim holds
    trusts: tuple[str, str] | None = None  # of a sum: which users, and whose noise, must be honest


def exhibits(certificate: Certificate) -> dict[str, Exhibit]:
    """Of every claim, by its id; nothing is sampled, and nothing that the deployment names is imported."""
    whole = deployment_of(certificate)
    lacking = {claim.id for claim in certificate.claims if not claim.verdict.reached or claim.infinite}
    found = {}
    for claim, written in zip(whole.claims, certificate.claims, strict=True):
        if written.code_differs:  # what would be shown is another mechanism's
            found[claim.id] = Exhibit(_seen(claim))
            continue
        instead = repair(whole, claim) if claim.id in lacking else None
        try:
            curve = _curve(account(claim.plan, claim.neighbours), claim)
            risk = Risk.of(written.risk) if written.risk else None
            found[claim.id] = Exhibit(_seen(claim), curve, risk, instead, _trusts(claim.plan))
        except Unsupported:
            found[claim.id] = Exhibit(_seen(claim), repair=instead, trusts=_trusts(claim.plan))
    return found


def _trusts(plan: Plan) -> tuple[str, str] | None:
    if not isinstance(plan, Aggregate):
        return None
    noise = Counter(map(str, plan.noise))
    return f"{plan.users:,}", ", ".join(f"{times} x {each}" if times > 1 else each for each, times in noise.items()) or "none"


def _seen(claim: Claim) -> str:
    one = _SEEN.get(claim.unit, f"one {claim.unit}")
    match claim.plan:
        case Shuffle():
            return f"the views of all users in random order, {one} each"
        case Aggregate(_, users, noise, most):
            whose = "1 honest user" if users == 1 else f"{users:,} honest users"
            added = f", and the noise of {len(noise)} honest aggregator{'s' * (len(noise) > 1)}" if noise else ""
            left = "" if most is None else f", without those of more than {most} one{'s' * (most > 1)}"
            return f"the sum of the views of {whose}, {one} each{left}{added}"
    return one


def _curve(profile: PrivacyProfile, claim: Claim) -> tuple[tuple[float, Enclosure], ...]:
    smallest = min(SMALLEST, float(claim.delta) / 10) if claim.delta else SMALLEST
    ends = (profile.coarse().epsilon(smallest).high, profile.epsilon(claim.delta).high, float(claim.epsilon or 0))
    asked = [end for end in ends if math.isfinite(end)]
    found = dict(_from_zero_to(_BEYOND * (max(asked, default=0.0) or 1.0), claim.plan, claim.neighbours))
    return tuple(sorted({**found, **{epsilon: profile.coarse().delta(epsilon) for epsilon in asked}}.items()))


@remembered
def _from_zero_to(widest: float, plan: Plan, neighbours: Neighbours) -> tuple[tuple[float, Enclosure], ...]:
    """Points of the curve; claims about one plan often share them."""
    shown = account(plan, neighbours).coarse()
    return tuple((epsilon, shown.delta(epsilon)) for epsilon in (widest * i / (POINTS - 1) for i in range(POINTS)))
