"""The engine for records that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.engine.encode import Records, needed_columns, read_records, require_room
from discreet.engine.remote_source import connected
from discreet.files.frames import column_names, numbers, read_columns
from discreet.model.address import stays_in_its_engine
from discreet.model.condition import Condition
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.engine.prepared import Prepared
    from discreet.engine.record_keys import MadeKeys


class MemoryEngine:
    """Frames and files, read into memory; prepared ones only once."""

    name = "memory"

    @contextmanager
    def open(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> Iterator[Records]:
        """Encoded records."""
        prepared = _prepared(data)
        if keys is None:
            yield self.records(data, specs, weight)
        elif prepared is not None:
            yield prepared.keyed(keys).records(specs, weight)
        else:
            yield _with_keys(data, specs, weight, keys)

    def names(self, data: Microdata) -> list[str]:
        """Names of the columns."""
        if stays_in_its_engine(data.source):
            with connected(data) as remote:
                return remote.names
        return column_names(data.source, data.delimiter)

    def pieces(
        self, data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
    ) -> Iterator[pa.Table]:
        """All columns in one piece."""
        prepared = _prepared(data)
        if prepared is not None:
            yield prepared.columns(list(names), set(text), tuple(where))
        else:
            wanted = list(names)
            data = _taken(data, [*wanted, *(condition.column for condition in where)])
            yield read_columns(data.source, wanted, text=text, where=where, delimiter=data.delimiter)

    def keys(self, data: Microdata) -> Any:
        """Record keys of all records."""
        name = str(data.record_key)
        return numbers(next(self.pieces(data, [name])), name)

    def kept(self, data: Microdata) -> dict[str, Any] | None:
        """What belongs to prepared records."""
        prepared = _prepared(data)
        return None if prepared is None else prepared.kept

    def records(self, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """Encoded records."""
        prepared = _prepared(data)
        if prepared is not None:
            return prepared.records(specs, weight)
        found = read_records(_taken(data, _columns(data, specs, weight)), specs, weight)
        found.data = data  # further columns may be asked for
        return found


ENGINE = MemoryEngine()


def _prepared(data: Microdata) -> Prepared | None:
    """What was read and encoded before of the same records with the same roles."""
    kept = data.encoded
    if kept is None:
        return None
    from discreet.engine.prepared import Prepared

    return kept if isinstance(kept, Prepared) and kept.fits(data) else None


def _columns(data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> list[str]:
    codes, numeric = needed_columns(data, specs, weight)
    contributor = [data.contributor] if data.contributor else []
    return [*codes, *numeric, *contributor, *(condition.column for condition in specs[0].where)]


def _taken(data: Microdata, names: Iterable[str]) -> Microdata:
    """The records with the named columns here, where they lie in an engine that they were asked out of."""
    if not stays_in_its_engine(data.source):
        return data
    with connected(data) as remote:
        frame = remote.fetch("read", remote.table.select(*(remote.column(name) for name in dict.fromkeys(names))))
    return data.with_(source=frame, encoded=None)


def _with_keys(data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys) -> Records:
    """Records with keys made of identifiers; those of the whole file are looked at, whatever the universe."""
    import pyarrow as pa

    from discreet.engine.record_keys import MADE_KEY, record_keys

    plain = data.with_(record_key=None)
    codes, numeric = needed_columns(plain, specs, weight)
    where = specs[0].where
    columns = [*codes, *numeric, *([data.contributor] if data.contributor else []), *(c.column for c in where)]
    data = _taken(data, [*columns, keys.identifier])
    require_room(data, len(columns) + 1)
    text = [*codes, *(c.column for c in where if any(isinstance(v, str) for v in c.values))]
    frame = read_columns(data.source, [*columns, keys.identifier], text=text, delimiter=data.delimiter)
    made = record_keys(frame[keys.identifier], keys.secret, version=keys.version, modulus=keys.modulus)
    frame = frame.append_column(MADE_KEY, pa.array(made))
    return read_records(data.with_(source=frame, record_key=MADE_KEY, encoded=None), specs, weight)
