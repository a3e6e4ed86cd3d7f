"""The logger process: who may write, what, and that nobody is told of an entry that a crash can lose."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import socket
import stat
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import discreet
from discreet.errors import OutputError, ParameterError
from discreet.trust import SigningKey
from discreet.trust.log.client import AsyncLogClient, LogClient
from discreet.trust.log.entries import ENTRY_KINDS, AnswerGiven, EntryRefused, LogRepaired, QuestionAsked, SignedIn
from discreet.trust.log.logger import Logger
from discreet.trust.log.process import LoggerProcess, _loop_factory, start_logger
from discreet.trust.log.wire import FRAME, LARGEST_REQUEST, AppendEntry, frame
from discreet.trust.log.writer import LogUnavailable, LogWriter
from discreet.trust.log_verify import check_log, check_proof
from tests.trust.log_killing import killed_at_random
from tests.trust.log_making import key_in, question

pytest.importorskip("cryptography")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    key_in(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(discreet.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)  # paths of sockets must be short
    return tmp_path


@pytest.fixture
def running(place) -> Iterator[LoggerProcess]:
    logger = start_logger("log", "log.pem", "socket", create=True)
    yield logger
    logger.stop()


def seen(folder: Path | str) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = []
    check_log(folder, each=lambda one: entries.append(one.body)).require()
    return entries


def test_an_entry_is_acknowledged_with_a_receipt_that_can_be_proved(running, place):
    with LogClient("socket") as client:
        first, second = client.append(question(1)), client.append(question(2))
        assert (first.seq, second.seq) == (1, 2)
        assert client.head() == second.head
        inclusion = client.inclusion(first.seq)
        consistency = client.consistency(1)
    assert inclusion.leaf == first.leaf
    assert check_proof(inclusion.to_json(), "log.pem.pub").holds
    assert check_proof(consistency.to_json(), "log.pem.pub", heads=[first.head.to_json()]).holds
    assert check_log("log", heads=[first.head.to_json(), second.head.to_json()]).holds
    with pytest.raises(ParameterError, match="has no entry 9"):
        LogClient("socket").inclusion(9)


def test_the_socket_is_for_its_owner_and_goes_with_the_logger(place):
    logger = start_logger("log", "log.pem", "socket", create=True)
    assert stat.S_IMODE(Path("socket").stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="did not start"):
        start_logger("log", "log.pem", "other", timeout=20)
    assert logger.stop() == 0
    assert not Path("socket").exists()
    again = start_logger("log", "log.pem", "socket", group=os.getgid())
    assert stat.S_IMODE(Path("socket").stat().st_mode) == 0o660
    assert again.stop() == 0


class Peer:
    """The other end of a socket, as the system describes it."""

    def __init__(self, user: int, group: int) -> None:
        self._told = struct.pack("3i", 1, user, group)

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_PEERCRED)
        return self._told


@pytest.mark.parametrize(
    ("user", "group", "allowed", "admitted"),
    [(0, 0, None, True), (1, 0, None, False), (1, 50, 50, True), (1, 51, 50, False), (0, 51, 50, True)],
)
def test_only_this_user_or_the_group_is_let_in(place, user, group, allowed, admitted):
    from discreet.trust.log.writer import create_log

    key = SigningKey.from_file("log.pem")
    create_log("log", key)

    async def answer() -> bool:
        with LogWriter("log", key) as writer:
            logger = Logger(writer, group=allowed)
            verdict = logger.admits(Peer(os.geteuid() + user, group))
            await logger.end()
            return verdict

    assert asyncio.run(answer()) is admitted


def raw(data: bytes) -> bytes:
    """What the logger answers to bytes, until it ends the connection or has answered once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(10)
        link.connect("socket")
        link.sendall(data)
        return link.recv(4096)


def packed(number: int, value: object) -> bytes:
    data = msgspec.msgpack.encode(value)
    return FRAME.pack(len(data), number) + data


