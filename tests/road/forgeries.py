"""Certificates that were forged by somebody who recomputes the digest."""

import copy
import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import ldpaudit as ldp
from ldpaudit.attacks.bounds import level
from ldpaudit.attacks.engine import play, run
from ldpaudit.certificates.certificate import Certificate, EvidenceRecord
from ldpaudit.certificates.certify import claim_seed
from ldpaudit.files.deployment import loads
from ldpaudit.verdict import Outcome
from tests.helpers import COIN, deployment, some

TRIALS = 2_000
DEPLOYMENT = """\
schema = "ldpaudit.deployment/1"
id = "base"
title = "A base"
note = "kept small"
sources = ["nowhere"]
[mechanism]
kind = "randomized_response"
k = 3
epsilon = 1
[shuffle]
users = 5
[[claims]]
id = "local"
epsilon = 1
view = "local"
source = "the review"
expect = "holds"
[[claims]]
id = "delta"
epsilon = 1
delta = "1/1000"
view = "local"
[[claims]]
id = "false"
epsilon = "1/10"
view = "local"
[[claims]]
id = "shuffled"
epsilon = "?"
delta = "1/1000"
"""
LOCAL, DELTA, FALSE, SHUFFLED = range(4)
UNSEEDED = deployment(
    COIN.replace('p = "3/4"', "epsilon = 1"), 'id = "local"\nepsilon = 1', "unseeded",
    '[implementation]\ncallable = "tests.road.forgeries:honest"\n',
)  # fmt: skip

Data = dict[str, Any]
Forgery = Callable[[Data], object]


def honest(x: int) -> int:
    """As declared, and from a source of its own."""
    return x if np.random.default_rng().random() < 0.7310585786300048 else 1 - x


@cache
def genuine(text: str = DEPLOYMENT, seed: int = 0, trials: int = TRIALS) -> Certificate:
    return ldp.certify(loads(text), seed=seed, trials=trials)


def forged(forgery: Forgery, text: str = DEPLOYMENT) -> str:
    """A certificate with what the forgery changes; verdict and digest are recomputed where it leaves them."""
    certificate = genuine(text)
    data = copy.deepcopy(certificate.to_dict())
    forgery(data)
    if data["verdict"] == str(certificate.verdict) and data["claims"] and isinstance(data["claims"], list):
        data["verdict"] = min((c["verdict"] for c in data["claims"]), key=[*map(str, Outcome)].index)
    if data["digest"] == certificate.digest:
        data["digest"] = _digest(data)
    return json.dumps(data, indent=2)


def _digest(data: Data) -> str:
    """As `Certificate.digest`, of plain data that may be no certificate."""
    body = {("schema_" if k == "schema" else k): v for k, v in data.items() if k not in ("digest", "verdict")}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def whole(**changes: Any) -> Forgery:
    return lambda data: data.update(changes)


def claim(index: int = LOCAL, **changes: Any) -> Forgery:
    return lambda data: data["claims"][index].update(changes)


def evidence(index: int = LOCAL, **changes: Any) -> Forgery:
    return lambda data: data["claims"][index]["evidence"].update(changes)


def recomputed(index: int = LOCAL, **changes: Any) -> Forgery:
    """Evidence with all that follows from its counts, the last look among it."""

    def forge(data: Data) -> None:
        found = data["claims"][index]["evidence"]
        found.update(changes)
        last = found["trajectory"]["looks"][-1]
        if found["mode"] == "sequential":
            found["trajectory"].update({name: found[name] for name in ("tuning", "directions")})
            last.update({name: found[name] for name in ("trials", "measured", "guesses", "right")})
        last["trials"] = found["trials"]
        bounds_of_looks(found)
        for field, of in (("epsilon_lower", level.bound_of), ("p_value", level.p_value_of), ("detectable", level.detectable_of)):
            found[field] = of(EvidenceRecord.model_validate_json(json.dumps(found)).read())
        found["resolution"] = EvidenceRecord.model_validate_json(json.dumps(found)).read().resolution

    return forge


