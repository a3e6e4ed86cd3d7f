"""Card 003-29, R20 and R22: the table of losses of grouping algorithms, on stand-in data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds

ALGORITHMS = ("simple", "single", "onedims", "pca", "pppca", "mdav")


@pytest.fixture(scope="module")
def losses() -> dict[str, ds.measures.ValueLosses]:
    draw = np.random.default_rng(29)
    common = draw.normal(size=(300, 1))
    values = np.exp(0.9 * (common * [1, 1, 0.5, 0.8, -0.6] + draw.normal(size=(300, 5)) * 0.7)) * 100
    table = pa.table({f"v{at}": values[:, at].round(1) for at in range(5)})
    people = ds.Microdata(table, numeric=table.column_names)
    found = {}
    for algorithm in ALGORITHMS:
        release = ds.protect(people, ds.Microaggregate(table.column_names, k=3, algorithm=algorithm))
        found[algorithm] = ds.utility(release, propensity="none").losses
    return found


def test_group_means_keep_column_means(losses):
    """The printed changes of means are not 0, and cannot come from means of groups."""
    for one in losses.values():
        assert one.mean < 1e-4  # published values are rounded


def test_the_variance_of_the_table_is_twice_the_covariance(losses):
    for one in losses.values():
        assert one.variance == pytest.approx(2 * one.covariance)


def test_columns_by_themselves_lose_least_in_each_column(losses):
    for name in ("il1", "median", "onestep", "mad"):
        least = min(losses, key=lambda algorithm: getattr(losses[algorithm], name))
        assert least == "onedims", name


def test_no_algorithm_that_sorts_by_one_number_is_best_in_everything(losses):
    sorting = ("simple", "single", "pca", "pppca")
    names = ("median", "onestep", "mad", "covariance", "correlation", "regression", "loadings")
    best = {min(sorting, key=lambda algorithm: getattr(losses[algorithm], name)) for name in names}
    assert len(best) > 1
