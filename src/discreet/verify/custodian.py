"""The custodian's files of a saved release, read strictly.

Files come from others: only text, JSON and Arrow columns are read, and what is not known is an error.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, counted
from discreet.keys import Key
from discreet.model.already import AlreadyPublished, EarlierTable, KnownCells
from discreet.model.arrays import NO_LOWER, NO_UPPER, pointers
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import MOVES, UP, Acceptance, Certificates, Evidence, Impossible, Proofs, Weighted
from discreet.model.figure import Figure
from discreet.model.layout import (
    FLAG,
    FLOAT,
    IDENTITY,
    INTERVAL_COLUMNS,
    LETTER,
    cell_columns,
    claim_from,
    column_kinds,
    empty_means,
    table_from,
)
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, VariableEquation
from discreet.verify.description import check_description, check_log, check_names
from discreet.verify.formats.shown import inert
from discreet.verify.jsonfile import parse_json
from discreet.verify.public import cell_text
from discreet.verify.verdict import Verdict

Interval = tuple[NDArray[np.int64], NDArray[np.int64]]


class Cells(NamedTuple):
    """A cell file: the table, what became of its cells, what is published instead, what an attacker is left with."""

    table: Table
    status: NDArray[np.int8]
    published: NDArray[np.int64] | None
    ends: Interval | None
    left: Interval


def read_custodian(folder: Path) -> TableCustodian:
    """The custodian's part of a saved release."""
    return read_with_intervals(folder)[0]


def read_with_intervals(folder: Path) -> tuple[TableCustodian, list[Interval]]:
    """The custodian's part of a saved release, and the intervals that it states for an attacker, table by table."""
    closed = folder / "custodian"
    description, log = read_descriptions(folder)
    cells = [_read_cells(closed / entry["file"], entry) for entry in description["tables"]]
    published = tuple(found.published for found in cells if found.published is not None)
    ends = tuple(found.ends for found in cells if found.ends is not None)
    if len(published) not in (0, len(cells)) or len(ends) not in (0, len(published)):
        raise InputError("Values of some tables of the release are altered and those of others are not.")
    key = closed / "key.txt"
    already, before = _read_already(closed, description["already_published"])
    evidence = tuple(_read_evidence(closed, entry) for entry in description["evidence"])
    custodian = TableCustodian(
        tables=TableSet([found.table for found in cells], description["equations"], description["one_pattern"]),
        status=tuple(found.status for found in cells),
        evidence=evidence,
        log=log,
        already=already,
        published=published or None,
        intervals=ends or None,
        key=replace(Key.from_file(key), made=True) if key.is_file() else None,
    )
    for entry in description["tables"]:
        if entry.get("published_decimals") != (custodian.decimals if published else None):
            raise InputError("The decimals of altered values are not those of the evidence.")
    check_log(log, custodian)
    return custodian, [found.left for found in (*cells, *before)]


def read_descriptions(folder: Path) -> tuple[Any, Any]:
    """What tables.json and log.json say, every field looked at."""
    closed = folder / "custodian"
    description, log = (parse_json((closed / name).read_bytes(), name) for name in ("tables.json", "log.json"))
    check_description(description, log)
    check_names(description)
    return description, log


def _read_already(closed: Path, entry: Mapping[str, Any]) -> tuple[AlreadyPublished, list[Cells]]:
    """What was published before or elsewhere, with the custodian's cells of it."""
    cells = [_read_cells(closed / earlier["file"], earlier) for earlier in entry["tables"]]
    tables = tuple(
        EarlierTable(earlier["release"], earlier["original"], found.table, found.status)
        for earlier, found in zip(entry["tables"], cells, strict=True)
    )
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
    return AlreadyPublished(tables, equations, known, figures, tuple(entry["set_apart"])), cells


