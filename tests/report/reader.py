"""Reads a page the way a reader does: headings, tables, text; and the tags for those who look closer."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr", "wbr"}


@dataclass
class ReadTable:
    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)

    def row(self, *start: str) -> list[str]:
        """The row that begins with these cells."""
        return next(row for row in self.rows if row[: len(start)] == list(start))

    def column(self, name: str) -> list[str]:
        return [row[self.rows[0].index(name)] for row in self.rows[1:]]


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: list[ReadTable] = []
        self.blocks: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self.opened: list[str] = []
        self._into: list[str] | None = None
        self.feed(text)
        self.close()
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.opened.append(tag)
        if tag == "table":
            self.tables.append(ReadTable())
        elif tag == "tr":
            self.tables[-1].rows.append([])
        if tag in ("h1", "h2", "h3", "h4", "caption", "td", "th", "pre"):
            self._into = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag, f"</{tag}> closes something else"
        if self._into is None or tag not in ("h1", "h2", "h3", "h4", "caption", "td", "th", "pre"):
            return
        raw = "".join(self._into)
        said = " ".join(raw.split())
        if tag in ("td", "th"):
            self.tables[-1].rows[-1].append(said)
        elif tag == "caption":
            self.tables[-1].caption = said
        elif tag == "pre":
            self.blocks.append(raw)
        else:
            self.headings.append((int(tag[1]), said))
        self._into = None

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] in ("style", "script"):
            self.scripts += [data] if self.opened[-1] == "script" else []
            return
        self.text += data
        if self._into is not None:
            self._into.append(data)

    def table(self, caption: str) -> ReadTable:
        """The first table whose caption begins with these words."""
        return next(table for table in self.tables if table.caption.startswith(caption))
