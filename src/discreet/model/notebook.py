"""Results as small pages for notebooks: a headline, colours for what cells are, and a line that says what is cut.

Tints are transparent and text keeps the notebook's own colour, so that pages are readable on light and on dark paper
without knowing which it is. No colour says anything alone: a letter or a word stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from discreet.model.display import text_of

STYLE = (
    "<style>"
    ".dscr{font-size:13px;line-height:1.4;max-width:100%}"
    ".dscr p,.dscr ul{margin:.3em 0}.dscr ul{padding-left:1.4em}.dscr li{margin:.1em 0}"
    ".dscr .scroll{overflow-x:auto}"
    ".dscr table{border-collapse:collapse;margin:.4em 0;font-size:12.5px;border:0;font-variant-numeric:tabular-nums}"
    ".dscr th,.dscr td{padding:2px 9px;text-align:left;white-space:nowrap;border:0;background:none;"
    "border-bottom:1px solid rgba(128,128,128,.28);vertical-align:top}"
    ".dscr thead th{border-bottom:1px solid rgba(128,128,128,.8);vertical-align:bottom}"
    ".dscr tbody th{font-weight:400}.dscr td.n,.dscr th.n{text-align:right}.dscr .sum{font-weight:600}"
    ".dscr td.w{white-space:normal;min-width:12em}"
    ".dscr .soft{opacity:.75}.dscr sup{opacity:.8;font-size:75%;margin-left:2px}"
    ".dscr .chip{display:inline-block;border-radius:9px;padding:0 8px;margin:0 5px 2px 0;"
    "background:rgba(128,128,128,.16)}"
    ".dscr .u{background:rgba(214,58,34,.32)}.dscr .m{background:rgba(232,150,20,.3)}"
    ".dscr .x{background:rgba(214,58,34,.2)}.dscr .p{background:rgba(140,84,214,.28)}"
    ".dscr .a{background:rgba(40,120,220,.16)}.dscr .good{background:rgba(30,150,80,.26)}"
    ".dscr .warn{background:rgba(232,150,20,.3)}.dscr .e{opacity:.55}"
    ".dscr svg{max-width:100%;height:auto}.dscr .paper{background:#fff;color:#1a2433;border-radius:4px;padding:6px}"
    "</style>"
)
MEANING = {
    "U": ("u", "unsafe"),
    "M": ("m", "withheld besides"),
    "X": ("x", "withheld"),
    "P": ("p", "published by force"),
    "E": ("e", "empty"),
    "A": ("a", "altered"),
    "V": ("", "safe"),
    "?": ("", "not assessed"),
}
"""Class and word of each status letter."""

TINTS = {letter: tint for letter, (tint, _) in MEANING.items()} | {"unsafe": "u", "secondary": "m", "forced": "p"}
"""Class of a status, written as a letter or as a word of a pattern."""


class Chip(NamedTuple):
    """A short finding in a headline: its words, and the class that colours it."""

    words: str
    tint: str = ""


def page(title: str, chips: Iterable[Chip] = (), *parts: str) -> str:
    """A page: its headline, and parts that are made already."""
    shown = "".join(f'<span class="chip {chip.tint}">{escape(chip.words)}</span>' for chip in chips)
    head = f"<p><strong>{escape(title)}</strong></p>{f'<p>{shown}</p>' if shown else ''}"
    return f'<div class="dscr">{STYLE}{head}{"".join(parts)}</div>'


def sentence(words: str, soft: bool = True) -> str:
    """A paragraph; what it says is escaped."""
    return f'<p class="soft">{escape(words)}</p>' if soft else f"<p>{escape(words)}</p>"


def items(heading: str, entries: Iterable[str], tint: str = "") -> str:
    """A heading and a list below it; nothing where the list is empty."""
    lines = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    label = f'<span class="chip {tint}">{escape(heading)}</span>' if tint else f"<b>{escape(heading)}</b>"
    return f"<p>{label}</p><ul>{lines}</ul>" if lines else ""


def listing(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns as a table, numbers to the right; a column called ``status`` colours its cells."""
    rows = len(next(iter(columns.values()), []))
    right = {name for name, entries in columns.items() if any(_is_number(entry) for entry in entries)}

    def cell(name: str, entry: Any) -> str:
        tint = TINTS.get(str(entry), "") if name == "status" else ""
        kind = " ".join(word for word in ("n" if name in right else "", tint) if word)
        return f"<td{classed(kind)}>{escape(text_of(entry))}</td>"

    head = "".join(f"<th{classed('n' if name in right else '')}>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(cell(name, entries[i]) for name, entries in columns.items())}</tr>" for i in range(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def classed(kind: str) -> str:
    """The class of an element, where it has one."""
    return f' class="{kind}"' if kind else ""


def _is_number(entry: Any) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def indented(code: str, label: str, depth: int) -> str:
    """A code in its place in the tree, with its words where it has some."""
    words = f' <span class="soft">{escape(label)}</span>' if label and label != code else ""
    return f'<span style="padding-left:{1.1 * depth:.1f}em">{escape(code)}</span>{words}'
