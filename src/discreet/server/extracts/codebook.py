"""What users are told of the file that extracts are taken from; the rate of swapping is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from discreet.model.records import PublicColumn

KINDS = ("text", "whole", "number")


class CodebookVariable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A variable as it is in the file."""

    name: str
    label: str
    kind: str
    """``text``, ``whole`` or ``number``."""
    values: list[Any] | None = None
    """All its values, where they are few: records hold places in this list."""
    names: dict[str, str] = {}
    missing: list[str] = []
    lowest: float | None = None
    highest: float | None = None
    key: bool = False
    """Whether readers are taken to know it of others."""
    level: int = 0
    """Of areas: 1 is the coarsest; 0 for others."""
    altered: str = ""
    """How it was changed, in words."""


class Codebook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All variables, and what was done to the file as a whole."""

    name: str
    edition: str
    title: str
    citation: str
    licence: str
    year: int
    rows: int
    strata: int
    households: int
    density: float
    threshold: int | None
    variables: list[CodebookVariable]
    notes: list[str] = []

    def find(self, name: str) -> CodebookVariable | None:
        """A variable by its name."""
        return next((one for one in self.variables if one.name == name), None)


def recode_words(method: Mapping[str, Any]) -> str:
    """A step in words that users may know: recodes whole, of other methods their name."""
    kind = str(method.get("method", ""))
    if kind != "recode":
        return f"altered by {kind.replace('_', ' ')}"
    ways = ("top", "bottom", "intervals", "digits", "base", "level", "date", "groups", "map")
    said = [f"{way} {_short(method[way])}" for way in ways if method.get(way) not in (None, (), [], {})]
    return "recoded: " + "; ".join(said) if said else "recoded"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        shown = [f"{old} to {_short(new)}" for old, new in list(value.items())[:20]]
        return ", ".join(shown) + (" and others" if len(value) > 20 else "")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(str(one) for one in value)
    return str(value)


def missing_words(column: PublicColumn) -> list[str]:
    """Codes that stand for "unknown", as text."""
    return [str(low) if low == high else f"{low} to {high}" for low, high in column.missing]


def codebook_text(book: Codebook, chosen: Sequence[str], definition: str, strata: bool) -> str:
    """The codebook of an extract, as plain text."""
    lines = [book.title or book.name, f"Edition {book.edition}, {book.year}", ""]
    lines += [f"Definition: {definition}", f"Households were drawn with density {book.density:g}."]
    lines += book.notes
    lines += ["", "serial   number of the household in this extract; other extracts have other numbers"]
    lines += ["person   number of the person within the household", "weight   how many persons a record stands for"]
    if strata:
        lines += ["stratum  stratum for variances: neighbours in the sample"]
    for name in chosen:
        one = book.find(name)
        assert one is not None
        lines += ["", f"{one.name}   {one.label}"]
        if one.altered:
            lines.append(f"    {one.altered}")
        if one.highest is not None:
            lines.append(f"    from {one.lowest:g} to {one.highest:g}")
        if one.missing:
            lines.append(f"    stand for unknown: {', '.join(one.missing)}")
        if one.values is not None and one.kind == "text":
            lines += [f"    {value}  {one.names.get(str(value), '')}".rstrip() for value in one.values]
        elif one.names:
            lines += [f"    {code}  {words}" for code, words in one.names.items()]
    return "\n".join(lines) + "\n"
