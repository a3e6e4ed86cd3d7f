"""Files that analysts hand in: what they may be, what is found in them, and what they tell beside earlier releases."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from discreet.errors import DiscreetError, counted, listed
from discreet.files.foreign import ForeignCells, read_published
from discreet.server.denied import Denied
from discreet.server.store.outputs import OutputFile

MOST_BYTES = 20 * 2**20
"""Bytes of all files of one turn."""
MOST_CELLS = 20_000
"""Cells of a table that is checked by itself; larger ones are for eyes and for the office's own tools."""
MOST_INSIDE = 200 * 2**20
KINDS = {"table": "Table", "model": "Model (coefficients)", "figure": "Figure"}
SUFFIXES = {"table": (".csv", ".xlsx"), "model": (".csv", ".xlsx", ".txt"), "figure": (".png", ".svg", ".pdf")}
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".xlsx": b"PK\x03\x04"}
FORMULA = re.compile(r"\s*[=+\-@\t\r]")
NUMBER = re.compile(r"\s*[+-]?[\d.,\s\u00a0]*\d[\d.,\s\u00a0%eE+-]*\Z")
NAMED = 5
NEAR = Decimal("0.05")
"""Values that are no counts and differ by a smaller share may differ by few records."""
TOTALS = ("total", "all", "_t", "sum", "overall")
"""How totals are called in tables that come from anywhere."""


class OutputReading(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a table is read, as the analyst says."""

    variables: list[str] = []
    value: str = "value"
    counts: bool = False
    smallest: int | None = None


class Findings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What was found: against the file, beside earlier releases, and what nobody looked at."""

    checked: bool = False
    against: list[str] = []
    differencing: list[str] = []
    proved: list[str] = []
    not_considered: list[str] = []


class Released(NamedTuple):
    """A table that was released before."""

    words: str
    reading: OutputReading
    content: bytes
    name: str


def safe_name(name: str) -> str:
    """The name of a file, where it is one and nothing else.

    Raises
    ------
    Denied
        When it is a path, hidden, a name of a device, or has characters that nobody sees.
    """
    plain = unicodedata.normalize("NFC", name)
    parts = PurePosixPath(plain.replace("\\", "/")).parts
    bad = any(unicodedata.category(sign)[0] == "C" for sign in plain)
    devices = re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain)
    if len(parts) != 1 or parts[0] in (".", "..") or plain.startswith(".") or ":" in plain or bad or devices:
        raise Denied(
            "file-name", "The name of a file is no plain name.", hint="Rename it: letters, digits, - and _.", status=400
        )
    if len(plain) > 120:
        raise Denied("file-name", "The name of a file is too long.", hint="Give at most 120 characters.", status=400)
    return plain


def handed_in(
    name: str, content: bytes, kind: str, reading: OutputReading, released: Sequence[Released] = ()
) -> OutputFile:
    """A file with everything that is found by itself.

    Parameters
    ----------
    name, content
        The file, as it came.
    kind
        One of :data:`KINDS`.
    reading
        How a table is read.
    released
        Tables that were released so far.

    Raises
    ------
    Denied
        When it is not a file of its kind, or is made to do harm; nothing of it is kept.
    """
    plain = safe_name(name)
    suffix = PurePosixPath(plain).suffix.lower()
    if kind not in KINDS or suffix not in SUFFIXES[kind]:
        hint = f"Hand in {listed(SUFFIXES.get(kind, ()))}." if kind in KINDS else f"Choose {listed(list(KINDS))}."
        raise Denied("file-kind", f"A file {suffix or 'without an ending'} is not taken here.", hint=hint, status=400)
    if not content or (suffix in MAGIC and not content.startswith(MAGIC[suffix])):
        raise Denied("file-kind", f"The file is no {suffix} file.", hint="Save it again from your program.", status=400)
    found = Findings()
    if suffix == ".xlsx":
        found.against += _workbook(content)
    elif suffix in (".csv", ".txt"):
        found.against += _text(content)
    elif suffix == ".svg":
        found.against += _drawing(content)
    if kind == "table":
        _check_table(plain, content, reading, released, found)
    else:
        found.not_considered.append("its contents: figures and models are looked at by the checkers")
    digest = hashlib.sha256(content).hexdigest()
    texts = [msgspec.json.encode(part).decode() for part in (reading, found)]
    return OutputFile(plain, kind, digest, content, *texts)


