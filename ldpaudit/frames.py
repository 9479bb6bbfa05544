"""Claims, literature, measured errors, comparisons and risks as tables: dictionaries, or frames of polars or pandas.

>>> from ldpaudit import literature
>>> found = table(literature.claims("hashtogram"))
>>> {row["standing"] for row in found} <= {"holds", "variant"}
True
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.certificates.risk import Risk, ends
from ldpaudit.display import markup
from ldpaudit.errors import LdpauditError
from ldpaudit.studies.comparison import Contender, Score
from ldpaudit.studies.literature import Measured, Row

LIBRARIES = ("polars", "pandas")  # in the order in which `Table.frame` looks for them


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values under the same names.

    ``rows``: text, numbers, truth values, and None where there is nothing.
    """

    rows: tuple[Mapping[str, Any], ...]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. Raises LdpauditError where polars is missing."""
        _require("polars")
        return import_module("polars").DataFrame(list(map(dict, self.rows)), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises LdpauditError where pandas is missing."""
        _require("pandas")
        return import_module("pandas").DataFrame(list(map(dict, self.rows)))

    def frame(self) -> Any:
        """A frame of polars, or of pandas where that alone is installed. Raises LdpauditError where neither is."""
        for name, made in zip(LIBRARIES, (self.to_polars, self.to_pandas), strict=True):
            if find_spec(name) is not None:
                return made()
        raise LdpauditError(f"a frame needs {' or '.join(LIBRARIES)}, found neither; the rows of a table are dictionaries")

    def _repr_html_(self) -> str:
        """For notebooks."""
        head = tuple(self.rows[0]) if self.rows else ("no rows",)
        values = ([row[name] for name in head] for row in self.rows)
        cells = (["" if x is None else f"{x:.6g}" if isinstance(x, float) else str(x) for x in row] for row in values)
        return markup.card(f"{len(self.rows)} row{'s' * (len(self.rows) != 1)}", (), markup.table(head, cells))


def table(values: Risk | Iterable[Printed | Row | Measured | tuple[Contender, Score]]) -> Table:
    """What can be a table, as one.

    Parameters
    ----------
    values : Risk, or iterable
        Of `ldpaudit.certificates.risk.risk`; or of `ldpaudit.literature.claims` or `printed`, `summary` or `measure`;
        or the rows of a comparison, each a contender and its score.

    Raises
    ------
    TypeError
        Where it is something else.
    """
    if isinstance(values, Risk):
        return Table(tuple({"chance": name, **ends(found)} for name, found in values.rows))
    if not isinstance(values, Iterable):
        raise TypeError(f"a table needs a risk, or claims, rows, measured errors or scores, got {values!r:.60}")
    return Table(tuple(map(_row, values)))


def _row(value: Any) -> Mapping[str, Any]:
    match value:
        case Printed():
            found = {"claimed": float(value.claimed), "claimed_exact": str(value.claimed), **ends(value.found)}
            words = {"provenance": value.provenance.value, "reading": value.reading, "variant": value.variant}
            judged = {"attained": value.attained, "holds": value.holds, "standing": value.standing.value}
            said = {"where": value.where, "sentence": value.sentence}
            return {**said, **judged, **found, **words, "remarks": "; ".join(value.remarks)}
        case Row():
            finite = [ratio for ratio in value.looseness if ratio < math.inf]
            ratios = {"least_looseness": min(finite, default=None), "largest_looseness": max(finite, default=None)}
            words = {"provenance": value.provenance, "reading": value.reading, "variant": value.variant}
            said = {"where": value.where, "sentence": value.sentence, "stem": value.stem, "verdict": value.verdict}
            return {**said, **ratios, **words}
        case Measured():
            claim = value.claim
            error = {"where": claim.where, "sentence": claim.sentence, "alpha": claim.alpha, "beta": claim.beta}
            runs = {name: getattr(value, name) for name in Measured.__dataclass_fields__ if name != "claim"}
            return {**error, **runs, "holds": value.holds, "standing": value.standing.value}
        case (Contender() as contender, Score() as score):
            numbers = {name: float(x) if isinstance(x, Fraction) else x for name, x in asdict(score).items()}
            known = {name: None if x != x else x for name, x in numbers.items()}
            return {"system": str(contender), "names_values": contender.names_values, **known}
    raise TypeError(f"a table needs claims, rows, measured errors or scores, got {value!r:.60}")


def _require(name: str) -> None:
    if find_spec(name) is None:
        raise LdpauditError(f"a frame of {name} needs {name}, which is not installed")
