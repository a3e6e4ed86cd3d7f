"""Small files of records for attacks on synthetic files: numbers, categories and gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

KEYS, SECRET = ["age", "sex", "region"], "job"


def people(many: int, seed: int) -> pa.Table:
    """Independent draws of one population; numbers are fine enough for nearly all records to be unique."""
    draws = np.random.default_rng(seed)
    age = draws.integers(18, 90, many)
    pay = np.exp(draws.normal(7, 0.6, many)).round(2)
    return pa.table(
        {
            "age": age,
            "sex": pa.array([("f", "m")[i] for i in draws.integers(0, 2, many)]),
            "region": pa.array([f"r{i}" for i in draws.integers(0, 6, many)]),
            "pay": pa.array(pay, mask=draws.random(many) < 0.05),
            "job": pa.array([f"j{i}" for i in draws.integers(0, 5, many)], mask=draws.random(many) < 0.03),
            "rent": draws.normal(500, 120, many).round(1),
        }
    )


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


def rows_of(table: pa.Table, names: list[str] | None = None) -> list[tuple[Any, ...]]:
    """Records as tuples, with None for gaps."""
    return list(zip(*(table[name].to_pylist() for name in names or table.column_names), strict=True))


def distance(one: tuple[Any, ...], other: tuple[Any, ...], spans: list[float | None]) -> float:
    """The distance of two records, by its definition."""
    found = 0.0
    for mine, theirs, span in zip(one, other, spans, strict=True):
        if mine is None or theirs is None:
            found += 0.0 if mine is theirs else 1.0
        elif span is None:
            found += float(mine != theirs)
        else:
            found += min(abs(mine - theirs) / span, 1.0)
    return found


def spans_of(table: pa.Table, names: list[str]) -> list[float | None]:
    """Ranges of columns of numbers; none for categories."""
    found: list[float | None] = []
    for name in names:
        values = [value for value in table[name].to_pylist() if value is not None]
        found.append(None if isinstance(values[0], str) else float(max(values) - min(values)))
    return found
