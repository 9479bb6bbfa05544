"""Certificates and their index in a browser: no rule of axe-core is broken, nothing is scrolled sideways, nothing is fetched."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import process

playwright = pytest.importorskip("playwright.sync_api", reason="pages are looked at with the extra 'browser'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pages are looked at with the extra 'browser'")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="pages are looked at in Chromium, which is not installed")
WIDTHS = (375, 800, 1400)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("certificates")
    done = process("certify", "enpa-notification", "rappor-client", "epochs-budget", "dap-histogram-5", "--output", str(folder))
    assert done.returncode == 0, done.stderr
    found = sorted(folder.rglob("*.html"))
    assert len(found) == 5
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_read_by_everybody_at_every_width_and_fetches_nothing(
    pages: list[Path], browser: Any, width: int, scheme: str
) -> None:
    asked: list[str] = []
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    view.on("request", lambda request: asked.append(request.url))
    for page in pages:
        view.goto(page.as_uri())
        found = axe.Axe().run(view)
        assert found.violations_count == 0, f"{page.name}: {found.generate_report()}"
        assert view.evaluate("document.scrollingElement.scrollWidth") <= width, page.name
    assert {url.partition("#")[0] for url in asked} == {page.as_uri() for page in pages}
    view.close()


def test_a_printed_page_says_its_verdict_in_black_on_white(pages: list[Path], browser: Any) -> None:
    view = browser.new_page(color_scheme="dark")
    view.emulate_media(media="print")
    for page in pages:
        view.goto(page.as_uri())
        assert view.evaluate("getComputedStyle(document.body).color") in ("rgb(0, 0, 0)", "rgb(17, 17, 17)"), page.name
        ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"), page.name
        said = [view.get_by_text(word).first for word in ("PROVED", "BOUNDED", "REFUTED") if view.get_by_text(word).count()]
        assert any(verdict.is_visible() for verdict in said), page.name
    view.close()
