"""Columns drawn from regressions: what stays exactly, what does not, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.records.regression_draws import model_basis, regression_fit, synthetic_values

KEY = ds.Key(bytes(range(32)))
ROWS = 240


@cache
def table() -> pa.Table:
    draw = np.random.default_rng(3)
    staff = draw.integers(1, 90, ROWS)
    branch = draw.choice(["farm", "mill", "shop"], ROWS)
    sales = np.round(40 * staff + 300 * (branch == "mill") + draw.normal(0, 400, ROWS), 1)
    tax = np.round(0.2 * sales + draw.normal(0, 90, ROWS)).astype(int)
    return pa.table(
        {"staff": staff, "branch": branch, "area": draw.choice(["n", "s"], ROWS), "sales": sales, "tax": tax}
    )


def firms(**roles: object) -> ds.Microdata:
    return ds.Microdata(table(), numeric=["sales", "tax"], **roles)


def released(data: ds.Microdata, method: ds.Method) -> dict[str, np.ndarray]:
    release = ds.protect(data, method, key=KEY, keep_order=True)
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    return {name: np.array(values) for name, values in release.public.records.shown().items()}


def coefficients(columns: dict[str, np.ndarray], rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of both columns, and the covariance of the residuals, by another road: normal equations."""
    rows = np.arange(ROWS) if rows is None else rows
    model = [np.ones(len(rows)), columns["staff"][rows], columns["branch"][rows] == "mill"]
    x = np.column_stack([*model, columns["branch"][rows] == "shop"]).astype(float)
    y = np.column_stack([columns["sales"][rows], columns["tax"][rows]])
    beta = np.linalg.solve(x.T @ x, x.T @ y)
    left = y - x @ beta
    return beta, left.T @ left / len(rows)


@pytest.mark.parametrize("variant", ["fit", "a", "b", "c"])
def test_coefficients_and_residuals_by_variant(variant):
    before = {name: np.array(table()[name].to_pylist()) for name in table().column_names}
    shown = released(firms(), ds.Ipso(given=["staff", "branch"], variant=variant, decimals=6))
    (old, spread), (new, after) = coefficients(before), coefficients(shown)
    assert np.allclose(old, new, rtol=1e-6, atol=1e-5) == (variant != "a")
    assert np.allclose(spread, after, rtol=1e-6) == (variant == "c")
    if variant in ("a", "b"):
        assert np.allclose(spread, after, rtol=0.5)
        assert not np.allclose(old, new, rtol=0.5) or variant == "b"
    if variant == "c":
        columns = ("staff", "sales", "tax")
        covariances = [np.cov(np.stack([part[name] for name in columns]).astype(float)) for part in (before, shown)]
        assert np.allclose(*covariances, rtol=1e-7)
    assert (shown["staff"] == before["staff"]).all()
    assert np.mean(shown["sales"] == before["sales"]) < 0.05


def test_rounded_values_keep_moments_to_the_rounding_and_say_how_far():
    release = ds.protect(firms(), ds.Ipso(given=["staff", "branch"]), key=KEY)
    facts = release.custodian.evidence[0].facts
    assert facts["decimals"] == [1, 0]
    assert facts["moments"]
    assert 0 < facts["off"][0] < 0.01
    assert 0 < facts["off"][1] < 0.02
    shown = release.public.records.columns
    assert (str(shown["sales"].type), str(shown["tax"].type)) == ("double", "int64")
    claim = release.custodian.evidence[0].claim
    assert claim.statement.startswith("Done as stated")
    assert "safe" not in claim.statement
    assert any("which explains up to" in words for words in claim.not_considered)


def test_strata_have_regressions_of_their_own():
    before = {name: np.array(table()[name].to_pylist()) for name in table().column_names}
    shown = released(firms(strata=["area"]), ds.Ipso(given=["staff", "branch"], decimals=6))
    for area in "ns":
        rows = np.flatnonzero(before["area"] == area)
        for one, two in zip(coefficients(before, rows), coefficients(shown, rows), strict=True):
            assert np.allclose(one, two, rtol=1e-6, atol=1e-5)


def test_the_order_of_rows_is_nothing_and_the_version_draws_anew():
    data = firms()
    mixed = data.with_(source=data.source.take(pa.array(np.random.default_rng(5).permutation(ROWS))))
    method = ds.Ipso(given=["branch", "staff"], decimals=9)  # the last bits of a sum would show
    one, two = (ds.protect(d, method, key=KEY).public.records.columns for d in (data, mixed))
    assert one.equals(two)
    three = ds.protect(data, ds.Ipso(given=["staff", "branch"], version=2), key=KEY)
    assert three.verify().holds
    assert not three.public.records.columns["sales"].equals(one["sales"])


