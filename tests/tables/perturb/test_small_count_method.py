"""Small count rounding as a method of ``ds.protect``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.model.public import in_rows_of
from discreet.verify import check_release

PARTY = ds.Hierarchy.flat(list("ABC"))
AGE = ds.Hierarchy.flat(["young", "middle", "old"])
SEX = ds.Hierarchy.flat(["m", "f"])
T1 = {"A": [0, 0, 8, 4, 4, 1], "B": [0, 1, 3, 5, 1, 0], "C": [2, 3, 9, 6, 2, 7]}
"""The card's inner cells: young m, f, middle m, f, old m, f."""
SPECS = [
    ds.TableSpec(by={"party": PARTY, "age": AGE}, name="age"),
    ds.TableSpec(by={"party": PARTY, "sex": SEX}, name="sex"),
]


def voters() -> pa.Table:
    rows = [
        (party, age, sex)
        for party, counts in T1.items()
        for (age, sex), n in zip([(a, s) for a in AGE.base_codes for s in SEX.base_codes], counts, strict=True)
        for _ in range(n)
    ]
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(("party", "age", "sex"))})


def row_of_b(release: ds.Release) -> tuple[int, ...]:
    tables = release.custodian.tables.tables
    age, sex = (in_rows_of(*pair) for pair in zip(tables, release.public.tables, strict=True))
    found = [age.value[tables[0].row(party="B", age=code)] for code in ("young", "middle", "old")]
    found += [sex.value[tables[1].row(party="B", sex=code)] for code in ("m", "f", "Total")]
    return tuple(int(v) for v in found)


def test_the_card_has_two_outcomes_and_no_other():
    data = ds.Microdata(voters())
    found = {row_of_b(ds.protect(data, ds.SmallCount(insecure_seed=seed), tables=SPECS)) for seed in range(12)}
    assert found == {(3, 8, 0, 3, 8, 11), (0, 8, 3, 6, 5, 11)}


def test_totals_of_the_card():
    release = ds.protect(ds.Microdata(voters()), ds.SmallCount(insecure_seed=3), tables=SPECS)
    assert release.verify().holds
    tables = release.custodian.tables.tables
    by_age, by_sex = (in_rows_of(*pair).value for pair in zip(tables, release.public.tables, strict=True))
    ages = [int(by_age[tables[0].row(age=a)]) for a in AGE.base_codes]
    sexes = [int(by_sex[tables[1].row(sex=s)]) for s in ("m", "f", "Total")]
    assert [*ages, *sexes] in ([8, 35, 14, 28, 29, 57], [5, 35, 17, 31, 26, 57])


def test_a_table_by_all_variables_needs_no_records():
    by = {"party": PARTY, "age": AGE, "sex": SEX}
    table = ds.tabulate(voters(), by=by)
    ready = ds.Table.from_cells(table.to_frame().drop(["status"]), by=by, counts=True).assess()
    release = ds.protect(ready, ds.SmallCount(), key=ds.Key(bytes(32)))
    same = ds.protect(table.assess(), ds.SmallCount(), key=ds.Key(bytes(32)))
    assert np.array_equal(release.custodian.published[0], same.custodian.published[0])
    assert release.verify().holds
    assert not np.isin(release.custodian.published[0], (1, 2)).any()


def test_the_order_of_variables_and_codes_is_nothing():
    backwards = ds.Hierarchy.flat(list("CBA"))
    other = [
        ds.TableSpec(by={"sex": SEX, "party": backwards}, name="sex"),
        ds.TableSpec(by={"age": AGE, "party": backwards}, name="age"),
    ]
    key = ds.Key(bytes(range(32)))
    one = ds.protect(ds.Microdata(voters()), ds.SmallCount(), tables=SPECS, key=key)
    two = ds.protect(ds.Microdata(voters()), ds.SmallCount(), tables=other, key=key)
    for party in "ABC":
        tables = [r.custodian.tables["age"] for r in (one, two)]
        rows = [table.row(party=party) for table in tables]
        mine, other = (in_rows_of(t, r.public["age"]).value for t, r in zip(tables, (one, two), strict=True))
        assert mine[rows[0]] == other[rows[1]]


def test_earlier_publications_are_kept_and_made_up_for():
    fixed = {("B", "young", "f"): 0}
    method = ds.SmallCount(pre_rounded=fixed, insecure_seed=1)
    release = ds.protect(ds.Microdata(voters()), method, tables=SPECS)
    assert release.verify().holds
    assert row_of_b(release)[0] == 0
    assert "earlier publications" in release.summary()
    evidence = release.custodian.evidence[0]
    lying = replace(evidence, method={**evidence.method, "pre_rounded": [["B", "young", "f", 3]]})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds
    owed = ds.SmallCount(differences={("age", "B", "young"): 3}, insecure_seed=1)
    found = [
        row_of_b(ds.protect(ds.Microdata(voters()), replace(owed, insecure_seed=s), tables=SPECS)) for s in range(6)
    ]
    assert {row[0] for row in found} == {3}


@pytest.mark.parametrize("lie", ["rounded", "count", "claim"])
def test_the_checker_refuses_other_inner_cells(lie):
    release = ds.protect(ds.Microdata(voters()), ds.SmallCount(insecure_seed=1), tables=SPECS)
    evidence = release.custodian.evidence[0]
    inner = dict(evidence.parts["inner"])
    if lie == "claim":
        lying = replace(evidence, claim=replace(evidence.claim, not_considered=()))
    else:
        inner[lie] = inner[lie] + (np.arange(len(inner[lie])) == 2)
        lying = replace(evidence, parts={"inner": inner})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_what_it_cannot_do_is_said():
    table = ds.tabulate(voters(), by={"party": PARTY})
    cells = [ds.Table.from_cells(t.to_frame().drop(["status"]), by=t.spec.by, counts=True, name=t.name) for t in
             ds.tabulate(ds.Microdata(voters()), specs=SPECS)]  # fmt: skip
    with pytest.raises(NeedsError, match="all variables"):
        ds.protect(ds.TableSet(cells).assess(), ds.SmallCount(insecure_seed=1))
    magnitude = table.with_(spec=table.spec.with_(value="income")).assess()
    with pytest.raises(NeedsError, match="counts of records"):
        ds.protect(magnitude, ds.SmallCount(insecure_seed=1))
    with pytest.raises(InputError, match="no inner cell"):
        ds.protect(table.assess(), ds.SmallCount(pre_rounded={("D",): 0}, insecure_seed=1))
    with pytest.raises(InputError, match="no table"):
        ds.protect(table.assess(), ds.SmallCount(differences={("x", "A"): 1}, insecure_seed=1))
    with pytest.raises(InputError, match="may not be published"):
        ds.protect(table.assess(), ds.SmallCount(pre_rounded={("A",): 2}, insecure_seed=1))
    with pytest.raises(ParameterError, match="base"):
        ds.SmallCount(base=1)


def test_a_recipe_rounds_small_counts(tmp_path):
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(voters(), tmp_path / "voters.csv")
    (tmp_path / "recipe.toml").write_text(
        """
        version = 1
        [data]
        file = "voters.csv"
        [[tables]]
        name = "age"
        by = ["party", "age"]
        [[tables]]
        name = "sex"
        by = ["party", "sex"]
        [[protect]]
        method = "small_count"
        base = 3
        [output]
        directory = "out"
        report = true
        """
    )
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.verdict.holds
    assert (tmp_path / "out" / "custodian" / "key.txt").is_file()
    assert not np.isin(np.concatenate(done.release.custodian.published), (1, 2)).any()
