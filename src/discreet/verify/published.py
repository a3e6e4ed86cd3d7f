"""Public files in other formats than csv, read back and held against it.

Written apart from the writers: what another program would find in a file must be what the checked csv file says.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from importlib.util import find_spec
from itertools import product
from math import prod
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from discreet.errors import InputError
from discreet.model.public import PublicTable
from discreet.verify.verdict import Verdict

Key = tuple[str, ...]
Found = dict[Key, tuple[Decimal | None, str]]
"""What a file says of each cell: its value, and its status (``""`` where the file says none)."""
LARGEST_UNPACKED = 4 * 2**30
ENDS = ("value", "lower", "upper")
UNREADABLE = (
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    AttributeError,
    StopIteration,
    zipfile.BadZipFile,
    ElementTree.ParseError,
)
"""Errors of files that are not what they should be."""


def check_other_format(verdict: Verdict, path: Path, table: PublicTable, suffix: str) -> None:
    """Refuse a public file that does not say what the table says."""
    try:
        found = READERS[suffix](path, table)
    except ModuleNotFoundError as error:
        verdict.asserted.append(f"{path.name} shows the same cells (not read back: {error.name} is not installed)")
        return
    except UNREADABLE as error:
        verdict.refuse("public", f"a public file cannot be read back ({type(error).__name__})", path.name)
        return
    wrong = _difference(found, table)
    if wrong:
        verdict.refuse("public", wrong, path.name)
        return
    verdict.proved.append(f"{path.name} shows the same cells")


def _difference(found: Found, table: PublicTable) -> str:
    """What is wrong with a file, if anything."""
    expected = dict(_expected(table))
    stated, letters = len(found), {"A": "V"}
    for key, (value, status) in expected.items():
        seen, said = found.pop(key, (None, "missing"))
        exact = key[-1] in ENDS[1:] and seen is None and table.lower is not None
        if exact and said == "equal" and value == expected[(*key[:-1], "value")][0]:
            continue
        if seen != value:
            return "a cell has another value than in the csv file"
        if said and letters.get(said, said) != letters.get(status, status):
            return "a cell has another status than in the csv file"
    if table.altered:
        # Zeros beside the listed cells tell nothing where they stand at every place, and something where only at some.
        places = prod(len(codes) for codes in table.code_lists) * (len(ENDS) if table.lower is not None else 1)
        silent = stated == places and all(value == 0 for value, _ in found.values())
    else:
        silent = all(value is None and status in ("", "E") for value, status in found.values())
    if found and not silent:
        return "a cell is shown that the csv file does not have"
    return ""


def _refuse_other_codes(lists: Iterable[Iterable[str]], table: PublicTable) -> None:
    """A code that no published cell has would tell that somebody has it."""
    for named, known in zip(lists, table.code_lists, strict=False):
        if not set(named) <= set(known):
            raise ValueError("a code that the csv file does not have")


def _expected(table: PublicTable) -> Iterable[tuple[Key, tuple[Decimal | None, str]]]:
    columns = [("value", table.value)]
    if table.lower is not None and table.upper is not None:
        columns += [("lower", table.lower), ("upper", table.upper)]
    status, shown = table.status, table.shown.tolist()
    for i, place in enumerate(table.codes.tolist()):
        codes = tuple(mine[c] for mine, c in zip(table.code_lists, place, strict=True))
        for name, units in columns:
            value = Decimal(int(units[i])).scaleb(-table.decimals) if shown[i] else None
            yield (*codes, name) if len(columns) > 1 else codes, (value, status[i])


# ---- readers ----------------------------------------------------------------------------------------------------


def _jsonstat(path: Path, table: PublicTable) -> Found:
    data = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal, parse_int=Decimal)
    lists = [data["dimension"][name]["category"]["index"] for name in data["id"]]
    labels = [data["dimension"][name]["category"]["label"] for name in data["id"]]
    _refuse_other_codes(lists, table)
    _refuse_other_codes(labels, table)
    keys = list(product(*lists))
    given = data["value"]
    values = dict(enumerate(given)) if isinstance(given, list) else {int(k): v for k, v in given.items()}
    status = data["status"]
    letters = dict.fromkeys(values, status) if isinstance(status, str) else {int(k): v for k, v in status.items()}
    return {
        keys[place]: (values.get(place), letters.get(place, "V"))
        for place in sorted(values.keys() | letters.keys())
        if values.get(place) is not None or place in letters
    }


def _sdmx_status(code: str) -> str:
    return {"A": "V", "Q": "X", "O": "E"}[code]


def _sdmx_code(text: str) -> str:
    return re.sub(r"\$([0-9A-F]*)\$", lambda found: chr(int(found[1], 16)) if found[1] else "", text)


def _sdmx_csv(path: Path, table: PublicTable) -> Found:
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        value = next(lines).index("OBS_VALUE")
        width = len(table.variables) + (table.lower is not None)
        return {
            tuple(_sdmx_code(text) for text in line[3 : 3 + width]): (
                Decimal(line[value]) if line[value] else None,
                _sdmx_status(line[value + 1]),
            )
            for line in lines
        }


def _sdmx_json(path: Path, table: PublicTable) -> Found:
    data = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)["data"]
    structure = data["structures"][0]
    lists = [[_sdmx_code(v.get("id", "")) for v in d["values"]] for d in structure["dimensions"]["observation"]]
    _refuse_other_codes(lists, table)
    status = [v["id"] for v in structure["attributes"]["observation"][0]["values"]]
    width = len(table.variables) + (table.lower is not None)
    found: Found = {}
    for key, (value, said) in data["dataSets"][0]["observations"].items():
        codes = tuple(mine[int(place)] for mine, place in zip(lists, key.split(":"), strict=True))
        found[codes[:width]] = (None if value is None else Decimal(value), _sdmx_status(status[said]))
    return found


STATEMENT = re.compile(r'([A-Z0-9-]+)(?:\(((?:"[^"]*"\s*)+)\))?=((?:"[^"]*"|[^";])*);')


def _px(path: Path, table: PublicTable) -> Found:
    head, data = path.read_text(encoding="utf-8").split("\nDATA=", 1)
    said: dict[tuple[str, str], list[str]] = {}
    for keyword, about, body in STATEMENT.findall(head):
        said[keyword, _px_text(about)] = [_px_text(part) for part in re.findall(r'(?:"[^"]*"\s*)+', body)]
    names = [*said.get(("STUB", ""), []), *said["HEADING", ""]]
    lists = [said["CODES", name] for name in names]
    _refuse_other_codes(lists, table)
    keys = product(*lists)
    cells = data.replace(";", " ").split()
    signs = {'"."': "E", '".."': "X"}
    return {
        key: (None, signs[text]) if text in signs else (Decimal(text), "V")
        for key, text in zip(keys, cells, strict=True)
    }


def _px_text(pieces: str) -> str:
    return "".join(re.findall(r'"([^"]*)"', pieces))


def _parquet(path: Path, table: PublicTable) -> Found:
    import pyarrow.parquet as pq

    return _long(pq.read_table(path).to_pydict(), table.variables, table)


STAT_CHILD = """
import json, sys, pyreadstat
read = pyreadstat.read_sav if sys.argv[1].endswith(".sav") else pyreadstat.read_dta
data, about = read(sys.argv[1], output_format="dict")
labels = {name: [str(code) for code in words] for name, words in about.variable_value_labels.items()}
print(json.dumps([{name: list(column) for name, column in data.items()}, labels]))
"""
"""Run in a process of its own: the library that knows these formats crashes on some damaged files."""


def _stat(path: Path, table: PublicTable) -> Found:
    if find_spec("pyreadstat") is None:
        raise ModuleNotFoundError(name="pyreadstat")
    done = subprocess.run([sys.executable, "-c", STAT_CHILD, str(path)], capture_output=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"the reader ended with {done.returncode}")
    data, labels = json.loads(done.stdout)
    variables = list(data)[: len(table.variables)]
    _refuse_other_codes([labels.get(name, ()) for name in variables], table)
    return _long(data, variables, table)


def _long(data: Mapping[str, Any], variables: Iterable[str], table: PublicTable) -> Found:
    """Cells of a file with one line each."""
    step = Decimal(1).scaleb(-table.decimals)
    codes = list(zip(*(data[name] for name in variables), strict=True))
    wide = table.lower is not None
    found: Found = {}
    for i, key in enumerate(codes):
        for name in ENDS if wide else ENDS[:1]:
            given = data[name][i]
            value = None if given is None or given != given else _rounded(Decimal(str(given)), step, given)
            equal = name != "value" and value is None and data["value"][i] is not None
            found[(*key, name) if wide else key] = (value, "equal" if equal else data["status"][i])
    return found


def _rounded(value: Decimal, step: Decimal, given: Any) -> Decimal:
    """A number with the table's decimals; one that has others is an error."""
    exact = value.quantize(step)
    if exact != value and not isinstance(given, float):
        raise ValueError
    return exact


