"""All parties of a retrieval in one process, for teaching and tests, with every message taken down."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError, unknown_name
from discreet.private.retrieval.boxes import Entries, as_entries
from discreet.private.retrieval.frames import Transcript
from discreet.private.retrieval.lattice import LatticeScheme, answer_lattice, columns_of, make_hint
from discreet.private.retrieval.lattice_noise import SEED_BYTES
from discreet.private.retrieval.lattice_parameters import parameters
from discreet.private.retrieval.server import historic_answer
from discreet.private.retrieval.two_servers import TwoServerXor, answer_xor

SIMULATED = ("ko", "stern", "lipmaa", "gr", "xor", "simplepir")


@dataclass(frozen=True)
class SimulatedRetrieval:
    """What came of a simulated retrieval.

    Parameters
    ----------
    entry
        What the client got.
    transcript
        Every message, in order.
    """

    entry: bytes
    transcript: Transcript

    @property
    def bytes_up(self) -> int:
        """Bytes that the client sent."""
        return self.transcript.total("client")

    @property
    def bytes_down(self) -> int:
        """Bytes that servers sent."""
        return sum(len(one.body) for one in self.transcript.messages if one.sender != "client")


def simulate(
    given: Sequence[bytes] | Entries, index: int, scheme: str = "simplepir", **options: Any
) -> SimulatedRetrieval:
    """Retrieve an entry with all parties in this process.

    Parameters
    ----------
    given
        The database: entries, padded to one length.
    index
        The wanted entry. Only the client's part gets it.
    scheme
        ``"ko"``, ``"stern"``, ``"lipmaa"``, ``"gr"``, ``"xor"`` or ``"simplepir"``.
    options
        Of the scheme: ``dimensions``, ``sides``, ``s``, ``bits``, ``insecure_bits``; ``per_column``,
        ``insecure_dimension``.

    Examples
    --------
    >>> import discreet as ds
    >>> run = ds.private.simulate([b"alpha", b"beta", b"gamma"], 2, "xor")
    >>> run.entry
    b'gamma'
    >>> print(run.transcript.summary())
    client -> server 1: question, 25 bytes
    client -> server 2: question, 25 bytes
    server 1 -> client: answer, 29 bytes
    server 2 -> client: answer, 29 bytes
    """
    if scheme not in SIMULATED:
        raise ParameterError(unknown_name("scheme", scheme, SIMULATED))
    entries, transcript = as_entries(given), Transcript()
    client, answer = _parties(entries, scheme, options, transcript)
    asked = client.query(index)
    names = [f"server {number}" for number in range(1, client.servers + 1)]
    for name, message in zip(names, asked.messages, strict=True):
        transcript.passed("client", name, "question", message)
    answers = [
        transcript.passed(name, "client", "answer", answer(message))
        for name, message in zip(names, asked.messages, strict=True)
    ]
    return SimulatedRetrieval(client.decode(asked, answers), transcript)


def _parties(
    entries: Entries, scheme: str, options: dict[str, Any], transcript: Transcript
) -> tuple[Any, Callable[[bytes], bytes]]:
    """The client, and what a server does with a message."""
    from discreet.private.retrieval.hidden_orders import GentryRamzan
    from discreet.private.retrieval.residues import KushilevitzOstrovsky
    from discreet.private.retrieval.selecting import LipmaaScheme, SternScheme

    shape: tuple[int, int] = (entries.shape[0], entries.shape[1])
    if scheme == "xor":
        return TwoServerXor(*shape, **options), lambda message: answer_xor(entries, message)
    if scheme == "simplepir":
        per_column, short = options.get("per_column", 1), options.get("insecure_dimension")
        seed = secrets.token_bytes(SEED_BYTES)
        hint = make_hint(columns_of(entries, per_column), seed, parameters("lwe-1", short))
        transcript.passed("server 1", "client", "seed", seed)
        transcript.passed("server 1", "client", "hint", hint.tobytes())
        lattice = LatticeScheme(*shape, per_column=per_column, seed=seed, hint=hint, insecure_dimension=short)
        return lattice, lambda message: answer_lattice(entries, message, per_column=per_column)
    kinds = {"ko": KushilevitzOstrovsky, "stern": SternScheme, "lipmaa": LipmaaScheme, "gr": GentryRamzan}
    least = options.get("insecure_bits")
    return kinds[scheme](*shape, **options), lambda message: historic_answer(entries, message, least)
