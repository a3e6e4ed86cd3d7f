"""Parquet files whose bytes do not depend on the version of the library that wrote them."""

from __future__ import annotations

import re

MAKER = rb"(?s).parquet-cpp-arrow version [0-9][0-9A-Za-z.+-]*"
FIXED = b"parquet-cpp-arrow version 22.0.0"
"""Readers look at this name for faults of old versions; this one has none that they know."""


def with_stated_maker(data: bytes) -> bytes:
    """The same table must give the same bytes, whichever version of the library wrote them.

    The footer, whose length stands before the last four bytes, names that version after one byte for the name's length.
    """
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = re.sub(MAKER, bytes([len(FIXED)]) + FIXED, data[start:-8], count=1)
    return data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]
