"""Published figures of noise tables and cell keys."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds

# Card 004: D = 5, V = 3, js = 2; first change of each run, then probabilities.
ROWS_004 = {
    1: {-1: 0.7345, 2: 0.1367, 3: 0.0728, 4: 0.0374, 5: 0.0186},
    2: {-2: 0.4088, 1: 0.4066, 2: 0.1476, 3: 0.0323, 4: 0.0043, 5: 0.0003},
    3: {-3: 0.2040, 0: 0.3937, 1: 0.2475, 2: 0.1106, 3: 0.0351, 4: 0.0079, 5: 0.0013},
    4: {-4: 0.0833, -1: 0.2893, 0: 0.2658, 1: 0.1901, 2: 0.1059, 3: 0.0460, 4: 0.0155, 5: 0.0041},
    5: {-5: 0.0201, -2: 0.1733, -1: 0.2206, 0: 0.2213, 1: 0.1750, 2: 0.1090, 3: 0.0535, 4: 0.0207, 5: 0.0063},
    6: {-3: 0.0720, -2: 0.1367, -1: 0.1974, 0: 0.2167, 1: 0.1809, 2: 0.1149, 3: 0.0555, 4: 0.0204, 5: 0.0057},
    7: dict(
        zip(range(-4, 6), [0.0184, 0.0555, 0.1216, 0.1942, 0.2259, 0.1914, 0.1182, 0.0531, 0.0174, 0.0042], strict=True)
    ),
    8: dict(
        zip(
            range(-5, 6),
            [0.0038, 0.0166, 0.0523, 0.1187, 0.1942, 0.2288, 0.1942, 0.1187, 0.0523, 0.0166, 0.0038],
            strict=True,
        )
    ),
}
MONOTONE_ROW_4 = {-4: 0.0849, -1: 0.2779, 0: 0.2779, 1: 0.1894, 2: 0.1051, 3: 0.0455, 4: 0.0153, 5: 0.0040}
# research/tabular: the reference rows of the package ptable for D = 2, V = 1.05, js = 1.
ROWS_PTABLE = {
    1: [0.508333, 0.475, 0.016667],
    2: [0.161558, 0.555650, 0.242466, 0.040325],
    3: [0.412313, 0.288061, 0.186939, 0.112687],
    4: [0.070125, 0.2445, 0.370750, 0.2445, 0.070125],
}


def test_the_rows_of_card_004():
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2, monotone=False)
    for value, printed in ROWS_004.items():
        row = table.row(value)
        assert row.change.tolist() == list(printed)
        assert np.abs(row.probability - list(printed.values())).max() < 5.1e-5
        assert abs(row.mean) < 1e-8
        assert abs(row.variance - 3) < 1e-6


def test_rising_probabilities_change_row_4_only():
    plain = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2, monotone=False)
    rising = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)
    assert np.abs(rising.row(4).probability - list(MONOTONE_ROW_4.values())).max() < 5.1e-5
    for value in (1, 2, 3, 5, 6, 7, 8):
        assert rising.row(value).probability == pytest.approx(plain.row(value).probability, abs=1e-9)


def test_the_four_reference_rows_of_ptable():
    table = ds.NoiseTable.maximum_entropy(D=2, V=1.05, js=1, monotone=[True, True, False, True])
    for value, printed in ROWS_PTABLE.items():
        assert np.abs(table.row(value).probability - printed).max() < 1e-6


def test_the_example_table_for_magnitudes_of_tau_argus():
    """Rows 1 and 5 with half steps, D = 5, V = 1; the printed probabilities have eight digits."""
    table = ds.NoiseTable.maximum_entropy(D=5, V=1, step=2, values=[1, 5])
    first = [0.24006614, 0.24006614, 0.24006615, 0.10377025, 0.06682983, 0.04250929, 0.02670627, 0.01657137]
    last = [0.00000074, 0.000008, 0.00006691, 0.00043635, 0.00221596, 0.00876423, 0.02699563, 0.06475894, 0.12098539]
    assert np.abs(table.row(1).probability[:8] - first).max() < 1e-6
    assert np.abs(table.row(5).probability[:9] - last).max() < 1e-6
