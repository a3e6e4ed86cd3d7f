"""Twins: cells that hold the same records are one cell, and nothing that relations say is lost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.arrays import Ints
from discreet.relations import System, build_system
from discreet.relations import twins as relations_of_twins
from discreet.relations.twins import in_finest_cells, twin_labels, with_twins_as_one


def sparse(seed: int, variables: int = 3, records: int = 7) -> ds.Table:
    """Few records in many cells, the first variable with a hierarchy."""
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(variables)]
    frame = pa.table(
        {
            **{name: rng.choice(["a", "b", "c", "d"][: 2 + k % 3], records) for k, name in enumerate(names)},
            "x": 2 ** np.arange(records),  # so that the value of a cell tells which records it holds
            "firm": np.arange(records),
        }
    )
    codes = {name: sorted(set(frame[name].to_pylist())) for name in names}
    tree = {code: "A" if code < "b" else "B" for code in codes["v0"]}
    tree |= dict.fromkeys(set(tree.values()), "Total")
    by = {name: ds.Hierarchy.flat(codes[name]) for name in names}
    by["v0"] = ds.Hierarchy.from_parents(tree, total="Total")
    return ds.tabulate(frame, by=by, value="x", contributor="firm").assess(ds.MinContributors(3))


def moves(system: System) -> Ints:
    """A basis of all moves that keep the relations, one a row."""
    from scipy.linalg import null_space

    return null_space(system.matrix.toarray().astype(np.float64)).T


def test_a_total_with_one_part_is_its_twin() -> None:
    frame = pa.table({"g": ["a", "a", "b"], "h": ["u", "v", "u"], "x": [1, 2, 3]})
    by = {"g": ds.Hierarchy.flat(["a", "b"]), "h": ds.Hierarchy.flat(["u", "v"])}
    table = ds.tabulate(frame, by=by, value="x").assess(ds.MinFrequency(2))
    system = build_system(table)
    label = twin_labels(system)
    row = {tuple(table.spec_codes(codes)): i for i, codes in enumerate(table.codes.tolist())}
    assert label[row["b", "u"]] == label[row["b", "Total"]]
    assert label[row["a", "v"]] == label[row["Total", "v"]]
    assert len(set(label.tolist())) == len(table) - 2


def test_a_cell_that_must_be_published_is_no_twin_of_one_that_need_not() -> None:
    frame = pa.table({"g": ["a", "a", "b", "b", "b"], "h": ["u", "v", "u", "u", "u"], "x": [1, 2, 3, 4, 5]})
    by = {"g": ds.Hierarchy.flat(["a", "b"]), "h": ds.Hierarchy.flat(["u", "v"])}
    table = ds.tabulate(frame, by=by, value="x").marked({("b", "Total"): "P"}).assess(ds.MinFrequency(2))
    system = build_system(table)
    label = twin_labels(system)
    row = {tuple(table.spec_codes(codes)): i for i, codes in enumerate(table.codes.tolist())}
    assert label[row["b", "u"]] != label[row["b", "Total"]]


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(deadline=None, max_examples=25)
def test_moves_of_twins_as_one_are_the_moves_of_all_cells(seed: int, variables: int) -> None:
    system = build_system(sparse(seed, variables))
    twins = with_twins_as_one(system, twin_labels(system))
    assert not (twins.system.matrix @ twins.system.value).any()
    assert (twins.system.value[twins.cell] == system.value).all()
    assert (twins.system.contributors[twins.cell] == system.contributors).all()
    for fewer in (twins.system, in_finest_cells(twins.system)):
        found = moves(fewer)
        assert len(found) == len(moves(system))
        assert np.allclose(system.matrix @ found[:, twins.cell].T, 0)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=15)
def test_twins_are_all_cells_that_hold_the_same_records(seed: int) -> None:
    system = build_system(sparse(seed, 4))
    label = twin_labels(system)
    assert len(set(zip(label.tolist(), system.value.tolist(), strict=True))) == len(set(label.tolist()))
    assert len(set(system.value.tolist())) == len(set(label.tolist()))


def test_totals_are_sums_of_finest_cells_where_these_are_few() -> None:
    system = build_system(sparse(1, 4))
    twins = with_twins_as_one(system, twin_labels(system)).system
    matrix = in_finest_cells(twins).matrix
    finest = np.bincount(matrix.indices[matrix.data > 0], minlength=len(twins)) > 0
    totals = matrix.indices[matrix.data < 0]
    assert not finest[totals].any()
    assert len(set(totals.tolist())) == matrix.shape[0] == len(twins) - finest.sum()


def test_sums_that_would_be_long_stay_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    system = build_system(sparse(1, 4))
    assert in_finest_cells(system) is not system
    monkeypatch.setattr(relations_of_twins, "LONGEST", 0)
    assert in_finest_cells(system) is system


def test_relations_of_the_whole_system_stay_as_they_are() -> None:
    system = build_system(sparse(2, 4))
    before = system.matrix.copy()
    with_twins_as_one(system, twin_labels(system))
    assert (before != system.matrix).nnz == 0
    assert not (system.matrix @ system.value).any()
