"""Public records as μ-ARGUS reads them, written a second time: data, description, lists of codes."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

from discreet.verify.formats.shown import Different
from discreet.verify.records.published import GivenRecords
from discreet.verify.records.stat import variable_names
from discreet.verify.records.words import code_of, is_unknown

DESCRIPTION = ".rda"
NUMBERS = ("int64", "double")
CANNOT = "the format cannot hold what the release gives"


def argus_files(name: str, published: GivenRecords) -> dict[str, bytes]:
    """All files of the format, by their names."""
    found: dict[str, bytes] = {}
    columns, description, place = [], "", 1
    for column, short in zip(published.names, variable_names(published.names, stata=True), strict=True):
        words, decimals = _texts(published, column)
        width = max(1, max(len(word) for word in words))
        if width > 100:
            raise Different(CANNOT)
        justified = str.rjust if published.kind(column) in NUMBERS else str.ljust
        padded = {word: justified(word, width) for word in set(words)}
        columns.append([padded[word] for word in words])
        about = published.info[column]
        labels = [(code, _line(about.value_labels[code])) for code in sorted(about.value_labels) if code.strip()]
        file = f"{name}_{short}.cdl" if labels else ""
        if file:
            sink = io.StringIO(newline="")
            csv.writer(sink, lineterminator="\n").writerows(labels)
            found[file] = sink.getvalue().encode()
        description += _described(published, column, place, width, decimals, file)
        place += width
    if place > 32_000:
        raise Different(CANNOT)
    lines = "".join("".join(parts) + "\n" for parts in zip(*columns, strict=True))
    if not lines.rstrip("\n").rsplit("\n", 1)[-1].strip(" "):
        raise Different(CANNOT)
    return {**found, f"{name}.asc": lines.encode(), f"{name}{DESCRIPTION}": description.encode()}


def _texts(published: GivenRecords, name: str) -> tuple[list[str], int]:
    """What stands in the fields of a column before they are filled up, and the decimals of its numbers."""
    values, distinct, kind = published.values(name), published.distinct(name), published.kind(name)
    missing = published.info[name].missing
    words: dict[Any, str] = {value: code_of(value) for value in distinct}
    decimals, gap = 0, ""
    if kind in NUMBERS:
        known = [value for value in distinct if not (missing and is_unknown(value, missing))]
        exact = {value: Decimal(repr(value)).normalize() for value in known}
        decimals = max((-int(number.as_tuple().exponent) for number in exact.values()), default=0)
        decimals = max(decimals, 0)
        words |= {value: format(number, f".{decimals}f") for value, number in exact.items()}
        alone = [code_of(low) for low, high in missing if low == high]
        gap = alone[0] if alone and len(known) == len(distinct) else ""
    elif "" in distinct and None in values:
        raise Different(CANNOT)
    if any(word.endswith(" ") or any(sign in word for sign in "\n\r\0") for word in words.values()):
        raise Different(CANNOT)
    return [gap if value is None else words[value] for value in values], decimals


def _described(published: GivenRecords, name: str, place: int, width: int, decimals: int, labels: str) -> str:
    """The lines of the description on one column."""
    about, kind = published.info[name], published.kind(name)
    if '"' in name or "\n" in name:
        raise Different(CANNOT)
    risky = not name or any(sign in " ,|()\t" for sign in name) or name[0] == "<" or name[:2] == "//"
    codes, ranges = _unknown(published, name)
    first = [f'"{name}"' if risky else name, str(place), str(width), *(f'"{code}"' for code in codes)]
    lines = [" ".join(first)]
    if kind in ("string", "bool"):
        lines.append("  <RECODEABLE>")
    if labels:
        lines.append(f'  <CODELIST> "{labels}"')
    if kind in NUMBERS:
        lines.append("  <NUMERIC>")
    if about.role == "weight":
        lines.append("  <WEIGHT>")
    if decimals:
        lines.append(f"  <DECIMALS> {decimals}")
    if about.role == "household":
        lines.append("  <HOUSE_ID>")
    if _line(about.label):
        lines.append(f'  <LABEL> "{_line(about.label)}"')
    if _line(about.format):
        lines.append(f'  <FORMAT> "{_line(about.format)}"')
    if ranges:
        lines.append("  <UNKNOWN> " + " ".join(_edge(end) for pair in ranges for end in pair))
    return "\n".join(lines) + "\n"


def _unknown(published: GivenRecords, name: str) -> tuple[list[str], tuple[tuple[Any, Any], ...]]:
    """Two codes for "unknown", and all of them where two do not say it."""
    missing = published.info[name].missing
    simple = all(low == high for low, high in missing)
    if published.kind(name) not in NUMBERS:
        simple = simple and all(isinstance(low, str) for low, _ in missing)
    codes, ranges = [code_of(low) for low, _ in missing], missing[:0]
    if not simple or len(missing) > 2:
        codes = sorted(code_of(value) for value in published.distinct(name) if is_unknown(value, missing))[:2]
        ranges = missing
    if any('"' in code for code in codes):
        raise Different(CANNOT)
    return codes, ranges


def _edge(end: Any) -> str:
    if isinstance(end, str):
        return f'"{end}"'
    return code_of(end) if abs(end) < 1e15 else repr(float(end))


def _line(text: str) -> str:
    for sign in "\r\n\t":
        text = text.replace(sign, "\n")
    return " ".join(part for part in _runs(text.replace('"', "'"))).strip()


def _runs(text: str) -> list[str]:
    """What stands between breaks of lines; several breaks count as one."""
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return text.split("\n")
