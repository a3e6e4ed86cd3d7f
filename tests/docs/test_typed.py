"""What the README and the tutorial show passes a user's strict type checker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import discreet as ds

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {"readme.py": "README.md", "tutorial.py": "docs/tutorial.md"}
# pyarrow has no types of its own; whoever imports it beside a strict checker writes this.
SETTINGS = "[mypy]\nstrict = true\n[mypy-pyarrow.*]\nignore_missing_imports = true\n"
OTHER = """import discreet as ds
reveal_type(ds.examples.small_table().assess(ds.PPercent(10)))
reveal_type(ds.load("out").verify())
ds.examples.small_table().assess(ds.KAnonymity(3))
"""
SAID_OF_OTHER = """\
other.py:2: note: Revealed type is "discreet.model.table.Table"
other.py:3: note: Revealed type is "discreet.verify.verdict.Verdict"
other.py:4: error: Argument 1 to "assess" of "TableVerbs" has incompatible type "KAnonymity"; \
expected "Rule | Sequence[Rule]"  [arg-type]
"""


def test_the_readme_and_the_tutorial_pass_strict_type_checks(tmp_path):
    for file, page in PAGES.items():
        (tmp_path / file).write_text("\n".join(BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))))
    (tmp_path / "other.py").write_text(OTHER)  # shows that the checker does see types, and minds wrong ones
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    # The package is silent about itself, as one that is installed; its cache is kept, so that later runs are quick.
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "docs"), *PAGES, "other.py"]
    source = {"MYPYPATH": str(Path(ds.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **source}, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == SAID_OF_OTHER
