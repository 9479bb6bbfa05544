"""Why a name or a file of the user's is refused, in our words: what was required, what was found, what was probably meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from inspect import isclass
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, ValidationError

from ldpaudit.core.nearest import or_rather

LONGEST = 200  # bytes of an id in UTF-8: with an ending it is a file's name, which may have 255

_ID = re.compile(r"\w(?:[\w .,+=()@-]*[\w)+])?")
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[\d¹²³]", re.IGNORECASE)


def checked_id(text: str) -> str:
    """An id that names a file on every system.

    Raises ValueError where it has characters of a path or of a terminal, is a device's name, or is too long.
    """
    if not _ID.fullmatch(text) or ".." in text:
        raise ValueError(f"needs letters and digits, and only between them . - + = ( ) , @ and spaces, got {text!r:.60}")
    if _DEVICE.fullmatch(text.split(".")[0].strip()):
        raise ValueError(f"needs an id that is not a device name, got {text!r}")
    if len(text.encode()) > LONGEST:
        raise ValueError(f"needs at most {LONGEST} bytes, got {len(text.encode())}")
    return text


Id = Annotated[str, AfterValidator(checked_id)]  # an id in a configuration file


def repeated(ids: Iterable[str]) -> str | None:
    """The first id that came before; upper and lower case are one, as in the names of files on some systems."""
    seen: set[str] = set()
    for each in ids:
        if (key := unicodedata.normalize("NFC", each).casefold()) in seen:
            return each
        seen.add(key)
    return None


def refusal(error: ValidationError, model: type[BaseModel]) -> tuple[str, list[str | int]]:
    """The sentence of the first error, and its key in the file."""
    # A misspelt key is both unknown and missing: the unknown one is where to look.
    first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    key: list[str | int] = ["schema" if part == "schema_" else part for part in first["loc"]]
    return _sentence(first, keys(model, key[:-1])), key


def keys(model: type[BaseModel], path: Sequence[str | int]) -> tuple[str, ...]:
    """The keys that the table at a path may have."""
    table = table_at(model, path)
    return () if table is None else tuple(f.alias or name for name, f in table.model_fields.items())


def table_at(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel] | None:
    """The model of the table at a path; None where there is no table."""
    table: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, str) and table is not None:
            field = next((f for name, f in table.model_fields.items() if part in (name, f.alias)), None)
            table = None if field is None else _model_in(field.annotation)
    return table


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as ``list[Model]`` or ``Model | None``."""
    if isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _sentence(error: Mapping[str, Any], known: tuple[str, ...]) -> str:
    """A pydantic error in our words."""
    found, key = f", got {error['input']!r:.60}", error["loc"][-1] if error["loc"] else ""
    match error["type"]:
        case "missing" if error["loc"] == ("claims",):
            return "needs at least one table [[claims]], which is missing; `ldpaudit init` shows one"
        case "missing":
            return "is required"
        case "list_type" if isinstance(error["input"], dict):
            return f"needs double brackets, [[{key}]], got [{key}]"
        case "string_type" if isinstance(error["input"], date):
            return f"needs text in quotes, got {error['input']}"
        case "greater_than_equal" | "less_than_equal":
            return f"needs a number {error['msg'].removeprefix('Input should be ')}{found}"
        case "extra_forbidden":
            return f"is not a key that is known here{found}{or_rather(error['loc'][-1], known)}"
        case "value_error":
            return str(error["ctx"]["error"])
    return f"needs {error['msg'].removeprefix('Input should be ')}{found}"
