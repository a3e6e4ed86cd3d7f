"""Forged levels of cells with too few contributors, where p% stands beside the least number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.verify import check_release

TOO_LOW = "the stated upper protection level is below the rules'"


@cache
def release() -> ds.Release:
    """Cells of three to five firms keep p%, and are unsafe because there should be six."""
    rng = np.random.default_rng(3)
    n = 260
    frame = pa.table(
        {
            "firm": np.arange(n),
            "a": rng.choice([f"a{i}" for i in range(6)], n),
            "b": rng.choice([f"b{i}" for i in range(8)], n),
            "x": rng.integers(50, 90, n),
        }
    )
    by = {"a": ds.Hierarchy.flat([f"a{i}" for i in range(6)]), "b": ds.Hierarchy.flat([f"b{i}" for i in range(8)])}
    table = ds.tabulate(frame, by=by, value="x", contributor="firm")
    return ds.protect(table.assess(ds.PPercent(10), ds.MinContributors(6)), ds.Suppress())


def only_few() -> int:
    """A cell that is unsafe because of the least number alone."""
    assessment = release().custodian.tables.tables[0].assessment
    assert assessment is not None
    return int(np.flatnonzero(assessment.hits == 2)[0])


def refused(rules: Sequence[Mapping[str, Any]] | None = None, lower_by: int = 0) -> set[str]:
    """What is refused of the release with other rules stated, or a lower level of the cell."""
    table = release().custodian.tables.tables[0]
    stated = table.assessment
    assert stated is not None
    upper = stated.upper.copy()
    upper[only_few()] -= lower_by
    forged = table.with_(assessment=replace(stated, rules=stated.rules if rules is None else tuple(rules), upper=upper))
    custodian = replace(release().custodian, tables=ds.TableSet([forged]))
    return {found.message for found in check_release(custodian, custodian.public()).refused}


def test_the_level_is_p_percent_of_the_largest_and_the_verdict_says_so():
    table = release().custodian.tables.tables[0]
    largest = int(table.contributions["holding"].top[only_few(), 0])
    assert table.assessment is not None
    assert table.assessment.upper[only_few()] == -(-largest // 10)
    verdict = release().verify().require()
    assert any("min_contributors n=6 level=holding range=10 % of the largest" in text for text in verdict.proved)


def test_one_unit_less_is_refused():
    assert TOO_LOW not in refused()
    assert TOO_LOW in refused(lower_by=1)


def test_a_level_beside_p_percent_is_too_low_without_it():
    assert release().custodian.tables.tables[0].assessment.rules[0]["kind"] == "p_percent"
    assert TOO_LOW in refused(release().custodian.tables.tables[0].assessment.rules[1:])


@pytest.mark.parametrize("change", [{"p": 11}, {"level": "record"}])
def test_a_stricter_rule_or_one_of_other_contributors_asks_for_more(change):
    p_percent, few = release().custodian.tables.tables[0].assessment.rules
    assert TOO_LOW in refused([{**p_percent, **change}, few])


def test_a_rule_beside_it_that_makes_no_sense_is_refused():
    from discreet.errors import InputError

    few = release().custodian.tables.tables[0].assessment.rules[1]
    nonsense = {"kind": "prior_posterior", "p": 10, "q": 0, "coalition": 1, "level": "holding"}
    with pytest.raises(InputError, match="not well formed"):
        refused([few, nonsense])
