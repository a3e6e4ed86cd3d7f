"""Recipes do what the API does, and nothing that was not written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, OutputError, ParameterError
from discreet.recipe.run import audit_pattern
from discreet.recipe.schema import read_recipe, recipe_schema

RECIPE = """
version = 1

[data]
file = "input/records.csv"
contributor = "holding"

[hierarchies]
activity = "input/activity.hrc"

[[tables]]
name = "turnover"
by = ["activity", "region"]
value = "turnover"

[[rules]]
kind = "p_percent"
p = 10

[[protect]]
method = "suppress"

[output]
directory = "out"
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    made = ds.generate.business_survey(800, seed=5, activities=(3, 8), regions=(2, 6))
    made.write(tmp_path / "input", format="csv")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


def write(folder: Path, old: str, new: str) -> Path:
    assert old in RECIPE
    (folder / "recipe.toml").write_text(RECIPE.replace(old, new))
    return folder / "recipe.toml"


def test_a_recipe_gives_what_the_api_gives(folder):
    done = ds.run_recipe(folder / "recipe.toml")
    activity = ds.read_hierarchy(folder / "input" / "activity.hrc")
    records = folder / "input" / "records.csv"
    region = ds.Hierarchy.flat(sorted(done.release.custodian.tables.tables[0].spec.by["region"].base_codes))
    table = ds.tabulate(
        records, by={"activity": activity, "region": region}, value="turnover", contributor="holding", name="turnover"
    )
    release = ds.protect(table.assess(ds.PPercent(10)), ds.Suppress())
    assert release.to_frame().equals(done.release.to_frame())
    assert done.verdict.holds
    assert (folder / "out" / "public" / "turnover.csv").is_file()


def test_codes_of_tables_with_all_cells_are_stated_where_values_are_altered(folder):
    region = ds.run_recipe(folder / "recipe.toml").release.custodian.tables.tables[0].spec.by["region"].base_codes
    rounded = RECIPE.replace('method = "suppress"', 'method = "round"\nbase = 1000\nlevels = false')
    everything = rounded.replace('value = "turnover"', 'value = "turnover"\ncells = "all"')
    (folder / "recipe.toml").write_text(everything)
    with pytest.raises(ParameterError, match=r"every code of 'region' that any record has.*region = \['\.\.\.'\]"):
        ds.run_recipe(folder / "recipe.toml")
    stated = everything.replace("[hierarchies]\n", f"[hierarchies]\nregion = {json.dumps([*region, 'nowhere'])}\n")
    (folder / "recipe.toml").write_text(stated)
    public = ds.run_recipe(folder / "recipe.toml").release.public.tables[0]
    assert "nowhere" in public.code_lists[1]
    assert len(public) == len(public.code_lists[0]) * len(public.code_lists[1])
    (folder / "recipe.toml").write_text(rounded)
    assert ds.run_recipe(folder / "recipe.toml").release.public.tables[0].value[1:].all()
    (folder / "recipe.toml").write_text(everything.replace("file =", "cells =").replace('contributor = "holding"', ""))
    with pytest.raises(ParameterError, match="cells are given"):
        ds.run_recipe(folder / "recipe.toml")


def test_running_twice_gives_the_same_seal(folder):
    first = ds.run_recipe(folder / "recipe.toml")
    assert ds.run_recipe(folder / "recipe.toml").seal == first.seal


