"""Units in which columns of two files are compared."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from discreet.attack.linkage_columns import LinkageColumns
from discreet.model.arrays import Floats

LinkageScale = Literal["sd", "pooled", "original", "range"]


def scaled_pair(columns: LinkageColumns, scale: LinkageScale) -> tuple[Floats, Floats]:
    """Numbers of both files in one of the units of :func:`link`."""
    if not columns.names:
        return columns.before, columns.after
    files = (columns.before, columns.after)
    known = (~columns.gone, ~columns.empty)
    means = [_each(np.mean, values, there) for values, there in zip(files, known, strict=True)]
    spreads = [_each(_deviation, values, there) for values, there in zip(files, known, strict=True)]
    if scale == "sd":
        return (files[0] - means[0]) / spreads[0], (files[1] - means[1]) / spreads[1]
    if scale == "pooled":
        unit = np.hypot(*spreads)
    elif scale == "original":
        unit = spreads[0]
    else:
        ends = [
            [_each(end, values, there) for values, there in zip(files, known, strict=True)] for end in (np.min, np.max)
        ]
        unit = np.maximum(*ends[1]) - np.minimum(*ends[0])
    return (files[0] - means[0]) / unit, (files[1] - means[0]) / unit


def _each(number: Any, values: Floats, known: Any) -> Floats:
    return np.array([float(number(column[there])) for column, there in zip(values.T, known.T, strict=True)])


def _deviation(values: Floats) -> float:
    """The standard deviation; squares of values that are small beside one huge value elsewhere do not vanish."""
    centred = values - values.mean()
    unit = float(np.abs(centred).max())
    return float(np.sqrt(((centred / unit) ** 2).sum() / (len(values) - 1))) * unit if unit > 0 else 0.0


def with_codes(columns: LinkageColumns, before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Numbers and codes side by side; one column that says nothing where there is neither."""
    if not before.shape[1] and not columns.code_names:
        return np.zeros((len(before), 1)), np.zeros((len(after), 1))
    return (
        np.ascontiguousarray(np.concatenate([before, columns.codes_before], axis=1)),
        np.ascontiguousarray(np.concatenate([after, columns.codes_after], axis=1)),
    )
