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
from discreet.model.release import RecordCustodian
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
        lie = replace(self.custodian, steps=(replace(self.step, evidence=evidence, changed=changed),))
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
        f.pair("partner_1", "y", rows[2], rows[7])  # 4 ranks are allowed: a tenth of 40

    refused(forge, "2 records took a value from farther away than stated")
    near = RankForgery("each")
    rows = by_rank(near, "n")
    near.pair("partner_1", "y", rows[2], rows[6])
    assert not near.verdict().refused


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
    refused(lambda f: f.facts.update(kept=[1]), "the columns are not those that the method names")


@pytest.mark.parametrize("lie", [{"strata": []}, {"strata": ["z"]}])
def test_other_strata(lie):
    refused(lambda f: f.facts.update(lie), "how records were exchanged is not what the method says")


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none(share):
    refused(lambda f: f.method.update(share=share), "how records were exchanged is not what the method says")
