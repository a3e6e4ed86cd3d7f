"""Random rounding and totals at the edge: one step more than chance allows, sizes that are met, parts with cents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.verify import check_records
from tests.verify.records.test_forged_rounding import RoundingForgery, refused

KEY = ds.Key(bytes(32))


def test_one_step_more_than_chance_would_go_up():
    """Of 94 values half way, all but one went up: the sum of moves is 46, whose square is just above the bound."""
    data = ds.Microdata(pa.table({"n": [150] * 94}), numeric=["n"])
    custodian = ds.protect(data, ds.RoundRandomly(bases=100), key=KEY).custodian
    step = custodian.steps[0]

    def messages(down: int) -> set[str]:
        changed = pa.table({"n": [100] * down + [200] * (94 - down)})
        lie = replace(custodian, key=None, steps=(replace(step, changed=changed),))
        return {refusal.message for refusal in check_records(lie, lie.public()).refused}

    assert messages(1) == {"values were rounded up, or down, more often than chance would"}
    assert messages(93) == {"values were rounded up, or down, more often than chance would"}
    assert not messages(2)


def test_a_value_as_large_as_a_size_has_its_base():
    data = ds.Microdata(pa.table({"n": [10_550, -10_550, 10_549, 0, 70]}), numeric=["n"])
    release = ds.protect(data, ds.RoundRandomly(bases=((10_550, 1_000), (0, 100))), key=KEY)
    assert release.verify().holds
    first = release.custodian.steps[0].changed["n"].to_pylist()
    assert {abs(value) % 1_000 for value in first[:2]} == {0}


def test_a_total_that_is_less_than_its_parts():
    def now(f: RoundingForgery) -> None:
        f.changed["worth"][3] -= 100

    def before(f: RoundingForgery) -> None:
        f.old["worth"][3] -= 1

    refused(now, "a total is not the sum of its parts in 1 record")
    refused(before, "a total was not the sum of its parts in 1 record")


def test_a_total_without_a_value_is_no_sum():
    forgery = RoundingForgery()
    forgery.old["worth"][3] = forgery.changed["worth"][3] = None
    assert forgery.verdict().holds


def test_a_total_may_become_one_of_whole_numbers():
    forgery = RoundingForgery()
    changed = {name: forgery.step.changed[name] for name in forgery.changed}
    changed["worth"] = changed["worth"].cast(pa.int64())
    lie = replace(forgery.custodian, steps=(replace(forgery.step, changed=pa.table(changed)),))
    assert check_records(lie, lie.public()).holds


def test_sums_are_exact_whichever_part_has_the_most_decimals():
    forgery = RoundingForgery()
    forgery.method["totals"] = {"worth": ("cash", "house")}
    assert forgery.verdict().holds
    cents = np.arange(1, 100)
    table = pa.table({"a": (300 + cents) / 100, "b": (10_000 - cents) / 100, "both": [103.0] * 99})
    data = ds.Microdata(table, numeric=["a", "b", "both"])
    release = ds.protect(data, ds.RoundRandomly(bases=0.5, totals={"both": ["a", "b"]}), key=KEY)
    assert release.verify().holds