def _read_cells(path: Path, entry: Mapping[str, Any]) -> Cells:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        with path.open(encoding="utf-8", newline="") as stream:
            names = next(csv.reader(stream), [])
        text = arrow_csv.read_csv(
            path,
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (csv.Error, pa.ArrowException) as error:
        raise InputError(f"The cell file {path.name!r} is not well formed ({type(error).__name__}).") from None
    variables = [v["name"] for v in entry["variables"]]
    written = [inert(variable) for variable in variables]
    if names[: len(variables)] != written or len(set(names)) < len(names):
        raise InputError(f"The cell file {path.name!r} has other variables than its description.")
    kinds = column_kinds(entry, names[len(variables) :])
    data = {name: _parse(text[name], name, kind) for name, kind in kinds.items()}
    table = table_from(entry, np.zeros((text.num_rows, len(variables)), np.int32), data)
    codes = np.empty_like(table.codes)
    for k, (name, hierarchy) in enumerate(zip(written, table.spec.hierarchies, strict=True)):
        codes[:, k] = _positions(text[name], {inert(c): i for i, c in enumerate(hierarchy.codes)}, variables[k])
    ends = [data[name] for name in INTERVAL_COLUMNS if name in data]
    found = Cells(
        table.with_(codes=codes),
        data["status"].astype(np.int8),
        data.get("published"),
        (ends[0], ends[1]) if len(ends) == 2 else None,
        (data["lower"], data["upper"]),
    )
    unused = (
        (table.weighted is None and table.weight_decimals)
        or (table.key_sum is None and table.key_modulus)
        or (table.cost is None and table.spec.cost is not None)
    )
    if unused:
        raise InputError(f"The description of {path.name!r} speaks of columns that it does not have.")
    assessed = table.assessment
    if assessed is not None and np.any(assessed.hits >> len(assessed.rules)):
        raise InputError(f"The cell file {path.name!r} says that a cell breaks a rule that is not stated.")
    known = cell_columns(found.table, found.status, *found.left, found.published, 0, found.ends)
    if list(kinds) != [column.name for column in known]:
        raise InputError(f"The cell file {path.name!r} has other columns than its description says.")
    return found


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


def _parse(column: Any, name: str, kind: int) -> NDArray[Any]:
    """Text of one column as integers in units (or letters, flags, floats); anything else is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == LETTER:
        return np.array([CellStatus.from_letter(x) for x in column.to_pylist()], np.int8)
    if kind == FLAG:
        if not pc.all(pc.is_in(column, pa.array(["0", "1"])), min_count=0).as_py():
            raise InputError(f"Column {name!r} of a cell file holds something that is neither 0 nor 1.")
        return np.asarray(pc.equal(column, "1").to_numpy(), np.bool_)
    if kind == FLOAT:
        return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    decimals = 0 if kind == IDENTITY else kind
    pattern = rf"^-?(0|[1-9][0-9]*)\.[0-9]{{{decimals}}}$" if decimals else r"^-?(0|[1-9][0-9]*)$"
    blank = pc.equal(column, "")
    good = pc.match_substring_regex(column, pattern)
    if not pc.all(pc.or_(blank, good) if kind == IDENTITY or name in OPEN else good, min_count=0).as_py():
        raise InputError(
            f"Column {name!r} of a cell file holds something that is not a number with {counted(decimals, 'decimal')}."
        )
    digits = pc.replace_substring(column, ".", "") if decimals else column
    filled = pc.if_else(blank, str(empty_means(name)), digits)
    return np.array(filled.cast(pa.int64()).to_numpy(), np.int64)


OPEN = ("lower_bound", "upper_bound")
"""Columns that may be empty, which stands for no bound."""

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
        findings=tuple(entry["findings"]),
        parts={
            str(name): _read_part(closed, entry["files"][name], tuple(map(str, columns)))
            for name, columns in entry.get("parts", {}).items()
            if name not in PARTS
        },
    )


def _read_part(closed: Path, file: str, columns: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Columns of an Arrow file; its data must be as large as they are in memory, so that nothing unpacks itself."""
    import pyarrow as pa

    path = closed / file
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            if tuple(reader.schema.names) != columns:
                raise InputError(f"The file {path.name!r} has other columns than {', '.join(columns)}.")
            if reader.schema.metadata or any(field.metadata for field in reader.schema):
                raise InputError(f"The file {path.name!r} says more than its columns do.")
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


def _accepted(entry: Mapping[str, Any]) -> Acceptance:
    """An accepted cell, of the shape that its description was seen to have."""
    because = None if entry["because"] is None else _impossible(entry["because"])
    return Acceptance(entry["table"], tuple(entry["cell"]), entry["reason"], entry["name"], entry["kind"], because)


def _impossible(entry: Mapping[str, Any]) -> Impossible:
    """Why a cell cannot be protected."""
    relations = [
        Weighted(part["table"], tuple(part["cell"]), part["variable"], part["number"], Fraction(part["times"]))
        for part in entry["relations"]
    ]
    insiders = [(table, tuple(cell), place) for table, cell, place in entry["insiders"]]
    return Impossible(entry["use"], tuple(relations), tuple(insiders))


def check_intervals(verdict: Verdict, custodian: TableCustodian, stated: list[Interval]) -> None:
    """What cell files say that an attacker is left with is what the certificates show, and no more."""
    before = len(verdict.refused)
    for number, (table, (lower, upper)) in enumerate(zip(custodian.whole, stated, strict=True)):
        low, high = table.value.astype(object), table.value.astype(object)
        if custodian.published is not None and number < len(custodian.tables):
            unit = 10 ** (custodian.decimals - table.decimals)
            shown = custodian.published[number].astype(object)
            low, high = np.minimum(low, shown // unit), np.maximum(high, -(-shown // unit))
        for evidence in custodian.evidence:
            found = evidence.certificates
            unit = 10 ** (evidence.decimals - table.decimals)
            of = np.repeat(np.arange(len(found)), np.diff(found.start))
            for i in np.flatnonzero(found.entry_table == number).tolist():
                row, amount, both = int(found.entry_row[i]), int(found.amount[i]), bool(found.both[of[i]])
                most = abs(amount) // (int(found.denominator[of[i]]) * unit)
                value = int(table.value[row])
                if amount > 0 or both:
                    high[row] = max(high[row], value + most)
                if amount < 0 or both:
                    low[row] = min(low[row], value - most)
        wrong = (lower != np.maximum(low, NO_LOWER + 1)) | (upper != np.minimum(high, NO_UPPER - 1))
        for row in np.flatnonzero(np.asarray(wrong, np.bool_))[:20].tolist():
            verdict.refuse("cells", "an attacker's interval is not what the evidence shows", cell_text(table, row))
    verdict.prove("the intervals in the cell files are those that the evidence shows", before)
