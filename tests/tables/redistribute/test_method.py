"""Maps without small places as a method of ``ds.protect``."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.verify import check_release

GRID = ds.HexGrid("x", "y", size=1.0, origin=(0.0, 0.0))


def points(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(6)
    x, y = rng.normal(0, 2.2, (2, n))
    firm = rng.integers(0, n // 2, n)
    return pa.table({"x": x, "y": y, "firm": firm, "sales": np.rint(rng.lognormal(5, 1.2, n)).astype(np.int64)})


def row(*counts: int) -> ds.Table:
    """A map of squares in a row, neighbours left and right."""
    codes = [f"c{i}" for i in range(len(counts))]
    where = ds.Adjacency(codes, list(zip(codes[:-1], codes[1:], strict=True)))  # noqa: RUF007
    frame = pa.table({"place": [c for c, n in zip(codes, counts, strict=True) for _ in range(n)]})
    return ds.tabulate(frame, by={"place": where}).assess()


@pytest.mark.parametrize("algorithm", ["nearest", "equal", "optimal"])
@pytest.mark.parametrize("outliers", ["suppress", "redistribute"])
def test_no_place_is_small_and_the_moves_are_rechecked(algorithm, outliers):
    table = ds.tabulate(points(), by={"place": GRID}).assess()
    release = ds.protect(table, ds.Redistribute(3, outliers=outliers, algorithm=algorithm))
    assert release.verify().holds
    shown = release.public.tables[0].value
    assert shown[shown > 0].min() >= 3
    assert "U2: places changed by" in release.summary()
    facts = release.custodian.evidence[0].facts
    assert shown[0] == 400 - facts["lost"]
    assert (facts["lost"] == 0) or outliers == "suppress"


def test_the_optimum_walks_least():
    table = ds.tabulate(points(), by={"place": GRID}).assess()
    steps = {
        name: ds.protect(table, ds.Redistribute(algorithm=name)).custodian.evidence[0].facts["steps"]
        for name in ("nearest", "equal", "optimal")
    }
    assert steps["optimal"] <= min(steps["nearest"], steps["equal"])


def test_positions_are_published_as_hexagons_only():
    release = ds.protect(ds.tabulate(points(), by={"place": GRID}).assess(), ds.Redistribute())
    public = release.public.tables[0]
    assert public.variables == ("place",)
    assert all(code == "Total" or ":" in code for code in public.code_lists[0])
    assert public.labels[0]["h0:0"] == "0, 0"
    assert "<svg" in release.map_image()


def test_outliers_leave_no_trace():
    """Neither the row nor the code of a removed hexagon is public, in no format."""
    frame = pa.table({"x": [0.0] * 7 + [1.0, 20.0], "y": [0.0] * 9})
    release = ds.protect(ds.tabulate(frame, by={"place": GRID}).assess(), ds.Redistribute())
    assert release.public.tables[0].code_lists == (("Total", "h0:0", "h1:0"),)
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "out", formats=["csv", "jsonstat", "px", "sdmx-json"], report=True)
        assert ds.check_folder(Path(folder) / "out").holds
        for path in (Path(folder) / "out" / "public").iterdir():
            assert b"h20" not in path.read_bytes()
        written = Path(folder) / "out" / "public" / "count_by_place.jsonstat.json"
        data = json.loads(written.read_text())
        data["dimension"]["place"]["category"]["index"].append("h20:0")
        data["size"] = [4]
        written.write_text(json.dumps(data))
        assert not ds.check_folder(Path(folder) / "out").holds


def test_areas_with_neighbours_by_hand():
    release = ds.protect(row(1, 6, 2, 4), ds.Redistribute(3, outliers="none"))
    assert release.public.tables[0].value.tolist() == [13, 3, 3, 3, 4]
    assert release.verify().holds
    with pytest.raises(NeedsError, match="hexagons"):
        release.map_image()


def test_maps_of_magnitudes_keep_all_rules():
    by = {"place": ds.HexGrid("x", "y", 2.0)}
    table = ds.tabulate(points(), by=by, value="sales", contributor="firm").assess()
    method = ds.Redistribute(3, max_share=0.5, dominance=(2, 0.85), p=10)
    release = ds.protect(table, method)
    assert release.verify().holds
    assert release.public.tables[0].value[0] == table.value[0]
    after = release.custodian.evidence[0].parts["repaired"]
    for place in np.unique(after["place"]):
        values = np.sort(after["value"][after["place"] == place])[::-1]
        assert len(values) >= 3
        assert values[0] <= 0.5 * values.sum() + len(values)
    evidence = release.custodian.evidence[0]
    lying = replace(evidence, method={**evidence.method, "max_share": 0.2})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


@pytest.mark.parametrize("outliers", ["suppress", "redistribute", "none"])
def test_maps_of_magnitudes_handle_outliers(outliers):
    """One contributor far away, and three at a lonely place of which one has nearly everything."""
    x = [0.0] * 4 + [1.0] * 4 + [5.0] * 3 + [40.0]
    sales = [10, 20, 30, 25, 15, 20, 18, 22, 90, 3, 2, 7]
    frame = pa.table({"x": x, "y": [0.0] * 12, "firm": list(range(12)), "sales": sales})
    table = ds.tabulate(frame, by={"place": GRID}, value="sales", contributor="firm").assess()
    release = ds.protect(table, ds.Redistribute(3, outliers=outliers, max_share=0.6))
    shown = dict(zip(*(release.to_frame()[name].to_pylist() for name in ("place", "value")), strict=True))
    assert release.verify().holds
    assert ("h40:0" in shown) == (outliers == "none")
    assert shown["Total"] == sum(sales) - 7 * (outliers == "suppress")
    assert shown["h5:0"] < 95
    assert "of the value lies in other places" in release.summary()
    evidence = release.custodian.evidence[0]
    lying = replace(evidence, method={**evidence.method, "outliers": "none" if outliers != "none" else "suppress"})
    assert (outliers == "none") == check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_a_place_with_enough_units_is_no_outlier():
    release = ds.protect(row(4, 0, 0, 0, 0, 6, 5), ds.Redistribute(3, outliers="suppress"))
    values = release.custodian.published[0].copy()
    rows = [release.custodian.tables.tables[0].row(place=code) for code in ("Total", "c0")]
    values[rows] -= 4
    lying = replace(release.custodian, published=(values,))
    refused = check_release(lying, lying.public()).refused
    assert any("enough units" in str(one) for one in refused)


@pytest.mark.parametrize("lie", ["units", "steps", "target", "admit"])
def test_the_checker_refuses_other_moves(lie):
    release = ds.protect(ds.tabulate(points(), by={"place": GRID}).assess(), ds.Redistribute())
    evidence = release.custodian.evidence[0]
    moves = dict(evidence.parts["moves"])
    if lie == "admit":
        lying = replace(evidence, claim=replace(evidence.claim, not_considered=evidence.claim.not_considered[:-1]))
    else:
        moves[lie] = moves[lie] + (np.arange(len(moves[lie])) == 0)
        lying = replace(evidence, parts={**evidence.parts, "moves": moves})
    assert not check_release(replace(release.custodian, evidence=(lying,)), release.public).holds


def test_published_totals_of_areas_are_audited():
    table = row(1, 6, 2, 4)
    assert ds.protect(table, ds.Redistribute(outliers="none", areas={"all": ["c0", "c1", "c2", "c3"]})).verify().holds
    with pytest.raises(ProtectionError, match="'west'"):
        ds.protect(table, ds.Redistribute(outliers="none", areas={"west": ["c0"], "east": ["c1", "c2", "c3"]}))
    with pytest.raises(InputError, match="c9"):
        ds.protect(table, ds.Redistribute(outliers="none", areas={"west": ["c9"]}))


def test_a_map_that_is_too_fine_names_a_grid_that_works():
    fine = ds.tabulate(points(), by={"place": ds.HexGrid("x", "y", 0.05)}).assess()
    with pytest.raises(ProtectionError, match=r"too fine.*Hexagons of size ([\d.]+) would work") as error:
        ds.protect(fine, ds.Redistribute())
    size = float(str(error.value).split("size ")[1].split(" ")[0])
    wider = ds.tabulate(points(), by={"place": ds.HexGrid("x", "y", size)}).assess()
    assert ds.protect(wider, ds.Redistribute(outliers="none")).verify().holds


def test_a_map_with_outliers_is_not_too_fine_where_the_others_suffice():
    """Thirty lonely points beside two full hexagons: three units each on average is asked of what is left only."""
    x = [0.0] * 8 + [1.0] * 8 + [10.0 * i for i in range(1, 31)]
    frame = pa.table({"x": x, "y": [0.0] * len(x), "sales": [5] * len(x), "firm": list(range(len(x)))})
    by = {"place": GRID}
    counts = ds.tabulate(frame, by=by).assess()
    sums = ds.tabulate(frame, by=by, value="sales", contributor="firm").assess()
    for table in (counts, sums):
        release = ds.protect(table, ds.Redistribute())
        assert len(release.public.tables[0]) == 3
        assert release.verify().holds
        with pytest.raises(ProtectionError, match=r"too fine.*Hexagons of size"):
            ds.protect(table, ds.Redistribute(outliers="none"))


def test_hexagons_that_records_lie_in_are_not_all_there_are():
    with pytest.raises(ParameterError, match="cells='all'"):
        ds.tabulate(points(), by={"place": GRID}, cells="all")


def test_bad_input_is_refused():
    frame = points()
    gap = frame.set_column(0, "x", pa.array([None, *frame["x"].to_pylist()[1:]]))
    with pytest.raises(InputError, match="1 points have no coordinates, first in record 1"):
        ds.tabulate(gap, by={"place": GRID})
    with pytest.raises(ParameterError, match="already"):
        ds.tabulate(frame, by={"firm": GRID})
    plain = ds.tabulate(frame, by={"firm": ds.Hierarchy.flat([str(i) for i in range(200)])}).assess()
    with pytest.raises(NeedsError, match="HexGrid"):
        ds.protect(plain, ds.Redistribute())
    for wrong in ({"threshold": 1}, {"outlier_distance": 0}, {"max_share": 2}, {"dominance": (0, 0.5)}):
        with pytest.raises(ParameterError):
            ds.Redistribute(**wrong)
    with pytest.warns(UserWarning, match="fitted"):
        ds.HexGrid.fitted("x", "y", (np.array([0.0, 5.0]), np.array([0.0, 1.0])), 5)


@pytest.mark.parametrize("kind", ["hexagons", "neighbours"])
def test_a_recipe_makes_a_map(tmp_path, kind):
    import pyarrow.csv as arrow_csv

    frame = points()
    frame = frame.append_column("square", pa.array([f"s{min(abs(int(x)), 4)}" for x in frame["x"].to_pylist()]))
    arrow_csv.write_csv(frame, tmp_path / "points.csv")
    (tmp_path / "near.csv").write_text("code,neighbour\ns0,s1\ns1,s2\ns2,s3\ns3,s4\n")
    place = {
        "hexagons": 'place = { hexagons = { x = "x", y = "y", size = 1.0 } }',
        "neighbours": 'square = { neighbours = "near.csv" }',
    }[kind]
    (tmp_path / "recipe.toml").write_text(
        f"""
        version = 1
        [data]
        file = "points.csv"
        [hierarchies]
        {place}
        [[tables]]
        by = ["{place.split(" ")[0]}"]
        [[protect]]
        method = "redistribute"
        threshold = 3
        algorithm = "optimal"
        [output]
        directory = "out"
        report = true
        """
    )
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.verdict.holds
    assert ("arrows are moves" in (tmp_path / "out/custodian/report.html").read_text()) == (kind == "hexagons")
