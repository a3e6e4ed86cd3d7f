"""What the tests of faults start: a small recipe, and commands in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import discreet

RECIPE = """
version = 1

[data]
file = "records.csv"
contributor = "firm"

[[tables]]
name = "turnover"
by = ["activity", "region"]
value = "turnover"

[[rules]]
kind = "p_percent"
p = 10

[[protect]]
method = "suppress"

[output]
directory = "out"
"""


def recipe_in(folder: Path, records: int = 60) -> Path:
    """A recipe with its records in a folder."""
    lines = ["activity,region,turnover,firm"]
    lines += [f"{'ABC'[i % 3]},{'NSEW'[i * 7 % 4]},{(i * 37) % 101 + 1},{i % 41}" for i in range(records)]
    (folder / "records.csv").write_text("\n".join(lines) + "\n")
    (folder / "recipe.toml").write_text(RECIPE)
    return folder / "recipe.toml"


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that runs the code under test."""
    source = str(Path(discreet.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": source, **more}


def command(*words: object, **options: Any) -> subprocess.Popen[str]:
    """A command of ours in a process of its own."""
    return python("-m", "discreet", *words, **options)


def python(*words: object, **options: Any) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment(), **options}
    return subprocess.Popen([sys.executable, *(str(word) for word in words)], **given)
