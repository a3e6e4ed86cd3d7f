"""The utility of a file as a page that stands alone: nothing is fetched, no script is run, all text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.notebook import items, listing, sentence

if TYPE_CHECKING:
    from discreet.measures.statistic_changes import StatisticChange
    from discreet.measures.utility_result import RecordUtility, UtilityPart

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#1a2433;"
    "background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    ".bars{border-collapse:collapse}.bars td{padding:1px 8px;white-space:nowrap}.bars .n{text-align:right}"
    "svg text{font:12px system-ui,sans-serif}"
)
HEADINGS: dict[UtilityPart, str] = {
    "statistics": "Statistics before and after",
    "models": "Models before and after",
    "tables": "Tables",
    "margins": "Single columns",
    "pairs": "Pairs of columns",
    "propensity": "How well the files are told apart",
    "battery": "Six matrices",
    "losses": "Losses of numbers",
    "columns": "Columns of both files",
    "checks": "Valid and interesting",
}
COLOURS = {"same": "#2e7d4f", "close": "#2e7d4f", "moved": "#b07400", "far": "#b3321b"}
WIDE, HIGH, MIDDLE = 260, 14, 130
MOST_BARS = 60


def utility_page(found: RecordUtility) -> str:
    """All parts of the utility of a file, with bars of changes in per cent. It holds statistics of true values."""
    warning = "This page holds statistics of the original file. It is for the custodian; public() has what may go out."
    parts = [sentence(warning), found._repr_html_(), _bars(found.statistics)]
    for part, heading in HEADINGS.items():
        columns = found.columns_of(part)
        if next(iter(columns.values()), []):
            parts += [f"<h2>{escape(heading)}</h2>", f'<div class="dscr">{listing(_rounded(columns))}</div>']
    if found.tree is not None and any(found.tree.importance.values()):
        ranked = sorted(found.tree.importance.items(), key=lambda one: -one[1])
        words = [f"{name}: {100 * share:.0f} %" for name, share in ranked if share > 0]
        parts.append(items("By which columns a tree tells the files apart", words))
    return standing_page("Utility of a released file", parts)


def standing_page(title: str, parts: Sequence[str]) -> str:
    """Parts as a page of its own."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style>"
    )
    body = f"<main><h1>{escape(title)}</h1>{''.join(parts)}</main>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _bars(changes: Sequence[StatisticChange]) -> str:
    """Changes of statistics in per cent as bars to the left (grew) and right (fell) of a line."""
    defined = [one for one in changes if not np.isnan(one.percent)][:MOST_BARS]
    if not defined:
        return ""
    most = max(1e-9, max(abs(one.percent) for one in defined))
    rows = "".join(_bar(one, most) for one in defined)
    legend = "Per cent of the original, (original - released) / original: bars to the right fell, to the left grew."
    more = len(changes) - len(defined)
    cut = sentence(f"{more:,} more are in the table below.") if more else ""
    return f"<h2>Changes of statistics</h2>{sentence(legend)}<table class='bars'>{rows}</table>{cut}"


def _bar(change: StatisticChange, most: float) -> str:
    length = abs(change.percent) / most * (MIDDLE - 2)
    start = MIDDLE if change.percent >= 0 else MIDDLE - length
    colour = COLOURS.get(change.flag, "#5a6472")
    label = f"{change.statistic} of {change.quantity}"
    drawing = (
        f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="{change.percent:.2f} per cent">'
        f'<line x1="{MIDDLE}" y1="0" x2="{MIDDLE}" y2="{HIGH}" stroke="#8a94a3"/>'
        f'<rect x="{start:.1f}" y="2" width="{max(length, 0.5):.1f}" height="{HIGH - 4}" fill="{colour}"/></svg>'
    )
    words = f"<td>{escape(label)}</td><td>{escape(change.group)}</td>"
    return f'<tr>{words}<td>{drawing}</td><td class="n">{change.percent:.2f} %</td><td>{escape(change.flag)}</td></tr>'


def _rounded(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Numbers with five digits, for people."""

    def short(entry: Any) -> Any:
        if isinstance(entry, float):
            return "identical" if entry == float("inf") else float(f"{entry:.5g}")
        return entry

    return {name: [short(entry) for entry in entries] for name, entries in columns.items()}
