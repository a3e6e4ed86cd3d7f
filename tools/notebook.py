"""Make docs/notebook.ipynb of docs/notebook.md: text becomes cells of text, code is run and shows what it gives.

Run ``python tools/notebook.py`` after the page, or what its cells show, has changed. A test compares both.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs" / "notebook.md", ROOT / "docs" / "notebook.ipynb"
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells_of(text: str) -> list[tuple[str, str]]:
    """Cells of a page in order: ``markdown`` or ``code``, and what stands in them."""
    found = []
    for number, part in enumerate(CODE.split(text)):
        if part.strip():
            found.append(("code" if number % 2 else "markdown", part.strip()))
    return found


def run(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and what its last line gives, as a notebook keeps them."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if stream.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines_of(stream.getvalue())})
    if value is not None:
        shown = {"text/plain": lines_of(repr(value))}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = lines_of(value._repr_html_())
        outputs.append({"data": shown, "metadata": {}, "output_type": "display_data"})
    return outputs


def lines_of(text: str) -> list[str]:
    """Text as notebooks keep it."""
    return text.splitlines(keepends=True)


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a page, its code run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for number, (kind, source) in enumerate(cells_of(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines_of(source)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": run(source, names)}
        cells.append(cell)
    language = {"name": "python", "version": "3"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


if __name__ == "__main__":
    made = notebook(PAGE.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{NOTEBOOK.relative_to(ROOT)}: {len(made['cells'])} cells")
