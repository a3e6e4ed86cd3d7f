"""Records that lie in Spark, and strata that its executors work on; ``make test-engines`` runs these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError
from discreet.parallel import shared, sharing
from discreet.verify import check_folder
from tests.engine import sparks
from tests.engine.test_parts import KEY, ROLES, RULES, STEPS, frame, keyed

pytestmark = [pytest.mark.engines, pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing() or "there")]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, events: Path) -> Iterator[Any]:
    """A session that writes down what it is asked, as clusters do."""
    found = sparks.session(
        tmp_path_factory.mktemp("spark"),
        eventLog_enabled="true",
        eventLog_dir=f"file://{events}",
        eventLog_compress="false",
    )
    yield found
    found.stop()


@pytest.fixture
def executors(spark: Any) -> Iterator[None]:
    joblibspark = pytest.importorskip("joblibspark", reason="joblibspark is not installed (discreet[spark])")
    import joblib

    joblibspark.register_spark()
    with joblib.parallel_config(backend="spark"), sharing(2):
        yield


def there(spark: Any, table: Any, folder: Path, parts: int) -> Any:
    pq.write_table(table, folder / "records.parquet", row_group_size=50)
    return spark.read.parquet(str(folder / "records.parquet")).repartition(parts)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_spark_frame_gives_the_release_of_one_frame(spark: Any, tmp_path: Path, parts: int) -> None:
    table = frame()
    data = ds.Microdata(there(spark, table, tmp_path, parts), **ROLES).on("memory")
    release = ds.protect(data, STEPS, key=KEY)
    alone = ds.protect(ds.Microdata(table, **ROLES), STEPS, key=KEY)
    assert alone.public.records.columns.equals(release.public.records.columns)
    assert [step.claim for step in alone.custodian.evidence] == [step.claim for step in release.custodian.evidence]
    release.save(tmp_path / "out")
    assert check_folder(tmp_path / "out").holds


def test_executors_give_the_release_of_this_process_and_never_see_the_key(
    spark: Any, executors: None, tmp_path: Path, events: Path
) -> None:
    data = ds.Microdata(there(spark, frame(), tmp_path, 2), **ROLES).on("memory")
    release = ds.protect(data, STEPS, key=KEY)
    with sharing(1):
        alone = ds.protect(ds.Microdata(frame(), **ROLES), STEPS, key=KEY)
    assert alone.public.records.columns.equals(release.public.records.columns)
    assert release.verify().holds
    written = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"SparkListenerJobStart" in written
    assert KEY.text.encode() not in written
    assert KEY.secret not in written


def test_rows_and_strata_of_noise_are_worked_on_by_executors_with_the_same_result(
    spark: Any, executors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.parallel.ROWS", 70)
    steps = [
        ds.Recode("age", intervals=[30, 60]),
        ds.Pram({"sex": "E(0.8)"}),
        ds.RoundRandomly(["w"], bases=5),
        ds.AddNoise(["x", "z"], how="romm"),
        ds.MultiplicativeNoise(columns=["y"], identifier="id", a=1.1, b=1.2),
    ]
    before = jobs_of(spark)
    release = ds.protect(ds.Microdata(frame(), **ROLES), steps, key=KEY)
    shared_out = jobs_of(spark) - before  # the records come from here, so that Spark has nothing else to do
    with sharing(1):
        alone = ds.protect(ds.Microdata(frame(), **ROLES), steps, key=KEY)
    assert shared_out >= len(steps)
    assert alone.public.records.columns.equals(release.public.records.columns)
    for mine, theirs in zip(alone.custodian.steps, release.custodian.steps, strict=True):
        assert mine.evidence.claim == theirs.evidence.claim
        assert mine.evidence.facts.get("changed") == theirs.evidence.facts.get("changed")
    assert release.verify().holds


def jobs_of(spark: Any) -> int:
    """How many jobs Spark was given so far."""
    return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).size())


def refusing(number: int) -> int:
    if number == 2:
        raise InputError("Piece 2 cannot be done.", details="canary of a value")
    return number


def broken(number: int) -> int:
    raise RuntimeError("canary of a value")


def same(number: int) -> int:
    return number


def test_errors_of_executors_are_ours_and_stand_in_no_log(executors: None, events: Path) -> None:
    with pytest.raises(InputError, match="Piece 2 cannot be done"):
        list(shared(refusing, same, range(4), "pieces"))
    with pytest.raises(RuntimeError):
        list(shared(broken, same, range(2), "pieces"))
    with pytest.raises(DiscreetError, match="did not finish") as caught:
        list(shared(same, lambda number: (x for x in "canary"), range(2), "pieces"))
    assert caught.value.__cause__ is None
    written = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"canary" not in written


def test_combinations_counted_by_spark_are_those_of_memory(spark: Any, tmp_path: Path) -> None:
    table = keyed()
    roles = {"keys": ["age", "area", "sex"], "missing_codes": {"area": ["d"]}, "identifier": "name"}
    here = ds.Microdata(table, **roles).assess(*RULES).assessment
    assert ds.Microdata(there(spark, table, tmp_path, 3), **roles).assess(*RULES).assessment == here


def test_not_a_number_and_gaps_are_one_in_spark_too(spark: Any, tmp_path: Path) -> None:
    """Spark tells them apart; files of records do not."""
    import pyarrow as pa

    table = pa.table({"x": pa.array([np.nan, None, 0.0, -0.0, 1.0], from_pandas=False), "y": ["a"] * 5})
    here = ds.Microdata(table, keys=["x", "y"]).assess(ds.KAnonymity(2)).assessment
    assert ds.Microdata(there(spark, table, tmp_path, 2), keys=["x", "y"]).assess(ds.KAnonymity(2)).assessment == here
    assert here is not None
    assert here.unsafe == (1,)
