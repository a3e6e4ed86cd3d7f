"""What the methods that change numbers refuse, at the door where users come in: one test for each kind of bad input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError

JOB = ds.Hierarchy.flat(["a", "b", "c"])
KEY = ds.Key(bytes(range(32)))


def people(**columns: object) -> pa.Table:
    rng = np.random.default_rng(4)
    plain = {"id": np.arange(60), "job": ["a", "b", "c"] * 20, "rkey": rng.random(60).round(8), "w": np.full(60, 1.5)}
    return pa.table({**plain, **columns})


def counted(frame: pa.Table, method: object, **roles: str) -> ds.Release:
    return ds.protect(ds.Microdata(frame, **roles), method, tables=[ds.TableSpec(by={"job": JOB})], key=KEY)


def ready(values: list[int]) -> ds.Table:
    cells = {"job": ["Total", "a", "b", "c"], "value": [sum(values), *values], "record_key": [0.6, 0.1, 0.2, 0.3]}
    return ds.Table.from_cells(pa.table(cells), by={"job": JOB}, counts=True).assess()


def test_missing_record_keys():
    keys = [None, *people()["rkey"].to_pylist()[1:]]
    with pytest.raises(InputError, match="rkey"):
        counted(people(rkey=keys), ds.CellKey(), record_key="rkey")


def test_record_keys_out_of_range():
    with pytest.raises(InputError, match="rkey"):
        counted(people(rkey=np.linspace(0, 1, 60)), ds.CellKey(), record_key="rkey")


def test_record_keys_that_occur_twice():
    with pytest.raises(InputError, match="more than once"):
        counted(people(rkey=np.full(60, 0.25)), ds.CellKey(), record_key="rkey")


def test_identifiers_that_are_missing_or_occur_twice():
    with pytest.raises(InputError, match="identifier"):
        counted(people(id=["x"] * 60), ds.CellKey(identifier="id"))
    with pytest.raises(InputError, match="id"):
        counted(people(id=[None, *range(1, 60)]), ds.CellKey(identifier="id"))


def test_a_noise_table_that_does_not_sum_to_one(tmp_path):
    (tmp_path / "noise.csv").write_text("i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;0.4;-1;0.4\n1;1;0.4;0;0.8\n")
    with pytest.raises(DiscreetError, match=r"0\.8"):
        ds.read_noise_table(tmp_path / "noise.csv")


@pytest.mark.parametrize("column", ["upper", "change", "start"])
def test_a_noise_table_whose_columns_do_not_fit_together(column):
    record = ds.NoiseTable.maximum_entropy(D=2, V=1).record()
    record[column] = [*record[column], record[column][-1]]
    with pytest.raises(InputError, match="fit together"):
        ds.CellKey(noise=record)


@pytest.mark.parametrize(
    "method",
    [
        ds.CellKey(),
        ds.SmallCount(),
    ],
    ids=["cell_key", "small_count"],
)
def test_negative_counts_of_ready_made_tables(method):
    with pytest.raises(InputError, match="negative count, first job=b"):
        ready([4, -2, 5])
    table = ready([4, 2, 5])
    negative = table.with_(value=np.array([7, 4, -2, 5]))
    with pytest.raises(InputError, match="below zero"):
        ds.protect(negative.assess(), method, key=KEY)


@pytest.mark.parametrize("weight", [0.0, -1.0], ids=["zero", "negative"])
@pytest.mark.parametrize("method", [ds.CellKey(), ds.DropAdd("id")], ids=["cell_key", "drop_add"])
def test_weights_that_are_not_above_zero(method, weight):
    with pytest.raises(InputError, match="'w'"):
        counted(people(w=[weight] + [1.5] * 59), method, record_key="rkey", weight="w")


def test_q_larger_than_the_universe():
    with pytest.raises(ParameterError, match="would drop all 60 records"):
        counted(people(), ds.DropAdd("id", subsample=60))


@pytest.mark.parametrize("method", [ds.CellKey(identifier="id"), ds.DropAdd("id"), ds.SmallCount()])
def test_a_whole_number_is_no_key(method):
    with pytest.raises(ParameterError, match="insecure_seed"):
        ds.protect(ds.Microdata(people()), method, tables=[ds.TableSpec(by={"job": JOB})], key=7)


def test_whole_record_keys_that_use_a_part_of_the_noise_table_are_refused():
    """With keys 0 .. 2 and a table of 256 keys every cell of one record would get the lowest change."""
    by = {"area": ds.Hierarchy.flat(["N", "S"])}
    people = pa.table({"area": ["N", "S"] * 50, "key": [k % 3 for k in range(100)]})
    data, specs = ds.Microdata(people, record_key="key"), [ds.TableSpec(by=by)]
    with pytest.raises(InputError, match=r"lie in 0 \.\. 2, and the noise table has 256"):
        ds.protect(data, ds.CellKey(modulus=256), tables=specs)
    few = ds.Microdata(pa.table({"area": ["N", "S"], "key": [1, 2]}), record_key="key")
    assert ds.protect(few, ds.CellKey(modulus=256), tables=specs).verify().holds


def test_differences_name_one_code_for_each_variable_and_bases_have_an_end():
    people = pa.table({"area": ["N", "S"] * 5, "sex": ["m"] * 10})
    spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["N", "S"]), "sex": ds.Hierarchy.flat(["m", "f"])}, name="t")
    with pytest.raises(InputError, match="names 1 codes: N"):
        ds.protect(ds.Microdata(people), ds.SmallCount(differences={("t", "N"): 1}, insecure_seed=1), tables=[spec])
    with pytest.raises(ParameterError, match=r"base=1099511627776 is not allowed.*from 2 to 10,000"):
        ds.SmallCount(base=2**40)
    large = ds.protect(ds.Microdata(people), ds.SmallCount(base=10_000, insecure_seed=1), tables=[spec])
    assert large.verify().holds
