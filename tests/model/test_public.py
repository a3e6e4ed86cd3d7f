"""Public tables of altered values: a zero says nothing of who is in a cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.model.public import PublicRelease, in_rows_of
from discreet.verify import check_release

AREA = ds.Hierarchy.from_nested({"coast": ["N", "S"], "hills": ["W"]}, labels={"W": "West"})
SEX = ds.Hierarchy.flat(["m", "f"])


def people() -> pa.Table:
    """Nobody is female in the north, and one person lives in the west, who is lost by rounding."""
    return pa.table({"area": ["N"] * 12 + ["S"] * 9 + ["W"], "sex": ["m"] * 12 + ["f"] * 9 + ["m"]})


def rounded(**options: object) -> ds.Release:
    table = ds.tabulate(people(), by={"area": AREA, "sex": SEX}, **options).assess()
    return ds.protect(table, ds.Round(base=3, levels=False))


def cells(public: ds.Table) -> dict[tuple[str, str], tuple[int, str]]:
    columns = public.columns()
    keys = zip(columns["area"], columns["sex"], strict=True)
    return dict(zip(keys, zip(columns["value"], columns["status"], strict=True), strict=True))


def test_without_all_cells_neither_zeros_nor_their_codes_are_listed():
    public = rounded().public.tables[0]
    found = cells(public)
    assert not {key for key in found if key[0] in ("W", "hills")}
    assert public.code_lists[0] == ("Total", "coast", "N", "S")
    assert public.parents[0] == (-1, 0, 1, 1)
    assert public.labels[0] == {}
    assert all(value for value, _ in found.values())
    assert "published as zero and not listed" in rounded().summary()


def test_with_all_cells_zeros_of_all_kinds_look_alike():
    release = rounded(cells="all")
    found = cells(release.public.tables[0])
    assert found["W", "m"] == found["W", "f"] == found["N", "f"] == (0, "A")
    assert len(found) == len(AREA) * len(SEX)
    assert "not listed" not in release.summary()


def test_ready_made_cells_with_every_combination_keep_their_zeros():
    every = ds.tabulate(people(), by={"area": AREA, "sex": SEX}, cells="all").to_frame().drop(["status"])
    ready = ds.Table.from_cells(every, by={"area": AREA, "sex": SEX}, counts=True).assess()
    assert len(ds.protect(ready, ds.Round(base=3, levels=False)).public.tables[0]) == len(AREA) * len(SEX)
    some = ds.Table.from_cells(every.filter(pc.field("value") > 0), by={"area": AREA, "sex": SEX}, counts=True).assess()
    assert ds.protect(some, ds.Round(base=3, levels=False)).public.tables[0].value.all()


def test_the_grand_total_is_always_listed():
    table = ds.tabulate(people(), by={"area": AREA, "sex": SEX}).assess()
    public = ds.protect(table, ds.Round(base=1000, levels=False)).public.tables[0]
    assert cells(public) == {("Total", "Total"): (0, "A")}
    flat = {"area": ds.Hierarchy.flat(["N", "S", "W"], total=None)}
    with pytest.raises(ds.DiscreetError, match=r"All cells of table .* zero"):
        ds.protect(ds.tabulate(people(), by=flat).assess(), ds.Round(base=1000, levels=False))


def test_the_checker_refuses_a_row_a_code_or_a_sign_too_many():
    release = rounded()
    table, public = release.custodian.tables.tables[0], release.public.tables[0]
    whole = in_rows_of(table, public)
    assert whole.value[table.row(area="W", sex="m")] == 0
    named = replace(public, code_lists=(("Total", "coast", "N", "S", "hills", "W"), public.code_lists[1]))
    every = rounded(cells="all")
    empty = every.custodian.tables.tables[0].empty
    marked = replace(every.public.tables[0], shown=~empty, empty=empty)
    for custodian, lying in ((release.custodian, whole), (release.custodian, named), (every.custodian, marked)):
        assert not check_release(custodian, PublicRelease((lying,))).holds
    short = replace(public, codes=public.codes[1:], value=public.value[1:], shown=public.shown[1:])
    assert not check_release(release.custodian, PublicRelease((short,))).holds
    assert release.verify().holds
    assert every.verify().holds


def test_rows_of_another_table_are_refused():
    release = rounded()
    other = ds.tabulate(people().slice(0, 12), by={"area": AREA, "sex": SEX})
    with pytest.raises(InputError, match="other variables, codes or cells"):
        in_rows_of(other, release.public.tables[0])
    with pytest.raises(InputError, match="other variables, codes or cells"):
        release.utility(other.assess())


def test_means_have_the_cells_of_the_counts():
    frame = people().append_column("income", pa.array([10] * 12 + [20] * 9 + [700]))
    frame = frame.append_column("id", pa.array(range(22)))
    by = {"area": AREA, "sex": SEX}
    specs = [ds.TableSpec(by=by, value="income", name="income"), ds.TableSpec(by=by, name="people")]
    noise = ds.CellKey(identifier="id", insecure_seed=5, magnitudes=ds.MagnitudeNoise(small=0.05))
    public = ds.protect(ds.Microdata(frame), noise, tables=specs).public
    means = public.means("income", "people")
    assert means["area"] == public["people"].columns()["area"]
    assert "W" not in means["area"]
    assert all(mean > 0 for mean in means["mean"])
    with pytest.raises(ParameterError, match="same cells"):
        PublicRelease((public["income"], replace(public["people"], variables=("a", "b")))).means("income", "people")


def test_files_of_argus_do_not_tell_zeros_apart(tmp_path):
    frame = people().append_column("id", pa.array(range(22)))
    table = ds.tabulate(frame, by={"area": AREA, "sex": SEX}).assess()
    release = ds.protect(table, ds.CellKey(identifier="id", insecure_seed=5))
    assert release.custodian.published[0][table.row(area="W", sex="m")] == 0
    for options in ("", "SE+"):
        ds.write_argus(release, tmp_path / "safe.txt", "code_value", options=options)
        lines = (tmp_path / "safe.txt").read_text().splitlines()
        west = {line.split(",")[-1] for line in lines if line.startswith('"W"')}
        assert west == (set() if options else {"-"})
        assert any('"N","f",-' in line for line in lines) == (not options)
    assert np.any(release.custodian.published[0] == 0)
