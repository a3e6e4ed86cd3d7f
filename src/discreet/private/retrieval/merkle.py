"""Hash trees over pages (RFC 6962): a root that stands for a version of a database, and paths from a page towards
it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

LEAF, NODE = b"\0", b"\1"
BYTES = 32


def leaf_hash(content: bytes) -> bytes:
    """The hash of a page."""
    return hashlib.sha256(LEAF + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two hashes; it can never be that of a page."""
    return hashlib.sha256(NODE + left + right).digest()


def tree_root(hashes: Sequence[bytes]) -> bytes:
    """The root over hashes: the left subtree is the largest complete one that leaves something to the right.

    Examples
    --------
    >>> tree_root([leaf_hash(b"")]).hex()[:16]
    '6e340b9cffb37a98'
    """
    if not hashes:
        return hashlib.sha256().digest()
    level = list(hashes)
    while len(level) > 1:
        above = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        # A hash without a partner moves up as it is, which gives the same tree.
        level = above + level[len(level) // 2 * 2 :]
    return level[0]


def paths(hashes: Sequence[bytes]) -> list[bytes]:
    """For each of a power of two of hashes the hashes beside its way to their root, lowest first, as one string."""
    count = len(hashes)
    assert count & (count - 1) == 0
    found = [b""] * count
    level, span = list(hashes), 1
    while len(level) > 1:
        found = [path + level[at // span ^ 1] for at, path in enumerate(found)]
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level), 2)]
        span *= 2
    return found


def root_of_path(content: bytes, place: int, path: bytes) -> bytes:
    """The root that a page at a place leads to along a path."""
    found = leaf_hash(content)
    for at in range(0, len(path), BYTES):
        beside = path[at : at + BYTES]
        found = node_hash(beside, found) if place & 1 else node_hash(found, beside)
        place >>= 1
    return found
