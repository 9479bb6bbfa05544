"""What a name that is none is refused with: what there is, and what was probably meant."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

MOST_LISTED = 10  # names that an error lists; of more, it names the command that lists them
SAME, LIKE = 0.84, 0.55  # likeness of a name with a slip in it, and of one that may have been meant
_MOST_LIKE = 3  # names that may have been meant


def or_rather(name: object, known: Iterable[str], likeness: float = LIKE) -> str:
    """The known names that are most like this one, as the end of a sentence; nothing where none is like it.

    Examples
    --------
    >>> or_rather("randomised_response", ["rappor", "randomized_response"])
    "; did you mean 'randomized_response'?"
    >>> or_rather("laplace_error", ["central.error", "central.laplace_error"])
    "; did you mean 'central.laplace_error'?"
    >>> or_rather("K", ["k", "p"])
    "; did you mean 'k'?"
    >>> or_rather("colour", ["k", "p"])
    ''
    """
    if not isinstance(name, str):
        return ""
    folded = {each.casefold(): each for each in known}
    like = get_close_matches(name.casefold(), folded, 1, SAME)
    like = like or get_close_matches(name.casefold(), folded, _MOST_LIKE, likeness)
    meant = [repr(folded[each]) for each in like]
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def one_of(known: Collection[str], name: object, listing: str) -> str:
    """What is wrong with a name that is not known; ``listing``: the command that lists all of them.

    Examples
    --------
    >>> one_of(["gate", "baseline"], "gates", "ldpaudit schema -h")
    "needs one of gate, baseline, got 'gates'; did you mean 'gate'?"
    """
    needs = ", ".join(known) if len(known) <= MOST_LISTED else f"those that `{listing}` lists"
    return f"needs one of {needs}, got {name!r:.60}{or_rather(name, known)}"
