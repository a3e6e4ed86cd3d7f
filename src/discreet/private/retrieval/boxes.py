"""Databases as boxes: entries as numbers, laid out in several dimensions for recursion."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import joined, split

Entries = npt.NDArray[np.uint8]
"""A database: one row of bytes an entry."""
HEAD = struct.Struct("<HBBII")
"""Bits of the modulus, length parameter, dimensions, entries, bytes an entry; the sides follow."""
LONGEST = 2**32 // 8


def as_entries(given: Sequence[bytes] | Entries) -> Entries:
    """A database as an array; entries of unequal length are padded with zero bytes to the longest.

    Examples
    --------
    >>> as_entries([b"ab", b"c"]).tolist()
    [[97, 98], [99, 0]]
    """
    if isinstance(given, np.ndarray):
        if given.ndim != 2 or given.dtype != np.uint8:
            raise InputError("A database is an array of bytes with one row an entry.", hint="Give it as uint8, 2-D.")
        if not given.size:
            raise InputError("The database is empty.", hint="Give at least one entry with at least one byte.")
        return given
    longest = max((len(entry) for entry in given), default=0)
    if not longest:
        raise InputError("The database is empty.", hint="Give at least one entry with at least one byte.")
    if longest > LONGEST:
        raise InputError(f"An entry has more than {LONGEST:,} bytes.", hint="Cut it into several entries.")
    padded = b"".join(bytes(entry).ljust(longest, b"\0") for entry in given)
    return np.frombuffer(padded, np.uint8).reshape(len(given), longest)


def box_sides(entries: int, dimensions: int) -> tuple[int, ...]:
    """Sides of a box that holds so many entries, as equal as they can be.

    Examples
    --------
    >>> box_sides(24, 3), box_sides(24, 2), box_sides(5, 1)
    ((3, 3, 3), (5, 5), (5,))
    """
    if dimensions < 1 or (dimensions > 1 and dimensions > math.log2(entries)):
        most = max(1, int(math.log2(entries)))
        raise ParameterError(
            f"dimensions={dimensions} is not allowed for {entries:,} entries.", hint=f"Use 1 to {most}."
        )
    sides, left = [], entries
    for more in range(dimensions, 0, -1):
        side = max(1, round(left ** (1 / more)))
        side += side**more < left
        sides.append(side)
        left = -(-left // side)
    return tuple(sides)


def checked_sides(entries: int, dimensions: int, sides: Sequence[int] | None) -> tuple[int, ...]:
    """Sides as given, or made: whoever gives them must make room for all entries."""
    if sides is None:
        return box_sides(entries, dimensions)
    if any(side < 1 for side in sides) or math.prod(sides) < entries:
        raise ParameterError(f"A box of {' x '.join(map(str, sides))} does not hold {entries:,} entries.")
    return tuple(sides)


def place(index: int, entries: int, sides: Sequence[int]) -> list[int]:
    """Where an entry lies in the box: the first dimension runs fastest."""
    require_index(index, entries)
    found = []
    for side in sides:
        found.append(index % side)
        index //= side
    return found


def require_index(index: int, entries: int) -> None:
    """Refuse an index that no entry has, before anything is sent."""
    if not 0 <= index < entries:
        raise ProtocolError(
            "index out of range", f"There are {entries:,} entries, counted from 0.", hint="Nothing was sent."
        )


def boxed(entries: Entries, sides: Sequence[int]) -> list[int]:
    """Entries as numbers, first byte highest, with zeros in the places of the box that no entry takes."""
    numbers = [int.from_bytes(row.tobytes(), "big") for row in entries]
    return numbers + [0] * (math.prod(sides) - len(numbers))


def cut(number: int, bits: int, pieces: int) -> list[int]:
    """A number in pieces of so many bits, lowest first."""
    mask = (1 << bits) - 1
    return [(number >> (bits * piece)) & mask for piece in range(pieces)]


def glued(pieces: Sequence[int], bits: int) -> int:
    """The number of :func:`cut`."""
    number = 0
    for piece in reversed(pieces):
        number = (number << bits) | piece
    return number


def cut_in_base(number: int, base: int, pieces: int) -> list[int]:
    """A number in digits of any base, lowest first."""
    found = []
    for _ in range(pieces):
        number, digit = divmod(number, base)
        found.append(int(digit))
    assert not number
    return found


def glued_in_base(digits: Sequence[int], base: int) -> int:
    """The number of :func:`cut_in_base`."""
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number


def entry_of(number: int, length: int) -> bytes:
    """A number as the entry it was; one that is longer is no answer to what was asked."""
    if number >> (8 * length):
        raise ProtocolError(
            "damaged answer", "The answer is longer than an entry.", hint="Ask again, or another server."
        )
    return int(number).to_bytes(length, "big")


def written_head(bits: int, length: int, entries: int, entry_bytes: int, sides: Sequence[int]) -> bytes:
    """What a query says of itself in public: modulus, length parameter, database, box."""
    return HEAD.pack(bits, length, len(sides), entries, entry_bytes) + joined(sides, 4)


def read_head(entries: Entries, body: bytes) -> tuple[int, int, tuple[int, ...], bytes]:
    """Length of the modulus, length parameter and sides of a query for this database, and the rest of it."""
    if len(body) < HEAD.size:
        raise ProtocolError("wrong length", "The query has no head.", hint="Ask anew.")
    bits, s, dimensions, count, length = HEAD.unpack_from(body)
    if (count, length) != entries.shape:
        raise ProtocolError(
            "other database",
            f"The query is for {count:,} entries of {length:,} bytes; there are {entries.shape[0]:,} of "
            f"{entries.shape[1]:,}.",
            hint="Ask the server for its numbers first.",
        )
    ends = HEAD.size + 4 * dimensions
    sides = tuple(split(body[HEAD.size : ends], 4))
    if not dimensions or len(sides) != dimensions or min(sides) < 1 or bits < 16 or bits % 16:
        raise ProtocolError("wrong length", "The head of the query contradicts itself.", hint="Ask anew.")
    if not count <= math.prod(sides) <= 4**dimensions * count:
        raise ProtocolError("other database", "The box of the query does not fit the database.", hint="Ask anew.")
    return bits, s, sides, body[ends:]
