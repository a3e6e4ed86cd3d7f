"""Sparse tables of many variables: cells that hold the same records share what is found of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.relations import build_system
from discreet.relations.twins import twin_labels
from discreet.tables.suppress import method as suppress


def sparse(value: bool, seed: int = 3, variables: int = 5, records: int = 9) -> ds.Table:
    """Few records in many variables."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"v{k}": rng.choice(["a", "b", "c"][: 2 + k % 2], records) for k in range(variables)}
    by = {name: ds.Hierarchy.flat(sorted(set(codes.tolist()))) for name, codes in columns.items()}
    if not value:
        return ds.tabulate(pa.table(columns), by=by).assess(ds.MinContributors(3))
    columns |= {"x": np.rint(rng.lognormal(4, 1, records)) + 1, "firm": np.arange(records)}
    table = ds.tabulate(pa.table(columns), by=by, value="x", contributor="firm")
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


@pytest.mark.parametrize("value", [False, True], ids=["counts", "magnitudes"])
@pytest.mark.parametrize("insiders", ["full", "nonzero", None])
def test_twins_share_certificates_that_the_checker_and_the_audit_accept(value: bool, insiders: Any) -> None:
    table = sparse(value)
    label = twin_labels(build_system(table))
    assert label.max() < suppress.MANY_TWINS * len(label)
    release = ds.protect(table, ds.Suppress(insiders=insiders))
    release.verify().require()
    assert ds.audit(release, insiders=insiders).short == 0
    (evidence,) = release.custodian.evidence
    assert len(evidence.certificates) < len(set(label[table.unsafe].tolist())) * 4 < table.unsafe.sum() * 4
    withheld = release.custodian.withheld(0)
    assert len(set(zip(label.tolist(), withheld.tolist(), strict=True))) == len(set(label.tolist()))


def test_a_pattern_is_no_dearer_with_twins_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sparse(True, variables=4)
    as_one = ds.protect(table, ds.Suppress())
    monkeypatch.setattr(suppress, "MANY_TWINS", 0.0)
    apart = ds.protect(table, ds.Suppress())
    cost = [float(table.value[release.custodian.withheld(0)].sum()) for release in (as_one, apart)]
    assert cost[0] <= cost[1]
