"""Draws that a secret key fixes for every record, by code of the checker's own: identities, SipHash, fractions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b, md5
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats
from discreet.model.records import RecordSet

if TYPE_CHECKING:
    import pyarrow as pa

Words = NDArray[np.uint64]
WHOLE = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


def drawn_fractions(identity: Words, secret: bytes, purpose: str, *besides: Words) -> Floats:
    """A number from 0 up to 1 for every record: the upper 53 bits of what the key makes of its identity.

    ``besides`` are further words that the draw is for.
    """
    found: Floats = (_hashed(secret, purpose, [identity, *besides]) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return found


def purpose_of(method: Mapping[str, Any], what: str, *told: Any) -> str:
    """What draws are for: in which version, and where their effect depends on more, a digest of that."""
    if told:
        what += "/" + blake2b(json.dumps(list(told), sort_keys=True).encode(), digest_size=8).hexdigest()
    version = int(method["version"])
    return f"{what}/{version}" if version == 1 else f"{what}/{version}/{version}"


def drawn_words(identity: Words, secret: bytes, purpose: str) -> Words:
    """What the key makes of the identity of every record: 64 bits."""
    return _hashed(secret, purpose, [identity])


def drawn_normals(identity: Words, secret: bytes, purpose: str) -> Floats:
    """A standard normal number for every record: the quantile of the upper 52 bits, in the middle of each step."""
    from scipy.special import ndtri

    words = _hashed(secret, purpose, [identity])
    found: Floats = ndtri(((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52)
    return found


def identity_of(records: RecordSet) -> Words:
    """Who each row is: its identifiers, or all that it holds and how many equal rows stand before it."""
    named = [name for name in records.names if records.about(name).role == "identifier"]
    public = bytes(32)
    mixed = _hashed(public, "identity of rows/1", [_numbers(records.columns[name]) for name in named or records.names])
    if named or len(np.unique(mixed)) == len(mixed):
        return mixed
    order = np.lexsort((np.arange(len(mixed)), mixed))
    first = np.searchsorted(mixed[order], mixed[order], side="left")
    before = np.zeros(len(mixed), np.uint64)
    before[order] = (np.arange(len(mixed)) - first).astype(np.uint64)
    return _hashed(public, "identity of equal rows/1", [mixed, before])


def _numbers(column: pa.ChunkedArray) -> Words:
    """A number for every value; all bits for a gap."""
    import pyarrow as pa

    column = column.combine_chunks()
    gaps = np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_string(column.type):
        places = column.dictionary_encode()
        places = places.chunk(0) if isinstance(places, pa.ChunkedArray) else places
        words = np.array([_text_number(text) for text in places.dictionary.to_pylist()] or [0], np.uint64)
        found = words[places.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    else:
        narrow = {"bool": pa.int8(), "date32[day]": pa.int32(), "timestamp[us]": pa.int64()}.get(str(column.type))
        filled = (column if narrow is None else column.cast(narrow)).fill_null(0).to_numpy(zero_copy_only=False)
        found = filled.view(np.uint64) if filled.dtype == np.float64 else filled.astype(np.int64).view(np.uint64)
    return np.where(gaps, np.uint64(2**64 - 1), found)


def _text_number(text: str) -> int:
    """Whole numbers stand for themselves, other texts for 62 bits of their digest."""
    if WHOLE.fullmatch(text):
        return int(text)
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:8], "big") & (2**62 - 1)


def _hashed(secret: bytes, purpose: str, columns: list[Words]) -> Words:
    """SipHash-2-4 of each row of 64-bit words, under 128 bits that belong to the purpose."""
    digest = blake2b(purpose.encode(), key=secret, digest_size=16).digest()
    low, high = (np.uint64(int.from_bytes(digest[i : i + 8], "little")) for i in (0, 8))
    state: list[Any] = [
        np.full(len(columns[0]), half ^ np.uint64(salt))
        for half, salt in zip((low, high, low, high), _salts(), strict=True)
    ]
    last = np.full(len(columns[0]), np.uint64((8 * len(columns) % 256) << 56))
    for word in [*columns, last]:
        state[3] = state[3] ^ word
        _stirred(state, 2)
        state[0] = state[0] ^ word
    state[2] = state[2] ^ np.uint64(255)
    _stirred(state, 4)
    found: Words = state[0] ^ state[1] ^ state[2] ^ state[3]
    return found


def _salts() -> list[int]:
    words = b"somepseudorandomlygeneratedbytes"
    return [int.from_bytes(words[i : i + 8], "big") for i in range(0, 32, 8)]


def _stirred(state: list[Any], rounds: int) -> None:
    def turned(word: Words, bits: int) -> Words:
        return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))

    a, b, c, d = state
    for _ in range(rounds):
        a, c = a + b, c + d
        b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
        a, c = turned(a, 32) + d, c + b
        d, b = turned(d, 21) ^ a, turned(b, 17) ^ c
        c = turned(c, 32)
    state[:] = [a, b, c, d]
