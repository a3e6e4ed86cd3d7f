"""One server with pages and one browser for all tests of a module."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.census import PLOTS, made
from tests.server.pages.office import Office, serving

AXE = Path(__file__).parents[2] / "report" / "vendor" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return made(tmp_path_factory.mktemp("census"), records=4_000, areas=12, change=PLOTS)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, census: Any) -> Iterator[Office]:
    made_office = Office(tmp_path_factory.mktemp("office"), [census])
    with serving(made_office):
        yield made_office


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        # no name is looked up, and no address but this machine's is reached
        rules = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        opened = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", f"--host-resolver-rules={rules}"]
        )
        yield opened
        opened.close()


class Window:
    """A page of a browser that must not complain, and must ask nobody else."""

    def __init__(self, page: Any, origin: str) -> None:
        self.page, self.origin = page, origin
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self._heard(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, text: str) -> None:
        if "Clear-Site-Data" not in text:  # Chromium says so when somebody signs out
            self.complaints.append(text)

    def open(self, path: str) -> Any:
        self.page.goto(self.origin + path)
        return self.page

    def sign_in(self, path: str) -> Any:
        """Begin a session with one's certificate, and go on to a page."""
        page = self.open("/account")
        page.get_by_role("button", name="Begin a session").click()
        page.wait_for_load_state()
        return self.open(path)

    def faults(self) -> list[Any]:
        """What axe finds on the page."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")
        assert len(found["passes"]) > 10
        return [(fault["id"], fault["impact"], fault["nodes"][0]["html"]) for fault in found["violations"]]


@pytest.fixture
def window(browser: Any, office: Office) -> Callable[..., Any]:
    """Opens windows of people: ``with window("Ada") as one: one.open("/")``."""

    @contextmanager
    def opened(name: str = "", **options: Any) -> Iterator[Window]:
        settings = {"viewport": {"width": 1280, "height": 900}, "bypass_csp": False, **options}
        headers = {"x-test-certificate": name} if name else {}
        context = browser.new_context(extra_http_headers=headers, **settings)
        context.set_default_timeout(8_000)
        found = Window(context.new_page(), office.origin)
        try:
            yield found
            assert found.complaints == []
            assert [url for url in found.asked if not url.startswith(office.origin)] == []
        finally:
            context.close()

    return opened
