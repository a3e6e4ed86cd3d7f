"""Columns as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from discreet.errors import counted


def text_of_columns(columns: Mapping[str, Sequence[Any]], total: int, noun: str = "cell") -> str:
    """Aligned text; numbers to the right; says how many rows are not shown."""
    shown = {name: [_text(item) for item in items] for name, items in columns.items()}
    rows = len(next(iter(shown.values()), []))
    widths = {name: max([len(name), *(len(item) for item in items)]) for name, items in shown.items()}
    right = {name for name, items in columns.items() if any(isinstance(i, int | float) for i in items)}

    def line(cells: Mapping[str, str]) -> str:
        return "  ".join(cells[n].rjust(widths[n]) if n in right else cells[n].ljust(widths[n]) for n in shown).rstrip()

    lines = [line({n: n for n in shown}), *(line({n: shown[n][i] for n in shown}) for i in range(rows))]
    if total > rows:
        lines.append(f"... {counted(total - rows, f'more {noun}')}")
    return "\n".join(lines)


def html_of_columns(columns: Mapping[str, Sequence[Any]], total: int, caption: str, noun: str = "cell") -> str:
    """A small HTML table with everything escaped."""
    rows = len(next(iter(columns.values()), []))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(items[i]))}</td>" for items in columns.values()) + "</tr>"
        for i in range(rows)
    )
    more = f"<p>{counted(total - rows, f'more {noun}')}</p>" if total > rows else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _text(item: Any) -> str:
    if item is None:
        return ""
    if isinstance(item, bool) or not isinstance(item, int | float):
        return str(item)
    return f"{item:,}"
