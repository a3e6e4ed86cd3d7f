"""Patterns hold codes and statuses, and nothing that could lead to a value."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.model.pattern import PatternTable


def table() -> ds.Table:
    return ds.examples.small_table().assess(ds.PPercent(10))


def release() -> ds.Release:
    return ds.protect(table(), ds.Suppress())


def linked() -> ds.TableSet:
    frame = pa.table({"region": ["N"] * 9 + ["S"] * 9, "size": ["1", "2", "3"] * 6, "x": list(range(10, 28))})
    region, size = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["1", "2", "3"])
    specs = [ds.TableSpec(by={"region": region}, name="a"), ds.TableSpec(by={"region": region, "size": size}, name="b")]
    return ds.tabulate(frame, specs=specs).assess(ds.MinFrequency(4))


def test_a_release_and_a_table_have_a_pattern():
    done = release()
    pattern = done.pattern()
    assert pattern.count("unsafe") == 1
    assert pattern.count("secondary") == int(done.custodian.withheld(0).sum()) - 1
    assert len(pattern) == 16
    assert table().pattern().count("secondary") == 0
    assert [len(part) for part in linked().pattern().tables] == [3, 12]


def test_empty_cells_are_no_part_of_a_pattern():
    frame = pa.table({"region": ["N", "N", "N"], "x": [1, 2, 3]})
    made = ds.tabulate(frame, by={"region": ds.Hierarchy.flat(["N", "S"])}, value="x", cells="all")
    assert made.assess(ds.MinContributors(2)).pattern().cells() == [("Total",), ("N",)]


def test_no_value_level_or_count_is_in_a_pattern(tmp_path):
    """Unusual numbers are planted in every field of the table."""
    base = table()
    canary = 777_000_000_000 + np.arange(len(base), dtype=np.int64) * 13
    holding = base.contributions["holding"]
    planted = base.with_(
        value=canary,
        cost=canary + 0.5,
        key_sum=canary,
        records=canary,
        lower_bound=canary - 5,
        upper_bound=canary + 5,
        manual_lower=canary,
        notes=("canary 777000",),
        contributions={"holding": replace(holding, count=canary, total=canary, top=holding.top + 777_000_000)},
        assessment=replace(base.assessment, lower=canary, upper=canary),
    )
    pattern = planted.pattern()
    pattern.write(tmp_path / "pattern.csv")
    shown = [repr(pattern), pattern._repr_html_(), str(pattern.columns()), (tmp_path / "pattern.csv").read_text()]
    assert not any("777" in text for text in shown)
    packed = pickle.dumps(pattern)
    assert b"777" not in packed
    assert not any(value.tobytes() in packed for value in canary)


def test_the_digest_is_of_what_is_said_and_not_of_how():
    part = release().pattern().tables[0]
    turned = PatternTable(
        part.name,
        part.variables[::-1],
        part.code_lists[::-1],
        part.codes[::-1, ::-1],
        part.status[::-1],
    )
    pattern = ds.Pattern((part,))
    assert ds.Pattern((turned,)).digest == pattern.digest
    assert ds.Pattern((part.at(part.withheld),)).digest == pattern.digest
    assert ds.Pattern((part.at(part.status == 2),)).digest != pattern.digest
    assert pattern.renamed({"turnover": "other"}).digest != pattern.digest


def test_cells_are_found_by_codes_whatever_the_order_of_variables_and_lists():
    pattern = release().pattern()
    part = pattern.tables[0]
    turned = ds.Pattern(
        (PatternTable("", part.variables[::-1], part.code_lists[::-1], part.codes[:, ::-1], part.status),)
    )
    assert np.array_equal(turned.placed(table()).status[0], pattern.placed(table()).status[0])
    assert turned.placed(table()).unknown == ()


def test_cells_that_a_table_does_not_have_are_named():
    pattern = ds.read_pattern(
        pa.table({"trade": ["mining", "food"], "region": ["South", ""], "status": ["secondary", "unsafe"]}),
        variables=["trade", "region"],
    )
    placed = pattern.placed(table())
    assert placed.unknown == ("trade=mining, region=South",)
    assert placed.status[0][table().row(trade="food")] == 2


def test_a_table_that_is_not_there_or_has_other_variables_is_refused():
    pattern = release().pattern()
    with pytest.raises(InputError, match=r"no table 'turnover'.*Available: 'a', 'b'.*renamed"):
        pattern.placed(linked())
    with pytest.raises(InputError, match=r"does not say which of the tables.*'a', 'b'"):
        pattern.renamed({"turnover": ""}).placed(linked())
    with pytest.raises(InputError, match=r"no variable 'trade' in table 'a'"):
        pattern.renamed({"turnover": "a"}).placed(linked())
    short = ds.read_pattern(pa.table({"trade": ["food"], "status": ["unsafe"]}), variables=["trade"])
    with pytest.raises(InputError, match=r"Variable 'region' of table 'turnover' is not among 'trade'"):
        short.placed(table())


def test_a_total_named_twice_is_one_cell():
    pattern = ds.read_pattern(
        pa.table({"trade": ["food", "food"], "region": ["Total", ""], "status": ["secondary", "unsafe"]}),
        variables=["trade", "region"],
    )
    with pytest.raises(InputError, match=r"Two lines.*same cell: trade=food, region=Total and trade=food, region="):
        pattern.placed(table())


def test_misspelt_names_are_refused():
    pattern = release().pattern()
    with pytest.raises(ParameterError, match=r"no status 'unsaf'.*Did you mean 'unsafe'"):
        pattern.cells(status="unsaf")
    with pytest.raises(ParameterError, match=r"no status"):
        pattern.count("X")
    with pytest.raises(ParameterError, match=r"no table 'turn'"):
        pattern.cells("turn")
    with pytest.raises(ParameterError, match=r"no table 'turn'"):
        pattern.renamed({"turn": "x"})
    with pytest.raises(ParameterError, match="different names"):
        ds.Pattern((pattern.tables[0], pattern.tables[0]))
