"""Combinations of keys of records that stay in their engine, and how often each occurs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from discreet.engine.record_set import read_record_set
from discreet.engine.remote_source import RemoteTable, connected
from discreet.errors import InputError, NeedsError, unknown_column
from discreet.files.frames import no_records
from discreet.model.arrays import Floats
from discreet.model.microdata import Microdata
from discreet.model.records import RecordSet

COUNT = "discreet_records"
"""The column of counts in what the engine gives."""


def key_cells(data: Microdata, asked: Collection[str]) -> tuple[RecordSet, Floats]:
    """The combinations of some columns as records of their own, and how many records have each.

    The engine counts; nothing else leaves it. Combinations that the engine tells apart and that are one for files of
    records (a gap and what is no number) stand there more than once, which does not change any count of records alike.
    """
    if data.leave_out:
        raise NeedsError(
            "leave_out= needs single records, and these stay in their engine.",
            hint="Leave the records out in the table or frame that you give; or take them out: data.on('memory').",
        )
    if not asked:
        raise NeedsError("There are no keys to count.", hint="Give Microdata(keys=[...]), or the rule keys=[...].")
    with connected(data) as remote:
        for name in (*data.roles, *asked):
            if name not in remote.names:
                raise unknown_column(name, remote.names, f"the table {remote.name!r}")
        names = [name for name in remote.names if name in asked]
        for name in names:
            remote.column(name)
        _refuse_taken(remote)
        grouped = remote.table.group_by(names).aggregate(**{COUNT: remote.table.count()})
        found = remote.fetch("combinations of keys", grouped)
    if not found.num_rows:
        raise no_records()
    keys = [name for name in data.keys if name in names]
    codes = {name: given for name, given in data.missing_codes.items() if name in names}
    cells = read_record_set(Microdata(found.drop_columns([COUNT]), keys=keys, missing_codes=codes))
    return cells, np.asarray(found[COUNT].to_numpy(), np.float64)


def _refuse_taken(remote: RemoteTable) -> None:
    if COUNT in remote.names:
        raise InputError(f"The table has a column {COUNT!r} already.", hint="Rename it.")