GOOD = {"kind": "question", "action": "table", "dataset": "census", "edition": "1", "question": "a" * 64}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"value": 7391}, "value"),
        ({"subject": "7391\n"}, "subject"),
        ({"subject": "a\u202eb"}, "subject"),
        ({"subject": "x" * 201}, "subject"),
        ({"subject": 7391}, "subject"),
        ({"purpose": "7391" * 126}, "purpose"),
        ({"purpose": "a\x00b"}, "purpose"),
        ({"question": "7391"}, "question"),
        ({"question": "A" * 64}, "question"),
        ({"question": "a" * 64 + "\n"}, "question"),
        ({"dataset": "../7391"}, "dataset"),
        ({"action": "7391 rows"}, "action"),
        ({"serial": "7391g"}, "serial"),
        ({"answer": "a" * 64}, "answer"),
        ({"kind": "7391"}, "kind"),
        ({"kind": "repair"}, "kind"),
        ({"edition": None}, "edition"),
    ],
)
def test_what_is_no_entry_is_refused_without_repeating_the_value(running, change, field):
    reply = raw(packed(5, {"ask": "append", "entry": GOOD | change}))
    assert FRAME.unpack(reply[:8])[1] == 5
    told = msgspec.msgpack.decode(reply[8:])
    assert (told["told"], told["code"]) == ("failed", "entry")
    assert repr(field) in told["message"] or f"entry.{field}'" in told["message"]
    assert "7391" not in told["message"]
    assert LogClient("socket").head().head.size == 0


def test_a_missing_field_is_named(running):
    reply = raw(packed(1, {"ask": "append", "entry": {"kind": "question", "dataset": "c"}}))
    assert "lacks a field" in msgspec.msgpack.decode(reply[8:])["message"]


def test_the_same_refusal_comes_through_the_client(running):
    with LogClient("socket") as client:
        with pytest.raises(EntryRefused, match=r"not allowed at 'entry\.subject'"):
            client.append(SignedIn(subject="two\nlines", decision="granted", level=3))
        with pytest.raises(EntryRefused):
            client.append(LogRepaired(entries=1, bytes=1, content="a" * 64))  # type: ignore[arg-type]
        assert client.append(question(1)).seq == 1


@pytest.mark.parametrize(
    "data", [FRAME.pack(LARGEST_REQUEST + 1, 1), FRAME.pack(2**32 - 1, 1) + b"x", FRAME.pack(3, 1) + b"\xc1\xff\xff"]
)
def test_what_is_no_frame_ends_the_connection_and_nothing_else(running, data):
    assert b"failed" in raw(data)
    with LogClient("socket") as client:
        assert client.append(question(1)).seq == 1


def test_bytes_may_come_one_by_one_and_several_requests_at_once(running):
    data = frame(1, AppendEntry(question(1))) + frame(2, AppendEntry(question(2)))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(10)
        link.connect("socket")
        for at in range(len(data)):
            link.sendall(data[at : at + 1])
        stream = link.makefile("rb")
        numbers = []
        for _ in range(2):
            length, number = FRAME.unpack(stream.read(8))
            stream.read(length)
            numbers.append(number)
        assert numbers == [1, 2]


def test_without_a_logger_nothing_is_acknowledged_and_clients_come_back(place):
    client = LogClient("socket")
    with pytest.raises(LogUnavailable, match="cannot be reached"):
        client.append(question(1))
    logger = start_logger("log", "log.pem", "socket", create=True)
    assert client.append(question(1)).seq == 1
    os.kill(logger.process.pid, signal.SIGKILL)
    logger.process.wait()
    with pytest.raises(LogUnavailable):
        client.append(question(2))
    logger.stop()
    again = start_logger("log", "log.pem", "socket")
    assert client.append(question(3)).seq == 2
    again.stop()
    assert len(seen("log")) == 2


def test_a_logger_that_does_not_answer_in_time_is_not_believed_later(place):
    """A stopped process takes connections and bytes; its late answer must not pass for the next one."""
    logger = start_logger("log", "log.pem", "socket", create=True)
    client = LogClient("socket", timeout=0.3)
    assert client.append(question(1)).seq == 1
    os.kill(logger.process.pid, signal.SIGSTOP)
    with pytest.raises(LogUnavailable, match="did not answer in time"):
        client.append(question(2))
    os.kill(logger.process.pid, signal.SIGCONT)
    assert LogClient("socket", timeout=10).append(question(3)).seq in (2, 3)  # the late one may be written
    client._timeout = 10
    receipt = client.append(question(4))
    assert receipt.seq == check_log("log").entries
    logger.stop()


