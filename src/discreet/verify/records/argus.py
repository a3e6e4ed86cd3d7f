"""Public records as μ-ARGUS reads them, written a second time: data, description, lists of codes."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.verify.formats.shown import Different
from discreet.verify.records.published import GivenRecords, joined
from discreet.verify.records.stat import variable_names
from discreet.verify.records.words import Ranges, code_of, is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

DESCRIPTION = ".rda"
NUMBERS = ("int64", "double")
FORBIDDEN = re.compile("[\n\r\0]")
"""Signs that end a line or a file."""
CANNOT = "the format cannot hold what the release gives"


def argus_files(name: str, published: GivenRecords) -> dict[str, bytes]:
    """All files of the format, by their names."""
    found: dict[str, bytes] = {}
    columns, description, place = [], "", 1
    for column, short in zip(published.names, variable_names(published.names, stata=True), strict=True):
        values, places = published.encoded(column)
        empty = _empty_code(published, column, values)
        words, decimals = _texts(published, column, values, empty)
        width = max(1, *map(len, [*words, *_unknown(published, column)[0], empty]))
        if width > 100:
            raise Different(CANNOT)
        justified = str.rjust if published.kind(column) in NUMBERS else str.ljust
        columns.append(([justified(word, width) for word in words], places))
        about = published.info[column]
        labels = [(code, _line(about.value_labels[code])) for code in sorted(about.value_labels) if code.strip()]
        file = f"{name}_{short}.cdl" if labels else ""
        if file:
            sink = io.StringIO(newline="")
            csv.writer(sink, lineterminator="\n").writerows(labels)
            found[file] = sink.getvalue().encode()
        description += _described(published, column, place, width, decimals, file, empty)
        place += width
    if place > 32_000:
        raise Different(CANNOT)
    if not any(words[places[-1].as_py()].strip(" ") for words, places in columns):
        raise Different(CANNOT)
    return {**found, f"{name}.asc": _lines(columns), f"{name}{DESCRIPTION}": description.encode()}


def _lines(columns: list[tuple[list[str], pa.Array]]) -> bytes:
    """One line per record: what stands in each field, by the number of its word."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pa.scalar("", pa.large_string())
    parts = [pa.array(words, pa.large_string()).take(places) for words, places in columns]
    return joined(pc.binary_join_element_wise(*parts, pa.scalar("\n", pa.large_string()), nothing))


def _empty_code(published: GivenRecords, name: str, values: list[Any]) -> str:
    """The code that says of a field of text that nothing is in it: nines, or other signs where somebody has these."""
    about = published.info[name]
    codes, _ = _unknown(published, name)
    if published.kind(name) in NUMBERS or len(codes) > 1 or (codes and None not in values):
        return ""
    used = {code_of(value) for value in values if value is not None}
    width = max([1, *map(len, used)])
    used.update(about.value_labels, codes)
    tried = [width * sign for sign in "9XZ#?"] + ["9" * (width + 1)]
    return next((code for code in tried if code not in used and not is_unknown(code, about.missing)), "")


def _texts(published: GivenRecords, name: str, values: list[Any], empty: str) -> tuple[list[str], int]:
    """The fields of the distinct values of a column before they are filled up, and the decimals of its numbers."""
    if published.kind(name) in NUMBERS:
        return _numbers(values, published.info[name].missing)
    if "" in values and None in values:
        raise Different(CANNOT)
    words = [empty if value is None else code_of(value) for value in values]
    if any(word.endswith(" ") or FORBIDDEN.search(word) for word in words):
        raise Different(CANNOT)
    return words, 0


def _numbers(values: list[Any], missing: Ranges) -> tuple[list[str], int]:
    """Numbers with as many decimals as the longest has; codes for "unknown" as they are."""
    codes = ["" if value is None else code_of(value) for value in values]
    unknown = [bool(missing) and value is not None and is_unknown(value, missing) for value in values]
    # There are as many of these as records in a column of amounts, and hardly any with an exponent.
    known = [format(Decimal(code).normalize(), "f") if "e" in code else code for code in codes]
    parts = [code.partition(".") for code in known]
    counted = parts if not any(unknown) else [part for part, other in zip(parts, unknown, strict=True) if not other]
    decimals = max((len(part) for _, _, part in counted), default=0)
    alone = [code_of(low) for low, high in missing if low == high]
    gap = alone[0] if alone and not any(unknown) else ""
    if FORBIDDEN.search(gap):
        raise Different(CANNOT)
    if decimals:
        known = [f"{whole}.{part:0<{decimals}}" for whole, _, part in parts]
    if any(unknown):
        known = [code if other else word for code, word, other in zip(codes, known, unknown, strict=True)]
    return [gap if value is None else word for value, word in zip(values, known, strict=True)], decimals


def _described(
    published: GivenRecords, name: str, place: int, width: int, decimals: int, labels: str, empty: str
) -> str:
    """The lines of the description on one column."""
    about, kind = published.info[name], published.kind(name)
    if '"' in name or FORBIDDEN.search(name):
        raise Different(CANNOT)
    risky = not name or any(sign in " ,|()\t" for sign in name) or name[0] == "<" or name[:2] == "//"
    codes, ranges = _unknown(published, name)
    codes += [empty] if empty else []
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
    if about.truncable:
        lines.append("  <TRUNCABLE>")
    if _line(about.label):
        lines.append(f'  <LABEL> "{_line(about.label)}"')
    if _line(about.format):
        lines.append(f'  <FORMAT> "{_line(about.format)}"')
    if ranges:
        lines.append("  <UNKNOWN> " + " ".join(_edge(end) for pair in ranges for end in pair))
    if empty:
        lines.append(f'  <EMPTY> "{empty}"')
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
    edges = [end for ends in ranges for end in ends if isinstance(end, str)]
    if any('"' in code or FORBIDDEN.search(code) for code in [*codes, *edges]):
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
