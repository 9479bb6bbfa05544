"""How two records differ: what `python -m benchmarks.contract compare BEFORE AFTER` prints."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

TIGHTER = "tighter"  # the one kind of difference that needs no reason
ENDS = {"low", "high", "rigour"}
RIGOURS = ("FLOAT", "INTERVAL", "EXACT")
ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as it was: where (item, then keys), of which kind, and both values as they are shown."""

    place: tuple[str, ...]
    kind: str
    before: str
    after: str

    @property
    def group(self) -> tuple[str, ...]:
        """The kind and the kind of place; a text that was changed in the same way in many items is one group."""
        where = ".".join(key for key in self.place[1:] if not key.isdigit())
        return (self.kind, where, self.before, self.after) if self.kind == "changed" else (self.kind, where)


def differences(before: Any, after: Any, place: tuple[str, ...] = ()) -> Iterator[Difference]:
    """All differences of two records, leaf by leaf; an enclosure is a leaf."""
    if _text(before) == _text(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        whole = _ends(before) and _ends(after)
        if whole and (kind := enclosure_change(before, after)):
            yield Difference(place, kind, _shown(before), _shown(after))
        for key in sorted((before.keys() | after.keys()) - (ENDS if whole else set())):
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*place, key))
    elif isinstance(before, list) and isinstance(after, list):
        for number, old, new in _aligned(before, after):
            yield from differences(old, new, (*place, str(number)))
    else:
        yield Difference(place, _kind(before, after), _shown(before), _shown(after))


def enclosure_change(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What became of an enclosure; empty where it is the same to the last digit.

    Floats without an error bound enclose nothing: one inside the other is not tighter.
    """
    low, high, new_low, new_high = (float(each[end]) for each in (before, after) for end in ("low", "high"))
    was, became = (RIGOURS.index(each["rigour"]) for each in (before, after))
    same, certified = (low, high) == (new_low, new_high), was > 0 and became > 0
    if certified and (new_low > high or new_high < low):
        return "CONTRADICTION"
    if became < was:
        return "less rigorous"
    if same:
        return "more rigorous" if became > was else ""
    if certified and low <= new_low and new_high <= high:
        return TIGHTER
    return "wider" if certified and new_low <= low and high <= new_high else "moved"


def report(section: str, before: dict[str, Any], after: dict[str, Any], most: int) -> tuple[list[str], bool]:
    """Lines that say how a section differs, at most this many examples per group; whether each is `TIGHTER`."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for each in differences(before, after):
        groups.setdefault(each.group, []).append(each)
    lines = [f"{section}: {len(before.keys() & after.keys())} items in both"]
    for (kind, where, *_), found in sorted(groups.items(), key=lambda item: (item[0][0] == TIGHTER, item[0])):
        lines.append(f"  {kind}{f' in {where}' if where else ''}: {len(found)}")
        shown = {(each.before, each.after) for each in found[1:]} - {(found[0].before, found[0].after)}
        if shown or len(found) == 1:
            lines += [f"    {' '.join(each.place)}: {each.before} -> {each.after}" for each in found[:most]]
        else:
            lines.append(f"    {found[0].before} -> {found[0].after}: {'; '.join(' '.join(e.place) for e in found[:most])}")
        lines += [f"    and {len(found) - most} more"] if len(found) > most else []
    return lines, all(kind == TIGHTER for kind, *_ in groups)


def _text(value: Any) -> str:
    return "" if value is ABSENT else json.dumps(value, sort_keys=True)


def _ends(value: dict[str, Any]) -> bool:
    """Whether a dictionary is an enclosure, or a row that has one."""
    return value.keys() >= ENDS and value["rigour"] in RIGOURS and None not in (value["low"], value["high"])


def _kind(before: Any, after: Any) -> str:
    if before is ABSENT or after is ABSENT:
        return "new" if before is ABSENT else "gone"
    if isinstance(before, str) and isinstance(after, dict):
        return "answered"
    return "refused" if isinstance(before, dict) and isinstance(after, str) else "changed"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and value.keys() >= ENDS:
        return f"[{value['low']!r}, {value['high']!r}] {value['rigour']}"
    return "nothing" if value is ABSENT else f"{_text(value):.300}"


def _aligned(before: list[Any], after: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Pairs of elements, of which a row or line that is new has no partner."""
    blocks = SequenceMatcher(None, [*map(_text, before)], [*map(_text, after)], autojunk=False).get_opcodes()
    for _, start, end, new_start, new_end in (block for block in blocks if block[0] != "equal"):
        pairs = zip_longest(before[start:end], after[new_start:new_end], fillvalue=ABSENT)
        yield from ((start + i, old, new) for i, (old, new) in enumerate(pairs))
