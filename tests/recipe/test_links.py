"""Linked tables from metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.recipe.links import TableMetadata, linked_clusters, read_table_metadata, tables_of_recipe
from discreet.recipe.schema import read_recipe
from tests.recipe.test_recipe import RECIPE

OURS = """table,by,value,universe
T1,nace=naf|size,turnover,France
T2,nace=naf2|region,turnover,France
T3,nace,home,France
T4,nace,turnover,Spain
"""
THEIRS = """table_name,field,hrc_field,indicator,hrc_indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2
T1,France,NA,to_pizza,hrc_pizza,nace,hrc_nace,size,NA
T2,France,NA,to_four,hrc_pizza,nace,hrc_nace,NA,NA
T3,France,NA,jobs,NA,nace,hrc_nace,size,NA
"""


def test_tables_of_one_value_and_universe_are_one_cluster(tmp_path: Path) -> None:
    (tmp_path / "tables.csv").write_text(OURS)
    tables = read_table_metadata(tmp_path / "tables.csv")
    assert linked_clusters(tables).groups == (("T1", "T2"), ("T3",), ("T4",))
    joined = linked_clusters(tables, ["turnover = home + export"])
    assert joined.groups == (("T1", "T2", "T3"), ("T4",))
    why = {(link.one, link.other): link.why for link in joined.links}
    assert why["T1", "T2"] == "share cells by nace (codes of nace that mean the same in both hierarchies)"
    assert why["T1", "T3"] == "share cells by nace; turnover and home are joined by an equation"
    assert joined.summary().splitlines()[0] == "Cluster 1: T1, T2, T3"


def test_the_layout_of_rtauargus_is_read(tmp_path: Path) -> None:
    (tmp_path / "tables.csv").write_text(THEIRS)
    tables = read_table_metadata(tmp_path / "tables.csv")
    assert tables[1].by == {"nace": "hrc_nace"}
    assert linked_clusters(tables).groups == (("T1", "T2"), ("T3",))


def test_tables_without_a_common_variable_share_the_grand_total() -> None:
    [link] = linked_clusters([TableMetadata("a", {"x": ""}), TableMetadata("b", {"y": ""})]).links
    assert link.why == "share the grand total"


def test_what_is_linked_is_what_shares_cells() -> None:
    """The clusters are those that the cells themselves give."""
    made = ds.generate.business_survey(300, seed=1, activities=(2, 4), regions=(2, 3))
    region, activity = (ds.Hierarchy.from_parents(made.parents[v], "Total") for v in ("region", "activity"))
    specs = [
        ds.TableSpec(by={"region": region}, value="turnover", name="a"),
        ds.TableSpec(by={"activity": activity}, value="turnover", name="b"),
        ds.TableSpec(by={"region": region}, value="employees", name="c"),
    ]
    tables = ds.tabulate(made.records, specs=specs)
    shared = {frozenset(pair[:2]) for pair in tables.shared()}
    found = linked_clusters([TableMetadata(s.name, dict.fromkeys(s.by, ""), s.value or "") for s in specs])
    assert {frozenset((link.one, link.other)) for link in found.links} == shared


def test_recipes_say_what_their_tables_are() -> None:
    [table] = tables_of_recipe(read_recipe(RECIPE))
    assert table == TableMetadata(
        "turnover", {"activity": "input/activity.hrc", "region": ""}, "turnover", "input/records.csv"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("table,by\nT1\n", "t.csv, line 2: found '1 field'; expected 2, as the header has."),
        ("table,by\n,a\n", "t.csv, line 2: found 'a line without table or variables'; expected a name"),
        ("table,colour\nT1,a\n", "t.csv, line 1: found 'column colour'; expected columns"),
    ],
)
def test_bad_metadata_name_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError) as caught:
        read_table_metadata(tmp_path / "t.csv")
    assert caught.value.message.startswith(message)


def test_names_must_differ() -> None:
    with pytest.raises(InputError, match="used twice: 'a'"):
        linked_clusters([TableMetadata("a", {"x": ""}), TableMetadata("a", {"y": ""})])
