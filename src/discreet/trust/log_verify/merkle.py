"""The tree of RFC 6962 as its judge computes it, and its proofs as RFC 9162 (2.1.3.2 and 2.1.4.2) follows them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def parent(left: bytes, right: bytes) -> bytes:
    """The node above two."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class LogTree:
    """Grows leaf by leaf and tells its root: heaps of equal height are joined as they come."""

    def __init__(self) -> None:
        self._heaps: list[tuple[int, bytes]] = []
        self.leaves = 0

    def add(self, content: bytes) -> bytes:
        """Add a leaf; gives its hash."""
        leaf = hashlib.sha256(b"\x00" + content).digest()
        self._heaps.append((0, leaf))
        self.leaves += 1
        while len(self._heaps) > 1 and self._heaps[-2][0] == self._heaps[-1][0]:
            height, right = self._heaps.pop()
            _, left = self._heaps.pop()
            self._heaps.append((height + 1, parent(left, right)))
        return leaf

    def root(self) -> str:
        """The root of all leaves so far."""
        if not self._heaps:
            return hashlib.sha256().hexdigest()
        found = b""
        for _, heap in reversed(self._heaps):
            found = parent(heap, found) if found else heap
        return found.hex()

    def frontier(self) -> list[str]:
        """The roots of the full subtrees, the largest first."""
        return [heap.hex() for _, heap in self._heaps]


def leads_to_root(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether a path leads from a leaf, counted from 0, to the root of a tree of some size."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for node in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = parent(node, found)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            found = parent(found, node)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def continues(first: int, second: int, path: Sequence[bytes], before: bytes, after: bytes) -> bool:
    """Whether a path shows that the tree with one root begins with the tree of another."""
    if not 0 <= first <= second:
        return False
    if first == second:
        return not path and before == after
    if first == 0:
        return not path and before == hashlib.sha256().digest()
    nodes = [before, *path] if first & (first - 1) == 0 else list(path)
    if not nodes:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = parent(node, old), parent(node, new)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            new = parent(new, node)
        place, last = place >> 1, last >> 1
    return last == 0 and old == before and new == after