def test_fitted_values_need_no_draws():
    one, two = (ds.protect(firms(), ds.Ipso(given=["staff"], variant="fit", insecure_seed=s)) for s in (1, 2))
    assert one.custodian.steps[0].changed.equals(two.custodian.steps[0].changed)
    assert any("without any scatter" in done.evidence.claim.statement for done in one.custodian.steps)


@pytest.mark.parametrize("variant", ["a", "b", "c"])
def test_two_releases_share_no_draws(variant):
    """With the same draws for other given columns, residuals of two releases would be nearly the same."""
    one, two = (released(firms(), ds.Ipso(["sales"], given=g, variant=variant))["sales"] for g in (["staff"], ["tax"]))
    left = []
    for values, name in ((one, "staff"), (two, "tax")):
        x = np.column_stack([np.ones(ROWS), table()[name].to_numpy()])
        left.append(values - x @ np.linalg.lstsq(x, values, rcond=None)[0])
    assert abs(np.corrcoef(*left)[0, 1]) < 0.25


@pytest.mark.parametrize("roles", [{}, {"strata": ["staff"]}])
def test_two_releases_share_no_draws_where_given_columns_or_strata_were_recoded(roles):
    """Rows of a file with broad codes and of one with narrow ones would be linked by their residuals."""
    narrow = table().set_column(0, "staff", pa.array([f"{v // 10}" for v in table()["staff"].to_pylist()]))
    data = ds.Microdata(narrow, numeric=["sales", "tax"], **roles)
    broad = ds.Recode("staff", map={str(code): f"{code // 5}" for code in range(9)})
    method = ds.Ipso(["sales"], given=[] if roles else ["staff"])
    left = []
    for steps in ((method,), (broad, method)):
        release = ds.protect(data, *steps, key=KEY, keep_order=True)
        assert release.verify().holds
        shown = release.public.records.shown()
        codes, values = np.array(shown["staff"]), np.array(shown["sales"])
        left.append(values - sum((codes == code) * values[codes == code].mean() for code in set(codes)))
    assert abs(np.corrcoef(*left)[0, 1]) < 0.25


def test_gaps_stay_and_records_with_the_same_gaps_go_together():
    sales = [None if i % 4 == 0 else v for i, v in enumerate(table()["sales"].to_pylist())]
    staff = [None if i % 9 == 0 else v for i, v in enumerate(table()["staff"].to_pylist())]
    data = firms().with_(source=table().set_column(3, "sales", pa.array(sales)).set_column(0, "staff", pa.array(staff)))
    with pytest.raises(InputError, match="60 records have gaps in 'sales', and 2 columns are replaced together"):
        ds.protect(data, ds.Ipso(given=["staff"]), key=KEY)
    release = ds.protect(data, ds.Ipso(given=["staff", "branch"], missing="apart"), key=KEY, keep_order=True)
    assert release.verify().holds
    assert [v is None for v in release.public.records.shown()["sales"]] == [v is None for v in sales]


def test_codes_for_unknown_stay_and_no_value_becomes_one():
    tax = [-9 if i % 10 == 0 else min(v, 400) for i, v in enumerate(table()["tax"].to_pylist())]
    unknown = [-9, *range(95, 131)]
    data = ds.Microdata(
        table().set_column(4, "tax", pa.array([v if v == -9 or v not in unknown else 140 for v in tax])),
        numeric=["tax", "sales"],
        missing_codes={"tax": [str(code) for code in unknown]},
    )
    release = ds.protect(data, ds.Ipso(["tax"], given=["staff"]), key=KEY, keep_order=True)
    assert release.verify().holds
    shown, facts = release.public.records.shown()["tax"], release.custodian.evidence[0].facts
    assert [v == -9 for v in shown] == [v == -9 for v in tax]
    assert not {*shown} & set(range(95, 131))
    assert facts["codes"][0] > 0
    assert not facts["moments"]
    assert "does not stand for" in release.custodian.evidence[0].claim.statement


