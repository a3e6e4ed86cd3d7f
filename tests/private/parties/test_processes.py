"""Parties as processes of their own over mutual TLS: the same results, and an end with a name when one is gone."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.errors import ParameterError
from discreet.private.joint.vertical import VerticalTerms, vertical_task
from discreet.private.parties.files import load_transcript
from discreet.private.parties.meeting import AsHost
from discreet.private.union.protocol import UnionTerms, union_task
from discreet.private.union.simulation import sizes_task
from discreet.progress import reporting
from discreet.trust.holders import Holder
from discreet.trust.refusals import TrustRefusal
from tests.private.joint.pooled import iterated, matrix, people, pooled
from tests.private.parties.offices import Killer, at, child, coordinator

NAMES = ["A", "B", "C"]
WITHIN = 10.0


def owner(name, data, place, **more):
    """One owner, who tries this with made-up records."""
    return ds.private.join_as(name, data, NAMES, place, without_account=True, **more)


def fitted(offices, port, name, record=None, formula="y ~ x + g"):
    """One owner's part; its coefficients."""
    here = ds.private.join_as(
        name, people("ABC")[name], NAMES, at(offices, name, port), levels={"g": list("abc")}, without_account=True
    )
    if record is not None:
        place = here._place
        here._place = type("Recorded", (), {"meet": lambda _, me, task, __: place.meet(me, task, record)})()
    return here.logit(formula).coefficients.tolist()


def warm(offices):
    for name in NAMES:
        offices.credentials(name)


def test_three_owners_and_a_coordinator_get_the_pooled_fit(offices, tmp_path):
    warm(offices)
    with coordinator(offices, NAMES, tmp_path / "carried") as (port, carrying):
        children = {name: child(partial(fitted, offices, port, name)) for name in NAMES}
        told = {name: one.told() for name, one in children.items()}
        assert carrying.told() == {"result": "done"}
    owners = people("ABC")
    beta, _ = iterated(matrix(owners), pooled(owners, "y"), "logit")
    for name in NAMES:
        assert np.abs(np.array(told[name].get("result", told[name])) - beta).max() < 1e-9
    carried = load_transcript(tmp_path / "carried")
    assert {one.sender for one in carried.messages} == set(NAMES)
    assert len(carried.messages) > 60


TASKS = {
    "table": lambda here: here.table(["g"]).counts.tolist(),
    "sparse table": lambda here: here.table(["g"], sparse=True).counts.tolist(),
    "log-linear": lambda here: here.loglinear([["g"]]).fitted.tolist(),
    "poisson": lambda here: here.poisson("count ~ x").persons,
}


@pytest.mark.parametrize("kind", TASKS)
def test_three_owners_get_what_one_process_gives(offices, kind):
    warm(offices)
    levels = {"g": list("abc")}

    def part(port, name):
        return TASKS[kind](owner(name, people("ABC")[name], at(offices, name, port), levels=levels))

    with coordinator(offices, NAMES) as (port, carrying):
        children = [child(partial(part, port, name)) for name in NAMES]
        told = [one.told() for one in children]
        assert carrying.told() == {"result": "done"}
    assert [one.get("result", one) for one in told] == [TASKS[kind](ds.private.join(people("ABC"), levels=levels))] * 3


def test_three_holders_learn_sizes(offices):
    warm(offices)
    files = {name: {"id": list(range(k, k + 20))} for name, k in {"A": 0, "B": 10, "C": 15}.items()}

    def part(port, name):
        return at(offices, name, port).meet(name, sizes_task(NAMES, name, files[name], ["id"], 10))

    with coordinator(offices, NAMES) as (port, carrying):
        children = [child(partial(part, port, name)) for name in NAMES]
        told = [one.told().get("result") for one in children]
        assert carrying.told() == {"result": "done"}
    assert told == [ds.private.union_sizes(files, ["id"])] * 3


def test_two_owners_of_columns_and_a_dealer(offices):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 60))
    person = [f"p{k}" for k in range(60)]
    y = 1 + a - 2 * b + rng.normal(size=60)
    records = {"A": {"person": person, "y": y, "a": a}, "B": {"person": person, "b": b}, "dealer": None}
    terms = VerticalTerms({"A": ["y", "a"], "B": ["b"]}, "y")

    def part(port, name):
        found = at(offices, name, port).meet(name, vertical_task(name, records[name], "person", terms))
        return None if found is None else found.coefficients.tolist()

    for name in records:
        offices.credentials(name)
    with coordinator(offices, list(records)) as (port, carrying):
        children = {name: child(partial(part, port, name)) for name in records}
        told = {name: one.told()["result"] for name, one in children.items()}
        assert carrying.told() == {"result": "done"}
    truth = np.linalg.lstsq(np.stack([np.ones(60), a, b], axis=1), y, rcond=None)[0]
    assert told["dealer"] is None
    assert np.abs(np.array(told["A"]) - truth).max() < 1e-9
    assert told["A"] == told["B"]


