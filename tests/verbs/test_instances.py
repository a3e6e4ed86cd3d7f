"""JJ instances protected as tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError
from discreet.files.argus.jj import Instance, read_jj


def written(tmp_path: Path) -> tuple[ds.Table, Path]:
    made = ds.generate.business_survey(500, seed=2, activities=(2, 5), regions=(2, 4))
    by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    table = ds.tabulate(made.records, by=by, value="turnover").assess(ds.PPercent(40))
    return table, ds.write_argus(table, tmp_path / "a.jj", "jj").files[0]


def test_an_instance_is_protected_like_its_table(tmp_path: Path) -> None:
    table, path = written(tmp_path)
    again = ds.table_from_jj(path)
    assert int(again.unsafe.sum()) == int(table.unsafe.sum())
    assert sorted(again.values.tolist()) == sorted(table.values.tolist())
    method = ds.Suppress(algorithm="optimal", insiders=None, cost="unity", known_within=50, joint=False)
    one, two = (ds.protect(each, method) for each in (table, again))
    assert one.verify().holds
    assert two.verify().holds
    paid = [each.custodian.evidence[0].effort["cost"] for each in (one, two)]
    assert paid[0] == paid[1]


def test_an_instance_written_again_is_the_same(tmp_path: Path) -> None:
    small = ds.examples.small_table().assess(ds.PPercent(10))
    path = ds.write_argus(small, tmp_path / "a.jj", "jj").files[0]
    first, table = read_jj(path), ds.table_from_jj(path)
    second = read_jj(ds.write_argus(table, tmp_path / "b.jj", "jj").files[0])
    order = np.argsort([table.spec.by["cell"].index[str(number)] for number in range(len(first))])
    for name in ("value", "status", "lower_level", "upper_level"):
        assert np.array_equal(getattr(first, name)[order], getattr(second, name)), name
    assert len(first.rhs) == len(second.rhs)


def instance(signs: list[int], rhs: float = 0.0) -> Instance:
    value, nothing = np.array([5.0, 2.0, 3.0]), np.zeros(3)
    return Instance(
        value, np.ones(3), np.zeros(3, np.int64), nothing, value * 2, nothing, nothing, nothing,
        np.array([rhs]), np.array([0, 3]), np.arange(3), np.array(signs),
    )  # fmt: skip


def test_relations_that_are_no_sums_are_refused() -> None:
    assert ds.table_from_jj(instance([1, -1, -1])).spec.by["cell"].groupings[0].parent == "0"
    with pytest.raises(InputError, match="does not add up to zero"):
        ds.table_from_jj(instance([-1, 1, 1], rhs=4.0))
    circle = Instance(
        *(np.ones(2) for _ in range(2)), np.zeros(2, np.int64), np.zeros(2), *(np.ones(2) for _ in range(4)),
        np.zeros(2), np.array([0, 2, 4]), np.array([0, 1, 1, 0]), np.array([-1, 1, -1, 1]),
    )  # fmt: skip
    with pytest.raises(DiscreetError):
        ds.table_from_jj(circle)
