"""Checking a saved release: that its files belong together, and everything that they claim.

Files come from others: digests and sizes are checked before anything is parsed, and only text, JSON and Arrow
columns are read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InputError, counted
from discreet.folders import as_one
from discreet.keys import Key
from discreet.model.already import AlreadyPublished, EarlierTable, KnownCells
from discreet.model.arrays import pointers
from discreet.model.evidence import MOVES, UP, Acceptance, Certificates, Evidence, Impossible, Proofs, Weighted
from discreet.model.figure import Figure
from discreet.model.layout import (
    FLAG,
    FLOAT,
    FORMAT,
    IDENTITY,
    INTERVAL_COLUMNS,
    LETTER,
    PUBLIC_COLUMNS,
    PUBLIC_INTERVAL_COLUMNS,
    claim_from,
    column_kinds,
    empty_means,
    table_from,
)
from discreet.model.public import PublicRelease, PublicTable, altered_decimals
from discreet.model.release import Custodian
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, VariableEquation
from discreet.verify.check import check_release
from discreet.verify.public import codes_told, tells_all
from discreet.verify.published import READERS, check_other_format
from discreet.verify.verdict import Verdict

MANIFEST, SEAL = "manifest.json", "manifest.sha256"


def check_folder(folder: Path | str) -> Verdict:
    """Re-check a saved release, files and claims, as it stood at one moment."""
    folder = Path(folder)
    refuse_unsaved(folder)
    return as_one(folder, _check_folder)


def refuse_unsaved(folder: Path) -> None:
    """Refuse a place that is no saved release."""
    if not all((folder / "custodian" / name).is_file() for name in (MANIFEST, SEAL)):
        raise InputError(
            f"{folder.name!r} is not a saved release: custodian/{MANIFEST} or custodian/{SEAL} is missing.",
            hint="Give the folder that holds public/ and custodian/.",
        )


def _check_folder(folder: Path) -> Verdict:
    verdict = Verdict()
    _check_files(verdict, folder)
    if verdict.refused:
        return verdict
    try:
        custodian = read_custodian(folder)
        public = _read_public(verdict, folder, custodian)
    except DiscreetError as error:
        verdict.refuse("files", str(error))
        return verdict
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        verdict.refuse("files", f"the custodian's files are not well formed ({type(error).__name__})")
        return verdict
    if verdict.refused:
        return verdict
    verdict.proved.append("evidence and files belong together (digests)")
    try:
        claims = check_release(custodian, public)
    except DiscreetError as error:
        verdict.refuse("claims", str(error))
        return verdict
    verdict.proved += claims.proved
    verdict.asserted += claims.asserted
    verdict.of_records |= claims.of_records
    verdict.refused += claims.refused
    verdict.attackers += claims.attackers
    verdict.together_with += claims.together_with
    verdict.not_considered += claims.not_considered
    return verdict


def _check_files(verdict: Verdict, folder: Path) -> None:
    """Seal, manifest, digests; no further files in public."""
    manifest, seal = folder / "custodian" / MANIFEST, folder / "custodian" / SEAL
    if seal.read_bytes() != (_digest(manifest) + "\n").encode():
        verdict.refuse("files", "the list of files is not the sealed one", "custodian/manifest.json")
        return
    listing = json.loads(manifest.read_text(encoding="utf-8"))
    if listing.get("format") != FORMAT:
        raise InputError(
            f"The release has format {listing.get('format')!r}; this version reads {FORMAT}.",
            hint="Make it anew, or check it with the version that wrote it.",
        )
    files: Mapping[str, Mapping[str, Any]] = listing["files"]
    for name, entry in files.items():
        path = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute() or not path.is_file():
            verdict.refuse("files", "a listed file is missing", name)
        elif path.stat().st_size != entry["bytes"] or _digest(path) != entry["sha256"]:
            verdict.refuse("files", "a file was changed after the release was sealed", name)
    for place in ("public", "restricted"):
        for path in sorted((folder / place).rglob("*")):
            if path.is_file() and path.relative_to(folder).as_posix() not in files:
                verdict.refuse(place, f"a {place} file does not belong to the release", path.name)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_custodian(folder: Path) -> Custodian:
    """The custodian's part of a saved release."""
    closed = folder / "custodian"
    description = json.loads((closed / "tables.json").read_text(encoding="utf-8"))
    tables, statuses, published, intervals = [], [], [], []
    for entry in description["tables"]:
        table, status, altered, ends = _read_cells(closed / entry["file"], entry)
        tables.append(table)
        statuses.append(status)
        published += [] if altered is None else [altered]
        intervals += [] if ends is None else [ends]
    if len(published) not in (0, len(tables)) or len(intervals) not in (0, len(published)):
        raise InputError("Values of some tables of the release are altered and those of others are not.")
    key = closed / "key.txt"
    return Custodian(
        tables=TableSet(tables, description["equations"], description["one_pattern"]),
        status=tuple(statuses),
        evidence=tuple(_read_evidence(closed, entry) for entry in description["evidence"]),
        log=json.loads((closed / "log.json").read_text(encoding="utf-8")),
        already=_read_already(closed, description["already_published"]),
        published=tuple(published) or None,
        intervals=tuple(intervals) or None,
        key=replace(Key.from_file(key), made=True) if key.is_file() else None,
    )