def holders():
    one = {"id": [f"p{k}" for k in range(12)], "x": list(range(12))}
    other = {"id": [f"P{k}" for k in range(8, 18)], "x": list(range(108, 118))}
    return {"A": one, "holder B": other}


def test_a_union_between_a_host_and_one_who_joins(offices):
    terms = UnionTerms(("id",), ("x",), "study")
    parties, files = ("A", "holder B"), holders()
    reading, writing = os.pipe()
    offices.credentials("A")
    offices.credentials("holder B", server=True)

    def served():
        ready = lambda port: os.write(writing, f"{port}\n".encode()) and None  # noqa: E731
        place = AsHost("127.0.0.1", 0, offices.credentials("holder B"), 20, ready)
        return place.meet("holder B", union_task(parties, "holder B", files["holder B"], terms)).to_dict()

    def joined(port):
        heard = []
        with reporting(heard.append):
            found = at(offices, "A", port).meet("A", union_task(parties, "A", files["A"], terms))
        return {**found.to_dict(), "rows": found.rows, "progress": [step[:3] for step in heard]}

    serving = child(served)
    os.close(writing)
    with os.fdopen(reading) as stream:
        port = int(stream.readline())
    initiator, helper = child(partial(joined, port)).told()["result"], serving.told()["result"]
    assert (helper["own"], helper["other"], helper["union"]) == (10, 12, 18)
    assert sorted(row["x"] for row in initiator["rows"]) == [*range(12), *range(112, 118)]
    assert initiator["seal"] == helper["seal"]
    assert ["points", 12, 12] in initiator["progress"]


@pytest.mark.parametrize("at_message", [0, 1, 5, 23, 60])
def test_a_party_that_is_killed_ends_the_run_at_all_others(offices, at_message):
    warm(offices)
    with coordinator(offices, NAMES) as (port, carrying):
        killed = child(partial(fitted, offices, port, "B", Killer(at=at_message)))
        others = [child(partial(fitted, offices, port, name)) for name in ("A", "C")]
        assert killed.told() == {}
        gone = time.monotonic()
        for one in [*others, carrying]:
            told = one.told()
            assert told.get("error") == "party left", told
            assert "B is gone" in told["message"]
            assert told["at"] - gone < WITHIN


@pytest.mark.parametrize("at_message", [0, 2, 3])
@pytest.mark.parametrize("victim", ["A", "B"])
def test_a_holder_that_is_killed_ends_a_union_at_the_other(offices, victim, at_message):
    files, terms = dict(zip("AB", holders().values(), strict=True)), UnionTerms(("id",), ("x",), "study")
    for name in files:
        offices.credentials(name)

    def part(port, name):
        record = Killer(at=at_message) if name == victim else None
        return at(offices, name, port).meet(name, union_task(tuple(files), name, files[name], terms), record).to_dict()

    with coordinator(offices, list(files)) as (port, carrying):
        children = {name: child(partial(part, port, name)) for name in files}
        assert children.pop(victim).told() == {}
        gone = time.monotonic()
        for one in (*children.values(), carrying):
            told = one.told()
            assert told.get("error") == "party left", told
            assert f"{victim} is gone" in told["message"]
            assert told["at"] - gone < WITHIN


@pytest.mark.parametrize("at_message", [0, 20])
def test_a_coordinator_that_is_killed_ends_the_run_at_all(offices, at_message):
    warm(offices)
    with coordinator(offices, NAMES, record=Killer(at=at_message)) as (port, carrying):
        children = [child(partial(fitted, offices, port, name)) for name in NAMES]
        assert carrying.told() == {}
        for one in children:
            told = one.told()
            assert told.get("error") == "party left", told
            assert "coordinator is gone" in told["message"]


def test_a_party_that_hangs_counts_as_gone(offices, monkeypatch):
    """Stopped, not killed: its connection stays open, and no sign of life comes."""
    from discreet.private.parties import wire

    monkeypatch.setattr(wire, "SILENCE", 1.5)
    monkeypatch.setattr(wire, "ALIVE_EVERY", 0.3)
    warm(offices)

    class Sleeper(Killer):
        def passed(self, sender, receiver, what, body):
            os.kill(os.getpid(), signal.SIGSTOP)
            return body

    with coordinator(offices, NAMES) as (port, _):
        hanging = child(partial(fitted, offices, port, "B", Sleeper()))
        others = [child(partial(fitted, offices, port, name)) for name in ("A", "C")]
        try:
            for one in others:
                told = one.told()
                assert told.get("error") == "party left", told
                assert "B is gone" in told["message"]
        finally:
            hanging.kill()
            hanging.told()


