"""The API reference has every public name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import discreet as ds

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
NAME = re.compile(r"^::: discreet\.([\w.]+)$", re.MULTILINE)


def listed() -> list[str]:
    return [name for page in PAGES for name in NAME.findall(page.read_text(encoding="utf-8"))]


def test_every_public_name_stands_in_the_reference():
    missing = set(ds.__all__) - set(listed())
    assert not missing, f"give docs/reference/ a line '::: discreet.NAME' for {sorted(missing)}"


def test_names_stand_there_once():
    assert len(set(listed())) == len(listed())


@pytest.mark.parametrize("module", ["analyse", "attack", "generate", "measures", "private"])
def test_what_a_public_module_offers_stands_there_too(module):
    offered = getattr(ds, module)
    functions = {f"{module}.{name}" for name in offered.__all__ if callable(getattr(offered, name))}
    short = {re.sub(r"\.(\w+)\.\1$", r".\1", name) for name in listed()}  # a function that is named as its file
    assert not functions - short


@pytest.mark.parametrize("name", listed())
def test_what_stands_there_exists(name):
    home, _, last = f"discreet.{name}".rpartition(".")
    assert hasattr(ds if home == "discreet" else import_module(home), last)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_in_the_navigation(page):
    assert f"reference/{page.name}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
