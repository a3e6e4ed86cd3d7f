"""Evidence survives the way through files exactly, in few bytes; files that are not evidence are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.files.table_folder import proven_interval, write_tables
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import DOWN, UP, Acceptance
from discreet.model.public import PublicRelease, public_table
from discreet.verify import check_folder
from discreet.verify.folder import read_custodian
from tests.verify.by_hand import Case, box
from tests.verify.test_mutations import reseal

VALUE = np.array([[20, 30], [25, 35]])
TARGET = (0, 0)


def case(scale: int = 1, **changes: object) -> Case:
    certificate = box(0, 0, 1, 1, times=10 * scale, denominator=scale, both=True)
    return replace(Case(VALUE, {TARGET: (10, 10, 0)}, [certificate], {TARGET: [(0, UP), (0, DOWN)]}), **changes)


def written(folder: Path, custodian: TableCustodian) -> Path:
    shown = [public_table(t, custodian.withheld(i)) for i, t in enumerate(custodian.tables)]
    write_tables(folder / "out", PublicRelease(tuple(shown)), custodian)
    return folder / "out"


def read(folder: Path, part: str) -> pa.Table:
    with pa.OSFile(str(folder / "custodian" / f"evidence_0_{part}.arrow")) as source:
        return pa.ipc.open_file(source).read_all()


def rewrite(folder: Path, part: str, table: pa.Table, **options: object) -> None:
    path = folder / "custodian" / f"evidence_0_{part}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, **options) as writer:
        writer.write_table(table)
    reseal(folder)


@pytest.mark.parametrize("scale", [1, 10**30])
def test_evidence_comes_back_as_it_was(tmp_path, scale):
    accepted = [Acceptance("t", ("r0", "c0"), "because", "N. N.")]
    custodian = case(scale, accepted=accepted, insiders="nonzero", within=80.5).custodian()
    back, given = read_custodian(written(tmp_path, custodian)).evidence[0], custodian.evidence[0]
    for part, names in (
        ("certificates", ("start", "denominator", "both", "entry_table", "entry_row", "amount")),
        ("proofs", ("table", "row", "start", "certificate", "use")),
    ):
        for name in names:
            one, two = (getattr(getattr(evidence, part), name) for evidence in (given, back))
            assert one.dtype == two.dtype, name
            assert one.tolist() == two.tolist(), name
    assert (back.claim, back.decimals, dict(back.method)) == (given.claim, 0, dict(given.method))
    assert list(back.accepted) == accepted


@pytest.mark.parametrize(
    ("scale", "kind"), [(1, pa.int8()), (10**3, pa.int16()), (10**6, pa.int32()), (10**10, pa.int64())]
)
def test_columns_take_as_few_bits_as_suffice(tmp_path, scale, kind):
    folder = written(tmp_path, case(scale).custodian())
    entries = read(folder, "entries")
    assert entries.schema.field("amount").type == kind
    assert {entries.schema.field(name).type for name in ("table", "row")} == {pa.int8()}


def test_a_certificate_that_holds_both_ways_shows_both_ends():
    for both, lower in ((True, 10), (False, 20)):
        certificate = box(0, 0, 1, 1, times=21, denominator=2, both=both)
        low, high = proven_interval(case(certificates=[certificate]).custodian(), 0)
        row = case().row(TARGET)
        assert (low[row], high[row]) == (lower, 30)
        # A cell that falls in the certificate, 30 - 21 / 2, rises in its opposite.
        other = case().row((0, 1))
        assert (low[other], high[other]) == (20, 40 if both else 30)


def test_ends_beyond_64_bits_are_computed_exactly():
    low, high = proven_interval(case(10**30).custodian(), 0)
    assert (low[case().row(TARGET)], high[case().row(TARGET)]) == (10, 30)


def changed(name: str, values: list[object], kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.schema.names.index(name), name, pa.array(values, kind))


FORGERIES = [
    ("certificates", changed("length", [-4], pa.int8()), "cannot be"),
    ("certificates", changed("length", [2**62], pa.int64()), "cannot be"),
    ("certificates", changed("length", [5], pa.int8()), "not well formed"),
    ("certificates", changed("both", [1], pa.int8()), "something else"),
    ("certificates", changed("denominator", [1.0], pa.float64()), "something else"),
    ("certificates", changed("denominator", [None], pa.int8()), "something else"),
    ("certificates", changed("denominator", ["0"], pa.string()), "not positive"),
    ("certificates", changed("denominator", ["1_0"], pa.string()), "something else"),
    ("certificates", changed("denominator", ["9" * 2000], pa.string()), "something else"),
    ("entries", changed("table", ["0"] * 4, pa.string()), "something else"),
    ("entries", changed("row", [-1, 1, 2, 3], pa.int8()), "not well formed"),
    ("entries", changed("row", [2**40, 1, 2, 3], pa.int64()), "not well formed"),
    ("entries", changed("table", [2**63] * 4, pa.uint64()), "something else"),
    ("entries", lambda table: table.append_column("note", pa.array([0] * 4)), "other columns"),
    ("entries", lambda table: table.drop_columns(["amount"]), "other columns"),
    ("proof_entries", changed("use", [0, 300], pa.int16()), "not known"),
    ("proof_entries", changed("certificate", [0, 9], pa.int8()), "not there"),
    ("proofs", changed("length", [3], pa.int8()), "not well formed"),
]


@pytest.mark.parametrize(("part", "change", "reason"), FORGERIES)
def test_forged_evidence_is_refused_not_raised(tmp_path, part, change, reason):
    folder = written(tmp_path, case().custodian())
    rewrite(folder, part, read(folder, part))
    assert reason not in str(check_folder(folder))
    rewrite(folder, part, change(read(folder, part)))
    assert reason in str(check_folder(folder))


def test_a_file_that_unpacks_itself_is_refused(tmp_path):
    folder = written(tmp_path, case().custodian())
    zeros = pa.array(np.zeros(10**6, np.int64))
    entries = pa.table({"table": zeros, "row": zeros, "amount": zeros})
    rewrite(folder, "entries", entries, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    assert "more than its size allows" in str(check_folder(folder))


@pytest.mark.parametrize("data", [b"", b"ARROW1", b"ARROW1\0\0" + b"x" * 200 + b"ARROW1"])
def test_a_file_that_is_not_arrow_is_refused_not_raised(tmp_path, data):
    folder = written(tmp_path, case().custodian())
    (folder / "custodian" / "evidence_0_proofs.arrow").write_bytes(data)
    reseal(folder)
    assert "not well formed" in str(check_folder(folder))


@pytest.mark.parametrize("accepted", [None, "x", [{}], [{"table": 1, "cell": [], "reason": "", "name": ""}]])
def test_an_acceptance_that_is_not_in_words_is_refused_not_raised(tmp_path, accepted):
    folder = written(tmp_path, case().custodian())
    path = folder / "custodian" / "tables.json"
    description = json.loads(path.read_text())
    description["evidence"][0]["accepted"] = accepted
    path.write_text(json.dumps(description))
    reseal(folder)
    assert check_folder(folder).refused[0].check == "files"
