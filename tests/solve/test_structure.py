"""Blocks of relation matrices: the figures of card 003-02 on stand-ins of the same sizes, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, eye_array, kron, vstack
from scipy.sparse.linalg import spsolve

from discreet.errors import ParameterError
from discreet.relations import build_system
from discreet.solve.structure import Structure, block_structure, link_names, schur_solve
from tests.tables.rounding.making import table


def tree(codes: int, parents: int) -> csr_array:
    """Root 0; the other parents are its children; all other codes are dealt in turn to them and the root."""
    children: list[list[int]] = [list(range(1, parents)), *([] for _ in range(parents - 1))]
    for number, code in enumerate(range(parents, codes)):
        children[(number + 1) % parents].append(code)
    rows = np.zeros((parents, codes))
    for parent, mine in enumerate(children):
        rows[parent, parent], rows[parent, mine] = -1, 1
    return csr_array(rows)


def crossed(*trees: csr_array) -> csr_array:
    parts = []
    for k, one in enumerate(trees):
        whole = csr_array(np.ones((1, 1)))
        for j, other in enumerate(trees):
            whole = kron(whole, one if j == k else eye_array(other.shape[1]))
        parts.append(whole)
    return csr_array(vstack(parts))


TARGUS = crossed(tree(18, 5), tree(9, 1))
TOY = crossed(tree(10, 1), tree(17, 4), tree(17, 4))


def recount(matrix: csr_array, found: Structure) -> int:
    """Links, counted anew from who is in which block."""
    pattern = matrix.tocsc() if found.form == "dual" else matrix.tocsr()
    block = found.row_block if found.form == "dual" else found.column_block
    spans = zip(pattern.indptr, pattern.indptr[1:], strict=False)
    return sum(len(set(block[pattern.indices[a:b]].tolist())) > 1 for a, b in spans)


def check(matrix: csr_array, found: Structure) -> None:
    assert sorted(found.row_order.tolist()) == list(range(matrix.shape[0]))
    assert sorted(found.column_order.tolist()) == list(range(matrix.shape[1]))
    assert recount(matrix, found) == len(found.linking)
    entries = matrix.tocoo()
    rows, columns = found.row_block[entries.coords[0]], found.column_block[entries.coords[1]]
    assert np.all((rows == columns) | (rows == -1) | (columns == -1))
    shared, k = (0, 0) if found.form == "dual" else (1, 1)
    assert sum(size[k] for size in found.sizes) == matrix.shape[shared]


@pytest.mark.parametrize(
    ("matrix", "form", "balance", "printed"),
    [
        (TARGUS, "dual", 0.1, 26),
        (TARGUS, "primal", 0.1, 9),
        (TOY, "dual", 0.1, 240),
        (TOY, "primal", 0.1, 170),
        (TARGUS, "dual", 0.2, 18),
        (TARGUS, "primal", 0.2, 9),
        (TOY, "dual", 0.2, 240),
        (TOY, "primal", 0.2, 180),
    ],
)
def test_links_are_at_most_a_fifth_above_the_figures_of_the_card(matrix, form, balance, printed):
    found = block_structure(matrix, form=form, balance=balance)
    assert len(found.linking) <= 1.2 * printed
    check(matrix, found)
    members = matrix.shape[0] if form == "dual" else matrix.shape[1]
    largest = max(size[0 if form == "dual" else 1] for size in found.sizes)
    assert largest <= max((1 + balance) / 2 * members, -(-members // 2))


def test_levels_bring_the_figures_of_the_card_where_one_level_does_not(monkeypatch):
    with_levels = [len(block_structure(m, form="dual", balance=b).linking) for m, b in ((TARGUS, 0.2), (TOY, 0.1))]
    assert with_levels == [18, 240]
    monkeypatch.setattr("discreet.solve.structure.LEVELLED", 0)
    without = [len(block_structure(m, form="dual", balance=b).linking) for m, b in ((TARGUS, 0.2), (TOY, 0.1))]
    assert all(a < b for a, b in zip(with_levels, without, strict=True))


def test_the_stand_ins_have_the_sizes_of_the_card():
    assert (*TARGUS.shape, TARGUS.nnz) == (63, 162, 360)
    assert (*TOY.shape, TOY.nnz) == (1649, 2890, 9690)


def test_two_tables_that_share_nothing_fall_apart_however_shuffled():
    rng = np.random.default_rng(1)
    two = csr_array(block_diag([crossed(tree(9, 3), tree(6, 1))] * 2))
    two = two[rng.permutation(two.shape[0])][:, rng.permutation(two.shape[1])]
    for form in ("dual", "primal"):
        found = block_structure(two, form=form)
        assert len(found.linking) == 0
        check(two, found)


def test_two_tables_that_share_their_total_have_one_link():
    one = crossed(tree(8, 1), tree(7, 1)).toarray()
    rows, cells = one.shape
    both = np.zeros((2 * rows, 2 * cells - 1))
    both[:rows, :cells] = one
    both[rows:, [0, *range(cells, 2 * cells - 1)]] = one
    found = block_structure(csr_array(both), form="dual")
    assert found.linking.tolist() == [0]
    assert found.worth_it


def test_more_blocks_have_no_fewer_links_and_the_same_seed_the_same_blocks():
    two, four = (block_structure(TOY, k, form="dual") for k in (2, 4))
    assert len(four.linking) >= len(two.linking)
    check(TOY, four)
    again = block_structure(TOY, 4, form="dual")
    assert np.array_equal(four.row_block, again.row_block)


def test_the_schur_route_equals_a_direct_solve():
    found = block_structure(TARGUS, 3, form="primal")
    right = np.random.default_rng(2).normal(size=TARGUS.shape[0])
    direct = spsolve((TARGUS @ TARGUS.T + 1e-3 * eye_array(TARGUS.shape[0])).tocsc(), right)
    by_blocks = schur_solve(TARGUS, found, right, 1e-3)
    assert np.abs(by_blocks - direct).max() <= 1e-8 * np.abs(direct).max()


def test_links_have_names():
    system = build_system(table(np.ones((4, 3), int)))
    found = block_structure(system.matrix, form="dual")
    assert len(link_names(found, system)) == len(found.linking)
    assert "v0=" in link_names(found, system)[0]
    assert "link them" in found.summary()


@pytest.mark.parametrize(
    "options", [{"blocks": 1}, {"blocks": 64}, {"balance": 1.0}, {"form": "triple"}, {"starts": 0}]
)
def test_impossible_parameters_are_refused(options):
    with pytest.raises(ParameterError):
        block_structure(TARGUS, **{"form": "dual", **options})


def test_the_picture_of_a_structure_is_an_image():
    from discreet.report.structure import spy_image

    assert spy_image(TARGUS, block_structure(TARGUS), "Blocks").startswith("<")
