"""Releases of synthesised columns at the edge: true ones that must hold, and forgeries that only one check refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.model.custodian import RecordCustodian
from discreet.model.records import ColumnInfo
from discreet.verify import check_records
from tests.verify.records.test_forged_synthesis import KEY, SynthesisForgery
from tests.verify.records.test_forged_synthesis import refused as refused_of

ROWS = 41


@cache
def edges() -> ds.Release[RecordCustodian]:
    """Columns that have just room, nine decimals, a rule beyond their ends, and no unit but nearly whole numbers."""
    draw = np.random.default_rng(7)
    many = 5 * ROWS
    room = np.concatenate([np.zeros(8), draw.choice(np.arange(1, many), ROWS - 16, replace=False), np.full(8, many)])
    table = pa.table(
        {
            "kind": ["rare"] * 3 + ["usual"] * (ROWS - 3),
            "room": room.astype(np.int64),
            "tiny": draw.integers(1, 10**6, ROWS) / 1e9,
            "ruled": np.where(np.arange(ROWS) < 3, 5, draw.integers(1000, 9000, ROWS)),
            "nearly": draw.integers(0, 1000, ROWS) + 1e-11,
        }
    )
    data = ds.Microdata(table, keys=["kind"], numeric=["room", "tiny", "ruled", "nearly"])
    columns = ["room", "tiny", "ruled", "nearly"]
    return ds.protect(
        data, ds.Synthesise(columns, rules={"ruled": {"kind == 'rare'": 5}}, rules_of_few=["ruled"]), key=KEY
    )


refused = partial(refused_of, made=edges)


def test_releases_at_the_edge_hold():
    forgery = SynthesisForgery(edges)
    room = forgery.of("room")
    assert (room["low"], room["high"], room["fine"]) == (0, 5 * ROWS, True)
    assert forgery.of("tiny")["decimals"] == 9
    assert forgery.of("ruled")["low"] > 5 in forgery.changed["ruled"]
    assert forgery.of("nearly")["step"] == 10 ** forgery.of("nearly")["decimals"] > 1
    assert not forgery.verdict().refused


def test_one_value_too_few():
    message = "a column has too few values to be released"
    assert message not in told(lambda f: f.method.update(min_leaf=ROWS // 2 - 1))
    assert message in told(lambda f: f.method.update(min_leaf=ROWS // 2))


def told(forge: Any) -> Sequence[str]:
    forgery = SynthesisForgery(edges)
    forge(forgery)
    return [refusal.message for refusal in forgery.verdict().refused]


def test_numbers_that_a_file_calls_names():
    """Numbers of few records may be released as codes only where they are said to be such."""
    data = ds.Microdata(pa.table({"code": np.arange(ROWS) // 2}))
    custodian = ds.protect(data, ds.Synthesise(categories=["code"]), key=KEY).custodian
    step = custodian.steps[0]
    evidence = replace(step.evidence, method={**step.evidence.method, "categories": []})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    assert [refusal.message for refusal in check_records(lie, lie.public()).refused] == [
        "numbers are called codes, so that values of few records could be released"
    ]
    named = replace(custodian.original, info={"code": ColumnInfo(measure="nominal")})
    true = replace(lie, original=named)
    assert not check_records(true, true.public()).refused


def with_large_numbers(f: SynthesisForgery, large: float) -> None:
    """Six numbers become so large; units beyond 64 bits would be the least there is, and so are stated."""
    f.key, f.seals = None, False
    nearly = f.old["nearly"].to_numpy().copy()
    nearly[:6] = large
    place = f.old.column_names.index("nearly")
    original = replace(f.custodian.original, columns=f.old.set_column(place, "nearly", pa.array(nearly)))
    f.custodian = replace(f.custodian, original=original)
    stated = f.of("nearly")
    one = 10 ** stated["decimals"]
    units = np.sort(np.concatenate([np.full(6, -(2**63)), np.rint(nearly[6:]).astype(np.int64) * one]))
    values, often = np.unique(units, return_counts=True)
    rare = values[often < 5]
    f.changed["nearly"] = [next(v for v in range(1, 999) if v * one not in rare)] * ROWS
    stated.update(low=-(2**60), high=int(units[-5]), rare=len(rare), met=0, fine=True)
    stated["step"] = int(np.gcd.reduce(units))


def test_numbers_too_large_for_the_unit():
    """They would count among the smallest, and the smallest themselves could be shown."""
    message = "values are not whole in the stated unit"
    one = 10 ** SynthesisForgery(edges).of("nearly")["decimals"]
    assert [np.rint(units / one * one) for units in (2**53 - 1, 2**53)] == [2**53 - 1, 2**53]
    for large in (1e16, -1e16, 2**53 / one):
        refused(partial(with_large_numbers, large=large), message)
    assert message not in told(partial(with_large_numbers, large=(2**53 - 1) / one))


def test_a_unit_of_more_decimals_than_there_may_be():
    def forge(f: SynthesisForgery, decimals: int) -> None:
        stated = f.of("nearly")
        finer = 10 ** (decimals - stated["decimals"])
        stated.update({what: finer * stated[what] for what in ("low", "high", "step")}, decimals=decimals)

    assert not told(partial(forge, decimals=9))
    refused(partial(forge, decimals=10), "values are not whole in the stated unit")
