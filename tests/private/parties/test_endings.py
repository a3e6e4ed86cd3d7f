"""The last phase of a run, with a kill at every message of it: no error that means that nobody has a result, where one
has; and the same again gives all the same."""

from __future__ import annotations

import asyncio
import os
import signal

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.private import SharedFolder
from discreet.private.joint.sums import secure_sum
from discreet.private.parties import relay
from discreet.private.parties.conversation import plan_of
from discreet.private.parties.member import PartyMember
from discreet.private.parties.rounds import PartyTask, SealedRound
from discreet.private.parties.wire import LineLost, WireFrame, memory_lines
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from tests.private.joint.pooled import people
from tests.private.parties.offices import at, child, coordinator

NAMES = ["A", "B", "C"]


def task(name):
    own = np.array([1.0 + NAMES.index(name), 10.0])
    return PartyTask(plan_of("sum", NAMES, {}), lambda desk: secure_sum(desk, own, "cells"), b"")


def part(offices, port, name, record=None):
    return at(offices, name, port).meet(name, task(name), record).tolist()


def run(offices, records=None):
    """All three, and what became of each; the coordinator last."""
    for name in NAMES:
        offices.credentials(name)
    with coordinator(offices, NAMES) as (port, carrying):
        children = [child(lambda name=name: part(offices, port, name, (records or {}).get(name))) for name in NAMES]
        return [one.told() for one in children], carrying.told()


def dying():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("told", [0, 1, 2, 3])
def test_a_coordinator_that_is_killed_while_it_says_that_all_is_over(offices, monkeypatch, told):
    """Whoever heard it has the result; all others are in doubt, say so, and have none."""
    plain, ends = relay.told, []

    async def telling(line, frame):
        if frame.kind == "end":
            if len(ends) == told:
                dying()
            ends.append(frame)
        await plain(line, frame)

    monkeypatch.setattr(relay, "told", telling)
    monkeypatch.setattr(relay.Relay, "_finish", lambda self, error: dying())
    found, carrying = run(offices)
    assert carrying == {}
    kinds = [one.get("error") for one in found]
    assert kinds.count(None) == told, found
    assert kinds.count("end not heard") == len(NAMES) - told, found
    assert all(one["result"] == [6.0, 30.0] for one in found if "result" in one)
    monkeypatch.undo()
    again, _ = run(offices)
    assert [one["result"] for one in again] == [[6.0, 30.0]] * 3


@pytest.mark.parametrize("heard", [1, 2, 3])
def test_a_coordinator_that_is_killed_before_all_were_done_leaves_nobody_a_result(offices, monkeypatch, heard):
    plain, dones = relay.Relay._carry, []

    async def carrying_on(self, name, frame):
        if frame.kind == "done":
            dones.append(name)
            if len(dones) == heard:
                dying()
        await plain(self, name, frame)

    monkeypatch.setattr(relay.Relay, "_carry", carrying_on)
    found, carrying = run(offices)
    assert carrying == {}
    assert {one.get("error") for one in found} <= {"party left", "end not heard"}, found
    assert sum(one["error"] == "end not heard" for one in found) >= heard


class Late(Transcript):
    """Ends its own process at a message of the last phase, or when it could say that it is done."""

    def __init__(self, at_message):
        super().__init__()
        self.at_message = at_message

    def passed(self, sender, receiver, what, body):
        super().passed(sender, receiver, what, body)
        if [one.what for one in self.messages].count("done") == self.at_message:
            dying()
        return body


@pytest.mark.parametrize("at_message", [1, 2])
def test_a_party_that_is_killed_when_others_are_done_leaves_nobody_a_result(offices, at_message):
    found, carrying = run(offices, {"B": Late(at_message)})
    assert found[1] == {}
    for one in (found[0], found[2], carrying):
        assert one["error"] == "party left", one
        assert "B is gone" in one["message"]


