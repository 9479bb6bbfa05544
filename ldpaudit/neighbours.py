"""Which inputs must be hard to tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A neighbouring relation; symmetric, so both directions are always meant.

    Parameters
    ----------
    kind : str
        ``replace-one`` (one user holds another value), ``add-remove`` (one user is there or not; a local randomizer
        is then asked about the input ``None``), ``user-level`` (one user's whole stream is replaced) or ``pairs``.
    pairs : tuple of pairs
        The pairs themselves, for the kind ``pairs`` only.
    """

    kind: str
    pairs: tuple[tuple[Any, Any], ...] = ()

    KINDS: ClassVar[tuple[str, ...]] = ("replace-one", "add-remove", "user-level", "pairs")

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"Neighbours needs a kind among {', '.join(self.KINDS)}, got {self.kind!r}")
        if bool(self.pairs) != (self.kind == "pairs"):
            raise ValueError(f"Neighbours needs pairs for the kind 'pairs' and for no other, got {self.kind!r}")

    def __str__(self) -> str:
        return self.kind if not self.pairs else f"pairs {list(self.pairs)}"


REPLACE_ONE = Neighbours("replace-one")
ADD_REMOVE = Neighbours("add-remove")
USER_LEVEL = Neighbours("user-level")
