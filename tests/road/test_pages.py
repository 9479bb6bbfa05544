"""The pages that people meet: they need nothing else, everybody can read them, and they say what the certificate says."""

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise

import pytest

import ldpaudit as ldp
from ldpaudit import Certificate, Enclosure, Rigour
from ldpaudit.certificates.exhibits import Exhibit, exhibits
from ldpaudit.certificates.risk import percent
from ldpaudit.core.records import LookRecord
from ldpaudit.display import pictures
from ldpaudit.errors import LdpauditError
from ldpaudit.evidence import Mode
from ldpaudit.files.deployment import load, loads
from ldpaudit.report import html
from ldpaudit.report.html import changes, deployment_lines, index
from ldpaudit.report.style import STYLE
from ldpaudit.report.text import NEIGHBOURS, VERDICTS, plain, relation
from tests.helpers import COIN, ROOT, Tags, contrast, deployment, raises, some
from tests.road.test_deployment import CITED

RESPONSE = COIN.replace("3/4", "exp(2)/(1 + exp(2))")
FILE = deployment(RESPONSE, 'id = "low"\nepsilon = {epsilon}\n[[claims]]\nid = "asked"\nepsilon = "?"', "{id}")


@cache
def made(name: str = "votes", epsilon: str = "1") -> Certificate:
    found = ldp.certify(loads(FILE.format(id=name, epsilon=epsilon)), trials=2000)
    return found.model_copy(update={"date": "2026-01-31", "issuer": "The authority"})


@cache
def shown() -> dict[str, Exhibit]:
    return exhibits(made())


@cache
def full() -> str:
    return html.page(made(), shown(), made(epsilon="2"))


