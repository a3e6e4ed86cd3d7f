"""How much memory is needed is said before the work, where more is needed than there is."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet import room
from discreet.engine import cells
from discreet.errors import ResourceError
from discreet.model.tableset import TableSet
from discreet.tables import memory


def records(variables: int, levels: int, count: int = 30) -> tuple[pa.Table, dict[str, ds.Hierarchy]]:
    """A few records by many variables, each with a deep tree."""
    draw = np.random.default_rng(1)
    codes = [f"{k:0{levels - 1}b}" for k in range(2 ** (levels - 1))]
    frame = {f"v{i}": [codes[k] for k in draw.integers(0, len(codes), count)] for i in range(variables)}
    tree = ds.Hierarchy.from_digits(codes, [1] * (levels - 1))
    table = pa.table({**frame, "x": draw.integers(1, 100, count), "firm": range(count)})
    return table, dict.fromkeys(frame, tree)


@pytest.mark.parametrize("roles", [{}, {"value": "x", "contributor": "firm"}])
def test_twelve_variables_of_few_records_are_tabulated(roles):
    table, by = records(12, 2)
    made = ds.tabulate(table, by=by, **roles)
    assert len(made) > 50_000
    assert made.value[0] == (table["x"].to_numpy().sum() if roles else 30)


@pytest.mark.parametrize("roles", [{}, {"value": "x", "contributor": "firm"}])
def test_twelve_deep_variables_are_refused_with_what_they_would_need(roles, monkeypatch):
    table, by = records(12, 5)
    monkeypatch.setattr(room, "available_bytes", lambda: 5 * 10**7)
    with pytest.raises(
        ResourceError, match=r"cells of a table by 12 variables needs about .* MB of memory, and 50 MB are free"
    ):
        ds.tabulate(table, by=by, **roles)


def test_what_the_finest_cells_lie_in_is_counted_before_it_is_written_down(monkeypatch):
    table, by = records(6, 4)
    asked = []
    monkeypatch.setattr(cells, "require_cells", lambda entries, *_, **__: asked.append(entries))
    ds.tabulate(table, by=by, value="x", contributor="firm")
    assert asked[-1] == 30 * 4**6


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, form):
    table = pa.table({"region": ["N", "S"] * 5000, "x": range(10_000)})
    path = tmp_path / f"records.{form}"
    if form == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path)
    by = {"region": ds.Hierarchy.flat(["N", "S"])}
    assert ds.tabulate(path, by=by, value="x").value[0] == 49_995_000
    monkeypatch.setattr(room, "available_bytes", lambda: 100_000)
    with pytest.raises(ResourceError, match=r"Reading about (9|10),\d\d\d records of .*duckdb"):
        ds.tabulate(path, by=by, value="x")


def test_limits_of_this_process_count(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**12, 10**12))
    assert room._process() < 10**12
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert room._process() is None
    assert room.available_bytes() is None or room.available_bytes() > 0


def test_the_error_keeps_its_words():
    error = pickle.loads(pickle.dumps(ResourceError("Memory did not suffice.", hint="Free some.")))
    assert error.exit_code == 8
    assert str(error) == "Memory did not suffice. Free some."


def test_a_limited_address_space_is_refused_before_libraries_end_the_process(monkeypatch):
    monkeypatch.setattr(room, "available_bytes", lambda: 10**10)
    monkeypatch.setattr(room, "_process", lambda: 2 * 10**9)
    with pytest.raises(
        ResourceError, match=r"Loading the program needs about 2.1 GB of address space, and 2.0 GB are free"
    ):
        room.require_to_start()
    monkeypatch.setattr(room, "_process", lambda: None)
    room.require_to_start()


def test_memory_that_is_used_up_is_told_of_without_reading_files(monkeypatch):
    def none_left(*args, **options):
        raise MemoryError

    monkeypatch.setattr(room.Path, "read_text", none_left)
    assert room.available_bytes() is None


@pytest.mark.parametrize(
    ("method", "kind"), [(ds.Suppress(), "suppress"), (ds.Adjust(), "adjust"), (ds.Round(5), "round")]
)
def test_a_method_that_needs_more_memory_than_there_is_does_not_begin(monkeypatch, method, kind):
    table, by = records(3, 4, 200)
    made = ds.tabulate(table, by=by).assess(ds.MinFrequency(2))
    needed = memory.memory_needed(TableSet([made]), kind)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(room, "available_bytes", lambda: needed)
    words = rf"^Protecting {len(made):,} cells by '{kind}' needs about .*B of memory, and .*B are free"
    with pytest.raises(ResourceError, match=words) as error:
        ds.protect(made, method)
    assert "ulimit -v" in str(error.value)


def test_what_protecting_needs_grows_with_cells_relations_and_unsafe_cells(monkeypatch):
    table, by = records(2, 4, 600)
    made = ds.tabulate(table, by=by)
    safe, unsafe = (TableSet([made.assess(ds.MinFrequency(n))]) for n in (1, 9))
    entries = sum(len(grouping.parts) + 1 for _ in by for grouping in by["v0"].groupings) * len(by["v0"])
    assert len(made) == len(by["v0"]) ** 2  # all cells are there, so that all sums are whole
    assert memory.memory_needed(safe, "suppress") == 100 * entries + 1_000 * len(made)
    more = memory.memory_needed(unsafe, "suppress") - memory.memory_needed(safe, "suppress")
    assert more == 12_000 * unsafe.tables[0].unsafe.sum() > 0
    monkeypatch.setattr(memory, "MANY", 2)
    shared = memory.memory_needed(unsafe, "suppress") - memory.memory_needed(safe, "suppress")
    assert shared == 2 * 12_000 + 200 * (unsafe.tables[0].unsafe.sum() - 2)
    assert memory.memory_needed(unsafe, "cell_key") == 0
