"""Columns as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import counted


def text_of_columns(columns: Mapping[str, Sequence[Any]], total: int, noun: str = "cell", see: str = "") -> str:
    """Aligned text; numbers to the right; says how many rows are not shown, and how to see them."""
    shown = {name: [text_of(item) for item in items] for name, items in columns.items()}
    rows = len(next(iter(shown.values()), []))
    widths = {name: max([len(name), *(len(item) for item in items)]) for name, items in shown.items()}
    right = {name for name, items in columns.items() if any(isinstance(i, int | float) for i in items)}

    def line(cells: Mapping[str, str]) -> str:
        return "  ".join(cells[n].rjust(widths[n]) if n in right else cells[n].ljust(widths[n]) for n in shown).rstrip()

    lines = [line({n: n for n in shown}), *(line({n: shown[n][i] for n in shown}) for i in range(rows))]
    if total > rows:
        lines.append(cut_line(total - rows, noun, see))
    return "\n".join(lines)


def to_the_right(words: Sequence[str]) -> list[str]:
    """Words of one column, all ending at its right."""
    width = max(map(len, words), default=0)
    return [word.rjust(width) for word in words]


def rows_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns as one mapping a row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def cut_line(more: int, noun: str, see: str = "") -> str:
    """How many rows are not shown, and what shows them."""
    return f"... {counted(more, f'more {noun}')}{f' ({see} shows all)' if see else ''}"


def text_of(item: Any) -> str:
    """An entry of a column as text; thousands of numbers apart."""
    if item is None:
        return ""
    if isinstance(item, bool) or not isinstance(item, int | float):
        return str(item)
    return f"{item:,}"
