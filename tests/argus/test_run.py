"""Batch files run end to end, and give what recipes and the API give."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, NeedsError, OutputError, ParameterError
from discreet.files.argus.rda import read_metadata
from discreet.model.table import CellStatus
from discreet.recipe.batch import convert_batch, run_batch
from discreet.recipe.schema import read_recipe
from discreet.recipe.to_batch import recipe_batch
from tests.argus.conftest import TAB, TAB_BATCH


def contents(folder: Path, *skip: str) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in skip)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_the_example_of_the_report_runs_end_to_end(job: Path) -> None:
    done = run_batch(job)
    assert len(done.runs) == 2
    assert all(run.verdict.holds for run in done.runs)
    first, second = done.runs
    table = first.release.custodian.tables.tables[0]
    assert table.shape == (9, 18)
    for run in done.runs:
        assert run.audit is not None
        assert run.audit.short == 0
    lines = (job.parent / "TestB.txt").read_text().splitlines()
    assert lines[0] == '"Size","Region","Var2","Status"'
    assert len(lines) == 163
    statuses = [int(line.rsplit(",", 1)[1]) for line in lines[1:]]
    assert statuses.count(11) == int((first.release.custodian.status[0] == CellStatus.SECONDARY).sum())
    assert statuses.count(3) + statuses.count(5) == int(table.unsafe.sum())
    assert statuses.count(14) == 162 - len(table)
    grid = (job.parent / "TestBGH.txt").read_text().splitlines()
    assert grid[0].count(",") == 18
    assert len(grid) == 11
    hidden = int(second.release.custodian.withheld(0).sum())
    assert sum(line.split(",").count("x") for line in grid) == hidden
    assert "More than asked" in done.log
    assert "TestB.txt (CONFIDENTIAL" in done.log
    assert (job.parent / "TestB.txt").stat().st_mode & 0o077 == 0
    assert (job.parent / "TestBGH.txt").stat().st_mode & 0o044 == 0o044


def test_primaries_are_those_of_the_rules_computed_by_hand(job: Path) -> None:
    table = run_batch(job).runs[0].release.custodian.tables.tables[0]
    groups: dict[tuple[str, str], list[float]] = {}
    branches = {"Nr": (1, 2, 3), "Os": (4, 5, 6, 7), "Ws": (8, 9, 10), "Zd": (11, 12)}
    branch = {f"{number:2d}": name for name, numbers in branches.items() for number in numbers}
    for line in (job.parent / "stand_in.asc").read_text().splitlines():
        size, region, amount = line[6:8], line[9:11], float(line[27:37])
        for one in (size, "Total"):
            for two in (region, branch[region], "Total"):
                groups.setdefault((one, two), []).append(amount)
    unsafe = set()
    for cell, amounts in groups.items():
        largest = sorted(amounts, reverse=True)[:3]
        if sum(largest) > 0.75 * sum(amounts) or len(amounts) < 3:
            unsafe.add(cell)
    found = {table.spec_codes(table.codes[row].tolist()) for row in np.flatnonzero(table.unsafe)}
    assert found == unsafe
    assert len(table) == len(groups)


def test_batch_recipe_and_api_give_the_same_bytes(job: Path) -> None:
    run_batch(job)
    by_batch = contents(job.parent)
    for name, text in convert_batch(job).items():
        (job.parent / name).write_text(text)
        ds.run_recipe(job.parent / name)
        (job.parent / name).unlink()
    assert contents(job.parent) == by_batch
    read = ds.read_argus(
        job.parent / "stand_in.asc", job.parent / "stand_in.rda", by=["Size", "Region"], values=["Var2"]
    )
    table = ds.tabulate(
        read.microdata, by=read.hierarchies, value="Var2", weight=False, decimals=2, name="Var2_by_Size_Region"
    )
    assessed = table.assess(ds.Dominance(3, 75), ds.MinFrequency(3, 30), profile="argus")
    settings = {"singletons": "sums", "least_contributors": 3}
    release = ds.protect(assessed, ds.Suppress(algorithm="modular", repair=True, settings=settings))
    ds.write_argus(release, job.parent / "api.txt", 2, options="AS+")
    assert (job.parent / "api.txt").read_bytes() == by_batch["TestB.txt"]
    release.save(job.parent / "api")
    public = (job.parent / "api" / "public" / "Var2_by_Size_Region.csv").read_bytes()
    assert public == by_batch["example.release-1/public/Var2_by_Size_Region.csv"]


def test_another_thread_count_gives_the_same_bytes(job: Path) -> None:
    run_batch(job)
    before = contents(job.parent)
    program = f"from discreet.recipe.batch import run_batch; run_batch({str(job)!r})"
    settings = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | settings, timeout=120)
    assert contents(job.parent) == before


def test_strict_keeps_the_pattern_of_the_engine_and_says_so(job: Path) -> None:
    done = run_batch(job, strict=True)
    release = done.runs[0].release
    method = release.custodian.evidence[0].method
    assert (method["repair"], method["insiders"], method["joint"]) == (False, None, False)
    free = run_batch(job).runs[0].release
    assert release.custodian.withheld(0).sum() <= free.custodian.withheld(0).sum()
    assert "Strict: the pattern of 'modular' is kept as it stands" in done.log
    assert "not considered: contributors" in done.log


# ---- ready-made tables -----------------------------------------------------------------------------------------


def test_a_ready_made_table_is_protected(ready: Path) -> None:
    done = run_batch(ready)
    text = (ready.parent / "safe.txt").read_text()
    assert '"x","a",x' in text
    assert text.splitlines()[0] == '"Total","Total",100'
    assert done.runs[0].verdict.holds


@pytest.mark.parametrize(("mode", "total"), [("1", 101), ("1T", 101)])
def test_totals_are_computed_when_asked(ready: Path, mode: str, total: int) -> None:
    (ready.parent / "t.tab").write_text(TAB.replace("y;b;15;3;15;0;S", "y;b;16;3;15;0;S"))
    with pytest.raises(InputError, match=r"t\.arb, line 5: .* relations do not add up"):
        run_batch(ready)
    ready.write_text(TAB_BATCH.format(mode=mode, method="MOD(1)", options="AS+"))
    done = run_batch(ready)
    assert (ready.parent / "safe.txt").read_text().splitlines()[0] == f'"Total","Total",{total},1'
    assert "not the sum of the finest cells below" in done.log


def test_a_table_that_does_not_add_up_is_taken_when_asked(ready: Path) -> None:
    (ready.parent / "t.tab").write_text(TAB.replace("y;b;15;3;15;0;S", "y;b;16;3;15;0;S"))
    ready.write_text(TAB_BATCH.format(mode=2, method="MOD(1)", options="AS+"))
    done = run_batch(ready)
    assert done.runs[0].release.custodian.tables.tables[0].slack == 1
    assert "The table does not add up" in done.log


def test_statuses_of_totals_stay_only_when_asked(ready: Path) -> None:
    (ready.parent / "t.tab").write_text(TAB.replace("y;Total;30;3;15;10;S", "y;Total;30;3;15;10;P"))
    kept = {}
    for mode in ("1", "1T"):
        ready.write_text(TAB_BATCH.format(mode=mode, method="MOD(1)", options="AS+"))
        run_batch(ready)
        lines = (ready.parent / "safe.txt").read_text().splitlines()
        kept[mode] = next(line for line in lines if line.startswith('"y","Total"')).rsplit(",", 1)[1]
    assert kept["1T"] == "10"
    assert kept["1"] != "10"


@pytest.mark.parametrize("method", ["GH(1,100)", "OPT(1,1)", "NET(1)"])
def test_every_method_of_suppression_runs(ready: Path, method: str) -> None:
    ready.write_text(TAB_BATCH.format(mode=0, method=method, options=""))
    done = run_batch(ready)
    assert done.runs[0].verdict.holds
    assert '"x","a",x' in (ready.parent / "safe.txt").read_text()
    if method.startswith("OPT"):
        assert "the optimum against outsiders alone" in done.log


def test_rounding_and_adjustment_change_values(ready: Path) -> None:
    ready.write_text(TAB_BATCH.format(mode=0, method="RND(1,25)", options="AS+FL+"))
    run_batch(ready)
    lines = (ready.parent / "safe.txt").read_text().splitlines()
    assert lines[0] == '"One","Two","Amount_Round","Amount_Orig"'
    assert all(int(line.split(",")[2]) % 25 == 0 for line in lines[1:])
    ready.write_text(TAB_BATCH.format(mode=0, method="CTA(1)", options="AS+FL+"))
    run_batch(ready)
    lines = (ready.parent / "safe.txt").read_text().splitlines()
    assert lines[0] == '"One","Two","Amount_CTA","Amount_Orig","Status"'
    changed = next(line for line in lines if line.startswith('"x","a"')).split(",")
    assert abs(int(changed[2]) - 45) >= 9


def test_cell_keys_are_used_where_there_are_any_and_refused_in_words_otherwise(ready: Path) -> None:
    ready.write_text(TAB_BATCH.format(mode=0, method="CKM(1)", options=""))
    with pytest.raises(DiscreetError) as caught:
        run_batch(ready)
    assert "t.arb, line 5: " in str(caught.value)
    assert caught.value.hint


def test_the_shadow_of_a_ready_made_table_is_not_ignored(ready: Path) -> None:
    rda = ready.parent / "t.rda"
    rda.write_text(rda.read_text() + "Shadow\n  <NUMERIC> <SHADOW>\n")
    (ready.parent / "t.tab").write_text("".join(f"{line};7\n" for line in TAB.splitlines()))
    ready.write_text(
        TAB_BATCH.format(mode=0, method="MOD(1)", options="").replace("<READ", "<SAFETYRULE> P(10)\n<READ")
    )
    with pytest.raises(NeedsError, match="another shadow variable"):
        run_batch(ready)


# ---- linked tables, recodes, a-priori files ----------------------------------------------------------------------

LINKED = """<OPENMICRODATA> "STAND_IN.ASC"
<OPENMETADATA> "stand_in.rda"
<SPECIFYTABLE> "Size""Region"|"Var2"||
<SAFETYRULE> P(10,1)
<SPECIFYTABLE> "IndustryCode""Region"|"Var2"||
<SAFETYRULE> P(10,1)
<READMICRODATA>
{more}<SUPPRESS> {method}
<WRITETABLE> (1,5,,"one.tab")
<WRITETABLE> (2,5,,"two.tab")
"""


def test_linked_tables_are_protected_as_one(job: Path) -> None:
    job.write_text(LINKED.format(more="", method="MOD(0)"))
    done = run_batch(job)
    [run] = done.runs
    assert run.release.custodian.tables.shared()[0][2] >= 13
    assert "'STAND_IN.ASC' was taken to be the file 'stand_in.asc'." in done.log
    one = ds.read_argus_table(job.parent / "one.tab", job.parent / "one.rda")
    two = ds.read_argus_table(job.parent / "two.tab", job.parent / "two.rda")
    hidden = [CellStatus.UNSAFE, CellStatus.SECONDARY]
    for region in ("Nr", "11", "Os"):
        assert one.manual is not None
        assert two.manual is not None
        a, b = int(one.manual[one.row(Region=region)]), int(two.manual[two.row(Region=region)])
        assert (a in hidden) == (b in hidden)


def test_recodes_of_levels_trees_and_groups(job: Path) -> None:
    (job.parent / "size.grc").write_text("small: 2,4,5\nlarge: 6-9\n")
    (job.parent / "code.grc").write_text("<TREERECODE>\n142\n")
    more = '<RECODE> 1, Region, 1\n<RECODE> 1, SIZE, "size.grc"\n<RECODE> 2, IndustryCode, "code.grc"\n'
    job.write_text(LINKED.format(more=more, method="MOD(1)").replace('<WRITETABLE> (2,5,,"two.tab")\n', ""))
    table = run_batch(job).runs[0].release.custodian.tables.tables[0]
    assert table.spec.by["Region"].codes == ("Total", "Nr", "Os", "Ws", "Zd", "99")
    assert table.spec.by["Size"].codes == ("Total", "small", "large", "99")
    job.write_text(LINKED.format(more=more, method="MOD(2)").replace('<WRITETABLE> (1,5,,"one.tab")\n', ""))
    table = run_batch(job).runs[0].release.custodian.tables.tables[0]
    assert "14211" not in table.spec.by["IndustryCode"].codes
    assert "142" in table.spec.by["IndustryCode"].base_codes
    job.write_text(LINKED.format(more=more, method="MOD(0)"))
    with pytest.raises(InputError, match="line 11: found 'Region recoded in one of the linked tables only'"):
        run_batch(job)


def test_a_priori_files_mark_cells(ready: Path) -> None:
    text = TAB_BATCH.format(mode=0, method="MOD(1)", options="AS+")
    ready.write_text(text.replace("<SUPP", '<APRIORI> "a.hst",1,";"\n<SUPP'))
    (ready.parent / "a.hst").write_text("y;b;u\ny;a;p\nx;b;c;500\nx;a;pl;17;18\nTotal;;ab;90;120\n")
    table = run_batch(ready).runs[0].release.custodian.tables.tables[0]
    assert table.assessment is not None
    assert table.assessment.upper[table.row(One="x", Two="a")] == 18
    assert table.unsafe[table.row(One="y", Two="b")]
    assert '"y","a",15,10' in (ready.parent / "safe.txt").read_text()
    assert table.upper_bound is not None
    assert table.upper_bound[0] == 120
    (ready.parent / "a.hst").write_text("y;b;u\ny;b;p\n")
    with pytest.raises(
        InputError, match=r"a\.hst, line 2: found 'P for a cell of status 9'; expected a cell of status 1 to"
    ):
        run_batch(ready)
    ready.write_text(text.replace("<SUPP", '<APRIORI> "a.hst",1,";",1\n<SUPP'))
    assert "left out: a.hst, line 2" in run_batch(ready).log


def test_costs_of_a_priori_files_reach_the_method(ready: Path) -> None:
    text = TAB_BATCH.format(mode=0, method="MOD(1)", options="")
    ready.write_text(text.replace("<SUPP", '<APRIORI> "a.hst",1,","\n<SUPP'))
    (ready.parent / "a.hst").write_text("x,b,W,12\n")
    method = run_batch(ready).runs[0].release.custodian.evidence[0].method
    assert list(method["hints"]) == [{"table": "Amount_by_One_Two", "cell": ["x", "b"], "cost": 12.0}]


def test_safe_by_hand_publishes_what_a_rule_forbids_and_is_noted(tmp_path: Path) -> None:
    table = ds.examples.small_table().assess(ds.PPercent(10))
    (tmp_path / "a.hst").write_text('"retail","South",s\n"food","South",S\n')
    known = ds.apply_apriori(table, tmp_path / "a.hst")
    again = known.table.assess(ds.PPercent(10))
    row = again.row(trade="retail", region="South")
    assert again.status[row] == CellStatus.SAFE
    assert again.assessment is not None
    assert again.assessment.hits[row] > 0
    assert again.assessment.upper[row] == 0
    assert again.status[again.row(trade="food", region="South")] == CellStatus.SAFE
    assert known.notes == ("a.hst, line 1: trade=retail, region=South breaks a rule and is declared safe (S).",)


def test_a_cell_declared_safe_is_published_or_withheld_for_others_and_verdicts_say_so(tmp_path: Path) -> None:
    table = ds.examples.small_table().assess(ds.PPercent(10))
    (tmp_path / "a.hst").write_text("retail,South,S\nfood,South,U\nretail,South,C,0.001\n")
    known = ds.apply_apriori(table, tmp_path / "a.hst")
    again = known.table.assess(ds.PPercent(10))
    release = ds.protect(again, ds.Suppress(hints=known.hints))
    verdict = release.verify()
    assert verdict.holds
    assert "1 cell of table turnover breaks a rule, declared safe by hand" in verdict.asserted
    row = again.row(trade="retail", region="South")
    assert release.custodian.status[0][row] == CellStatus.SECONDARY
    assert (
        ds.write_argus(release, tmp_path / "o.txt", 3, options="AS+")
        .files[0]
        .read_text()
        .splitlines()[row]
        .endswith(",12")
    )
    alone = ds.apply_apriori(table, _file(tmp_path, "retail,South,S\n")).table.assess(ds.PPercent(10))
    plain = ds.protect(alone, ds.Suppress())
    assert plain.verify().holds
    assert plain.custodian.status[0][row] == CellStatus.SAFE
    assert (
        ds.write_argus(plain, tmp_path / "o.txt", 3, options="AS+")
        .files[0]
        .read_text()
        .splitlines()[row]
        .endswith(",2")
    )


def test_a_forged_mark_of_safety_is_refused(tmp_path: Path) -> None:
    table = ds.examples.small_table().assess(ds.PPercent(10))
    alone = ds.apply_apriori(table, _file(tmp_path, "retail,South,S\n")).table.assess(ds.PPercent(10))
    release = ds.protect(alone, ds.Suppress())
    forged = replace(release.custodian, tables=ds.TableSet([alone.with_(manual=None)]))
    assert not ds.Release(release.public, forged).verify().holds


def _file(folder: Path, text: str) -> Path:
    path = folder / "b.hst"
    path.write_text(text)
    return path


def test_trivial_levels_get_the_same_when_asked(tmp_path: Path) -> None:
    tree = ds.Hierarchy.from_nested({"A": ["a"], "B": ["b", "c"]})
    cells = pa.table({"v": ["Total", "A", "a", "B", "b", "c"], "value": [6, 1, 1, 5, 2, 3]})
    table = ds.Table.from_cells(cells, by={"v": tree}).assess()
    (tmp_path / "a.hst").write_text("A,U\n")
    alone = ds.apply_apriori(table, tmp_path / "a.hst").table
    both = ds.apply_apriori(table, tmp_path / "a.hst", expand=True).table
    assert alone.manual is not None
    assert both.manual is not None
    assert int((alone.manual == CellStatus.UNSAFE).sum()) == 1
    assert int((both.manual == CellStatus.UNSAFE).sum()) == 2


# ---- the rest of the language ------------------------------------------------------------------------------------


def test_a_table_written_before_it_is_protected_is_confidential(ready: Path) -> None:
    ready.write_text(TAB_BATCH.format(mode=0, method="MOD(1)", options="").replace("<SUPPRESS> MOD(1)\n", ""))
    done = run_batch(ready)
    assert not done.runs
    assert "written before it is protected" in done.log
    assert (ready.parent / "safe.txt").stat().st_mode & 0o077 == 0


def test_log_book_version_and_solver(ready: Path) -> None:
    more = '<LOGBOOK> "log.txt"\n<VERSIONINFO> "version.txt"\n<SOLVER> XPRESS\n<CLEAR>\n<SILENT>\n'
    ready.write_text(ready.read_text() + more)
    done = run_batch(ready)
    assert (ready.parent / "log.txt").read_text() == done.log
    assert (ready.parent / "version.txt").read_text().startswith("discreet ")
    assert "<SOLVER> XPRESS is accepted and changes nothing" in done.log


def test_the_log_book_holds_the_error(ready: Path) -> None:
    ready.write_text('<LOGBOOK> "log.txt"\n' + ready.read_text().replace("MOD(1)", "RND(1)"))
    with pytest.raises(ParameterError, match=r"t\.arb, line 6: RND has no rounding base"):
        run_batch(ready, logbook=ready.parent / "mine.log")
    assert "ERROR: t.arb, line 6: RND has no rounding base" in (ready.parent / "mine.log").read_text()


def test_files_are_found_in_the_data_folder_and_output_goes_there(ready: Path, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere"
    data.mkdir()
    for name in ("t.tab", "t.rda"):
        (ready.parent / name).rename(data / name)
    run_batch(ready, data_folder=data)
    assert (data / "safe.txt").is_file()
    assert (data / "t.release-1" / "public").is_dir()


@pytest.mark.parametrize("name", ["safe.txt", "t.tab", "t.rda", "log.txt", "version.txt"])
def test_a_batch_stays_below_its_folder(ready: Path, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    outside = tmp_path_factory.mktemp("outside")
    for file in ("t.tab", "t.rda"):
        (outside / file).write_bytes((ready.parent / file).read_bytes())
    before = contents(outside)
    text = '<LOGBOOK> "log.txt"\n<VERSIONINFO> "version.txt"\n' + ready.read_text()
    ready.write_text(text.replace(f'"{name}"', f'"{outside / name}"'))
    with pytest.raises(ParameterError, match="lies outside the folder of the batch"):
        run_batch(ready)
    assert contents(outside) == before
    run_batch(ready, allow_outside=True)


@pytest.mark.parametrize("name", ["t.tab", "t.rda", "t.arb"])
def test_what_a_batch_reads_is_never_overwritten(ready: Path, name: str) -> None:
    ready.write_text(ready.read_text().replace('"safe.txt"', f'"{name}"'))
    before = contents(ready.parent)
    with pytest.raises(OutputError):
        run_batch(ready)
    assert contents(ready.parent) == before


def test_one_file_is_not_written_twice(ready: Path) -> None:
    ready.write_text(ready.read_text() + '<SUPPRESS> GH(1)\n<WRITETABLE> (1,3,,"safe.txt")\n')
    with pytest.raises(OutputError, match="twice"):
        run_batch(ready)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<OPENMETADATA>  "stand_in.rda"\n', "", "line 3: found '<SPECIFYTABLE>'; expected <OPENMETADATA> before it."),
        ("<READMICRODATA>\n", "", "line 6: found 'a command about a table'; expected <READMICRODATA> or"),
        ("<READMICRODATA>", "<READTABLE>", "line 6: found 'the other command for reading'; expected <READMICRODATA>."),
        ("<SUPPRESS>      MOD(1)", "<SUPPRESS> MOD(2)", "line 7: found 'table 2'; expected a table from 1 to 1."),
        ('"stand_in.asc"', '"nothing.asc"', "line 2: There is no file 'nothing.asc'."),
        ('"Size""Region"', '"Size""Wgt"', "line 4: found 'Wgt as a spanning variable'; expected one with <RECODEABLE>"),
        ('|"Var2"', '|"Size"', "line 4: found 'Size as a response, shadow or cost'; expected one with <NUMERIC>."),
        ("FREQ(3,30)", "REQ(1,1,1,1)", "line 5: found 'REQ'; expected a variable with <REQUEST> in the metadata."),
        ("<SAFETYRULE>    NK(3,75)|FREQ(3,30)|\n", "", "line 4: found '<SPECIFYTABLE> without <SAFETYRULE>'"),
        ("NK(3,75)", "NK(2.5,75)", "line 5: found 'n of 2.5'; expected a whole number up to 1,000,000,000."),
        ("||\n", "||-7\n", "line 4: found 'cost -7'; expected a variable, -1 frequency"),
    ],
)
def test_a_wrong_order_and_wrong_names_are_errors(job: Path, old: str, new: str, message: str) -> None:
    assert old in job.read_text()
    job.write_text(job.read_text().replace(old, new, 1))
    with pytest.raises(DiscreetError) as caught:
        run_batch(job)
    assert caught.value.message.startswith(f"example.arb, {message}")


# ---- from the other side -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "methods"),
    [
        ("NK(3,75)|FREQ(3,30)", ["MOD(1)", "GH(1,100)"]),
        ("P(10,2)|NK(2,85)|FREQ(4,20)|ZERO(3)|WGT(1)|MIS(1)|MAN(30)", ["OPT(1,5)", "RND(1,50,1,2)", "CTA(1)"]),
        ("P(5,50,1)", ["NET(1)", "MOD(1,0,0,0,0,,0.98,1.02)", "GH(1,50,0,0)"]),
    ],
)
def test_a_recipe_written_back_as_a_batch_gives_the_same_recipe(job: Path, rules: str, methods: list[str]) -> None:
    head = job.read_text().split("<SAFETYRULE>")[0].replace('"Var2"||', '"Var2"|"Var1"|-1,0.5')
    body = "".join(f'<SUPPRESS> {m}\n<WRITETABLE> (1,3,AS+SE+,"out{i}.txt")\n' for i, m in enumerate(methods))
    job.write_text(f"{head}<SAFETYRULE> {rules}\n<READMICRODATA>\n<RECODE> 1, Region, 1\n{body}")
    metadata = read_metadata(job.parent / "stand_in.rda")
    for text in convert_batch(job).values():
        back = job.with_name("back.arb")
        back.write_text(recipe_batch(read_recipe(text), metadata))
        [again] = convert_batch(back).values()
        first, second = read_recipe(text), read_recipe(again)
        assert second.output.argus == first.output.argus
        second.output.directory = first.output.directory
        assert second == first


def test_strict_recipes_say_so_in_their_batch(job: Path) -> None:
    metadata = read_metadata(job.parent / "stand_in.rda")
    for text in convert_batch(job, strict=True).values():
        back = job.with_name("back.arb")
        back.write_text(recipe_batch(read_recipe(text), metadata))
        assert back.read_text().startswith("// made for --strict-argus\n")
        [again] = convert_batch(back, strict=True).values()
        assert read_recipe(again).protect == read_recipe(text).protect


def test_what_batches_cannot_say_is_named(job: Path) -> None:
    text = next(iter(convert_batch(job).values()))
    metadata = read_metadata(job.parent / "stand_in.rda")
    for old, new, message in (
        ('algorithm = "modular"\nrepair = true', 'algorithm = "certified"', "algorithm 'certified'"),
        ('profile = "argus"', 'profile = "handbook"', "profile = 'handbook'"),
        ("weight = false", "weight = false\nfilter = 'Var1 > 3'", "filter of a table"),
        ("repair = true", "repair = false", "repair = false of method 'suppress'"),
        ("repair = true", "repair = true\nknown_within = 50", "known_within of method 'suppress'"),
        ('singletons = "sums"', 'singletons = "sums"\nnodes = 3', "settings nodes of algorithm 'modular'"),
    ):
        changed = text.replace(old, new)
        if "certified" in new:
            changed = changed.replace('[protect.settings]\nsingletons = "sums"\nleast_contributors = 3\n', "")
        with pytest.raises(ParameterError, match=f"A batch file cannot say: .*{message}"):
            recipe_batch(read_recipe(changed), metadata)


def test_a_rule_without_a_range_has_its_range_in_the_batch(job: Path) -> None:
    text = next(iter(convert_batch(job).values()))
    without = "\n".join(line for line in text.splitlines() if not line.startswith("range = "))
    assert without != text
    batch = recipe_batch(read_recipe(without), read_metadata(job.parent / "stand_in.rda"))
    assert "FREQ(3,30)" in batch


def test_capitals_of_variables_do_not_count(ready: Path) -> None:
    plain = run_batch(ready)
    written = (ready.parent / "safe.txt").read_bytes()
    ready.write_text(ready.read_text().replace('"One""Two"|"Amount"', '"ONE""two"|"aMOUNT"'))
    again = run_batch(ready)
    assert (ready.parent / "safe.txt").read_bytes() == written
    assert [r.release.custodian.tables.tables[0].variables for r in (*plain.runs, *again.runs)] == [("One", "Two")] * 2


def test_a_variable_is_not_two_by_its_capitals(ready: Path) -> None:
    ready.write_text(ready.read_text().replace('"One""Two"|', '"One""ONE"|'))
    with pytest.raises(InputError, match=r"t.arb, line 3: .*each variable once, whatever its capitals"):
        run_batch(ready)


@pytest.mark.parametrize("folder", ["C:\\work\\2026\\", "c:/work/", "\\\\server\\share\\", "tables\\", "..\\old\\"])
def test_files_of_windows_folders_that_are_not_here_are_looked_for_beside_the_batch(ready: Path, folder: str) -> None:
    run_batch(ready)
    written = (ready.parent / "safe.txt").read_bytes()
    ready.write_text(ready.read_text().replace('"t.tab"', f'"{folder}T.tab"').replace('"t.rda"', f'"{folder}t.rda"'))
    done = run_batch(ready)
    assert (ready.parent / "safe.txt").read_bytes() == written
    assert "is no path here; the file 't.rda' beside the batch was taken" in done.log


def test_a_windows_path_that_is_there_is_taken(ready: Path) -> None:
    inside = ready.parent / "tables"
    inside.mkdir()
    (inside / "t.tab").write_text(TAB.replace("U", "S"))
    ready.write_text(ready.read_text().replace('"t.tab"', '"tables\\t.tab"'))
    assert not run_batch(ready).runs[0].release.custodian.tables.tables[0].unsafe.any()


@pytest.mark.parametrize("folder", ["C:\\results\\", "\\\\server\\share\\", "D:/"])
def test_files_for_windows_folders_are_written_beside_the_batch(ready: Path, folder: str) -> None:
    ready.write_text(ready.read_text().replace('"safe.txt"', f'"{folder}safe.txt"'))
    done = run_batch(ready)
    assert (ready.parent / "safe.txt").is_file()
    assert "is no path here; the file is written to 'safe.txt' beside the batch" in done.log


def test_other_paths_are_not_looked_for_elsewhere(ready: Path) -> None:
    ready.write_text(ready.read_text().replace('"t.tab"', '"none/t.tab"'))
    with pytest.raises(InputError, match=r"There is no file 'none/t.tab'"):
        run_batch(ready)
