"""Twins: cells that hold the same records are one cell, and nothing that relations say is lost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

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


# ---- what makes two cells twins, cell by cell ---------------------------------------------------------------------

FIELDS = ("value", "empty", "unsafe", "forced", "given", "known", "now", "lower_level", "upper_level")
MORE = ("sliding_level", "lower_bound", "upper_bound", "contributors", "without_negative")


class FewCells:
    """Ten cells: the first two are twins; the others only nearly, for a reason each."""

    def __init__(self) -> None:
        rows = [
            [1, -1, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, -1, 0, 0, 0, 0, 0, 0],  # with slack
            [0, 0, 0, 0, 1, -1, 0, 0, 0, 0],  # between variables, not cells of one table
            [0, 0, 0, 0, 0, 0, 1, -1, 1, -1],  # of four cells
        ]
        self.matrix = csr_array(np.array(rows, np.int64))
        self.slack = np.array([0, 1, 0, 0])
        self.origin = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 0]])
        for name in (*FIELDS, *MORE):
            setattr(self, name, np.ones(10, np.int64))
        self.holder, self.own = np.ones((10, 2), np.int64), np.ones((10, 2), np.int64)

    def __len__(self) -> int:
        return 10


def test_only_cells_of_one_exact_relation_of_two_are_twins() -> None:
    assert twin_labels(FewCells()).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", [*FIELDS, *MORE])
def test_cells_that_differ_in_anything_that_is_known_of_them_are_no_twins(name: str) -> None:
    system = FewCells()
    getattr(system, name)[1] = 2
    assert twin_labels(system).tolist() == list(range(10))


@pytest.mark.parametrize("name", ["holder", "own"])
@pytest.mark.parametrize("place", [0, 1])
def test_cells_of_other_contributors_are_no_twins(name: str, place: int) -> None:
    system = FewCells()
    getattr(system, name)[1, place] = 2
    assert twin_labels(system).tolist() == list(range(10))


def test_what_twins_stand_for_is_kept() -> None:
    system = build_system(sparse(2, 3))
    twins = with_twins_as_one(system, twin_labels(system))
    assert (twins.several == (np.bincount(twins.cell) > 1)).all()
    assert 0 < twins.several.sum() < len(twins.several)
    before, after = system.relating.found.parent, twins.system.relating.found.parent
    assert (before >= 0).all()
    assert (before == 0).any()
    assert (after >= 0).all()


# ---- sums of finest cells -----------------------------------------------------------------------------------------


def test_relations_with_slack_or_without_totals_stay_steps() -> None:
    system = build_system(sparse(1, 3))
    found = system.relating.found
    loose = found.slack.copy()
    loose[np.flatnonzero(found.defining)[0]] = 1
    assert in_finest_cells(system) is not system
    held = system.related(slack=loose)
    assert in_finest_cells(held) is held
    frame = pa.table({"g": ["a", "b"], "x": [1, 2]})
    flat = ds.tabulate(frame, by={"g": ds.Hierarchy.flat(["a", "b"], total=None)}, value="x")
    alone = build_system(flat.assess(ds.MinFrequency(2)))
    assert in_finest_cells(alone) is alone


def test_a_row_explains_its_parent_where_that_stands_on_the_other_side() -> None:
    # The first explains cell 2; of the second the parent stands on the side of the parts; in the third cell 1 is
    # subtracted, and is no parent.
    matrix = csr_array(np.array([[1, 1, -1, 0, 0], [0, -1, 0, 1, 0], [1, -1, 0, 0, -1]], np.int64))
    total, row = relations_of_twins._explained(matrix, np.array([2, 3, 4]))
    assert total.tolist() == [2, 4]
    assert row.tolist() == [0, 2]


def test_sums_are_resolved_to_the_end_though_changes_cancel() -> None:
    # 0 = 1 - 2, 1 = 3 + 4, 2 = 5 + 6, 3 = 7 + 8, 5 = 9 + 10; and twice a - b with b = c + d, so that all cancel.
    terms = [(0, {1: 1, 2: -1}), (1, {3: 1, 4: 1}), (2, {5: 1, 6: 1}), (3, {7: 1, 8: 1}), (5, {9: 1, 10: 1})]
    terms += [(11, {12: 1, 13: -1}), (13, {14: 1, 15: 1}), (16, {17: 1, 18: -1}), (18, {19: 1, 20: 1})]
    matrix = np.zeros((len(terms), 21), np.int64)
    for row, (total, parts) in enumerate(terms):
        matrix[row, total] = -1
        for cell, sign in parts.items():
            matrix[row, cell] = sign
    totals = np.array([total for total, _ in terms])
    order = np.argsort(totals)
    found = relations_of_twins._sums_of_finest(csr_array(matrix[order]), totals[order], 10**6)
    assert found is not None
    (first,) = found.toarray()[:1]
    assert {cell: int(first[cell]) for cell in np.flatnonzero(first)} == {4: 1, 6: -1, 7: 1, 8: 1, 9: -1, 10: -1}
    entries = found.nnz
    for most, kept in ((entries - 21, True), (entries - 22, False)):
        again = relations_of_twins._sums_of_finest(csr_array(matrix[order]), totals[order], most)
        assert (again is not None) == kept
