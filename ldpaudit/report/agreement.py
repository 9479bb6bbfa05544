"""A record of the public registry beside a deployment file: what agrees, what differs, and what the record does not say.

Records of earlier editions of the schema are read, too: their keys have other names.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

from ldpaudit.accountants import account
from ldpaudit.claim import SLACK
from ldpaudit.display.digits import show_down, show_up
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files.deployment import UNITS, Deployment, table_of
from ldpaudit.files.stated import DeploymentTable
from ldpaudit.files.tables import spoken
from ldpaudit.files.toml import DEEPEST, read_text, too_deep
from ldpaudit.plan import Guarantee
from ldpaudit.report.record import model, yaml


class Standing(StrEnum):
    """How a field of the record stands to the file."""

    AGREES = "agrees"
    DIFFERS = "differs"
    SILENT = "record silent"
    OPEN = "cannot be compared"


@dataclass(frozen=True, slots=True)
class Line:
    """One field, or one thing that several say."""

    field: str
    standing: Standing
    why: str

    def __str__(self) -> str:
        return f"{self.field}: {self.standing}: {self.why}"


_PLACES = {
    "variant_name": ("dp_variant.variant_name", "dp_flavor.name"),
    "privacy_unit": ("privacy_loss.privacy_unit",),
    "epsilon": ("privacy_loss.privacy_parameters.epsilon",),
    "delta": ("privacy_loss.privacy_parameters.delta",),
    "model_name": ("deployment_model.model_name", "model.model_name"),
    "release_type": ("deployment_model.release_type", "model.release_type"),
    "release_type_details": (
        "deployment_model.release_type_details", "deployment_model.release_type_description", "model.release_type_description"
    ),
    "mechanisms": ("implementation.mechanisms",),
}  # fmt: skip
"""Where a field stands, in the editions of the schema."""
_UNITS = {
    "event": "report", "relay-day": "report", "report": "report", "record": "report", "user-day": "user-day", "user": "lifetime",
}  # fmt: skip
_PER = {
    "report": "report", "user-period": "user and period", "user-day": "user and day", "window": "user and window of epochs",
    "lifetime": "user",
}  # fmt: skip
_LETTERS = {
    "count_mean_sketch": {"m": "width", "k": "hashes"},
    "randomized_response": {"k": "k"},
    "rappor": {"k": "bits", "h": "hashes", "f": "f", "p": "p", "q": "q"},
}
"""The letters that papers have for parameters."""
_MEANT = {"hash functions": "hashes", "privatized vector": "width"}
"""Words of texts for parameters; the letter in brackets after them is the record's."""
_WORDS = {
    "count_mean_sketch": "count mean sketch", "hadamard": "hadamard count mean sketch",
    "randomized_response": "randomized response", "rappor": "rappor",
    "laplace": "laplace", "gaussian": "gaussian", "geometric": "geometric",
}  # fmt: skip
_NUMBER = r"(\d[\d,]{0,30}(?:\.\d{1,30})?)"
_SHORT = re.compile(r"[+-]?\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
"""A number of a field: one of a billion digits would be waited for."""
_EPSILON = re.compile(r"(?:\\?epsilon|[εϵ])(?:_\w)?[^0-9=]{0,20}?(?:=|\bof\b)\s*" + _NUMBER, re.IGNORECASE)
_LETTER = re.compile(r"\b([a-z])\s*=\s*" + _NUMBER)
_NAMED = re.compile(r"(hash functions|privatized vector)\s*\(([a-z])\b")
_DONATIONS = re.compile(r"\b(one|two|three|four|\d{1,9})\s+(?:donation|contribution|report)s?\s+(?:per|a)\s+day", re.IGNORECASE)
_BEYOND = 2.0**1000  # stands for infinity where fractions are compared; no record has it
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4}
_OFTEN = re.compile(r"\b(daily|weekly|monthly|hours?|hourly|continual)", re.IGNORECASE)


def read_record(path: str | Path) -> dict[str, Any]:
    """A record from YAML, as plain data. Raises DeploymentError where it is none."""
    text, library = read_text(path), yaml()
    try:
        if any(isinstance(token, library.AliasToken) for token in library.scan(text, Loader=library.SafeLoader)):
            raise DeploymentError("needs a record without aliases, which may stand for a million words", str(path))
        data = library.safe_load(text)
    except (library.YAMLError, ValueError, RecursionError) as error:
        raise DeploymentError(f"needs YAML: {' '.join(str(error).split()):.200}", str(path)) from None
    if not isinstance(data, dict) or not isinstance(data.get("deployment"), dict) or too_deep(data, DEEPEST):
        raise DeploymentError("needs a record of the registry, with a key 'deployment'", str(path))
    return data


