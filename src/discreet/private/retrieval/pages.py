"""Records in pages of one size, found by the hash of their key: whoever knows a key needs no list of keys.

A page holds slots, each a tag of the key and a record, and the hashes on its way to the root of its column. A record
lies in the one page that its key leads to, so that a page without it proves that there is none.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError
from discreet.private.retrieval.merkle import BYTES, leaf_hash, paths, tree_root

TAG = 16
PAGE_BYTES = 4096
FULL = 0.9
"""No layout is tried in which pages are fuller than this on average."""
GROWTH = 1.03
LEAST_SLOTS = 4


@dataclass(frozen=True)
class Layout:
    """Where records lie: all that a client needs to find a key.

    Parameters
    ----------
    columns, per_column
        Pages are numbered column by column, ``per_column`` (a power of two) in each.
    page_bytes
        Length of a page with its path.
    record_bytes
        Length of a record, padded.
    salt
        Of the hash that leads from keys to pages.

    Examples
    --------
    >>> layout = Layout(8, 2, 256, 20, bytes(16))
    >>> layout.pages, layout.slots, layout.payload_bytes
    (16, 6, 224)
    """

    columns: int
    per_column: int
    page_bytes: int
    record_bytes: int
    salt: bytes

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return self.columns * self.per_column

    @property
    def payload_bytes(self) -> int:
        """Bytes of a page before its path."""
        return self.page_bytes - BYTES * (self.per_column.bit_length() - 1)

    @property
    def slots(self) -> int:
        """Records that a page can hold."""
        return self.payload_bytes // (TAG + self.record_bytes)

    @property
    def size(self) -> int:
        """Bytes of all pages."""
        return self.pages * self.page_bytes

    def found(self, page: bytes, tag: bytes) -> bytes | None:
        """The record of a tag in a page, without its padding."""
        width = TAG + self.record_bytes
        record = None
        for at in range(0, self.slots * width, width):
            if page[at : at + TAG] == tag:
                record = page[at + TAG : at + width].rstrip(b"\0")
        return record


def hashed(key: bytes, salt: bytes) -> tuple[int, bytes]:
    """Where the hash of a key leads, as a number of 64 bits, and the tag that stands for the key in its page."""
    digest = hashlib.blake2b(key, digest_size=8 + TAG, key=salt, person=b"retrieval page 1").digest()
    return int.from_bytes(digest[:8], "little"), digest[8:]


def hashed_all(keys: Iterable[bytes], salt: bytes) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]:
    """The same for many keys."""
    digests = b"".join(
        hashlib.blake2b(key, digest_size=8 + TAG, key=salt, person=b"retrieval page 1").digest() for key in keys
    )
    table = np.frombuffer(digests, np.uint8).reshape(-1, 8 + TAG)
    return np.ascontiguousarray(table[:, :8]).view("<u8").ravel(), table[:, 8:]


def choose_layout(places: npt.NDArray[np.uint64], record_bytes: int, page_bytes: int, salt: bytes) -> Layout:
    """The least number of pages in which no page is too full, in columns about as long as there are of them."""
    if page_bytes % 64 or page_bytes < 64:
        raise ParameterError(f"page_bytes={page_bytes} is not allowed.", hint="Use a multiple of 64.")
    width = TAG + record_bytes
    wanted = len(places) / FULL / max(1, page_bytes // width)
    per_column = 1 << max(0, round(math.log2(math.sqrt(wanted * page_bytes) / page_bytes)))
    layout = Layout(1, per_column, page_bytes, record_bytes, salt)
    if layout.payload_bytes < LEAST_SLOTS * width:
        raise ParameterError(
            f"A page of {page_bytes} bytes has no room for {LEAST_SLOTS} records of {width} bytes.",
            hint="Give a larger page_bytes.",
        )
    columns = max(1, math.ceil(len(places) / FULL / layout.slots / per_column))
    while np.bincount((places % np.uint64(columns * per_column)).astype(np.int64)).max() > layout.slots:
        columns = max(columns + 1, int(columns * GROWTH))
    return Layout(columns, per_column, page_bytes, record_bytes, salt)


def fill_pages(
    layout: Layout, places: npt.NDArray[np.uint64], tags: npt.NDArray[np.uint8], records: Iterable[bytes]
) -> npt.NDArray[np.uint8] | None:
    """The pages with their paths; ``None`` where a page would be too full.

    Slots of a page are in the order of their tags, so that the same records always make the same pages.
    """
    texts = b"".join(record.ljust(layout.record_bytes, b"\0") for record in records)
    values = np.frombuffer(texts, np.uint8).reshape(len(places), layout.record_bytes)
    numbers = (places % np.uint64(layout.pages)).astype(np.int64)
    order = np.lexsort((*tags.T[::-1], numbers))
    numbers, tags, values = numbers[order], tags[order], values[order]
    if len(tags) > 1 and ((tags[1:] == tags[:-1]).all(axis=1) & (numbers[1:] == numbers[:-1])).any():
        raise InputError("Two cells have the same table and codes.", hint="A cell can be published once only.")
    counts = np.bincount(numbers, minlength=layout.pages)
    if counts.max() > layout.slots:
        return None
    slots = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    pages = np.zeros((layout.pages, layout.page_bytes), np.uint8)
    width = TAG + layout.record_bytes
    view = pages[:, : layout.slots * width].reshape(layout.pages, layout.slots, width)
    filled = np.concatenate([tags, values], axis=1)
    view[numbers, slots] = filled
    pages[:, : layout.slots * width] = view.reshape(layout.pages, -1)
    return pages


def seal_pages(layout: Layout, pages: npt.NDArray[np.uint8]) -> tuple[bytes, bytes]:
    """Write the paths into pages; gives the hashes of all columns, one after the other, and the root over them."""
    payload, nodes = layout.payload_bytes, []
    for first in range(0, layout.pages, layout.per_column):
        group = pages[first : first + layout.per_column]
        hashes = [leaf_hash(page[:payload].tobytes()) for page in group]
        for page, path in zip(group, paths(hashes), strict=True):
            page[payload:] = np.frombuffer(path, np.uint8)
        nodes.append(tree_root(hashes))
    return b"".join(nodes), tree_root(nodes)


def root_of(nodes: bytes) -> bytes:
    """The root over the hashes of all columns."""
    return tree_root([nodes[at : at + BYTES] for at in range(0, len(nodes), BYTES)])