def test_whoever_leaves_after_the_end_does_not_take_it_from_the_others():
    """The line of one breaks in the middle of the last word; the coordinator has decided by then."""

    async def ended():
        carrying = relay.Relay(["A", "B"])
        (near_a, far_a), (near_b, far_b) = memory_lines(), memory_lines()
        plain = far_a.send

        async def broken(frame):
            if frame.kind == "end":
                await carrying.stop("A", "party left")
                raise LineLost("closed")
            await plain(frame)

        far_a.send = broken
        serving = [asyncio.create_task(carrying.member(name, line)) for name, line in (("A", far_a), ("B", far_b))]
        await near_a.send(WireFrame("done"))
        await near_b.send(WireFrame("done"))
        await asyncio.wait_for(carrying.outcome(5), 5)
        kinds = []
        while not kinds or kinds[-1] == "start":
            kinds.append((await near_b.receive()).kind)
        for one in serving:
            one.cancel()
        return kinds

    assert asyncio.run(ended()) == ["start", "end"]


def quick(result):
    """A party that is done at once."""
    return result
    yield


async def with_coordinator(talk, *frames, until):
    """What a party has from a hostile coordinator that says these frames."""
    near, far = memory_lines()
    member = asyncio.create_task(PartyMember("A", talk, near).run())
    await far.send(WireFrame("start"))
    while (await far.receive()).kind != until:
        pass
    for frame in frames:
        await far.send(frame)
    await far.close()
    return await asyncio.wait_for(member, 5)


def kind_and_words(*frames, talk=None, until="done"):
    with pytest.raises(ProtocolError) as caught:
        asyncio.run(with_coordinator(quick(1) if talk is None else talk, *frames, until=until))
    return caught.value.kind, str(caught.value)


def test_a_hostile_coordinator_cannot_make_anybody_wrong_about_others():
    """It can keep the last word from some; what these say is true whatever it told the others."""

    def waiting():
        yield SealedRound(0, {}, frozenset("B"))

    assert asyncio.run(with_coordinator(quick(1), WireFrame("end"), until="done")) == 1
    assert kind_and_words()[0] == "end not heard"
    kind, words = kind_and_words(WireFrame("stop", "B", body=b"party left"))
    assert kind == "party left"
    assert "as the coordinator says" in words
    assert kind_and_words(WireFrame("end"), talk=waiting(), until="hello")[0] == "tampered"
    kind, words = kind_and_words(WireFrame("stop", "B", body=b"party left"), talk=waiting(), until="hello")
    assert "as the coordinator says" not in words
    assert kind_and_words(talk=waiting(), until="hello")[0] == "party left"


def test_by_files_an_interruption_in_the_last_round_is_made_up_for(tmp_path):
    """All are done when they write it; one that is stopped before it has read this goes on and has the result."""
    names = ["A", "B", "C"]
    found = {}

    def attempt(name):
        place = SharedFolder(tmp_path / "exchange", tmp_path / name, None, patience=0)
        try:
            found[name] = place.meet(name, task(name)).tolist()
        except ProtocolError as error:
            if error.kind != "party unreachable":
                raise

    tries = 0
    while "A" not in found:
        for name in ("B", "C", "A"):
            if name not in found:
                attempt(name)
        tries += 1
        assert tries < 20
    assert found["A"] == [6.0, 30.0]
    assert set(found) < set(names)  # the others were stopped in their last round
    for name in names:
        if name not in found:
            attempt(name)
    assert [found[name] for name in names] == [[6.0, 30.0]] * 3


def test_after_an_end_that_was_not_heard_the_account_lets_the_same_through_again(offices, monkeypatch, tmp_path):
    def fitted(port, name):
        place = at(offices, name, port)
        here = ds.private.join_as(name, people("ABC")[name], NAMES, place, account=tmp_path / f"{name}.account")
        return here.linear("z ~ x").coefficients.tolist()

    def all_of_them():
        for name in NAMES:
            offices.credentials(name)
        with coordinator(offices, NAMES) as (port, _):
            children = [child(lambda name=name: fitted(port, name)) for name in NAMES]
            return [one.told() for one in children]

    for name in NAMES:
        ds.private.new_account(tmp_path / f"{name}.account")
    plain, ends = relay.told, []

    async def telling(line, frame):
        if frame.kind == "end":
            if ends:
                dying()
            ends.append(frame)
        await plain(line, frame)

    with monkeypatch.context() as patched:
        patched.setattr(relay, "told", telling)
        first = all_of_them()
    assert sorted(str(one.get("error")) for one in first) == ["None", "end not heard", "end not heard"]
    (known,) = [one["result"] for one in first if "result" in one]
    assert [one["result"] for one in all_of_them()] == [known] * 3