def compared(data: Mapping[str, Any], whole: Deployment) -> list[Line]:
    """Every field that can be compared, in the order of the record, and what its texts say of the file and of each other."""
    file = table_of(whole.text)
    assert file is not None  # or it was no deployment
    says = {name: _at(data["deployment"], places) for name, places in _PLACES.items()}
    says["period"] = spoken(file.contribution.period).replace(" ", "-")
    delta = _number(says["delta"])
    delta = delta if delta is None or 0 <= delta < 1 else None
    known = _known(whole, delta or Fraction(0))
    texts = [" ".join(text.split()) for text in _texts(data["deployment"])]
    return [
        *_variant(says, known, delta),
        *_unit(says, known),
        _epsilon(says, known, whole),
        *_delta(says, whole, known, delta),
        *_model(says, whole),
        *_release(says),
        *_mechanism(says, file),
        *_numbers(texts, file, known),
        *_within(texts, says),
    ]


def _at(tree: Any, places: tuple[str, ...]) -> Any:
    """What stands at the first of these places; None where all are empty."""
    for place in places:
        found = tree
        for key in place.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found not in (None, ""):
            return found
    return None


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(each)


def _number(value: Any) -> Fraction | None:
    text = f"{value!s:.99}"
    return Fraction(text) if _SHORT.fullmatch(text) and not isinstance(value, bool) else None


def _known(whole: Deployment, delta: Fraction) -> dict[str, Enclosure]:
    """What is certified of each unit that the file bounds."""
    found = {}
    for each in whole.units:
        try:
            found[each.unit] = account(each.plan, each.neighbours).epsilon(delta)
        except Unsupported:
            continue
    return found


def _shown(e: Enclosure) -> str:
    """The upper end where both print alike, else both."""
    if e.high == math.inf:
        return "none"
    if e.low == 0:
        return f"at most {_near(e.high)}"
    return _near(e.high) if e.high - e.low <= float(SLACK) * e.high else f"[{show_down(e.low)}, {show_up(e.high)}]"


def _near(value: float) -> str:
    """Rounded up, but for what lies above a short decimal by the rounding of floats alone."""
    short = f"{value:.6g}"
    return short if abs(float(short) - value) <= float(SLACK) * value else show_up(value)


def _variant(says: Mapping[str, Any], known: Mapping[str, Enclosure], delta: Fraction | None) -> Iterator[Line]:
    name = says["variant_name"]
    if name is None:
        yield Line("variant_name", Standing.SILENT, "no variant")
    elif name == "Pure DP" and delta:
        yield Line("variant_name", Standing.DIFFERS, f"pure privacy has no delta, and the record has {float(delta):g}")
    elif name == "Approximate DP" and delta is None and says["delta"] is None:
        yield Line("variant_name", Standing.DIFFERS, "approximate privacy has a delta, and the record has none")
    elif name == "Pure DP" and any(e.high < math.inf for e in known.values()):
        yield Line("variant_name", Standing.AGREES, "an epsilon is certified at delta = 0")
    else:
        yield Line("variant_name", Standing.OPEN, f"the file says nothing of {name!r:.60}")


def _named_unit(says: Mapping[str, Any]) -> str | None:
    """The unit of ours that the record names."""
    text = re.sub(r"[\s_]+", "-", str(says["privacy_unit"]).strip().lower()).removesuffix("-level")
    if text == f"user-{says['period']}" and says["period"] != "1-day":
        return "user-period"
    return "window" if re.fullmatch(r"user-\d+-epochs", text) else _UNITS.get(text)


def _unit(says: Mapping[str, Any], known: Mapping[str, Enclosure]) -> Iterator[Line]:
    if says["privacy_unit"] is None:
        yield Line("privacy_unit", Standing.SILENT, "no unit, without which an epsilon says nothing")
    elif (unit := _named_unit(says)) is None:
        yield Line("privacy_unit", Standing.OPEN, f"no unit of the file is {says['privacy_unit']!r:.60}")
    elif unit in known:
        yield Line("privacy_unit", Standing.AGREES, f"the file bounds the reports of one {unit}")
    elif unit == "lifetime":
        yield Line("privacy_unit", Standing.DIFFERS, "the file bounds no number of days, so that one user has no epsilon")
    else:
        yield Line("privacy_unit", Standing.OPEN, _unbounded(unit))