def test_values_below_zero_are_cut_and_counted():
    data = firms().with_(source=table().set_column(3, "sales", pa.array(np.abs(table()["sales"].to_numpy()))))
    release = ds.protect(data, ds.Ipso(["sales"], given=["branch"], nonnegative=True), key=KEY)
    assert release.verify().holds
    facts = release.custodian.evidence[0].facts
    assert min(release.public.records.shown()["sales"]) == 0
    assert facts["cut"][0] > 0
    assert not facts["moments"]
    with pytest.raises(InputError, match="Column 'sales' has values below zero, and nonnegative=True"):
        ds.protect(firms(), ds.Ipso(["sales"], given=["branch"], nonnegative=True), key=KEY)


def test_sums_of_columns_that_are_all_replaced_still_add_up_to_the_rounding():
    both = table().append_column("sum", pa.array(np.round(table()["sales"].to_numpy() + table()["tax"].to_numpy(), 1)))
    data = ds.Microdata(both, numeric=["sales", "tax", "sum"])
    release = ds.protect(data, ds.Ipso(given=["staff"], decimals=4), key=KEY)
    assert release.verify().holds
    shown = {name: np.array(v) for name, v in release.public.records.shown().items()}
    assert np.abs(shown["sum"] - shown["sales"] - shown["tax"]).max() < 0.01
    assert release.custodian.evidence[0].facts["fixed"] == 1
    assert "1 combination of 'sales', 'tax', 'sum' follows exactly" in release.custodian.log["notes"][0]


def test_nearly_fixed_combinations_are_told():
    draw = np.random.default_rng(4)
    near = np.round(table()["sales"].to_numpy() * 2 + draw.normal(0, 10, ROWS), 1)
    data = ds.Microdata(table().append_column("near", pa.array(near)), numeric=["sales", "near", "tax"])
    release = ds.protect(data, ds.Ipso(["sales", "near"], given=["branch"]), key=KEY)
    facts = release.custodian.evidence[0].facts
    assert 0 < facts["least"] < 1e-3
    assert facts["fixed"] == 0
    assert "nearly fix a combination of 'sales', 'near'" in release.custodian.log["notes"][0]
    assert any("nearly fix it" in words for words in release.custodian.evidence[0].claim.not_considered)


def test_huge_numbers_are_exact_and_given_columns_may_be_dates_and_truths():
    draw = np.random.default_rng(1)
    days = pa.array(draw.integers(10_000, 10_020, 60).astype("datetime64[D]"))
    wide = pa.table({"x": 2**60 + draw.integers(0, 10**6, 60), "day": days, "old": draw.integers(0, 2, 60) == 1})
    release = ds.protect(ds.Microdata(wide, numeric="x", keys=["day"]), ds.Ipso(["x"], given=["day", "old"]), key=KEY)
    assert release.verify().holds
    assert abs(sum(release.public.records.shown()["x"]) - sum(wide["x"].to_pylist())) < 60


def test_draws_from_a_seed_are_told():
    claim = ds.protect(firms(), ds.Ipso(["tax"], insecure_seed=1)).custodian.evidence[0].claim
    assert "that the draws came from a seed and not from a secret key" in claim.not_considered
    assert "the regression on a constant" in claim.statement


def test_recipes_know_it(tmp_path):
    from discreet.methods.registry import method_from_record

    method = ds.Ipso(["tax"], given=["staff"], variant="b", decimals=2)
    assert method_from_record(method.record()) == method
    release = ds.protect(firms(), method, key=KEY)
    release.save(tmp_path / "out")
    loaded = ds.load(tmp_path / "out").verify()
    assert loaded.holds
    assert "that residuals were drawn at random" in loaded.asserted
    assert any("the one that the secret key draws" in words for words in release.verify().proved)


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        (lambda: ds.Ipso(["tax", "tax"]), ParameterError, "columns= names a column twice"),
        (lambda: ds.Ipso(["tax"], given=["staff", "staff"]), ParameterError, "given= names a column twice"),
        (lambda: ds.Ipso(["tax"], given=["tax"]), ParameterError, "'tax' would be replaced and be given, too"),
        (lambda: ds.Ipso(["tax"], variant="d"), ParameterError, "variant"),
        (lambda: ds.Ipso(["tax"], decimals=10), ParameterError, "decimals"),
    ],
)
def test_parameters_that_cannot_be(method, error, message):
    with pytest.raises(error, match=message):
        method()


def refused(source: pa.Table, method: ds.Method, error: type[Exception], message: str, **roles: object) -> None:
    with pytest.raises(error, match=message):
        ds.protect(ds.Microdata(source, **roles), method, key=KEY)