def _workbook(content: bytes) -> list[str]:
    """What is wrong with a workbook besides its numbers; one that is made to do harm is not taken.

    Raises
    ------
    Denied
        When it holds paths, links, macros, or far more than it seems.
    """
    harm = Denied(
        "zip", "The workbook cannot be taken.", hint="Save it again as a plain .xlsx without macros.", status=400
    )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inside = archive.infolist()
            if len(inside) > 2_000 or sum(part.file_size for part in inside) > MOST_INSIDE:
                raise harm
            names = [part.filename for part in inside]
            odd = any(".." in PurePosixPath(n).parts or n.startswith("/") or "\\" in n or ":" in n for n in names)
            links = any(part.external_attr >> 28 == 0xA for part in inside)
            if odd or links or len(set(names)) < len(names) or any("vbaProject" in n for n in names):
                raise harm
            sheets = [n for n in names if n.startswith("xl/worksheets/")]
            formulas = any(re.search(rb"<f[ />]", archive.read(n)) for n in sheets)
            outside = any("externalLink" in n for n in names)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError, EOFError):
        raise harm from None
    found = ["the workbook holds formulas: paste values instead"] if formulas else []
    return [*found, "the workbook is linked to others"] if outside else found


def _text(content: bytes) -> list[str]:
    """Formulas in a file of text: spreadsheets would run them."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Denied("not-text", "The file is not text in UTF-8.", hint="Save it as UTF-8.", status=400) from None
    rows = csv.reader(lines)
    try:
        bad = [number for number, row in enumerate(rows, 1) if any(_formula(cell) for cell in row)]
    except csv.Error:
        raise Denied(
            "not-text", "The file cannot be read as lines of cells.", hint="Save it as CSV.", status=400
        ) from None
    if not bad:
        return []
    return [
        f"{counted(len(bad), 'line', 'hold')} a cell that a spreadsheet would run as a formula (first: line {bad[0]})"
    ]


def _formula(cell: str) -> bool:
    return bool(FORMULA.match(cell)) and not NUMBER.match(cell) and cell.strip() not in ("-", "–")


def _drawing(content: bytes) -> list[str]:
    active = re.search(rb"(?i)<script|<foreignObject|\son\w+\s*=|javascript:|<!ENTITY|href\s*=\s*[\"'](?!#)", content)
    return ["the drawing holds scripts or links"] if active else []


def _check_table(
    name: str, content: bytes, reading: OutputReading, released: Sequence[Released], found: Findings
) -> None:
    """The project's own output check, and differences from what was released; what cannot be read counts against it."""
    from discreet.verbs.check_output import check_output  # with it come all rules and reports, which no start waits for

    if not reading.variables:
        found.against.append("it was not said which columns are variables, so nothing was checked")
        return
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-output-") as folder:
            cells = _cells(Path(folder), name, content, reading)
            if len(cells.values) > MOST_CELLS:
                found.not_considered.append(f"more than {MOST_CELLS:,} cells: not checked by itself")
                return
            path = Path(folder, f"output{PurePosixPath(name).suffix.lower()}")
            result = check_output(
                path, reading.variables, reading.value, counts=reading.counts, smallest=reading.smallest
            )
            verdict = result.verdict
            found.differencing += _differencing(Path(folder), cells, reading, released)
    except DiscreetError as error:
        found.against.append(f"it could not be checked: {error.message}")
        return
    found.checked = True
    found.against += [str(fault) for fault in verdict.refused]
    found.proved += verdict.proved
    found.not_considered += verdict.not_considered


