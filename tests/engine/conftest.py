"""A small survey."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.model.hierarchy import Hierarchy


@pytest.fixture
def survey() -> pa.Table:
    return pa.table(
        {
            "industry": ["A1", "A1", "A2", "B1", "B1", "A2"],
            "region": ["N", "S", "N", "S", "S", "S"],
            "turnover": [100, 20, 50, 7, 3, 11],
            "staff": [10.5, 2.25, 5.0, 1.0, 0.5, 0.0],
            "firm": ["x", "y", "x", "z", "y", "z"],
            "weight": [1.0, 2.5, 1.0, 4.0, 1.25, 3.0],
            "agrees": [True, False, True, True, True, False],
            "asks": [0, 1, 0, 2, 0, 0],
            "key": [0.25, 0.5, 0.75, 0.125, 0.9, 0.1],
        }
    )


@pytest.fixture
def by() -> dict[str, Hierarchy]:
    return {
        "industry": Hierarchy.from_nested({"A": ["A1", "A2"], "B": ["B1"]}),
        "region": Hierarchy.flat(["N", "S"]),
    }
