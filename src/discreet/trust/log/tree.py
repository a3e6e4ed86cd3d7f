"""The Merkle tree of RFC 6962 over the entries, as its writer grows it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

EMPTY = sha256(b"").digest()
"""The root of a tree without leaves."""
WIDTH = 32


def leaf_hash(content: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\0" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


class Frontier:
    """What is needed of a tree to append to it: the roots of its full subtrees, the largest first."""

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        if len(peaks) != size.bit_count():
            raise ValueError("a frontier has one subtree for each binary digit 1 of its size")
        self.size = size
        self.peaks = list(peaks)

    def copy(self) -> Frontier:
        """A frontier that grows by itself."""
        return Frontier(self.size, self.peaks)

    def append(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        carry = self.size
        while carry & 1:
            leaf = node_hash(self.peaks.pop(), leaf)
            carry >>= 1
        self.peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The root of the whole tree."""
        if not self.peaks:
            return EMPTY
        found = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            found = node_hash(peak, found)
        return found


class Tree:
    """All nodes of full subtrees, level by level: 64 bytes a leaf, for proofs about any size."""

    def __init__(self) -> None:
        self._levels: list[bytearray] = [bytearray()]

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._levels[0]) // WIDTH

    def append(self, leaf: bytes) -> None:
        """Add the hash of a leaf, and every node that it completes."""
        index, level = self.size, 0
        while True:
            if level == len(self._levels):
                self._levels.append(bytearray())
            self._levels[level] += leaf
            if not index & 1:
                return
            leaf = node_hash(self._at(level, index - 1), leaf)
            index, level = index >> 1, level + 1

    def leaf(self, index: int) -> bytes:
        """The hash of a leaf, counted from 0."""
        return self._at(0, index)

    def root(self, size: int) -> bytes:
        """The root when the tree had so many leaves."""
        return self._range(0, size) if size else EMPTY

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """The audit path of a leaf in the tree of so many leaves: nearest sibling first."""
        path, start = [], 0
        while size > 1:
            half = _split(size)
            if index - start < half:
                path.append(self._range(start + half, size - half))
                size = half
            else:
                path.append(self._range(start, half))
                start, size = start + half, size - half
        return path[::-1]

    def consistency(self, first: int, second: int) -> list[bytes]:
        """The proof that the tree of ``second`` leaves continues the one of ``first`` leaves."""
        if first in (0, second):
            return []
        path, start, size, whole = [], 0, second, True
        while first - start != size:
            half = _split(size)
            if first - start <= half:
                path.append(self._range(start + half, size - half))
                size = half
            else:
                path.append(self._range(start, half))
                start, size, whole = start + half, size - half, False
        if not whole:
            path.append(self._range(start, size))
        return path[::-1]

    def _at(self, level: int, index: int) -> bytes:
        return bytes(self._levels[level][index * WIDTH : (index + 1) * WIDTH])

    def _range(self, start: int, size: int) -> bytes:
        """The root of the subtree over some leaves."""
        if size & (size - 1) == 0:  # full, and starts at a multiple of its size
            level = size.bit_length() - 1
            return self._at(level, start >> level)
        half = _split(size)
        return node_hash(self._range(start, half), self._range(start + half, size - half))


def _split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << (size - 1).bit_length() - 1
