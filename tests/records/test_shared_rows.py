"""Methods that look at every record by itself, or at those of a stratum, give one release whoever does the work."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import Cancelled, InputError
from discreet.progress import Step, reporting
from tests.test_parallel import assert_same_files

KEY = ds.Key(bytes(range(100, 132)))
BY_ROWS = [
    ds.Recode("code", map={"n": "north"}),
    ds.Recode("code", groups={"west": ["w", "e"]}),
    ds.Recode("code", digits=1),
    ds.Recode("y", intervals=[100, 300]),
    ds.Recode("x", intervals=[10, 30]),
    ds.Recode("y", base=25),
    ds.Recode("x", base=0.25, ties="away"),
    ds.Recode("born", date="month"),
    ds.Pram({"code": "E(0.8)"}),
    ds.Pram({"code": "E(0.7)"}, within=[], missing="category"),
    ds.RoundRandomly(bases=5),
    ds.MultiplicativeNoise(identifier="id", columns=["x", "y"], a=1.1, b=1.2),
]
HOW = ("independent", "correlated", "exact", "restricted", "romm", "outliers", "proportional", "latin_hypercube")
BY_STRATA = [ds.AddNoise(how=how, amount=0.2, missing="apart") for how in HOW]
RECORDS = 400


def people() -> ds.Microdata:
    draw = np.random.default_rng(4)
    rows = np.arange(RECORDS)
    columns = {
        "id": [f"p{i}" for i in rows],
        "area": draw.choice(list("abc"), RECORDS),
        "code": pa.array(draw.choice(list("nesw"), RECORDS), mask=rows % 9 == 0),
        "born": pa.array(draw.integers(7000, 7120, RECORDS).astype("datetime64[D]"), mask=rows % 11 == 0),
        "x": pa.array(draw.lognormal(3, 1, RECORDS).round(2), mask=rows % 8 == 0),
        "y": draw.integers(0, 1000, RECORDS),
    }
    return ds.Microdata(pa.table(columns), identifier="id", strata="area", numeric=["x", "y"])


@contextmanager
def counted_stages() -> Iterator[Counter[str]]:
    """The most pieces that each stage was reported to have."""
    seen: Counter[str] = Counter()

    def listen(step: Step) -> None:
        seen[step.stage] = max(seen[step.stage], step.total)

    with reporting(listen):
        yield seen


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.parallel.ROWS", 70)


@pytest.mark.parametrize("method", [*BY_ROWS, *BY_STRATA], ids=str)
def test_releases_do_not_depend_on_jobs(method: Any) -> None:
    with counted_stages() as stages:
        alone = ds.protect(people(), method, key=KEY)
    assert "rows" not in stages
    with joblib.parallel_config(backend="threading"), counted_stages() as stages:
        assert_same_files(alone, ds.protect(people(), method, key=KEY, jobs=2))
    assert stages["noise" if method.kind == "add_noise" else "rows"] >= 3


def test_releases_are_the_same_in_processes_of_their_own() -> None:
    steps = [BY_ROWS[0], BY_ROWS[8], BY_ROWS[10], BY_STRATA[4]]
    assert_same_files(ds.protect(people(), steps, key=KEY), ds.protect(people(), steps, key=KEY, jobs=2))


def watched(sent: list[bytes]) -> Callable[..., Any]:
    """A stand-in for joblib that keeps what would go to other processes."""

    def parallel(**_: Any) -> Callable[[Any], Iterator[Any]]:
        def run(calls: Any) -> Iterator[Any]:
            for function, arguments, named in calls:
                sent.append(pickle.dumps((function, arguments, named)))
                function, arguments, named = pickle.loads(sent[-1])
                yield pickle.loads(pickle.dumps(function(*arguments, **named)))

        return run

    return parallel


def test_no_key_is_sent_and_no_more_than_the_rows_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (*BY_ROWS, *BY_STRATA):
        sent: list[bytes] = []
        with monkeypatch.context() as patch:
            patch.setattr(joblib, "Parallel", watched(sent))
            ds.protect(people(), method, key=KEY, jobs=2)
        assert len(sent) >= 3
        for message in sent:
            assert KEY.secret not in message
            assert KEY.text.encode() not in message
            assert b"p17" not in message  # no identifier


def test_what_cannot_be_done_is_said_as_it_is_here() -> None:
    """Errors of a stratum name it, whoever found them."""
    draw = np.random.default_rng(1)
    x = draw.integers(0, 900, 90)
    table = pa.table({"id": np.arange(90), "area": ["a", "b", "c"] * 30, "x": x, "y": x * 2})
    data = ds.Microdata(table, identifier="id", strata="area", numeric=["x", "y"])
    with pytest.raises(InputError, match=r"values of 'y' with area 'a' follow from 'x'") as here:
        ds.protect(data, ds.AddNoise(how="exact"), key=KEY)
    with joblib.parallel_config(backend="threading"), pytest.raises(InputError) as elsewhere:
        ds.protect(data, ds.AddNoise(how="exact"), key=KEY, jobs=2)
    assert str(elsewhere.value) == str(here.value)


@pytest.mark.parametrize(("method", "stage"), [(BY_ROWS[8], "rows"), (BY_STRATA[1], "noise")], ids=["rows", "noise"])
def test_who_cancels_is_heard_between_parts(method: Any, stage: str) -> None:
    def listen(step: Step) -> None:
        if step.stage == stage and step.done == 2:
            raise Cancelled()

    with joblib.parallel_config(backend="threading"), reporting(listen), pytest.raises(Cancelled):
        ds.protect(people(), method, key=KEY, jobs=2)
