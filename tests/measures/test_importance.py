"""Columns that count more than others: in the battery of matrices, and in what is found first."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import discreet as ds
from discreet.cli import main
from discreet.errors import InputError, ParameterError
from discreet.measures.matrix_battery import aligned_components, components, matrix_battery
from discreet.measures.values import ValuePair

NAMES = ("x", "y", "z")
BEFORE = np.array([[1, 2, 4], [2, 1, 5], [3, 5, 9], [4, 4, 7], [5, 7, 12], [7, 6, 0]], np.float64)
AFTER = np.array([[1, 3, 4], [2, 1, 6], [2, 5, 9], [4, 5, 7], [6, 7, 11], [7, 6, 16]], np.float64)


def by_loops(before, after, u):
    """All entries one by one, each as often as it counts."""
    p = before.shape[1]
    v = [np.cov(side, rowvar=False) for side in (before, after)]
    r = [np.corrcoef(side, rowvar=False) for side in (before, after)]
    first = components(r[0])
    second = aligned_components(first, components(r[1]))
    w = first.eigenvalues / first.eigenvalues.sum()
    entries = {
        "X": [(before[i, j], after[i, j], u[j], 1.0) for i in range(len(before)) for j in range(p)],
        "V": [(v[0][i, j], v[1][i, j], u[i] * u[j], 1.0) for i in range(p) for j in range(i, p)],
        "R": [(r[0][i, j], r[1][i, j], u[i] * u[j], 1.0) for i in range(p) for j in range(i + 1, p)],
        "RF": [(first.loadings[i, j], second.loadings[i, j], u[i], w[j]) for i in range(p) for j in range(p)],
        "C": [(first.loadings[i, 0] ** 2, second.loadings[i, 0] ** 2, u[i], 1.0) for i in range(p)],
        "F": [(first.scores[i, j], second.scores[i, j], u[i], w[j]) for i in range(p) for j in range(p)],
    }
    found = {}
    for name, some in entries.items():
        every = sum(q for _, _, q, _ in some)
        used = sum(q for a, _, q, _ in some if a != 0)
        mse = sum(q * s * (a - b) ** 2 for a, b, q, s in some) / every
        mae = sum(q * s * abs(a - b) for a, b, q, s in some) / every
        found[name] = (mse, mae, sum(q * s * abs(a - b) / abs(a) for a, b, q, s in some if a != 0) / used)
    return found


@pytest.mark.parametrize("u", [(1, 1, 1), (5, 1, 0.5), (0, 2, 3)])
def test_the_battery_counts_entries_by_importance(u):
    found = matrix_battery(ValuePair(NAMES, BEFORE, AFTER), importance=dict(zip(NAMES, u, strict=True)))
    for name, expected in by_loops(BEFORE, AFTER, u).items():
        line = found[name]
        assert (line.mse, line.mae, line.variation) == pytest.approx(expected), name


@pytest.mark.parametrize("seed", range(20))
def test_random_files(seed):
    draw = np.random.default_rng(seed)
    before = draw.normal(size=(30, 4)) * [1, 5, 20, 100]
    after = before + draw.normal(size=(30, 4))
    u = draw.uniform(0, 3, 4)
    found = matrix_battery(ValuePair(tuple("abcd"), before, after), importance=dict(zip("abcd", u, strict=True)))
    for name, expected in by_loops(before, after, u).items():
        assert (found[name].mse, found[name].mae, found[name].variation) == pytest.approx(expected), name


def test_no_importance_is_one_for_all_and_scale_does_not_matter():
    pair = ValuePair(NAMES, BEFORE, AFTER)
    plain, ones, sevens = (matrix_battery(pair, importance=i) for i in (None, {"x": 1.0}, dict.fromkeys(NAMES, 7.0)))
    assert plain == ones
    for line in plain.lines:
        assert sevens[line.matrix][1:4] == pytest.approx(line[1:4])
    with pytest.raises(InputError, match="No column of numbers counts"):
        matrix_battery(pair, importance=dict.fromkeys(NAMES, 0.0))


def test_components_that_stand_square_on_each_other_are_called_unstable():
    """Two columns whose correlation changes its sign: the first component turns by 90 degrees."""
    x = np.random.default_rng(2).normal(size=(200, 2))
    before = np.column_stack([x[:, 0], x[:, 0] + x[:, 1]])
    turned = np.column_stack([x[:, 0], -x[:, 0] - x[:, 1]])
    assert matrix_battery(ValuePair(("x", "y"), before, turned)).unstable
    assert not matrix_battery(ValuePair(("x", "y"), before, before + 0.1 * x)).unstable


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(1)
    age, pay = draw.integers(20, 65, 400).astype(float), draw.lognormal(7, 0.4, 400)
    before = pa.table({"age": age, "pay": pay, "note": draw.choice(["a", "b"], 400)})
    after = pa.table({"age": age * 1.02, "pay": pay * 1.2, "note": ["a"] * 400})
    return before, after


def asked(people, **options):
    return ds.utility(*people, aligned=True, propensity="none", statistics=["mean"], **options)


def test_what_matters_is_found_first(people):
    plain = asked(people)
    assert "pay" in next(one.worst for one in plain.findings if one.measure == "percent")
    assert not [one for one in plain.findings if one.measure == "mean_percent"]
    found = asked(people, importance={"age": 50})
    assert "age" in next(one.worst for one in found.findings if one.measure == "percent")
    assert found["percent"] == pytest.approx(2)
    assert found["mean_percent"] == pytest.approx((50 * 2 + 20) / 51)
    assert found["far"] == pytest.approx(100 / 51)
    assert found.statistics == plain.statistics


def test_a_column_that_does_not_count_is_left_out_of_findings(people):
    found = asked(people, importance={"pay": 0, "note": 0})
    assert found["mean_percent"] == pytest.approx(2)
    assert found["far"] == 0
    age = next(one for one in found.margins if one.column == "age")
    assert found["margins"] == pytest.approx(age.variation)
    assert not [one for one in found.findings if one.measure == "association"]


@pytest.mark.parametrize(
    ("importance", "message"),
    [
        ({"wage": 1}, "There is no column 'wage' in the compared columns"),
        ({"age": -1}, r"importance\['age'\]=-1 is not allowed"),
        ({"age": float("nan")}, r"importance\['age'\]=nan is not allowed"),
        ({"age": True}, r"importance\['age'\]=True is not allowed"),
        ({"age": 0, "pay": 0, "note": 0}, "No column counts"),
        (["age"], r"importance=\['age'\] is not allowed"),
    ],
)
def test_what_is_not_allowed(people, importance, message):
    with pytest.raises(ParameterError, match=message):
        asked(people, importance=importance)


def test_several_releases_and_the_command(people, tmp_path):
    both = ds.utility(people[0], [people[1]] * 2, aligned=True, propensity="none", importance={"age": 50})
    assert "age" in next(one.worst for one in both.findings if one.measure == "percent")
    for name, table in zip(("before", "after"), people, strict=True):
        csv.write_csv(table, tmp_path / f"{name}.csv")
    words = ["utility", str(tmp_path / "before.csv"), str(tmp_path / "after.csv"), "--numeric", "age,pay", "--aligned"]
    words += ["--propensity", "none", "--statistics", "mean"]
    done = CliRunner().invoke(main, [*words, "--importance", "age=50,note=0", "--json"])
    assert done.exit_code == 0, done.output
    told = {one["measure"]: one["value"] for one in json.loads(done.stdout)["parts"]["findings"]}
    assert told["mean_percent"] == pytest.approx((50 * 2 + 20) / 51)
    bad = CliRunner().invoke(main, [*words, "--importance", "age"])
    assert bad.exit_code == 2
    assert "has no number" in bad.output
