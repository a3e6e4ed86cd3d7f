"""Proposals of recodings: every number in them is what the recoding itself gives."""

from __future__ import annotations

import json
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli.main import main
from discreet.engine.record_set import read_record_set
from discreet.errors import NeedsError, ParameterError

TREE = ds.Hierarchy.from_nested(
    {"north": {"coast": ["N1", "N2"], "hills": ["N3", "N4"]}, "south": {"plain": ["S1", "S2"]}}, total="All"
)


def people(rows: int = 300, gaps: int = 50) -> ds.Microdata:
    draw = np.random.default_rng(5)
    return ds.Microdata(
        pa.table(
            {
                "age": pa.array([None if i % gaps == 7 else int(a) for i, a in enumerate(draw.integers(0, 95, rows))]),
                "area": np.array(["N1", "N2", "N3", "N4", "S1", "S2"])[draw.integers(0, 6, rows)],
                "job": np.array([f"{n:03d}" for n in range(120, 160)])[draw.integers(0, 40, rows)],
                "school": np.array(["1", "2", "3", "4", "5", "9"])[np.minimum(draw.geometric(0.4, rows) - 1, 5)],
                "sex": np.array(["m", "f", "x"])[np.minimum(draw.integers(0, 250, rows) // 124, 2)],
            }
        ),
        keys=["age", "area", "job", "school", "sex"],
        hierarchies={"area": TREE},
        missing_codes={"school": ["9"]},
    )


DATA = people()
RULE = ds.KAnonymity(3, keys=["age", "area", "school"])


def unsafe_after(data: ds.Microdata, methods: list[ds.Recode], rule: ds.KAnonymity) -> int:
    """Unsafe records after recodings, counted one by one."""
    records = read_record_set(data)
    for method in methods:
        records = records.with_columns(method.run(records).changed)
    rows = list(zip(*(records[name].to_pylist() for name in rule.keys), strict=True))
    return sum(rows.count(row) < rule.k for row in rows)


def bits(values: list) -> float:
    shares = [values.count(value) / len(values) for value in set(values)]
    return -sum(share * log2(share) for share in shares)


def test_every_number_is_what_the_recoding_gives():
    found = ds.propose_recodes(DATA, rules=RULE)
    records = read_record_set(DATA)
    assert found.unsafe == unsafe_after(DATA, [], RULE)
    assert len(found.proposals) >= 15
    for proposal in found.proposals:
        name = proposal.method.column
        old, new = records[name].to_pylist(), proposal.method.run(records).changed[name].to_pylist()
        assert proposal.unsafe == (found.unsafe, unsafe_after(DATA, [proposal.method], RULE))
        assert proposal.loss == pytest.approx(1 - bits(new) / bits(old))
        changed = sum(str(a) != str(b) for a, b in zip(old, new, strict=True))
        assert proposal.changed == pytest.approx(changed / len(old))
        assert proposal.gain == pytest.approx((found.unsafe - proposal.unsafe[1]) / proposal.loss)
    gains = [proposal.gain for proposal in found.proposals]
    assert gains == sorted(gains, reverse=True)


def test_the_sequence_ends_where_protect_agrees():
    data, rule = people(gaps=10), ds.KAnonymity(2, keys=["age", "area"])
    found = ds.propose_recodes(data, rules=rule)
    assert found.left == unsafe_after(data, found.methods, rule)
    assert [step.unsafe[0] for step in found.steps] == [found.unsafe, *(s.unsafe[1] for s in found.steps[:-1])]
    assert found.left == 0
    release = ds.protect(
        data.with_(sensitive=["job"], keys=["age", "area", "school", "sex"]), found.methods, rules=rule
    )
    assert release.verify().holds
    assert len({method.column for method in found.methods}) == len(found.methods)


def test_all_ways_that_make_sense_are_there():
    found = ds.propose_recodes(DATA, rules=ds.KAnonymity(2), most=1)
    ways = {(p.method.column, p.what) for p in found.proposals}
    assert ("area", "level 2 of its hierarchy") in ways
    assert ("area", "level 1 of its hierarchy") in ways
    assert ("job", "first 2 characters") in ways
    assert ("age", "intervals of 10") in ways
    assert any(column == "age" and what.startswith("top ") for column, what in ways)
    assert any(column == "age" and what.startswith("bottom ") for column, what in ways)
    assert ("school", "1 and 2 together") in ways
    merged = [p.method.map for p in found.proposals if p.method.column == "school" and p.method.map]
    assert merged
    assert not any("9" in codes for codes in merged)  # it stands for unknown


def test_rare_codes_are_put_together():
    codes = ["a"] * 150 + ["b"] * 150 + ["c", "d"]
    found = ds.propose_recodes(ds.Microdata(pa.table({"x": codes}), keys="x"), rules=ds.KAnonymity(2))
    assert [(p.what, p.unsafe, p.method.map) for p in found.proposals] == [
        ("2 rare codes together", (2, 0), {"c": "other", "d": "other"})
    ]


def test_rules_of_several_sizes_and_keys_are_counted_as_they_say():
    rule = ds.KAnonymity(4, keys=["age", "area", "school"], size=2)
    assert ds.propose_recodes(DATA, rules=rule, most=0).unsafe == int(rule.evaluate(read_record_set(DATA)).unsafe.sum())
    both = [rule, ds.KAnonymity(2, keys=["job"])]
    whole = [r.evaluate(read_record_set(DATA)).unsafe for r in both]
    assert ds.propose_recodes(DATA, rules=both, most=0).unsafe == int((whole[0] | whole[1]).sum())


def test_rules_of_other_kinds_are_asked_themselves():
    class OnlyTheYoung(ds.KAnonymity):
        def resolved(self, records):
            return self

        def evaluate(self, records):
            found = super().evaluate(records)
            young = np.array([str(age) < "5" for age in read_record_set(DATA)["age"].to_pylist()])
            return found._replace(unsafe=found.unsafe & young)

    rule = OnlyTheYoung(3, keys=("age", "area"))
    found = ds.propose_recodes(DATA, rules=rule, most=2)
    assert found.unsafe == int(rule.evaluate(read_record_set(DATA)).unsafe.sum())
    assert 0 < found.unsafe < ds.propose_recodes(DATA, rules=ds.KAnonymity(3, keys=rule.keys), most=0).unsafe
    for proposal in found.proposals[:3]:
        records = read_record_set(DATA)
        after = rule.evaluate(records.with_columns(proposal.method.run(records).changed))
        assert proposal.unsafe[1] == int(after.unsafe.sum())


def test_too_many_subsets_are_refused_before_any_work():
    columns = {f"k{i}": ["a", "b"] for i in range(20)}
    data = ds.Microdata(pa.table(columns), keys=list(columns))
    with pytest.raises(ParameterError, match="20 keys have 184,756 subsets of 10"):
        ds.propose_recodes(data, rules=ds.KAnonymity(2, size=10))


def test_the_rules_of_assessed_records_are_taken():
    assert ds.propose_recodes(DATA.assess(RULE), most=1).unsafe == ds.propose_recodes(DATA, rules=RULE, most=1).unsafe


def test_a_target_and_variables_end_the_search_early():
    found = ds.propose_recodes(DATA, rules=RULE, variables=["area"])
    assert {step.method.column for step in found.steps} == {"area"}
    assert found.left > 0
    half = ds.propose_recodes(DATA, rules=RULE, target=found.unsafe // 2)
    assert half.left <= found.unsafe // 2 < half.steps[-1].unsafe[0]


def test_the_summary_is_a_small_table():
    lines = ds.propose_recodes(DATA, rules=RULE).summary().splitlines()
    assert lines[0].endswith("unsafe records of 300.")
    assert lines[1].split() == ["column", "recoding", "unsafe", "after", "loss", "changed"]
    assert "In sequence:" in lines
    safe = ds.propose_recodes(ds.Microdata(pa.table({"x": ["a"] * 5}), keys="x"), rules=ds.KAnonymity(2))
    assert safe.summary() == "0 unsafe records of 5.\nNo recoding removes an unsafe record."
    assert safe.methods == []


def test_what_is_missing_is_said():
    with pytest.raises(NeedsError, match=r"needs a rule that says which records are unsafe\. Give rules="):
        ds.propose_recodes(DATA)
    with pytest.raises(ParameterError, match="PPercent is no rule for records"):
        ds.propose_recodes(DATA, rules=ds.PPercent(10))
    with pytest.raises(ParameterError, match="There is no key 'sexx' in the rules"):
        ds.propose_recodes(DATA, rules=RULE, variables=["sexx"])
    with pytest.raises(ParameterError, match="target= and most= cannot be negative"):
        ds.propose_recodes(DATA, rules=RULE, target=-1)
    table = ds.examples.small_table().assess(ds.PPercent(10))
    with pytest.raises(ParameterError, match="rules= is for records; a table is assessed"):
        ds.propose_recodes(table, rules=ds.KAnonymity(2))


def test_the_command_line_proposes_recodings_of_records(tmp_path):
    from pyarrow import csv

    csv.write_csv(DATA.source, tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(
        """version = 1
protect = []
[data]
file = "people.csv"
keys = ["age", "area"]
[hierarchies]
area = { parents = { N1 = "north", N2 = "north", N3 = "north", N4 = "north", S1 = "south", S2 = "south" } }
[[rules]]
kind = "k_anonymity"
k = 2
[records]
[output]
directory = "out"
"""
    )
    done = CliRunner().invoke(main, ["redesign", str(tmp_path / "job.toml"), "--most", "2", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["unsafe"][0] > told["unsafe"][1]
    assert all(method["method"] == "recode" for method in told["recodes"])
    assert "level 1 of its hierarchy" in CliRunner().invoke(main, ["redesign", str(tmp_path / "job.toml")]).output
    assert "In sequence:" in CliRunner().invoke(main, ["redesign", str(tmp_path / "job.toml")]).output
    refused = CliRunner().invoke(main, ["redesign", str(tmp_path / "job.toml"), "--no-merge"])
    assert "are for tables, and the recipe publishes records" in refused.output
    assert not (tmp_path / "out").exists()
