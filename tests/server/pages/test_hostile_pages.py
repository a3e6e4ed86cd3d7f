"""Pages against other sites and hostile labels, in a browser: frames, posted forms, markup in every label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.census import PLOTS, made
from tests.server.pages.office import Office, serving

pytestmark = pytest.mark.browser
PLACE = "/tables/census/2021.1"
BAD = """'"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}'"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A server whose catalogue has markup in all its labels."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    change = {
        '"A made-up census"': f"'''{BAD}'''",
        '"Persons who do not exist, with ages, homes, jobs and incomes."': f"'''{BAD}'''",
        'label = "Sex"': f"label = '''{BAD}'''",
        'names = { F = "Women", M = "Men" }': f"names = {{ F = '''{BAD}''', M = \"=cmd()\" }}",
        'label = "Income"': f"label = '''{BAD}'''",
        'label = "Persons of 18 years and more"': f"label = '''{BAD}'''",
        **PLOTS,
    }
    found = Office(folder, [made(folder / "census", records=2_000, areas=6, change=change)])
    found.project(f"project {BAD}", "Ada", variables=("income", "age"))
    with serving(found):
        yield found


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("", "/"),
        ("Ada", f"{PLACE}?rows=sex&columns=marital&ask=yes"),
        ("", f"{PLACE}?rows=sex&columns=marital&universe=adults&view=chart&ask=yes"),
        ("", f"{PLACE}?rows=area&columns=sex&view=map&ask=yes"),
        ("", f"{PLACE}?rows=marital&layers=sex&layer.sex=F&ask=yes"),
        ("", f"{PLACE}/codes/sex?rows=sex"),
        ("Ada", "/history"),
        ("Ada", "/plots"),
        ("Ada", "/outputs/new"),
        ("Olga", "/office/datasets/census/2021.1"),
    ],
)
def test_markup_in_labels_stays_words(window: Callable[..., Any], name: str, path: str) -> None:
    with window(name) as one:  # the window fails on any complaint of the browser, and on any request elsewhere
        page = one.open(path)
        if "chart" in path:
            page.locator("#chart svg rect").first.wait_for()
        assert page.locator("img").count() == 0
        assert page.locator("body script").count() == 0
        assert "49" not in page.title()
        assert "onerror" in page.content(), "the label is there, as words"


def test_no_other_page_frames_ours_or_posts_its_forms(window: Callable[..., Any], office: Office) -> None:
    before = office.store.outputs.listed()
    with window("Ada") as one:
        page = one.page
        page.set_content(
            f'<iframe src="{office.origin}/account"></iframe>'
            f'<form method="post" action="{office.origin}/plots"><input name="of" value="1 census 2021.1">'
            '<input name="kind" value="box"><input name="variable" value="income"></form>'
        )
        assert page.frames[-1].url.startswith("chrome-error:"), "the browser did not show it"
        with page.expect_navigation() as going:
            page.evaluate("document.querySelector('form').submit()")
        assert going.value.status == 403
        assert "403" in page.locator(".note").inner_text()
        assert all("Refused" in words or "frame" in words.lower() or "403" in words for words in one.complaints)
        assert one.complaints
        one.complaints.clear()
    assert office.store.plots.told("census", "2021.1") == {}
    assert office.store.outputs.listed() == before