def looks(index: int = LOCAL, at: int = 1, **by: Any) -> Forgery:
    """Numbers of a look that are as much larger."""

    def forge(data: Data) -> None:
        look = data["claims"][index]["evidence"]["trajectory"]["looks"][at]
        look.update({name: look[name] + more for name, more in by.items()})

    return forge


def trajectory(index: int = LOCAL, **changes: Any) -> Forgery:
    return lambda data: data["claims"][index]["evidence"]["trajectory"].update(changes)


def look_with_its_bound(data: Data) -> None:
    """Another count of a look, and what follows from it."""
    looks(LOCAL, 5, right=1)(data)
    bounds_of_looks(data["claims"][LOCAL]["evidence"])


def bounds_of_looks(found: Data) -> None:
    """What follows from the counts of all looks."""
    e = EvidenceRecord.model_validate_json(json.dumps(found)).read()
    bounds = level.bounds_of(some(e.trajectory), e.inputs, e.delta, e.confidence)
    for each, bound in zip(found["trajectory"]["looks"], bounds, strict=True):
        each["epsilon_lower"] = bound


def counted(index: int, by: int) -> Forgery:
    """As many more right guesses, with all that follows."""
    return lambda data: recomputed(index, right=data["claims"][index]["evidence"]["right"] + by)(data)


def pasted(seed: int, index: int = LOCAL, source: int = LOCAL) -> Forgery:
    """Evidence of another run, or of another claim."""
    return lambda data: claim(index, evidence=copy.deepcopy(genuine(seed=seed).to_dict()["claims"][source]["evidence"]))(data)


def under_this_seed(forgery: Forgery) -> Forgery:
    """The seed of the first claim, put over what is forged there."""

    def forge(data: Data) -> None:
        forgery(data)
        evidence(seed=claim_seed(data["seed"], data["id"], data["claims"][LOCAL]["id"]))(data)

    return forge


def seen_once(data: Data) -> None:
    found = data["claims"][LOCAL]["evidence"]
    found["event"] = run.seen_once(found["event"], found["right"])


def seed_and_all_that_derive_from_it(data: Data) -> None:
    data["seed"] = 1
    for each in data["claims"]:
        each["evidence"]["seed"] = claim_seed(1, data["id"], each["id"])


