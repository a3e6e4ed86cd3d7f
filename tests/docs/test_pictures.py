"""The pictures of the documentation are what the code draws, and every page's pictures are there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"


def test_pictures_are_those_that_the_code_draws(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs_pictures

    drawn: dict[str, str] = {}
    docs_pictures.main(lambda path, text: drawn.setdefault(path.name, text))
    for name in ("docs_pictures", "docs_drawing"):
        monkeypatch.delitem(sys.modules, name)
    assert set(drawn) == {path.name for path in IMAGES.iterdir()}
    for name, text in drawn.items():
        kept = (IMAGES / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is another now: python tools/docs_pictures.py"


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_says_what_it_shows_and_follows_the_screen(path):
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    names = {child.tag.rpartition("}")[2]: child.text for child in root}
    assert names["title"]
    assert names["desc"]
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_every_picture_is_on_a_page_with_words_for_it():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = set()
    for page in pages:
        for words, target in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert words, f"{page.name}: {target} has no words"
            assert (page.parent / target).is_file(), f"{page.name}: {target}"
            shown.add(Path(target).name)
    assert shown == {path.name for path in IMAGES.iterdir()}
