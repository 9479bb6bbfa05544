"""Records of the public registry beside our deployments: prints docs/registry.md.

    python -m benchmarks.registry > docs/registry.md
"""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from ldpaudit.files.deployment import load
from ldpaudit.report.agreement import Line, Standing, compared

FILE = Path(__file__).with_suffix("").with_name("registry_records.yaml")
HEAD = """\
# Records of the public registry

The registry of differential privacy deployments (github.com/opendp/deployments-registry-data) has 41 records at 3e9c812
(2026-07-15), none of them approved. Eight name the local model, and one says that the model varies. Here eight of these nine
stand beside our deployment files. The ninth, of the local model, was not found: of each of the other 33 records some version was
read, and none names it. `python -m benchmarks.registry` prints this page, and a test compares it: never edit
it by hand. The lines below a record are those that `ldpaudit registry check` prints, but for those that agree. [How to write and
check records](howto/registry.md) shows the commands.

A difference is one between a record and a file, or between two places of a record; neither says how the system behaves.
"""


def records() -> list[dict[str, Any]]:
    """What is known of each record."""
    found: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def lines_of(known: dict[str, Any]) -> list[Line]:
    """What is said of a record beside its deployment."""
    return compared({"deployment": known["says"]}, load(known["deployment"]))


def certified(known: dict[str, Any], deployment: str) -> str:
    """What is certified of each unit of a deployment, at the record's delta."""
    (line,) = (each for each in lines_of({**known, "deployment": deployment}) if each.field == "epsilon")
    return line.why.rpartition("certified: ")[2]


def said(known: dict[str, Any]) -> str:
    """Unit, variant, epsilon and delta of a record."""
    loss = known["says"]["privacy_loss"]
    numbers = ", ".join(f"{name} {Fraction(str(value)).__float__():g}" for name, value in loss["privacy_parameters"].items())
    return f"{loss.get('privacy_unit', 'no unit')}, {known['says']['dp_variant']['variant_name']}: {numbers}"


def page() -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.splitlines()
    yield from ("", "| record | says | its source says | certified | differences |", "|---|---|---|---|---|")
    for known in records():
        lines = lines_of(known)
        both = [certified(known, name) for name in (known["deployment"], known.get("also")) if name]
        numbers = f"{both[0]}; {known['also']}: {both[1]}" if both[1:] else both[0]
        differ = sum(line.standing is Standing.DIFFERS for line in lines)
        yield f"| [{known['record']}](#{known['record']}) | {said(known)} | {known['source']} | {numbers} | {differ} |"
    yield "| one of the local model | not found | not found | - | - |"
    yield from ("", "Worth a change there:", "")
    yield from (f"- {known['record']}: {known['worth']}." for known in records() if "worth" in known)
    for known in records():
        yield from ("", f"## {known['record']}", "")
        yield f"Beside `{known['deployment']}`; the words of mechanism and release are those of {known['words']}."
        yield ""
        shown = [line for line in lines_of(known) if line.standing is not Standing.AGREES]
        yield from (f"- {line}" for line in shown)
        yield from () if shown else ("Everything that can be compared agrees.",)


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
