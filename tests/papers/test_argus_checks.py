"""Card 003-28: checks 4, 5, 7 and 8 as the card states them, by attackers, sums and lists of this file alone."""

from __future__ import annotations

from itertools import product
from math import lcm

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet as ds
from discreet.measures import household_risk, individual_risk
from discreet.model.public import in_rows_of
from tests.tables.rounding.making import table

ALGORITHMS = ("certified", "optimal", "gauss", "hypercube", "modular", "network")

# ---- check 4: individual risk --------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 1_000), st.integers(1, 1_000))
@settings(max_examples=300, deadline=None)
def test_risk_falls_with_the_sum_of_weights_and_is_one_over_the_count_at_the_count(
    f: int, more: int, most: int
) -> None:
    at, next_to, beyond = individual_risk([f] * 3, [f, f + more, f + more + most])
    assert at == pytest.approx(1 / f, rel=1e-12)
    assert at > next_to > beyond > 0


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30))
@settings(max_examples=300, deadline=None)
def test_the_risk_of_a_group_is_at_least_that_of_each_member(records: list[tuple[float, int]]) -> None:
    risks, groups = zip(*records, strict=True)
    found = household_risk(np.array(risks), groups).tolist()
    for own, group, whole in zip(risks, groups, found, strict=True):
        others = [risk for risk, one in records if one == group]
        assert max(others) - 1e-12 <= whole <= min(1.0, sum(others)) + 1e-12
        assert whole >= own - 1e-12


# ---- check 5: microaggregation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["mdav", "mdav_pairs"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_groups_have_k_to_2k_less_1_members_and_means_stay_exactly(algorithm: str, k: int) -> None:
    """Values are multiples of every possible size of a group, so that means of groups are whole numbers."""
    unit = lcm(*range(k, 2 * k))
    for seed in range(8):
        draw = np.random.default_rng(seed)
        rows = int(draw.integers(2 * k, 90))
        columns = {name: (unit * draw.integers(0, 500, rows)).tolist() for name in ("sales", "staff", "rent")}
        data = ds.Microdata(pa.table(columns), numeric=list(columns))
        release = ds.protect(data, ds.Microaggregate(k=k, algorithm=algorithm, decimals=0), keep_order=True)
        shown = release.public.records.shown()
        assert {name: sum(shown[name]) for name in columns} == {name: sum(columns[name]) for name in columns}
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, means in enumerate(zip(*(shown[name] for name in columns), strict=True)):
            groups.setdefault(means, []).append(row)
        for means, members in groups.items():
            assert k <= len(members) <= 2 * k - 1
            for name, mean in zip(columns, means, strict=True):
                assert sum(columns[name][row] for row in members) == mean * len(members)


# ---- check 7: secondary suppression ------------------------------------------------------------------------------


