"""Accounts of models and lists of unions are kept unless all say by name that there is none; results say which."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.errors import InputError, OutputError, ParameterError
from discreet.private import SharedFolder, UnionTerms, VerticalTerms
from discreet.private.joint.account import ACCOUNTS_KEPT, NO_ACCOUNTS, accounted
from discreet.private.joint.plan_file import JointPlan
from discreet.private.parties.conversation import Desk, RunPlan
from discreet.private.parties.rounds import PartyTask
from discreet.private.problems import ProtocolError
from discreet.private.union.run_log import entered
from discreet.trust import private_folder
from discreet.trust.private_folder import replace_file
from tests.private.joint.pooled import people

NAMES = ["A", "B", "C"]


class Nowhere:
    """A place that nobody may come to."""

    def meet(self, me, task, record=None):
        raise AssertionError("something was begun")


def together(tmp_path, parts):
    """Parties in threads, by files; what each has, or the name of its error."""
    found = {}

    def work(name, do):
        try:
            found[name] = do(SharedFolder(tmp_path / "exchange", tmp_path / f"own {name}", None, patience=20))
        except ProtocolError as error:
            found[name] = error

    threads = [threading.Thread(target=work, args=one) for one in parts.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def begun(file):
    """An account that is there."""
    ds.private.new_account(file)
    return file


def owner(name, **account):
    levels = {"g": list("abc")}
    return lambda place: ds.private.join_as(name, people("ABC")[name], NAMES, place, levels=levels, **account)


def test_an_owner_that_names_no_account_does_not_begin():
    for account in ({}, {"account": "a", "without_account": True}):
        with pytest.raises(ParameterError, match="account") as caught:
            owner("A", **account)(Nowhere())
        assert "without_account" in str(caught.value)
    terms = VerticalTerms({"A": ["y"], "B": ["x"]}, "y")
    with pytest.raises(ParameterError, match="two runs whose records differ"):
        ds.private.join_columns_as("A", {"p": [1], "y": [1.0]}, terms, Nowhere(), match="p")
    plan = JointPlan(1, tuple(NAMES), "logit", "y ~ x")
    with pytest.raises(ParameterError, match="two runs whose records differ"):
        plan.run_as("A", people("ABC")["A"], Nowhere())


def test_a_holder_that_names_no_list_of_unions_does_not_begin():
    data, terms = {"id": list(range(20)), "x": list(range(20))}, UnionTerms(("id",), ("x",), "study")
    for log in ({}, {"log": "a", "without_log": True}):
        with pytest.raises(ParameterError, match="list"):
            ds.private.unite_as("A", data, ("A", "B"), Nowhere(), terms, **log)


def test_a_mistyped_path_begins_no_account_and_no_list_of_unions(tmp_path):
    """One that is begun anew has forgotten all earlier runs; so that is an act of its own."""
    account, log = begun(tmp_path / "north.account"), tmp_path / "unions"
    ds.private.new_union_log(log)
    kept = account.read_bytes()
    here = owner("A", account=tmp_path / "nort.account")(Nowhere())
    for do in (lambda: here.table(["g"]), lambda: here.loglinear([["g"]]), lambda: here.logit("y ~ x")):
        with pytest.raises(InputError, match=r"There is no account of models 'nort\.account'.*new-account"):
            do()
    terms = VerticalTerms({"A": ["y"], "B": ["x"]}, "y")
    columns = {"p": list(range(9)), "y": [1.0] * 9}
    with pytest.raises(InputError, match="There is no account"):
        ds.private.join_columns_as("A", columns, terms, Nowhere(), match="p", account=tmp_path / "other")
    data, terms = {"id": list(range(20)), "x": list(range(20))}, UnionTerms(("id",), ("x",), "study")
    with pytest.raises(InputError, match=r"There is no log of unions 'union'.*new-log"):
        ds.private.unite_as("A", data, ("A", "B"), Nowhere(), terms, log=tmp_path / "union")
    assert {file.name for file in tmp_path.iterdir()} == {"north.account", "unions"}
    for again, file in ((ds.private.new_account, account), (ds.private.new_union_log, log)):
        with pytest.raises(OutputError, match="exists"):
            again(file)
        assert file.stat().st_mode & 0o077 == 0
    assert account.read_bytes() == kept


def test_results_say_whether_accounts_are_kept(tmp_path):
    kept = together(
        tmp_path / "1", {n: lambda p, n=n: owner(n, account=begun(tmp_path / n))(p).table(["g"]) for n in NAMES}
    )
    assert {one.accounts for one in kept.values()} == {ACCOUNTS_KEPT}
    none = together(tmp_path / "2", {n: lambda p, n=n: owner(n, without_account=True)(p).table(["g"]) for n in NAMES})
    assert {one.to_dict()["accounts"] for one in none.values()} == {NO_ACCOUNTS}
    simulated = ds.private.join(people("ABC"), levels={"g": list("abc")})
    for found in (simulated.table(["g"]), simulated.loglinear([["g"]]), simulated.linear("z ~ x")):
        assert found.to_dict()["accounts"] == NO_ACCOUNTS
        assert NO_ACCOUNTS in found.summary()


def test_one_owner_alone_cannot_do_without_an_account(tmp_path):
    """The others would believe that all keep one."""
    ways = {
        "A": {"account": begun(tmp_path / "A")},
        "C": {"account": begun(tmp_path / "C")},
        "B": {"without_account": True},
    }
    found = together(tmp_path, {n: lambda p, n=n: owner(n, **ways[n])(p).table(["g"]) for n in NAMES})
    assert {one.kind for one in found.values()} <= {"other plan", "refused by a party"}
    assert any("accounts" in str(one) for one in found.values())


def test_two_runs_that_differ_by_a_record_are_refused_by_its_owner_as_things_are_by_default(tmp_path):
    def all_of(folder, data):
        def part(name):
            levels = {"g": list("abc")}
            return lambda place: ds.private.join_as(
                name, data[name], NAMES, place, levels=levels, account=tmp_path / f"{name}.account"
            ).table(["g"])

        return together(tmp_path / folder, {name: part(name) for name in NAMES})

    owners = people("ABC")
    for name in NAMES:
        ds.private.new_account(tmp_path / f"{name}.account")
    assert all(one.counts.sum() == 600 for one in all_of("1", owners).values())
    owners["B"] = {column: values[:-1] for column, values in owners["B"].items()}
    found = all_of("2", owners)
    assert found["B"].kind == "too many runs"
    assert {found[name].kind for name in "AC"} == {"refused by a party"}


def test_a_union_is_listed_and_asked_for_once(tmp_path):
    data = {"A": {"id": list(range(20)), "x": list(range(20))}, "B": {"id": list(range(10, 30)), "x": [0] * 20}}
    terms = UnionTerms(("id",), ("x",), "study")

    def part(name, **log):
        return lambda place: ds.private.unite_as(name, data[name], ("A", "B"), place, terms, **log)

    logs = {name: {"log": tmp_path / name} for name in data}
    for one in logs.values():
        ds.private.new_union_log(one["log"])
    first = together(tmp_path / "1", {name: part(name, **logs[name]) for name in data})
    assert {one.union for one in first.values()} == {30}
    assert not any("No list" in note for one in first.values() for note in one.notes)
    again = together(tmp_path / "2", {"A": part("A", without_log=True), "B": part("B", **logs["B"])})
    assert again["B"].kind == "too many runs"
    tried = together(tmp_path / "3", {name: part(name, without_log=True) for name in data})
    assert all("No list of unions was kept" in one.summary() for one in tried.values())


AT_ONCE = 8


def all_at_once(do):
    """What becomes of the same step in as many threads, all begun at the same moment: its result, or its error."""
    start, found = threading.Barrier(AT_ONCE), []

    def work(number):
        start.wait()
        try:
            found.append(do(number))
        except ProtocolError as error:
            found.append(error.kind)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def desk(number, parties=("A", "B", "C")):
    return Desk(parties[0], RunPlan("test", parties, {}), None, None, session=bytes([number]) * 16)


def silent(parties=("A", "B", "C"), **columns):
    """A task that says nothing."""

    def work(_desk):
        return None
        yield

    return PartyTask(RunPlan("test", parties, {}), work, b"", columns=lambda: columns)


def run_through(task, at):
    with suppress(StopIteration):
        next(task.work(at))


@pytest.fixture
def slow_disk(monkeypatch):
    """Writing an account takes a while: runs at the same moment would all have read it before."""

    def slowly(*given):
        time.sleep(0.05)
        replace_file(*given)

    for module in ("joint.account", "union.run_log"):
        monkeypatch.setattr(f"discreet.private.{module}.replace_file", slowly)


def test_runs_that_begin_at_the_same_moment_find_each_other_in_the_account(tmp_path, slow_disk):
    file = begun(tmp_path / "A.account")

    def run(number):
        # each differs from each other one by two persons
        values = np.array([*range(100), 1000 + number, 2000 + number])
        run_through(accounted(silent(x=values), file, least=10), desk(number))
        return "begun"

    found = all_at_once(run)
    assert sorted(found) == ["begun"] + ["too many runs"] * (AT_ONCE - 1)


def test_no_run_is_lost_from_the_account_when_several_begin_at_the_same_moment(tmp_path, slow_disk):
    file = begun(tmp_path / "A.account")

    def run(number):
        run_through(accounted(silent(**{f"x{number}": np.arange(100)}), file, least=10), desk(number))
        return "begun"

    assert all_at_once(run) == ["begun"] * AT_ONCE
    assert len(json.loads(file.read_text())["runs"]) == AT_ONCE


def test_of_unions_that_begin_at_the_same_moment_one_goes_on(tmp_path, slow_disk):
    file = tmp_path / "unions"
    ds.private.new_union_log(file)

    def run(number):
        run_through(entered(silent(), file, "B", "study"), desk(number))
        return "begun"

    assert sorted(all_at_once(run)) == ["begun"] + ["too many runs"] * (AT_ONCE - 1)
    assert len(file.read_text().splitlines()) == 1


def test_an_account_that_somebody_holds_for_long_ends_the_run_in_words(tmp_path, monkeypatch):
    file = begun(tmp_path / "A.account")
    monkeypatch.setattr(private_folder, "PATIENCE", 0.1)
    with private_folder.alone_with(file), pytest.raises(OutputError, match="Somebody else is at work"):
        run_through(accounted(silent(x=np.arange(100)), file, least=10), desk(1))
