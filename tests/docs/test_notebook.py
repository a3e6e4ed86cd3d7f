"""The notebook is the page with its cells run."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))


def tool():
    spec = importlib.util.spec_from_file_location("notebook_tool", ROOT / "tools" / "notebook.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def without_images(text: str) -> str:
    """Drawings differ by version of the package that draws them."""
    return re.sub(r"<svg.*?</svg>", "<svg/>", text, flags=re.DOTALL)


def test_every_cell_gives_what_the_notebook_shows(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    made = tool().notebook((ROOT / "docs" / "notebook.md").read_text(encoding="utf-8"))
    assert len(made["cells"]) == len(STORED["cells"]), "run: python tools/notebook.py"
    for mine, theirs in zip(made["cells"], STORED["cells"], strict=True):
        assert mine["source"] == theirs["source"], "run: python tools/notebook.py"
        for one, other in zip(mine.get("outputs", ()), theirs.get("outputs", ()), strict=True):
            for kind, lines in one.get("data", {}).items():
                shown = without_images("".join(other["data"][kind]))
                assert without_images("".join(lines)) == shown, "run: python tools/notebook.py"
    assert not list(tmp_path.iterdir())


def test_every_code_cell_shows_a_page():
    code = [cell for cell in STORED["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 10
    for cell in code:
        assert "text/html" in cell["outputs"][-1]["data"]


def test_the_notebook_is_of_a_version_that_all_readers_know():
    assert (STORED["nbformat"], STORED["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in STORED["cells"]]
    assert len(set(ids)) == len(ids)


def test_a_cell_that_prints_keeps_what_it_prints():
    outputs = tool().run("print('a')\n1 + 1", {})
    assert outputs[0]["text"] == ["a\n"]
    assert outputs[1]["data"] == {"text/plain": ["2"]}
    assert tool().run("x = 1", {}) == []