def _cells(folder: Path, name: str, content: bytes, reading: OutputReading) -> ForeignCells:
    path = folder / f"output{PurePosixPath(name).suffix.lower()}"
    path.write_bytes(content)
    return read_published(path, reading.variables, reading.value)


def beside_releases(name: str, content: bytes, reading: OutputReading, released: Sequence[Released]) -> list[str]:
    """What a table that was taken tells beside tables that were released, in words; nothing where it is not read."""
    if not reading.variables or not released:
        return []
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-output-") as folder:
            cells = _cells(Path(folder), name, content, reading)
            return [] if len(cells.values) > MOST_CELLS else _differencing(Path(folder), cells, reading, released)
    except DiscreetError:
        return []  # that it cannot be read stands in its findings since it was handed in


def _differencing(folder: Path, cells: ForeignCells, reading: OutputReading, released: Sequence[Released]) -> list[str]:
    """Differences from all that was released; what cannot be read of it is named, and not passed over."""
    found = []
    for before in released:
        try:
            found += _differences(folder, cells, before, reading)
        except DiscreetError:
            found.append(f"{before.words} cannot be read as a table, and was not compared")
    return found


def _differences(folder: Path, new: ForeignCells, before: Released, reading: OutputReading) -> list[str]:
    """What a table and one that was released tell together: small differences, and cells that only one withholds.

    They are compared where both stand at totals of what only one of them has, down to the whole alone.
    """
    counts = reading.counts and before.reading.counts
    if not counts and _spelt(reading.value) != _spelt(before.reading.value):
        return []
    theirs = {_spelt(name) for name in before.reading.variables}
    shared = [_spelt(name) for name in reading.variables if _spelt(name) in theirs]
    old = _by_code(_cells(folder, f"before-{before.name}", before.content, before.reading), shared)
    limit = max(reading.smallest or 0, before.reading.smallest or 0, 3)
    near, told, kept = [], [], []
    for code, value in _by_code(new, shared).items():
        if code not in old:
            continue
        earlier = old[code]
        words = " × ".join(code) or "the whole"
        if value is None and earlier is None:
            continue
        if value is None:
            kept.append(words)
        elif earlier is None:
            told.append(words)
        elif _near(value, earlier, limit, counts):
            near.append(words)
    how = f"fewer than {limit}" if counts else f"less than {limit}, or than {NEAR:.0%},"
    found = []
    for cells, what in (
        (near, f"differ by {how} from"),
        (told, "are shown here and withheld in"),
        (kept, "are withheld here and shown in"),
    ):
        if cells:
            found.append(f"{counted(len(cells), 'cell', what)} {before.words}: {listed(cells, NAMED)}")
    return found


def _near(value: Decimal, earlier: Decimal, limit: int, counts: bool) -> bool:
    """Whether two values differ by so little that few records can be the difference."""
    small = limit if counts else max(Decimal(limit), NEAR * max(abs(value), abs(earlier)))
    return 0 < abs(value - earlier) < small


def _spelt(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _by_code(cells: ForeignCells, variables: Sequence[str]) -> dict[tuple[str, ...], Decimal | None]:
    """Cells by their codes of some variables; all others must be at a total."""
    names = [_spelt(name) for name in cells.variables]
    places = [names.index(name) for name in variables]
    others = [k for k in range(len(names)) if k not in places]
    found = {}
    for codes, value in zip(cells.codes, cells.values, strict=True):
        if all(_spelt(codes[k]) in TOTALS for k in others):
            found[tuple(_spelt(codes[k]) for k in places)] = value
    return found


def turn_digest(files: Sequence[tuple[str, str]]) -> str:
    """What stands in the log for the files of a turn: names and digests."""
    return hashlib.sha256(json.dumps(sorted(files), ensure_ascii=True).encode()).hexdigest()
