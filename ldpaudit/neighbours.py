"""Which inputs must be hard to tell apart."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ldpaudit.core.number import brief, whole

MOST_USERS = 1 << 128  # of a group: no larger number of users is counted anywhere
_GROUP = re.compile(r"group-of-(\d{1,39})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A neighbouring relation; symmetric, so both directions are always meant.

    Parameters
    ----------
    kind : str
        ``replace-one`` (one user holds another value), ``add-remove`` (one user is there or not; a local randomizer
        is then asked about the input ``None``), ``user-level`` (one user's whole stream is replaced), ``same-pattern``
        (the same, by one that repeats values, or hash values if these are reported, in the same epochs), ``pairs``, or
        ``group`` (this many users hold other values, each its own).
    pairs : tuple of pairs
        The pairs themselves, for the kind ``pairs`` only.
    users : int
        Number of users whose values are replaced: at least 1 for the kind ``group``, else 0.

    Examples
    --------
    >>> str(Neighbours("group", users=3)), Neighbours.named("group-of-3").users
    ('group-of-3', 3)
    """

    kind: str
    pairs: tuple[tuple[Any, Any], ...] = ()
    users: int = 0

    KINDS: ClassVar[tuple[str, ...]] = ("replace-one", "add-remove", "user-level", "same-pattern", "pairs", "group")

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"Neighbours needs a kind among {', '.join(self.KINDS)}, got {self.kind!r}")
        if bool(self.pairs) != (self.kind == "pairs"):
            raise ValueError(f"Neighbours needs pairs for the kind 'pairs' and for no other, got {self.kind!r}")
        users = whole(self.users)
        if users is None or not (0 < users <= MOST_USERS if self.kind == "group" else users == 0):
            found = f"{self.kind!r} and users={brief(self.users)}"
            raise ValueError(f"Neighbours needs 1 <= users <= 2**128 for the kind 'group' and none for others, got {found}")
        object.__setattr__(self, "users", users)

    @classmethod
    def named(cls, name: str) -> Self:
        """The relation that a deployment file or a command names: as `str` writes it, all but ``pairs``.

        Raises ValueError where it is the name of none.
        """
        if found := _GROUP.fullmatch(name):
            return cls("group", users=int(found[1]))
        known = [kind for kind in cls.KINDS if kind not in ("pairs", "group")]
        if name not in known:
            raise ValueError(f"neighbours need to be {', '.join(known)} or group-of-K, got {name!r:.60}")
        return cls(name)

    def __str__(self) -> str:
        if self.kind == "group":
            return f"group-of-{self.users}"
        return self.kind if not self.pairs else f"pairs {list(self.pairs)}"


REPLACE_ONE = Neighbours("replace-one")
ADD_REMOVE = Neighbours("add-remove")
USER_LEVEL = Neighbours("user-level")
SAME_PATTERN = Neighbours("same-pattern")


def group(users: int) -> Neighbours:
    """Data of this many users are replaced, each by any other value."""
    return Neighbours("group", users=users)


def require_relation(given: object) -> None:
    """Check that a relation is one, or None."""
    if not isinstance(given, Neighbours | None):
        raise TypeError(f"neighbours need to be a relation such as Neighbours.named('add-remove'), got {given!r:.60}")
