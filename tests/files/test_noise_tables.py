"""Files of noise tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.model.noise_table import NoiseTable


def same(one: NoiseTable, two: NoiseTable, tolerance: float = 0.0) -> bool:
    return (
        one.values.tolist() == two.values.tolist()
        and one.change.tolist() == two.change.tolist()
        and bool(np.all(np.abs(one.upper / one.modulus - two.upper / two.modulus) <= tolerance))
    )


@pytest.mark.parametrize("layout", ["ptable", "argus"])
def test_ptable_files_keep_eight_digits(layout, tmp_path):
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)
    ds.write_noise_table(table, tmp_path / "p.txt", layout=layout)
    first = (tmp_path / "p.txt").read_text().splitlines()[:3]
    assert first == ["i;j;p;v;p_int_ub", "0;0;1;0;1", "1;0;0.73446954;-1;0.73446954"]
    assert same(ds.read_noise_table(tmp_path / "p.txt"), table, 1e-8)


@pytest.mark.parametrize("layout", ["ons", "cantabular", "superstar"])
@pytest.mark.parametrize("keys", [256, 4096])
def test_files_with_whole_keys_come_back_as_they_were(layout, keys, tmp_path):
    table = ds.NoiseTable.maximum_entropy(D=2, V=1.05, js=1).quantised(keys)
    ds.write_noise_table(table, tmp_path / "p.csv", layout=layout)
    back = ds.read_noise_table(tmp_path / "p.csv")
    assert back.modulus == keys
    assert same(back, table)


def test_quoted_headers_decimal_commas_and_types_are_read(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text('"i";"j";"p";"v";"p_ij_ub";"type"\n1;0;0,5;-1;0,5;all\n1;1,5;0,5;0,5;1;all\n1;1;1;0;1;even\n')
    assert ds.read_noise_table(path).row(1).change.tolist() == [-1, 0.5]
    assert ds.read_noise_table(path).step == 2
    assert ds.read_noise_table(path, part="even").row(1).change.tolist() == [0]
    with pytest.raises(InputError, match=r"no rows of type 'odd'.*'all', 'even'"):
        ds.read_noise_table(path, part="odd")


def test_ranges_and_cycles_cover_large_counts(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("cell_value,cell_key,perturbation\n1-2,0-3,0\n3,0-1,1\n3,2-3,-1\n4,0-3,2\n")
    table = ds.read_noise_table(path, cycle=2)
    assert table.rows_of(np.array([1, 3, 4, 5, 6, 7, 8])).tolist() == [1, 3, 4, 3, 4, 3, 4]
    ons = NoiseTable.from_intervals(
        [(float(v), np.array([0]), np.array([256])) for v in range(751)], modulus=256, cycle=250
    )
    counts = np.array([1, 750, 751, 1000, 1001, 123_456])
    expected = np.where(counts <= 750, counts, (counts - 1) % 250 + 501)
    assert ons.rows_of(counts).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a;b\n1;2\n", "no known layout"),
        ("i;j;p;v;p_int_ub\n1;0;0.5;-1;0.5\n1;2;0.4;1;0.9\n", "for 1 sum to 0.9, not to 1"),
        ("i;j;p;v;p_int_ub\n1;-1;1;-2;1\n", "for 1 leads below zero"),
        ("i;j;p;v;p_int_ub\n1;0;x;-1;y\n", "line 2: 'y' is no number"),
        ("i;j;p;v;p_int_ub\n0;1;1;1;1\n1;1;1;0;1\n", "for 0 must change nothing"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,1\n", "count 1 and cell key 0 have two changes"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,0,1\n", "count 2 has no change for cell key 1"),
        ("pcv,ckey,pvalue\n1,a,0\n", "neither a whole number nor a range"),
        ("1,2\n3\n", "line 2: 1 field where 2"),
    ],
)
def test_files_that_are_wrong_are_refused(text, words, tmp_path):
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        ds.read_noise_table(tmp_path / "p.txt")


def test_layouts_with_whole_keys_refuse_fractions(tmp_path):
    with pytest.raises(ParameterError, match="quantised"):
        ds.write_noise_table(ds.NoiseTable.maximum_entropy(D=2, V=1), tmp_path / "p.csv", layout="ons")


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 300), st.floats(0.5, 1.6), st.integers(0, 2**31), st.sampled_from([0.02, 0.2, 1.0]))
def test_shuffling_keeps_every_probability(keys, variance, number, largest):
    table = ds.NoiseTable.maximum_entropy(D=3, V=variance, monotone=False).quantised(keys)
    mixed = table.shuffled(number.to_bytes(32, "big"), largest=largest)
    for at in range(len(table)):
        before, after = table.at(at), mixed.at(at)
        for change in np.unique(before.change):
            assert after.probability[after.change == change].sum() == pytest.approx(
                before.probability[before.change == change].sum()
            )


def test_shuffling_parts_equal_neighbours():
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)
    mixed = table.shuffled(bytes(32), largest=0.05)
    row = mixed.row(8)
    assert len(row.change) > 20
    assert (np.diff(row.change) == 0).sum() <= 2
    assert row.probability.max() <= 0.05 + 1e-12


def test_a_table_has_an_image():
    pytest.importorskip("matplotlib")
    image = ds.NoiseTable.maximum_entropy(D=2, V=1.05, js=1).image()
    assert image.startswith("<svg")
    assert "50.8" in image
