"""What changed between two versions of a database: the bytes of the columns that differ, so that hints are updated in
place."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.private.problems import ProtocolError
from discreet.private.retrieval.lattice import changed_hint
from discreet.private.retrieval.lattice_noise import Numbers
from discreet.private.retrieval.lattice_parameters import LatticeParameters
from discreet.private.retrieval.merkle import BYTES
from discreet.private.retrieval.pages import Layout

HEAD = struct.Struct("<I")


class Changes(NamedTuple):
    """Columns that changed: their numbers, new less old bytes, and their new hashes."""

    numbers: npt.NDArray[np.int64]
    moved: npt.NDArray[np.int16]
    nodes: npt.NDArray[np.uint8]


def written_changes(old: npt.NDArray[np.uint8], new: npt.NDArray[np.uint8], nodes: bytes) -> bytes:
    """Changes as bytes, from the columns of two versions of one layout."""
    numbers = np.flatnonzero((old != new).any(axis=1))
    moved = new[numbers].astype("<i2") - old[numbers].astype("<i2")
    hashes = np.frombuffer(nodes, np.uint8).reshape(-1, BYTES)[numbers]
    return b"".join([HEAD.pack(len(numbers)), numbers.astype("<u4").tobytes(), moved.tobytes(), hashes.tobytes()])


def read_changes(data: bytes, layout: Layout) -> Changes:
    """Changes from their bytes.

    Raises
    ------
    ProtocolError
        When they are not of this layout.
    """
    height = layout.per_column * layout.page_bytes
    count = HEAD.unpack_from(data)[0] if len(data) >= HEAD.size else 0
    if len(data) != HEAD.size + count * (4 + 2 * height + BYTES):
        raise ProtocolError("wrong length", "The list of changes has another length.", hint="Fetch the hint anew.")
    ends = np.cumsum([HEAD.size, 4 * count, 2 * height * count, BYTES * count])
    numbers = np.frombuffer(data[ends[0] : ends[1]], "<u4").astype(np.int64)
    if count and (numbers.max() >= layout.columns or (np.diff(numbers) <= 0).any()):
        raise ProtocolError("wrong length", "The list of changes names no columns of it.", hint="Fetch the hint anew.")
    moved = np.frombuffer(data[ends[1] : ends[2]], "<i2").reshape(count, height)
    nodes = np.frombuffer(data[ends[2] : ends[3]], np.uint8).reshape(count, BYTES)
    return Changes(numbers, moved.astype(np.int16), nodes)


def apply_changes(hint: Numbers, changes: Changes, seed: bytes, chosen: LatticeParameters) -> Numbers:
    """The hint of the new version."""
    return changed_hint(hint, changes.numbers, changes.moved, seed, chosen) if len(changes.numbers) else hint
