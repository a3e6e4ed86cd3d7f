"""Cell keys for magnitudes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.encode import read_records
from discreet.engine.magnifiers import magnifiers_of
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.model.noise_table import FRACTIONS
from discreet.tables.perturb.magnitudes import (
    NoiseTables,
    Scaling,
    interpolated,
    magnifying,
    perturbed_magnitudes,
    rotated,
)

TABLE = ds.NoiseTable.maximum_entropy(D=5, V=1, step=2, values=[1, 5])
SMALL = ds.NoiseTable.maximum_entropy(D=3, V=1, step=2, values=[1, 3])


def change_of(row: int, key: float, table: ds.NoiseTable) -> float:
    found = table.at(row)
    return float(found.change[np.flatnonzero(key < np.cumsum(found.probability))[0]])


def units(fraction: float) -> np.ndarray:
    return np.array([round(fraction * FRACTIONS)])


def test_the_flex_function_falls_from_the_small_to_the_large_share():
    scaling = Scaling(small=0.12, large=0.02, flex_point=1000, q=3)
    share = scaling.share(np.array([1.0, 999.0, 1000.0, 1e9]))
    assert share[:3] == pytest.approx([0.12, 0.12, 0.12])
    assert share[3] == pytest.approx(0.02, rel=1e-4)
    z = 3000.0
    by_hand = 0.02 * (1 + (0.12 * z - 0.02 * 1000) / (0.02 * 1000) * (2000 / (z + 1000)) ** 3)
    assert scaling.share(np.array([z]))[0] == pytest.approx(by_hand)


def test_the_separation_point_joins_fixed_and_proportional_noise():
    scaling = Scaling(small=0.1, epsilon=(0.5, 0.25), separation=True)
    last = SMALL.row(3)
    expected = np.sqrt(last.variance) / (0.1 * np.sqrt(1 + 0.25 + 0.0625))
    assert scaling.separation_point(SMALL) == pytest.approx(expected)


def test_rows_are_interpolated():
    key = units(0.3)
    between = interpolated(np.array([2.0]), key, TABLE)[0]
    assert between == pytest.approx(0.75 * change_of(1, 0.3, TABLE) + 0.25 * change_of(2, 0.3, TABLE))
    assert interpolated(np.array([99.0]), key, TABLE)[0] == change_of(2, 0.3, TABLE)
    assert interpolated(np.array([0.5]), key, TABLE)[0] == pytest.approx(0.5 * change_of(1, 0.3, TABLE))


def test_one_part_of_noise_by_hand():
    """x = 1000, largest 400, share 0.1: step 40; the key 0.123... is rotated to 0.231... first."""
    key = units(0.123123123123123)
    v = change_of(2, 0.231231231231231, TABLE)
    found = perturbed_magnitudes(
        np.array([1000.0]), np.array([[400.0]]), np.array([3]), key, NoiseTables.one(TABLE), Scaling(0.1)
    )
    assert found.change[0] == pytest.approx(40 * v)
    same = perturbed_magnitudes(
        np.array([1000.0]),
        np.array([[400.0]]),
        np.array([3]),
        key,
        NoiseTables.one(TABLE),
        Scaling(0.1),
        compatible="cellkey",
        same_key=True,
    )
    assert same.change[0] == pytest.approx(40 * change_of(2, 0.123123123123123, TABLE))


def test_the_two_public_implementations_differ_in_extra_noise():
    key = units(0.987654321098765)
    arguments = (np.array([1000.0]), np.array([[400.0, 300.0]]), np.array([3]), key, NoiseTables.one(TABLE))
    scaling = Scaling(0.1, epsilon=(0.5,))
    sensitive = np.array([True])
    first, second = (change_of(2, k, TABLE) for k in (0.876543210987659, 0.765432109876598))
    argus = perturbed_magnitudes(*arguments, scaling, sensitive=sensitive, extra=1)
    assert argus.steps[0] == pytest.approx([40 * np.sign(first) * (1 + abs(first)), 15 * second])
    cellkey = perturbed_magnitudes(*arguments, scaling, sensitive=sensitive, extra=1, compatible="cellkey")
    expected = [s * np.sign(v) * (1 + abs(v)) for v, s in ((first, 40), (second, 15))]
    assert cellkey.steps[0] == pytest.approx(expected)


def test_cell_key_weighs_contributions_from_the_flex_point_on_only():
    key = units(0.987654321098765)
    arguments = (np.array([1000.0]), np.array([[400.0, 300.0]]), np.array([3]), key, NoiseTables.one(TABLE))
    first, second = (change_of(2, k, TABLE) for k in (0.876543210987659, 0.765432109876598))
    for point, weight in ((300.0, 0.5), (301.0, 1.0)):
        scaling = Scaling(0.1, 0.1, point, q=1, epsilon=(0.5,))
        steps = 400 * scaling.share(np.array([400.0]))[0], 300 * scaling.share(np.array([300.0]))[0]
        argus = perturbed_magnitudes(*arguments, scaling)
        cellkey = perturbed_magnitudes(*arguments, scaling, compatible="cellkey")
        assert argus.steps[0] == pytest.approx([steps[0] * first, 0.5 * steps[1] * second])
        assert cellkey.steps[0] == pytest.approx([steps[0] * first, weight * steps[1] * second])


@pytest.mark.parametrize("compatible", ["argus", "cellkey"])
def test_rows_are_chosen_by_the_value_over_the_step(compatible):
    """A value of three steps lies half way between the rows of 1 and 5, however large the contribution is."""
    key = units(0.888888888888888)
    table = ds.NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}, 5: {-2: 0.5, 2: 0.5}})
    arguments = (np.array([120.0]), np.array([[400.0]]), np.array([3]), key, NoiseTables.one(table), Scaling(0.1))
    found = perturbed_magnitudes(*arguments, compatible=compatible)
    assert found.change[0] == pytest.approx(40 * 1.5)


def test_small_values_have_noise_of_a_fixed_size():
    scaling = Scaling(0.1, separation=True)
    found = perturbed_magnitudes(
        np.array([6.0]), np.array([[4.0]]), np.array([2]), units(0.05), NoiseTables.one(TABLE, SMALL), scaling
    )
    assert found.change[0] == pytest.approx(change_of(2, 0.5, SMALL))


def test_even_and_odd_numbers_of_contributors_use_their_own_tables():
    still = ds.NoiseTable.from_probabilities({1: {0: 1}, 5: {0: 1}}, step=2)
    tables = NoiseTables(even=still, odd=TABLE)
    value, top = np.array([1000.0, 1000.0]), np.array([[400.0], [400.0]])
    found = perturbed_magnitudes(value, top, np.array([2, 3]), np.repeat(units(0.01), 2), tables, Scaling(0.1))
    assert found.change[0] == 0
    assert found.change[1] != 0
    with pytest.raises(ParameterError, match="one part"):
        perturbed_magnitudes(
            value, np.ones((2, 2)), np.array([2, 3]), np.zeros(2, np.int64), tables, Scaling(0.1, epsilon=(0.5,))
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
            st.floats(0, 1).map(lambda x: round(x, 3)),
            st.integers(0, FRACTIONS - 1),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["argus", "cellkey"]),
    st.booleans(),
)
def test_no_value_changes_its_sign_and_zero_stays_zero(cells, compatible, separation):
    value = np.array([c[0] for c in cells])
    first = np.array([c[0] * c[1] for c in cells])
    magnifiers = np.stack([first, first / 3], axis=1)
    found = perturbed_magnitudes(
        value,
        magnifiers,
        np.full(len(cells), 4),
        np.array([c[2] for c in cells]),
        NoiseTables.one(TABLE, SMALL),
        Scaling(0.2, 0.05, 5000.0, epsilon=(0.5,), separation=separation),
        sensitive=np.array([c[3] for c in cells]),
        extra=1.5,
        compatible=compatible,
    )
    assert (np.sign(found.value) * np.sign(value) >= 0).all()
    assert (found.change[value == 0] == 0).all()
    assert found.value == pytest.approx(value + found.steps.sum(axis=1), abs=1e-6)


def test_rotation_comes_round_after_fifteen_digits():
    keys = np.array([1, FRACTIONS - 1, 123_456_789_012_345])
    assert rotated(keys, 15).tolist() == keys.tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"small": 0.0}, "small="),
        ({"small": 0.1, "large": 0.05}, "belong together"),
        ({"small": 0.1, "large": 0.2, "flex_point": 1.0}, "large="),
        ({"small": 0.1, "q": 0.5}, "q="),
        ({"small": 0.1, "epsilon": (2.0,)}, "epsilon="),
    ],
)
def test_bad_scalings_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        Scaling(**arguments)


def test_bad_values_are_refused():
    with pytest.raises(InputError, match="finite"):
        perturbed_magnitudes(
            np.array([np.nan]), np.ones((1, 1)), np.array([1]), np.array([0]), NoiseTables.one(TABLE), Scaling(0.1)
        )
    with pytest.raises(ParameterError, match="2 parts and 1 weights"):
        perturbed_magnitudes(
            np.array([1.0]), np.ones((1, 2)), np.array([1]), np.array([0]), NoiseTables.one(TABLE), Scaling(0.1)
        )


# ---- what the engine finds ---------------------------------------------------------------------------------------


def firms(rng: np.random.Generator, n: int) -> pa.Table:
    value = np.round(rng.lognormal(3, 1.5, n), 2) * rng.choice([1, 1, 1, -1, 0], n)
    return pa.table(
        {
            "a": rng.choice(["x", "y", "z"], n).tolist(),
            "b": rng.choice(["1", "2"], n).tolist(),
            "value": value,
            "w": rng.integers(1, 5, n),
            "rkey": rng.random(n),
        }
    )


BY = {
    "a": ds.Hierarchy.from_parents({"xy": "T", "x": "xy", "y": "xy", "z": "T"}, total="T"),
    "b": ds.Hierarchy.flat(["1", "2"]),
}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4), st.booleans(), st.booleans())
def test_magnifiers_are_those_of_the_records(seed, n, top, zeros, weighted):
    rng = np.random.default_rng(seed)
    data = firms(rng, n)
    spec = ds.TableSpec(by=BY, value="value", weight="w" if weighted else False)
    micro = ds.Microdata(data, weight="w", record_key="rkey")
    found = magnifiers_of(read_records(micro, [spec], "w" if weighted else None), spec, top, zeros=zeros)
    table = ds.tabulate(micro, specs=[spec]).tables[0]
    frame = data.to_pandas()
    frame["x"] = frame["value"] * (frame["w"] if weighted else 1)
    scale = 10**table.decimals
    assert len(found.total) == len(table.value)
    assert found.total.tolist() == table.value.tolist()
    for row, (a, b) in enumerate(table.codes):
        part = frame
        code = BY["a"].codes[a]
        part = part[part["a"].isin({"T": ["x", "y", "z"], "xy": ["x", "y"]}.get(code, [code]))]
        if b:
            part = part[part["b"] == BY["b"].codes[b]]
        nonzero = part[part["value"] != 0]
        assert found.contributors[row] == len(nonzero)
        ordered = sorted(nonzero["x"], key=abs, reverse=True)[:top]
        assert np.abs(found.top[row][: len(ordered)]) / scale == pytest.approx(np.abs(ordered))
        lent = (part if zeros else nonzero)["rkey"]
        assert found.key_sum[row] == sum(round(k * FRACTIONS) for k in lent) % FRACTIONS
        if len(nonzero):
            assert found.spread[row] / scale == pytest.approx(nonzero["x"].max() - nonzero["x"].min())
            assert magnifying(found, "mean", 1 / scale)[row, 0] == pytest.approx(nonzero["x"].mean())


def test_removing_records_with_value_zero_changes_no_key():
    data = firms(np.random.default_rng(3), 200)
    kept = data.filter(pa.array(np.array(data["value"]) != 0))
    spec = ds.TableSpec(by=BY, value="value")
    sums = []
    for part in (data, kept):
        micro = ds.Microdata(part, record_key="rkey")
        sums.append(magnifiers_of(read_records(micro, [spec], None), spec).key_sum)
    assert sums[0].tolist() == sums[1].tolist()


def test_magnifiers_need_a_value_and_record_keys():
    data = firms(np.random.default_rng(3), 20)
    spec = ds.TableSpec(by=BY, value="value")
    with pytest.raises(NeedsError, match="no record keys"):
        magnifiers_of(read_records(ds.Microdata(data), [spec], None), spec)
    count = ds.TableSpec(by=BY)
    with pytest.raises(ParameterError, match="counts"):
        magnifiers_of(read_records(ds.Microdata(data, record_key="rkey"), [count], None), count)
