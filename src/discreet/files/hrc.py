"""Hierarchy files: ``.hrc`` (indented codes) and code lists with labels, and maps of changed codes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.model.hierarchy import Hierarchy


def read_hierarchy(path: str | Path, *, total: str = "Total", lead: str = "@", **options: Any) -> Hierarchy:
    """Read a hierarchy from an ``.hrc`` file: one code a line, its depth the number of leading ``@``.

    Parameters
    ----------
    path
        The file.
    total
        Code of the grand total, which the file does not list.
    lead
        The string that stands for one level of depth.
    **options
        ``labels`` and ``missing`` of :class:`~discreet.Hierarchy`.

    Raises
    ------
    InputError
        With file and line, when a code stands twice or a level is skipped.
    """
    path = Path(path)
    parents: dict[str, str | None] = {}
    above: list[str] = [total]
    for number, line in enumerate(read_lines(path), start=1):
        text = line.rstrip()
        if not text.strip():
            continue
        depth = 0
        while text.startswith(lead):
            text = text[len(lead) :]
            depth += 1
        if depth >= len(above):
            raise InputError(
                f"{path.name}, line {number}: code {text!r} is {depth} levels deep, but the code before it only "
                f"{len(above) - 2}.",
                hint="A code may be at most one level deeper than the code before it.",
            )
        if text in parents or text == total:
            raise InputError(
                f"{path.name}, line {number}: code {text!r} stands there a second time.",
                hint="List each code once; the grand total is not listed.",
            )
        parents[text] = above[depth]
        above[depth + 1 :] = [text]
    if not parents:
        raise InputError(f"The hierarchy file {path.name!r} has no codes.")
    return Hierarchy.from_parents({total: None, **parents}, total, **options)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, lead: str = "@") -> None:
    """Write a tree as an ``.hrc`` file; a hierarchy that is not a tree cannot be written."""
    parts: dict[str, list[str]] = {}
    for grouping in hierarchy.groupings:
        if grouping.parent in parts or any(sign < 0 for _, sign in grouping.parts):
            raise InputError(
                f"An .hrc file holds trees only; '{grouping}' is a further or signed sum.",
                hint="Write the groupings as separate hierarchies.",
            )
        parts[grouping.parent] = [code for code, _ in grouping.parts]
    lines: list[str] = []
    stack = [(code, 0) for code in reversed(parts.get(hierarchy.total or "", []))]
    while stack:
        code, depth = stack.pop()
        lines.append(lead * depth + code)
        stack.extend((below, depth + 1) for below in reversed(parts.get(code, [])))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_code_map(path: str | Path, *, delimiter: str = ",") -> dict[str, str]:
    """Read a map of old codes to new ones from a file with two columns (a header ``old,new`` is optional).

    Several old codes may become one. A code that splits cannot be mapped record by record and is an error.
    """
    path = Path(path)
    result: dict[str, str] = {}
    for number, row in enumerate(csv.reader(read_lines(path), delimiter=delimiter), start=1):
        if not row or (number == 1 and [field.strip().lower() for field in row] == ["old", "new"]):
            continue
        if len(row) != 2:
            raise InputError(f"{path.name}, line {number}: {len(row)} fields where an old and a new code are expected.")
        old, new = (field.strip() for field in row)
        if result.setdefault(old, new) != new:
            raise InputError(
                f"{path.name}, line {number}: code {old!r} becomes both {result[old]!r} and {new!r}.",
                hint="A code that splits needs the records re-coded at their source.",
            )
    return result


def read_labels(path: str | Path, *, delimiter: str = ",") -> dict[str, str]:
    """Read words for codes from a file of ``code,label`` lines."""
    result: dict[str, str] = {}
    for line in read_lines(Path(path)):
        code, _, label = line.partition(delimiter)
        if code.strip():
            result[code.rstrip()] = label.strip()
    return result


def read_lines(path: Path) -> list[str]:
    """Lines of a text file; errors name the file."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"There is no file {path.name!r}.", hint=f"Looked for: {path}") from None
    except UnicodeDecodeError:
        raise InputError(f"The file {path.name!r} is not UTF-8 text.", hint="Save it as UTF-8.") from None
