"""The smallest inputs go all the way, or are refused with the reason."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError


def test_one_record_is_withheld_altogether():
    frame = pa.table({"region": ["N"], "turnover": [7]})
    table = ds.tabulate(frame, by={"region": ds.Hierarchy.flat(["N", "S"])}, value="turnover")
    assert len(table) == 2
    release = ds.protect(table.assess(ds.MinContributors(3), ds.PPercent(10)), ds.Suppress())
    assert release.public.tables[0].status == ["X", "X"]
    assert release.verify().holds


def test_one_record_in_a_file_is_withheld_altogether(tmp_path):
    (tmp_path / "one.csv").write_text("region,turnover\nN,7\n")
    for engine in ("memory", "duckdb"):
        table = ds.tabulate(
            tmp_path / "one.csv", by={"region": ds.Hierarchy.flat(["N"])}, value="turnover", engine=engine
        )
        assert table.assess(ds.MinContributors(2)).unsafe.all()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_no_record_is_refused(tmp_path, engine):
    (tmp_path / "none.csv").write_text("region,turnover\n")
    with pytest.raises(InputError, match=r"no records.*right file"):
        ds.tabulate(tmp_path / "none.csv", by={"region": ds.Hierarchy.flat(["N"])}, value="turnover", engine=engine)


def test_ten_dimensions():
    by = {f"v{k}": ds.Hierarchy.flat(["a", "b"]) for k in range(10)}
    frame = pa.table({f"v{k}": ["a", "a", "b" if k == 9 else "a"] for k in range(10)} | {"x": [1, 2, 3]})
    table = ds.tabulate(frame, by=by, value="x").assess(ds.MinContributors(2))
    assert table.values[0] == 6
    assert len(table) == 3 * 2**9
    assert int(table.unsafe.sum()) == 2**9
    release = ds.protect(table, ds.Suppress(effort=1))
    assert release.verify().holds
