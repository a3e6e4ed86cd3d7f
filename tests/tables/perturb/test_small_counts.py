"""Small count rounding."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.draws import draws
from discreet.errors import InputError, ParameterError
from discreet.model.arrays import pointers
from discreet.tables.perturb.cover import Cover, cover_of
from discreet.tables.perturb.families import two_kinds
from discreet.tables.perturb.small_counts import rounded_small_counts

BY = {
    "party": ds.Hierarchy.flat(list("ABC")),
    "age": ds.Hierarchy.flat(["young", "middle", "old"]),
    "sex": ds.Hierarchy.flat(["m", "f"]),
}
CODES = np.array([[p + 1, a + 1, s + 1] for p in range(3) for a in range(3) for s in range(2)], np.int32)
COVER = cover_of(CODES, BY, [["party", "age"], ["party", "sex"]])


def drawn(number: int, size: int = 18) -> np.ndarray:
    return draws(number.to_bytes(32, "big"), "small_counts", 1, np.arange(size))


def mixed_marks(codes: np.ndarray) -> np.ndarray:
    """A number for each code that has nothing to do with its place."""
    return draws(bytes(32), "marks", 1, codes.astype(np.int64))


def test_shared_margins_are_one_published_cell():
    assert COVER.size == 24
    assert [len(place) for place in COVER.place] == [16, 12]
    inner = np.arange(18)
    sums = COVER.sums(inner)
    assert sums[COVER.place[0][0]] == sums[COVER.place[1][0]] == inner.sum()
    assert (COVER.matrix().T @ inner == sums).all()
    start, members = COVER.transposed()
    assert [sums[j] for j in range(24)] == [inner[members[start[j] : start[j + 1]]].sum() for j in range(24)]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from([3, 5, 10]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 4]),
)
def test_nothing_small_is_published_and_everything_adds_up(seed, mean, base, derivable, every_small, exchanges):
    inner = np.random.default_rng(seed).poisson(mean, 18)
    found = rounded_small_counts(
        inner, COVER, drawn(seed), base=base, derivable=derivable, every_small=every_small, exchanges=exchanges
    )
    assert (found.published == COVER.sums(found.inner)).all()
    assert not ((found.published > 0) & (found.published < base)).any()
    changed = found.inner != inner
    assert np.isin(found.inner[changed], [0, base]).all()
    assert (inner[changed] < base).all()
    assert (inner[changed] > 0).all()
    assert not changed[~found.candidates].any()
    assert 2 * abs(int(found.inner.sum() - inner.sum())) <= base
    assert found.rounds <= 4
    if every_small:
        assert not ((found.inner > 0) & (found.inner < base)).any()


def test_the_order_of_cells_is_nothing():
    rng = np.random.default_rng(4)
    inner, draw = rng.poisson(1.0, 18), drawn(9)
    order = rng.permutation(18)
    plain = rounded_small_counts(inner, COVER, draw)
    mixed = rounded_small_counts(
        inner[order], cover_of(CODES[order], BY, [["party", "age"], ["party", "sex"]]), draw[order]
    )
    assert mixed.inner.tolist() == plain.inner[order].tolist()


def test_few_sweeps_never_leave_more_deviation_than_none():
    rng = np.random.default_rng(21)
    for seed in range(40):
        inner, draw = rng.poisson(1.0, 18), drawn(seed)
        off = [
            int(np.abs(rounded_small_counts(inner, COVER, draw, exchanges=n).published - COVER.sums(inner)).sum())
            for n in (0, 1)
        ]
        assert off[1] <= off[0]


def test_derivable_small_cells_are_rounded_too():
    """Row sums 0 and 5, column sums 4 and 1 withheld: the last unknown of a published sum is known."""
    by = {"a": ds.Hierarchy.flat(["1", "2"]), "b": ds.Hierarchy.flat(["1", "2"])}
    codes = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], np.int32)
    cover = cover_of(codes, by, [["a"], ["b"]])
    inner = np.array([0, 0, 4, 6])
    assert rounded_small_counts(inner, cover, drawn(1, 4)).inner.tolist() == inner.tolist()
    inner = np.array([2, 3, 0, 5])
    left = rounded_small_counts(inner, cover, drawn(1, 4), derivable=False)
    # The first column is 2: its only positive cell becomes 3 or 0; afterwards nothing small is left to derive.
    assert left.inner[0] in (0, 3)
    inner = np.array([0, 7, 2, 7])
    cover = cover_of(codes, by, [["a"]])
    # Row 2 is 9 and its cells are not published, so that the 2 stays unless it can be derived.
    assert rounded_small_counts(inner, cover, drawn(1, 4)).inner.tolist() == inner.tolist()


def test_a_small_cell_behind_a_published_zero_is_found():
    """Inner cells a = 2, b = 0, c = 4; published b and a + b + c and b + c: a is the difference of what is known."""

    members = [[0, 1], [1], [1, 2]]
    inner = np.array([2, 0, 4])
    start = pointers(np.array([1, 3, 1]))
    cover = Cover(start, np.array([0, 0, 1, 2, 2], np.int32), 3, [np.arange(3)], [np.arange(3)])
    assert [cover.sums(inner)[k] for k in range(3)] == [sum(inner[m] for m in group) for group in members]
    found = rounded_small_counts(np.array([5, 0, 4]), cover, drawn(2, 3))
    assert found.inner.tolist() == [5, 0, 4]
    assert rounded_small_counts(inner, cover, drawn(2, 3)).inner[0] in (0, 3)


def test_fixed_cells_stay_and_differences_are_made_up_for():
    inner = np.array([1, 1, 1, 1, 1, 1] * 3)
    fixed = np.full(18, -1)
    fixed[:3] = [3, 0, 0]
    found = rounded_small_counts(inner, COVER, drawn(3), pre_rounded=fixed)
    assert found.inner[:3].tolist() == [3, 0, 0]
    assert abs(int(found.inner.sum()) - 18) <= 1
    plain = rounded_small_counts(inner, COVER, drawn(3), exchanges=0)
    missing = np.zeros(COVER.size, np.int64)
    young_a = int(np.flatnonzero(COVER.transposed()[0][1:] > 0)[0])
    missing[young_a] = 50
    pulled = rounded_small_counts(inner, COVER, drawn(3), difference=missing, exchanges=0)
    assert pulled.published[young_a] >= plain.published[young_a]
    with pytest.raises(InputError, match=r"fixed at a count in 1 \.\. 2"):
        rounded_small_counts(inner, COVER, drawn(3), pre_rounded=np.full(18, 1))


def test_larger_tables_hold_too_and_exchanges_help():
    rng = np.random.default_rng(11)
    by = {"a": ds.Hierarchy.flat([str(i) for i in range(60)]), "b": ds.Hierarchy.flat([str(i) for i in range(40)])}
    codes = np.array([[a + 1, b + 1] for a in range(60) for b in range(40)], np.int32)
    cover = cover_of(codes, by)
    inner = rng.poisson(1.2, len(codes))
    draw = drawn(5, len(codes))
    plain = rounded_small_counts(inner, cover, draw, exchanges=0)
    better = rounded_small_counts(inner, cover, draw, exchanges=20, groups=two_kinds(list(codes.T)))
    before = cover.sums(inner)
    loss = [int(np.abs(found.published - before).sum()) for found in (plain, better)]
    assert loss[1] < loss[0]
    for found in (plain, better):
        assert not ((found.published > 0) & (found.published < 3)).any()
        assert abs(int(found.inner.sum() - inner.sum())) <= 1


def test_exchanges_find_the_least_deviation_of_a_small_table():
    codes = np.array([[a + 1, b + 1] for a in range(4) for b in range(3)], np.int32)
    cover = cover_of(codes, {"a": ds.Hierarchy.flat(list("1234")), "b": ds.Hierarchy.flat(list("123"))})
    inner = np.array([1, 2, 1, 2, 1, 2, 1, 1, 2, 2, 2, 1])
    before = cover.sums(inner)
    rises = round(inner.sum() / 3)
    best = min(
        int(np.abs(cover.sums(np.where(np.isin(np.arange(12), chosen), 3, 0)) - before).sum())
        for chosen in combinations(range(12), rises)
    )
    found = rounded_small_counts(inner, cover, drawn(5, 12), derivable=False)
    assert int(np.abs(found.published - before).sum()) == best


def test_small_inner_cells_that_nothing_published_contains_are_rounded_as_well():
    """The second and the fourth cell lie in no published cell: only the draws of the greedy steps decide on them."""
    cover = Cover(pointers(np.array([1, 0, 1, 0])), np.array([0, 0], np.int32), 1, [np.arange(1)], [np.arange(1)])
    found = rounded_small_counts(np.array([2, 1, 7, 2]), cover, drawn(2, 4), every_small=True)
    assert np.isin(found.inner[[0, 1, 3]], [0, 3]).all()
    assert found.published.tolist() == [found.inner[0] + 7]


def test_the_order_of_inner_and_of_published_cells_is_nothing():
    rng = np.random.default_rng(12)
    by = {"a": ds.Hierarchy.flat([str(i) for i in range(12)]), "b": ds.Hierarchy.flat([str(i) for i in range(9)])}
    codes = np.array([[a + 1, b + 1] for a in range(12) for b in range(9)], np.int32)
    inner, draw, cover = rng.poisson(1.2, len(codes)), drawn(6, len(codes)), cover_of(codes, by)
    order, names = rng.permutation(len(codes)), rng.permutation(cover.size).astype(np.int32)
    lengths = np.diff(cover.start)
    cells = [rng.permutation(names[cover.published[cover.start[i] : cover.start[i + 1]]]) for i in order]
    other = Cover(pointers(lengths[order]), np.concatenate(cells), cover.size, cover.place, cover.cells)
    marks = [mixed_marks(codes[:, k]) for k in range(2)]
    for groups in ((), marks, two_kinds(marks)):
        one = rounded_small_counts(inner, cover, draw, groups=groups)
        two = rounded_small_counts(inner[order], other, draw[order], groups=[group[order] for group in groups])
        assert one.inner[order].tolist() == two.inner.tolist()


def test_a_published_cell_beside_a_small_inner_cell_that_stays_is_never_left_small():
    """The 2 in the second row lies below no small published cell, so that it stays: the row may not lose the others."""
    codes = np.array([[a + 1, b + 1] for a in range(8) for b in range(6)], np.int32)
    by = {"a": ds.Hierarchy.flat(list("12345678")), "b": ds.Hierarchy.flat(list("123456"))}
    cover = cover_of(codes, by, [["a"], ["b"]])
    seen = 0
    for seed in range(60):
        inner = np.random.default_rng(seed).poisson(0.5, len(codes))
        found = rounded_small_counts(inner, cover, drawn(seed, len(codes)), derivable=False)
        seen += int(((found.inner > 0) & (found.inner < 3)).any() and (found.inner != inner).any())
        assert not ((found.published > 0) & (found.published < 3)).any()
        assert (found.published == cover.sums(found.inner)).all()
    assert seen > 20


@pytest.mark.parametrize(
    ("inner", "options", "words"),
    [
        (np.full(18, -1), {}, "below zero"),
        (np.ones(17, np.int64), {}, "18 inner cells need"),
        (np.ones(18), {}, "whole numbers"),
    ],
)
def test_bad_counts_are_refused(inner, options, words):
    with pytest.raises(InputError, match=words):
        rounded_small_counts(inner, COVER, drawn(1), **options)


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="base=1"):
        rounded_small_counts(np.ones(18, np.int64), COVER, drawn(1), base=1)
    with pytest.raises(ParameterError, match="needs variables"):
        cover_of(CODES, BY, [["party", "income"]])
