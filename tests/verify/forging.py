"""Small releases of every method that alters values, and hands to forge them without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.model.custodian import TableCustodian
from discreet.model.table import CellStatus
from discreet.verify import check_release
from discreet.verify.verdict import Verdict

KEY = ds.Key(bytes(range(32)))
AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
KIND = ds.Hierarchy.flat(["x", "y", "z"])
BY = {"area": AREA, "kind": KIND}


def firms(n: int = 90, seed: int = 5) -> pa.Table:
    """Firms with values, keys, weights and households."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(n),
            "company": rng.integers(0, n // 3, n),
            "area": rng.choice(AREA.base_codes, n),
            "kind": rng.choice(KIND.base_codes, n, p=[0.6, 0.3, 0.1]),
            "value": np.rint(rng.lognormal(6, 1.2, n)).astype(np.int64) + 50,
            "w": np.round(1 + rng.random(n) * 2, 2),
            "rkey": np.random.default_rng(seed + 1).random(n).round(12),
            "whole": np.random.default_rng(seed + 2).integers(0, 256, n),
            "half": 2 * (np.arange(n) % 2),
            "other_half": 2 * (np.arange(n) // 2 % 2),
        }
    )


def magnitude(**options: Any) -> ds.Table:
    table = ds.tabulate(firms(), by=BY, value="value", contributor="company", record_key="rkey", **options)
    return table.assess(ds.PPercent(15), ds.MinContributors(3))


def counts(record_key: str = "rkey", n: int = 90, **options: Any) -> ds.Table:
    return ds.tabulate(firms(n), by=BY, record_key=record_key, **options).assess(ds.MinFrequency(3))


def linked_counts() -> ds.TableSet:
    specs = [ds.TableSpec(by=BY, name="both"), ds.TableSpec(by={"area": AREA}, name="area")]
    return ds.tabulate(ds.Microdata(firms(), record_key="rkey"), specs=specs).assess(ds.MinFrequency(3))


def linked() -> ds.TableSet:
    specs = [
        ds.TableSpec(by=BY, value="value", name="both"),
        ds.TableSpec(by={"area": AREA}, value="value", name="area"),
    ]
    return ds.tabulate(ds.Microdata(firms(), contributor="company"), specs=specs).assess(ds.PPercent(15))


def counts_and_values() -> ds.TableSet:
    """Counts first, and a table of values beside them."""
    specs = [ds.TableSpec(by=BY, name="counts"), ds.TableSpec(by={"kind": KIND}, value="value", name="values")]
    return ds.tabulate(ds.Microdata(firms(), contributor="company"), specs=specs).assess(ds.MinContributors(3))


def small_counts() -> ds.Table:
    return ds.tabulate(firms(30, seed=8), by=BY).assess(ds.MinFrequency(3))


def points(**options: Any) -> ds.Table:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0, 2, (2, 120))
    frame = pa.table({"x": x, "y": y, "sales": np.rint(rng.lognormal(5, 1, 120)).astype(np.int64)})
    size = 3.0 if options else 1.7
    return ds.tabulate(frame, by={"place": ds.HexGrid("x", "y", size)}, **options).assess(ds.MinContributors(3))


RELEASES: dict[str, Callable[[], ds.Release]] = {
    "adjust": lambda: ds.protect(magnitude(), ds.Adjust(most=3, limit=80)),
    "adjust-total": lambda: ds.protect(magnitude(), ds.Adjust(fixed="total")),
    "adjust-forced": lambda: ds.protect(
        ds.tabulate(firms(), by=BY, value="value", contributor="company")
        .marked({("South", "y"): "P"})
        .assess(ds.PPercent(15)),
        ds.Adjust(zeros="kept"),
    ),
    "adjust-zeros": lambda: ds.protect(
        ds.tabulate(firms(25), by=BY, value="value", contributor="company", cells="all").assess(ds.PPercent(15)),
        ds.Adjust(zeros="kept"),
    ),
    "adjust-linked": lambda: ds.protect(linked(), ds.Adjust()),
    "round": lambda: ds.protect(magnitude(), ds.Round(5000)),
    "round-conventional": lambda: ds.protect(counts(), ds.Round(5, rule="conventional", levels=False)),
    "round-unbiased": lambda: ds.protect(
        counts(cells="all", n=25), ds.Round(5, rule="unbiased", levels=False), key=KEY
    ),
    "intervals": lambda: ds.protect(magnitude(), ds.Intervals(algorithm="directions"), key=KEY),
    "intervals-linked": lambda: ds.protect(linked(), ds.Intervals(algorithm="directions"), key=KEY),
    "cell-key": lambda: ds.protect(counts(cells="all", n=25), ds.CellKey()),
    "cell-key-linked": lambda: ds.protect(linked_counts(), ds.CellKey()),
    "cell-key-whole": lambda: ds.protect(counts("whole"), ds.CellKey(modulus=256)),
    "cell-key-values": lambda: ds.protect(magnitude(), ds.CellKey(magnitudes={"small": 0.05, "top": 2})),
    "cell-key-additive": lambda: ds.protect(counts(), ds.CellKey(additive="integer")),
    "cell-key-additive-all": lambda: ds.protect(counts(cells="all", n=25), ds.CellKey(additive="integer")),
    "small-count": lambda: ds.protect(small_counts(), ds.SmallCount(base=4), key=KEY),
    "noise": lambda: ds.protect(magnitude(), ds.MultiplicativeNoise("id", 1.1, 1.2, p=10, limit=0.15), key=KEY),
    "noise-all": lambda: ds.protect(
        ds.tabulate(firms(25), by=BY, value="value", contributor="company", cells="all").assess(ds.PPercent(15)),
        ds.MultiplicativeNoise("id", 1.1, 1.2),
        key=KEY,
    ),
    "noise-counts": lambda: ds.protect(counts_and_values(), ds.MultiplicativeNoise("id", 1.1, 1.2), key=KEY),
    "drop-add": lambda: ds.protect(counts(), ds.DropAdd("id", rate=0.1), key=KEY),
    "drop-q": lambda: ds.protect(counts(), ds.DropAdd("id", subsample=5), key=KEY),
    "drop-intervals": lambda: ds.protect(
        ds.tabulate(firms(), by=BY, weight="w").assess(ds.MinFrequency(3)),
        ds.DropAdd("id", subsample=5, replicates=("half", "other_half")),
        key=KEY,
    ),
    "drop-weighted": lambda: ds.protect(
        ds.tabulate(firms(25), by=BY, weight="w", cells="all").assess(ds.MinFrequency(3)),
        ds.DropAdd("id", subsample=3),
        key=KEY,
    ),
    "drop-values": lambda: ds.protect(magnitude(), ds.DropAdd("id", subsample=5), key=KEY),
    "swap": lambda: ds.protect(counts(cells="all", n=25), ds.Swap("area", "id", profile=["half"], rate=0.4), key=KEY),
    "swap-linked": lambda: ds.protect(linked_counts(), ds.Swap("area", "id", rate=0.4), key=KEY),
    "redistribute": lambda: ds.protect(points(), ds.Redistribute(outliers="redistribute", algorithm="optimal")),
    "redistribute-values": lambda: ds.protect(points(value="sales"), ds.Redistribute(max_share=0.6, p=10)),
}