PAGES: dict[str, Callable[[], str]] = {
    "deployment": full, "index": lambda: index([made(), made("other", "2")], {"votes": made()}),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_makes_no_request_is_well_formed_and_is_read_by_everybody(name: str) -> None:
    page = PAGES[name]()
    read = Tags(page)
    for tag, attributes in read.tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use")
        assert not {"src", "srcset", "data", "action", "xlink:href", "style", "background"} & set(attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert re.fullmatch(r"[\w.-]+\.html", attributes.get("href") or "a.html"), "a file beside the page"
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert read.open == []
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert ("html", {"lang": "en"}) in read.tags
    assert [tag for tag, _ in read.tags].count("main") == 1
    assert all(attributes.get("aria-label") and attributes["role"] == "img" for tag, attributes in read.tags if tag == "svg")
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in read.tags if tag == "th")


@pytest.mark.parametrize("look", [0, 1, 2], ids=["light", "dark", "print"])
def test_every_text_has_a_contrast_of_four_and_a_half_to_its_ground(look: int) -> None:
    """WCAG 2.1, success criterion 1.4.3, level AA."""
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]+)", STYLE.split(":root")[look + 1]))
    for text in ("text", "muted", "certified", "measured", "bad", "open", "good"):
        for ground in ("page", "panel"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_a_verdict_is_read_without_its_colour_and_a_page_says_how_to_reproduce_it() -> None:
    page = full()
    assert "\u2717 REFUTED" in page
    assert page.index('class="overall REFUTED"') < page.index("<h2>")
    assert "issued by The authority, 2026-01-31" in page
    assert "1 claim: 1 is refuted. 1 question." in page
    assert "ldpaudit certify votes.toml --seed 0 --trials 2000 --confidence 0.999" in page
    assert "ldpaudit verify votes.json --resample" in page
    assert all(meaning in page for meaning in VERDICTS.values())
    assert NEIGHBOURS["replace-one"] in page


def test_a_page_says_each_claim_plainly_what_it_means_and_what_would_hold() -> None:
    page, found = full(), shown()
    assert "This is false." in plain(made().claims[0])
    for claim in made().claims:
        risk = some(found[claim.id].risk)
        assert html.escape(plain(claim)) in page
        assert html.chances(risk.sentence("one report")) in page
        assert percent(risk.true_positive[0][1]) in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "At this delta an epsilon of 2 holds." in page
    assert "ldpaudit design randomized_response k=2 --epsilon 1" in page
    assert found["asked"].repair is None


@pytest.mark.parametrize(("unit", "seen"), [
    ("report", "sees one report and"), ("lifetime", "sees all that a user ever sends and"), ("user-day", "sends in a day and"),
])  # fmt: skip
def test_a_page_says_what_an_adversary_sees(unit: str, seen: str) -> None:
    text = FILE.format(id="v", epsilon=1).replace('id = "low"', f'id = "low"\nunit = "{unit}"')
    rappor = 'kind = "rappor"\nbits = 4\nhashes = 1\nf = "1/2"\np = "1/4"\nq = "3/4"\n[contribution]\nmemoized = true'
    assert seen in page_of(text.replace(RESPONSE, rappor))


def page_of(text: str) -> str:
    certificate = ldp.certify(loads(text), trials=500)
    return html.page(certificate, exhibits(certificate))


@pytest.mark.slow
def test_of_shuffled_reports_and_sums_it_says_what_is_seen_what_is_left_out_and_whom_a_user_trusts() -> None:
    text = FILE.format(id="v", epsilon=1)
    seen = "An adversary who sees the views of all users in random order, one report each and"
    assert seen in page_of(text.replace("[[claims]]", "[shuffle]\nusers = 3\n[[claims]]", 1))
    summed = text.replace(RESPONSE, 'kind = "unary_encoding"\nk = 4\nrho = "1/9"\n[aggregate]\nusers = 3\nmost_ones = 2')
    assert "the sum of the views of 3 honest users, one report each, without those of more than 2 ones" in page_of(summed)
    found = page_of(load("dap-hedge").text.replace("users = 100_000", "users = 1_000").replace("1/10**9", "1/10**4"))
    assert "Whom a user trusts" in found
    assert "the sum of the views of 1 honest user, one report each, and the noise of 1 honest aggregator" in found
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", found[found.index("Whom a user trusts") :])
    row = cells.index("oamc")
    assert cells[row + 1 : row + 3] == ["1,000", "DiscreteGaussian(sigma=42701/5000, change=(1,))"]
    assert "Whom a user trusts" not in full()


def test_a_page_is_made_of_the_most_extreme_claims_and_every_relation_has_words() -> None:
    for epsilon, delta in (("10**18", "0"), ("1", "1/10**400"), ("0", "0"), ("1/10**30", "1/2")):
        assert "Privacy profile of low" in page_of(FILE.format(id="v", epsilon=f'"{epsilon}"\ndelta = "{delta}"'))
    for name in ("replace-one", "add-remove", "user-level", "same-pattern", "group-of-3", "pairs [(0, 1)]"):
        assert relation(name).startswith(("two inputs", "the pairs"))


def test_what_changed_is_said_and_nothing_else() -> None:
    before, now = made(epsilon="2"), made()
    assert changes(now, now) == []
    said = changes(before, now)
    assert f"low: its verdict was {before.claims[0].verdict} and is REFUTED" in said
    assert "low: its claim was 2 and is 1" in said
    assert not [line for line in said if line.startswith("asked")]
    assert deployment_lines(before, now) == ["-epsilon = 2", "+epsilon = 1"]
    assert "Its digest is" in full()
    gone = now.model_copy(update={"claims": now.claims[:1], "seed": 5})
    assert changes(now, gone) == ["asked is no longer claimed", "the seed was 0 and is 5"]
    assert changes(gone, now)[0].startswith("asked is new: ")


def test_the_index_has_the_worst_verdict_first_and_a_link_to_each_page() -> None:
    good, bad = made("other", "2"), made()
    page = index([good, bad])
    assert 'class="overall REFUTED"' in page
    assert page.index('href="votes.html"') < page.index('href="other.html"')
    assert "2 claims: 1 holds, 1 is refuted. 2 questions." in page
    assert "<h1>Privacy certificate of one deployment</h1>" in index([good])
    assert "before" not in index([good, bad]).split("<main>")[1].split("<h2>What the words mean")[0]
    compared = index([good, bad], {"votes": bad})
    assert "Nothing changed since the previous certificate." in compared
    assert "There is no previous certificate." in compared


def test_the_audit_s_bound_is_drawn_as_it_tightened_where_its_numbers_are() -> None:
    claim = made().claims[0]
    assert claim.evidence is not None
    drawn = ((10, 0.0), (100, 0.25), (1000, 0.5))
    looks = [LookRecord(trials=n, measured=n, guesses=n, right=n, epsilon_lower=e) for n, e in drawn]
    seen = some(claim.evidence.trajectory).model_copy(update={"looks": tuple(looks)})
    evidence = claim.evidence.model_copy(update={"trajectory": seen, "epsilon_lower": 0.5, "mode": Mode.SEQUENTIAL})
    picture = html.tightening(claim.model_copy(update={"evidence": evidence, "epsilon": "1/4"}))
    (line,) = re.findall(r'class="tightening" d="M ([^"]+)"', picture)
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, place.split())) for place in line.split(" L ")]
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert f'class="claim" d="M {x0:.0f} {y1:.1f} H' in picture
    assert "The last one is the measured bound, 0.5." in picture
    assert "All of these bounds hold together, with confidence 0.999" in picture
    assert html.tightening(claim) in full()


def test_of_one_look_or_of_looks_that_saw_nothing_there_is_no_picture() -> None:
    claim = made().claims[0]
    seen = some(some(claim.evidence).trajectory)
    unseen = tuple(look.model_copy(update={"epsilon_lower": 0.0}) for look in seen.looks)
    for other in (None, seen.model_copy(update={"looks": seen.looks[:1]}), seen.model_copy(update={"looks": unseen})):
        evidence = some(claim.evidence).model_copy(update={"trajectory": other})
        assert html.tightening(claim.model_copy(update={"evidence": evidence})) == ""


