"""Figures that sdcMicro publishes of its own examples, in the tests of its sources."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds

A, B, C = [2, 3, 2, 2, 3, 3, 1, 2], [3, 3, 3, 3, 3, 3, 4, 3], [1, 3, 1, 2, 1, 1, 1, 1]
WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
RISK = [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01355297]
RISK_WITH_GAPS = [
    0.013552968,
    0.085791288,
    0.010504889,
    0.032466112,
    0.009756889,
    0.009756889,
    0.039316254,
    0.005962551,
]
SHARES = [0.33333, 1.0, 0.33333, 1.0, 0.5, 0.5, 1.0, 0.33333]
SHARES_WITH_GAPS = [0.33333, 1.0, 0.25, 0.5, 0.33333, 0.33333, 1.0, 0.2]


def people(gaps: bool) -> pa.Table:
    a, c = list[int | None](A), list[int | None](C)
    if gaps:
        a[7] = c[2] = c[6] = None
    return pa.table({"A": pa.array(a, pa.int64()), "B": B, "C": pa.array(c, pa.int64()), "w": WEIGHTS})


@pytest.mark.parametrize(("gaps", "risk"), [(False, RISK), (True, RISK_WITH_GAPS)])
def test_individual_risk_of_its_example(gaps, risk):
    """Its exact method, to all digits that it states; gaps agree with every value there, as ``missing="any"`` says."""
    data = ds.Microdata(people(gaps), keys=["A", "B", "C"], weight="w")
    assert ds.risk(data, missing="any").individual.tolist() == pytest.approx(risk, abs=5e-9)


@pytest.mark.parametrize(("gaps", "shares"), [(False, SHARES), (True, SHARES_WITH_GAPS)])
def test_frequencies_of_its_example(gaps, shares):
    """Without weights its risk is one over the number of records that agree."""
    data = ds.Microdata(people(gaps).drop_columns(["w"]), keys=["A", "B", "C"])
    assert (1 / ds.risk(data, missing="any").like).tolist() == pytest.approx(shares, abs=5e-6)


GUIDELINE = {
    "residence": [*["urban"] * 4, "rural", *["urban"] * 5],
    "gender": ["f", "f", "f", "m", "f", "m", "f", "m", "f", "f"],
    "education": ["s-", "s-", "p-", "s", "s", "s", "p", "post", "s-", "s-"],
    "labour": ["job", "job", "out", "job", "none", "job", "out", "none", "out", "out"],
}
BOOK = {
    "age": [*["20"] * 7, "60"],
    "gender": [*["m"] * 4, *["f"] * 3, "m"],
    "income": ["high", "high", *["low"] * 6],
    "education": [*["school"] * 4, "university", "school", "middle", "university"],
}


def test_scores_of_special_uniques_in_its_guideline_and_in_the_book():
    for columns, scores in ((GUIDELINE, [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]), (BOOK, [0, 0, 0, 0, 4, 2, 6, 8])):
        found = ds.risk(ds.Microdata(pa.table(columns), keys=list(columns))).suda
        assert found.score.tolist() == scores


def test_contributions_of_columns_in_its_simple_example():
    table = pa.table({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    found = ds.risk(ds.Microdata(table, keys=["a", "b", "c"])).suda
    assert found.contributions == pytest.approx({"a": 0.5, "b": 0.375, "c": 0.375})
