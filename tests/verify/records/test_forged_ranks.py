"""Releases that say of exchanged values what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records

METHODS: dict[str, Callable[[], ds.RankSwap]] = {
    "each": lambda: ds.RankSwap(["x", "y"], 0.1),
    "joint": lambda: ds.RankSwap(["y", "z"], 0.1, joint=True),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = [None if i % 5 == 0 else float(value) for i, value in enumerate(np.round(draw.lognormal(3, 1, 80), 1))]
    y, z = draw.permutation(80), draw.integers(0, 9, 80)
    table = pa.table({"x": x, "y": y, "z": z, "area": ["n", "s"] * 40})
    data = ds.Microdata(table, numeric=["x", "y", "z"], strata=["area"])
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class RankForgery:
    """A release of which the step is rewritten; the changed columns follow the partners."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.partners = {name: row.copy() for name, row in self.step.evidence.parts["records"].items()}
        self.old = self.custodian.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}

    def pair(self, name: str, column: str, one: int, other: int) -> None:
        """Let two rows be partners; their earlier partners stay as they are, alone."""
        partner = self.partners[name]
        for row in (one, other):
            partner[partner[row]] = partner[row]
            partner[row] = row
        partner[one], partner[other] = other, one
        values = self.old[column].to_pylist()
        self.changed[column] = [values[row] for row in partner]
        place = self.facts["columns"].index(column)
        kept = [*self.facts["kept"]]
        kept[place] = sum(a == b for a, b in zip(values, self.changed[column], strict=True))
        self.facts["kept"] = kept

    def verdict(self) -> Verdict:
        claim = rank_swapped_claim(self.method, self.facts)
        parts = {"records": self.partners} if self.partners else {}
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim, parts=parts)
        changed = pa.table({n: pa.array(v, self.old[n].type) for n, v in self.changed.items()})
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(forge: Callable[[RankForgery], object], message: str, name: str = "each", alone: bool = True) -> None:
    forgery = RankForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def by_rank(f: RankForgery, area: str) -> list[int]:
    rows = [row for row, where in enumerate(f.old["area"].to_pylist()) if where == area]
    return sorted(rows, key=lambda row: f.old["y"][row].as_py())


def test_a_value_from_nowhere():
    def forge(f: RankForgery) -> None:
        f.changed["y"][3] = 1000

    refused(forge, "a record does not have the value of its partner", alone=False)


def test_partners_that_lie_too_far_apart():
    def forge(f: RankForgery) -> None:
        rows = by_rank(f, "n")
        f.pair("partner_1", "y", rows[3], rows[8])  # 4 ranks are allowed: a tenth of 40

    refused(forge, "2 records took a value from farther away than stated")


def test_partners_that_the_key_does_not_draw():
    """Only who has the key can tell; the others are told that draws are asserted."""

    def near(f: RankForgery) -> None:
        rows = by_rank(f, "n")
        place = {row: rank for rank, row in enumerate(rows)}
        pairs = [(rank, place[int(f.partners["partner_1"][row])]) for row, rank in place.items()]
        one, other = next(
            (one, other)
            for one in pairs
            for other in pairs
            if one[0] < other[0] < one[1] and one[0] < one[1] and abs(other[1] - one[1]) <= 4
        )
        f.pair("partner_1", "y", rows[one[0]], rows[other[0]])
        f.pair("partner_1", "y", rows[one[1]], rows[other[1]])

    refused(near, "4 records have another partner than the key draws")
    refused(lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "another partner than the key draws", alone=False)
    refused(lambda f: f.method.update(version=2), "another partner than the key draws", alone=False)
    forgery = RankForgery("each")
    near(forgery)
    forgery.key = None
    assert forgery.verdict().holds
    assert "that partners were drawn at random" in forgery.verdict().asserted


def alone(f: RankForgery, name: str, column: str, rows: list[int]) -> None:
    """Nobody of some rows has a partner."""
    for row in rows:
        f.pair(name, column, row, row)


def test_values_that_were_not_exchanged():
    def all_but_one_pair(f: RankForgery) -> None:
        f.key = None
        rows = by_rank(f, "n")
        alone(f, "partner_1", "y", [*rows, *by_rank(f, "s")])
        f.pair("partner_1", "y", rows[0], rows[1])

    def one_pair(f: RankForgery) -> None:
        f.key = None
        row = by_rank(f, "n")[0]
        alone(f, "partner_1", "y", [row, int(f.partners["partner_1"][row])])

    refused(all_but_one_pair, "76 records kept a value that could have been exchanged")
    refused(one_pair, "1 record kept a value that could have been exchanged")


def test_nothing_exchanged():
    def forge(f: RankForgery) -> None:
        f.key = None
        f.method["share"] = 0.001
        for name, column in (("partner_0", "x"), ("partner_1", "y")):
            alone(f, name, column, list(range(80)))
        f.facts["kept"] = [80, 80]

    refused(forge, "no value changed")


def test_empty_fields_that_were_exchanged_with_other_columns():
    def forge(f: RankForgery) -> None:
        f.method["columns"] = f.facts["columns"] = ["y", "x"]
        values = f.old["x"].to_pylist()
        del f.changed["z"]
        f.changed["x"] = [values[row] for row in f.partners["partner_0"]]
        same = [None in (a, b) or a == b for a, b in zip(values, f.changed["x"], strict=True)]
        f.facts["kept"] = [f.facts["kept"][0], sum(same)]

    refused(forge, "columns with empty fields were exchanged together", "joint")


