"""Where parties meet: at a coordinator, over mutual TLS. A party connects, or lets the others connect to it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from discreet.errors import ParameterError
from discreet.private.parties.conversation import conversation
from discreet.private.parties.identity import PartyCredentials
from discreet.private.parties.member import PartyMember
from discreet.private.parties.relay import PATIENCE, Relay, told
from discreet.private.parties.rounds import PartyTask
from discreet.private.parties.together import CARRIER
from discreet.private.parties.wire import (
    NOT_LET_IN,
    Line,
    LineLost,
    StreamLine,
    WireFrame,
    connected_line,
    memory_lines,
)
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.progress import checkpoint
from discreet.trust.peer import PeerCertificate
from discreet.trust.refusals import TrustRefusal, handshake_refusal
from discreet.trust.tls import CheckedContext

T = TypeVar("T")
RETRY = 0.1
PARTY_PORT = 8462
Ready = Callable[[int], None]
"""Told the port, once somebody listens."""


@dataclass(frozen=True)
class AtCoordinator:
    """A party that meets the others at a coordinator, over mutual TLS.

    Parameters
    ----------
    address
        ``"host:port"`` of the coordinator.
    credentials
        Of the party.
    patience
        Seconds to wait for the coordinator and for the others.

    Examples
    --------
    >>> import discreet as ds
    >>> credentials = ds.private.PartyCredentials("a.pem", "a.key", "public")
    >>> ds.private.AtCoordinator("example.org:8462", credentials).place
    ('example.org', 8462)
    """

    address: str
    credentials: PartyCredentials
    patience: float = PATIENCE

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise ParameterError(f"{self.address!r} is no address.", hint="Write host:port.")
        return host.strip("[]"), int(port)

    def meet(self, me: str, task: PartyTask[T], record: Transcript | None = None) -> T:
        """Take part in a run as one party.

        Raises
        ------
        ProtocolError
            When there is no result; ``kind`` says why.
        """
        return asyncio.run(self._meet(me, task, record))

    async def _meet(self, me: str, task: PartyTask[T], record: Transcript | None) -> T:
        identity = self.credentials.identity()
        _require_name(identity.name, me)
        line = await self._connected()
        try:
            talk = conversation(me, task, identity=identity, record=record)
            return await PartyMember(me, talk, line).run()
        finally:
            await line.close()

    async def _connected(self) -> StreamLine:
        host, port = self.place
        context, end = self.credentials.client(), asyncio.get_running_loop().time() + self.patience
        while True:
            try:
                return await asyncio.wait_for(connected_line(host, port, context), 10.0)
            except ssl.SSLError as error:
                why = handshake_refusal(error)
                raise TrustRefusal(
                    why, f"The connection is refused: {why.value}.", hint="Look at the certificates of both sides."
                ) from None
            except (OSError, TimeoutError):
                if asyncio.get_running_loop().time() > end:
                    raise ProtocolError(
                        "party unreachable",
                        f"Nobody answers at {self.address}.",
                        hint="Check the address, and that the coordinator, or the party that serves, is running there.",
                    ) from None
                checkpoint(f"{self.address}: meet", 0, 1)
                await asyncio.sleep(RETRY)


@dataclass(frozen=True)
class AsHost:
    """A party that lets the others connect to it, over mutual TLS, and carries their messages.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any.
    credentials
        Of the party; its certificate is one for servers.
    patience
        Seconds to wait for the others.
    ready
        Told the port, once others can come.
    """

    host: str
    port: int
    credentials: PartyCredentials
    patience: float = PATIENCE
    ready: Ready | None = field(default=None, compare=False)

    def meet(self, me: str, task: PartyTask[T], record: Transcript | None = None) -> T:
        """Take part in a run as one party, and carry it."""
        return asyncio.run(self._meet(me, task, record))

    async def _meet(self, me: str, task: PartyTask[T], record: Transcript | None) -> T:
        identity = self.credentials.identity()
        _require_name(identity.name, me)
        relay = Relay(task.plan.parties)
        near, far = memory_lines()
        talk = conversation(me, task, identity=identity, record=record)
        own = asyncio.create_task(PartyMember(me, talk, near).run())
        inside = asyncio.create_task(_admit(relay, far, me))

        async def finish() -> T:
            waiting = asyncio.create_task(relay.outcome(self.patience))
            done, _ = await asyncio.wait({own, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if own in done and own.exception() is not None:
                return await own  # its own error says more than that it left
            await waiting
            return await own

        try:
            return await _listening(relay, self.credentials.server(), self.host, self.port, self.ready, finish)
        finally:
            for task_ in (own, inside):
                task_.cancel()
            await asyncio.gather(own, inside, return_exceptions=True)


def coordinate(
    parties: Sequence[str],
    credentials: PartyCredentials,
    *,
    host: str = "127.0.0.1",
    port: int = PARTY_PORT,
    patience: float = PATIENCE,
    record: Transcript | None = None,
    ready: Ready | None = None,
) -> None:
    """Carry one run between parties. The coordinator sees sealed messages and their lengths, and no contents.

    Parameters
    ----------
    parties
        Names of all parties, as their certificates have them.
    credentials
        Of the coordinator; its certificate is one for servers.
    host, port
        Where to listen.
    patience
        Seconds to wait for all parties.
    record
        Takes down what passes.
    ready
        Told the port, once parties can come.

    Raises
    ------
    ProtocolError
        When the run ended without results.
    """

    async def carry() -> None:
        relay = Relay(parties, record)
        await _listening(relay, credentials.server(), host, port, ready, lambda: relay.outcome(patience))

    asyncio.run(carry())


async def _listening(
    relay: Relay, context: CheckedContext, host: str, port: int, ready: Ready | None, until: Callable[[], Awaitable[T]]
) -> T:
    """Let parties in until something is done."""
    serving: set[asyncio.Task[None]] = set()

    async def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        peer = PeerCertificate.from_der(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        # An open connection outlives its certificate: it is looked up with every frame.
        line = StreamLine(reader, writer, lambda: context.refusal(peer) is None)
        try:
            await _admit(relay, line, peer.name)
        finally:
            await line.close()
            serving.discard(task)

    try:
        server = await asyncio.start_server(come, host, port, ssl=context)
    except OSError as error:
        raise ParameterError(
            f"Cannot listen on {host}:{port}: {error.strerror or type(error).__name__}.", hint="Choose another port."
        ) from None
    try:
        if ready is not None:
            ready(server.sockets[0].getsockname()[1])
        return await until()
    finally:
        server.close()
        if serving:  # last words go out
            await asyncio.wait(set(serving), timeout=2.0)
        for task in set(serving):
            task.cancel()


async def _admit(relay: Relay, line: Line, name: str) -> None:
    """Let a party in under the name that its certificate has."""
    try:
        frame = await line.receive()
    except (LineLost, ProtocolError):
        return
    if frame.kind == "hello" and frame.party == name:
        await relay.member(name, line)
    else:
        await told(line, WireFrame("stop", CARRIER, body=NOT_LET_IN))


def _require_name(found: str, me: str) -> None:
    if found != me:
        raise ParameterError(
            f"The certificate is not of the party {me!r}.", hint="Give the certificate that has the party's name."
        )
