"""Records that are read and encoded once, and asked many questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.engine.encode import Records, needed_columns, require_room
from discreet.engine.record_keys import MADE_KEY, MadeKeys, record_keys
from discreet.errors import InputError, ParameterError
from discreet.files.frames import PLACE, condition_mask, no_record_left, read_columns
from discreet.model.condition import Condition
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

MOST_UNIVERSES = 32
"""Universes whose records stay encoded; the one that was asked longest ago goes first."""
SAME = ("contributor", "waiver", "request", "record_key", "missing", "recode", "delimiter")
"""Fields that encoded records depend on."""

Where = tuple[Condition, ...]


class Universe(NamedTuple):
    """Records of a universe and weight, and which of their columns were read as text."""

    records: Records
    text: dict[str, bool]


@dataclass(eq=False)
class Prepared:
    """Columns of some records, each read once and in one piece, and the encoded records of some universes.

    Columns are read when a question first needs them. Decimals, contributors and codes are found for every universe, as
    they are without preparation, so that answers and refusals are the same. Several threads may ask at once: one of
    them reads and encodes, and the others wait for it.
    """

    data: Microdata
    kept: dict[str, Any] = field(default_factory=dict)
    """What others work out of these records once."""
    _columns: dict[tuple[str, bool], pa.ChunkedArray] = field(default_factory=dict)
    _universes: dict[tuple[Where, str | None], Universe] = field(default_factory=dict)
    _masks: dict[Where, pa.ChunkedArray] = field(default_factory=dict)
    _keyed: dict[MadeKeys, Prepared] = field(default_factory=dict)
    _made_key: pa.ChunkedArray | None = None
    _stamp: tuple[int, int] | None = None
    _lock: RLock = field(default_factory=RLock, repr=False)

    def __post_init__(self) -> None:
        self._stamp = self._stamp or _stamp(self.data)

    def fits(self, data: Microdata) -> bool:
        """Whether some data are these records with these roles."""
        mine = self.data
        return data.source is mine.source and all(getattr(data, name) == getattr(mine, name) for name in SAME)

    def keyed(self, keys: MadeKeys) -> Prepared:
        """The same with record keys made of identifiers, those of the whole file."""
        import pyarrow as pa

        with self._lock:
            if keys not in self._keyed:
                ids = self.columns([keys.identifier], set(), ())[keys.identifier]
                made = record_keys(ids, keys.secret, version=keys.version, modulus=keys.modulus)
                column = pa.chunked_array([pa.array(made)])
                data = self.data.with_(record_key=MADE_KEY)
                # The columns are shared, and so is the lock on them.
                self._keyed[keys] = Prepared(
                    data, _columns=self._columns, _made_key=column, _stamp=self._stamp, _lock=self._lock
                )
            return self._keyed[keys]

    # ---- records ------------------------------------------------------------------------------------------

    def records(self, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """Encoded records of a universe, with all columns that some questions need."""
        where = specs[0].where
        codes, numeric = needed_columns(self.data, specs, weight)
        names = [*codes, *numeric, *([self.data.contributor] if self.data.contributor else [])]
        wanted = {name: name in codes for name in names}
        key = (where, weight)
        with self._lock:
            found = self._universes.pop(key, None)
            if found is None or any(found.text.get(name, text) != text for name, text in wanted.items()):
                # A column that was text before and is a number now makes another set of records.
                table = self.columns(list(wanted), set(codes), where, placed=True)
                found = Universe(Records(table, self.data, weight), wanted)
            new = {name: text for name, text in wanted.items() if name not in found.text}
            if new:
                further = self.columns(list(new), {name for name, text in new.items() if text}, where)
                added = {name: further[name] for name in new}
                found = Universe(found.records.with_columns(added), {**found.text, **new})
            self._universes[key] = found
            if len(self._universes) > MOST_UNIVERSES:
                del self._universes[next(iter(self._universes))]
            return found.records

    # ---- columns ------------------------------------------------------------------------------------------

    def columns(self, names: list[str], text: set[str], where: Where, placed: bool = False) -> pa.Table:
        """Columns of the records of a universe; with their places in the file where others were left out."""
        import pyarrow as pa

        with self._lock:
            self._read(names, text)
            found = {name: self._column(name, name in text) for name in names}
            if not where:
                return pa.table(found)
            mask = self._mask(where)
        found = {name: column.filter(mask) for name, column in found.items()}
        if placed:
            found[PLACE] = pa.chunked_array([pa.array(np.flatnonzero(np.asarray(mask.to_numpy(), np.bool_)))])
        return pa.table(found)

    def _column(self, name: str, text: bool) -> pa.ChunkedArray:
        return self._made_key if name == MADE_KEY and self._made_key is not None else self._columns[name, text]

    def _mask(self, where: Where) -> pa.ChunkedArray:
        """Which records belong to a universe."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if where not in self._masks:
            text = {c.column for c in where if any(isinstance(v, str) for v in c.values)}
            table = self.columns([c.column for c in where], text, ())
            mask = pa.chunked_array([pa.array(np.ones(table.num_rows, np.bool_))])
            for condition in where:
                mask = pc.and_(mask, condition_mask(table, condition))
            if not pc.any(mask).as_py():
                raise no_record_left(where)
            self._masks[where] = mask
            if len(self._masks) > MOST_UNIVERSES:
                del self._masks[next(iter(self._masks))]
        return self._masks[where]

    def _read(self, names: Sequence[str], text: set[str]) -> None:
        """Read the columns that no question needed so far."""
        there = {*self._columns, (MADE_KEY, False)}
        new = [name for name in dict.fromkeys(names) if (name, name in text) not in there]
        if not new:
            return
        if _stamp(self.data) != self._stamp:
            raise InputError(
                f"The file {self.data.source.name!r} has changed since it was prepared.",
                hint="Call prepared() again.",
            )
        require_room(self.data, len(new))
        table = read_columns(self.data.source, new, text=text & set(new), delimiter=self.data.delimiter)
        for name in new:
            self._columns[name, name in text] = _in_one_piece(table[name])


def prepared(data: Microdata) -> Microdata:
    """The same records, read and encoded once; see :meth:`discreet.Microdata.prepared`."""
    if data.engine != "memory":
        raise ParameterError(
            f"prepared() keeps records in memory, and engine={data.engine!r} reads them from a file every time.",
            hint="Use engine='memory'.",
        )
    kept = Prepared(data)
    kept.data = data.with_(encoded=kept)  # tables name it as their source, so that methods come back to it
    return kept.data


def _stamp(data: Microdata) -> tuple[int, int] | None:
    """When a file was last written, and how large it is."""
    if not isinstance(data.source, Path) or not data.source.is_file():
        return None
    found = data.source.stat()
    return found.st_mtime_ns, found.st_size


def _in_one_piece(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in one chunk, text with its dictionary: what is encoded of one column fits the others."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.ChunkedArray) else pa.chunked_array([whole])
