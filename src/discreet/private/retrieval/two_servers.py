"""Retrieval from two servers that do not talk to each other: Chor, Goldreich, Kushilevitz and Sudan (1995).

Each server gets a set of entries and answers with their exclusive or. Either set alone is a set of the purest chance;
the two differ in the wanted entry only.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from discreet.private.problems import ProtocolError
from discreet.private.retrieval.boxes import Entries, require_index
from discreet.private.retrieval.frames import ANSWER, NO_DATABASE, QUERY, Asked, pack, require_length, unpack


def draw_mask(entries: int) -> bytes:
    """A set of entries by the system's randomness, a bit an entry; bits beyond the last entry are zero."""
    mask = bytearray(secrets.token_bytes(-(-entries // 8)))
    if entries % 8:
        mask[-1] &= (1 << entries % 8) - 1
    return bytes(mask)


class TwoServerXor:
    """The client of retrieval from two servers.

    Parameters
    ----------
    entries, entry_bytes
        Size of the database.
    database
        Identity of the database, which servers compare with theirs.

    Examples
    --------
    >>> from discreet.private.retrieval.boxes import as_entries
    >>> entries = as_entries([b"ab", b"cd", b"ef"])
    >>> client = TwoServerXor(3, 2)
    >>> asked = client.query(1)
    >>> client.decode(asked, [answer_xor(entries, message) for message in asked.messages])
    b'cd'
    """

    name = "xor"
    servers = 2

    def __init__(self, entries: int, entry_bytes: int, *, database: bytes = NO_DATABASE) -> None:
        self.entries, self.entry_bytes, self.database = entries, entry_bytes, database

    def query(self, index: int) -> Asked:
        """Ask for one entry."""
        return self.query_many([index])

    def query_many(self, indices: Sequence[int]) -> Asked:
        """Ask for several entries in one message, each with sets of its own."""
        for index in indices:
            require_index(index, self.entries)
        bodies: tuple[list[bytes], list[bytes]] = ([], [])
        for index in indices:
            mask = draw_mask(self.entries)
            other = bytearray(mask)
            other[index >> 3] ^= 1 << (index & 7)
            bodies[0].append(mask)
            bodies[1].append(bytes(other))
        count = len(indices)
        return Asked(tuple(pack(self.name, QUERY, b"".join(body), count, self.database) for body in bodies), count)

    def decode(self, asked: Asked, answers: Sequence[bytes]) -> bytes:
        """The entry, from both answers."""
        return self.decode_many(asked, answers)[0]

    def decode_many(self, asked: Asked, answers: Sequence[bytes]) -> list[bytes]:
        """The entries, from both answers."""
        if len(answers) != self.servers:
            raise ProtocolError(
                "damaged answer", f"{len(answers)} of 2 answers came.", hint="Both servers must answer."
            )
        parts = []
        for answer in answers:
            frame = unpack(answer, ANSWER, self.name)
            require_length(frame.body, asked.kept * self.entry_bytes, "The answer")
            parts.append(np.frombuffer(frame.body, np.uint8).reshape(asked.kept, self.entry_bytes))
        return [row.tobytes() for row in parts[0] ^ parts[1]]


def answer_xor(entries: Entries, message: bytes, *, database: bytes = NO_DATABASE) -> bytes:
    """A server's part: it reads all entries, whatever is asked, four questions a pass."""
    from discreet.private.retrieval.xor_kernels import xor_four, xor_one

    frame = unpack(message, QUERY, "xor")
    length, width = -(-entries.shape[0] // 8), entries.shape[1]
    require_length(frame.body, frame.lookups * length, "The query")
    masks = np.frombuffer(frame.body, np.uint8).reshape(frame.lookups, length)
    unused = -entries.shape[0] % 8
    if unused and (masks[:, -1] >> (8 - unused)).any():
        raise ProtocolError(
            "element outside the group", "The query asks for entries beyond the last.", hint="Ask anew."
        )
    rows = _in_words(entries)
    found = np.zeros((-(-frame.lookups // 4) * 4, rows.shape[1]), np.uint64)
    padded = np.zeros((len(found), length), np.uint8)
    padded[: frame.lookups] = masks
    for first in range(0, frame.lookups, 4):
        if frame.lookups - first == 1:
            xor_one(rows, padded[first], found[first])
        else:
            xor_four(rows, padded[first : first + 4], found[first : first + 4])
    bodies = found[: frame.lookups].view(np.uint8)[:, :width]
    return pack("xor", ANSWER, bodies.tobytes(), frame.lookups, database)


def _in_words(entries: Entries) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Entries as words of eight bytes; a copy with zero bytes only where their length is no multiple of eight."""
    spare = -entries.shape[1] % 8
    whole = np.pad(entries, ((0, 0), (0, spare))) if spare else np.ascontiguousarray(entries)
    return (whole if whole.flags.writeable else whole.copy()).view(np.uint64)
