"""Pieces of work are shared by processes or threads with the same result, errors of ours, and nothing left behind."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import Cancelled, DiscreetError, InputError, NeedsError, ParameterError
from discreet.parallel import by_rows, shared, sharing
from discreet.progress import Step, reporting

KEY = ds.Key(bytes(range(32)))
BACKENDS = [("threading", 2), ("threading", 3)]
"""Processes of their own take seconds to start: they are asked in few tests."""


def squared(number: int) -> int:
    return number * number


def refusing(number: int) -> int:
    if number == 3:
        raise InputError("Piece 3 cannot be done.", hint="Leave it out.", details="a secret value")
    return number


def broken(number: int) -> int:
    return [0][number]


class Dies:
    """Something that kills whoever unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sys.exit, (3,)


def same(piece: Any) -> Any:
    return piece


def all_of(work: Any, given: Any, pieces: Any) -> list[Any]:
    with closing(shared(work, given, pieces, "pieces")) as results:
        return list(results)


@pytest.fixture(params=BACKENDS, ids=lambda one: f"{one[0]}-{one[1]}")
def spread(request: pytest.FixtureRequest) -> Iterator[int]:
    backend, jobs = request.param
    with joblib.parallel_config(backend=backend), sharing(jobs):
        yield jobs


def test_results_come_in_the_order_of_the_pieces(spread: int) -> None:
    assert all_of(squared, same, range(50)) == [n * n for n in range(50)]


def test_processes_give_results_in_order_and_errors_as_they_are() -> None:
    with sharing(2):
        assert all_of(squared, same, range(50)) == [n * n for n in range(50)]
        with pytest.raises(InputError, match=r"Piece 3 cannot be done. Leave it out.") as caught:
            all_of(refusing, same, range(9))
        assert caught.value.__cause__ is None
        assert caught.value.details == ""


def test_an_error_of_a_piece_comes_back_as_it_is(spread: int) -> None:
    with pytest.raises(InputError, match=r"Piece 3 cannot be done. Leave it out.") as caught:
        all_of(refusing, same, range(9))
    assert caught.value.__cause__ is None
    with pytest.raises(IndexError):
        all_of(broken, same, range(5))


def test_an_error_of_what_is_sent_is_heard(spread: int) -> None:
    with pytest.raises(InputError, match="Piece 3"):
        all_of(squared, refusing, range(9))


def test_what_cannot_be_sent_is_an_error_of_ours_without_what_it_holds() -> None:
    with sharing(2), pytest.raises(DiscreetError, match="did not finish") as caught:
        all_of(same, lambda number: (number, iter(["canary"])) if number else (x for x in "canary"), range(3))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_process_that_dies_is_an_error_of_ours() -> None:
    with sharing(2), pytest.raises(DiscreetError, match="did not finish"):
        all_of(same, lambda number: Dies() if number else number, range(3))


def test_cancelling_is_heard_after_a_piece_and_ends_the_rest(spread: int) -> None:
    seen: list[Step] = []

    def listen(step: Step) -> None:
        seen.append(step)
        if step.done == 3:
            raise Cancelled()

    with reporting(listen), pytest.raises(Cancelled):
        all_of(squared, same, range(500))
    assert [step.done for step in seen] == [0, 1, 2, 3]
    assert all_of(squared, same, range(4)) == [0, 1, 4, 9]


def test_pieces_are_made_shortly_before_their_turn() -> None:
    """Otherwise all of them would lie in memory together."""
    made: list[int] = []

    def given(number: int) -> int:
        made.append(number)
        return number

    with joblib.parallel_config(backend="sequential"), sharing(2):
        results = shared(squared, given, range(1000), "pieces")
        next(results)
        assert len(made) < 20
        results.close()


