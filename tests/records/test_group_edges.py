"""Every algorithm on files at the edge: constant columns, equal and doubled records, one record, huge numbers."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ProtectionError

ALGORITHMS = get_args(get_type_hints(ds.Microaggregate)["algorithm"])


def method(algorithm: str, k: int = 3, **options: object) -> ds.Microaggregate:
    return ds.Microaggregate((), 2 if algorithm == "optimal_2" else k, algorithm, **options)


def protected(table: dict[str, object], algorithm: str) -> dict[str, list[object]]:
    data = ds.Microdata(pa.table(table), numeric=list(table))
    release = ds.protect(data, method(algorithm), keep_order=True)
    assert release.verify().holds
    return release.public.records.shown()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_constant_columns_stay(algorithm):
    x = np.random.default_rng(1).permutation(40).tolist()
    assert protected({"x": x, "same": [7] * 40}, algorithm)["same"] == [7.0] * 40


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equal_records_stay(algorithm):
    assert protected({"x": [5] * 13, "y": [1.5] * 13}, algorithm) == {"x": [5.0] * 13, "y": [1.5] * 13}


@pytest.mark.parametrize("algorithm", [one for one in ALGORITHMS if one not in ("rmd", "mcdpca", "clustmcdpca")])
def test_records_that_stand_there_many_times(algorithm):
    draw = np.random.default_rng(2)
    x = np.repeat(draw.integers(0, 50, 8), 6)
    shown = protected({"x": x, "y": np.repeat(draw.integers(0, 50, 8), 6)}, algorithm)
    if algorithm not in ("sum", "pca", "pppca", "single", "automaton", "clustpca", "clustpppca", "influence"):
        assert shown["x"] == x.astype(float).tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_record_and_fewer_than_k(algorithm):
    for rows in (1, method(algorithm).k - 1):
        data = ds.Microdata(pa.table({"x": list(range(rows))}), numeric="x")
        with pytest.raises(ProtectionError, match=f"There (is|are) {rows} records?, and a group has at least"):
            ds.protect(data, method(algorithm))


@pytest.mark.parametrize("algorithm", ["search", "optimal_2", "automaton", "rmd"])
def test_large_amounts_with_cents(algorithm):
    """10^13 with cents is held exactly; 10^15 with cents is not, and is refused."""
    draw = np.random.default_rng(3)
    cents = np.round(1e13 + draw.integers(0, 10**6, 30) / 100, 2)
    protected({"x": cents}, algorithm)
    data = ds.Microdata(pa.table({"x": np.round(1e15 + draw.integers(0, 10**6, 30) / 4, 2)}), numeric="x")
    with pytest.raises(InputError, match="too large to be changed exactly"):
        ds.protect(data, method(algorithm))


@pytest.mark.parametrize("algorithm", ["rmd", "mcdpca"])
def test_fewer_records_than_columns(algorithm):
    table = {f"x{i}": np.random.default_rng(i).permutation(9) for i in range(12)}
    data = ds.Microdata(pa.table(table), numeric=list(table))
    with pytest.raises(InputError, match="A robust covariance of 8 columns needs more than 16 records"):
        ds.protect(data, method(algorithm))
    assert ds.protect(data, method("pppca")).verify().holds