def _read_already(closed: Path, entry: Mapping[str, Any]) -> AlreadyPublished:
    """What was published before or elsewhere, with the custodian's cells of it."""
    tables = []
    for earlier in entry["tables"]:
        table, status, _, _ = _read_cells(closed / Path(earlier["file"]).name, earlier)
        tables.append(EarlierTable(str(earlier["release"]), str(earlier["original"]), table, status))
    known = tuple(
        KnownCells(
            str(part["source"]),
            str(part["table"]),
            np.array(part["rows"], np.int64).reshape(-1),
            str(part["fingerprint"]),
            int(part["ignored"]),
        )
        for part in entry["known"]
    )
    figures = tuple(
        Figure(part["formula"], part["value"], part["decimals"], tuple((t, tuple(codes)) for t, codes in part["cells"]))
        for part in entry["figures"]
    )
    equations = tuple(VariableEquation.parse(text) for text in entry["equations"])
    return AlreadyPublished(tuple(tables), equations, known, figures, tuple(map(str, entry["set_apart"])))


def _read_cells(
    path: Path, entry: Mapping[str, Any]
) -> tuple[Table, NDArray[np.int8], NDArray[np.int64] | None, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with path.open(encoding="utf-8", newline="") as stream:
        names = next(csv.reader(stream))
    text = arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    variables = [v["name"] for v in entry["variables"]]
    if names[: len(variables)] != variables:
        raise InputError(f"The cell file {path.name!r} has other variables than its description.")
    kinds = column_kinds(entry, names[len(variables) :])
    data = {name: _parse(text[name], name, kind) for name, kind in kinds.items()}
    table = table_from(entry, np.zeros((text.num_rows, len(variables)), np.int32), data)
    codes = np.empty_like(table.codes)
    for k, (variable, hierarchy) in enumerate(table.spec.by.items()):
        codes[:, k] = _positions(text[variable], {_shown(c): i for i, c in enumerate(hierarchy.codes)}, variable)
    ends = [data[name] for name in INTERVAL_COLUMNS if name in data]
    intervals = (ends[0], ends[1]) if len(ends) == 2 else None
    return table.with_(codes=codes), data["status"].astype(np.int8), data.get("published"), intervals


def _positions(column: Any, index: Mapping[str, int], variable: str) -> NDArray[np.int32]:
    encoded = column.combine_chunks().dictionary_encode()
    if hasattr(encoded, "chunk"):
        encoded = encoded.chunk(0)
    words = encoded.dictionary.to_pylist()
    unknown = [word for word in words if word not in index]
    if unknown:
        raise InputError(f"A cell file has the code {unknown[0]!r}, which variable {variable!r} does not know.")
    positions = np.array([index[word] for word in words], np.int32)
    return np.asarray(positions[encoded.indices.to_numpy(zero_copy_only=False)], np.int32)


def _shown(code: str) -> str:
    """How a code is written in a csv file: an apostrophe goes before what a spreadsheet would run."""
    return f"'{code}" if code[:1] in ("=", "+", "-", "@", "\t", "\r") else code


def _parse(column: Any, name: str, kind: int) -> NDArray[Any]:
    """Text of one column as integers in units (or letters, flags, floats); anything else is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == LETTER:
        return np.array([CellStatus.from_letter(x) for x in column.to_pylist()], np.int8)
    if kind == FLAG:
        return np.asarray(column.cast(pa.int8()).to_numpy() == 1)
    if kind == FLOAT:
        return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    if kind == IDENTITY:
        kind = 0
    pattern = rf"^-?[0-9]+\.[0-9]{{{kind}}}$" if kind else r"^-?[0-9]+$"
    blank = pc.equal(column, "")
    if not pc.all(pc.or_(blank, pc.match_substring_regex(column, pattern)), min_count=0).as_py():
        raise InputError(f"Column {name!r} of a cell file holds something that is not a number with {kind} decimals.")
    digits = pc.replace_substring(column, ".", "") if kind else column
    filled = pc.if_else(blank, str(empty_means(name)), digits)
    return np.array(filled.cast(pa.int64()).to_numpy(), np.int64)


PARTS: dict[str, tuple[str, ...]] = {
    "certificates": ("length", "denominator", "both"),
    "entries": ("table", "row", "amount"),
    "proofs": ("table", "row", "length"),
    "proof_entries": ("certificate", "use"),
}
"""Files of the evidence and their columns."""
WIDE = frozenset({"denominator", "amount"})
"""Columns whose numbers may be wider than 64 bits."""


def _read_evidence(closed: Path, entry: Mapping[str, Any]) -> Evidence:
    parts = {name: _read_part(closed, entry["files"][name], columns) for name, columns in PARTS.items()}
    certificates, entries, proofs, uses = (parts[name] for name in PARTS)
    return Evidence(
        method=dict(entry["method"]),
        claim=claim_from(entry["claim"]),
        decimals=int(entry["decimals"]),
        certificates=Certificates(
            start=_starts(certificates["length"]),
            denominator=certificates["denominator"],
            both=certificates["both"],
            entry_table=entries["table"],
            entry_row=entries["row"],
            amount=entries["amount"],
        ),
        proofs=Proofs(
            table=proofs["table"],
            row=proofs["row"],
            start=_starts(proofs["length"]),
            certificate=uses["certificate"],
            use=_small(uses["use"]),
        ),
        effort=entry["effort"],
        accepted=tuple(_accepted(accepted) for accepted in entry["accepted"]),
        facts=dict(entry["facts"]),
        findings=_findings(entry["findings"]),
        parts={
            str(name): _read_part(closed, entry["files"][name], tuple(map(str, columns)))
            for name, columns in entry.get("parts", {}).items()
            if name not in PARTS
        },
    )


def _read_part(closed: Path, file: str, columns: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Columns of an Arrow file; its data must be as large as they are in memory, so that nothing unpacks itself."""
    import pyarrow as pa

    path = closed / Path(file).name
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            if tuple(reader.schema.names) != columns:
                raise InputError(f"The file {path.name!r} has other columns than {', '.join(columns)}.")
            table = reader.read_all()
            table.validate(full=True)
            if table.nbytes > path.stat().st_size:
                raise InputError(f"The file {path.name!r} holds more than its size allows.")
            return {name: _column(table[name], name, path.name) for name in columns}
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"The file {path.name!r} is not well formed ({type(error).__name__}).") from None


