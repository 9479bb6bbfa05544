"""Why a name or a file of the user's is refused, in our words: what was required, what was found, what was probably meant."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from inspect import isclass
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, ValidationError

from ldpaudit.core.nearest import or_rather
from ldpaudit.core.number import brief

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


CALLABLE = r"^[\w.]+:[\w.]+$"  # the name of code, as files say it
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
    given, key = error["input"], error["loc"][-1] if error["loc"] else ""
    holds_tables = isinstance(given, dict) or (isinstance(given, list) and any(isinstance(each, dict) for each in given))
    found = "" if holds_tables else f", got {brief(given)}"
    match error["type"]:
        case "missing" if error["loc"] == ("claims",) and "mechanism" in known:
            return "needs at least one table [[claims]], which is missing; `ldpaudit init` shows one"
        case "missing":
            return "is required"
        case "list_type" if isinstance(given, dict):
            return f"needs double brackets, [[{key}]], got [{key}]"
        case "list_type":
            return f"needs a list in brackets{found}"
        case "model_type" if isinstance(given, list):
            return f"needs single brackets, [{key}], got [[{key}]]"
        case "model_type" | "dict_type":
            return f"needs a table, [{key}]{found}"
        case "string_type":
            return f"needs text in quotes{found}"
        case "bool_type" | "bool_parsing":
            return f"needs true or false, without quotes{found}"
        case "int_type" | "int_parsing" | "int_from_float":
            return f"needs an integer{found}"
        case "too_short" if isinstance(given, list):
            return f"needs at least {error['ctx']['min_length']} values, got {len(given)}"
        case "string_pattern_mismatch" if "[\\w.]+:[\\w.]+" in error["ctx"]["pattern"]:
            return f"needs MODULE:CALLABLE, such as mypackage.rappor:randomize{found}"
        case "greater_than_equal" | "less_than_equal":
            return f"needs a number {error['msg'].removeprefix('Input should be ')}{found}"
        case "extra_forbidden":
            return f"is not a key that is known here{found}{or_rather(error['loc'][-1], known)}"
        case "value_error":
            return str(error["ctx"]["error"])
    return f"needs {error['msg'].removeprefix('Input should be ')}{found}"
