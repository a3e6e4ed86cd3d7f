"""The contract that every method for records must pass. A method that is not in here does not exist."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as ds
from discreet.errors import Cancelled, DiscreetError, NeedsError, ParameterError
from discreet.files.records import RECORD_FORMATS
from discreet.keys import VARIABLE
from discreet.methods.base import RecordMethod
from discreet.methods.registry import METHODS, method_from_record
from discreet.model.custodian import RecordCustodian
from discreet.progress import reporting
from discreet.verify import check_records
from tests.battery.record_cases import (
    BAD_RECORD_PARAMETERS,
    CANARY,
    KEYS,
    RECORD_INPUTS,
    RECORD_METHODS,
    RECORD_NOT_FOR,
    people,
)

PAIRS = [
    (method, given) for method in RECORD_METHODS for given in RECORD_INPUTS if (method, given) not in RECORD_NOT_FOR
]
every_pair = pytest.mark.parametrize(("method", "given"), PAIRS)
every_method = pytest.mark.parametrize("method", RECORD_METHODS)
KINDS = {method: make()[-1].kind for method, make in RECORD_METHODS.items()}
REPORTED = {(method, "people") for method in RECORD_METHODS}
REPORTED.update({(KINDS[method], given): (method, given) for method, given in reversed(PAIRS)}.values())
"""Pairs whose report is made: every method at home, and every kind of method with every input that it takes."""


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "5ec4e7" * 10 + "5ec4")


def made(method: str, given: str = "people", **options) -> ds.Release[RecordCustodian]:
    data = options.pop("data", None) or RECORD_INPUTS[given]()
    loose = data.with_(keys=(), sensitive=(*data.sensitive, *data.keys))  # nobody judges these keys
    return ds.protect(loose, RECORD_METHODS[method](), **options)


@cache
def release(method: str, given: str = "people") -> ds.Release[RecordCustodian]:
    return made(method, given)


def test_every_method_for_records_is_in_the_battery():
    kinds = {kind for kind, cls in METHODS.items() if issubclass(cls, RecordMethod)}
    assert {make()[-1].kind for make in RECORD_METHODS.values()} == kinds
    assert set(BAD_RECORD_PARAMETERS) == kinds


@every_pair
def test_claims_hold(method, given):
    verdict = release(method, given).verify()
    assert verdict.holds, verdict
    assert verdict.proved
    assert verdict.not_considered
    assert "NOT JUDGED" in verdict.headline()


@pytest.mark.parametrize(("method", "given"), RECORD_NOT_FOR)
def test_what_steps_cannot_take_is_refused_in_words(method, given):
    with pytest.raises(DiscreetError, match=RECORD_NOT_FOR[method, given]):
        made(method, given)


@every_pair
def test_the_same_key_gives_the_same_release(method, given):
    one, two = release(method, given), made(method, given)
    assert one.public.records.columns.equals(two.public.records.columns)
    assert one.public.records.info == two.public.records.info


@every_method
def test_another_order_of_rows_gives_the_same_file(method):
    data = people()
    mixed = data.with_(source=data.source.take(pa.array(np.random.default_rng(5).permutation(200))))
    one, two = release(method).public.records, made(method, data=mixed).public.records
    assert one.columns.equals(two.columns)


@every_method
def test_another_key_gives_another_order(method, monkeypatch):
    first = release(method)
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    assert not np.array_equal(made(method).custodian.order, first.custodian.order)


@every_method
def test_a_log_replays_to_the_same_release(method):
    done = release(method)
    again = done.replay()
    assert again.public.records.columns.equals(done.public.records.columns)


@every_pair
def test_a_saved_release_verifies_in_every_format_and_loads(method, given, tmp_path):
    done = release(method, given)
    done.save(tmp_path / "out", formats=list(RECORD_FORMATS), report=(method, given) in REPORTED)
    verdict = ds.check_folder(tmp_path / "out")
    assert verdict.holds, verdict
    assert len(list((tmp_path / "out" / "public").iterdir())) >= len(RECORD_FORMATS)
    loaded = ds.load(tmp_path / "out")
    assert loaded.public.records.columns.equals(done.public.records.columns)
    assert loaded.replay().public.records.columns.equals(done.public.records.columns)


@every_method
def test_nothing_that_names_anybody_occurs_in_public(method, tmp_path):
    release(method).save(tmp_path / "out", formats=list(RECORD_FORMATS))
    for path in (tmp_path / "out" / "public").iterdir():
        content = path.read_bytes()
        assert CANARY.encode() not in content
        assert CANARY.encode("utf-16-le") not in content


@every_method
def test_a_pickled_release_is_its_public_part(method):
    restored = pickle.loads(pickle.dumps(release(method)))
    assert restored.records.columns.equals(release(method).public.records.columns)
    assert not hasattr(restored, "custodian")


def forged(done: ds.Release[RecordCustodian], **changes) -> RecordCustodian:
    return replace(done.custodian, **changes)


@every_method
def test_false_claims_are_refused(method):
    done = release(method)
    custodian = done.custodian
    claim = custodian.steps[-1].evidence.claim
    better = replace(custodian.steps[-1].evidence, claim=replace(claim, statement="Nobody can be recognised."))
    lies = {
        "claim": forged(done, steps=(*custodian.steps[:-1], replace(custodian.steps[-1], evidence=better))),
        "order": forged(done, order=np.zeros_like(custodian.order)),
        "kept": forged(done, keeps_order=True),
        "step": forged(done, steps=custodian.steps[:-1]),
    }
    for name, lie in lies.items():
        assert not check_records(lie, done.public).holds, name


@every_method
def test_a_changed_value_in_any_column_of_the_public_file_is_refused(method):
    done = release(method)
    shown = done.public.records
    for place, name in enumerate(shown.variables):
        values = shown.columns[name].to_pylist()
        other = next((value for value in values if value != values[0]), None)
        column = pa.chunked_array([pa.array([other, *values[1:]], shown.columns[name].type)])
        if column.equals(shown.columns[name]):
            continue
        public = replace(shown, columns=shown.columns.set_column(place, name, column))
        verdict = check_records(done.custodian, replace(done.public, records=public))
        assert any("public records are not" in refusal.message for refusal in verdict.refused), name


@every_method
def test_a_changed_value_of_a_step_is_refused(method):
    done = release(method)
    custodian = done.custodian
    step = custodian.steps[-1]
    for place, name in enumerate(step.changed.column_names):
        values = step.changed[name].to_pylist()
        first = next(i for i, value in enumerate(values) if value is not None)
        # Noise may be a little more or less; nothing makes a value three times as large.
        values[first] = f"{values[first]}x" if isinstance(values[first], str) else 3 * values[first] + 1
        column = pa.chunked_array([pa.array(values, step.changed[name].type)])
        lying = replace(step, changed=step.changed.set_column(place, name, column))
        lie = forged(done, steps=(*custodian.steps[:-1], lying))
        assert not check_records(lie, lie.public()).holds


@pytest.mark.parametrize(
    ("kind", "parameters"), [(kind, given) for kind, many in BAD_RECORD_PARAMETERS.items() for given in many]
)
def test_bad_parameters_are_refused(kind, parameters):
    with pytest.raises(ParameterError):
        method_from_record({"method": kind, **parameters})


@every_method
def test_a_method_for_records_is_refused_for_tables(method):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    with pytest.raises((ParameterError, NeedsError), match=r"records"):
        ds.protect(table, RECORD_METHODS[method]())


@every_method
def test_progress_is_reported_and_cancelling_leaves_nothing(method, tmp_path):
    seen = []

    def stop(step):
        seen.append(step)
        raise Cancelled("stopped")

    with pytest.raises(Cancelled), reporting(stop):
        made(method).save(tmp_path / "out")
    assert seen
    assert not list(tmp_path.iterdir())


@every_method
def test_rows_keep_their_order_only_when_asked(method):
    kept = made(method, keep_order=True)
    assert kept.public.records.keeps_order
    same = "coast" if "weight" in kept.public.records.altered else "weight"
    assert kept.public.records.columns[same].to_pylist() == people().source[same].to_pylist()
    assert "original order" in kept.summary()
    assert not release(method).public.records.keeps_order


@every_method
def test_no_gap_is_filled_and_none_is_made(method):
    done = release(method)
    for name in done.custodian.original.names:
        before, after = done.custodian.original[name], done.custodian.released[name]
        if (method.startswith(("local-suppress", "generalise")) and name in KEYS) or method == "blank-values":
            assert pc.all(pc.or_(before.is_valid(), after.is_null())).as_py(), name  # it makes gaps, and fills none
        elif method.startswith("synthesise"):
            assert bool(before.null_count) == bool(after.null_count), name  # gaps are drawn like all values
        else:
            assert before.is_null().equals(after.is_null()), name


def test_records_without_a_method_are_refused():
    with pytest.raises(DiscreetError, match="needs a method"):
        ds.protect(people(), [])
