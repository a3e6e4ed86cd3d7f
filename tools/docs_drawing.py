"""Small vector drawings for the documentation: tables, bars and points, in light and dark.

Every drawing is an SVG file of its own without a background, and follows the reader's colour scheme by itself. It is
340 wide: two stand side by side on a desk, one fills a telephone. Nothing in it depends on fonts or dates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, SHEET = 324, 340
"""How wide the marks and the sheet are; what is left keeps two sheets apart."""
STYLE = """\
svg{--ink:#1a2433;--pale:#5a6675;--line:#c9d1da;--plain:#f1f4f7;--dark:#1f3f66;--ondark:#ffffff;--soft:#b9cce0;
--changed:#f3e2bd;--accent:#b3541e}
@media (prefers-color-scheme:dark){svg{--ink:#e6ebf2;--pale:#9fb0c3;--line:#46525f;--plain:#262f3a;--dark:#8fb8e8;
--ondark:#10202f;--soft:#3d5a78;--changed:#5d4a1c;--accent:#e59a63}}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;font-size:12px;fill:var(--ink)}
.title{font-size:13px;font-weight:600}.head,.note{fill:var(--pale)}.num{text-anchor:end}.mid{text-anchor:middle}
.total{font-weight:600}.box{fill:var(--plain);stroke:var(--line)}.unsafe{fill:var(--dark);stroke:var(--line)}
.besides{fill:var(--soft);stroke:var(--line)}.changed{fill:var(--changed);stroke:var(--line)}
.onunsafe{fill:var(--ondark);font-weight:600}.bar{fill:var(--dark)}.bar2{fill:var(--soft)}
.rule{stroke:var(--line);fill:none}.point{fill:var(--dark)}.point2{fill:var(--accent)}.hex{stroke:var(--line)}
"""


@dataclass
class Drawing:
    """Marks on a sheet of fixed width; ``text()`` gives the file."""

    title: str
    description: str
    height: float = 0
    marks: list[str] = field(default_factory=list)

    def words(self, x: float, y: float, said: object, kind: str = "") -> None:
        """Write words at a place, which is their left, middle or right end as the class says."""
        style = f' class="{kind}"' if kind else ""
        self.marks.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(str(said))}</text>')
        self.height = max(self.height, y + 8)

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """Draw a rectangle."""
        place = f'x="{x:g}" y="{y:g}" width="{max(width, 0):g}" height="{height:g}"'
        self.marks.append(f'<rect {place} class="{kind}"/>')
        self.height = max(self.height, y + height + 2)

    def shape(self, points: Sequence[tuple[float, float]], kind: str, opacity: float = 1.0) -> None:
        """Draw a filled polygon."""
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.marks.append(f'<polygon points="{where}" class="{kind}" fill-opacity="{opacity:.2f}"/>')
        self.height = max(self.height, max(y for _, y in points) + 4)

    def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw a thin line."""
        self.marks.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="rule"/>')

    def dot(self, x: float, y: float, kind: str = "point") -> None:
        """Draw a point."""
        self.marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{kind}"/>')

    def text(self) -> str:
        """The drawing as an SVG file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SHEET} {self.height:g}" width="{SHEET}" '
        head += f'height="{self.height:g}" role="img" aria-labelledby="t d">'
        said = f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.description)}</desc>'
        return "\n".join([head, said, f"<style>{STYLE}</style>", *self.marks, "</svg>", ""])


@dataclass(frozen=True)
class Shown:
    """What a box of a drawn table shows."""

    text: str
    kind: str = "box"


def grid(
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Shown]],
    note: str = "",
) -> Drawing:
    """Draw a table: the first row and the first column are totals."""
    sheet = Drawing(title, description)
    sheet.words(0, 14, title, "title")
    label, top, high = 82, 24, 25
    wide = (WIDTH - label - 1) / len(columns)
    for j, name in enumerate(columns):
        sheet.words(label + wide * (j + 0.5), top + 14, name, "head mid")
    for i, name in enumerate(rows):
        y = top + 20 + high * i
        sheet.words(0, y + 17, name, "total" if i == 0 else "head")
        for j, shown in enumerate(cells[i]):
            sheet.box(label + wide * j, y, wide, high, shown.kind)
            weight = "total " if 0 in (i, j) else ""
            colour = "onunsafe " if shown.kind == "unsafe" else ""
            sheet.words(label + wide * (j + 0.5), y + 17, shown.text, f"{weight}{colour}mid")
    if note:
        sheet.words(0, sheet.height + 12, note, "note")
    return sheet


def bars(
    title: str,
    description: str,
    lines: Sequence[tuple[str, float, str]],
    note: str = "",
    kinds: Sequence[str] = ("bar",),
) -> Drawing:
    """Draw horizontal bars: a name, a length and what is written behind it; the kinds take turns."""
    sheet = Drawing(title, description)
    sheet.words(0, 14, title, "title")
    label, most = 112, max(length for _, length, _ in lines) or 1
    for i, (name, length, said) in enumerate(lines):
        y = 26 + 22 * i
        long = (WIDTH - label - 62) * length / most
        sheet.words(0, y + 13, name, "head")
        sheet.box(label, y, long, 16, kinds[i % len(kinds)])
        sheet.words(label + long + 5, y + 13, said)
    if note:
        sheet.words(0, sheet.height + 12, note, "note")
    return sheet
