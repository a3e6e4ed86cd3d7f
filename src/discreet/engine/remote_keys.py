"""Record keys of records in an engine: looked at there, or made of identifiers once and stored beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.engine.draws import Draws
from discreet.engine.identities import doubles, identities_of
from discreet.engine.record_keys import (
    FEWEST_DIGITS,
    KeyFacts,
    MadeKeys,
    no_identifier,
    refuse_equal_keys,
    refuse_uneven_keys,
    same_identifier,
)
from discreet.engine.remote_numbers import half_even, kind_of, read
from discreet.engine.remote_source import RemoteTable
from discreet.errors import InputError, counted
from discreet.model.arrays import Ints
from discreet.model.noise_table import FRACTIONS

IDENTIFIER, STORED_KEY = "identifier of key", "made record key"
UPPER, LOWER = "upper half of number", "lower half of number"
"""Columns of the table of record keys or numbers that is stored beside the records."""
HALF = 32
"""Bits of a half."""
MOST_DIGITS = 15


def key_facts(remote: RemoteTable, name: str) -> KeyFacts:
    """What is known of the record keys of a table, after they were looked at as in memory."""
    table, kind = remote.table, kind_of(remote, name)
    if kind not in ("integer", "float"):
        raise InputError("Record keys must be whole or floating-point numbers.")
    column = read(remote, name)
    asked = {"n": table.count(), "filled": column.count(), "least": column.min(), "most": column.max()}
    if kind != "integer":
        asked["odd"] = (column.isnan() | column.isinf()).sum().cast("int64")
    row = remote.rows("record keys", table.aggregate(**asked))[0]
    missing = row["n"] - row["filled"] + int(row.get("odd") or 0)
    if missing:
        raise InputError(f"{counted(missing, 'record key', 'are')} missing.", hint="Give every record one.")
    if kind == "integer":
        return _whole_keys(remote, name, row["n"], row["least"], row["most"])
    if row["n"] and (row["least"] < 0 or row["most"] >= 1):
        raise InputError("Record keys must be fractions in [0, 1).", hint="Give modulus= for whole keys.")
    return _fractions(remote, name, row["n"])


def _whole_keys(remote: RemoteTable, name: str, records: int, least: int | None, most: int | None) -> KeyFacts:
    reach = max((most or 0) + 1, 2)
    if records and (least or 0) < 0:
        raise InputError(f"Record keys must be whole numbers in 0 .. {reach - 1}.")
    if records >= 20 * reach:
        column = read(remote, name)
        found = remote.fetch("record keys", remote.table.group_by(key=column).aggregate(n=remote.table.count()))
        counts = np.zeros(reach, np.int64)
        counts[found["key"].to_numpy()] = found["n"].to_numpy()
        refuse_uneven_keys(counts, records, reach)
    return KeyFacts(records, reach)


def _fractions(remote: RemoteTable, name: str, records: int) -> KeyFacts:
    column = read(remote, name).cast("float64")
    asked = {
        f"d{d}": (half_even(column * 10.0**d).cast("float64") / 10.0**d != column).sum().cast("int64")
        for d in range(FEWEST_DIGITS, MOST_DIGITS)
    }
    asked["distinct"] = half_even(column * float(FRACTIONS)).nunique()
    row = remote.rows("record keys", remote.table.aggregate(**asked))[0]
    digits = next((d for d in range(FEWEST_DIGITS, MOST_DIGITS) if not row[f"d{d}"]), MOST_DIGITS)
    refuse_equal_keys(records, records - int(row["distinct"]), 10**digits)
    return KeyFacts(records, None)


def with_made_keys(remote: RemoteTable, keys: MadeKeys) -> tuple[RemoteTable, str]:
    """The table with record keys made of identifiers, which are the same that every other engine makes."""
    found = _identified(remote, keys.identifier, lambda each: {STORED_KEY: keys.of_identities(each)})
    return found, STORED_KEY


def with_drawn_numbers(
    remote: RemoteTable, records: Any, identifier: str, drawn: Callable[[Ints], Draws]
) -> RemoteTable:
    """Some records of the table with 64-bit numbers drawn for identities, in two halves whose sums fit everywhere."""

    def halves(identities: Ints) -> dict[str, Ints]:
        numbers = drawn(identities)
        upper, lower = numbers >> np.uint64(HALF), numbers & np.uint64(2**HALF - 1)
        return {UPPER: upper.astype(np.int64), LOWER: lower.astype(np.int64)}

    return _identified(remote.with_table(records), identifier, halves)


def _identified(remote: RemoteTable, identifier: str, made_of: Callable[[Ints], dict[str, Any]]) -> RemoteTable:
    """The table with columns made of identifiers.

    The keyed hash is not given to the engine, whose logs would show the key: identifiers, and nothing else of the
    records, are read; what is made of them is stored beside the records until the connection is closed.
    """
    import pyarrow as pa

    column = remote.column(identifier)
    kind_of(remote, identifier)
    table = remote.table
    row = remote.rows(
        "record keys", table.aggregate(n=table.count(), filled=column.count(), distinct=column.nunique())
    )[0]
    if row["n"] > row["filled"]:
        raise no_identifier(row["n"] - row["filled"])
    if row["filled"] > row["distinct"]:
        raise same_identifier(row["filled"] - row["distinct"], row["filled"] - row["distinct"])
    identifiers = remote.fetch("record keys", table.select(identifier=column))["identifier"].combine_chunks()
    identities = identities_of(identifiers)
    alike = doubles(identities)
    if alike:
        raise same_identifier(0, alike)
    made = remote.listing(pa.table({IDENTIFIER: identifiers, **made_of(identities)}))
    return remote.with_table(table.join(made, column == made[IDENTIFIER]).drop(IDENTIFIER))
