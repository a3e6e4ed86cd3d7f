"""Whatever holds records, as a :class:`~discreet.model.records.RecordSet`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from discreet.engine.record_set import read_record_set
from discreet.model.microdata import Microdata
from discreet.model.records import RecordSet


def records_of(given: Any, numeric: Collection[str] = ()) -> RecordSet:
    """Records of a data frame, the path of a file, ``Microdata`` or a ``RecordSet``; ``numeric`` as when read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> records_of(pa.table({"age": [30, 41]})).names
    ('age',)
    """
    if isinstance(given, RecordSet):
        return given
    data = given if isinstance(given, Microdata) else Microdata(Path(given) if isinstance(given, str) else given)
    return read_record_set(data, numeric)
