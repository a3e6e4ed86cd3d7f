"""Blocks of relation matrices: the figures of card 003-02 on stand-ins of the same sizes, and what must always hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, eye_array
from scipy.sparse.linalg import spsolve

from benchmarks.structure import crossed, schur_solve, tree
from discreet.errors import ParameterError
from discreet.relations import build_system
from discreet.report.structure import structure_image
from discreet.solve.halving import refine
from discreet.solve.structure import Structure, block_structure, independent_parts, link_names
from tests.tables.rounding.making import table

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
    assert found.few_links


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
    assert link_names(found, system, 2) == link_names(found, system)[:2]
    assert f"{len(found.linking)} cells link them" in found.summary()


def fewest(matrix: csr_array, form: str) -> int:
    """The fewest links of equal halves, by trying all."""
    members = np.abs(matrix.toarray() if form == "dual" else matrix.toarray().T) > 0
    size = len(members)
    sides = np.zeros((sum(1 for _ in combinations(range(size - 1), size // 2)), size), bool)
    for k, chosen in enumerate(combinations(range(size - 1), size // 2)):
        sides[k, list(chosen)] = True
    held, other = sides.astype(int) @ members, (~sides).astype(int) @ members
    return int(((held > 0) & (other > 0)).sum(axis=1).min())


@pytest.mark.parametrize("shape", [((4, 1), (4, 1)), ((4, 2), (4, 2)), ((6, 2), (3, 1))])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_small_tables_have_the_fewest_links_that_there_can_be(shape, form):
    matrix = crossed(*(tree(codes, parents) for codes, parents in shape))
    found = block_structure(matrix, 2, form=form, balance=0.0)
    check(matrix, found)
    assert len(found.linking) == fewest(matrix, form)
    assert found.largest <= 0.5 + 1 / matrix.shape[0 if form == "dual" else 1]


def test_full_sides_can_still_change_members():
    # Of 16 cells none can move without a side of 9, which the balance does not allow for good.
    matrix = crossed(tree(4, 1), tree(4, 1))
    wrong = np.tile([0, 1], 8).astype(np.int8)
    pattern = csr_array(matrix.T)
    nets = pattern.tocsc()
    members = [a.astype(np.int64) for a in (pattern.indptr, pattern.indices, nets.indptr, nets.indices)]
    mixed = wrong[np.random.default_rng(3).permutation(16)]
    before = recount(matrix, Structure("primal", 2, np.zeros(8, np.int64), mixed.astype(np.int64)))
    cut = refine(*members, np.ones(16, np.int64), mixed, 8)
    assert np.bincount(mixed).tolist() == [8, 8]
    assert cut < before
    assert cut == recount(matrix, Structure("primal", 2, np.zeros(8, np.int64), mixed.astype(np.int64)))


@pytest.mark.parametrize("most", [32, 40, 50])
def test_refinement_never_adds_links_and_keeps_the_limit(most):
    nets = TARGUS.tocsc()
    members = [a.astype(np.int64) for a in (TARGUS.indptr, TARGUS.indices, nets.indptr, nets.indices)]
    for seed in range(5):
        side = np.random.default_rng(seed).permutation(np.arange(63) % 2).astype(np.int8)
        before = recount(TARGUS, Structure("dual", 2, side.astype(np.int64), np.zeros(162, np.int64)))
        assert refine(*members, np.ones(63, np.int64), side, most) <= before
        assert np.bincount(side).max() <= most


def test_parts_that_nothing_links_are_found_exactly_and_largest_first():
    rng = np.random.default_rng(4)
    sizes = (crossed(tree(3, 1)), crossed(tree(9, 3), tree(6, 1)), crossed(tree(4, 1), tree(4, 1)))
    whole = csr_array(block_diag([*sizes, csr_array((0, 2))]))  # two cells stand in no relation
    whole = csr_array(whole[rng.permutation(whole.shape[0])][:, rng.permutation(whole.shape[1])])
    found = block_structure(whole)
    check(whole, found)
    assert found.blocks == independent_parts(whole).blocks == 3
    assert found.sizes == [(27, 56), (8, 16), (1, 3)]
    assert len(found.linking) == 0
    assert found.summary().endswith("Nothing links them.")


def test_entries_that_are_zero_tie_nothing_together_and_stay_where_they_are():
    two = csr_array((np.array([1, -1, 0, 1, -1]), np.array([0, 1, 2, 2, 3]), np.array([0, 3, 5])), shape=(2, 4))
    found = block_structure(two)
    assert (found.blocks, found.sizes) == (2, [(1, 2), (1, 2)])
    assert two.nnz == 5


@pytest.mark.parametrize("matrix", [csr_array((0, 5)), csr_array(np.ones((1, 5))), csr_array((0, 0))])
def test_what_cannot_be_divided_is_one_block(matrix):
    found = block_structure(matrix)
    assert found.sizes == [matrix.shape]
    assert found.summary().startswith("One block")
    assert not found.few_links


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"blocks": 1}, "Give a whole number from 2 to 63, or leave it out."),
        ({"blocks": 64}, "Give a whole number from 2 to 63, or leave it out."),
        ({"blocks": 2.0}, "Give a whole number from 2 to 63, or leave it out."),
        ({"blocks": True}, "Give a whole number from 2 to 63, or leave it out."),
        ({"balance": 1.0}, "Give a share from 0 to below 1."),
        ({"balance": True}, "Give a share from 0 to below 1."),
        ({"form": "triple"}, "Available: 'dual', 'primal', 'both'."),
        ({"starts": 0}, "Give a whole number of at least 1."),
    ],
)
def test_impossible_parameters_are_refused(options, hint):
    with pytest.raises(ParameterError) as error:
        block_structure(TARGUS, **{"form": "dual", **options})
    assert hint in str(error.value)


def test_blocks_of_too_few_relations_are_refused():
    with pytest.raises(ParameterError, match="1 relation and 5 cells cannot be divided; leave it out"):
        block_structure(csr_array(np.ones((1, 5))), 2)


def test_the_picture_stays_small_however_large_the_matrix():
    found = block_structure(TOY, form="primal")
    image = structure_image(TOY, found)
    assert image.startswith("<svg")
    assert "170 relations link them" in image
    assert len(image) < 100_000
