"""Every example in a docstring gives what it shows, and every public name has one."""

from __future__ import annotations

import doctest
import inspect
import io
import re
from importlib import import_module
from pathlib import Path

import pytest

import discreet as ds

SOURCE = Path(ds.__file__).parent


def modules_with_examples() -> list[str]:
    """Modules with examples, found in their text: to import all 400 would take longer than the examples do."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCE.parent).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_give_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, said = doctest.DocTestRunner(), io.StringIO()
    module = import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=said.write)
    failed, attempted = runner.summarize(verbose=False)
    assert failed == 0, said.getvalue()
    written = len(re.findall(r"^ *>>> ", inspect.getsource(module), re.MULTILINE))
    assert attempted == written, f"only {attempted} of {written} lines of examples were found"
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


@pytest.mark.parametrize("name", sorted(ds.__all__))
def test_every_public_name_has_an_example(name):
    text = getattr(ds, name).__doc__ or ""
    assert ">>> " in text, f"ds.{name} has no example"