LARGER = DEPLOYMENT.replace("epsilon = 1\nview", "epsilon = 2\nview")
FIRST_BET_MOVED = [0.99, *(0.1 * ratio for ratio in play.RATIOS)]
SEEN: dict[str, Forgery] = {
    "the verdict beside the claims": whole(verdict="PROVED"),
    "the schema": whole(schema="ldpaudit.certificate/0"),
    "the id": whole(id="other"),
    "the title": whole(title="Approved"),
    "the note": whole(note=""),
    "the sources": whole(sources=["somewhere"]),
    "a seed that is negative": whole(seed=-1),
    "a seed that the evidence does not have": whole(seed=5),
    "trials that are too few": whole(trials=3),
    "trials that nobody draws": whole(trials=10**30),
    "trials that the evidence has not": whole(trials=4_000),
    "a confidence above 1": whole(confidence=2.0),
    "a confidence that the evidence has not": whole(confidence=0.99),
    "no versions": whole(versions={}),
    "a version of what no number depends on": lambda data: data["versions"].update(approved="yes"),
    "no claims": whole(claims=[]),
    "a claim left out": lambda data: data["claims"].pop(),
    "claims in another order": lambda data: data["claims"].reverse(),
    "a field that is not known": whole(approved=True),
    "a field that is known inside only": whole(schema_="ldpaudit.certificate/9"),
    "a claim's field that is not known": claim(approved=True),
    "a deployment that claims less": lambda data: data.update(deployment=data["deployment"].replace('"1/10"', "1")),
    "a deployment that is none": whole(deployment="id ="),
    "a claim's verdict": claim(FALSE, verdict="PROVED"),
    "a claim's reason": claim(FALSE, reason="epsilon <= 0.1"),
    "a claim's sentence": claim(sentence="one report is 0.1-differentially private for replace-one neighbours"),
    "a claim's plan": claim(plan="nothing"),
    "a claim's epsilon": claim(epsilon="1/10"),
    "a claim's delta": claim(DELTA, delta="0"),
    "a claim's epsilon, as a number": claim(epsilon_number=0.1),
    "a claim's delta, as a number": claim(DELTA, delta_number=0.0),
    "a question's epsilon, as a number": claim(SHUFFLED, epsilon_number=0.1),
    "a date that is none": whole(date="2026-02-30"),
    "a claim's neighbours": claim(neighbours="add-remove"),
    "a claim's unit": claim(unit="lifetime"),
    "a claim's source": claim(source="the law"),
    "a claim's record": claim(FALSE, expect="refuted"),
    "a claim's limits": claim(unsupported=["nothing is known"]),
    "an enclosure that is narrower": lambda data: data["claims"][SHUFFLED]["enclosure"].update(high=0.1),
    "an enclosure left out": claim(enclosure=None),
    "a proof left out": claim(proofs=[]),
    "a proof of fewer steps": lambda data: data["claims"][LOCAL]["proofs"][0].update(steps=1),
    "a chance of a right guess": lambda data: data["claims"][LOCAL]["risk"]["guess"].update(high=0.51),
    "a true-positive rate": lambda data: data["claims"][DELTA]["risk"]["true_positive"][1].update(high=0.001),
    "a false-positive rate": lambda data: data["claims"][LOCAL]["risk"]["true_positive"][0].update(false_positive="1/10"),
    "a belief": lambda data: data["claims"][SHUFFLED]["risk"]["posterior"].pop(),
    "the risk left out": lambda data: data["claims"][SHUFFLED].pop("risk"),
    "a number left out": lambda data: data["claims"][LOCAL].pop("epsilon_number"),
    "looks left out": lambda data: data["claims"][LOCAL]["evidence"].pop("trajectory"),
    "a sentence left out": lambda data: data["claims"][LOCAL]["evidence"].update(resolution=""),
    "a witness left out": lambda data: data["claims"][SHUFFLED].pop("witness"),
    "a witness of other data sets": lambda data: data["claims"][SHUFFLED]["witness"].update(first=[["1", 5]]),
    "evidence left out": claim(evidence=None),
    "evidence of another run": pasted(1),
    "evidence of another claim": pasted(0, DELTA, LOCAL),
    "evidence of another claim under this seed": under_this_seed(pasted(0, LOCAL, FALSE)),
    "a bound that is higher": evidence(epsilon_lower=3.0),
    "a bound that is infinite": evidence(epsilon_lower="inf"),
    "a bound that is lower": evidence(FALSE, epsilon_lower=0.0),
    "evidence at another delta": recomputed(delta=0.5),
    "evidence at another confidence": recomputed(confidence=0.5),
    "evidence against another claim": recomputed(claimed=0.5),
    "evidence with no seed": evidence(seed=None),
    "more views than there were": evidence(trials=TRIALS + 1),
    "fewer views, though nothing was refuted": recomputed(trials=1_000, measured=900, guesses=500, right=300),
    "more measured than drawn": recomputed(measured=TRIALS + 1),
    "the views that chose the rule, counted": recomputed(measured=TRIALS),
    "more right than guesses": evidence(guesses=5, right=6),
    "counts below 0": recomputed(SHUFFLED, right=-1),
    "more guesses than views": evidence(guesses=TRIALS + 1),
    "no inputs": evidence(inputs=0),
    "no inputs, and no directions": evidence(inputs=0, directions=0, guesses=0, right=0, tuning=[]),
    "more directions than inputs": recomputed(directions=9),
    "no directions": recomputed(directions=0),
    "level 900": evidence(level=900.0),
    "the whole level for one of two looks": recomputed(level=1.0),
    "a look of another mode": recomputed(FALSE, mode="fixed", tuning=[]),
    "an infinite bet": lambda data: data["claims"][FALSE]["evidence"]["tuning"].__setitem__(0, "inf"),
    "other bets": recomputed(FALSE, tuning=[0.3, 0.9]),
    "a first bet that no audit makes": recomputed(FALSE, tuning=[25.0, *(0.1 * ratio for ratio in play.RATIOS)]),
    "a stake above all": recomputed(DELTA, mode="sequential", level=0.9, tuning=[5.0]),
    "a p-value": evidence(p_value=1e-9),
    "no p-value": evidence(p_value=None),
    "what it could detect": evidence(detectable=1.0000001),
    "what it could see, in words": evidence(resolution="nothing escapes this audit"),
    "a look's bound": looks(epsilon_lower=0.1),
    "a look's count": looks(at=-2, right=1),
    "a count of a look that falls": looks(at=-1, right=-10**6),
    "a look that is not the last one's": looks(at=-1, trials=1),
    "a look at no more views than before": lambda data: data["claims"][LOCAL]["evidence"]["trajectory"]["looks"].insert(
        0, data["claims"][LOCAL]["evidence"]["trajectory"]["looks"][0]
    ),
    "no looks": trajectory(looks=[]),
    "a level of looks": trajectory(level=1.0),
    "bets of looks": trajectory(tuning=[0.3, 0.9]),
    "directions of looks": trajectory(DELTA, directions=9),
    "other bets of looks than of the evidence": trajectory(FALSE, tuning=FIRST_BET_MOVED),
    "how different reports were": evidence(distinct=1.0),
    "what was read in short": evidence(limited="nothing"),
    "the pair of inputs": evidence(pair=["0", "0"]),
    "the event": evidence(event="{y = anything}"),
    "an event that was seen on one input only": seen_once,
    "the game": recomputed(inputs=2, directions=2),
    "a count that is true": evidence(directions=True),
    "a level that is true": evidence(level=True),
    "a count that is a float": evidence(measured=1.5),
    "a number in words": evidence(epsilon_lower="0.5"),
    "a number that is none": evidence(epsilon_lower="nan"),
}  # fmt: skip
"""What plain `verify` sees."""

