"""Guesses by what most of the fitting records say, against counting them one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet.attack import attack_synthetic
from discreet.attack.synthetic.majority import most_common, right_guesses


@pytest.fixture(scope="module")
def files():
    draw = np.random.default_rng(4)
    area, sort = draw.integers(0, 6, 300).astype(str), draw.integers(0, 4, 300).astype(str)
    ill = np.where(draw.random(300) < 0.7, [f"s{int(one) % 3}" for one in area], draw.choice(["s0", "s1", "s2"], 300))
    rows = draw.integers(0, 300, 300)
    made = [None if draw.random() < 0.05 else one for one in ill[rows]]
    columns = ("area", "sort", "ill")
    return (
        pa.table(dict(zip(columns, (area, sort, ill), strict=True))),
        pa.table(dict(zip(columns, (area[rows], sort[rows], pa.array(made)), strict=True))),
    )


def test_the_majority_is_right_more_often_than_a_draw(files):
    """Drawing one of the fitting records was the only guess, and 12 of 100 people were told too few."""
    original, released = files
    found = attack_synthetic(original, released, original, keys=["area", "sort"], secret="ill")
    cells = {}
    for area, sort, ill in zip(*(released[name].to_pylist() for name in released.column_names), strict=True):
        cells.setdefault((area, sort), Counter())[ill] += 1
    right = []
    for area, sort, ill in zip(*(original[name].to_pylist() for name in original.column_names), strict=True):
        cell = cells.get((area, sort))
        assert cell, "every combination of keys is there"
        best = [one for one, many in cell.items() if many == max(cell.values())]
        right.append((ill in best) / len(best))
    majority = found["inference by majority"]
    assert majority.share == pytest.approx(np.mean(right))
    assert majority.share > found["inference"].share + 0.05
    modal = Counter(released["ill"].to_pylist()).most_common(1)[0][0]
    assert majority.baseline == pytest.approx(np.mean([one == modal for one in original["ill"].to_pylist()]))
    assert majority.control_share == pytest.approx(majority.share)


def test_numbers_are_near_each_other_and_gaps_are_an_answer():
    assert most_common(np.array([10.0, 99, 100, 101, np.nan]), 0.05).tolist() == [99, 100, 101]
    assert np.isnan(most_common(np.array([1.0, np.nan, np.nan]), 0)).tolist() == [True]
    assert right_guesses(np.array([1.0, np.nan]), np.nan, 0.0) == 0.5
    assert right_guesses(np.array([95.0, 106.0]), 100.0, 0.05) == 0.5
