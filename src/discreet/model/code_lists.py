"""Lists and columns of codes as users have them: with gaps, or as a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError, counted


def is_missing(item: Any) -> bool:
    """Whether an item of a column stands for nothing: ``None``, or what data frames fill gaps with.

    Examples
    --------
    >>> [is_missing(item) for item in (None, float("nan"), "", "nan", 0)]
    [True, True, False, False, False]
    """
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return getattr(item, "is_valid", True) is False  # a scalar of Arrow


def plain_codes(codes: Iterable[Any], what: str) -> list[str]:
    """Codes as text; gaps are none."""
    given = list(codes)
    missing = sum(is_missing(code) for code in given)
    if missing:
        raise InputError(
            f"{what} has {counted(missing, 'missing value')} in it.",
            hint="Leave them out, for example with dropna(); records without a code are counted under one by "
            "Microdata(missing={'variable': 'code'}).",
        )
    return [str(code) for code in given]


def columns_of(levels: Any) -> Sequence[Sequence[str | None]]:
    """Columns of a data frame, or the columns that were given."""
    if isinstance(levels, list | tuple):
        return levels
    import narwhals as nw

    frame = nw.from_native(levels, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return [frame[name].to_list() for name in frame.columns] if isinstance(frame, nw.DataFrame) else list(levels)
