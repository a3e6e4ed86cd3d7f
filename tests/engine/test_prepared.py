"""Prepared records: read once, asked often, the same answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.engine import encode
from discreet.engine import prepared as module
from discreet.engine.record_keys import MadeKeys
from discreet.errors import DiscreetError, InputError, ParameterError
from tests.engine.brute_force import assert_same_table
from tests.engine.test_protocol import AREA, KEY, KIND, firms, spec, written

QUESTIONS = [
    spec(),
    spec("sales"),
    spec(where="sales > 500"),
    spec("sales", where="kind == 'x'", weight="w"),
    spec("w", where="kind == 'x'"),
    ds.TableSpec(by={"kind": KIND}, value="sales", shadow="w", levels=("holding", "record")),
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("contributor", [None, "holding", "id"])
def test_answers_are_the_same(kind: str, contributor: str | None, tmp_path: Path) -> None:
    source = firms() if kind == "frame" else written(firms(), tmp_path / f"firms.{kind}")
    plain = ds.Microdata(source, contributor=contributor)
    prepared = plain.prepared()
    for question in [*QUESTIONS, *QUESTIONS[::-1]]:
        one, two = (ds.tabulate(data, specs=[question]).tables[0] for data in (prepared, plain))
        assert_same_table(one, two)


def test_every_column_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = module.read_columns

    def watched(source, columns, **options):
        read.extend(columns)
        return original(source, columns, **options)

    monkeypatch.setattr(module, "read_columns", watched)
    prepared = ds.Microdata(written(firms(), tmp_path / "firms.parquet"), contributor="holding").prepared()
    for question in QUESTIONS * 2:
        ds.protect(prepared, ds.CellKey(identifier="id", magnitudes={"small": 0.1}), tables=[question], key=KEY)
    assert sorted(read) == sorted({"area", "kind", "holding", "sales", "w", "id"})


@pytest.mark.parametrize(
    "method",
    [
        ds.CellKey(identifier="id", magnitudes={"small": 0.1}),
        ds.Swap("area", "id", within="part", rate=0.3),
        ds.MultiplicativeNoise("id"),
        ds.DropAdd("id", rate=0.1),
    ],
    ids=lambda method: method.kind,
)
def test_methods_use_prepared_records(method: ds.Method) -> None:
    plain = ds.Microdata(firms())
    prepared = plain.prepared()
    question = spec("sales", where="sales > 40")
    for _ in range(2):
        one, two = (ds.protect(data, method, tables=[question], key=KEY) for data in (prepared, plain))
        assert np.array_equal(one.custodian.published[0], two.custodian.published[0])


def test_other_roles_are_not_answered_from_what_was_prepared() -> None:
    prepared = ds.Microdata(firms(), contributor="holding").prepared()
    ds.tabulate(prepared, by={"area": AREA}, value="sales")
    other = prepared.with_(contributor=None)
    count = ds.tabulate(other, by={"area": AREA}, value="sales").contributions["holding"].count
    assert count[0] == len(firms())
    recoded = prepared.with_(recode={"area": {"N1": "N2"}})
    assert ds.tabulate(recoded, by={"area": AREA}).row(area="North") is not None
    assert ds.tabulate(recoded, by={"area": AREA}, cells="all").records.tolist()[2] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "kind"}, "holds text where numbers are needed"),
        ({"value": "profit"}, "There is no column 'profit'"),
        ({"where": "sales > 5000"}, "No record meets the filter"),
        ({"where": "kind > 3"}, "does not fit column 'kind'"),
    ],
)
def test_refusals_are_the_same(options: dict, message: str) -> None:
    data = ds.Microdata(firms())
    prepared = data.prepared()
    ds.tabulate(prepared, by={"area": AREA, "kind": KIND}, value="sales")
    found = []
    for one in (data, prepared):
        with pytest.raises(DiscreetError, match=message) as refused:
            ds.tabulate(one, by={"area": AREA}, **options)
        found.append(str(refused.value))
    assert found[0] == found[1]


def test_an_unknown_code_is_refused_only_where_it_occurs() -> None:
    frame = firms()
    codes = ["Q", *frame["area"].to_pylist()[1:]]
    prepared = ds.Microdata(frame.set_column(2, "area", pa.array(codes)).set_column(5, "sales", pa.array(range(400))))
    prepared = prepared.prepared()
    assert ds.tabulate(prepared, by={"area": AREA}, where="sales > 0").records[0] == 399
    with pytest.raises(InputError, match="'Q'"):
        ds.tabulate(prepared, by={"area": AREA})


def test_a_column_may_be_codes_in_one_question_and_numbers_in_the_next(tmp_path: Path) -> None:
    codes = ds.Hierarchy.flat([str(i) for i in range(256)])
    for data in (ds.Microdata(firms()), ds.Microdata(written(firms(), tmp_path / "firms.csv"))):
        prepared = data.prepared()
        for options in ({"by": {"wkey": codes}}, {"by": {"area": AREA}, "value": "wkey"}, {"by": {"wkey": codes}}):
            assert_same_table(ds.tabulate(prepared, **options), ds.tabulate(data, **options))


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    file = written(firms(), tmp_path / "firms.parquet")
    prepared = ds.Microdata(file).prepared()
    ds.tabulate(prepared, by={"area": AREA})
    written(firms(300), file)
    assert ds.tabulate(prepared, by={"area": AREA}).records[0] == 400
    with pytest.raises(InputError, match="has changed since it was prepared"):
        ds.tabulate(prepared, by={"kind": KIND})


def test_duckdb_keeps_nothing_in_memory(tmp_path: Path) -> None:
    data = ds.Microdata(written(firms(), tmp_path / "firms.parquet"), engine="duckdb")
    with pytest.raises(ParameterError, match="keeps records in memory"):
        data.prepared()


def asked_by_threads(
    prepared: ds.Microdata, questions: Sequence[ds.TableSpec], threads: int = 8
) -> list[list[ds.Table]]:
    """Answers to some questions, asked by threads that start together, each beginning with another question."""
    together = Barrier(threads)

    def ask(number: int) -> list[ds.Table]:
        turn = number % len(questions)
        order = [*questions[turn:], *questions[:turn]]
        together.wait()
        found = [ds.tabulate(prepared, specs=[question]).tables[0] for question in order]
        return [*found[len(found) - turn :], *found[: len(found) - turn]]

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(ask, range(threads)))


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads that take turns after every few steps."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("impatient")
def test_threads_that_ask_together_read_every_column_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = module.read_columns

    def watched(source, columns, **options):
        read.extend(columns)
        return original(source, columns, **options)

    monkeypatch.setattr(module, "read_columns", watched)
    prepared = ds.Microdata(written(firms(), tmp_path / "firms.parquet"), contributor="holding").prepared()
    asked_by_threads(prepared, QUESTIONS)
    assert sorted(read) == sorted({"area", "kind", "holding", "sales", "w"})


@pytest.mark.usefixtures("impatient")
def test_threads_get_the_answers_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # With room for one universe and one column, threads take from each other what they have just encoded.
    monkeypatch.setattr(module, "MOST_UNIVERSES", 1)
    monkeypatch.setattr(encode, "MOST_ENCODED", 1)
    plain = ds.Microdata(firms(), contributor="holding")
    wanted = [ds.tabulate(plain, specs=[question]).tables[0] for question in QUESTIONS]
    for answers in asked_by_threads(plain.prepared(), QUESTIONS):
        for found, right in zip(answers, wanted, strict=True):
            assert_same_table(found, right)


@pytest.mark.usefixtures("impatient")
def test_keys_are_made_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = module.record_keys

    def watched(ids, secret, **options):
        made.append(options["version"])
        return original(ids, secret, **options)

    monkeypatch.setattr(module, "record_keys", watched)
    kept = ds.Microdata(firms()).prepared().encoded
    keys, together = MadeKeys("id", bytes(32), 1, None), Barrier(8)

    def ask(_: int) -> object:
        together.wait()
        return kept.keyed(keys)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(map(id, pool.map(ask, range(8))))) == 1
    assert made == [1]
