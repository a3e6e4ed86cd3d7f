"""Losses of columns of numbers, against sums by hand and what the source's table shows."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError
from discreet.measures.values import ValuePair, il1, mad, onestep, value_losses, value_pair

FINITE = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


def pair(before, after) -> ValuePair:
    before, after = np.array(before, np.float64), np.array(after, np.float64)
    return ValuePair(tuple("xyz"[: before.shape[1]]), before, after)


def test_distances_by_hand():
    moved = pair([[0, 1], [2, 1], [4, 4]], [[1, 1], [2, 1], [4, 1]])
    spread = np.array([2.0, np.sqrt(3.0)])
    by_hand = (1 / (np.sqrt(2) * spread[0]) + 3 / (np.sqrt(2) * spread[1])) / 6
    assert il1(moved) == pytest.approx(by_hand)
    losses = value_losses(moved)
    assert losses.mean == pytest.approx((7 / 3 - 2) / 2 + 1 / 2)
    assert losses.median == 0


def test_robust_locations_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    assert mad(values) == pytest.approx(1.4826)
    assert onestep(values) == pytest.approx((1 + 2 + 3 + 4 + 3 + 3 / 1.486 * 1.4826) / 5)


@given(st.lists(st.tuples(FINITE, FINITE, FINITE, FINITE), min_size=3, max_size=20))
@settings(max_examples=80, deadline=None)
def test_the_identity_of_the_published_table_and_the_scale_of_distances(rows):
    both = np.array(rows)
    losses = value_losses(pair(both[:, :2], both[:, 2:]))
    assert losses.variance == pytest.approx(2 * losses.covariance)
    before, moves = both[:, :2], both[:, 2:]
    once, twice = (il1(pair(before, before + times * moves)) for times in (1, 2))
    assert twice == pytest.approx(2 * once)
    if (before.std(axis=0) > 0).all():
        assert (once == 0) == (not moves.any())


def test_equal_files_lose_nothing():
    rng = np.random.default_rng(1)
    before = rng.normal(size=(50, 3))
    assert set(value_losses(pair(before, before)).to_dict().values()) == {0.0}


def test_records_with_a_gap_are_left_out():
    data = ds.Microdata(pa.table({"x": [1.0, None, 3.0, 5.0], "y": [1, 2, 3, 9]}))
    records = read_record_set(data)
    found = value_pair(records, records, ["x", "y"])
    assert found.before.tolist() == [[1, 1], [3, 3], [5, 9]]


def test_what_is_no_number_is_refused():
    records = read_record_set(ds.Microdata(pa.table({"x": ["a", "b"]})))
    with pytest.raises(InputError, match="Column 'x' holds string, not numbers"):
        value_pair(records, records, ["x"])
    with pytest.raises(InputError, match="need two records without a gap"):
        value_losses(pair([[1, 2]], [[1, 2]]))


def firms() -> ds.Microdata:
    draw = np.random.default_rng(2)
    x = np.round(draw.lognormal(3, 1, 200), 2)
    return ds.Microdata(pa.table({"x": x, "y": np.round(x * draw.lognormal(0, 0.3, 200), 2)}), numeric=["x", "y"])


EVERY = get_args(get_type_hints(ds.Microaggregate)["algorithm"])


@pytest.mark.parametrize("algorithm", EVERY)
def test_groups_keep_the_means(algorithm):
    """Group means keep column means, which the published table does not show: its first column is left aside."""
    method = ds.Microaggregate(k=2 if algorithm == "optimal_2" else 4, algorithm=algorithm, decimals=9)
    release = ds.protect(firms(), method)
    made = value_pair(release.custodian.original, release.custodian.released, ["x", "y"])
    assert value_losses(made).mean < 1e-9


def test_risk_and_loss_after_every_step():
    release = ds.protect(firms(), [ds.Microaggregate(k=3), ds.RankSwap(share=0.2, insecure_seed=1)])
    found = ds.risk_by_step(release).to_pydict()
    assert found["step"] == ["1 microaggregate", "2 rank_swap"]
    assert found["linked"][0] > found["linked"][1] > 0
    assert 0 < found["il1"][0] < found["il1"][1]
    assert ds.risk_by_step(release, ["x"]).num_rows == 2
    nothing = ds.protect(ds.Microdata(pa.table({"a": ["u", "v"] * 9})), ds.Recode("a", map={"u": "w", "v": "w"}))
    assert ds.risk_by_step(nothing).num_rows == 0