def test_a_picture_of_a_profile_never_rises_and_its_numbers_stay_inside() -> None:
    ends = ((0.0, 0.1, 1.0), (0.5, 0.01, 0.3), (1.0, 0.02, 0.4), (0.001234567, 0.0, 0.1))
    picture = pictures.curve([(epsilon, low, high) for epsilon, low, high in ends], None, "rising")
    (line,) = re.findall(r'class="certified" d="M ([^"]+)"', picture)
    heights = [float(place.split()[1]) for place in line.split(" L ")]
    assert heights == sorted(heights)
    assert heights[1] == heights[2] < heights[3]
    (band,) = re.findall(r'class="band" d="M ([^"]+) Z"', picture)
    lower = [float(place.split()[1]) for place in band.split(" L ")[4:]]
    assert (lower, lower[1]) == (sorted(lower, reverse=True), lower[2])
    (last,) = re.findall(r'x="([0-9.]+)" y="[0-9.]+" text-anchor="end">0.00123<', picture)
    assert float(last) < pictures.WIDTH


def test_the_picture_of_a_profile_is_where_its_numbers_are() -> None:
    points = tuple((e, Enclosure(d / 2, d, Rigour.INTERVAL, "")) for e, d in ((0.0, 1.0), (1.0, 0.1), (2.0, 0.01), (3.0, 0.001)))
    claim = made().claims[0].model_copy(update={"epsilon": "3/2", "delta": "1/100", "delta_number": 0.01})
    picture = html.curve(claim, points)
    (line,) = re.findall(r'class="certified" d="M ([^"]+)"', picture)
    places = [tuple(map(float, place.split())) for place in line.split(" L ")]
    assert all(a[1] - b[1] == pytest.approx(places[0][1] - places[1][1], abs=0.11) for a, b in pairwise(places))
    assert all(b[0] - a[0] == pytest.approx(places[1][0] - places[0][0], abs=0.11) for a, b in pairwise(places))
    axes = some(re.search(r'class="axis" d="M ([0-9]+) ([0-9]+) V ([0-9]+) H ([0-9]+)"', picture))
    left, top, bottom, right = map(float, axes.groups())
    assert (places[0], places[-1]) == ((left, top), (right, bottom))
    (x, y) = map(float, re.findall(r'class="claim" d="M ([0-9.]+) ([0-9.]+)', picture)[0])
    assert x + 5 == pytest.approx((places[1][0] + places[2][0]) / 2, abs=0.11)
    assert y + 5 == pytest.approx(places[2][1], abs=0.11)
    (band,) = re.findall(r'class="band" d="M ([^"]+) Z"', picture)
    assert len(band.split(" L ")) == 8


def test_a_page_quotes_its_sources_and_says_that_the_system_ended() -> None:
    said = html.page(ldp.certify(loads(CITED), trials=500))
    assert "<p>The file described a system that ended on 2023-09-18.</p>" in said
    assert "README, https://example.org/readme, at e44603b of 2023-09-18: <q>epsilon is 1</q> (on: status, one)" in said
    told = html.page(ldp.certify(loads(CITED.replace("epsilon is 1", "<b>1</b>")), trials=500))
    assert "<q>&lt;b&gt;1&lt;/b&gt;</q>" in told


def test_the_rows_of_a_package_replace_those_of_its_earlier_audit_and_no_others() -> None:
    third_party = import_module("benchmarks.third_party")  # as a name, since nobody here has the types of these packages
    written = (ROOT / "docs/third-party.md").read_text(encoding="utf-8")
    rows = [line for line in written.removeprefix(third_party.HEAD).splitlines() if line]
    packages = {row.split()[1] for row in rows}
    assert (len(rows) >= 60, len(packages) >= 7) == (True, True)
    for name in packages:
        mine = [row for row in rows if row.split()[1] == name]
        assert third_party.page(written, mine) == written
        assert third_party.page(written, mine[:1]).count("\n") == written.count("\n") - len(mine) + 1


def test_every_mark_of_a_picture_has_a_colour_without_the_page_s_style() -> None:
    marks = re.findall(r'<(?:path|rect|circle|text) [^>]*>', "".join(re.findall(r"<svg.*?</svg>", full(), re.DOTALL)))
    assert len(marks) > 30
    assert all(re.search(r' (fill|stroke)="#', mark) for mark in marks)
    assert not [mark for mark in marks if "<path" in mark and ' fill="' not in mark], "a path without a fill is a black shape"


def test_a_page_is_printed_with_all_verdicts_on_its_first_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = re.findall(r'<div class="first">(.*?)</div>', full(), re.DOTALL)
    assert all(claim.id in first and claim.outcome in first for claim in made().claims)
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    raises(LdpauditError, "needs the package weasyprint", html.pdf, full())
    monkeypatch.undo()
    weasyprint = pytest.importorskip("weasyprint")
    assert len(html.pdf(full())) > 10_000
    assert len(weasyprint.HTML(string=full()).render().pages) > 2