def test_the_log_holds_recipe_and_digests_of_the_inputs(folder):
    ds.run_recipe(folder / "recipe.toml")
    log = json.loads((folder / "out" / "custodian" / "log.json").read_text())
    assert log["recipe"] == RECIPE
    assert set(log["inputs"]) == {"input/records.csv", "input/activity.hrc"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("contributor =", "contributorr =", r"no key 'contributorr' in \[data\].*mean 'contributor'"),
        ("[output]", "[outputt]", r"no key 'outputt' in the recipe.*mean 'output'"),
        ("value =", "valuee =", r"no key 'valuee' in \[\[tables\]\].*mean 'value'"),
        ("p = 10", "q = 10", r"no parameter 'q' in rule 'p_percent'"),
        ("p = 10", "p = 0", r"p_percent: p=0 is not allowed"),
        ('kind = "p_percent"', 'kind = "ppercent"', r"no rule 'ppercent'.*mean 'p_percent'"),
        ('method = "suppress"', 'method = "suppresss"', r"no method 'suppresss'.*mean 'suppress'"),
        ('method = "suppress"', 'method = "suppress"\ncost = "valuee"', r"no cost 'valuee'.*mean 'value'"),
        ("version = 1", "version = 2", r"has version = 2, and this version of discreet reads"),
        ("version = 1", "version = ", r"not valid TOML"),
        ('file = "input/records.csv"', "", r"has no file.*cells ="),
        ('activity = "input', 'activty = "input', r"no variable 'activty' in any table"),
        ('value = "turnover"', 'value = "turnovr"', r"no column 'turnovr'.*mean 'turnover'"),
        ('by = ["activity", "region"]', "by = []", r"empty by.*at least one variable"),
        ('directory = "out"', 'directory = "../out"', r"'../out', which lies outside its own folder.*--allow-outside"),
        ("input/activity.hrc", "/etc/passwd", r"outside its own folder"),
        ("input/activity.hrc", "input/nace.hrc", r"no file 'input/nace.hrc'"),
        ("p = 10", 'p = 10\ntables = ["turnovr"]', r"no table 'turnovr'.*mean 'turnover'"),
        ('value = "turnover"', 'value = "turnover"\nfilter = "region = 1"', r"Cannot read the filter"),
        (
            'directory = "out"',
            'directory = "out"\nformats = ["xlxs"]',
            r"formats in .output. holds .xlxs., which",
        ),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do(folder, old, new, message):
    path = write(folder, old, new)
    with pytest.raises(DiscreetError, match=message):
        ds.run_recipe(path)
    assert not (folder / "out").exists()


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no recipe 'none.toml'"):
        ds.run_recipe(tmp_path / "none.toml")


def test_a_foreign_output_folder_is_refused_before_any_work(folder):
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match="not a release"):
        ds.run_recipe(folder / "recipe.toml")


def test_weights_filters_statuses_links_and_options(folder):
    (folder / "marks.csv").write_text("activity,region,status\nTotal,Total,P\n")
    text = RECIPE.replace(
        'contributor = "holding"', 'contributor = "holding"\nweight = "weight"\nwaiver = "waiver"\nrequest = "request"'
    )
    text = text.replace(
        'value = "turnover"\n',
        'value = "turnover"\nfilter = "employees >= 1"\nstatus = "marks.csv"\n\n'
        '[[tables]]\nname = "home"\nby = ["activity", "region"]\nvalue = "home"\nfilter = "employees >= 1"\n\n'
        '[[tables]]\nname = "export"\nby = ["activity", "region"]\nvalue = "export"\nfilter = "employees >= 1"\n\n'
        '[[links]]\nequation = "turnover = home + export"\n\n'
        '[[rules]]\nkind = "p_percent"\np = 5\nlevel = "record"\n\n'
        '[[rules]]\nkind = "request"\np1 = 70\n\n'
        '[assess]\nprofile = "argus"\n',
    )
    (folder / "recipe.toml").write_text(text)
    done = ds.run_recipe(folder / "recipe.toml")
    assert done.verdict.holds
    assert [t.name for t in done.release.public.tables] == ["turnover", "home", "export"]
    table = done.release.custodian.tables["turnover"]
    assert table.spec.weight == "weight"
    assert set(table.contributions) == {"holding", "record"}
    assert table.assessment.profile == "argus"


def test_a_ready_made_table(tmp_path):
    (tmp_path / "cells.csv").write_text(
        "region,value,contributors,top1,top2\nTotal,100,40,20,12\nN,60,20,15,10\nS,30,15,8,6\nW,10,2,9,1\n"
    )
    text = RECIPE.replace('file = "input/records.csv"\ncontributor = "holding"', 'cells = "cells.csv"')
    text = text.replace('[hierarchies]\nactivity = "input/activity.hrc"\n', "")
    text = text.replace('["activity", "region"]\nvalue = "turnover"', '["region"]\nvalue = "value"')
    (tmp_path / "recipe.toml").write_text(text)
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.release.public.tables[0].status.count("X") == 2


