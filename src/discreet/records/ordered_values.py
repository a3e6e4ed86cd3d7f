"""The order of a column's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.arrays import Ints
from discreet.model.records import RecordSet
from discreet.records.value_columns import rows_by_kind, stratum_of

if TYPE_CHECKING:
    import pyarrow as pa

SIGN = np.uint64(1 << 63)
UPPER = 33
"""Bits that nearly always tell different values apart: three digits."""


def ordered_numbers(records: RecordSet, name: str) -> NDArray[Any]:
    """Numbers that stand in the order of a column's values, 0 for gaps."""
    import pyarrow as pa

    column = records[name]
    if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
        raise InputError(
            f"Column {name!r} holds {column.type}, which has no order.",
            hint=f"Columns of csv files are text unless they are called numbers: Microdata(numeric=[{name!r}]).",
        )
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return np.asarray(column.fill_null(0).to_numpy())


def order_of(values: NDArray[Any]) -> Ints:
    """Places of values from the smallest on; equal ones stay in their order.

    The upper bits of the values and the places are sorted as one number, digit by digit, which is several times faster
    than sorting places by values; what the lower bits decide is settled afterwards.

    Examples
    --------
    >>> order_of(np.array([2.5, -1.0, 2.5, 0.0])).tolist()
    [1, 3, 0, 2]
    """
    from discreet.records.rank_swapping_kernels import settle_runs, sorted_by_digits

    if len(values) < 2:
        return np.arange(len(values))
    raised = _raised(values)
    raised -= raised.min()
    width = int(raised.max()).bit_length()
    bits = (len(values) - 1).bit_length()
    spare = max(width - min(UPPER, 64 - bits), 0)
    key = raised >> np.uint64(spare)
    key <<= np.uint64(bits)
    key |= np.arange(len(values), dtype=np.uint64)
    key = sorted_by_digits(key, bits, bits + width - spare)
    order: Ints = (key & np.uint64((1 << bits) - 1)).view(np.int64)
    if spare:
        settle_runs(order, key, raised, np.uint64(bits))
    return order


def _raised(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Whole numbers without a sign in the order of some numbers; both zeros are one."""
    if values.dtype.kind != "f":
        return np.asarray(values.astype(np.int64).view(np.uint64) ^ SIGN)
    bits = (values + 0.0).view(np.int64)
    return np.asarray(bits.view(np.uint64) ^ ((bits >> np.int64(63)).view(np.uint64) | SIGN))


def rows_by_identity(records: RecordSet) -> list[Ints]:
    """Rows of each stratum in the order of who they are, which is not that in which they stand in the file."""
    assert records.identity is not None
    order = order_of(records.identity)
    if not records.strata:
        return [order]
    return [order[rows] for rows in rows_by_kind(stratum_of(records)[order])]


def taken(column: pa.ChunkedArray, rows: Ints) -> pa.ChunkedArray:
    """A column with the values of other rows."""
    import pyarrow as pa

    return pa.chunked_array([column.combine_chunks().take(pa.array(rows))])


def unchanged(old: pa.ChunkedArray, new: pa.ChunkedArray) -> int:
    """In how many records a column is as it was."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.fill_null(pc.equal(old, new), True)).as_py() or 0)
