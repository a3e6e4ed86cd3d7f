"""Batches of records with holdings, weights, requests and counts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.errors import DiscreetError
from discreet.recipe.batch import convert_batch, run_batch
from discreet.recipe.schema import read_recipe

RDA = """<SEPARATOR> ";"
Area 5 "unknown"
  <RECODEABLE>
Trade 6
  <RECODEABLE>
Firm 4
  <HOLDING>
Wgt 4
  <WEIGHT>
Asked 1
  <REQUEST> "y" "z"
Turnover 8
  <NUMERIC>
"""
BATCH = """<OPENMICRODATA> "firms.csv"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "Area""Trade"|"{response}"||{cost}
<SAFETYRULE> {rules}
<READMICRODATA>
<SUPPRESS> {method}
<WRITETABLE> (1,5,HI+,"out.tab")
"""


def batch(folder: Path, rules: str, response: str = "Turnover", cost: str = "", method: str = "MOD(1)") -> Path:
    draw = random.Random(4)
    lines = []
    for number in range(400):
        area = draw.choice(["north", " north", "south", "east", "unknown"])
        trade = draw.choice(["food", "metal", "wood"])
        asked = "y" if number % 40 == 0 else "z" if number % 55 == 0 else "n"
        lines.append(f"{area};{trade};F{draw.randrange(60)};{draw.randrange(1, 4)};{asked};{draw.randrange(1, 5000)}")
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")
    (folder / "firms.rda").write_text(RDA)
    path = folder / "firms.arb"
    path.write_text(BATCH.format(rules=rules, response=response, cost=cost, method=method))
    return path


def table_of(path: Path) -> ds.Table:
    table: ds.Table = run_batch(path).runs[0].release.custodian.tables.tables[0]
    return table


def test_codes_padded_with_blanks_are_one_code(tmp_path: Path) -> None:
    table = table_of(batch(tmp_path, "P(10)"))
    codes = table.spec.by["Area"].codes
    assert sorted(code.strip() for code in codes) == ["Total", "east", "north", "south", "unknown"]
    assert table.records is not None
    assert int(table.records[0]) == 400


def test_first_rules_are_for_records_and_later_ones_for_holdings(tmp_path: Path) -> None:
    path = batch(tmp_path, "P(10,1)|P(0)|P(20,2)|NK(2,85)|FREQ(3,10)|FREQ(4,15)")
    [text] = convert_batch(path).values()
    rules = [(rule["kind"], rule.get("level", "holding")) for rule in read_recipe(text).rules]
    assert rules == [
        ("p_percent", "record"),
        ("p_percent", "holding"),
        ("dominance", "holding"),
        ("min_frequency", "holding"),
        ("min_contributors", "holding"),
    ]
    assert run_batch(path).runs[0].verdict.holds


def test_requests_protect_those_who_asked(tmp_path: Path) -> None:
    table = table_of(batch(tmp_path, "REQ(5,10,2,25)"))
    assert table.assessment is not None
    assert table.assessment.rules[0]["kind"] == "request"
    assert table.assessment.rules[0]["level"] == "record"
    assert table.unsafe.any()


def test_weights_count_only_when_asked(tmp_path: Path) -> None:
    plain, weighted = (table_of(batch(tmp_path, rules)) for rules in ("FREQ(40,10)", "FREQ(40,10)|WGT(1)"))
    assert plain.values[0] < weighted.values[0]
    assert plain.unsafe.sum() > weighted.unsafe.sum()


def test_missing_codes_are_safe_when_asked(tmp_path: Path) -> None:
    lone, free = (table_of(batch(tmp_path, rules)) for rules in ("FREQ(60,10)", "FREQ(60,10)|MIS(1)"))
    rows = [row for row in range(len(lone)) if "unknown" in lone.cell_name(row)]
    assert lone.unsafe[rows].any()
    assert not free.unsafe[rows].any()


@pytest.mark.parametrize("rules", ["FREQ(28,10)", "FREQ(3,10)|ZERO(2)"])
def test_counts_are_tables_of_frequencies(tmp_path: Path, rules: str) -> None:
    table = table_of(batch(tmp_path, rules, response="<freq>", cost="-2,0.5"))
    assert table.spec.value is None
    assert int(table.value[0]) == 400
    assert table.unsafe.any() == ("28" in rules)


def test_rules_of_concentration_make_no_sense_for_counts(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="found 'P for a table of counts'; expected FREQ"):
        run_batch(batch(tmp_path, "P(10)", response="<freq>"))


@pytest.mark.parametrize(
    ("cost", "kind", "exponent"),
    [("", "value", 1), ("-1", "count", 1), ("-3", "distance", 1), ('"Turnover",0', "log", 1), ("-1,0.5", "count", 0.5)],
)
def test_costs_of_batches(tmp_path: Path, cost: str, kind: str, exponent: float) -> None:
    path = batch(tmp_path, "P(10)", cost=cost)
    [text] = convert_batch(path).values()
    record = read_recipe(text).protect[0]
    assert (record["cost"], record.get("exponent", 1)) == (kind, exponent)
    assert run_batch(path).runs[0].verdict.holds


LINKED = """<OPENTABLEDATA> "one.tab"
<OPENMETADATA> "one.rda"
<SPECIFYTABLE> "A""B"|"V"||
<SAFETYRULE>
<OPENTABLEDATA> "two.tab"
<OPENMETADATA> "two.rda"
<SPECIFYTABLE> "A""C"|"V"||
<SAFETYRULE>
<READTABLE> 1
<SUPPRESS> GH(0,100)
<WRITETABLE> (1,3,AS+,"safe1.txt")
<WRITETABLE> (2,3,AS+,"safe2.txt")
"""


def test_ready_made_tables_of_several_files_are_linked(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    base = draw.integers(5, 60, (3, 3, 3))
    for name, other, axis in (("one", "B", 2), ("two", "C", 1)):
        cells = base.sum(axis=axis)
        lines = [f"a{i},x{j},{cells[i, j]},{'U' if (i, j) == (0, 0) else 'S'}" for i in range(3) for j in range(3)]
        (tmp_path / f"{name}.tab").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{name}.rda").write_text(
            f'<SEPARATOR> ","\nA\n<RECODEABLE>\n{other}\n<RECODEABLE>\nV\n<NUMERIC>\nState\n<STATUS>\n'
        )
    (tmp_path / "job.arb").write_text(LINKED)
    done = run_batch(tmp_path / "job.arb")
    assert done.runs[0].release.custodian.tables.shared() == [("V_by_A_B", "V_by_A_C", 4)]
    assert done.runs[0].verdict.holds
    [text] = convert_batch(tmp_path / "job.arb").values()
    assert [part.source for part in read_recipe(text).tables] == ["one.tab", "two.tab"]


def test_recipes_filter_and_name_roles_of_records_with_metadata(tmp_path: Path) -> None:
    batch(tmp_path, "P(10)")
    recipe = """version = 1
[data]
file = "firms.csv"
metadata = "firms.rda"
[[tables]]
by = ["Trade"]
value = "Turnover"
filter = ["Area in ['south', 'east']", "Wgt >= 2"]
weight = false
[[rules]]
kind = "p_percent"
p = 10
[[protect]]
method = "suppress"
insiders = "none"
[output]
directory = "out"
"""
    (tmp_path / "job.toml").write_text(recipe)
    table = ds.run_recipe(tmp_path / "job.toml").release.custodian.tables.tables[0]
    rows = [line.split(";") for line in (tmp_path / "firms.csv").read_text().splitlines()]
    kept = [row for row in rows if row[0] in ("south", "east") and int(row[3]) >= 2]
    assert table.values[0] == sum(int(row[5]) for row in kept)
    (tmp_path / "job.toml").write_text(recipe.replace('"firms.rda"\n', '"firms.rda"\ndelimiter = ";"\n'))
    with pytest.raises(DiscreetError, match="The metadata state the separator"):
        ds.run_recipe(tmp_path / "job.toml")