def _unbounded(unit: str) -> str:
    return "the file does not say how many reports a user sends a day" if unit == "user-day" else f"the file has no {unit}"


def _epsilon(says: Mapping[str, Any], known: Mapping[str, Enclosure], whole: Deployment) -> Line:
    """Against what is certified at the record's unit, and at every other."""
    claimed, unit = _number(says["epsilon"]), _named_unit(says)
    listed = ", ".join(f"{_shown(e)} per {_PER[each]}" for each, e in known.items())
    if says["epsilon"] is None:
        return Line("epsilon", Standing.SILENT, f"no epsilon; certified: {listed}")
    if claimed is None:
        return Line("epsilon", Standing.OPEN, f"{says['epsilon']!r:.60} is no number; certified: {listed}")
    true = [each for each in UNITS if each in known and Fraction(min(known[each].high, _BEYOND)) <= claimed * (1 + SLACK)]
    assumed = bool(whole.units) and all(isinstance(leaf, Guarantee) for leaf in whole.units[0].plan.leaves())
    holds = f"{'the file assumes it' if assumed else 'it is true'} per {_PER[true[-1]]}" if true else "no unit of the file has it"
    said = f"the record has {float(claimed):g}"
    if unit is None:
        return Line("epsilon", Standing.OPEN, f"{said}; {holds}; certified: {listed}")
    at, least = known.get(unit), known.get("report")
    if least is not None and Fraction(min(least.low, _BEYOND)) > claimed * (1 + SLACK):
        return Line("epsilon", Standing.DIFFERS, f"{said}, and one report alone has more; {holds}; certified: {listed}")
    if at is None and unit != "lifetime":
        return Line("epsilon", Standing.OPEN, f"{said} per {_PER[unit]}: {_unbounded(unit)}; {holds}; certified: {listed}")
    if at is None:
        none = f"{said} per {_PER[unit]}, for whom none is certified"
        return Line("epsilon", Standing.DIFFERS, f"{none}; {holds}; certified: {listed}")
    if unit in true:
        return Line("epsilon", Standing.AGREES, f"{said} per {_PER[unit]}; certified: {listed}")
    standing = Standing.DIFFERS if Fraction(min(at.low, _BEYOND)) > claimed * (1 + SLACK) else Standing.OPEN
    return Line("epsilon", standing, f"{said} per {_PER[unit]}; {holds}; certified: {listed}")


def _delta(says: Mapping[str, Any], whole: Deployment, known: Mapping[str, Enclosure], delta: Fraction | None) -> Iterator[Line]:
    """A delta of a sum or shuffle says nothing beside the epsilon of one report."""
    if says["delta"] is None:
        return
    plans = [each.plan for each in whole.units]
    central = any(model(each) in ("Shuffle", "Varies") for each in plans)
    assumed = {leaf.delta for each in plans for leaf in each.leaves() if isinstance(leaf, Guarantee)}
    if delta is None:
        yield Line("delta", Standing.OPEN, f"{says['delta']!r:.60} is no delta")
    elif delta in assumed:
        yield Line("delta", Standing.AGREES, f"the file assumes {float(delta):g}")
    elif delta and not central:
        told = "the file describes reports of single users, of which an epsilon is certified at delta = 0"
        yield Line("delta", Standing.DIFFERS, f"{told}; a delta of their sum, {float(delta):g}, belongs to another epsilon")
    else:
        yield Line("delta", Standing.AGREES, f"epsilons are compared at {float(delta):g}")


def _model(says: Mapping[str, Any], whole: Deployment) -> Iterator[Line]:
    name, ours = says["model_name"], model(whole.units[0].plan)
    if name is None:
        yield Line("model_name", Standing.SILENT, "no model")
    elif ours is None:
        yield Line("model_name", Standing.OPEN, "of a guarantee that is assumed the file does not say who gives it")
    elif name == ours:
        yield Line("model_name", Standing.AGREES, f"{name}")
    else:
        standing = Standing.OPEN if name == "Varies" else Standing.DIFFERS
        yield Line("model_name", standing, f"the record has {name!r:.40}, the file describes {ours!r}")


