"""Kill -9 a party or the coordinator at random moments of a joint model or a union: an end with a name, no result.

A moment is a message of the run and some milliseconds after it, while something is being computed or sent.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import discreet as ds
from discreet.private.parties.places import MeetingPlace
from discreet.private.retrieval.frames import Transcript
from discreet.private.union.protocol import UnionTerms, union_task
from tests.private.joint.pooled import people
from tests.private.parties.offices import Offices, at, child, coordinator

WITHIN = 10.0
OWNERS = ("A", "B", "C")
MESSAGES = {"model": 70, "union": 6}
"""About as many as a party is sent."""


@dataclass
class LateKiller(Transcript):
    """A transcript that ends its own process some milliseconds after a message, without a word."""

    at: int = -1
    after: float = 0.0

    def passed(self, sender: str, receiver: str, what: str, body: bytes) -> bytes:
        """Note a message; at the given one, set the clock."""
        super().passed(sender, receiver, what, body)
        if len(self.messages) == self.at + 1:
            timer = threading.Timer(self.after, os.kill, [os.getpid(), signal.SIGKILL])
            timer.daemon = True
            timer.start()
        return body


def model(place: MeetingPlace, name: str, record: Transcript) -> str:
    """One owner's part of a model."""
    here = ds.private.join_as(
        name, people("ABC")[name], OWNERS, Recorded(place, record), levels={"g": list("abc")}, without_account=True
    )
    return str(here.logit("y ~ x + g").coefficients.round(6).tolist())


def union(place: MeetingPlace, name: str, record: Transcript) -> str:
    """One holder's part of a union."""
    files = {"A": range(300), "B": range(200, 500)}
    data = {"id": [f"p{k}" for k in files[name]], "x": list(files[name])}
    return str(place.meet(name, union_task(("A", "B"), name, data, UnionTerms(("id",), ("x",))), record).union)


@dataclass
class Recorded:
    """A place whose messages go into a record of ours."""

    place: MeetingPlace
    record: Transcript

    def meet(self, me: str, task: Any, _record: Transcript | None = None) -> Any:
        """Take part."""
        return self.place.meet(me, task, self.record)


def killed_parties(count: int, folder: Path) -> Counter[str]:
    """Runs that lose somebody; what became of each."""
    offices = Offices(folder)
    for name in OWNERS:
        offices.credentials(name)
    offices.credentials("coordinator", server=True)
    found: Counter[str] = Counter()
    for _ in range(count):
        kind, work = random.choice([("model", model), ("union", union)])
        names = list(OWNERS if kind == "model" else OWNERS[:2])
        victim = random.choice([*names, "coordinator"])
        many = MESSAGES[kind] * (len(names) if victim == "coordinator" else 1)
        killer = LateKiller(at=random.randrange(many), after=random.random() * 0.02)
        found[_one(offices, names, work, victim, killer)] += 1
    return found


def _one(offices: Offices, names: list[str], work: Callable[..., str], victim: str, killer: LateKiller) -> str:
    with coordinator(offices, names, record=killer if victim == "coordinator" else None) as (port, carrying):
        children = {
            name: child(partial(work, at(offices, name, port), name, killer if name == victim else Transcript()))
            for name in names
        }
        everybody = {**children, "coordinator": carrying}
        lost = everybody.pop(victim).told()
        gone = time.monotonic()
        told = {name: one.told() for name, one in everybody.items()}
    who = "the coordinator" if victim == "coordinator" else "a party"
    if lost or all("result" in one for one in told.values()):
        whole = all("result" in one for one in told.values())
        if whole:
            return f"{who} was killed after the end: all others have results"
        said = [str(one.get("error", "result" if "result" in one else "nothing")) for one in (lost, *told.values())]
        return f"FAILED: {who} was not killed, and not all have results: {sorted(said)}"
    errors = {one.get("error") for one in told.values() if "result" not in one}
    if any("result" in one for one in told.values()):
        # Only a coordinator can be cut off in its last word, and whoever did not hear it must say so.
        in_doubt = victim == "coordinator" and errors == {"end not heard"}
        return (
            f"{who} was killed in its last word: some have it, all others say so"
            if in_doubt
            else (f"FAILED: {who} was killed, and somebody has a result, others say {sorted(map(str, errors))}")
        )
    if victim == "coordinator" and errors <= {"party left", "end not heard"}:
        errors = {"party left"}  # who was done cannot know that others were not
    if errors != {"party left"}:
        return f"FAILED: {who} was killed, and somebody says {sorted(str(one.get('error')) for one in told.values())}"
    if any(one["at"] - gone > WITHIN for one in told.values()):
        return f"FAILED: {who} was killed, and somebody went on"
    return f"{who} was killed: party left, no result"
