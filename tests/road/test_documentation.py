"""The site: it builds in strict mode, all its pages can be reached, and its code does what the page says."""

import re
import shlex
import subprocess
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import ldpaudit as ldp
from benchmarks import mechanism_pages, site
from ldpaudit import Enclosure, Rigour, Run, mechanisms, registry
from ldpaudit.commands import VERBS
from ldpaudit.files.deployment import loads
from ldpaudit.files.starter import starter
from ldpaudit.mechanisms.channel import Channel
from tests.helpers import ROOT, raises, typed, within
from tests.pages import blocks, follow

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GUIDES = [DOCS / "tutorial.md", DOCS / "adapters.md", DOCS / "commands.md", *sorted((DOCS / "howto").glob("*.md"))]
"""Pages whose shell commands are run."""
CLASSES = [(stem, variant) for stem in mechanisms.stems() for variant in mechanisms.classes(stem)]
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]+)?\)")
PRINTED = {"api.md", "mechanisms/index.md"}
"""Pages that stand in the site only."""
ALONE = {"audit", "check", "compare"}
"""Verbs of the README that need files of the reader's."""
built = pytest.mark.skipif(find_spec("sphinx") is None, reason="the site needs the extra 'docs'")


def name(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def followed(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    follow(page, folder)


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_who_does_what_a_guide_says_sees_what_it_shows(page: Path, tmp_path: Path) -> None:
    followed(page, tmp_path)


def test_the_readme_s_five_minutes_are_typed_as_they_stand_and_end_with_0(tmp_path: Path) -> None:
    (block,) = (block for block in blocks(ROOT / "README.md") if block.text.startswith("ldpaudit init"))
    assert block.text.splitlines()[-1].startswith("ldpaudit check")
    for line in block.text.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        done = within(tmp_path, *arguments)
        assert (program, done.returncode) == ("ldpaudit", 0), done.stderr
    assert "1 claims, none failed" in done.stdout


@pytest.mark.slow
def test_the_commands_of_the_readme_that_need_no_file_of_the_reader_s_end_with_0(tmp_path: Path) -> None:
    lines = [line for block in blocks(ROOT / "README.md") for line in block.text.splitlines()]
    shown = [line for line in lines if line.startswith("ldpaudit ") and line.split()[1] not in ALONE]
    assert len(shown) >= 9
    page = tmp_path / "page.md"
    page.write_text("```sh\n" + "\n".join(shown) + "\n```\n")
    followed(page, tmp_path)


def test_what_a_page_says_is_printed_is_compared_and_how_a_command_ends_too(tmp_path: Path) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "empty"
    folder.mkdir()
    for text in ("```sh\necho a\n```\n\n```text\nb\n```\n", "```sh\nexit 3\n```\n", "```sh exits=1\necho a\n```\n"):
        page.write_text(text)
        raises(AssertionError, "printed", follow, page, folder)
    page.write_text("```toml a.toml\nx = 1\n```\n\n```sh exits=3\ncat a.toml\nexit 3\n```\n\n```text\nx = ...\n```\n")
    follow(page, folder)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=name)
def test_every_link_leads_to_a_file_and_every_block_of_a_guide_is_run_compared_written_or_installs(page: Path) -> None:
    assert not {target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()} - PRINTED
    several, is_guide = blocks(page) if page in PAGES else [], page in GUIDES
    assert all(each.is_doctest or (is_guide and each.file) for each in several if each.language == "python")
    if is_guide:
        assert page.read_text().count("```") == 2 * len(several)
        known = (each.file or each.is_run or each.is_doctest or each.language == "text" or each.only_installs for each in several)
        assert all(known)


def test_every_page_stands_once_in_the_contents_and_its_languages_and_links_are_the_site_s() -> None:
    index = (DOCS / "index.md").read_text()
    listed = [line for block in re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL) for line in block.splitlines()]
    for page in PAGES:
        where = page.relative_to(DOCS).with_suffix("").as_posix()
        assert where == "index" or sum(fnmatch(where, line) for line in listed) == 1, where
    lexers = {alias for _, aliases, _, _ in import_module("pygments.lexers").get_all_lexers() for alias in aliases}
    assert not {block.language for page in PAGES for block in blocks(page)} - lexers
    assert "`examples/plugin`" in site.relinked(DOCS / "own.md")
    assert "](CONTRIBUTING.md)" in site.relinked(DOCS / "own.md")
    assert "](architecture.md)" in site.relinked(ROOT / "CONTRIBUTING.md")
    assert "](../adapters.md)" in site.relinked(DOCS / "howto" / "programs.md")
    assert "](commands/calibrate.md)" in site.relinked(DOCS / "glossary.md")


