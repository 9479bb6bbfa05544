"""The sources that claims and tables cite: sources.bib, whose entries docs/bibliography.md has as well, in its order."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ENTRY, _FIELD = re.compile(r"@(\w+)\{(\w+),\n(.*?)\n\}", re.DOTALL), re.compile(r"  (\w+) = \{(.*)\},?")
_OURS = ("section", "printed", "cited")  # of the page; what it prints after the title; and how else rows cite the source


@dataclass(frozen=True, slots=True)
class Source:
    """An entry."""

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def authors(self) -> list[str]:
        """Their names."""
        return self.fields["author"].replace("{", "").replace("}", "").split(" and ") if "author" in self.fields else []

    @property
    def cited(self) -> tuple[str, ...]:
        """What rows write: the key, or the surnames and the year, or what the entry says besides; without accents."""
        surnames = ", ".join(name.split()[-1] for name in self.authors)
        return tuple(map(_plain, (self.key, f"{surnames} {self.fields.get('year', '?')}", self.fields.get("cited", self.key))))

    @property
    def line(self) -> str:
        """As the page has it."""
        return ". ".join(filter(None, (", ".join(self.authors), f"*{self.fields['title']}*", self.fields["printed"])))

    @property
    def bibtex(self) -> str:
        """For others' files."""
        fields = [f"  {name} = {{{value}}}" for name, value in self.fields.items() if name not in _OURS]
        return ",\n".join([f"@{self.kind}{{{self.key}", *fields]) + "\n}"


@cache
def sources() -> tuple[Source, ...]:
    """All, in the page's order."""
    text = Path(__file__).with_name("sources.bib").read_text(encoding="utf-8")
    return tuple(Source(kind, key, dict(_FIELD.findall(fields))) for kind, key, fields in _ENTRY.findall(text))


def cited(texts: Iterable[str]) -> list[Source]:
    """Those that texts cite, such as "Bun, Steinke 2016, proposition 1.3" and "HKR12 Lemma 4.5"."""
    whole = _plain("\n".join(texts))
    return [each for each in sources() if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", whole) for name in each.cited)]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