def _column(column: Any, name: str, file: str) -> NDArray[Any]:
    """Flags, integers in 64 bits, or wide integers from decimal text; gaps and anything else are errors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    good = column.null_count == 0
    if good and name == "both" and pa.types.is_boolean(kind):
        return np.array(column.to_numpy(), np.bool_)
    if good and name != "both" and pa.types.is_signed_integer(kind):
        return np.array(column.to_numpy(), np.int64)
    good = good and name in WIDE and pa.types.is_string(kind)
    if good and pc.all(pc.match_substring_regex(column, r"^-?[0-9]{1,1000}$"), min_count=0).as_py():
        return np.array([int(text) for text in column.to_pylist()], object)
    raise InputError(f"Column {name!r} of {file!r} holds something else than it should.")


def _starts(length: NDArray[Any]) -> NDArray[Any]:
    """Where runs begin; lengths that no file could hold are errors."""
    if len(length) and (int(length.min()) < 0 or int(length.max()) >= 2**40):
        raise InputError("The evidence states a number of entries that cannot be.")
    return pointers(length)


def _small(use: NDArray[Any]) -> NDArray[np.int8]:
    if len(use) and (int(use.min()) < UP or int(use.max()) > MOVES):
        raise InputError("The evidence takes a certificate for something that is not known.")
    return use.astype(np.int8)


def _findings(texts: Any) -> tuple[str, ...]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError("What was found of a pattern is not described in words.")
    return tuple(texts)


def _accepted(entry: Mapping[str, Any]) -> Acceptance:
    """An accepted cell; releases of earlier versions do not say what was found of it."""
    if not isinstance(entry, Mapping):
        raise InputError("An accepted cell is not described by its parts.")
    kind, because = entry.get("kind", ""), entry.get("because")
    texts = (entry["table"], *entry["cell"], entry["reason"], entry["name"], kind)
    if not all(isinstance(text, str) for text in texts):
        raise InputError("An accepted cell is not described in words.")
    proof = None if because is None else _impossible(because)
    return Acceptance(entry["table"], tuple(entry["cell"]), entry["reason"], entry["name"], kind, proof)


def _impossible(entry: Mapping[str, Any]) -> Impossible:
    """Why a cell cannot be protected: names, whole numbers and fractions, and nothing else."""
    relations, insiders = [], []
    for part in entry["relations"]:
        times, words = part["times"], (part["table"], part["variable"], *part["cell"])
        good = isinstance(times, str) and re.fullmatch(r"-?[0-9]{1,300}/[1-9][0-9]{0,299}", times)
        if not good or not all(isinstance(word, str) for word in words) or not _is_number(part["number"]):
            raise InputError("A reason why a cell cannot be protected has a relation that is not well formed.")
        relations.append(Weighted(words[0], words[2:], words[1], part["number"], Fraction(times)))
    for table, cell, place in entry["insiders"]:
        if not all(isinstance(word, str) for word in (table, *cell)) or not _is_number(place):
            raise InputError("A reason why a cell cannot be protected has a contributor that is not well formed.")
        insiders.append((table, tuple(cell), place))
    if not _is_number(entry["use"]):
        raise InputError("A reason why a cell cannot be protected does not say in which direction.")
    return Impossible(entry["use"], tuple(relations), tuple(insiders))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_public(verdict: Verdict, folder: Path, custodian: Custodian) -> PublicRelease:
    """Public files read back line by line, with no more in them than codes, value and status."""
    description = json.loads((folder / "custodian" / "tables.json").read_text(encoding="utf-8"))
    made = []
    for number, (table, entry) in enumerate(zip(custodian.tables, description["tables"], strict=True)):
        decimals = table.decimals if table.spec.decimals is None else table.spec.decimals
        if custodian.published is not None:
            ends = () if custodian.intervals is None else custodian.intervals[number]
            everything = np.concatenate([custodian.published[number], *ends])
            decimals = altered_decimals(table, everything, custodian.decimals)
        path = folder / "public" / Path(entry["file"]).name
        kind = (custodian.published is not None, custodian.intervals is not None)
        made.append(_read_public_csv(verdict, path, table, decimals, *kind))
    known = {Path(entry["file"]).name: table for entry, table in zip(description["tables"], made, strict=True)}
    for path in sorted((folder / "public").iterdir()):
        if path.name not in known:
            _check_other(verdict, path, {Path(name).stem: table for name, table in known.items()})
    return PublicRelease(tuple(made))


def _check_other(verdict: Verdict, path: Path, tables: Mapping[str, PublicTable]) -> None:
    """A public file besides the csv files must say the same as one of them."""
    for suffix in READERS:
        if path.name.endswith(suffix) and path.name.removesuffix(suffix) in tables:
            check_other_format(verdict, path, tables[path.name.removesuffix(suffix)], suffix)
            return
    verdict.refuse("public", "a public file is not one that the checker can read back", path.name)


def _read_public_csv(
    verdict: Verdict, path: Path, table: Table, decimals: int, altered: bool, wide: bool
) -> PublicTable:
    letter = "A" if altered else "V"
    index = [{_shown(c): i for i, c in enumerate(h.codes)} for h in table.spec.hierarchies]
    codes, values, shown, empty = [], [], [], []
    ends: tuple[list[int], list[int]] = ([], [])
    columns = PUBLIC_INTERVAL_COLUMNS if wide else PUBLIC_COLUMNS
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        if next(lines, None) != [*table.variables, *columns]:
            verdict.refuse("public", "a public file has other columns than codes, value and status", path.name)
            return _public(table, decimals, [], [], [], [], altered, None)
        for number, line in enumerate(lines, start=2):
            full = len(line) == len(index) + len(columns)
            value, status = (line[len(index)], line[-1]) if full else ("", "")
            interval, words = line[-3:-1] if wide and full else ["", ""], line[: len(index)]
            good = full and all(w in i for w, i in zip(words, index, strict=True))
            good = good and status in (letter, "X", "E") and (value != "") == (status == letter)
            good = good and (interval[0] != "") == (interval[1] != "") and (value != "" or interval[0] == "")
            if not good:
                verdict.refuse("public", f"line {number} is not a cell of the table", path.name)
                continue
            codes.append([i[w] for w, i in zip(words, index, strict=True)])
            values.append(_units(value, decimals, path.name) if value else 0)
            for column, end in zip(ends, interval, strict=True):
                column.append(_units(end, decimals, path.name) if end else values[-1])
            shown.append(status == letter)
            empty.append(status == "E")
    return _public(table, decimals, codes, values, shown, empty, altered, ends if wide else None)


def _units(text: str, decimals: int, name: str) -> int:
    shape = rf"-?[0-9]+\.[0-9]{{{decimals}}}" if decimals else r"-?[0-9]+"
    if not re.fullmatch(shape, text):
        raise InputError(
            f"The public file {name!r} holds a value that is not a number with {counted(decimals, 'decimal')}."
        )
    return int(text.replace(".", ""))


def _public(
    table: Table,
    decimals: int,
    codes: list[list[int]],
    values: list[int],
    shown: list[bool],
    empty: list[bool],
    altered: bool,
    ends: tuple[list[int], list[int]] | None,
) -> PublicTable:
    places = np.array(codes, np.int32).reshape(-1, len(table.variables))
    lists = tuple(h.codes for h in table.spec.hierarchies)
    if altered and not tells_all(table):
        told = [sorted(codes_told(h, set(places[:, k].tolist()))) for k, h in enumerate(table.spec.hierarchies)]
        places = np.column_stack([np.searchsorted(mine, places[:, k]) for k, mine in enumerate(told)]).astype(np.int32)
        lists = tuple(tuple(listing[i] for i in mine) for listing, mine in zip(lists, told, strict=True))
    return PublicTable(
        name=table.name,
        variables=table.variables,
        code_lists=lists,
        labels=tuple(h.labels for h in table.spec.hierarchies),
        codes=places,
        value=np.array(values, np.int64),
        decimals=decimals,
        shown=np.array(shown, np.bool_),
        empty=np.array(empty, np.bool_),
        altered=altered,
        lower=None if ends is None else np.array(ends[0], np.int64),
        upper=None if ends is None else np.array(ends[1], np.int64),
    )
