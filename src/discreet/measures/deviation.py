"""How many published values deviate by how much: classes of relative deviation, by level or any other group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError

ENDS = (0.5, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30)


def deviation_classes(
    original: npt.ArrayLike,
    published: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    ends: Sequence[float] = ENDS,
) -> list[dict[str, Any]]:
    """Cells by their relative deviation in per cent, one line per class, one count per group.

    Parameters
    ----------
    original, published
        True and published values. A cell that was zero and is published as something else deviates beyond all classes.
    groups
        A group for every cell, for example its level.
    ends
        Where classes end, in per cent: values up to an end belong to its class. The first class are exact values.

    Returns
    -------
    list of dict
        ``class``, ``total``, ``share`` in per cent, and ``groups`` with one count each; the last line is ``"overall"``.

    Examples
    --------
    >>> lines = deviation_classes([100, 200, 300], [100, 201, 330], groups=[1, 2, 2])
    >>> [(line["class"], line["total"]) for line in lines if line["total"]]
    [('0', 1), ('0-0.5', 1), ('7-10', 1), ('overall', 3)]
    """
    one, two = np.asarray(original, np.float64), np.asarray(published, np.float64)
    group = np.zeros(len(one), np.int64) if groups is None else np.asarray(groups)
    if not one.shape == two.shape == group.shape or one.ndim != 1:
        raise ParameterError("original, published and groups differ in length.", hint="Give one per cell in each.")
    limits = np.asarray(ends, np.float64)
    if not len(limits) or limits[0] <= 0 or np.any(np.diff(limits) <= 0):
        raise ParameterError(f"ends={list(ends)!r} is not allowed.", hint="Give rising numbers above 0.")
    change = np.abs(two - one)
    percent = np.where(one != 0, 100 * change / np.where(one != 0, np.abs(one), 1), np.where(change > 0, np.inf, 0))
    number = np.where(percent == 0, 0, 1 + np.searchsorted(limits, percent, side="left"))
    texts = [f"{end:g}" for end in limits]
    names = ["0", *(f"{low}-{high}" for low, high in zip(["0", *texts], texts, strict=False)), f">{texts[-1]}"]
    known, of = np.unique(group, return_inverse=True)
    counts = np.zeros((len(names), len(known)), np.int64)
    np.add.at(counts, (number, of), 1)
    rows = [*zip(names, counts, strict=True), ("overall", counts.sum(axis=0))]
    return [
        {
            "class": name,
            "total": int(row.sum()),
            "share": 100 * int(row.sum()) / max(len(one), 1),
            "groups": dict(zip(known.tolist(), row.tolist(), strict=True)),
        }
        for name, row in rows
    ]
