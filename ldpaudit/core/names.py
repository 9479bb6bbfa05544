"""Names that users give, as file names and as text for a screen: what they may be, and how they are shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

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
