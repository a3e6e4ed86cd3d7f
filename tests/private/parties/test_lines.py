"""Lines, the coordinator and identities, one by one: what they refuse."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from socket import SO_LINGER, SOL_SOCKET

import msgspec
import numpy as np
import pytest

pytest.importorskip("cryptography")

from discreet.phases import Phases
from discreet.private.joint.sums import secure_sum
from discreet.private.parties import wire
from discreet.private.parties.conversation import conversation, plan_of
from discreet.private.parties.meeting import AsHost, AtCoordinator, _admit
from discreet.private.parties.member import PartyMember
from discreet.private.parties.relay import Relay
from discreet.private.parties.rounds import PartyTask, SealedRound
from discreet.private.parties.together import run_together
from discreet.private.parties.wire import LineLost, StreamLine, WireFrame, memory_lines
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.progress import reporting
from discreet.trust.refusals import TrustRefusal
from tests.private.parties import listening
from tests.private.parties.offices import Offices


def kind_of(do) -> str:
    with pytest.raises(ProtocolError) as caught:
        do()
    return caught.value.kind


def waiting():
    """A party that waits for one message of B in each of two rounds."""
    yield SealedRound(0, {}, frozenset("B"))
    yield SealedRound(1, {}, frozenset("B"))


async def sent(*frames):
    """What a party makes of frames."""
    near, far = memory_lines()
    for frame in (WireFrame("start"), *frames):
        await far.send(frame)
    await asyncio.wait_for(PartyMember("A", waiting(), near).run(), 5)


@pytest.mark.parametrize(
    "frames",
    [
        [WireFrame("message", "B", 1, b"x"), WireFrame("message", "B", 1, b"x")],
        [WireFrame("message", "B", 5, b"x"), WireFrame("message", "B", 5, b"y")],
    ],
)
def test_a_message_twice_ends_the_run(frames):
    assert kind_of(lambda: asyncio.run(sent(*frames))) == "replayed message"


def test_a_message_of_a_round_that_is_over_ends_the_run():
    went_on = threading.Event()

    def talk():
        yield SealedRound(0, {}, frozenset("B"))
        went_on.set()
        yield SealedRound(1, {}, frozenset("B"))

    async def late():
        near, far = memory_lines()
        running = asyncio.create_task(PartyMember("A", talk(), near).run())
        await far.send(WireFrame("start"))
        await far.send(WireFrame("message", "B", 0, b"x"))
        assert await asyncio.to_thread(went_on.wait, 5)
        await far.send(WireFrame("message", "B", 0, b"x"))
        await asyncio.wait_for(running, 5)

    assert kind_of(lambda: asyncio.run(late())) == "replayed message"


def test_more_messages_than_anybody_waits_for_end_the_run():
    frames = [WireFrame("message", "B", 10 + k, b"x") for k in range(2000)]
    assert kind_of(lambda: asyncio.run(sent(*frames))) == "replayed message"


@pytest.mark.parametrize(("why", "kind"), [("party left", "party left"), ("tampered", "refused by a party")])
def test_a_stop_has_a_name(why, kind):
    assert kind_of(lambda: asyncio.run(sent(WireFrame("stop", "C", body=why.encode())))) == kind


async def admitted(parties, certificate, hello):
    """What a coordinator says to somebody with a certificate who says hello under a name."""
    near, far = memory_lines()
    serving = asyncio.create_task(_admit(Relay(parties), far, certificate))
    await near.send(WireFrame("hello", hello))
    found = await asyncio.wait_for(near.receive(), 5)
    serving.cancel()
    return found.kind


def test_a_name_is_that_of_the_certificate():
    assert asyncio.run(admitted(["B"], "B", "B")) == "start"
    assert asyncio.run(admitted(["B"], "B", "A")) == "stop"
    assert asyncio.run(admitted(["B"], "A", "A")) == "stop"


def test_a_party_cannot_come_twice_or_write_to_strangers_or_itself():
    async def run(frames):
        relay = Relay(["A"])
        near, far = memory_lines()
        serving = asyncio.create_task(relay.member("A", far))
        for frame in frames:
            await near.send(frame)
        if not frames:
            assert (await near.receive()).kind == "start"
            other, there = memory_lines()
            await relay.member("A", there)
            serving.cancel()
            return (await other.receive()).kind
        await relay.outcome(5)

    assert asyncio.run(run([])) == "stop"
    for to in ("A", "Z"):
        assert kind_of(lambda to=to: asyncio.run(run([WireFrame("message", to, 1, b"")]))) == "refused by a party"
    assert kind_of(lambda: asyncio.run(run([WireFrame("start")]))) == "refused by a party"


async def read(data: bytes):
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await StreamLine(reader, None).receive()  # nothing is written


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(8, "big") + body


@pytest.mark.parametrize(
    "data",
    [b"", framed(b"\xc1"), (2**40).to_bytes(8, "big"), framed(msgspec.msgpack.encode(["party", "A"])), framed(b"")],
    ids=["nothing", "no frame", "too long", "other kind", "empty"],
)
def test_what_is_no_frame_breaks_the_line(data):
    with pytest.raises(LineLost):
        asyncio.run(read(data))


def test_another_version_of_frames_is_named():
    data = framed(msgspec.msgpack.encode(WireFrame("hello", "A", version=2)))
    assert kind_of(lambda: asyncio.run(read(data))) == "wrong version"


def test_whoever_is_silent_is_gone(monkeypatch):
    monkeypatch.setattr(wire, "SILENCE", 0.05)

    async def silent():
        await StreamLine(asyncio.StreamReader(), None).receive()

    with pytest.raises(LineLost):
        asyncio.run(silent())


def test_last_words_are_heard_when_the_connection_breaks_after_them():
    """A coordinator that is killed leaves what it was sent unread: the system then breaks its connections off."""

    async def run():
        async def speak(_reader, writer):
            writer.write(framed(msgspec.msgpack.encode(WireFrame("end"))))
            await writer.drain()
            socket = writer.get_extra_info("socket")
            socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

        server = await asyncio.start_server(speak, "127.0.0.1", 0)
        line = await wire.connected_line("127.0.0.1", server.sockets[0].getsockname()[1], None)
        with contextlib.suppress(OSError):
            await asyncio.wait_for(line._writer.wait_closed(), 5)
        found = (await line.receive()).kind
        with pytest.raises(LineLost):
            await line.receive()
        server.close()
        return found

    assert asyncio.run(run()) == "end"


def test_a_greeting_counts_for_its_name_its_authority_and_its_words_only(offices, tmp_path):
    a, b = offices.credentials("A").identity(), offices.credentials("B").identity()
    a.check("B", b.certificate(), b.sign(b"words"), b"words")
    assert kind_of(lambda: a.check("B", b.certificate(), b.sign(b"words"), b"other words")) == "tampered"
    assert kind_of(lambda: a.check("C", b.certificate(), b.sign(b"words"), b"words")) == "refused by a party"
    assert kind_of(lambda: a.check("B", a.certificate(), b.sign(b"words"), b"words")) == "refused by a party"
    assert kind_of(lambda: a.check("B", b"", b.sign(b"words"), b"words")) == "refused by a party"
    stranger = Offices(tmp_path, "Another Office").credentials("B").identity()
    assert kind_of(lambda: a.check("B", stranger.certificate(), stranger.sign(b"w"), b"w")) == "refused by a party"


def test_a_revoked_certificate_greets_nobody(offices):
    from discreet.private.parties.identity import PartyCredentials
    from discreet.trust.holders import Holder

    issued = offices.issued("user", Holder("R", email="r@example.org"))
    revoked = PartyCredentials(*offices.files(issued), offices.public).identity()
    offices.ca.revoke(issued.serial, by="Otto")
    offices.ca.export(offices.place / "newer")
    known = offices.credentials("A")
    a = PartyCredentials(known.certificate, known.key, offices.place / "newer").identity()
    assert kind_of(lambda: a.check("R", revoked.certificate(), revoked.sign(b"w"), b"w")) == "refused by a party"


def test_a_key_of_another_certificate_is_refused(offices):
    from discreet.private.parties.identity import PartyCredentials

    a, b = offices.credentials("A"), offices.credentials("B")
    assert kind_of(PartyCredentials(a.certificate, b.key, a.authorities).identity) == "refused by a party"


def test_one_seed_with_other_counterparts_gives_other_masks():
    """Shares of the same seed in two sessions have nothing in common."""

    def shares():
        record = Transcript()
        names = ("A", "B", "C")
        task = PartyTask(plan_of("sum", names, {}), lambda desk: secure_sum(desk, np.arange(50.0), "sum"), b"")
        talks = {
            name: conversation(name, task, seed=bytes(32) if name == "A" else None, record=record) for name in names
        }
        run_together(talks, record)
        return [one.body for one in listening.said(record, "sum: shares", sender="A")]

    assert listening.repeated(shares() + shares()) == []


def test_whoever_finds_nobody_hears_where_and_says_so_meanwhile(offices):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"localhost:{taken.getsockname()[1]}"
        heard = []
        task = PartyTask(plan_of("sum", ["A", "B"], {}), lambda desk: iter(()), b"")
        with reporting(heard.append), pytest.raises(ProtocolError, match=f"Nobody answers at {address}") as caught:
            AtCoordinator(address, offices.credentials("A"), patience=0.3).meet("A", task)
    assert caught.value.kind == "party unreachable"
    assert {str(Phases().hear(step)) for step in heard} == {f"{address}: nobody answers yet"}


def test_a_certificate_for_users_is_none_to_serve_with(offices):
    place = AsHost("127.0.0.1", 0, offices.credentials("A"), 1)
    task = PartyTask(plan_of("sum", ["A", "B"], {}), lambda desk: iter(()), b"")
    with pytest.raises(TrustRefusal, match="for another purpose") as caught:
        place.meet("A", task)
    assert caught.value.hint == "Use one that was issued for this: discreet ca request --purpose server"