def added(more: int, one: Any, other: Any) -> Any:
    return one + other + more


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 50])
def test_rows_are_shared_in_parts_that_come_in_order(rows: int, spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.parallel.ROWS", 7)
    parts = by_rows(partial(added, 5), np.arange(rows), np.arange(rows) * 10)
    assert [len(part) for part in parts] == ([7] * (rows // 7) + [rows % 7] * (rows % 7 > 0) or [0])
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(rows) * 11 + 5)


def test_rows_stay_in_one_part_where_no_jobs_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.parallel.ROWS", 7)
    assert [len(part) for part in by_rows(partial(added, 5), np.arange(50), np.arange(50))] == [50]


def test_a_piece_is_not_shared_out_again() -> None:
    with joblib.parallel_config(backend="sequential"), sharing(2):
        assert all_of(within, same, range(3)) == [None] * 3


def within(_: int) -> Any:
    from discreet.parallel import _jobs

    return _jobs.get()


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2"])
def test_a_number_of_jobs_that_is_none_is_refused(jobs: Any) -> None:
    with pytest.raises(ParameterError, match="jobs="), sharing(jobs):
        pass


def test_without_joblib_the_extra_is_named_before_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(NeedsError, match=r"discreet\[jobs\]"):
        ds.protect(people(), ds.RankSwap(), key=KEY, jobs=2)
    assert ds.protect(people(), ds.RankSwap(), key=KEY, jobs=1).public.records is not None


# ---- releases -----------------------------------------------------------------------------------------------


def people(records: int = 400) -> ds.Microdata:
    draw = np.random.default_rng(4)
    columns = {
        "id": [f"p{i}" for i in range(records)],
        "area": draw.choice(list("abcde"), records),
        "x": draw.lognormal(3, 1, records).round(2),
        "y": draw.integers(0, 1000, records),
    }
    gap = pa.array(columns["x"], mask=np.arange(records) % 8 == 0)
    table = pa.table({**columns, "x": gap})
    return ds.Microdata(table, identifier="id", strata="area", numeric=["x", "y"])


@pytest.mark.parametrize(
    "method",
    [
        ds.RankSwap(share=0.1),
        ds.Microaggregate(k=3, missing="apart"),
        ds.Microaggregate(["y"], k=3, algorithm="univariate"),
        ds.Microaggregate(["y"], k=2, algorithm="optimal_2"),
        ds.Microaggregate(["y"], k=3, algorithm="automaton"),
    ],
    ids=str,
)
def test_releases_of_records_do_not_depend_on_jobs_or_backend(method: Any, spread: int) -> None:
    with sharing(1):
        alone = ds.protect(people(), method, key=KEY)
    assert_same_files(alone, ds.protect(people(), method, key=KEY))
    assert_same_files(alone, ds.protect(people(), method, key=KEY, jobs=2))


def test_releases_of_records_are_the_same_in_processes_of_their_own() -> None:
    for method in (ds.RankSwap(share=0.1), ds.Microaggregate(k=3, missing="apart")):
        assert_same_files(ds.protect(people(), method, key=KEY), ds.protect(people(), method, key=KEY, jobs=2))


def assert_same_files(one: Any, other: Any) -> None:
    assert one.public.records.columns.equals(other.public.records.columns)
    for mine, theirs in zip(one.custodian.steps, other.custodian.steps, strict=True):
        assert mine.changed.equals(theirs.changed)
        assert mine.evidence.facts == theirs.evidence.facts
        assert mine.evidence.effort == theirs.evidence.effort
        assert mine.evidence.parts.keys() == theirs.evidence.parts.keys()
        for name, column in mine.evidence.parts.get("records", {}).items():
            np.testing.assert_array_equal(column, theirs.evidence.parts["records"][name])
    assert other.verify().holds


def blocks_of_counts() -> ds.Table:
    """A table of two tables that no sum ties together is rounded block by block."""
    draw = np.random.default_rng(2)
    by = {name: ds.Hierarchy.flat([f"{name}{i}" for i in range(6)]) for name in ("a", "b")}
    frame = pa.table({name: draw.choice([f"{name}{i}" for i in range(6)], 900) for name in by})
    return ds.tabulate(frame, by=by).assess(ds.MinFrequency(12))


@pytest.mark.parametrize("method", [ds.Suppress(algorithm="modular"), ds.Round(base=5)], ids=lambda m: m.kind)
def test_saved_tables_have_the_same_bytes_whatever_the_jobs(method: Any, tmp_path: Any) -> None:
    table = blocks_of_counts()
    ds.protect(table, method, key=KEY, jobs=1).save(tmp_path / "one")
    with joblib.parallel_config(backend="threading"):
        ds.protect(table, method, key=KEY, jobs=2).save(tmp_path / "other")
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert files == sorted(p.relative_to(tmp_path / "other") for p in (tmp_path / "other").rglob("*") if p.is_file())
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes(), file


def test_parts_of_an_optimum_are_shared_out_and_give_the_same_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of two periods have no cell in common: each is a part of its own."""
    draw = np.random.default_rng(4)
    names = {name: [f"{name}{i}" for i in range(6)] for name in ("a", "b")}
    by = {name: ds.Hierarchy.flat(codes) for name, codes in names.items()}
    tables = []
    for period in ("2024", "2025"):
        columns = {name: draw.choice(codes, 250) for name, codes in names.items()}
        frame = pa.table({**columns, "turnover": draw.lognormal(3, 1.4, 250).round()})
        made = ds.tabulate(frame, by=by, value="turnover", name=f"t{period}", period=period)
        tables.append(made.assess(ds.PPercent(15)))
    both, pieces = ds.TableSet(tables), []

    def parallel(**options: Any) -> Any:
        run = joblib.parallel.Parallel(**options)

        def counted(calls: Any) -> Any:
            listed = list(calls)
            pieces.append(len(listed))
            return run(listed)

        return counted

    alone = ds.protect(both, ds.Suppress(algorithm="optimal"))
    monkeypatch.setattr(joblib, "Parallel", parallel)
    with joblib.parallel_config(backend="threading"):
        shared = ds.protect(both, ds.Suppress(algorithm="optimal"), jobs=2)
        limited = ds.protect(both, ds.Suppress(algorithm="optimal", effort=400), jobs=2)
    assert pieces == [2]  # a limit of programs is one for all parts: they go one after the other
    assert limited.verify().holds
    efforts = [release.custodian.evidence[0].effort for release in (alone, shared)]
    assert efforts[0] == efforts[1]
    assert efforts[0]["proven"] == 1
    for mine, theirs in zip(alone.public.tables, shared.public.tables, strict=True):
        assert mine.to_frame().equals(theirs.to_frame())


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are made here; what goes to other processes is pickled, and the key is in none of it."""
    sent: list[bytes] = []

    class Watched:
        def __init__(self, **_: Any) -> None: ...

        def __call__(self, calls: Any) -> Iterator[Any]:
            for function, arguments, named in calls:
                sent.append(pickle.dumps((arguments, named)))
                yield function(*arguments, **named)

    monkeypatch.setattr(joblib, "Parallel", Watched)
    secret = ds.Key(bytes(range(100, 132)))
    for method in (ds.RankSwap(share=0.1), ds.Microaggregate(k=3, missing="apart")):
        ds.protect(people(), method, key=secret, jobs=2)
    ds.protect(blocks_of_counts(), ds.Suppress(algorithm="modular"), jobs=2)
    assert len(sent) > 10
    for message in sent:
        assert secret.secret not in message
        assert secret.text.encode() not in message


def test_cancelling_a_release_in_the_middle_of_its_pieces_makes_nothing() -> None:
    def listen(step: Step) -> None:
        if step.stage == "strata" and step.done == 2:
            raise Cancelled()

    with reporting(listen), pytest.raises(Cancelled):
        ds.protect(people(), ds.RankSwap(share=0.1), key=KEY, jobs=2)


def test_runs_of_methods_for_records_are_shared() -> None:
    methods = [ds.RankSwap(share=0.1), ds.Microaggregate(k=3, missing="apart")]
    alone = ds.compare(people(), methods, runs=2)
    with joblib.parallel_config(backend="threading"):
        assert ds.compare(people(), methods, runs=2, jobs=2).rows == alone.rows
    assert len(alone.rows) == 3
