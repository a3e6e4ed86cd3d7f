"""Local suppression: every combination occurs often enough, nothing else changed, and it costs little."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ParameterError, ProtectionError
from discreet.records import local_suppress as module
from discreet.records.blank_cells import BlankPrices, LargeEnough, cells_of, least_costs
from discreet.records.blank_families import family_blanked
from discreet.records.blank_strict import Blanked, strictly_blanked


def emptied(codes: np.ndarray, k: int, weight: list[float] | None = None) -> tuple[np.ndarray, float]:
    prices = BlankPrices.equal(codes, weight or [1.0] * codes.shape[1])
    made = strictly_blanked(codes, prices, LargeEnough.of(k))
    return np.where(made.blank, 0, codes), made.least


def rarest(rows: np.ndarray) -> int:
    return min(Counter(map(tuple, rows.tolist())).values())


def cost(before: np.ndarray, after: np.ndarray, weight: list[float]) -> float:
    return float((((after == 0) & (before != 0)).sum(axis=0) * np.array(weight)).sum())


def cheapest(codes: np.ndarray, k: int, weight: list[float]) -> float:
    """The least that it costs, by trying everything."""
    columns = codes.shape[1]
    shown = [np.array(bits, bool) for bits in product([True, False], repeat=columns)]
    best = float("inf")
    for choice in product(shown, repeat=len(codes)):
        after = np.where(np.array(choice), codes, 0)
        if rarest(after) >= k:
            best = min(best, cost(codes, after, weight))
    return best


FILES = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 4), min_size=columns, max_size=columns), min_size=4, max_size=40)
)


@settings(max_examples=150, deadline=None)
@given(FILES, st.integers(2, 4), st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4))
def test_every_row_that_is_left_occurs_often_enough(rows, k, weights):
    codes = np.array(rows, np.int64)
    weight = weights[: codes.shape[1]]
    after, least = emptied(codes, k, weight)
    assert rarest(after) >= k
    assert np.all((after == codes) | (after == 0))
    assert least <= cost(codes, after, weight) + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=6), st.integers(2, 3))
def test_small_files_cost_at_most_half_more_than_the_cheapest_way_and_the_bound_holds(rows, k):
    codes = np.array(rows, np.int64)
    best = cheapest(codes, k, [1.0, 1.0])
    after, least = emptied(codes, k)
    assert least <= best + 1e-9
    assert cost(codes, after, [1.0, 1.0]) <= 1.5 * best + 2


@settings(max_examples=60, deadline=None)
@given(FILES, st.integers(2, 3))
def test_combinations_of_two_keys_are_protected_and_never_dearer_than_all_keys(rows, k):
    codes = np.array(rows, np.int64)
    columns = codes.shape[1]
    if columns < 3:
        return
    tables = [(chosen, k) for chosen in combinations(range(columns), 2)]
    made = family_blanked(codes, tables, BlankPrices.equal(codes, [1.0] * columns))
    blank, least = made.blank, made.least
    after = np.where(blank, 0, codes)
    for chosen in combinations(range(columns), 2):
        assert rarest(after[:, chosen]) >= k
    whole, _ = emptied(codes, k)
    assert least <= blank.sum() <= ((whole == 0) & (codes != 0)).sum()


def test_wide_keys_that_no_number_holds_are_told_apart():
    random = np.random.default_rng(5)
    codes = random.integers(1, 60_000, (200, 5)).astype(np.int64)
    codes[:, 4] = random.integers(1, 3, 200)
    after, _ = emptied(codes, 3)
    assert rarest(after) >= 3
    assert (after[:, 4] != 0).all(), "the one key that groups people stays"


def test_importance_decides_what_is_emptied():
    codes = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], np.int64)
    assert (emptied(codes, 2, [1.0, 5.0])[0][:, 1] != 0).all()
    assert (emptied(codes, 2, [5.0, 1.0])[0][:, 0] != 0).all()


def test_what_is_left_alone_gets_company():
    """Three records must be blank where two of another kind are: one is taken from those who can spare it."""
    codes = np.array([[1, 1]] * 3 + [[2, 2]] * 2, np.int64)
    after, least = emptied(codes, 3)
    assert (rarest(after), least) == (5, 4)
    after, _ = emptied(np.array([[1, 1]] * 4 + [[2, 2]] * 2, np.int64), 3)
    assert sorted(Counter(map(tuple, after.tolist())).values()) == [3, 3]


def test_the_bound_counts_records_that_agree_in_what_is_left():
    codes = np.array([[1, 1, 1], [1, 1, 2], [1, 2, 3], [2, 2, 4]], np.int64)
    enough, prices = LargeEnough.of(2), BlankPrices.equal(codes, [1.0, 1.0, 1.0])
    cells, cell = cells_of(codes, prices, enough)
    assert least_costs(cells, enough)[cell].tolist() == [1, 1, 2, 2]
    assert emptied(codes, 2)[0][:2].tolist() == [[1, 1, 0], [1, 1, 0]]


# ---- the method ---------------------------------------------------------------------------------------------------


def people(rows: int = 400, seed: int = 1) -> ds.Microdata:
    random = np.random.default_rng(seed)
    frame = pa.table(
        {
            "age": pa.array(random.integers(15, 90, rows)),
            "sex": random.choice(["f", "m"], rows),
            "area": pa.array([None if v == "?" else str(v) for v in random.choice(list("abcde?"), rows)]),
            "income": random.integers(0, 10**6, rows),
        }
    )
    return ds.Microdata(frame, keys=["age", "sex", "area"], numeric="income")


@pytest.mark.parametrize("size", [None, 2])
def test_a_release_is_verified_saved_loaded_and_replayed(tmp_path, size):
    release = ds.protect(people(), ds.LocalSuppress(3, size=size), rules=ds.KAnonymity(3, size=size))
    verdict = release.verify()
    assert verdict.holds, verdict
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    again = ds.replay(ds.load(tmp_path / "out"))
    assert again.public.records.columns.equals(release.public.records.columns)
    statement = release.custodian.evidence[0].claim.statement
    assert "Fields were emptied in" in statement
    assert "then occurred at least 3 times" in statement


def test_nothing_is_emptied_where_nobody_stands_out():
    frame = pa.table({"sex": ["f", "m"] * 5})
    release = ds.protect(ds.Microdata(frame, keys="sex"), ds.LocalSuppress(3), rules=ds.KAnonymity(3))
    assert release.verify().holds
    assert "No field had to be emptied" in release.summary()
    assert "Nothing had to be emptied." in release.summary()


def test_recoding_first_empties_fewer_fields():
    plain = ds.protect(people(), ds.LocalSuppress(3))
    coarser = ds.protect(people(), [ds.Recode("age", intervals=[30, 60]), ds.LocalSuppress(3)])
    number = [release.custodian.evidence[-1].facts["cost"] for release in (plain, coarser)]
    assert number[1] < number[0] / 4
    assert coarser.verify().holds


def test_a_recipe_does_the_same(tmp_path):
    import pyarrow.csv as csv

    csv.write_csv(people().source, tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(
        """version = 1
