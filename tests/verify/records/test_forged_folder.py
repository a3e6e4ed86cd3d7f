"""Each check of a release of records alone: what only this check refuses, with its message."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.model.claims.base import Claim
from discreet.model.custodian import RecordCustodian
from discreet.model.records import ColumnInfo, RecordSet
from discreet.verify.records.check import check_claims
from discreet.verify.records.files import _read_arrow
from discreet.verify.verdict import Verdict
from tests.attack.forging import reseal
from tests.attack.record_folders import Folder, edit_both, edit_json, read_arrow, write_arrow

# ---- in memory --------------------------------------------------------------------------------------------------


def custodian(rows: int = 24, roles: dict[str, str] | None = None, **columns: list) -> RecordCustodian:
    """A release of records that nothing was done to."""
    table = pa.table({"kind": ["a", "b"] * (rows // 2) + ["a"] * (rows % 2), **columns})
    info = {name: ColumnInfo(role) for name, role in (roles or {}).items()}
    order = np.arange(rows)[::-1].copy()
    return RecordCustodian("records", RecordSet(table, info), (), order, (), {})


def refused(given: RecordCustodian) -> list[str]:
    verdict = Verdict()
    check_claims(verdict, given)
    return [refusal.message for refusal in verdict.refused]


def test_nothing_speaks_against_records_as_they_are():
    assert refused(custodian()) == []


@pytest.mark.parametrize("order", [np.arange(23), np.arange(25), np.r_[0, np.arange(23)], np.arange(1, 25)])
def test_public_rows_are_the_original_ones_each_once(order):
    assert refused(replace(custodian(), order=order)) == ["the public rows are not the original ones, each once"]


def test_rows_that_keep_their_order_do():
    assert refused(replace(custodian(), keeps_order=True)) == ["the rows are said to keep their order, and do not"]
    assert refused(replace(custodian(), keeps_order=True, order=np.arange(24))) == []


def test_every_rule_that_is_stated_is_counted_anew():
    rule = {"kind": "k_anonymity", "k": 12, "keys": ["kind"], "missing": "category"}
    assert refused(replace(custodian(), rules=(rule,))) == []
    few = "2 combinations occur fewer than 13 times"
    assert refused(replace(custodian(), rules=(rule, {**rule, "k": 13}))) == [few]


def test_something_is_left_to_be_seen():
    assert refused(custodian(roles={"kind": "identifier"})) == ["no column is left that may be seen"]


NAMED = ["a column is nearly unique, and may name people"]


@pytest.mark.parametrize("role", ["", "key"])
@pytest.mark.parametrize("make", [str, int, float])
def test_nearly_unique_columns_without_a_role_and_keys_are_found(role, make):
    values = [make(i) for i in range(24)]
    assert refused(custodian(roles={"who": role}, who=values)) == NAMED
    assert refused(custodian(roles={"who": "sensitive"}, who=values)) == []


@pytest.mark.parametrize(("rows", "alone", "found"), [(24, 12, []), (24, 13, NAMED), (25, 12, []), (25, 13, NAMED)])
def test_half_may_stand_alone_and_no_more(rows, alone, found):
    assert refused(custodian(rows, who=[*(f"n{i}" for i in range(alone)), *["same"] * (rows - alone)])) == found


@pytest.mark.parametrize(("rows", "found"), [(19, []), (20, NAMED)])
def test_small_files_are_not_judged_by_it(rows, found):
    assert refused(custodian(rows, who=[str(i) for i in range(rows)])) == found


def test_gaps_do_not_stand_alone():
    assert refused(custodian(who=[None] * 24)) == []


def with_step(method: dict[str, Any], claim: str, changed: pa.Table) -> list[str]:
    done = ds.protect(
        ds.Microdata(pa.table({"kind": ["a", "b"] * 12, "who": [f"p{i}" for i in range(24)]}), identifier="who"),
        ds.Recode("kind", map={"a": "c"}),
    ).custodian
    step = done.steps[0]
    evidence = replace(step.evidence, method={**step.evidence.method, **method}, claim=Claim(claim, "x"))
    return refused(replace(done, steps=(replace(step, evidence=evidence, changed=changed),)))


KIND = pa.table({"kind": ["c", "b"] * 12})


def test_a_step_is_one_of_a_known_method():
    unknown = "is no method for records that this checker knows"
    assert with_step({"method": "magic"}, "magic", KIND) == [f"'magic' {unknown}"]
    assert with_step({"method": "magic"}, "recode", KIND) == [f"'recode' {unknown}"]
    assert with_step({"method": "recode"}, "magic", KIND) == [f"'magic' {unknown}"]


def test_a_step_changes_columns_of_the_records_all_rows():
    other = ["a changed column is not one of the records, or has other rows"]
    assert with_step({}, "recode", pa.table({"wealth": ["c", "b"] * 12})) == other
    assert with_step({}, "recode", KIND.slice(1)) == other
    assert with_step({}, "recode", pa.table({"who": ["c"] * 24})) == ["an identifier is called changed"]


# ---- on disk ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Folder:
    return Folder(tmp_path_factory.mktemp("records") / "out")


def verdict_of(saved: Folder, forge: Callable[[Any], None]) -> str:
    """What is refused first of a folder that was forged and sealed anew."""
    try:
        forge(saved.folder)
        reseal(saved.folder)
        verdict = ds.check_folder(saved.folder)
        return str(verdict.refused[0]) if verdict.refused else "holds"
    finally:
        saved.restore()


def described(edit: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda folder: edit_json(folder, "records.json", edit)


def logged(edit: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda folder: edit_json(folder, "log.json", edit)


def both(edit: Callable[[Any, Any], None]) -> Callable[[Any], None]:
    return lambda folder: edit_both(folder, edit)


def unknown_rule(description: Any, log: Any) -> None:
    description["rules"] = log["rules"] = [{"kind": "x_diversity", "l": 2}]


def unknown_method(description: Any, log: Any) -> None:
    description["steps"][0]["method"] = log["protect"][0] = {"method": "magic"}


def column_twice(description: Any) -> None:
    description["columns"].append(description["columns"][0])


def arrow(name: str, edit: Callable[[pa.Table], pa.Table]) -> Callable[[Any], None]:
    def forge(folder: Any) -> None:
        path = folder / "custodian" / name
        write_arrow(path, edit(read_arrow(path)))

    return forge


def beside(name: str) -> Callable[[Any], None]:
    def forge(folder: Any) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("Ann 3 lives in N1")

    return forge


def with_note(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata({"who": "Ann 3 lives in N1"})


def with_field_note(table: pa.Table) -> pa.Table:
    field = table.schema.field(0).with_metadata({"who": "Ann 3"})
    return table.cast(pa.schema([field, *list(table.schema)[1:]]))


OTHER_COLUMNS = "has other columns than the release says"


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (both(unknown_rule), "is not a rule for records that this checker knows"),
        (both(unknown_method), "is not a method for records that this checker knows"),
        (described(column_twice), "records.json.columns name a column twice"),
        (described(lambda d: d["strata"].append("wealth")), "records.json.strata name a column that is not there"),
        (
            described(lambda d: d["hierarchies"].update(wealth=d["hierarchies"]["region"])),
            "records.json.hierarchies name a column that is not there",
        ),
        (described(lambda d: d["steps"][0].update(file="step_1.arrow")), "is not named as it must be"),
        (logged(lambda log: log["protect"].pop()), "log.json.protect is not what records.json says"),
        (logged(lambda log: log["rules"].pop()), "log.json.rules is not what records.json says"),
        (logged(lambda log: log.update(name="other")), "log.json.name is not what records.json says"),
        (logged(lambda log: log.update(keep_order=True)), "log.json.keep_order is not what records.json says"),
        (logged(lambda log: log["key"].update(made=False)), "or the key is missing"),
        (logged(lambda log: log["key"].update(fingerprint="0" * 16)), "fingerprint in the log is not that of the key"),
        (logged(lambda log: log["key"].update(fingerprint="f" * 16)), "fingerprint in the log is not that of the key"),
        (lambda folder: (folder / "custodian" / "key.txt").unlink(), "or the key is missing"),
        (arrow("original.arrow", lambda t: t.select(t.column_names[::-1])), OTHER_COLUMNS),
        (arrow("original.arrow", lambda t: t.drop_columns(["income"])), OTHER_COLUMNS),
        (arrow("step_0.arrow", lambda t: t.rename_columns(["years"])), OTHER_COLUMNS),
        (arrow("original.arrow", with_note), "says more than its columns do"),
        (arrow("original.arrow", with_field_note), "says more than its columns do"),
        (arrow("original.arrow", lambda t: t.slice(1)), "has other rows than the release says"),
        (arrow("step_1.arrow", lambda t: pa.concat_tables([t, t])), "has other rows than the release says"),
        (arrow("order.arrow", lambda t: pa.table({"row": pa.array([None, *range(1, len(t))])})), "has gaps"),
        (lambda folder: (folder / "custodian" / "step_2.arrow").write_bytes(b"ARROW1"), "is not well formed"),
        (lambda folder: (folder / "public" / "records.csv").unlink(), "the public file is missing"),
        (beside("custodian/step_9.arrow"), "a custodian file is not one that the release speaks of"),
        (beside("restricted/records.csv"), "a release of records has no restricted files"),
    ],
)
def test_every_lie_of_a_folder_has_its_refusal(saved, forge, message):
    assert message in verdict_of(saved, forge)


def test_an_untouched_folder_holds(saved):
    assert verdict_of(saved, lambda folder: None) == "holds"
    assert json.loads((saved.folder / "custodian" / "records.json").read_text())["kind"] == "records"


def packed(path: Path, length: int) -> tuple[int, int]:
    """Write a compressed file; how large its data is in memory, and the file."""
    table = pa.table({"x": ["a" * length]})
    with pa.OSFile(str(path), "wb") as sink:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return read_arrow(path).nbytes, path.stat().st_size


def test_a_file_that_unfolds_to_more_than_its_size_is_refused(tmp_path):
    path = tmp_path / "original.arrow"
    lengths = range(1, 2000)
    just = next(n for n in lengths if (sizes := packed(path, n))[0] == sizes[1])
    packed(path, just)
    assert _read_arrow(path, {"x": "string"}, 1).num_rows == 1
    more = next(n for n in lengths if (sizes := packed(path, n))[0] == sizes[1] + 1)
    packed(path, more)
    with pytest.raises(InputError, match="has other rows than the release says"):
        _read_arrow(path, {"x": "string"}, 1)
