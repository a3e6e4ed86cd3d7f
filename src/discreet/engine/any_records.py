"""Whatever holds records, as a :class:`~discreet.model.records.RecordSet`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from discreet.engine.record_set import read_record_set
from discreet.errors import ParameterError
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.public import PublicRelease
from discreet.model.records import ColumnInfo, PublicRecords, RecordSet
from discreet.model.release import Release


def records_of(given: Any, numeric: Collection[str] = ()) -> RecordSet:
    """Records of a data frame, a file, ``Microdata``, a ``RecordSet`` or a release, of which what went out.

    ``numeric`` are columns to read as numbers where the file is text and they have no role.

    Examples
    --------
    >>> import pyarrow as pa
    >>> records_of(pa.table({"age": [30, 41]})).names
    ('age',)
    """
    if isinstance(given, Release):
        if not isinstance(given.custodian, RecordCustodian):
            raise ParameterError("This is a release of tables, and not of records.", hint="Give records.")
        return given.custodian.released
    given = records_of_release(given)
    if isinstance(given, PublicRecords):
        about = {
            name: ColumnInfo(one.role, one.label, one.value_labels, one.missing, one.format, one.measure)
            for name, one in given.info.items()
        }
        return RecordSet(given.columns, about)
    if isinstance(given, RecordSet):
        return given
    data = given if isinstance(given, Microdata) else Microdata(Path(given) if isinstance(given, str) else given)
    return read_record_set(data, [name for name in numeric if name not in data.roles])


def records_of_release(given: Any) -> Any:
    """The public records of a release; anything else as it is."""
    public = given.public if isinstance(given, Release) else given
    if not isinstance(public, PublicRelease):
        return given
    if public.records is None:
        raise ParameterError("The release holds tables, not records.", hint="Give a release of records.")
    return public.records