def test_draws_of_a_seed():
    def seed(f: RankForgery) -> None:
        f.key = ds.Key(bytes(32), insecure=True)

    def unsaid(f: RankForgery) -> None:
        f.key = None
        f.facts["insecure"] = ""

    for forge in (seed, unsaid, lambda f: f.facts.update(insecure=True)):
        refused(forge, "it is not said whether draws came from a seed, or wrongly")


def test_partners_of_other_rows():
    for name in ("partner_0", "partner_1"):
        for rows in (slice(79), [*range(80), 0]):
            refused(
                lambda f, name=name, rows=rows: f.partners.update({name: f.partners[name][rows]}),
                "the partners of the records are not stated",
            )


def test_partners_without_a_value_that_stand_later():
    refused(lambda f: f.pair("partner_0", "x", 1, 5), "partners lie in different strata, or have no value", alone=False)


def test_columns_that_were_exchanged_together_over_too_long_a_way():
    def forge(f: RankForgery) -> None:
        rows = by_rank(f, "n")
        for column in ("y", "z"):
            f.pair("partner_0", column, rows[2], rows[7])

    refused(forge, "2 records took a value from farther away than stated", "joint")


def lie_about_original(role: str = "numeric", kind: pa.DataType | None = None) -> list[str]:
    """What the checker says where a column of digits had another role, or another type."""
    data = ds.Microdata(pa.table({"x": [3, 1, 4, 0, 5, 9, 2, 6]}), numeric="x")
    custodian = ds.protect(data, ds.RankSwap(["x"], 0.5), key=ds.Key(bytes(32))).custodian
    original, step = custodian.original, custodian.steps[0]
    kind = kind or pa.int64()
    info = {"x": replace(original.about("x"), role=role)}
    changed = pa.table({"x": step.changed["x"].cast(kind)})
    before = replace(original, columns=pa.table({"x": original.columns["x"].cast(kind)}), info=info)
    lie = replace(custodian, original=before, steps=(replace(step, changed=changed),), key=None)
    return [refusal.message for refusal in check_records(lie, lie.public()).refused]


def test_columns_that_hold_nothing_to_exchange():
    assert lie_about_original() == []
    assert lie_about_original(kind=pa.string()) == ["values were exchanged that have no order"]
    assert lie_about_original(role="weight") == ["a column was exchanged that holds no values"]


def test_partners_of_different_strata_or_without_a_value():
    def across(f: RankForgery) -> None:
        f.pair("partner_1", "y", by_rank(f, "n")[0], by_rank(f, "s")[0])

    def empty(f: RankForgery) -> None:
        f.pair("partner_0", "x", 0, 10)

    refused(across, "partners lie in different strata, or have no value")
    refused(empty, "partners lie in different strata, or have no value")


def test_partners_that_do_not_have_each_other():
    def forge(f: RankForgery) -> None:
        f.partners["partner_1"][:] = np.roll(f.partners["partner_1"], 1)

    refused(forge, "records did not exchange their values in pairs")
    refused(lambda f: f.partners["partner_1"].__setitem__(0, -1), "records did not exchange their values in pairs")
    refused(lambda f: f.partners["partner_1"].__setitem__(0, 80), "records did not exchange their values in pairs")


def test_partners_that_are_not_stated():
    refused(lambda f: f.partners.clear(), "the partners of the records are not stated")
    refused(lambda f: f.partners.pop("partner_1"), "the partners of the records are not stated")
    refused(
        lambda f: f.partners.update(partner_1=f.partners["partner_0"]),
        "the partners of the records are not stated",
        "joint",
    )


def test_numbers_of_unchanged_records():
    refused(lambda f: f.facts.update(kept=[0, 0]), "another number of records kept their value than stated")


def test_other_columns():
    refused(lambda f: f.changed.update(z=[0] * 80), "other columns changed than the stated ones")
    refused(lambda f: f.facts.update(columns=["y", "x"]), "the columns are not those that the method names")
    refused(lambda f: f.facts.update(kept=[1]), "how records were exchanged is not what the method says")


@pytest.mark.parametrize("lie", [{"strata": []}, {"strata": ["z"]}])
def test_other_strata(lie):
    refused(lambda f: f.facts.update(lie), "the strata are not those of the records")


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none(share):
    refused(lambda f: f.method.update(share=share), "how records were exchanged is not what the method says")


def test_values_that_were_brought_back():
    """Neighbours exchange, and exchange again: the public file is the original one."""
    data = ds.Microdata(pa.table({"x": [3, 1, 4, 0, 5, 9, 2, 6]}), numeric="x")
    custodian = ds.protect(data, ds.RankSwap(["x"], 0.125), key=ds.Key(bytes(32)), keep_order=True).custodian
    there = custodian.steps[0]
    back = replace(there, changed=pa.table({"x": custodian.original.columns["x"]}))
    lie = replace(custodian, steps=(there, back))
    assert lie.public().records.columns.equals(custodian.original.columns)
    verdict = check_records(lie, lie.public())
    assert [r.message for r in verdict.refused] == ["values were exchanged twice, which brings many back"]