@cache
def made(name: str) -> ds.Release:
    """An honest release of a method; its claims hold."""
    release = RELEASES[name]()
    assert release.verify().holds, release.verify()
    return release


class Forgery:
    """A release that can be rewritten: values, evidence and cells; what is public follows from them."""

    def __init__(self, name: str) -> None:
        self.custodian: TableCustodian = made(name).custodian
        self.published = [column.copy() for column in self.custodian.published or ()]
        self.intervals = [(low.copy(), high.copy()) for low, high in self.custodian.intervals or ()]
        self.tables = list(self.custodian.tables.tables)
        self.status = [status.copy() for status in self.custodian.status]
        self.evidence = self.custodian.evidence[0]

    @property
    def table(self) -> ds.Table:
        return self.tables[0]

    @property
    def true(self) -> np.ndarray:
        """True values of the first table in units of the evidence."""
        return self.table.value * 10 ** (self.evidence.decimals - self.table.decimals)

    def rows(self, wanted: np.ndarray) -> list[int]:
        found = np.flatnonzero(wanted).tolist()
        assert found, "no cell is such"
        return found

    def finest(self) -> np.ndarray:
        """Rows of the first table that are no sums of others."""
        base = [np.isin(np.array(h.codes), h.base_codes) for h in self.table.spec.hierarchies]
        return np.all([b[self.table.codes[:, k]] for k, b in enumerate(base)], axis=0)

    def above(self, row: int) -> np.ndarray:
        """A row of the first table and all sums that it stands in."""
        inside = np.ones(len(self.table), np.bool_)
        for k, h in enumerate(self.table.spec.hierarchies):
            base = set(h.covered(h.codes[self.table.codes[row, k]]))
            holds = np.array([base <= set(h.covered(code)) for code in h.codes])
            inside &= holds[self.table.codes[:, k]]
        return inside

    def move(self, row: int, by: int) -> None:
        """Move a published value and all sums that it stands in."""
        self.published[0][self.above(row)] += by

    def set(self, **changes: Any) -> None:
        self.evidence = replace(self.evidence, **changes)

    def method(self, **changes: Any) -> None:
        self.set(method={**self.evidence.method, **changes})

    def facts(self, **changes: Any) -> None:
        self.set(facts={**self.evidence.facts, **changes})

    def part(self, name: str, **columns: Any) -> None:
        self.set(parts={**self.evidence.parts, name: {**self.evidence.parts[name], **columns}})

    def cells(self, number: int = 0, **columns: Any) -> None:
        self.tables[number] = self.tables[number].with_(**columns)

    def verdict(self) -> Verdict:
        tables = ds.TableSet(self.tables, self.custodian.tables.equations)
        custodian = replace(
            self.custodian,
            tables=tables,
            status=tuple(self.status),
            evidence=(self.evidence,),
            published=tuple(self.published) or None,
            intervals=tuple(self.intervals) or None,
        )
        return check_release(custodian, custodian.public())

    def reasons(self) -> Mapping[str, list[str]]:
        """Messages of all refusals, with the places that they name."""
        found: dict[str, list[str]] = {}
        for refusal in self.verdict().refused:
            found.setdefault(refusal.message, []).append(refusal.where)
        return found


UNSAFE = CellStatus.UNSAFE

Forge = Callable[[Forgery], object]
WORDING = "the release claims something that this checker cannot show"
"""Figures of a forged release differ from those of its claim, which is noticed besides."""


def refused_for(name: str, forge: Forge, message: str, *, alone: bool = False) -> list[str]:
    """Where a forged release is refused for one reason; with nothing but the wording besides, if asked."""
    forgery = Forgery(name)
    forge(forgery)
    found = forgery.reasons()
    assert message in found, f"{message!r} is not among {sorted(found)}"
    if alone:
        assert set(found) <= {message, WORDING}, sorted(found)
    return found[message]