def test_every_way_to_give_a_hierarchy(tmp_path):
    firms = [(code, v) for code, v in (("11", 5), ("12", 6), ("21", 7), ("22", 8)) for _ in range(9)]
    rows = "\n".join(f"{code},{code[0]},{code},{v}" for code, v in firms)
    (tmp_path / "data.csv").write_text(f"a,b,c,v\n{rows}\n")
    (tmp_path / "recode.csv").write_text("old,new\n22,21\n")
    (tmp_path / "labels.csv").write_text("11,Eleven\n")
    base = '\nversion = 1\n[data]\nfile = "data.csv"\n[data.recode]\nc = "recode.csv"\n[hierarchies]\n{}\n'
    base += '[[tables]]\nby = ["a", "c"]\nvalue = "v"\n[[rules]]\nkind = "min_contributors"\nn = 2\n'
    base += '[[protect]]\nmethod = "suppress"\n[output]\ndirectory = "out"\n'
    for given in (
        "a = { digits = [1, 1] }",
        'a = { columns = ["b"] }',
        'a = { parents = { 11 = "1", 12 = "1", 21 = "2", 22 = "2", 1 = "Total", 2 = "Total" }, labels = "labels.csv" }',
    ):
        (tmp_path / "recipe.toml").write_text(base.format(given))
        table = ds.run_recipe(tmp_path / "recipe.toml").release.custodian.tables.tables[0]
        assert set(table.spec.by["a"].codes) == {"Total", "1", "2", "11", "12", "21", "22"}


def test_the_schema_names_rules_and_methods():
    text = json.dumps(recipe_schema())
    for name in ("p_percent", "min_contributors", "dominance", "suppress", "directory", "contributor", "coalition"):
        assert f'"{name}"' in text


def test_a_recipe_without_tables_is_refused():
    with pytest.raises(ParameterError, match=r"neither \[\[tables\]\] nor \[records\]"):
        read_recipe('version = 1\ntables = []\nprotect = []\n[data]\nfile = "x"\n[output]\ndirectory = "o"\n')


def test_an_audit_against_the_certificates_stops_the_run(folder, monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setattr("discreet.recipe.run.audit", lambda _: SimpleNamespace(short=2))
    with pytest.raises(DiscreetError, match=r"2 unsafe cells short of the level.*Nothing is published"):
        ds.run_recipe(folder / "recipe.toml")
    assert not (folder / "out").exists()


# ---- patterns, hints, preferences and acceptances as files -----------------------------------------------------


@pytest.fixture
def small_folder(tmp_path) -> Path:
    """A survey of few cells, so that running the recipe again and again costs nothing."""
    made = ds.generate.business_survey(150, seed=5, activities=(2, 4), regions=(2, 4))
    made.write(tmp_path / "input", format="csv")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


def test_a_recipe_completes_a_pattern_of_another_program(small_folder):
    whole = ds.run_recipe(small_folder / "recipe.toml").release.pattern()
    cells = whole.cells(status="unsafe") + whole.cells(status="secondary")[::2]
    lines = [f"{activity};{region};1234;x" for activity, region in cells]
    (small_folder / "theirs.csv").write_text("\n".join(["NACE;region;turnover;flag", *lines, ""]))
    text = RECIPE + (
        '\n[pattern]\nfile = "theirs.csv"\ncolumns = { NACE = "activity", flag = "status" }\n'
        'letters = "sdctable"\ndelimiter = ";"\n'
    )
    (small_folder / "recipe.toml").write_text(text)
    done = ds.run_recipe(small_folder / "recipe.toml")
    assert done.verdict.holds
    assert not done.repair.held
    assert done.repair.pattern.count("secondary") == len(cells)
    log = json.loads((small_folder / "out" / "custodian" / "log.json").read_text())
    assert log["pattern"]["name"] == "theirs.csv"
    assert "theirs.csv" in log["inputs"]
    hidden = set(done.release.pattern().cells(status="unsafe") + done.release.pattern().cells(status="secondary"))
    assert set(cells) <= hidden


def test_files_of_a_method_are_read_from_the_recipes_folder_and_stay_in_the_evidence(small_folder):
    ds.run_recipe(small_folder / "recipe.toml").release.pattern().write(small_folder / "last.csv")
    table = ds.load(small_folder / "out").custodian.tables.tables[0]
    row = int(np.flatnonzero(~ds.load(small_folder / "out").custodian.withheld(0))[-1])
    activity, region = table.spec_codes(table.codes[row].tolist())
    (small_folder / "hints.csv").write_text(f"activity,region,use\n{activity},{region},never\n")
    (small_folder / "accept.csv").write_text("class,reason,name\nimpossible,agreed,A. Officer\n")
    for prefer in ('"last.csv"', '{ file = "last.csv", tables = { turnover = "turnover" } }'):
        path = write(
            small_folder,
            'method = "suppress"',
            f'method = "suppress"\naccept = "accept.csv"\nhints = "hints.csv"\nprefer_share = 0.2\nprefer = {prefer}',
        )
        done = ds.run_recipe(path)
        assert done.verdict.holds
        record = done.release.custodian.evidence[0].method
        assert record["hints"] == ({"cell": {"activity": activity, "region": region}, "use": "never"},)
        assert record["accept"] == ({"reason": "agreed", "name": "A. Officer", "class": "impossible"},)
        assert [activity, region] not in record["prefer"][0]["cells"]
        assert set(done.release.custodian.log["inputs"]) >= {"hints.csv", "accept.csv", "last.csv"}
        assert not done.release.custodian.withheld(0)[row]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[output]", '[pattern]\nfil = "x"\n[output]', r"no key 'fil' in \[pattern\] of the recipe"),
        ("[output]", '[pattern]\nfile = "none.csv"\n[output]', r"no file 'none.csv'"),
        ("[output]", '[pattern]\nfile = "../p.csv"\n[output]', r"outside its own folder"),
        ('method = "suppress"', 'method = "suppress"\nhints = "../h.csv"', r"outside its own folder"),
        ('method = "suppress"', 'method = "suppress"\naccept = "none.csv"', r"no file 'none.csv'"),
        ('method = "suppress"', 'method = "suppress"\nprefer = { fil = "x" }', r"prefer of the recipe.*'letters'"),
        ('method = "suppress"', 'method = "suppress"\nprefer_share = 2', r"prefer_share=2"),
        ('method = "suppress"', 'method = "suppress"\nhints = [{ cell = ["a"], tims = 2 }]', r"no field 'tims'"),
    ],
)
def test_mistakes_in_what_a_method_is_given_are_named(small_folder, old, new, message):
    with pytest.raises(DiscreetError, match=message):
        ds.run_recipe(write(small_folder, old, new))
    assert not (small_folder / "out").exists()


