"""Draws that are fixed by a secret key and by what they are for: never by position, order or run.

Every draw is SipHash-2-4 of the identity of a unit or of the contents of a cell. SipHash is a published keyed function
made for short inputs (Aumasson and Bernstein 2012): without its key nobody can tell its values from chance or work a
further one out. It is chosen over keyed BLAKE2b because ten million draws then take a fraction of a second instead of
ten seconds; its 128-bit key is derived from the 256-bit secret by keyed BLAKE2b, one for each purpose and version, so
that no draw of one method says anything about another.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError
from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints

KEY_BYTES = 32
Draws = npt.NDArray[np.uint64]


def checked_key(key: Any) -> bytes:
    """The secret itself, of bytes or of an object that holds it as ``secret``; what is no 256-bit key is refused.

    Examples
    --------
    >>> len(checked_key(bytes(32)))
    32
    """
    key = getattr(key, "secret", key)
    if isinstance(key, int | np.integer):
        raise ParameterError(
            "A whole number is no secret: whoever tries numbers finds it.",
            hint=f"Give a key of {KEY_BYTES} random bytes, for instance secrets.token_bytes({KEY_BYTES}), and keep it.",
        )
    if not isinstance(key, bytes | bytearray):
        raise ParameterError(f"A key must be bytes, not {type(key).__name__}.", hint=f"Give {KEY_BYTES} random bytes.")
    if len(key) != KEY_BYTES:
        raise ParameterError(f"The key has {len(key)} bytes; it must have {KEY_BYTES}.")
    return bytes(key)


def draws(key: bytes, purpose: str, version: int, *identities: Ints | Draws) -> Draws:
    """One 64-bit number for each unit or cell.

    Parameters
    ----------
    key
        The secret key of 32 bytes.
    purpose
        The method and what is drawn; different purposes have nothing to do with each other.
    version
        Version of the key or of the method.
    *identities
        What the draws are for: one column or several, row by row. Equal rows have equal draws.

    Examples
    --------
    >>> one = draws(bytes(32), "example", 1, np.array([7, 8]))
    >>> two = draws(bytes(32), "example", 1, np.array([8, 9, 7]))
    >>> bool(one[0] == two[2] and one[1] == two[0])
    True
    """
    if version < 0:
        raise ParameterError(f"version={version} must not be negative.")
    message = f"{purpose}/{version}".encode()
    halves = np.frombuffer(blake2b(message, key=checked_key(key), digest_size=16).digest(), "<u8")
    columns = [np.ascontiguousarray(column).astype(np.uint64, copy=False) for column in identities]
    words = columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)
    return siphash(np.ascontiguousarray(words), np.uint64(halves[0]), np.uint64(halves[1]))


def fractions(numbers: Draws) -> Floats:
    """Draws as fractions in [0, 1) with 53 bits."""
    result: Floats = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return result


def whole_numbers(numbers: Draws, below: int) -> Ints:
    """Draws as whole numbers below a limit of at most 2**32, all equally likely to one part in 2**32."""
    if not 1 <= below <= 2**32:
        raise ParameterError(f"below={below} must lie in 1 .. {2**32}.")
    result: Ints = (((numbers >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32)).astype(np.int64)
    return result


@kernel("u8(u8, u8)")
def _left(word: Any, bits: Any) -> Any:
    return (word << bits) | (word >> (np.uint64(64) - bits))


@kernel("UniTuple(u8, 4)(u8, u8, u8, u8)")
def _round(a: Any, b: Any, c: Any, d: Any) -> Any:
    a = a + b
    b = _left(b, np.uint64(13)) ^ a
    a = _left(a, np.uint64(32))
    c = c + d
    d = _left(d, np.uint64(16)) ^ c
    a = a + d
    d = _left(d, np.uint64(21)) ^ a
    c = c + b
    b = _left(b, np.uint64(17)) ^ c
    c = _left(c, np.uint64(32))
    return a, b, c, d


@kernel("u8[::1](u8[:,::1], u8, u8)")
def siphash(words: Draws, low: Any, high: Any) -> Draws:
    """SipHash-2-4 of each row of 64-bit words under a 128-bit key."""
    rows, width = words.shape
    result = np.empty(rows, np.uint64)
    length = np.uint64((8 * width) & 255) << np.uint64(56)
    for i in range(rows):
        a = low ^ np.uint64(0x736F6D6570736575)
        b = high ^ np.uint64(0x646F72616E646F6D)
        c = low ^ np.uint64(0x6C7967656E657261)
        d = high ^ np.uint64(0x7465646279746573)
        for k in range(width + 1):
            word = words[i, k] if k < width else length
            d ^= word
            a, b, c, d = _round(a, b, c, d)
            a, b, c, d = _round(a, b, c, d)
            a ^= word
        c ^= np.uint64(0xFF)
        for _ in range(4):
            a, b, c, d = _round(a, b, c, d)
        result[i] = a ^ b ^ c ^ d
    return result
