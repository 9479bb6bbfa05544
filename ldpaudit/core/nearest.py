"""What was probably meant by a name that is none: the end of an error."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def or_rather(name: object, known: Iterable[str]) -> str:
    """The known name that is most like this one, as the end of a sentence; nothing where none is like it.

    Examples
    --------
    >>> or_rather("randomised_response", ["rappor", "randomized_response"])
    "; did you mean 'randomized_response'?"
    >>> or_rather("colour", ["k", "p"])
    ''
    """
    like = get_close_matches(name, known, 1) if isinstance(name, str) else []
    return f"; did you mean {like[0]!r}?" if like else ""
