"""Estimates that analysts make from post-randomised records and published matrices."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError, ResourceError
from discreet.measures import estimate_variance, pram_losses, pram_risk
from discreet.model.public import PublicRelease
from discreet.model.transition import TransitionMatrix

SEX = TransitionMatrix.from_notation("sex", "2E(0.8)", ["f", "m"])
JOB = TransitionMatrix.from_notation("job", "3B(0.7;2)", ["a", "b", "c"])


def published(**columns) -> pa.Table:
    return pa.table(columns)


def every_outcome(chances: np.ndarray, codes: list[int]) -> list[tuple[float, list[int]]]:
    """All that can be published of a few records, with its chance."""
    size = range(len(chances))
    return [
        (float(np.prod([chances[old, new] for old, new in zip(codes, drawn, strict=True)])), list(drawn))
        for drawn in product(size, repeat=len(codes))
    ]


def test_estimates_and_their_variance_are_right_on_average_over_everything_that_can_be_drawn():
    codes = [0, 0, 1, 2]
    amounts = [1.0, 2.5, 1.0, 4.0]
    mean, square, variance = np.zeros(3), np.zeros(3), np.zeros(3)
    for chance, drawn in every_outcome(JOB.chances, codes):
        if chance == 0:
            continue
        table = published(job=[JOB.codes[i] for i in drawn], w=amounts)
        found = ds.pram_estimates(table, "job", JOB, total="w")
        mean += chance * found.estimates
        square += chance * found.estimates**2
        variance += chance * found.variance
    assert np.allclose(mean, [3.5, 1, 4])
    assert np.allclose(variance, square - mean**2)


def test_counts_have_the_variance_of_the_formula():
    draw = np.random.default_rng(1)
    counts = np.array([400, 300, 300])
    codes = np.repeat(np.arange(3), counts)
    found = []
    for _ in range(50):
        drawn = [draw.choice(3, p=JOB.chances[k]) for k in codes]
        found.append(ds.pram_estimates(published(job=[JOB.codes[i] for i in drawn]), "job", JOB).variance)
    assert np.allclose(np.mean(found, axis=0), np.diag(estimate_variance(JOB, counts)), rtol=0.05)


def test_cross_tables_are_corrected_along_both_axes():
    draw = np.random.default_rng(2)
    table = published(sex=draw.choice(["f", "m"], 200), job=draw.choice(["a", "b", "c"], 200))
    found = ds.pram_estimates(table, ["sex", "job"], [SEX, JOB])
    counts = np.array(
        [[sum((s, j) == pair for pair in zip(*table.to_pydict().values(), strict=True)) for j in "abc"] for s in "fm"]
    )
    assert np.array_equal(found.published, counts)
    together = np.linalg.inv(np.kron(SEX.chances, JOB.chances))
    assert np.allclose(found.estimates.ravel(), counts.ravel() @ together, atol=1e-10)
    spread = counts.ravel() @ together**2 - counts.ravel() @ together
    assert np.allclose(found.variance.ravel(), spread)
    lines = found.columns()
    assert list(lines) == ["sex", "job", "published", "estimate", "standard_error"]
    assert lines["sex"] == ["f"] * 3 + ["m"] * 3
    assert np.allclose(lines["standard_error"], np.sqrt(np.maximum(spread, 0)))
    assert repr(found) == "PramEstimates of 6 cells by 'sex', 'job'"


def test_variables_without_a_matrix_are_taken_as_they_are():
    table = published(sex=["f", "m", "m", "f"], area=["N", "N", "S", None])
    found = ds.pram_estimates(table, ["area", "sex"], SEX)
    assert found.codes == (("N", "S", ""), ("f", "m"))
    assert np.allclose(found.estimates.sum(axis=1), [2, 1, 1])
    assert found.condition == {"area": 1.0, "sex": pytest.approx(5 / 3)}


def test_gaps_stay_gaps():
    found = ds.pram_estimates(published(sex=["f", None, "m", None]), "sex", SEX)
    assert found.codes == (("f", "m", ""),)
    assert found.estimates.tolist()[2] == 2
    assert found.variance.tolist()[2] == 0


def test_estimates_below_zero_are_not_cut():
    found = ds.pram_estimates(published(sex=["f"] * 10), "sex", SEX)
    assert np.allclose(found.estimates, [40 / 3, -10 / 3])


def test_each_stratum_has_its_own_matrix():
    one = TransitionMatrix("sex", ("f", "m"), [[0.9, 0.1], [0.2, 0.8]], ("area",), ("N",))
    two = TransitionMatrix("sex", ("f", "m"), [[0.6, 0.4], [0.1, 0.9]], ("area",), ("S",))
    table = published(sex=["f", "f", "m", "f", "m"], area=["N", "N", "N", "S", "S"])
    found = ds.pram_estimates(table, "sex", [one, two])
    wanted = np.array([2, 1]) @ one.inverse + np.array([1, 1]) @ two.inverse
    assert np.allclose(found.estimates, wanted)
    by_area = ds.pram_estimates(table, ["area", "sex"], [one, two])
    assert np.allclose(by_area.estimates.sum(axis=0), wanted)
    with pytest.raises(InputError, match="There are 0 matrices of 'sex' for area 'S', and one is needed"):
        ds.pram_estimates(table, "sex", one)


def test_a_release_brings_its_matrices(tmp_path):
    draw = np.random.default_rng(3)
    rows = 20_000
    job = draw.choice(["a", "b", "c"], rows, p=[0.7, 0.2, 0.1])
    data = ds.Microdata(
        pa.table({"job": job, "sex": draw.choice(["f", "m"], rows), "area": draw.choice(["N", "S"], rows)})
    )
    method = ds.Pram({"job": "F(.7)", "sex": "2E(.8)"}, within=["area"], publish=["job"])
    release = ds.protect(data, method, key=ds.Key(bytes(32)))
    true = np.array([(job == code).sum() for code in "abc"])
    found = ds.pram_estimates(release, "job")
    assert np.all(np.abs(found.estimates - true) < 4 * found.standard_error)
    assert np.abs(found.published - true).max() > 4 * found.standard_error.max()
    assert np.array_equal(ds.pram_estimates(release.public, "job").estimates, found.estimates)
    release.save(tmp_path / "out")
    matrices = ds.read_transition_matrices(tmp_path / "out" / "public" / "records.matrices.json")
    again = ds.pram_estimates(tmp_path / "out" / "public" / "records.csv", "job", matrices)
    assert np.allclose(again.estimates, found.estimates)
    with pytest.raises(ParameterError, match="There is no transition matrix of 'sex'"):
        ds.pram_estimates(release, "sex")


def test_invariant_records_need_no_correction():
    draw = np.random.default_rng(4)
    job = draw.choice(["a", "b", "c"], 30_000, p=[0.7, 0.2, 0.1])
    release = ds.protect(
        ds.Microdata(pa.table({"job": job})), ds.Pram({"job": "E(.6)"}, invariant=True), key=ds.Key(bytes(32))
    )
    shown = release.public.records.shown()["job"]
    for code in "abc":
        true = int((job == code).sum())
        assert abs(shown.count(code) - true) < 4 * np.sqrt(true)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": "age"}, InputError, "no column 'age'"),
        ({"by": "job"}, ParameterError, "There is no transition matrix of 'job'"),
        ({"by": []}, ParameterError, "no variable to count by"),
        ({"by": ["sex", "sex"]}, ParameterError, "Name variables once"),
        ({"by": "sex", "total": "income"}, InputError, "no column 'income'"),
        ({"by": "sex", "total": "job"}, InputError, "cannot be added up"),
        (
            {"by": "sex", "matrices": TransitionMatrix.from_notation("sex", "2E(.8)", ["f", "x"])},
            InputError,
            "lacks 1 code of the records: 'm'",
        ),
        (
            {"by": "sex", "matrices": TransitionMatrix.from_notation("sex", "2E(.5)", ["f", "m"])},
            InputError,
            "The matrix of 'sex' is singular: it does not tell the counts before",
        ),
        ({"by": "sex", "matrices": [SEX, SEX]}, InputError, "There are 2 matrices of 'sex' for the records"),
    ],
)
def test_what_cannot_be_estimated_is_refused(options, error, message):
    table = published(sex=["f", "m"], job=["a", "b"])
    given = {"matrices": SEX, **options}
    with pytest.raises(error, match=message):
        ds.pram_estimates(table, **given)


def test_tables_are_not_records():
    release = PublicRelease(())
    with pytest.raises(ParameterError, match="holds tables, not records"):
        ds.pram_estimates(release, "sex", SEX)


def test_tables_that_are_too_large_are_refused():
    draw = np.random.default_rng(5)
    columns = {name: draw.integers(0, 400, 2000) for name in ("x", "y", "z")}
    matrix = TransitionMatrix.from_notation("x", "E(.8)", [str(i) for i in range(400)])
    with pytest.raises(ResourceError, match="more than 20,000,000 cells"):
        ds.pram_estimates(published(**columns), ["x", "y", "z"], matrix)


def test_matrices_that_are_nearly_singular_are_warned_about():
    matrix = TransitionMatrix("sex", ("f", "m"), [[0.5 + 1e-8, 0.5 - 1e-8], [0.5 - 1e-8, 0.5 + 1e-8]])
    with pytest.warns(UserWarning, match="nearly singular \\(condition number 5e\\+07\\)"):
        ds.pram_estimates(published(sex=["f", "m"]), "sex", matrix)


def one_matrix(chances: list, within: tuple = ()) -> str:
    matrix = {"column": "x", "codes": ["a"], "chances": chances, "within": list(within), "stratum": []}
    return json.dumps({"transition_matrices": [matrix]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Cannot read 'm.json'"),
        ("nothing", "holds no transition matrices"),
        ('{"transition_matrices": 5}', "holds no transition matrices"),
        ('{"transition_matrices": [5]}', "This is no transition matrix"),
        (one_matrix([[2]]), "sum to 1"),
        (one_matrix([["b"]]), "no transition matrix"),
        (one_matrix([[1]], within=["y"]), "one code for each column"),
    ],
)
def test_files_that_hold_no_matrices_are_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "m.json").write_text(text)
    with pytest.raises((InputError, ParameterError), match=message):
        ds.read_transition_matrices(tmp_path / "m.json")


# ---- risk and losses --------------------------------------------------------------------------------------------


def test_losses_that_need_the_inverse_are_no_numbers_where_there_is_none():
    losses = pram_losses([[0.5, 0.5], [0.5, 0.5]], [[3, 2], [1, 4]])
    assert losses.information > 0
    assert np.isnan([losses.difference, losses.variation, losses.largest_variation]).all()


def test_the_loss_of_a_regression():
    moves = np.array([[8, 2], [2, 8]])
    chances = np.array([[0.8, 0.2], [0.2, 0.8]])
    before, after = np.array([100.0, 0.0]), np.array([90.0, 10.0])
    losses = pram_losses(chances, moves, (before, after))
    guessed = (after @ np.linalg.inv(chances))[0] / 10
    assert losses.regression == losses.largest_regression == pytest.approx(abs(10 - guessed) / 10)


@pytest.mark.parametrize(
    ("counts", "matrices", "threshold", "message"),
    [
        ([[1, 2]], [None], 5, "Counts by 2 variables have 1 matrices"),
        ([1, 2, 3], [[[1, 0], [0, 1]]], 5, "is for 2 codes, and counts are by 3"),
        ([1, -2], [[[1, 0], [0, 1]]], 5, "at least 0"),
        ([1, 2], [[[1, 0], [0, 1]]], 0, "threshold must lie above 0"),
        ([1, 2], [[[1, 0]]], 5, "as many rows as columns"),
    ],
)
def test_risks_that_make_no_sense_are_refused(counts, matrices, threshold, message):
    with pytest.raises(InputError, match=message):
        pram_risk(counts, matrices, threshold)


def test_one_matrix_may_stand_by_itself():
    one = pram_risk([5, 200], SEX, 100)
    assert one.unsafe == pram_risk([5, 200], [SEX.chances], 100).unsafe == pram_risk([5, 200], SEX.chances, 100).unsafe
    assert (one.rare, one.unsafe) == (1, 1)
    assert pram_risk([60, 200], SEX, 100).unsafe == 0


def test_moves_of_another_shape_are_refused():
    with pytest.raises(InputError, match="moves must count records"):
        pram_losses(np.eye(2), np.eye(3))


def test_the_file_of_an_analyst_may_be_any_frame(tmp_path):
    table = published(sex=["f", "m", "m"])
    csv.write_csv(table, tmp_path / "x.csv")
    for source in (table, tmp_path / "x.csv", ds.Microdata(table)):
        assert ds.pram_estimates(source, "sex", SEX).published.tolist() == [1, 2]