def test_two_patterns_are_one_too_many(small_folder):
    pattern = ds.run_recipe(small_folder / "recipe.toml").release.pattern()
    pattern.write(small_folder / "p.csv")
    (small_folder / "recipe.toml").write_text(RECIPE + '\n[pattern]\nfile = "p.csv"\n')
    with pytest.raises(ParameterError, match=r"\[pattern\] of its own"):
        ds.run_recipe(small_folder / "recipe.toml", pattern=pattern)


def test_the_schema_knows_patterns_hints_and_preferences():
    text = json.dumps(recipe_schema())
    for name in ("pattern", "letters", "all_are", "hints", "prefer", "prefer_share"):
        assert f'"{name}"' in text


# ---- what is already published ------------------------------------------------------------------------------

TWICE = """
version = 1
[data]
cells = "cells.csv"
[[tables]]
name = "x"
by = ["row", "col"]
value = "value"
[[protect]]
method = "suppress"
[output]
directory = "out"
audit = true
"""
PUBLISHED = """
[[already_published]]
release = "first"
name = "spring"

[[already_published]]
cells = "notice.csv"
value = "wert"
columns = { row = "zeile" }
withheld = ["-"]

[[already_published]]
figure = "value[row=a, col=p] / value[row=a]"
value = "0.3"
"""


@pytest.fixture
def twice(tmp_path) -> Path:
    lines = ["row,col,value,status,lower_protection,upper_protection"]
    inner = {("a", "p"): 20, ("a", "q"): 50, ("b", "p"): 18, ("b", "q"): 19, ("c", "p"): 17, ("c", "q"): 32}
    for row in ("Total", "a", "b", "c"):
        for col in ("Total", "p", "q"):
            value = sum(v for (r, c), v in inner.items() if row in ("Total", r) and col in ("Total", c))
            unsafe = (row, col) == ("b", "q")
            lines.append(f"{row},{col},{value},{'U,5,5' if unsafe else 'V,0,0'}")
    (tmp_path / "cells.csv").write_text("\n".join(lines))
    (tmp_path / "notice.csv").write_text("zeile,wert\na,70\nb,-\n")
    (tmp_path / "recipe.toml").write_text(TWICE.replace('"out"', '"first"'))
    ds.run_recipe(tmp_path / "recipe.toml")
    return tmp_path


def test_a_recipe_names_what_is_already_published(twice):
    path = twice / "recipe.toml"
    path.write_text(TWICE + PUBLISHED)
    done = ds.run_recipe(path)
    assert [text.split(":")[0] for text in done.verdict.together_with] == [
        "release 'spring', table 'x'",
        "file 'notice.csv'",
        "figure 'value[row=a, col=p] / value[row=a]' = 0.3 (to 1 decimals)",
    ]
    assert "notice.csv" in done.release.custodian.log["inputs"]
    path.write_text(TWICE)
    beside = ds.run_recipe(path, already_published=[twice / "first"])
    assert "release 'first'" in beside.verdict.together_with[0]


