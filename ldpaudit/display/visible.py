"""Text of a user's, for a screen, a page or a build's log: characters that would act are shown by their codes."""

import re
import unicodedata

_ACTING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that move the cursor, turn the direction of writing, end a line, or are none."""


def visible(text: str, kept: str = "") -> str:
    """The text, with every control and formatting character as its code; those in `kept` stay.

    Examples
    --------
    >>> visible("a" + chr(27) + "[31m" + chr(0x202E))
    'a\\\\x1b[31m\\\\u202e'
    """
    return "".join(c if c in kept or unicodedata.category(c) not in _ACTING else _code(c) for c in text)


def _code(c: str) -> str:
    return repr(c)[1:-1] if not c.isprintable() else f"\\u{ord(c):04x}"


def visible_json(text: str) -> str:
    """JSON that means the same, with these characters as JSON's own escapes."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in _ACTING else _escape(c) for c in text)


def _escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


_MARKDOWN = re.compile(r"([\\`*_\[\]|~#!])")


def markdown_text(text: str) -> str:
    """The text in one line of a Markdown page, or in a cell of a table, as it is."""
    escaped = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", escaped)


def markdown_code(text: str) -> str:
    """The text as code in a line of a Markdown page, fenced by more backticks than it has in a row."""
    shown = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"
