"""What a gate need not do again: answers that it has under the key of everything that they depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ldpaudit.cache import Cache, DamagedEntryError, key_of
from ldpaudit.errors import LdpauditError, Unsupported
from ldpaudit.source_code import Followed, environment, first_on_path, follow
from ldpaudit.watched import Seen

_NO_CODE = Followed({}, frozenset())


@dataclass(frozen=True, slots=True)
class Sought:
    """A piece of work, and what is known of it before it is done."""

    name: str  # a file, or a target's id
    # of everything that its answer depends on; empty where that is not known, or nobody asked for a cache
    key: str = ""
    module: str | None = None  # ``module:callable`` that it runs
    code: Followed = _NO_CODE  # what that consisted of when it was looked for
    found: str | None = None  # the answer from before, as text
    said: str = ""  # why there is none, or why it is not kept, in a clause; empty where there is nothing to say


class Memory:
    """What was answered before, of this program on this machine.

    ``cache``: None where nothing is reused or kept; ``folder``: the one that comes first on the import path of code.
    """

    def __init__(self, cache: Cache | None, folder: Path) -> None:
        self._cache, self._folder = cache, folder
        with first_on_path(folder):
            self._environment = key_of(environment()) if cache else ""

    def _followed(self, code: str | None) -> Followed:
        if code is None:
            return _NO_CODE
        with first_on_path(self._folder):
            return follow(code)

    def seek(self, name: str, given: Mapping[str, Any], code: str | None, reason: str = "") -> Sought:
        """Look for an answer; nothing is run.

        ``name``: see `Sought`; ``given``: what is asked, as plain data; ``code``: ``module:callable`` that it runs;
        ``reason``: why it is never kept, where that is so.
        """
        if self._cache is None or reason:
            return Sought(name, said=reason if self._cache else "")
        try:
            followed = self._followed(code)
        except (Unsupported, ImportError, OSError) as error:
            return Sought(name, said=f"it is not kept: {error}")
        key = key_of({"given": given, "code": followed.modules, "environment": self._environment})
        try:
            return Sought(name, key, code, followed, self._cache.read(key))
        except DamagedEntryError as error:
            return Sought(name, key, code, followed, said=f"{error}; it was made again")

    def keep(self, sought: Sought, answer: str, seen: Seen | None = None) -> Sought:
        """Keep an answer, unless it depends on more than its key says; what was sought, with what is to be said of it."""
        if self._cache is None or not sought.key:
            return sought
        if seen is not None and (beyond := seen.beyond(sought.code.files)):
            return replace(sought, said=f"it is not kept: {beyond}")
        try:
            if self._followed(sought.module) != sought.code:
                return replace(sought, said="it is not kept: its code was changed meanwhile")
            self._cache.write(sought.key, answer)
        except (LdpauditError, ImportError, OSError) as error:  # never a reason for a build to fail
            return replace(sought, said=f"it is not kept: {error}")
        return sought


@dataclass(frozen=True, slots=True)
class Reuse:
    """How much of a gate's work was done before."""

    sought: tuple[Sought, ...]

    def __str__(self) -> str:
        """As "3 of 5 from the cache"."""
        return f"{len(self.reused)} of {len(self.sought)} from the cache"

    @property
    def reused(self) -> list[str]:
        """Names of what was not done again."""
        return [each.name for each in self.sought if each.found is not None]

    @property
    def remarks(self) -> list[str]:
        """What is to be said of single pieces of work, each in a line."""
        return [f"{each.name}: {each.said}" for each in self.sought if each.said]