def test_records_that_it_cannot_do():
    refused(table(), ds.Ipso(), NeedsError, "Ipso needs to know which columns it is about")
    refused(table(), ds.Ipso(["tax"], given=["nobody"]), InputError, "nobody")
    refused(table(), ds.Ipso(["branch"]), InputError, "Column 'branch' holds string, not numbers")
    refused(
        table().slice(0, 4),
        ds.Ipso(["sales", "tax"], given=["staff"]),
        InputError,
        "There are 4 records, and 2 columns with a regression of rank 2 need at least 5",
    )
    same = table().set_column(4, "tax", pa.array([7] * ROWS))
    refused(same, ds.Ipso(["tax"]), InputError, "All values of 'tax' are equal: there is nothing to draw")
    empty = table().set_column(4, "tax", pa.array([None] * ROWS, pa.int64()))
    refused(empty, ds.Ipso(["tax"]), InputError, "There is no value in any of 'tax'")
    follows = table().append_column("twice", pa.array(table()["tax"].to_numpy() * 2))
    refused(follows, ds.Ipso(["tax"], given=["twice"]), ProtectionError, "'tax' follows from 'twice'")
    home = {"household": "branch"}
    refused(table(), ds.Ipso(["tax"], given=["branch"]), ParameterError, "no value depends on it", **home)
    many = table().append_column("code", pa.array([f"c{i % 120}" for i in range(ROWS)]))
    refused(many, ds.Ipso(["tax"], given=["code"]), InputError, "a model of more than 100 columns")
    large = table().set_column(4, "tax", pa.array(np.arange(ROWS) * 10**13))
    refused(large, ds.Ipso(["tax"], decimals=4), InputError, "numbers too large for 4 decimals")
    vast = table().append_column("vast", pa.array(np.arange(ROWS) * 1e300))
    refused(vast, ds.Ipso(["tax"], given=["vast"]), InputError, "'vast' in given= has numbers too large to be squared")
    near = pa.table({"x": [0, 1, 1, 2, 2, 3], "line": range(6)})
    refused(
        near,
        ds.Ipso(["x"], given=["line"], variant="fit"),
        ProtectionError,
        "No value of 'x' changed: residuals are smaller than the unit",
    )


def test_records_that_a_regression_follows_by_themselves_are_refused():
    """The only record with a code has no residual: what the regression says of it is its own value."""
    branch = table()["branch"].to_pylist()
    lonely = table().set_column(1, "branch", pa.array([*branch[:-1], "mint"]))
    far = table().set_column(0, "staff", pa.array([*table()["staff"].to_pylist()[:-1], 100_000]))
    words = "1 record is alone in 'branch': the regression follows it, and values would stay nearly as they are"
    for variant in ("fit", "b", "c"):
        refused(lonely, ds.Ipso(["sales", "tax"], given=["branch"], variant=variant), ProtectionError, words)
        refused(
            far, ds.Ipso(["tax"], given=["staff"], variant=variant), ProtectionError, "1 record is alone in 'staff'"
        )
    data = ds.Microdata(lonely, numeric=["sales", "tax"])
    drawn = released(data, ds.Ipso(["sales"], given=["branch"], variant="a"))  # its residual is as large as any
    assert drawn["sales"][-1] != lonely["sales"][-1].as_py()


def test_strata_that_are_too_small_are_named():
    small = table().set_column(2, "area", pa.array(["n"] * (ROWS - 2) + ["s"] * 2))
    refused(
        small,
        ds.Ipso(["tax"], given=["staff"]),
        InputError,
        "There are 2 records with area 's', and 1 column with a regression of rank 2 need at least 4",
        strata=["area"],
    )


@given(st.integers(12, 60), st.integers(1, 4), st.integers(0, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_moments_are_exact_before_rounding(rows, own, others, seed):
    """Coefficients of b and c, covariances of c, to 1e-9, also where given columns follow from each other."""
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(rows, others)), draw.lognormal(5, 1, size=(rows, own))
    if others > 1:
        x[:, -1] = x[:, 0] * 3 - 7
    fit = regression_fit(y, model_basis(x))
    assert fit.basis.shape[1] == 1 + others - (others > 1)
    for variant in ("b", "c"):
        new = regression_fit(synthetic_values(fit, draw.normal(size=(rows, own)), variant), fit.basis)
        assert np.allclose(new.fitted, fit.fitted, rtol=1e-9, atol=1e-9 * y.std())
    size = np.outer(fit.spread, fit.spread) * rows
    assert np.abs(new.residual.T @ new.residual - fit.residual.T @ fit.residual).max() < 1e-9 * size.max()
