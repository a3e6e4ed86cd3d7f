"""How tables hang together, by the verb."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import OutputError, ParameterError
from discreet.model.table import Table

REGIONS = {"N1": "North", "N2": "North", "S1": "South", "S2": "South", "North": "Total", "South": "Total"}
SIZES = [f"s{k}" for k in range(6)]


@pytest.fixture(scope="module")
def table() -> Table:
    regions = ds.Hierarchy.from_parents(REGIONS, total="Total")
    cells = [(r, s, 5 * i + j + 1) for i, r in enumerate(("N1", "N2", "S1", "S2")) for j, s in enumerate(SIZES)]
    columns = dict(zip(("region", "size", "value"), map(list, zip(*cells, strict=True)), strict=True))
    by = {"region": regions, "size": ds.Hierarchy.flat(SIZES)}
    return ds.Table.from_cells(pa.table(columns), by=by, compute_totals=True, name="firms")


def one_way(name: str, codes: list[str]) -> Table:
    cells = pa.table({name: codes, "value": list(range(1, len(codes) + 1))})
    return ds.Table.from_cells(
        cells, by={name: ds.Hierarchy.flat(codes)}, compute_totals=True, variable=name, name=name
    )


def test_a_table_falls_into_blocks_and_the_links_have_names(table):
    found = table.structure(form="primal")
    assert found.blocks == 2
    assert sum(cells for _, cells in found.sizes) == len(table) == 49
    assert found.parts == 1
    assert len(found.links) == found.counts()["links"]
    assert all(name.startswith("'") and "in table 'firms'" in name for name in found.links)
    text = found.summary()
    assert text.startswith("28 relations between 49 distinct cells (")
    assert found.links[0] in text
    assert ("Few links" in text) == found.few_links


def test_what_is_said_of_links_is_true_of_the_relations(table):
    found = table.structure(3, form="dual")
    linked = found.to_frame("links").to_pydict()
    of = dict(zip(*found.to_frame("cells").to_pydict().values(), strict=True))
    assert tuple(linked["cell"]) == found.links
    assert {name for name, block in of.items() if block is None} == set(found.links)
    block = np.array(found.to_frame("relations").to_pydict()["block"])
    matrix = found.system.matrix.toarray()
    for number, blocks in zip(found.found.linking.tolist(), linked["blocks"], strict=True):
        assert blocks == ", ".join(str(b) for b in sorted(set(block[matrix[:, number] != 0].tolist())))
        assert "," in blocks


def test_frames_add_up_to_the_whole(table):
    found = ds.structure(table)
    blocks = found.to_frame().to_pydict()
    assert blocks["block"] == ["1", "2", "links"]
    assert sum(blocks["relations"]) == found.to_frame("relations").num_rows == 28
    assert sum(blocks["cells"]) == found.to_frame("cells").num_rows == 49
    assert all("of 7 codes (" in text for text in blocks["codes"][:2])
    with pytest.raises(ParameterError, match=r"There is no frame 'rows'.*'blocks', 'links', 'cells', 'relations'"):
        found.to_frame("rows")


def test_tables_without_common_cells_are_parts_and_nothing_is_called_safe():
    both = ds.TableSet([one_way("trade", ["a", "b", "c"]), one_way("size", ["s", "l"])])
    found = both.structure()
    assert (found.parts, found.sizes, found.links) == (2, [(1, 4), (1, 3)], ())
    text = found.summary()
    assert "No relation ties the 2 independent parts together." in text
    assert "parts are not safe to protect one by one" in text
    assert found.to_frame().to_pydict()["block"] == ["1", "2"]
    assert found.to_frame("links").num_rows == 0


def test_many_parts_are_counted_and_the_first_are_shown():
    names = [f"v{k}" for k in range(40)]
    found = ds.TableSet([one_way(name, ["a", "b"]) for name in names]).structure()
    assert found.parts == found.to_frame().num_rows == 40
    assert "and 32 more" in found.summary()
    assert repr(found).endswith("... 10 more blocks")
    assert "10 more blocks: to_frame() has all." in found._repr_html_()


def test_linked_tables_hang_together_at_what_they_share():
    by = {"region": ds.Hierarchy.flat(["N", "S", "W"]), "size": ds.Hierarchy.flat(["s", "m", "l"])}
    frame = pa.table(
        {
            "region": ["N", "N", "S", "S", "W", "W", "N", "S", "W"],
            "size": ["s", "m", "s", "l", "m", "l", "l", "m", "s"],
            "age": ["x", "y", "z", "x", "y", "z", "z", "y", "x"],
            "value": list(range(1, 10)),
        }
    )
    age = {"region": by["region"], "age": ds.Hierarchy.flat(["x", "y", "z"])}
    one, two = (
        ds.tabulate(frame, by=some, value="value", name=name) for some, name in ((by, "by size"), (age, "by age"))
    )
    linked = ds.TableSet([one, two])
    shared = linked.shared()[0][2]
    found = linked.structure(form="dual")
    assert shared == 4
    assert found.parts == 1
    assert set(found.links) == {f"by size: region={code}, size=Total" for code in ("Total", "N", "S", "W")}
    assert sorted(found.sizes) == [(7, 12), (8, 12)]  # the sum of the regions is a relation of both tables


def test_cells_in_no_relation_are_counted():
    by = {"code": ds.Hierarchy.flat(["a", "b", "c"], total=None)}
    loose = ds.Table.from_cells(pa.table({"code": ["a", "b", "c"], "value": [1, 2, 3]}), by=by, variable="loose")
    assert loose.structure().summary().splitlines() == [
        "0 relations between 3 distinct cells (0 entries).",
        "One block: 0 relations, 3 cells.",
        "3 cells stand in no relation.",
    ]
    both = ds.TableSet([one_way("trade", ["x", "y"]), loose]).structure()
    assert (both.parts, both.alone, both.sizes) == (1, 3, [(1, 6)])


def test_the_same_seed_gives_the_same_blocks(table):
    one, two = (table.structure(4, seed=7).to_frame("cells").to_pydict() for _ in range(2))
    assert one == two


@pytest.mark.parametrize("subject", ["table", 3, None])
def test_other_subjects_are_refused(subject):
    with pytest.raises(ParameterError, match=f"Cannot look for the structure of a {type(subject).__name__}"):
        ds.structure(subject)


def test_impossible_parameters_are_refused(table):
    with pytest.raises(ParameterError, match=r"blocks=29 is not allowed.* whole number from 2 to 28"):
        table.structure(29)
    with pytest.raises(ParameterError, match=r"There is no form 'primary'. Did you mean 'primal'"):
        table.structure(form="primary")


def test_the_picture_is_written_once_and_for_its_owner_only(table, tmp_path):
    pytest.importorskip("matplotlib")
    found = table.structure()
    drawing = found.plot(tmp_path / "blocks.svg")
    assert drawing.startswith("<svg")
    assert "2 blocks (relations x cells)" in drawing
    written = (tmp_path / "blocks.svg").read_text()
    assert 'xmlns="http://www.w3.org/2000/svg"' in written
    assert (tmp_path / "blocks.svg").stat().st_mode & 0o077 == 0
    with pytest.raises(OutputError, match=r"'blocks.svg' exists"):
        found.plot(tmp_path / "blocks.svg")
    with pytest.raises(ParameterError, match=r"Use a name that ends in .svg"):
        found.plot(tmp_path / "blocks.png")


def test_notebooks_show_blocks_with_names_escaped():
    evil = "<b>&"
    cells = pa.table({"code": [evil, "b"], "other": ["x", "y"], "value": [1, 2]})
    by = {"code": ds.Hierarchy.flat([evil, "b"]), "other": ds.Hierarchy.flat(["x", "y"])}
    found = ds.tabulate(cells, by=by, value="value").structure()
    page = found._repr_html_()
    assert "<strong>2 blocks" in page
    assert evil not in page
    assert repr(found).startswith(found.summary())