UNSEEN: dict[str, tuple[str, Forgery, str]] = {
    "the counts, with the bound and all else that follows from them": ("--resample", counted(LOCAL, -1), DEPLOYMENT),
    "views of an audit that stopped early": ("--resample", recomputed(FALSE, trials=300), DEPLOYMENT),
    "a look before the last, with the bound that follows from it": ("--resample", look_with_its_bound, DEPLOYMENT),
    "directions, where delta is 0": ("--resample", evidence(FALSE, directions=2), DEPLOYMENT),
    "the first bet, with all that follows from it": ("--resample", recomputed(FALSE, tuning=FIRST_BET_MOVED), DEPLOYMENT),
    "evidence of another run, under this run's seed": ("--resample", under_this_seed(pasted(1)), DEPLOYMENT),
    "the seed, here and in all evidence": ("--resample", seed_and_all_that_derive_from_it, DEPLOYMENT),
    "a comment in the deployment": (
        "--deployment", lambda data: data.update(deployment=data["deployment"] + "# approved\n"), DEPLOYMENT,
    ),
    "a true certificate of another deployment": (  # it claims what it likes
        "--deployment", lambda data: data.update(genuine(LARGER).to_dict()), DEPLOYMENT,
    ),
    "the date": ("--key", whole(date="2026-01-31"), DEPLOYMENT),
    "the issuer": ("--key", whole(issuer="The authority"), DEPLOYMENT),
    "the versions": ("--key", lambda data: data["versions"].update(ldpaudit="9.9"), DEPLOYMENT),
    "the counts of code that draws from a source of its own": ("--key", counted(0, -1), UNSEEDED),
    "a seed that was chosen among many": (
        "--key", lambda data: data.update(genuine(seed=7).to_dict()), DEPLOYMENT,
    ),
}  # fmt: skip
"""What it cannot see, and the option that does; docs/security.md has the same list."""
