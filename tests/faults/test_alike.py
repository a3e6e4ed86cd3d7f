"""Codes and contributors that look the same are refused by name, never published or counted as two."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError
from discreet.model.alike import plain

TWINS = {
    "trailing blank": ("N1", "N1 "),
    "leading blank": (" N1", "N1"),
    "no-break space": ("N 1", "N\u00a01"),
    "two blanks": ("N 1", "N  1"),
    "space of no width": ("N1", "N\u200b1"),
    "byte order mark": ("\ufeffN1", "N1"),
    "accent apart": ("Cr\u00e9", "Cre\u0301"),
    "soft hyphen": ("N1", "N\u00ad1"),
    "tab": ("N1", "N1\t"),
}


@pytest.mark.parametrize("kind", TWINS)
def test_codes_that_look_the_same_are_refused_by_name(kind, tmp_path):
    one, two = TWINS[kind]
    with pytest.raises(InputError, match="look the same") as refused:
        ds.Hierarchy.flat([one, two, "S"])
    assert any(ascii(code) in str(refused.value) for code in (one, two))


@pytest.mark.parametrize("kind", TWINS)
def test_a_recipe_does_not_publish_codes_that_look_the_same(kind, tmp_path):
    one, two = TWINS[kind]
    pq.write_table(pa.table({"region": [one, two, "S"] * 4, "x": range(12)}), tmp_path / "records.parquet")
    (tmp_path / "recipe.toml").write_text(
        'version = 1\n[data]\nfile = "records.parquet"\n[[tables]]\nname = "t"\nby = ["region"]\nvalue = "x"\n'
        '[[rules]]\nkind = "min_contributors"\nn = 2\n[[protect]]\nmethod = "suppress"\n[output]\ndirectory = "out"\n'
    )
    with pytest.raises(InputError, match="look the same"):
        ds.run_recipe(tmp_path / "recipe.toml")
    assert not (tmp_path / "out").exists()


def test_a_code_with_a_nul_is_refused():
    with pytest.raises(InputError, match=r"'N\\x001' with a NUL"):
        ds.Hierarchy.flat(["N\x001", "S"])


def test_a_code_that_only_looks_like_one_of_the_hierarchy_is_spelt_out():
    records = pa.table({"region": ["Cre\u0301"], "x": [1]})
    with pytest.raises(InputError, match=r"'Cre\\u0301' \(1 record\)"):
        ds.tabulate(records, by={"region": ds.Hierarchy.flat(["Cr\u00e9", "S"])}, value="x")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", TWINS)
def test_one_contributor_written_in_two_ways_does_not_count_as_two(kind, engine, tmp_path):
    pytest.importorskip("duckdb")
    one, two = TWINS[kind]
    records = pa.table({"region": ["N", "N", "S"], "x": [5, 7, 9], "firm": [one, two, "Zo\u00eb & Co"]})
    pq.write_table(records, tmp_path / "records.parquet")
    by = {"region": ds.Hierarchy.flat(["N", "S"])}
    with pytest.raises(InputError, match="two contributors that look the same") as refused:
        ds.tabulate(tmp_path / "records.parquet", by=by, value="x", contributor="firm", engine=engine)
    assert two not in str(refused.value), "who contributes is confidential"
    assert ascii(two) in refused.value.details or ascii(one) in refused.value.details
    different = records.set_column(2, "firm", [[one, "\u4e2d\u6587", "Zo\u00eb & Co"]])
    pq.write_table(different, tmp_path / "records.parquet")
    ds.tabulate(tmp_path / "records.parquet", by=by, value="x", contributor="firm", engine=engine)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=8), st.sampled_from(["", " ", "\u00a0", "\u200b", "\t", "\ufeff"]), st.sampled_from(["NFC", "NFD"])
)
def test_what_nobody_sees_makes_no_difference(text, invisible, form):
    assert plain(invisible + unicodedata.normalize(form, text) + invisible) == plain(text)
    assert plain(plain(text)) == plain(text)
