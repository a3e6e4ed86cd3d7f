"""Tables for the tests of rounding and adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.model.public import in_rows_of


def table(inner: Any, *, counts: bool = False, name: str = "t", hierarchies: Sequence[ds.Hierarchy] = ()) -> ds.Table:
    """A table with totals from an array of its inner cells."""
    values = np.asarray(inner)
    lists = [h.base_codes for h in hierarchies] or [
        [f"{'abcdefgh'[k]}{i}" for i in range(n)] for k, n in enumerate(values.shape)
    ]
    made = list(hierarchies) or [ds.Hierarchy.flat(codes) for codes in lists]
    names = [f"v{k}" for k in range(values.ndim)]
    codes = list(product(*lists))
    columns: dict[str, Any] = {n: [c[k] for c in codes] for k, n in enumerate(names)}
    columns["value"] = values.ravel().tolist()
    by = dict(zip(names, made, strict=True))
    return ds.Table.from_cells(pa.table(columns), by=by, name=name, counts=counts, compute_totals=True)


def inside(release: ds.Release, shape: tuple[int, ...]) -> np.ndarray:
    """Published values of the inner cells of a flat table."""
    public = in_rows_of(release.custodian.tables.tables[0], release.public.tables[0])
    inner = (public.codes > 0).all(axis=1)
    result = np.zeros(shape, np.int64)
    result[tuple((public.codes[inner] - 1).T)] = public.value[inner]
    return result
