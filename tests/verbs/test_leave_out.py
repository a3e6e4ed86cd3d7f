"""Records that are left out of a file before anything else, and said to be."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError

KEY = ds.Key(bytes(32))
TABLE = pa.table(
    {
        "id": range(6),
        "area": ["n", "n", "s", "s", "s", None],
        "worth": [10, 900, 30, None, 2_000, 50],
    }
)


def people(**more: object) -> ds.Microdata:
    return ds.Microdata(TABLE, **{"identifier": "id", "numeric": "worth", "sensitive": "area"} | more)


def test_records_that_meet_a_condition_are_left_out_and_counted():
    done = ds.protect(people(leave_out="worth > 800"), ds.Recode("area", map={"n": "x"}), key=KEY, keep_order=True)
    assert done.public.records.shown()["worth"] == [10, 30, None, 50]
    assert done.custodian.log["notes"][0] == "2 records were left out before anything else: worth > 800."
    assert done.verify().holds
    assert len(done.custodian.original) == 4


def test_one_of_several_conditions_suffices(tmp_path):
    data = people(leave_out=["worth > 1000", "area == 'n'", "worth is null"])
    done = ds.protect(data, ds.Recode("worth", base=20), key=KEY, keep_order=True)
    assert done.public.records.shown() == {"area": ["s", None], "worth": [40, 40]}
    assert [note.split(" left")[0] for note in done.custodian.log["notes"][:3]] == [
        "2 records were",
        "1 record was",
        "1 record was",
    ]
    done.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    assert ds.load(tmp_path / "out").replay().public.records.columns.equals(done.public.records.columns)


def test_risk_and_rules_see_the_same_records():
    data = people(leave_out="worth > 800", keys=["area"], sensitive=())
    assert data.assess(ds.KAnonymity(2)).assessment.unsafe == (2,)
    assert people(keys=["area"], sensitive=()).assess(ds.KAnonymity(2)).assessment.unsafe == (1,)


def test_wrong_conditions_are_refused_in_words():
    recode = ds.Recode("worth", base=10)
    with pytest.raises(InputError, match="There is no column 'wealth'"):
        ds.protect(people(leave_out="wealth > 1"), recode, key=KEY)
    with pytest.raises(ParameterError, match="does not fit column 'area', which holds text"):
        ds.protect(people(leave_out="area > 1"), recode, key=KEY)
    with pytest.raises(InputError, match="Every record meets 'id >= 0', and none is left"):
        ds.protect(people(leave_out="id >= 0"), recode, key=KEY)
    with pytest.raises(ParameterError, match="Cannot read the filter"):
        people(leave_out="worth = 3")


def test_tables_have_filters_of_their_own():
    data = people(leave_out="worth > 800", missing={"area": "u"})
    by = {"area": ds.Hierarchy.flat(["n", "s", "u"])}
    with pytest.raises(
        ParameterError, match=r"leave_out=\) is for files of records, and tables are to be made.*where="
    ):
        ds.tabulate(data, by=by)
    with pytest.raises(ParameterError, match="is for files of records, and tables are to be made"):
        ds.protect(data, [ds.Recode("worth", base=10), ds.Round(5)], tables=[ds.TableSpec(by=by)], key=KEY)


def test_in_a_recipe_of_tables_it_is_refused(tmp_path):
    recipe = tmp_path / "job.toml"
    recipe.write_text(
        'version = 1\n[data]\nfile = "a.csv"\nleave_out = ["x > 1"]\n[[tables]]\nby = ["area"]\n'
        '[[protect]]\nmethod = "round"\nbase = 5\n[output]\ndirectory = "out"\n',
        encoding="utf-8",
    )
    with pytest.raises(ParameterError, match=r"leave_out of \[data\] is for files of records"):
        ds.run_recipe(recipe)
