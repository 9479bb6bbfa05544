"""What would hold instead: the nearest claims that a profile keeps, and the command that finds parameters for the claim."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpaudit.accountants import account
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.verification import deployment_of
from ldpaudit.claim import SLACK, Claim
from ldpaudit.core.expression import parse
from ldpaudit.core.number import show
from ldpaudit.enclosure import Enclosure, show_down, show_up
from ldpaudit.errors import LdpauditError, Unsupported
from ldpaudit.files import toml
from ldpaudit.files.deployment import Deployment, usual
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Guarantee, Plan, Repeat, Run, Shuffle
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
    lacking = {claim.id for claim in certificate.claims if not (claim.verdict.reached or claim.code_differs)}
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
        yield f"at this delta an epsilon of {_rounded_up(epsilon)} holds"
    if claim.epsilon is not None and (delta := profile.delta(claim.epsilon).high) < 1:
        yield f"at this epsilon a delta of {show_up(delta, _DIGITS)} holds"


def _rounded_up(found: Enclosure) -> str:
    short = f"{found.high:.{_DIGITS}g}"
    # As the judge reads it.
    return short if Fraction(short) * (1 + SLACK) >= found.high else show_up(found.high, _DIGITS)


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
        return _command(name, given, goal, users, repeat), found
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


def _command(name: str, given: Mapping[str, Any], goal: Goal, users: int | None, repeat: int | None) -> str:
    words = ["ldpaudit design", name, *(f"{key}={_word(value)}" for key, value in given.items())]
    words += [f"--epsilon {goal.epsilon}", *([f"--delta {show(goal.delta)}"] if goal.delta else [])]
    words += [f"--shuffle {users}"] * (users is not None) + [f"--repeat {repeat}"] * (repeat is not None)
    return " ".join(words)


def _word(value: Any) -> str:
    text = str(value).replace(" ", "")
    return f"'{text}'" if set("()*'") & set(text) else text
