"""Record swapping as a method of ``ds.protect``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, OutputError, ParameterError, ProtectionError
from discreet.verify import check_records, check_release

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2", "N3"], "South": ["S1", "S2", "S3"]})
JOB = ds.Hierarchy.flat(["a", "b", "c"])
SEX = ds.Hierarchy.flat(["m", "f"])
KEY = ds.Key(bytes(range(32)))


def people(households: int = 400) -> pa.Table:
    rng = np.random.default_rng(4)
    size = rng.integers(1, 4, households)
    home = np.repeat(np.arange(households), size)
    area = rng.choice(AREA.base_codes, households)[home]
    return pa.table(
        {
            "home": home,
            "area": area,
            "region": [{"N": "North", "S": "South"}[a[0]] for a in area],
            "sex": rng.choice(SEX.base_codes, len(home)),
            "job": rng.choice(JOB.base_codes, len(home)),
            "risk": (home % 10 == 0).astype(float),
        }
    )


def specs() -> list[ds.TableSpec]:
    return [ds.TableSpec(by={"area": AREA, "job": JOB}), ds.TableSpec(by={"area": AREA, "sex": SEX})]


def swapped(method: ds.Swap, frame: pa.Table | None = None) -> ds.Release:
    return ds.protect(ds.Microdata(people() if frame is None else frame), method, tables=specs(), key=KEY)


def test_regions_keep_what_they_have_and_matched_variables_keep_their_areas():
    release = swapped(ds.Swap("area", "home", within="region", profile=["sex"], rate=0.1))
    assert release.verify().holds
    jobs, sexes = release.custodian.tables.tables
    by_job, by_sex = release.custodian.published
    for code in ("Total", "North", "South"):
        for job in JOB.codes:
            row = jobs.row(area=code, job=job)
            assert by_job[row] == jobs.value[row]
    assert np.any(by_job != jobs.value)
    assert np.array_equal(by_sex, sexes.value)
    facts = release.custodian.evidence[0].facts
    assert 0.1 * 400 - 5 <= facts["moved"] <= 0.2 * 400 + 5


def test_risky_households_move_first():
    release = swapped(ds.Swap("area", "home", within="region", rate=0.1, risk="risk"))
    assert release.verify().holds
    assert 40 <= release.custodian.evidence[0].facts["moved"] <= 80


def test_the_order_of_the_file_is_nothing():
    frame = people()
    method = ds.Swap("area", "home", within="region", profile=["sex"])
    one, two = swapped(method, frame), swapped(method, frame.take(np.arange(len(frame))[::-1].copy()))
    assert np.array_equal(one.custodian.published[0], two.custodian.published[0])


@pytest.mark.parametrize("lie", ["value", "moved", "within"])
def test_the_checker_refuses_what_was_not_done(lie):
    release = swapped(ds.Swap("area", "home", within="region", rate=0.2))
    evidence = release.custodian.evidence[0]
    parts = {name: dict(part) for name, part in evidence.parts.items()}
    if lie == "value":
        parts["altered"]["value"] = parts["altered"]["value"] + 1
    elif lie == "moved":
        parts["households"]["moved"] = np.array([3])
    else:
        parts["areas"]["broad"] = np.arange(6)
    lying = replace(evidence, parts=parts)
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_what_it_cannot_do_is_said():
    frame = people()
    with pytest.raises(NeedsError, match="area"):
        ds.protect(ds.Microdata(frame), ds.Swap("area", "home"), tables=[ds.TableSpec(by={"job": JOB})], key=KEY)
    spec = ds.TableSpec(by={"area": AREA}, where="area != 'N1'")
    with pytest.raises(NeedsError, match="filter"):
        ds.protect(ds.Microdata(frame), ds.Swap("area", "home"), tables=[spec], key=KEY)
    with pytest.raises(InputError, match="different areas"):
        swapped(ds.Swap("area", "home"), frame.set_column(0, "home", pa.array(np.arange(len(frame)) // 5)))
    with pytest.raises(InputError, match="two broad areas"):
        swapped(ds.Swap("area", "home", within="sex"))
    gap = frame.set_column(0, "home", pa.array([None, *range(1, len(frame))]))
    with pytest.raises(InputError, match="no household"):
        swapped(ds.Swap("area", "home"), gap)
    for wrong in ({"rate": 0}, {"rate": 1.5}, {"profile": ["area"]}):
        with pytest.raises(ParameterError):
            ds.Swap("area", "home", **wrong)


def homes(n: int = 30) -> pa.Table:
    rng = np.random.default_rng(8)
    area = rng.choice(["N1", "N2", "S1"], n)
    return pa.table(
        {
            "home": np.arange(n),
            "area": area,
            "region": [a[0] for a in area],
            "sex": rng.choice(SEX.base_codes, n),
            "job": rng.choice(JOB.base_codes, n),
        }
    )


def audited(method: ds.Swap, *variables: str, frame: pa.Table | None = None) -> ds.Release:
    by = {"area": AREA, "job": JOB, "sex": SEX}
    spec = ds.TableSpec(by={v: by[v] for v in ("area", *variables)}, cells="all")
    table = ds.tabulate(ds.Microdata(homes() if frame is None else frame), specs=[spec]).assess(ds.MinFrequency(3))
    return ds.protect(table, method, key=KEY)


@pytest.mark.parametrize(
    ("method", "variables"),
    [
        (ds.Swap("area", "home", within="region", profile=["sex"]), ["sex"]),
        (ds.Swap("area", "home", within="area"), ["job"]),
        (ds.Swap("area", "home", within="region", profile=["job", "sex"], rate=0.01), ["job"]),
    ],
    ids=["matched variables keep their areas", "nobody may leave an area", "nobody is selected"],
)
def test_a_swap_that_changes_no_cell_is_refused(method, variables):
    with pytest.raises(ProtectionError, match="changed no cell"):
        audited(method, *variables)


def test_the_checker_refuses_a_swap_that_changed_no_cell():
    release = audited(ds.Swap("area", "home", within="region", rate=0.5), "job")
    custodian = release.custodian
    table = custodian.tables.tables[0]
    evidence = custodian.evidence[0]
    altered = {**evidence.parts["altered"], "value": table.value}
    same = replace(evidence, parts={**evidence.parts, "altered": altered})
    verdict = check_release(replace(custodian, published=(table.value,), evidence=(same,)), release.public)
    assert any("nothing was exchanged" in str(one) for one in verdict.refused)
    audit = ds.audit(replace(release, custodian=replace(custodian, published=(table.value,), evidence=(same,))))
    assert not audit.holds
    assert "because the exchange changed no cell" in audit.summary()


def test_audits_know_what_no_exchange_can_change():
    """Regions, areas without a partner, and what households were matched on are published as they are."""
    release = audited(ds.Swap("area", "home", within="region", profile=["sex"], rate=0.5), "job", "sex")
    columns = ds.audit(release).columns()
    rows = {
        name: (low, high) for name, low, high in zip(*(columns[c] for c in ("cell", "lower", "upper")), strict=True)
    }
    exact = [name for name, (low, high) in rows.items() if low == high]
    assert any("S1" in name for name in exact)
    table = release.custodian.tables.tables[0]
    for name in rows:
        codes = dict(part.split("=") for part in name[name.index("(") + 1 : -1].split(", ")) if "(" in name else {}
        if codes.get("job") == "Total":
            assert name in exact
    assert any(low < high for low, high in rows.values())
    assert "published as they are" in ds.audit(release).summary()
    assert table.unsafe.any()


@pytest.mark.parametrize(
    ("variables", "where", "strata", "pairs", "said"),
    [
        (["job"], None, (), False, True),
        (["job", "sex"], None, (), False, False),
        (["job", "sex"], "job != 'c'", (), False, True),
        (["job", "sex"], None, ("kind",), False, True),
        (["job", "sex"], None, (), True, True),
    ],
    ids=["no table shows them", "a table shows them", "of some only", "strata are matched, too", "several persons"],
)
def test_audits_say_where_no_table_shows_what_households_were_matched_on(variables, where, strata, pairs, said):
    """A reader who knows the households of each profile tells more than the tables do, and is not considered."""
    frame = homes(40)
    if pairs:  # two persons alike in every home
        frame = pa.concat_tables([frame, frame])
    frame = frame.append_column("kind", pa.array([("x", "y")[h % 2] for h in frame["home"].to_pylist()]))
    by = {"area": AREA, "job": JOB, "sex": SEX}
    spec = ds.TableSpec(by={v: by[v] for v in ("area", *variables)}, where=where or (), cells="all")
    table = ds.tabulate(ds.Microdata(frame, strata=list(strata)), specs=[spec]).assess(ds.MinFrequency(3))
    method = ds.Swap("area", "home", within="region", profile=["sex"], rate=0.5)
    audit = ds.audit(ds.protect(table, method, key=KEY))
    assert any("households of each profile" in text for text in audit.not_considered) == said


def test_values_are_not_audited():
    frame = homes().append_column("income", pa.array(np.arange(30)))
    spec = ds.TableSpec(by={"area": AREA, "job": JOB}, value="income", cells="all")
    table = ds.tabulate(ds.Microdata(frame), specs=[spec]).assess(ds.MinContributors(3))
    audit = ds.audit(ds.protect(table, ds.Swap("area", "home", within="region", rate=0.5), key=KEY))
    assert audit.not_audited
    assert not audit.holds


def test_a_recipe_swaps(tmp_path):
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text(
        """
        version = 1
        [data]
        file = "people.csv"
        [hierarchies]
        area = ["N1", "N2", "N3", "S1", "S2", "S3"]
        job = ["a", "b", "c"]
        [[tables]]
        by = ["area", "job"]
        cells = "all"
        [[protect]]
        method = "swap"
        area = "area"
        household = "home"
        within = "region"
        [output]
        directory = "out"
        report = true
        """
    )
    assert ds.run_recipe(tmp_path / "recipe.toml").verdict.holds


# ---- files of records ---------------------------------------------------------------------------------------


def file_of(frame: pa.Table | None = None, **roles: object) -> ds.Microdata:
    return ds.Microdata(people() if frame is None else frame, household="home", numeric=["risk"], **roles)


WITHIN = ds.Swap("area", "home", within="region", profile=["sex"], rate=0.3)


def test_records_and_tables_of_them_are_swapped_alike():
    records = ds.protect(file_of(), WITHIN, key=KEY)
    assert records.verify().holds
    assert records.public.records.altered == ("home", "area")
    again = ds.tabulate(ds.Microdata(records.custodian.released.columns), specs=[s.with_(cells="all") for s in specs()])
    release = swapped(WITHIN)
    for table, published in zip(again, release.custodian.published, strict=True):
        assert np.array_equal(table.value, published)
    assert records.custodian.evidence[0].facts["moved"] == release.custodian.evidence[0].facts["moved"]


def test_risky_households_move_in_records_and_tables_alike():
    """One choice of households for both: those of the file are those of the tables, and the risky ones among them."""
    data, method = ds.Microdata(people()), ds.Swap("area", "home", rate=0.05, risk="risk")
    file = ds.protect(data, method, key=KEY, keep_order=True).public.records.columns
    tables = ds.protect(data, method, tables=specs(), key=KEY)
    moved_areas = ds.Microdata(people().set_column(1, "area", file["area"]))
    (again,) = ds.tabulate(moved_areas, specs=[specs()[0].with_(cells="all")])
    assert np.array_equal(tables.custodian.published[0], again.value)
    moved = np.array(file["area"].to_pylist()) != np.array(people()["area"].to_pylist())
    risky = np.asarray(people()["risk"].to_numpy()) > 0
    assert moved[risky].mean() > 5 * moved[~risky].mean()


def test_numbers_may_be_areas():
    """Codes keep their type."""
    frame = people()
    codes = pa.array([AREA.base_codes.index(code) for code in frame["area"].to_pylist()])
    release = ds.protect(file_of(frame.set_column(1, "area", codes)), WITHIN, key=KEY)
    assert release.custodian.released["area"].type == pa.int64()
    words = ds.protect(file_of(), WITHIN, key=KEY).custodian.released["area"].to_pylist()
    assert [AREA.base_codes[i] for i in release.custodian.released["area"].to_pylist()] == words


def test_households_stay_in_their_stratum():
    data = file_of(strata=["job"])
    release = ds.protect(data, ds.Swap("area", "home", rate=0.5), key=KEY)
    assert release.verify().holds
    assert "agrees in size and job" in release.custodian.evidence[0].claim.statement
    before, after = (
        sorted(zip(records["area"].to_pylist(), records["job"].to_pylist(), strict=True))
        for records in (release.custodian.original, release.custodian.released)
    )
    assert before == after  # households that agree in their jobs took each other's places
    with pytest.raises(InputError, match="Nobody leaves 'area': it is a stratum"):
        ds.protect(file_of(strata=["area"]), ds.Swap("area", "home"), key=KEY)


def test_a_swap_in_which_nobody_moves_is_refused():
    with pytest.raises(ProtectionError, match="No household found a partner"):
        ds.protect(file_of(), ds.Swap("area", "home", within="area"), key=KEY)


def test_columns_that_are_not_there_are_named():
    with pytest.raises(InputError, match=r"no column 'hoem'.*Did you mean 'home'"):
        ds.protect(file_of(), ds.Swap("area", "hoem"), key=KEY)


def test_a_column_that_tells_the_area_is_named():
    """Postcodes stay where they were; who knows them undoes the exchange."""
    frame = people()
    draw = np.random.default_rng(2)
    code = [f"{area}{draw.integers(3)}" if draw.random() < 0.95 else None for area in frame["area"].to_pylist()]
    release = ds.protect(file_of(frame.append_column("postcode", pa.array(code))), WITHIN, key=KEY)
    assert release.custodian.evidence[0].facts["telling"] == ["postcode"]
    verdict = release.verify()
    assert verdict.holds
    assert "readers who know in which area each postcode lies: it stayed as it was" in verdict.not_considered
    assert any("Every code of 'postcode' lies in one area" in note for note in release.custodian.log["notes"])
    lying = replace(release.custodian.steps[0].evidence, facts={**release.custodian.evidence[0].facts, "telling": []})
    step = replace(release.custodian.steps[0], evidence=lying)
    verdict = check_records(replace(release.custodian, steps=(step,)), release.public)
    assert any("that tell the area are not those that are named" in refusal.message for refusal in verdict.refused)


def suppressed(**options: object) -> ds.Release:
    return ds.protect(
        file_of(), [WITHIN, ds.Suppress()], tables=specs(), rules=[ds.MinFrequency(3)], **{"key": KEY, **options}
    )


def test_a_method_for_tables_may_follow(tmp_path):
    release = suppressed()
    swapped_only = swapped(WITHIN)
    for table, whole, value in zip(
        release.custodian.tables, swapped_only.custodian.tables, swapped_only.custodian.published, strict=True
    ):
        assert np.array_equal(table.value, value[whole.find(table.codes)])
    assert [evidence.claim.method for evidence in release.custodian.evidence] == ["swap", "suppress"]
    verdict = release.verify(file_of())
    assert verdict.holds, verdict
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    again = ds.load(tmp_path / "out").replay()
    assert again.custodian.log["key"] == release.custodian.log["key"]


def test_a_key_that_was_made_for_the_first_step_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_KEY", raising=False)
    release = suppressed(key=None)
    assert release.custodian.key.made
    release.save(tmp_path / "out")
    loaded = ds.load(tmp_path / "out")
    assert loaded.custodian.key.fingerprint == release.custodian.key.fingerprint
    assert loaded.verify(file_of()).holds


def test_a_seed_of_the_first_step_makes_the_release_insecure(tmp_path):
    steps = [ds.Swap("area", "home", within="region", insecure_seed=1), ds.Suppress()]
    release = ds.protect(file_of(), steps, tables=specs(), rules=[ds.MinFrequency(3)])
    with pytest.raises(OutputError, match="insecure_seed"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_numbers_of_households_before_tables_are_refused():
    release = suppressed()
    first, last = release.custodian.evidence
    for facts in ({"moved": 2}, {"moved": None}, {}):
        lying = replace(first, facts={**first.facts, **facts} if facts else {})
        verdict = check_release(replace(release.custodian, evidence=(lying, last)), release.public)
        assert any("swap does not claim what it may" in refusal.message for refusal in verdict.refused)
    wrong = replace(first, claim=replace(first.claim, statement=first.claim.statement.replace("of 400", "of 401")))
    lie = replace(release, custodian=replace(release.custodian, evidence=(replace(wrong, facts=first.facts), last)))
    assert not lie.verify().holds


def test_records_that_were_swapped_otherwise_before_tables_are_refused_with_the_records():
    release = suppressed()
    first, last = release.custodian.evidence
    facts = {**first.facts, "moved": 2}
    statement = first.claim.statement.replace(f"{first.facts['moved']} of", "2 of")
    lying = replace(first, facts=facts, claim=replace(first.claim, statement=statement))
    lie = replace(release, custodian=replace(release.custodian, evidence=(lying, last)))
    assert lie.verify().holds  # nobody can tell from the cells
    verdict = lie.verify(file_of())
    assert any("is not what they give" in refusal.message for refusal in verdict.refused)


def test_recoded_records_are_swapped():
    steps = [ds.Recode("job", map={"a": "b"}), ds.Swap("area", "home", within="region", rate=0.3)]
    release = ds.protect(file_of(), steps, tables=specs(), key=KEY)
    assert release.verify(file_of()).holds
    table = release.custodian.tables.tables[0]
    assert table.value[table.row(area="Total", job="a")] == 0
    assert np.any(release.custodian.published[0] != table.value)


@pytest.mark.parametrize("last", ["swap", "suppress"])
def test_a_recipe_swaps_files_and_tables_alike(last, tmp_path):
    """Numbers of csv files are numbers after a step on records too: in filters, risks and values."""
    import pyarrow.csv as arrow_csv

    frame = people().append_column("income", pa.array(np.arange(people().num_rows) % 500))
    arrow_csv.write_csv(frame, tmp_path / "people.csv")
    data = 'version = 1\n[data]\nfile = "people.csv"\nhousehold = "home"\nnumeric = ["income"]\nsensitive = ["risk"]\n'
    step = '[[protect]]\nmethod = "swap"\narea = "area"\nhousehold = "home"\nwithin = "region"\nrisk = "risk"\n'
    out = '[output]\ndirectory = "out"\n'
    if last == "swap":
        text = f"{data}[records]\n{step}{out}"
    else:
        areas = ", ".join(f'"{code}"' for code in AREA.base_codes)
        text = (
            f'{data}[hierarchies]\narea = [{areas}]\n[[tables]]\nby = ["area"]\nvalue = "income"\n'
            f'filter = "risk < 1"\n[[rules]]\nkind = "p_percent"\np = 10\n{step}[[protect]]\nmethod = "suppress"\n{out}'
        )
    (tmp_path / "recipe.toml").write_text(text)
    run = ds.run_recipe(tmp_path / "recipe.toml")
    assert run.verdict.holds
    assert run.release.custodian.evidence[0].claim.method == "swap"


def test_a_second_exchange_by_the_same_draws_would_bring_households_back():
    draw = np.random.default_rng(1)
    homes, areas = np.repeat(np.arange(100), 2), np.repeat(draw.choice(list("abcd"), 100), 2)
    data = ds.Microdata(pa.table({"home": homes, "area": areas}), household="home")
    first, key = ds.Swap("area", "home", rate=0.3), ds.Key(bytes(32))
    with pytest.raises(ParameterError, match="Values of column 'area' are exchanged twice"):
        ds.protect(data, [first, first], key=key)
    release = ds.protect(data, [first, ds.Swap("area", "home", rate=0.3, version=2)], key=key)
    assert release.verify().holds
    steps = list(release.custodian.steps)
    method = {**steps[1].evidence.method, "version": 1}
    steps[1] = replace(steps[1], evidence=replace(steps[1].evidence, method=method))
    lie = replace(release.custodian, steps=tuple(steps))
    found = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert "areas were exchanged twice with the same draws, which brings many households back" in found
