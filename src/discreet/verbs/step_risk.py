"""Releases of records to risk and loss of numbers after every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.files.frames import to_frame
from discreet.measures.value_steps import step_lines
from discreet.measures.values import altered_numbers
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release


def risk_by_step(
    release: Release[RecordCustodian], columns: Sequence[str] | None = None, backend: str = "pyarrow"
) -> Any:
    """Risk and loss of numbers after every step of a release of records, as a data frame.

    ``linked`` is the share of records that are found again by whoever takes each for the original one with the nearest
    numbers; ``il1`` the mean distance of values, in standard deviations times the root of two. For the custodian.

    Parameters
    ----------
    release
        A release of records.
    columns
        Columns that an intruder knows; those that were altered and hold numbers where left out.
    backend
        ``"pyarrow"``, ``"pandas"`` or ``"polars"``.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"x": [1, 2, 3, 7, 8, 9], "y": [2, 1, 4, 8, 6, 9]}), numeric=["x", "y"])
    >>> release = ds.protect(firms, [ds.Microaggregate(k=3), ds.RankSwap(share=0.5, insecure_seed=1)])
    >>> ds.risk_by_step(release).column_names
    ['step', 'linked', 'il1']
    """
    custodian = release.custodian
    names = altered_numbers(custodian) if columns is None else list(columns)
    lines = step_lines(custodian, names) if names else []
    found: dict[str, list[Any]] = {
        "step": [line.step for line in lines],
        "linked": [line.linked for line in lines],
        "il1": [line.il1 for line in lines],
    }
    return to_frame(found, backend)