def firms(seed: int) -> ds.Table:
    """Turnover of firms by branch, of which some stand under others, and region."""
    draw = np.random.default_rng(seed)
    tree = ds.Hierarchy.from_nested({"A": ["A1", "A2", "A3"], "B": ["B1", "B2"], "C": None})
    branches, regions = ["A1", "A2", "A3", "B1", "B2", "C"], ["N", "E", "S", "W"]
    rows = 90
    frame = pa.table(
        {
            "branch": draw.choice(branches, rows),
            "region": draw.choice(regions, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "turnover": np.ceil(draw.lognormal(4, 1.2, rows)).astype(np.int64),
        }
    )
    by = {"branch": tree, "region": ds.Hierarchy.flat(regions)}
    found = ds.tabulate(frame, by=by, value="turnover")
    return found.assess(ds.PPercent(15), ds.MinFrequency(3, 30))


BELOW = {"A": ["A1", "A2", "A3"], "B": ["B1", "B2"], "Total": ["A1", "A2", "A3", "B1", "B2", "C"]}
ACROSS = {"Total": ["N", "E", "S", "W"]}


def intervals(release: ds.Release) -> dict[int, tuple[float, float]]:
    """The least and the most that each withheld cell can be, by linear programs over the finest cells alone."""
    (given_table,) = release.custodian.tables.tables
    shown = in_rows_of(given_table, release.public.tables[0])
    finest = list(product(BELOW["Total"], ACROSS["Total"]))
    sums = []
    for row in range(len(given_table)):
        branch, region = given_table.spec_codes(given_table.codes[row].tolist())
        rows, columns = BELOW.get(branch, [branch]), ACROSS.get(region, [region])
        sums.append([float(one in rows and two in columns) for one, two in finest])
    whole, value, open_ = np.array(sums), np.asarray(shown.value, float), np.asarray(shown.shown, bool)
    found = {}
    for row in np.flatnonzero(~open_):
        ends = []
        for sign in (1, -1):
            done = linprog(sign * whole[row], A_eq=whole[open_], b_eq=value[open_], bounds=(0, None), method="highs")
            ends.append(sign * done.fun if done.status == 0 else np.inf)
        found[int(row)] = (ends[0], ends[1])
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_intervals_of_every_secondary_method_cover_the_levels(algorithm: str) -> None:
    """All relations of the whole table are the attacker's: patterns of engines are completed until they hold."""
    hidden = 0
    for seed in range(3):
        assessed = firms(seed)
        completed = {} if algorithm in ("certified", "optimal") else {"repair": True}
        release = ds.protect(assessed, ds.Suppress(algorithm=algorithm, **completed))  # type: ignore[arg-type]
        found = intervals(release)
        levels = assessed.assessment
        for row in np.flatnonzero(levels.unsafe).tolist():
            low, high = found[row]
            value = int(assessed.value[row])
            assert value - low >= min(int(levels.lower[row]), value) - 1e-6
            assert high - value >= int(levels.upper[row]) - 1e-6
        hidden += len(found) - int(levels.unsafe.sum())
        assert levels.unsafe.any()
    assert hidden > 0


# ---- check 8: controlled rounding ------------------------------------------------------------------------------


def sums_of(inner: np.ndarray) -> np.ndarray:
    """A table with all its totals, which stand first."""
    for axis in range(inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return inner


def zero_restricted_is_possible(inner: np.ndarray, base: int) -> bool:
    """Whether some rounding of all cells to neighbours adds up: by trying all of the inner cells."""
    exact = sums_of(inner)
    floors = exact // base * base
    ceilings = np.where(exact % base == 0, floors, floors + base)
    choices = [sorted({int(low), int(high)}) for low, high in zip(*(cell_ends(inner, base)), strict=True)]
    for one in product(*choices):
        made = sums_of(np.array(one).reshape(inner.shape))
        if (made >= floors).all() and (made <= ceilings).all():
            return True
    return False


def cell_ends(inner: np.ndarray, base: int) -> tuple[list[int], list[int]]:
    flat = inner.ravel()
    low = flat // base * base
    return low.tolist(), np.where(flat % base == 0, low, low + base).tolist()


def rounded(inner: np.ndarray, base: int) -> tuple[np.ndarray, int]:
    """What is published of a table with its totals, and by how many multiples a cell went beyond its neighbours."""
    release = ds.protect(table(inner).assess(), ds.Round(base))
    public = in_rows_of(release.custodian.tables.tables[0], release.public.tables[0])
    made = np.zeros([n + 1 for n in inner.shape], np.int64)
    made[tuple(public.codes.T)] = public.value
    return made, int(release.custodian.evidence[0].facts["worst_violation"])


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
def test_rounding_is_additive_in_multiples_and_goes_to_neighbours_whenever_it_can(shape: tuple[int, ...]) -> None:
    for seed in range(25):
        draw = np.random.default_rng(seed)
        base = int(draw.choice([2, 3, 5]))
        inner = draw.integers(0, 9, shape)
        made, violation = rounded(inner, base)
        assert (made % base == 0).all()
        assert (made == sums_of(made[tuple(slice(1, None) for _ in shape)])).all()
        beyond = np.abs(made - sums_of(inner)).max() >= base
        assert beyond == (violation > 0)
        assert beyond != zero_restricted_is_possible(inner, base)


@pytest.mark.parametrize(
    "inner",
    [
        [[[1, 0], [0, 1]], [[0, 1], [1, 0]]],  # the smallest one of the card on near-feasible rounding
        [[[5, 5], [4, 5]], [[0, 4], [5, 1]]],
        [[[3, 2], [2, 5]], [[2, 1], [5, 0]]],
        [[[5, 1], [1, 2]], [[5, 0], [1, 3]]],
    ],
)
def test_what_cannot_be_rounded_to_neighbours_adds_up_and_goes_one_multiple_beyond(inner: list) -> None:
    given = np.array(inner)
    assert not zero_restricted_is_possible(given, 2)
    made, violation = rounded(given, 2)
    assert violation == 1
    assert (made == sums_of(made[1:, 1:, 1:])).all()
    assert (made % 2 == 0).all()
