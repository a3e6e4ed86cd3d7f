"""Cell keys for counts: same records, same change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_keys import check_record_keys, record_keys
from discreet.errors import InputError, ParameterError
from discreet.measures.loss import cumulative, information_loss
from discreet.model.noise_table import FRACTIONS
from discreet.tables.perturb.cell_key import cell_keys, perturbed_counts, perturbed_means, perturbed_weighted_counts

KEY = bytes(range(32))
TABLE = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)


def slow_change(count: int, key: int, table: ds.NoiseTable) -> int:
    """The change by looking through the row from its beginning."""
    row = table.row(count)
    upper = np.rint(np.cumsum(row.probability) * table.modulus)
    return int(row.change[np.flatnonzero(key < upper)[0]])


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, FRACTIONS - 1)), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_the_change_is_that_of_the_table(cells):
    count, key = np.array(cells, np.int64).T
    found = perturbed_counts(count, key, TABLE)
    assert found.change.tolist() == [slow_change(c, k, TABLE) for c, k in cells]
    assert (found.value[count == 0] == 0).all()
    assert not np.isin(found.value, [1, 2]).any()
    assert (found.value >= 0).all()
    assert (np.abs(found.change) <= 5).all()


def test_whole_keys_are_taken_modulo_the_table_and_results_below_a_threshold_become_zero():
    table = TABLE.quantised(256)
    sums = np.array([255, 256, 300, 4096 + 17])
    keys = cell_keys(sums, 0, table)
    assert keys.tolist() == [255, 0, 44, 17]
    count = np.array([9, 9, 12, 30])
    plain = perturbed_counts(count, keys, table)
    cut = perturbed_counts(count, keys, table, threshold=10)
    assert cut.value.tolist() == [v if v >= 10 else 0 for v in plain.value.tolist()]
    with pytest.raises(ParameterError, match="Whole record keys need"):
        cell_keys(sums, 0, TABLE)
    assert cell_keys(np.array([FRACTIONS - 1, 0]), FRACTIONS, table).tolist() == [255, 0]


def test_row_8_has_the_mean_and_variance_it_promises():
    """Card 004, check 3: 10^5 draws."""
    keys = np.rint(np.asarray(record_keys(np.arange(100_000), KEY)) * FRACTIONS).astype(np.int64) % FRACTIONS
    change = perturbed_counts(np.full(100_000, 8), keys, TABLE).change
    assert abs(change.mean()) < 0.02
    assert abs(change.var() - 3) < 0.05


def population(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(5)
    ids = [f"p{i}" for i in range(n)]
    return pa.table(
        {
            "id": ids,
            "area": rng.choice(["a", "b", "c"], n).tolist(),
            "sex": rng.choice(["m", "f"], n).tolist(),
            "rkey": record_keys(ids, KEY),
        }
    )


def counted(data: pa.Table, *variables: str) -> ds.Table:
    codes = {"area": ["a", "b", "c"], "sex": ["m", "f"]}
    by = {name: ds.Hierarchy.flat(codes[name]) for name in variables}
    table = ds.tabulate(data, by=by, record_key="rkey")
    assert isinstance(table, ds.Table)
    return table


def test_the_same_records_get_the_same_change_in_two_tables():
    data = population()
    crossed, single = (
        counted(data, "area", "sex"),
        counted(data.take(np.random.default_rng(1).permutation(400)), "area"),
    )
    changes = []
    for table in (crossed, single):
        found = perturbed_counts(table.value, cell_keys(table.key_sum, table.key_modulus, TABLE), TABLE)
        changes.append(found.change)
    totals = np.flatnonzero(crossed.codes[:, 1] == 0)
    assert changes[0][totals].tolist() == changes[1].tolist()


def test_a_new_delivery_keeps_the_keys_and_a_new_version_draws_others():
    before = record_keys(["a", "b", "c"], KEY)
    after = record_keys(["new", "c", "b", "a"], KEY)
    assert before.tolist() == after[[3, 2, 1]].tolist()
    assert not set(before) & set(record_keys(["a", "b", "c"], KEY, version=2))
    whole = record_keys(np.arange(10_000), KEY, modulus=256)
    assert whole.min() == 0
    assert whole.max() == 255
    check_record_keys(whole, 256)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", None], "1 record has no identifier"),
        (["a", "b", "a"], "1 record has the identifier of another"),
        ([1, 2, 2], "identifier of another"),
    ],
)
def test_bad_identifiers_are_refused(ids, words):
    with pytest.raises(InputError, match=words):
        record_keys(ids, KEY)


@pytest.mark.parametrize(
    ("keys", "modulus", "words"),
    [
        ([0.5, np.nan], None, "missing"),
        ([0.5, 1.0], None, "fractions"),
        ([-0.1], None, "fractions"),
        (np.repeat([0.25, 0.5, 0.75], 20), None, "occur more than once"),
        ([3, 256], 256, "0 .. 255"),
        (np.arange(100_000) % 128, 256, "not spread evenly"),
        (["a"], None, "must be numbers"),
    ],
)
def test_bad_record_keys_are_refused(keys, modulus, words):
    with pytest.raises(InputError, match=words):
        check_record_keys(keys, modulus)


def test_a_number_is_no_key():
    with pytest.raises(ParameterError, match="no secret"):
        record_keys([1, 2], 42)  # type: ignore[arg-type]


def test_weighted_counts_are_the_perturbed_number_times_the_mean_weight():
    count, weighted = np.array([4, 10, 0]), np.array([1001, 2500, 0])
    keys = np.array([FRACTIONS // 2, FRACTIONS - 1, 3])
    value, found = perturbed_weighted_counts(count, weighted, keys, TABLE)
    exact = [round((c + v) * w / max(c, 1) + 1e-9) for c, v, w in zip(count, found.change, weighted, strict=True)]
    assert value.tolist() == exact
    with pytest.raises(InputError, match="Weights must be positive"):
        perturbed_weighted_counts(np.array([1]), np.array([0]), np.array([0]), TABLE)


def test_counts_and_keys_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="below zero"):
        perturbed_counts(np.array([-1]), np.array([0]), TABLE)
    with pytest.raises(InputError, match="Cell keys must lie"):
        perturbed_counts(np.array([1]), np.array([FRACTIONS]), TABLE)
    with pytest.raises(InputError, match="1 count and 2 cell keys"):
        perturbed_counts(np.array([1]), np.array([1, 2]), TABLE)
    with pytest.raises(ParameterError, match="whole changes"):
        perturbed_counts(np.array([1]), np.array([1]), ds.NoiseTable.maximum_entropy(D=2, V=1, step=2))


def test_means_divide_what_is_published():
    means = perturbed_means(np.array([10.0, 5.0]), np.array([4.0, 0.0]))
    assert means[0] == 2.5
    assert np.isnan(means[1])


def test_the_loss_counts_what_changed():
    loss = information_loss(np.array([1, 5, 0, 9]), np.array([0, 5, 0, 4]))
    assert (loss.cells, loss.changed, loss.false_zeros, loss.false_positives) == (3, 2, 1, 0)
    assert loss.absolute.mean == 2
    assert loss.relative.largest == 1
    values, shares = cumulative(np.array([0.0, 1.0, 1.0, 5.0]))
    assert values.tolist() == [0, 1, 5]
    assert shares.tolist() == [0.25, 0.75, 1]


def test_keys_with_few_digits_may_be_equal_as_often_as_chance_makes_them():
    rng = np.random.default_rng(1)
    check_record_keys(rng.random(200_000).round(8))
    with pytest.raises(InputError, match="more than once"):
        check_record_keys(rng.random(2_000).round(3))
    with pytest.raises(InputError, match="more than once"):
        check_record_keys(np.repeat(rng.random(100_000), 2))


def test_many_cells_get_the_changes_that_few_cells_get():
    """Small noise tables are written out for many cells; a few cells are looked up in the intervals."""
    noise = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2).quantised(256)
    rng = np.random.default_rng(3)
    size = 4 * len(noise) * 256
    count, key = rng.integers(0, 12, size), rng.integers(0, 256, size)
    together = perturbed_counts(count, key, noise).change
    apart = [perturbed_counts(count[k : k + 500], key[k : k + 500], noise).change for k in range(0, size, 500)]
    assert together.tolist() == np.concatenate(apart).tolist()


def test_whole_record_keys_of_narrow_types_may_not_be_negative():
    area = ds.Hierarchy.flat(["N"])
    for kind in (np.int8, np.int16, np.int32, np.int64):
        people = pa.table({"area": ["N"] * 3, "key": np.array([1, -1, 2], kind)})
        with pytest.raises(InputError, match="key"):
            ds.tabulate(ds.Microdata(people, record_key="key"), by={"area": area})