@pytest.mark.parametrize(("stem", "variant"), CLASSES)
def test_the_command_of_a_mechanism_s_page_makes_the_example_that_the_page_is_about(stem: str, variant: str) -> None:
    owner = mechanisms.classes(stem)[variant]
    shown = mechanism_pages.command(f"{stem}:{variant}" if variant else stem, owner)
    plan = typed(Run, loads(starter(stem, variant)).plan)
    if shown:
        given = dict(word.split("=", 1) for word in shown.split()[3:])
        assert registry.build(stem, variant, given) == plan.mechanism
    else:
        assert stem == "channel"


def test_the_page_of_a_mechanism_says_what_its_accountant_and_its_claims_say() -> None:
    page = mechanism_pages.page("count_mean_sketch")
    for variant in mechanisms.classes("count_mean_sketch"):
        plan = loads(starter("count_mean_sketch", variant)).plan
        assert f"| 0 | {mechanism_pages.shown(ldp.account(plan).epsilon(0))} |" in page
    assert page.count("<svg") == 2
    assert "No source of ours prints a claim" in page
    rows = re.findall(r"\| JRUW18.*\|", mechanism_pages.page("bassily_smith"))
    assert len(rows) == len(set(rows)) == 3


def test_a_shown_epsilon_is_rounded_up_and_an_infinite_one_has_words_and_a_picture() -> None:
    assert mechanism_pages.shown(Enclosure(1.0, 1.00000001, Rigour.EXACT, "")) == "1.00001"
    assert mechanism_pages.shown(Enclosure(1.0, float("inf"), Rigour.EXACT, "")) == "none is certified"
    assert mechanism_pages.shown(Enclosure(float("inf"), float("inf"), Rigour.EXACT, "")) == "none is enough"
    drawn = mechanism_pages.points(ldp.account(Channel("9/10, 1/10, 0; 0, 1/10, 9/10")), 5)
    assert [epsilon for epsilon, _ in drawn] == [0, 2, 4, 6, 8]
    assert all(found.low <= 9 / 10 <= found.high for _, found in drawn)


def small(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a site of one page, a public name and a mechanism."""
    pages = folder / "docs"
    (pages / "_static").mkdir(parents=True)
    for each in ("conf.py", "_static/site.css"):
        (pages / each).write_text((DOCS / each).read_text())
    (pages / "index.md").write_text(f"# A site\n\n{text}\n\n```{{toctree}}\nliterature\napi\nmechanisms/index\n```\n")
    (pages / "literature.md").write_text("# Claims\n")
    monkeypatch.setattr(site, "DOCS", pages)
    monkeypatch.setattr(site, "ABOVE", ())
    monkeypatch.setattr(ldp, "__all__", ["Shuffle"])
    site.build(folder / "site", ["randomized_response"])


@pytest.mark.slow
@built
def test_a_site_of_one_page_builds_in_strict_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(tmp_path, "[Claims](literature.md)", monkeypatch)
    html = tmp_path / "site" / "html"
    assert {page.stem for page in (html / "mechanisms").glob("*.html")} == {"index", "randomized_response"}
    assert "<mfrac>" in (html / "mechanisms" / "randomized_response.html").read_text()
    assert 'id="ldpaudit.Shuffle"' in (html / "api.html").read_text()
    assert ">Type<" not in (html / "api.html").read_text(), "a sentence with a colon is taken for a type"


@built
@pytest.mark.slow
def test_the_whole_site_builds_in_strict_mode(tmp_path: Path) -> None:
    site.build(tmp_path)
    html = tmp_path / "html"
    assert {page.stem for page in (html / "mechanisms").glob("*.html")} == {"index", *mechanisms.stems()}
    assert "<mfrac>" in (html / "mechanisms" / "randomized_response.html").read_text()
    assert {page.stem for page in (html / "commands").glob("*.html")} == {"registry", "sweep", *(verb.__name__ for verb in VERBS)}
    assert "--require-decision" in (html / "commands" / "certify.html").read_text()
    assert 'id="ldpaudit.Shuffle"' in (html / "api.html").read_text()
    assert ">Type<" not in (html / "api.html").read_text(), "a sentence with a colon is taken for a type"
    assert "http" not in re.sub(r"http://www.w3.org/\S+", "", (html / "index.html").read_text().split("<footer>")[0])


@built
@pytest.mark.slow
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raises(subprocess.CalledProcessError, "", small, tmp_path, "[Nowhere](nowhere.md)", monkeypatch)