SPACE = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def _xlsx(path: Path, table: PublicTable) -> Found:
    with zipfile.ZipFile(path) as book:
        if sum(part.file_size for part in book.infolist()) > LARGEST_UNPACKED:
            raise InputError(f"The file {path.name!r} unpacks to more than {LARGEST_UNPACKED:,} bytes.")
        strings = [_xlsx_text(item) for item in _xml(book, "xl/sharedStrings.xml").findall("m:si", SPACE)]
        sheets = ENDS if table.lower is not None else ENDS[:1]
        found: Found = {}
        for number, name in enumerate(sheets, start=1):
            grid = _grid(_xml(book, f"xl/worksheets/sheet{number}.xml"), strings)
            for key, cell in _crossed(grid, table).items():
                found[(*key, name) if len(sheets) > 1 else key] = cell
        return found


def _xml(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    text = book.read(name)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError
    return ElementTree.fromstring(text)


def _xlsx_text(item: ElementTree.Element) -> str:
    text = "".join(part.text or "" for part in item.iter(f"{{{SPACE['m']}}}t"))
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


def _grid(sheet: ElementTree.Element, strings: list[str]) -> dict[tuple[int, int], tuple[str, bool]]:
    """Cells of a sheet by row and column, from 0: their text, and whether it is text."""
    grid = {}
    for cell in sheet.iter(f"{{{SPACE['m']}}}c"):
        if cell.find("m:f", SPACE) is not None:
            raise ValueError("a formula")
        value = cell.find("m:v", SPACE)
        if value is not None and value.text is not None:
            letters, row = re.fullmatch(r"([A-Z]+)([0-9]+)", cell.get("r", "")).groups()  # type: ignore[union-attr]
            column = 0
            for letter in letters:
                column = 26 * column + ord(letter) - 64
            text = cell.get("t") == "s"
            grid[int(row) - 1, column - 1] = (strings[int(value.text)] if text else value.text, text)
    return grid


def _crossed(grid: dict[tuple[int, int], tuple[str, bool]], table: PublicTable) -> Found:
    """Cells of a cross-table: codes of rows in every other column, codes of columns in the last row of the heading."""
    down = len(table.variables) - 1
    first = 2 * down or 1
    width = len(table.code_lists[-1])
    codes = list(table.code_lists[-1])
    marks = sorted(row for (row, column), cell in grid.items() if (column, cell) == (0, (table.variables[0], True)))
    wanted = [(code, True) for code in codes]
    head = next(row for row in marks if row and [grid.get((row, first + i)) for i in range(width)] == wanted)
    known = {tuple(c[i] for c, i in zip(table.code_lists, row, strict=False)) for row in table.codes[:, :-1].tolist()}
    if any(column >= first + width for _, column in grid):
        raise ValueError("a column that the csv file does not have")
    named = {row for row, column in grid if down and row > head and column < first}
    if not {tuple(grid.get((row, 2 * k), ("", True))[0] for k in range(down)) for row in named} <= known:
        raise ValueError("a row that the csv file does not have")
    step = Decimal(1).scaleb(-table.decimals)
    found: Found = {}
    for (row, column), (text, is_text) in grid.items():
        if row > head and column >= first:
            key = (*(grid[row, 2 * k][0] for k in range(down)), codes[column - first])
            if text in ("x", "-") and is_text:
                found[key] = (None, {"x": "X", "-": "E"}[text])
            else:
                found[key] = (Decimal(text) if is_text else Decimal(text).quantize(step), "V")
    return found


READERS: dict[str, Callable[[Path, PublicTable], Found]] = {
    ".xlsx": _xlsx,
    ".jsonstat.json": _jsonstat,
    ".sdmx.csv": _sdmx_csv,
    ".sdmx.json": _sdmx_json,
    ".px": _px,
    ".parquet": _parquet,
    ".sav": _stat,
    ".dta": _stat,
}
"""How files of each format end, and what reads them."""
