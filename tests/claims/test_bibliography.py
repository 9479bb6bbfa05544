"""One file of sources: the page has its lines, and whatever claims and tables cite is in it."""

from __future__ import annotations

import re
from unittest.mock import Mock, call

import pytest

from ldpaudit.commands.claims import _judged, table
from ldpaudit.commands.options import cache_of
from ldpaudit.gate import cache as kept
from ldpaudit.studies import literature, tables
from ldpaudit.studies.bibliography import cited, sources
from tests.helpers import ROOT, fails_in_one_line, run, some


def test_the_page_has_the_lines_of_the_file_in_its_order() -> None:
    page = (ROOT / "docs" / "bibliography.md").read_text()
    lines = re.findall(r"^(?:- |\| (?!initials|---)\S+ \| )(.*?)(?: \|)?$", page, re.MULTILINE)
    assert lines == [each.line for each in sources()]
    assert len({each.key for each in sources()}) == len(sources()) > 60


def test_a_source_is_cited_by_its_key_or_its_authors_and_year() -> None:
    told = ["BBG18 subsampling", "Bun, Steinke 2016, theorem 1", "xBS15, DRV10-like", "Koskela, Heikkila, Honkela 2023"]
    assert [each.key for each in cited(told)] == ["BBG18", "BS16", "KHH23"]
    assert all(cited([text]) for text in [*literature.PAPERS, *(tables.load(name).source for name in tables.names())])


def test_bibtex_is_printed_in_place_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ggkpv_table_1", "ggkpv-2"):
        table(name, bibtex=True)
        assert "@misc{GGKPV19,\n  author = {Badih Ghazi and " in capsys.readouterr().out
    told = run("account", "randomized_response", "k=2", "p=3/4", "--repeat", "9", "--delta=1e-6", "--compare", "--bibtex").stdout
    assert re.findall(r"@\w+\{(\w+),", told)[:3] == ["HKR12", "BS16", "CKS20"]
    assert told.count("{") == told.count("}")
    assert "section" not in told
    fails_in_one_line(run("account", "laplace", "scale=1", "--bibtex"), "account needs --compare with --bibtex")


def test_claims_that_the_same_program_found_before_are_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = some(cache_of("claims"))
    found = _judged("subset_selection", cache)
    judged = Mock(side_effect=literature.claims)
    monkeypatch.setattr(literature, "claims", judged)
    assert _judged("subset_selection", cache) == found == _judged("subset_selection", None)
    assert judged.mock_calls == [call("subset_selection")], "without a cache"
    monkeypatch.setattr(kept, "program", lambda: "another")
    assert _judged("subset_selection", cache) == found
    (file, *_) = (each for each in cache.folder.iterdir() if each.suffix == ".json")
    for each in cache.folder.glob("*.json"):
        each.write_text(file.read_text().replace("HOLDS", "FAILS").replace("holds", "fails"))
    assert _judged("subset_selection", cache) == found
    assert judged.mock_calls == [call("subset_selection")] * 3, "an entry that was not sealed here is none"