def test_many_wait_at_once_and_share_groups(running):
    async def ask() -> list[int]:
        async with AsyncLogClient("socket", timeout=20) as client:
            receipts = await asyncio.gather(*(client.append(question(k)) for k in range(200)))
            assert (await client.head()).head.size == 200
            proof = await client.inclusion(17, receipts[16].head.head.size)
            assert proof.leaf == receipts[16].leaf
            assert (await client.consistency(0)).second.head.size == 200
            return [receipt.seq for receipt in receipts]

    assert sorted(asyncio.run(ask())) == list(range(1, 201))
    assert check_log("log").heads < 100  # far fewer signatures than entries


def test_the_client_of_asyncio_comes_back_too(place):
    async def ask() -> None:
        client = AsyncLogClient("socket", timeout=10)
        with pytest.raises(LogUnavailable):
            await client.append(question(0))
        for number in (1, 2):
            logger = start_logger("log", "log.pem", "socket", create=True)
            assert (await client.append(question(number))).seq == number
            os.kill(logger.process.pid, signal.SIGKILL)
            logger.process.wait()
            with pytest.raises(LogUnavailable):
                await client.append(question(number))
            logger.stop()
        await client.close()

    asyncio.run(ask())


def test_a_full_disk_is_an_error_for_everybody_who_waits(running):
    with LogClient("socket") as client:
        client.append(question(1))
        size = Path("log/segment-00000001.log").stat().st_size
        limit = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size + 100, limit[1]))

        async def ask() -> list[object]:
            async with AsyncLogClient("socket", timeout=20) as other:
                waiting = (other.append(question(k)) for k in range(60))
                return list(await asyncio.gather(*waiting, return_exceptions=True))

        assert {type(answer) for answer in asyncio.run(ask())} == {LogUnavailable}
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, limit)
        assert client.append(question(2)).seq == 2
    assert len(seen("log")) == 2


def test_the_logger_ends_with_the_process_that_started_it(place):
    logger = start_logger("log", "log.pem", "socket", create=True)
    assert logger.process.stdin is not None
    logger.process.stdin.close()
    assert logger.process.wait(20) == 0
    logger.stop()


def test_a_stop_lets_nobody_go_without_an_answer(place):
    """Whoever has a receipt finds the entry; whoever has none has an error."""
    logger = start_logger("log", "log.pem", "socket", create=True)
    written: list[int] = []

    def append() -> None:
        with LogClient("socket") as client:
            try:
                for number in range(10_000):
                    written.append(client.append(question(number)).seq)
                    if number == 5:
                        reached.set()
            except LogUnavailable:
                reached.set()

    reached = threading.Event()
    threads = [threading.Thread(target=append) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert reached.wait(20)
    assert logger.stop() == 0
    for thread in threads:
        thread.join(20)
    assert len(set(written)) == len(written) > 5
    assert check_log("log").entries >= max(written)


def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(place):
    random.seed(24)
    found = killed_at_random(place, kills=4, clients=4)
    assert found["acknowledged"] > 20
    assert {name: number for name, number in found.items() if name.startswith("FAILED") and number} == {}


def test_the_logger_runs_on_pythons_own_loop_where_no_other_is_installed(monkeypatch):
    assert _loop_factory() is not None
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _loop_factory() is None


def test_the_fields_of_entries_are_those_that_were_allowed():
    """A new field is a decision about what may be told: it is made here, too."""
    fields = {field for kind in ENTRY_KINDS.values() for field in kind.__struct_fields__}
    who = {"subject", "serial", "role", "request", "purpose", "about", "second", "given"}
    what = {"action", "dataset", "edition", "question", "answer", "method", "decision", "rule", "level", "version"}
    assert fields == who | what | {"budget_after", "content", "fingerprint", "entries", "bytes", "signed"}
    assert {"question", "answer", "refusal", "sign_in", "sign_out", "decision", "start", "stop"} < set(ENTRY_KINDS)
    assert QuestionAsked.__struct_config__.forbid_unknown_fields
    assert AnswerGiven.__struct_config__.forbid_unknown_fields