def _release(says: Mapping[str, Any]) -> Iterator[Line]:
    kind, details = says["release_type"], str(says["release_type_details"] or "")
    if kind is None:
        yield Line("release_type", Standing.SILENT, "not said")
    elif kind == "One release" and _OFTEN.search(details):
        yield Line("release_type", Standing.DIFFERS, f"{kind!r}, and the details say {details!r:.60}")


def _mechanism(says: Mapping[str, Any], file: DeploymentTable) -> Iterator[Line]:
    text = " ".join(str(says["mechanisms"] or "").lower().split())
    kind = ", ".join(each.kind for each in file.described)
    word = _WORDS.get(file.mechanism.variant) or _WORDS.get(kind) if file.mechanism else None
    if not text:
        yield Line("mechanisms", Standing.SILENT, "no mechanism")
    elif kind == "guarantee":
        yield Line("mechanisms", Standing.OPEN, f"the file assumes a guarantee; the record names {text!r:.80}")
    elif word is None:
        yield Line("mechanisms", Standing.OPEN, f"the file's mechanism is {kind}; the record names {text!r:.80}")
    elif word in text:
        yield Line("mechanisms", Standing.AGREES, word)
    else:
        others = [each for each in _WORDS.values() if each in text]
        standing = Standing.DIFFERS if others else Standing.OPEN
        yield Line("mechanisms", standing, f"the file's mechanism is {word}; the record names {text!r:.80}")


def _numbers(texts: list[str], file: DeploymentTable, known: Mapping[str, Enclosure]) -> Iterator[Line]:
    """Numbers in free text, against the file's parameters."""
    letters, given = (_LETTERS.get(m.kind, {}), m.parameters) if (m := file.mechanism) else ({}, {})
    for letter, value in dict.fromkeys(_letters(texts)):
        if (key := letters.get(letter)) in given:
            ours = _number(given[key])
            if ours is not None:
                standing = Standing.AGREES if value == ours else Standing.DIFFERS
                yield Line(f"text, {letter}", standing, f"{letter} = {_plain(value)}; the file has {key} = {_plain(ours)}")
    for words, letter in dict.fromkeys(found.groups() for text in texts for found in _NAMED.finditer(text)):
        meant = next((each for each, key in letters.items() if key == _MEANT[words]), None)
        if meant is not None and meant != letter:
            needs = f"{words!r} is called {letter}, which is {meant} where the parameters are published"
            yield Line(f"text, {letter}", Standing.DIFFERS, needs)
    for value in dict.fromkeys(_epsilons(texts)):
        where = [each for each, e in known.items() if abs(e.high - float(value)) <= float(value) / 1000]
        at = f"certified per {_PER[where[0]]}" if where else "certified for no unit of the file"
        yield Line("text, epsilon", Standing.AGREES if where else Standing.DIFFERS, f"{_plain(value)} is {at}")
    for count in dict.fromkeys(found[1].lower() for text in texts for found in _DONATIONS.finditer(text)):
        number = _COUNTS.get(count) or int(count)
        ours = Fraction(file.contribution.daily)
        standing = Standing.AGREES if number == ours else Standing.DIFFERS
        yield Line("text, reports a day", standing, f"{number} a day; the file has {_plain(ours)}")


def _within(texts: list[str], says: Mapping[str, Any]) -> Iterator[Line]:
    """The record against its own texts."""
    by_letter: dict[str, list[Fraction]] = {}
    for letter, value in dict.fromkeys(_letters(texts)):
        by_letter.setdefault(letter, []).append(value)
    for letter, values in by_letter.items():
        if len(values) > 1:
            yield Line(f"texts, {letter}", Standing.DIFFERS, f"{' and '.join(map(_plain, values))} in one record")
    claimed = _number(says["epsilon"])
    for value in dict.fromkeys(_epsilons(texts)):
        if claimed is not None and value != claimed:
            yield Line("texts, epsilon", Standing.DIFFERS, f"the field has {_plain(claimed)}, a text of the record {_plain(value)}")


def _letters(texts: list[str]) -> Iterator[tuple[str, Fraction]]:
    for text in texts:
        yield from ((found[1], _exact(found[2])) for found in _LETTER.finditer(text))


def _epsilons(texts: list[str]) -> Iterator[Fraction]:
    for text in texts:
        yield from (_exact(found[1]) for found in _EPSILON.finditer(text))


def _exact(digits: str) -> Fraction:
    return Fraction(digits.replace(",", ""))


def _plain(value: Fraction) -> str:
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):g}"
