"""Smoothing of sample counts: fits, neighbourhoods, records, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.errors import InputError, NeedsError, ParameterError
from discreet.measures import CloseCells, ordinal_codes, smoothed_records, smoothed_risk
from discreet.measures.population.smoothing_kernels import RIDGE, fit_neighbours, local_likelihood


def highest(f: np.ndarray, z: np.ndarray) -> tuple[float, float, float]:
    """Log mean, spread and likelihood by a general optimiser, which knows no derivatives of ours."""

    def low(at: np.ndarray) -> float:
        held = 0.5 * RIDGE * float((at[1:-1] ** 2).sum())
        return held - local_likelihood(
            f, z, np.zeros(len(f)), len(f), z.shape[1], at[:-1].copy(), float(np.exp(at[-1]))
        )

    best = min(
        (
            minimize(low, np.array([np.log(f.mean()), *np.zeros(z.shape[1] - 1), b]), method="BFGS")
            for b in (-2.0, 0.0, 2.0)
        ),
        key=lambda found: float(found.fun),
    )
    return float(best.x[0]), float(np.exp(best.x[-1])), -float(best.fun)


@pytest.mark.parametrize("seed", range(6))
def test_the_fit_is_that_of_a_general_optimiser(seed: int) -> None:
    rng = np.random.default_rng(seed)
    close = CloseCells(c=2)
    z = close.design(close.offsets(2))
    f = rng.negative_binomial(0.5, 0.4, len(z)).astype(float)
    centre, spread, rest = fit_neighbours(f, z, np.zeros(len(f)), len(f), z.shape[1])
    expected = highest(f, z)
    assert rest
    if spread == 0:
        assert expected[1] < 1e-3
    else:
        assert spread == pytest.approx(expected[1], rel=2e-3)
    assert centre == pytest.approx(expected[0], abs=2e-3)


def test_counts_that_vary_less_than_poisson_counts_are_poisson() -> None:
    found = smoothed_risk(np.ones((5, 5), int), 0.1, [0, 1])
    assert (found.spread == 0).all()
    assert found.rho.tolist() == [1.0] * 25


def test_neighbours_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    table = rng.poisson(0.5, (2, 6, 5))
    found = smoothed_risk(table, 0.1, [1, 2], CloseCells(c=2, d=3, t=1))
    for row, (s, x, y) in enumerate(found.cells.tolist()):
        steps = [(i, j) for i, j in product(range(-2, 3), repeat=2) if abs(i) + abs(j) <= 3]
        near = [(x + i, y + j) for i, j in steps if 0 <= x + i < 6 and 0 <= y + j < 5]
        assert found.size[row] == len(steps)
        assert found.occupied[row] == sum(table[s, i, j] > 0 for i, j in near) - 1


def test_cells_outside_of_the_table_can_be_left_out() -> None:
    table = np.ones((3, 3), int)
    zero, drop = (smoothed_risk(table, 0.1, [0, 1], CloseCells(c=1, t=0, boundary=b)) for b in ("zero", "drop"))
    assert zero.size.tolist() == [9] * 9
    assert drop.size.tolist() == [4, 6, 4, 6, 9, 6, 4, 6, 4]
    assert zero.mean[0] == pytest.approx(4 / 9)
    assert drop.mean == pytest.approx(np.ones(9))
    assert zero.match[0] > drop.match[0]


def test_records_give_the_same_as_their_table() -> None:
    rng = np.random.default_rng(7)
    table = rng.poisson(0.5, (3, 7, 6))
    codes = [np.repeat(axis, table[table > 0]) for axis in np.nonzero(table)]
    order = rng.permutation(len(codes[0]))
    by_table = smoothed_risk(table, 0.2, [1, 2])
    by_records = smoothed_records([column[order] for column in codes], [1, 2], fraction=0.2)
    assert by_records.record is not None
    for column, own in zip(codes, by_records.cells.T, strict=True):
        assert (column[order][by_records.record] == own).all()
    place = np.lexsort(by_records.cells.T[::-1])
    assert by_records.match[place] == pytest.approx(by_table.match, rel=1e-9)


def test_weights_of_records_give_fractions_of_cells() -> None:
    found = smoothed_records([[0, 1, 1, 2]], [0], weight=[2.0, 4.0, 4.0, 8.0], neighbours=CloseCells(c=1, t=0))
    assert found.fraction.tolist() == [0.5, 0.125]
    assert found.estimate.sample_uniques == 2


def test_no_uniques_and_a_frame() -> None:
    found = smoothed_risk(np.full((3, 3), 2), 0.1, [0, 1])
    assert (found.estimate.uniques, found.estimate.matches) == (0.0, 0.0)
    assert found.to_frame().column_names[:3] == ["code 1", "code 2", "mean"]
    assert found.to_frame().num_rows == 0


def test_text_needs_an_order() -> None:
    with pytest.warns(UserWarning, match=r"Text was put in the order of the alphabet; give order= for the one"):
        assert ordinal_codes(["low", "high"]).tolist() == [1, 0]
    assert ordinal_codes(["low", "high"], ["low", "middle", "high"]).tolist() == [0, 2]
    assert ordinal_codes([0.5, 0.25]).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"order= lacks 1 value of the key\."):
        ordinal_codes(["low", "high"], ["low"])


def test_uniques_at_the_edge_are_counted() -> None:
    table = np.zeros((9, 9), int)
    table[0, 4] = table[4, 4] = 1
    zero, drop = (smoothed_risk(table, 0.1, [0, 1], CloseCells(boundary=b)) for b in ("zero", "drop"))
    assert zero.estimate.notes[-1].startswith(
        "1 sample unique has neighbours outside of the table, which count as empty"
    )
    assert not any("outside" in note for note in drop.estimate.notes)


@pytest.mark.parametrize("values", [[1.0, np.nan], ["a", None]])
def test_empty_fields_of_keys_with_an_order_are_refused(values: list[object]) -> None:
    with pytest.raises(InputError, match=r"A key with an order has empty fields\."):
        ordinal_codes(np.array(values, dtype=None if isinstance(values[0], float) else object))


@pytest.mark.parametrize("bad", [-1, 0.5, np.nan])
def test_counts_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match=r"whole numbers from 0 on|must hold numbers, without gaps"):
        smoothed_risk(np.array([[1, bad], [2, 0]]), 0.1, [0])


def test_other_bad_input_is_refused() -> None:
    table = np.ones((3, 3), int)
    with pytest.raises(ParameterError, match=r"Smoothing needs at least one key with an order\."):
        smoothed_risk(table, 0.1, [])
    with pytest.raises(ParameterError, match=r"ordinal=\[2\] is not allowed: there are 2 keys\."):
        smoothed_risk(table, 0.1, [2])
    with pytest.raises(
        ParameterError, match=r"t=3 is not allowed: 3 codes side by side do not tell such a polynomial\."
    ):
        CloseCells(c=1, t=3)
    with pytest.raises(InputError, match=r"Sampling fractions must be above 0"):
        smoothed_risk(table, 0.0, [0])
    with pytest.raises(InputError, match=r"Fractions of shape \(2,\) and counts of shape \(3, 3\)"):
        smoothed_risk(table, [0.1, 0.2], [0])
    with pytest.raises(InputError, match=r"Key 1 must hold codes: whole numbers from 0 on"):
        smoothed_records([[-1, 2]], [0], fraction=0.5)
    with pytest.raises(NeedsError, match=r"How much of the population the sample is must be known once\."):
        smoothed_records([[1, 2]], [0])
    with pytest.raises(ParameterError, match=r"c=9 with 9 keys gives too many neighbours\."):
        CloseCells(c=9).offsets(9)