def test_cells_that_are_out_can_be_accepted_in_a_recipe(twice):
    (twice / "notice.csv").write_text("row,col,value\nb,q,19\n")
    published = '\n[[already_published]]\ncells = "notice.csv"\n'
    (twice / "recipe.toml").write_text(TWICE + published)
    with pytest.raises(DiscreetError, match=r"file 'notice\.csv' published it"):
        ds.run_recipe(twice / "recipe.toml")
    accept = 'accept = [{ class = "revealed", reason = "known", name = "A. Officer" }]'
    (twice / "recipe.toml").write_text(TWICE.replace('"suppress"', f'"suppress"\n{accept}') + published)
    assert ds.run_recipe(twice / "recipe.toml").audit.revealed == 1


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("name = 'x'", "nothing in it"),
        ("release = 'first'\nfigure = 'x'", "'release', 'figure'"),
        ("release = 'first'\ntable = 'x'", "no key 'table'"),
        ("releases = 'first'", "no key 'releases'"),
        ("figure = 'value[row=a]'", "has no value"),
        ("release = 'nowhere'", "not the folder of a saved release"),
        ("release = '..'", "outside its own folder"),
        ("cells = 'nowhere.csv'", "no file 'nowhere.csv'"),
    ],
)
def test_entries_of_what_is_published_are_strict(twice, part, problem):
    (twice / "recipe.toml").write_text(f"{TWICE}\n[[already_published]]\n{part}\n")
    with pytest.raises(DiscreetError, match=problem):
        ds.run_recipe(twice / "recipe.toml")


def test_a_recipe_completes_a_pattern_together_with_what_is_out(twice):
    """The first release shows what the pattern withholds besides, so that it was not safe beside it."""
    hidden = ds.load(twice / "first").pattern()
    others = [
        (r, c)
        for r in ("a", "b", "c")
        for c in ("p", "q")
        if (r, c) not in hidden.cells(status="unsafe") + hidden.cells(status="secondary")
    ]
    (twice / "theirs.csv").write_text("\n".join(["row,col", "b,q", *(f"{r},{c}" for r, c in others)]))
    pattern = '\n[pattern]\nfile = "theirs.csv"\nall_are = "secondary"\n'
    (twice / "recipe.toml").write_text(TWICE + PUBLISHED + pattern)
    done = ds.run_recipe(twice / "recipe.toml")
    assert done.verdict.holds
    assert not done.repair.held
    assert done.repair.audit.short == 1
    assert len(done.verdict.together_with) == 3
    log = ds.load(twice / "out").custodian.log
    assert log["pattern"]["name"] == "theirs.csv"
    assert len(log["already_published"]) == 3
    assert {"theirs.csv", "notice.csv"} <= set(log["inputs"])
    (twice / "recipe.toml").write_text(TWICE + pattern)
    alone = audit_pattern(twice / "recipe.toml")
    beside = audit_pattern(twice / "recipe.toml", already_published=[twice / "first"])
    assert (alone.system.present, len(alone.system.of)) == (1, 1)
    assert (beside.system.present, len(beside.system.of)) == (1, 2)
    assert beside.short == 1


def test_a_recipe_names_a_variable_as_the_cost(tmp_path):
    lines = ["region,value,worth,status", "a,10,1,U", "b,20,9,V", "c,30,2,V"]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    recipe = """
version = 1
[data]
cells = "cells.csv"
[[tables]]
name = "t"
by = ["region"]
value = "value"
compute_totals = true
[[protect]]
method = "suppress"
cost = "worth"
[output]
directory = "out"
"""
    (tmp_path / "recipe.toml").write_text(recipe)
    done = ds.run_recipe(tmp_path / "recipe.toml")
    table = done.release.public.tables[0]
    hidden = [codes for codes, status in zip(table.columns()["region"], table.status, strict=True) if status == "X"]
    assert hidden == ["a", "c"]
    (tmp_path / "recipe.toml").write_text(recipe.replace("worth", "weight_of_it"))
    with pytest.raises(ds.DiscreetError, match="no column 'weight_of_it'"):
        ds.run_recipe(tmp_path / "recipe.toml")