def test_a_party_that_refuses_tells_the_others_why_and_no_more(offices):
    warm(offices)

    def refusing(port):
        data = {name: values[:2] for name, values in people("ABC")["B"].items()}
        data["x"] = np.array([0.5, 12345.678])
        return owner("B", data, at(offices, "B", port)).linear("z ~ x").persons

    with coordinator(offices, NAMES) as (port, _):
        place = partial(at, offices, port=port)
        others = [
            child(
                lambda name=name: (
                    ds.private.join_as(name, people("ABC")[name], NAMES, place(name), without_account=True)
                    .linear("z ~ x")
                    .persons
                )
            )
            for name in ("A", "C")
        ]
        own = child(partial(refusing, port)).told()
        assert own["error"] == "not safe to reveal"
        for one in others:
            told = one.told()
            assert told["error"] == "refused by a party"
            assert "B ended the run: not safe to reveal" in told["message"]
            assert "12345" not in told["message"]


def test_other_plans_end_the_run_and_name_what_differs(offices):
    warm(offices)
    with coordinator(offices, NAMES) as (port, _):
        formulas = {"A": "y ~ x", "B": "y ~ x", "C": "y ~ x + g"}
        children = {n: child(partial(fitted, offices, port, n, None, f)) for n, f in formulas.items()}
        told = {name: one.told() for name, one in children.items()}
    assert {one["error"] for one in told.values()} <= {"other plan", "refused by a party", "party left"}
    named = [one["message"] for one in told.values() if one["error"] == "other plan"]
    assert any("formula" in message for message in named)


def test_a_revoked_certificate_does_not_get_in(offices):
    issued = offices.issued("user", Holder("Mallory", email="mallory@example.org"))
    certificate, key = offices.files(issued)
    offices.ca.revoke(issued.serial, by="Otto")
    before = offices.public
    offices.public = offices.place / "later"
    offices.give()
    later, offices.public = offices.public, before
    with pytest.raises(TrustRefusal):
        ds.private.PartyCredentials(certificate, key, later).client()


def test_somebody_with_a_good_certificate_who_is_not_invited_is_sent_away(offices):
    warm(offices)
    offices.credentials("Eve")
    with coordinator(offices, NAMES) as (port, carrying):
        task = lambda: at(offices, "Eve", port).meet(  # noqa: E731
            "Eve", union_task(("Eve", "A"), "Eve", holders()["A"], UnionTerms(("id",), ("x",)))
        )
        told = child(task).told()
        assert told["error"] == "refused by a party"
        assert "not let in: it is not expected there" in told["message"]
        children = {name: child(partial(fitted, offices, port, name)) for name in NAMES}
        assert all("result" in one.told() for one in children.values())
        assert carrying.told() == {"result": "done"}


def test_a_name_that_the_certificate_does_not_have_is_refused_before_anything_is_sent(offices):
    place = at(offices, "A", 1)
    with pytest.raises(ParameterError, match="not of the party 'B'"):
        place.meet("B", union_task(("B", "A"), "B", holders()["A"], UnionTerms(("id",), ("x",))))


def test_codes_that_are_not_agreed_on_are_not_told(offices):
    here = owner("A", people("ABC")["A"], at(offices, "A", 1))
    for do in (lambda: here.logit("y ~ g"), lambda: here.table(["g"]), lambda: here.loglinear([["g"]])):
        with pytest.raises(ParameterError, match="no agreed coding of 'g'"):
            do()


def test_a_certificate_that_is_revoked_during_a_run_ends_it(offices, monkeypatch):
    """The list of the coordinator is newer than the connection."""
    from discreet.trust.refusals import WhyRefused
    from discreet.trust.tls import CheckedContext

    warm(offices)
    asked = []

    def refusal(self, peer, now=None):
        asked.append(peer.name)
        return WhyRefused.REVOKED if peer.name == "B" and asked.count("B") > 5 else None

    monkeypatch.setattr(CheckedContext, "refusal", refusal)
    with coordinator(offices, NAMES) as (port, _):
        children = [child(partial(fitted, offices, port, name)) for name in NAMES]
        told = [one.told() for one in children]
    assert {one.get("error") for one in told} == {"party left"}
