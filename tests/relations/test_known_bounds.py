"""Bounds that everybody knows of cells, alone and with what is known to within some per cent."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.relations import system as module


def bounds(value: int, lower: int, upper: int, within: float | None) -> tuple[int, int]:
    made = SimpleNamespace(value=np.array([value]), lower_bound=np.array([lower]), upper_bound=np.array([upper]))
    low, high = module.known_bounds(made, within)
    return int(low[0]), int(high[0])


@pytest.mark.parametrize(
    ("value", "lower", "upper", "within", "known"),
    [
        (100, 0, 500, None, (0, 500)),
        (100, 0, 500, 10, (90, 110)),  # closer than the bounds
        (100, 95, 104, 10, (95, 104)),  # the bounds are closer
        (-100, NO_LOWER, NO_UPPER, 10, (-110, -90)),
        (99, 0, 500, 1.5, (98, 100)),  # whole units, rounded down
        (7, 0, 500, 1000, (0, 77)),
        (2**60, 0, NO_UPPER, 900, (0, 2**60 + 2**61)),  # no further than numbers go
    ],
)
def test_what_everybody_knows_is_the_closer_of_bounds_and_percentage(value, lower, upper, within, known):
    assert bounds(value, lower, upper, within) == known
