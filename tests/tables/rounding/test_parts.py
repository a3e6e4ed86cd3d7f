"""Very large tables are rounded in parts; here the limits are lowered so that small ones are."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import discreet as ds
from discreet.errors import Cancelled
from discreet.progress import reporting
from discreet.relations import build_system
from discreet.relations.interior import interior
from discreet.tables.rounding import controlled, method, parts
from discreet.tables.rounding import families as cutting

from .making import table


@pytest.fixture
def small(monkeypatch):
    """Tables of more than 500 cells count as very large, lines of 6 cells as long, and programs are for 300 cells."""
    monkeypatch.setattr(controlled, "PROGRAM_UP_TO", 300)
    monkeypatch.setattr(method, "LARGE", 500)
    monkeypatch.setattr(method, "PART", 400)
    monkeypatch.setattr(cutting, "SHORTEST", 6)
    called = []
    for name in ("round_blocks", "round_families"):
        original = getattr(parts, name)

        def told(*given, original=original, name=name, **more):
            found = original(*given, **more)
            if found is not None:
                called.append(name)
            return found

        monkeypatch.setattr(method, name, told)
    return called


def counts(shape, seed=1, hierarchies=()):
    random = np.random.default_rng(seed)
    inner = np.where(random.random(shape) < 0.7, random.integers(1, 12, shape), 0)
    return table(inner, counts=True, hierarchies=hierarchies).assess()


def tree(leaves: int, each: int) -> ds.Hierarchy:
    parents = {f"c{i}": f"p{i // each}" for i in range(leaves)}
    return ds.Hierarchy.from_parents(parents | {f"p{i}": "Total" for i in range(leaves // each)}, total="Total")


def facts(release):
    return release.custodian.evidence[0].facts


def rounded(given, **options):
    return ds.protect(given, ds.Round(3, levels=False, **options))


@pytest.mark.parametrize("objective", ["nearest", "total", "none"])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_families_of_codes_are_rounded_under_rounded_sums(small, objective, hierarchical):
    trees = (ds.Hierarchy.flat(["a", "b", "c"]), ds.Hierarchy.flat(["d", "e", "f", "g"]), tree(96, 4))
    given = counts((3, 4, 96), hierarchies=trees if hierarchical else ())
    release = rounded(given, objective=objective)
    assert small == ["round_families"]
    assert release.verify().holds
    assert facts(release)["worst_violation"] <= 1
    published = release.public.tables[0].value
    assert np.array_equal(published % 3, np.zeros(len(published)))
    assert facts(release)["objective"] >= facts(release)["least_objective"]


def test_parts_do_not_depend_on_the_number_of_threads(small):
    given = counts((4, 5, 80))
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            found.append(rounded(given).public.tables[0].value)
    finally:
        numba.set_num_threads(before)
    assert small == ["round_families", "round_families"]
    assert np.array_equal(*found)


def test_parts_come_near_what_the_whole_table_gives(small, monkeypatch):
    given = counts((4, 5, 120), seed=3)
    in_parts = facts(rounded(given))
    monkeypatch.setattr(method, "LARGE", 10**9)
    monkeypatch.setattr(controlled, "PROGRAM_UP_TO", 6_000)
    whole = facts(rounded(given))
    assert small == ["round_families"]
    assert in_parts["worst_violation"] <= whole["worst_violation"] + 1
    assert in_parts["objective"] <= 0.8 * whole["objective"] < 0


def test_random_roundings_in_parts_have_no_bias_in_the_grand_total(small):
    given = counts((3, 4, 60), seed=5)
    totals = np.array(
        [
            rounded(given, objective="random", insecure_seed=seed, effort=0).public.tables[0].value[:1]
            for seed in range(40)
        ]
    )
    assert set(small) == {"round_families"}
    assert abs(totals.mean() - given.value[0]) < 3
    assert len(np.unique(totals)) > 1


def test_unsafe_cells_keep_their_levels_in_parts(small):
    given = counts((3, 4, 60), seed=6).assess(ds.MinFrequency(3))
    release = ds.protect(given, ds.Round(5))
    assert small == ["round_families"]
    assert release.verify().holds


def test_independent_blocks_are_rounded_each_for_itself(small):
    one, given = counts((6, 6, 8), seed=7), counts((5, 6, 8), seed=8)
    by = dict(zip(given.variables, given.spec.hierarchies, strict=True))
    other = ds.Table.from_cells(given.to_frame(), by=by, counts=True, name="u", period="another").assess()
    release = rounded(ds.TableSet([one, other]))
    assert small == ["round_blocks"]
    assert release.verify().holds
    alone = [rounded(t) for t in (one, other)]
    assert facts(release)["worst_violation"] == max(facts(r)["worst_violation"] for r in alone)
    assert facts(release)["least_violation"] == max(facts(r)["least_violation"] for r in alone)


def test_independent_blocks_are_shared_out_with_the_same_rounding(small):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed (discreet[jobs])")
    one, given = counts((6, 6, 8), seed=7), counts((5, 6, 8), seed=8)
    by = dict(zip(given.variables, given.spec.hierarchies, strict=True))
    other = ds.Table.from_cells(given.to_frame(), by=by, counts=True, name="u", period="another").assess()
    seen = []
    with reporting(lambda step: seen.append((step.stage, step.total))):
        alone = rounded(ds.TableSet([one, other]))
        with joblib.parallel_config(backend="threading"):
            shared = ds.protect(ds.TableSet([one, other]), ds.Round(3, levels=False), jobs=2)
    assert small == ["round_blocks", "round_blocks"]
    assert ("round parts", 2) in seen
    assert facts(shared) == facts(alone)
    for mine, theirs in zip(alone.public.tables, shared.public.tables, strict=True):
        assert np.array_equal(mine.value, theirs.value)


@pytest.mark.parametrize("limit", [{"effort": 0}, {"time_limit": 0}, {"time_limit": 60}])
def test_limits_of_parts_are_replayed(small, limit):
    one, given = counts((6, 6, 8), seed=7), counts((5, 6, 8), seed=8)
    by = dict(zip(given.variables, given.spec.hierarchies, strict=True))
    other = ds.Table.from_cells(given.to_frame(), by=by, counts=True, name="u", period="another").assess()
    for tables in (ds.TableSet([one, other]), counts((3, 4, 60), seed=9)):
        done = rounded(tables, **limit)
        assert done.verify().holds
        again = done.replay()
        for table_, same in zip(done.public.tables, again.public.tables, strict=True):
            assert np.array_equal(table_.value, same.value)
    assert small == ["round_blocks", "round_blocks", "round_families", "round_families"]


def test_progress_of_parts_goes_forward_and_can_be_stopped(small):
    seen: dict[str, list[int]] = {}

    def listen(step):
        seen.setdefault(step.stage, []).append(step.done)

    with reporting(listen):
        rounded(counts((4, 5, 80)))
    assert len(seen["round parts"]) > 1
    assert all(done == sorted(done) for done in seen.values())

    def stop(step):
        if step.stage == "round parts":
            raise Cancelled

    with reporting(stop), pytest.raises(Cancelled):
        rounded(counts((4, 5, 80)))


def test_families_hold_neighbours_under_one_parent():
    given = tree(40, 4)
    number = np.where(given.base, 10, 0)
    family = cutting.families(given, number, 80)
    sizes = np.bincount(family[family >= 0])
    assert sizes.tolist() == [8, 8, 8, 8, 8]
    assert np.all(family[~given.base] == -1)
    for code in np.flatnonzero(given.base):
        siblings = np.flatnonzero(given.parents == given.parents[code])
        assert len(np.unique(family[siblings])) == 1


def test_sums_across_families_leave_a_table_whole(small):
    flat = ds.Hierarchy.flat([f"c{i}" for i in range(100)])
    across = flat.with_grouping("odd", [f"c{i}" for i in range(1, 100, 2)])
    trees = (ds.Hierarchy.flat(["a", "b", "c"]), ds.Hierarchy.flat(["d", "e"]), across)
    given = counts((3, 2, 100), hierarchies=trees)
    system = build_system(given)
    assert cutting.lines(system, interior(system), 200) is None
    release = rounded(given, effort=0)
    assert small == []
    assert release.verify().holds
