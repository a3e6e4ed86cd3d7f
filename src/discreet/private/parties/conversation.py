"""The frame of every run: parties greet each other, agree on what is done and on keys, then talk in sealed rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec

from discreet.private.parties.randomness import SecretDraws
from discreet.private.parties.rounds import Heard, PartyTask, SealedRound, SealedTalk, Talk, TalkRound, require_senders
from discreet.private.parties.sealing import HEAD, MAGIC, VERSION, Envelopes, require_version
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript

T = TypeVar("T")
MOST_SHOWN, LONGEST_SHOWN = 20, 80
"""Names of terms in an error, and their letters."""


class RunPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all parties must agree on, word by word; whoever carries greetings sees the names of terms."""

    protocol: str
    parties: tuple[str, ...]
    terms: dict[str, str]
    """Digests of everything else, by name: a party with other terms is told which."""


class Greeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first message of a party."""

    name: str
    plan: RunPlan
    public: bytes
    certificate: bytes = b""
    signature: bytes = b""

    def signed_part(self) -> bytes:
        """What a signature is over."""
        return msgspec.json.encode(Greeting(self.name, self.plan, self.public, self.certificate))


class PartyIdentity(Protocol):
    """How a party proves its name to the others, whoever carries its messages."""

    def certificate(self) -> bytes:
        """What others check it by."""
        ...

    def sign(self, data: bytes) -> bytes:
        """A signature."""
        ...

    def check(self, name: str, certificate: bytes, signature: bytes, data: bytes) -> None:
        """Refuse the signature of another party unless it is of that name and counts."""
        ...


@dataclass
class Desk:
    """What a party works with in one run."""

    me: str
    plan: RunPlan
    draws: SecretDraws
    envelopes: Envelopes
    session: bytes = b""
    opened: list[tuple[str, int]] = field(default_factory=list)
    """What was revealed to all, in order, and how many numbers it has."""

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties, in their order."""
        return self.plan.parties

    @property
    def others(self) -> tuple[str, ...]:
        """All but this one."""
        return tuple(name for name in self.plan.parties if name != self.me)


def conversation(
    me: str,
    task: PartyTask[T],
    *,
    seed: bytes | None = None,
    identity: PartyIdentity | None = None,
    record: Transcript | None = None,
) -> SealedTalk[T]:
    """A party of a run: greets, checks what the others are about, then works in sealed rounds.

    At the end all tell each other that they are done: a party has its result when everybody could have one.

    Parameters
    ----------
    me, task
        The party, what it wants to do with whom, and how.
    seed
        Of its randomness.
    identity
        How parties prove their names; ``None`` where all are in one process.
    record
        Takes down what was said to this party, as it reads it.
    """
    draws = SecretDraws(seed)
    desk = Desk(me, task.plan, draws, Envelopes(me, draws.take(32, "agreement")))
    greeting = _greeting(desk, identity)
    others = frozenset(desk.others)
    heard = yield SealedRound(0, dict.fromkeys(desk.others, greeting), others)
    greetings = _checked(desk, heard, identity)
    desk.session = hashlib.sha256(b"".join(sorted([greeting, *heard.values()]))).digest()
    desk.envelopes.agree(desk.session, {name: one.public for name, one in greetings.items()})
    # Masks are of this run alone, also where the same seed is used again with others.
    desk.draws = draws.bound(desk.session)
    talk, number = _to_the_end(desk, task), 0
    try:
        said = next(talk)
        while True:
            number += 1
            sealed = {to: desk.envelopes.seal(to, number, said.what, body) for to, body in said.says.items()}
            heard = yield SealedRound(number, sealed, said.hears)
            require_senders(said, heard)
            opened = {
                sender: desk.envelopes.open(sender, number, said.what, body) for sender, body in sorted(heard.items())
            }
            if record is not None:
                for sender, body in opened.items():
                    record.passed(sender, me, said.what, body)
            said = talk.send(opened)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        talk.close()


def _to_the_end(desk: Desk, task: PartyTask[T]) -> Talk[T]:
    result = yield from task.work(desk)
    yield TalkRound("done", dict.fromkeys(desk.others, b""), frozenset(desk.others))
    return result


def _greeting(desk: Desk, identity: PartyIdentity | None) -> bytes:
    certificate = b"" if identity is None else identity.certificate()
    plain = Greeting(desk.me, desk.plan, desk.envelopes.public, certificate)
    signature = b"" if identity is None else identity.sign(plain.signed_part())
    body = msgspec.json.encode(msgspec.structs.replace(plain, signature=signature))
    return HEAD.pack(MAGIC, VERSION, 0) + body


def _checked(desk: Desk, heard: Heard, identity: PartyIdentity | None) -> Mapping[str, Greeting]:
    found = {}
    for name in desk.others:
        if name not in heard:
            raise ProtocolError("party left", f"{name} did not greet.", hint="Start again when all are there.")
        require_version(heard[name], name)
        try:
            one = msgspec.json.decode(heard[name][HEAD.size :], type=Greeting)
        except msgspec.MsgspecError:
            raise ProtocolError("tampered", f"The greeting of {name} cannot be read.") from None
        if one.name != name:
            raise ProtocolError("tampered", f"{name} greets under another name.")
        _require_same_plan(desk.plan, one.plan, name)
        if identity is not None:
            identity.check(name, one.certificate, one.signature, one.signed_part())
        found[name] = one
    return found


def _require_same_plan(mine: RunPlan, other: RunPlan, name: str) -> None:
    """Refuse a party that is about something else, and say what differs."""
    differ = [what for what in ("protocol", "parties") if getattr(mine, what) != getattr(other, what)]
    terms = mine.terms.keys() | other.terms.keys()
    differ += sorted(_shown(key) for key in terms if mine.terms.get(key) != other.terms.get(key))[:MOST_SHOWN]
    if differ:
        raise ProtocolError(
            "other plan",
            f"{name} has another {', '.join(differ)}.",
            hint="Agree on columns, codings and parameters, and give the same at all parties.",
        )


def _shown(name: str) -> str:
    """A name that another party may have sent, as it can stand in words on a terminal."""
    return "".join(one if one.isprintable() else "?" for one in name[:LONGEST_SHOWN])


def plan_of(protocol: str, parties: Sequence[str], terms: Mapping[str, object]) -> RunPlan:
    """A plan; terms are compared by digests of their JSON, so that greetings hold no codes."""
    plain = {name: msgspec.json.encode(value, order="deterministic") for name, value in terms.items()}
    return RunPlan(protocol, tuple(parties), {name: hashlib.sha256(one).hexdigest() for name, one in plain.items()})


def plan_bytes(plan: RunPlan) -> bytes:
    """A plan as bytes, the same for equal plans."""
    return msgspec.json.encode(plan, order="deterministic")