[data]
file = "people.csv"
keys = ["age", "sex", "area"]
numeric = ["income"]
[records]
name = "people"
[[rules]]
kind = "k_anonymity"
k = 3
[[protect]]
method = "local_suppress"
k = 3
importance = { age = 2 }
[output]
directory = "out"
"""
    )
    done = ds.run_recipe(tmp_path / "job.toml")
    assert done.release.verify().holds
    assert "units of importance" in done.release.summary()


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        (lambda: ds.LocalSuppress(1), ParameterError, "k"),
        (lambda: ds.LocalSuppress(3, importance={"age": 0}), ParameterError, "importance"),
        (
            lambda: ds.LocalSuppress(3, importance={"agee": 2}),
            ParameterError,
            "no key 'agee' in importance=. Did you mean 'age'",
        ),
        (lambda: ds.LocalSuppress(3, keys=["agee"]), ParameterError, "no column 'agee'"),
        (
            lambda: ds.LocalSuppress(1000),
            ProtectionError,
            "Every combination of keys is to occur 1000 times, in 400 records",
        ),
    ],
)
def test_what_cannot_be_done_is_said(method, error, message):
    with pytest.raises(error, match=message):
        ds.protect(people(), method())


def test_what_is_left_is_counted_again(monkeypatch):
    nothing = lambda codes, *_: Blanked(np.zeros(codes.shape, bool), 0.0)  # noqa: E731
    monkeypatch.setattr(module, "strictly_blanked", nothing)
    with pytest.raises(ProtectionError, match="still occurs too rarely"):
        ds.protect(people(), ds.LocalSuppress(3))


def test_records_without_keys_need_some():
    frame = pa.table({"sex": ["f", "m"] * 5})
    with pytest.raises(ds.DiscreetError, match="needs to know by which columns"):
        ds.protect(ds.Microdata(frame), ds.LocalSuppress(3))


def test_many_keys_need_a_size():
    frame = pa.table({f"k{n}": ["a", "b"] * 5 for n in range(13)})
    data = ds.Microdata(frame, keys=[f"k{n}" for n in range(13)])
    with pytest.raises(ParameterError, match="13 keys have 8,192 sets of columns to empty"):
        ds.protect(data, ds.LocalSuppress(3))
    assert ds.protect(data, ds.LocalSuppress(3, size=2), rules=ds.KAnonymity(3, size=2)).verify().holds
