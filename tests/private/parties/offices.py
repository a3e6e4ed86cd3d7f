"""Offices with certificates of one authority, and parties as processes of their own on loopback.

Every process ends by itself or is ended here, by its id.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.private.parties.identity import PartyCredentials
from discreet.private.parties.meeting import AtCoordinator, coordinate
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.trust.holders import Holder
from tests.trust.house import House

LONGEST = 30.0


class Offices(House):
    """Certificates by name; made when they are asked for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known: dict[str, PartyCredentials] = {}

    def credentials(self, name: str, *, server: bool = False) -> PartyCredentials:
        if name not in self.known:
            holder = (
                Holder(name, hosts=("localhost", "127.0.0.1"))
                if server
                else Holder(name, email=f"{name.replace(' ', '.')}@example.org")
            )
            issued = self.issued("server" if server else "user", holder)
            self.known[name] = PartyCredentials(*self.files(issued), self.public)
        return self.known[name]


@dataclass
class Killer(Transcript):
    """A transcript that ends its own process, without a word, at a message of a given number."""

    at: int = -1

    def passed(self, sender: str, receiver: str, what: str, body: bytes) -> bytes:
        super().passed(sender, receiver, what, body)
        if len(self.messages) > self.at >= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return body


@dataclass
class Child:
    """A process that does something and tells what came of it in one line of JSON."""

    number: int
    reading: int
    started: float = field(default_factory=time.monotonic)

    def told(self) -> dict[str, Any]:
        """What it told; nothing when it was killed before."""
        with os.fdopen(self.reading, "rb") as stream:
            text = stream.read()
        os.waitpid(self.number, 0)
        return json.loads(text) if text else {}

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, signal.SIGKILL)


def child(work: Callable[[], Any]) -> Child:
    """Fork a process for some work."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    number = os.fork()
    if number:
        os.close(writing)
        return Child(number, reading)
    code = 1
    try:
        signal.alarm(int(LONGEST))
        os.close(reading)
        try:
            told = {"result": work()}
        except ProtocolError as error:
            told = {"error": error.kind, "message": str(error), "at": time.monotonic()}
        except BaseException:
            told = {"crash": traceback.format_exc()}
        os.write(writing, json.dumps(told).encode())
        code = 0
    finally:
        os._exit(code)


@contextlib.contextmanager
def coordinator(
    offices: Offices, parties: list[str], transcript: Path | None = None, record: Transcript | None = None
) -> Iterator[tuple[int, Child]]:
    """A coordinator in a process of its own; gives its port."""
    record = Transcript() if record is None else record
    reading, writing = os.pipe()

    def work() -> str:
        coordinate(
            parties,
            offices.credentials("coordinator", server=True),
            port=0,
            patience=20,
            record=record,
            ready=lambda port: (os.write(writing, f"{port}\n".encode()), None)[1],
        )
        if transcript is not None:
            from discreet.private.parties.files import save_transcript

            save_transcript(record, transcript)
        return "done"

    offices.credentials("coordinator", server=True)
    started = child(work)
    os.close(writing)
    try:
        with os.fdopen(reading) as stream:
            port = int(stream.readline())
        yield port, started
    finally:
        started.kill()


def at(offices: Offices, name: str, port: int) -> AtCoordinator:
    return AtCoordinator(f"localhost:{port}", offices.credentials(name), patience=20)
