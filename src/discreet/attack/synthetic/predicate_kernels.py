"""Compiled loops that count the records which conditions hold of."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.attack.synthetic.conditions import (
    ABOVE,
    AT_LEAST,
    AT_MOST,
    EMPTY,
    EQUAL,
    NOT_EMPTY,
    OTHER,
)
from discreet.jit import kernel


@kernel("b1(f8, i8, f8)")
def _holds(value: float, operator: int, limit: float) -> bool:
    if operator == EMPTY:
        return bool(np.isnan(value))
    if operator == OTHER:
        return value != limit and not np.isnan(value)
    if operator == NOT_EMPTY:
        return not np.isnan(value)
    if operator == EQUAL:
        return value == limit
    if operator == AT_LEAST:
        return value >= limit
    if operator == AT_MOST:
        return value <= limit
    return value > limit if operator == ABOVE else value < limit


@kernel("void(f8[:,::1], i8[:,::1], i8[:,::1], f8[:,::1], i8, i8[::1])")
def count_matches(columns: Any, at: Any, operators: Any, limits: Any, enough: int, counts: Any) -> None:
    """Records of which all conditions of each predicate hold; counting ends at ``enough``."""
    for row in range(len(at)):
        found = 0
        for record in range(columns.shape[1]):
            holds = True
            for part in range(at.shape[1]):
                if not _holds(columns[at[row, part], record], operators[row, part], limits[row, part]):
                    holds = False
                    break
            if holds:
                found += 1
                if found >= enough:
                    break
        counts[row] = found
